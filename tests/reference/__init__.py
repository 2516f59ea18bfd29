"""An independent calculation of every number of a result: plain discrete events, nothing of the emulator.

`run` takes a scenario in the resolved form and its random numbers as functions, and gives the result, to be
compared with `==`. What happens at one instant is ordered as the contract says; where it is silent:

- An event that ends several episodes first ends them all. Then freed sandboxes go to the pool's line, freed
  slots of the queue to the workers that hold an episode, the freed workers take their next in worker order
  (the one that finished among them), and at last the line is served.
- Workers named together in one entry go down or leave together, before anything follows from it.
- Of several entries of one instant, each waits until what the one before brought about has settled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .heap import Deadlock, Loop
from .parts import Draws, Settings
from .result import result_of
from .strategies import strategy_of
from .system import System
from .timeline import run_entry

__all__ = ["Deadlock", "Loop", "run"]


def constant(value: Any, default: float, what: str) -> float:
    """A constant of the scenario, for what is not given as a function."""
    if isinstance(value, dict) and value.get("kind") == "constant":
        value = value["value"]
    if value is None:
        return default
    if not isinstance(value, (int, float)):
        raise TypeError(f"{what} is random: give it as a function")
    return value


def draws_of(
    scenario: dict[str, Any],
    *,
    durations: Callable[[int], float],
    updates: Callable[[int], float],
    speeds: Callable[[int], float] | None,
    resets: Callable[[int, int], float] | None,
    failures: Callable[[int, int], bool] | None,
) -> Draws:
    environment = scenario.get("environment") or {}
    if speeds is None:
        speed = constant(scenario["rollout"].get("speed"), 1.0, "speed")
        speeds = lambda _: speed  # noqa: E731
    if resets is None:
        reset = constant(environment.get("reset_seconds"), 0.0, "reset_seconds")
        resets = lambda *_: reset  # noqa: E731
    if failures is None:
        probability = environment.get("failure_probability") or 0
        if 0 < probability < 1:
            raise TypeError("failures are random: give them as a function")
        failures = lambda *_: probability == 1  # noqa: E731
    return Draws(durations, updates, speeds, resets, failures)


def run(
    scenario: dict[str, Any],
    *,
    durations: Callable[[int], float],
    updates: Callable[[int], float],
    speeds: Callable[[int], float] | None = None,
    resets: Callable[[int, int], float] | None = None,
    failures: Callable[[int, int], bool] | None = None,
) -> dict[str, Any]:
    """Calculate the result, with `trained` and `starts` beside it.

    `resets` and `failures` take a worker and the number of that worker's attempt. What is not given is the
    constant of the scenario (speed 1, no reset, no failure).
    """
    settings = Settings.of(scenario)
    draws = draws_of(
        scenario, durations=durations, updates=updates, speeds=speeds, resets=resets, failures=failures
    )
    system = System(settings, draws)
    system.strategy = strategy_of(system)
    play(system, run_entry)
    return result_of(system)


def play(system: System, apply: Callable[..., None]) -> None:
    """Let the run pass, instant by instant; `apply` does what an entry of the timeline says."""
    agenda, end = system.agenda, system.settings.duration
    entries = sorted((e for e in system.settings.events if e["at"] <= end), key=lambda e: e["at"])
    entries.reverse()
    while entries and entries[-1]["at"] <= 0:
        apply(system, entries.pop(), begun=False)
    system.strategy.begin()
    while True:
        settle(system, entries, apply)
        system.queue_max = max(system.queue_max, system.depth)
        if system.now < end and not agenda.counting and not entries:
            raise Deadlock(system.now)
        due = agenda.next_due()
        if entries and (due is None or entries[-1]["at"] < due):
            due = entries[-1]["at"]
        if due is None or due > end:
            break
        system.now = due
    system.now = end


def settle(system: System, entries: list[dict[str, Any]], apply: Callable[..., None]) -> None:
    """Let everything happen that happens now."""
    agenda, now = system.agenda, system.now
    bound = 10_000 + 20 * (len(system.workers) + system.settings.batch)
    fired = 0
    while True:
        due = agenda.next_due()
        while due is not None and due <= now:
            fired += 1
            if fired > bound:
                raise Loop(now)
            agenda.pop().action()
            due = agenda.next_due()
        system.strategy.look()
        due = agenda.next_due()
        if due is not None and due <= now:
            continue
        if not entries or entries[-1]["at"] > now:
            return
        apply(system, entries.pop(), begun=True)
