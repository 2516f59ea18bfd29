"""The entries of `events`, resolved when their time has come."""

from __future__ import annotations

from typing import Any

from .parts import Worker
from .system import System


def named(system: System, which: int | list[int]) -> list[Worker]:
    """The lowest-numbered that are up, or those that are listed, in worker order."""
    if isinstance(which, int):
        return [worker for worker in system.workers if worker.is_up()][:which]
    return [system.workers[number] for number in sorted(set(which)) if number < len(system.workers)]


def straggler(system: System, entry: dict[str, Any]) -> None:
    factor = entry["factor"]
    number = entry.get("episode")
    if number is None:
        if entry["worker"] < len(system.workers):
            episode = system.workers[entry["worker"]].episode
            if episode is not None:
                system.straggle(episode, factor)
    elif number < len(system.episodes):
        system.straggle(system.episodes[number], factor)
    else:
        system.coming_factors.setdefault(number, []).append(factor)


def slow(system: System, entry: dict[str, Any]) -> None:
    factor = entry["factor"]
    mark = (id(entry), factor)
    workers = named(system, entry["workers"])
    for worker in workers:
        worker.set_slow([*worker.slow, mark])
        system.rescale(worker, lambda seconds: seconds * factor)

    def end() -> None:
        for worker in workers:
            worker.set_slow([other for other in worker.slow if other is not mark])
            system.rescale(worker, lambda seconds: seconds / factor)

    if entry.get("for") is not None:
        system.agenda.set(system.now + entry["for"], end, counts=False)


def add_workers(system: System, entry: dict[str, Any], begun: bool) -> None:
    for worker in [system.new_worker() for _ in range(entry["count"])]:
        if begun:
            system.strategy.next_for(worker)


def run_entry(system: System, entry: dict[str, Any], begun: bool) -> None:
    """Do what an entry says. `begun`: the first starts have been."""
    if "straggler" in entry:
        straggler(system, entry["straggler"])
    elif "slow" in entry:
        slow(system, entry["slow"])
    elif "crash" in entry:
        crash = entry["crash"]
        system.take_away(named(system, crash["workers"]), float(crash.get("restart_seconds") or 0))
    elif "stall_trainer" in entry:
        system.stall(entry["stall_trainer"]["for"])
    elif "add_workers" in entry:
        add_workers(system, entry["add_workers"], begun)
    elif "remove_workers" in entry:
        body = entry["remove_workers"]
        which = next(body[key] for key in ("ids", "count", "workers") if body.get(key) is not None)
        system.take_away(named(system, which), None)
    else:
        raise ValueError(f"unknown entry {entry}")
