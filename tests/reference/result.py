"""The numbers of a run: every total is the correctly rounded value of the exact sum."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import fsum
from typing import Any

from .parts import GONE, Episode
from .system import System


def rank(ordered: Sequence[Any], percent: int) -> Any:
    """Nearest rank."""
    return ordered[(percent * len(ordered) + 99) // 100 - 1] if ordered else None


def mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None


def whole_mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None


def weighted_version(episode: Episode) -> Fraction:
    """The mean of its versions, each weighted by its seconds: exact."""
    seconds = [(version, Fraction(end) - Fraction(begin)) for version, begin, end in episode.segments]
    return sum(version * part for version, part in seconds) / Fraction(sum(part for _, part in seconds))


def staleness(system: System) -> tuple[dict[str, Any], dict[str, Any]]:
    flights, queues, totals, spans, newests, weighted = [], [], [], [], [], []
    for episode, version in system.trained_episodes:
        segments = episode.segments
        if len(segments) > 1:
            generated = [segment[0] for segment in segments]
            oldest, newest = min(generated), max(generated)
        else:
            oldest = newest = segments[0][0] if segments else episode.start_version
        flights.append(episode.finish_version - oldest)
        queues.append(version - episode.finish_version)
        totals.append(version - oldest)
        spans.append(newest - oldest)
        newests.append(version - newest)
        weighted.append(float(version - (oldest if oldest == newest else weighted_version(episode))))
    totals.sort()
    histogram = [0] * (totals[-1] + 1 if totals else 0)
    for total in totals:
        histogram[total] += 1
    main = {
        "mean": whole_mean(totals),
        "p50": rank(totals, 50),
        "p95": rank(totals, 95),
        "max": totals[-1] if totals else None,
        "histogram": histogram,
        "in_flight_mean": whole_mean(flights),
        "in_queue_mean": whole_mean(queues),
    }
    versions = {
        "span_mean": whole_mean(spans),
        "span_max": max(spans, default=None),
        "newest_mean": whole_mean(newests),
        "weighted_mean": mean(weighted),
    }
    return main, versions


def groups(system: System) -> dict[str, Any]:
    waits: list[float] = []
    members = 0
    times = []
    for group in system.completed_groups:
        for episode in group.finished:
            waits += (group.completed_at, -episode.finish)
            members += 1
        times.append(group.completed_at - group.first_start)
    times.sort()
    return {
        "completed": len(times),
        "lost": system.lost_groups,
        "sibling_wait_mean": fsum(waits) / members if members else None,
        "completion_p50": rank(times, 50),
        "completion_p95": rank(times, 95),
    }


def batch_mean(system: System) -> float | None:
    """Episodes in an update, of those that count."""
    updates = system.trainer.updates
    return sum(len(numbers) for _, numbers in system.batches[:updates]) / updates if updates else None


def longest_wait(system: System) -> float:
    """The trainer's longest wait, whatever it was accounted in; a stall ends it, and an update of no time."""
    longest = begun = 0.0
    before = "waiting"
    for state, begin, end in system.trainer_stays:
        if state == "waiting":
            begun = begun if before == "waiting" else begin
            longest = max(longest, end - begun)
        before = state
    return longest


def result_of(system: System) -> dict[str, Any]:
    """Close all accounts at the end and sum them up."""
    settings = system.settings
    end = settings.duration
    for worker in system.workers:
        system.account(worker)
        if worker.state != GONE:
            system.seconds["service"].append(end)
    system.account_trainer()
    totals = {name: fsum(points) for name, points in system.seconds.items()}
    service, pool = totals.pop("service"), totals.pop("pool")
    trainer = {name: fsum(points) for name, points in system.trainer_seconds.items()}
    queue = fsum([*system.queue_stays, *[end] * system.depth])
    started_mean = mean([episode.duration for episode in system.episodes])
    trained_mean = mean([episode.duration for episode, _ in system.trained_episodes])
    bias = trained_mean / started_mean if trained_mean is not None and started_mean else None
    main, versions = staleness(system)
    result: dict[str, Any] = {
        "emulated_seconds": end,
        "updates": system.trainer.updates,
        "publications": system.trainer.publications,
        "updates_per_hour": system.trainer.updates * 3600 / end,
        "first_update_seconds": system.first_update,
        "episodes": {
            "started": system.started,
            "finished": system.finished,
            "trained": system.trained,
            "dropped": system.dropped,
            "aborted": system.aborted,
            "failed": system.failed,
            "queued": sum(episode.state == "finished" for episode in system.episodes),
            "in_flight": sum(worker.episode is not None for worker in system.workers),
            "paused": sum(episode.state == "paused" for episode in system.episodes),
            "attempts": system.attempts,
        },
        "workers": {
            "utilisation": totals["generating"] / service if service else None,
            "goodput": (totals["generating"] - totals["wasted"]) / service if service else None,
            "seconds": totals,
        },
        "trainer": {
            "utilisation": (trainer["updating"] + trainer["pushing"]) / end,
            "seconds": trainer,
            "batch_mean": batch_mean(system),
            "longest_wait_seconds": longest_wait(system),
        },
        "staleness": main,
        "queue": {
            "mean": queue / end,
            "max": system.queue_max,
            "wait_mean": fsum(system.trained_waits) / system.trained if system.trained else None,
        },
        "episode_seconds": {"started_mean": started_mean, "trained_mean": trained_mean, "length_bias": bias},
        "versions": versions,
        "pool_seconds": pool,
        "service_seconds": service,
        "trained": system.batches,
        "starts": system.starts,
    }
    if settings.group_size > 1:
        result["groups"] = groups(system)
    return result
