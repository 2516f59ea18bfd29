"""What a figure tends to in the long run, and what it cannot exceed."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from emulator.scenario import Scenario
from emulator.steady import steady
from emulator.theory.conditions import (
    busy_seconds_of,
    busy_workers,
    durations_of,
    flows,
    known,
    rounds_of,
    steady_engines,
)
from emulator.theory.laws import (
    asynchronous_rate,
    discarded_share,
    in_flight_limit,
    synchronous_rate,
    synchronous_utilisation,
)
from emulator.theory.range import representable


@dataclass(frozen=True)
class Limit:
    """What a figure tends to as a run gets longer, or what it is at most, in every run."""

    value: float
    kind: Literal["tends to", "at most"]
    law: str
    holds: str


def limits(scenario: Scenario) -> dict[str, Limit]:
    """The limits of a scenario's figures, by the result's names joined by dots; without its lanes.

    Beside those, ``episodes.dropped_share`` is ``episodes.dropped / episodes.finished``. A figure for which
    nothing is known is absent.
    """
    if not known(scenario):
        return {}
    return representable(_bounds(scenario)) | representable(_tendencies(scenario))


def _bounds(scenario: Scenario) -> Iterator[tuple[str, Limit]]:
    """What holds in every run, whatever is injected."""
    trainer = scenario.trainer
    push = trainer.weight_sync_seconds if trainer.publish_every == 1 else 0.0
    # Further time, for tokens or switches, makes it no faster.
    each = trainer.update_seconds.mean() + push
    if not trainer.update_seconds.variance() and each:
        law = "1 / (U + S): the trainer is never idle"
        yield "updates_per_hour", Limit(3600 / each, "at most", law, "constant update times")
    for bound in scenario.strategy.bounds(scenario.setting):
        yield f"staleness.{bound.statistic}", Limit(bound.value, "at most", bound.law, bound.holds)


def _of_engines(scenario: Scenario) -> Iterator[tuple[str, Limit]]:
    """By Little's law, of engines whose workers are always at work."""
    found, trainer = steady(scenario), scenario.trainer
    if not math.isfinite(trainer.update_seconds.mean()):
        return
    holds = "many sequences on each engine"
    law = "W = X (time in engines + tools), with the step of as many as then run"
    yield "engine.tokens_per_second", Limit(found.tokens_per_second, "tends to", law, holds)
    yield "engine.running_mean", Limit(found.running, "tends to", law, holds)
    tokens = trainer.batch_size * found.tokens
    update = trainer.update_seconds.mean() + trainer.weight_sync_seconds / trainer.publish_every
    update += tokens / 1000 * trainer.token_gpu_ms / 1000 / scenario.training_gpus
    rate = found.episodes_per_second / trainer.batch_size
    rate = min(rate, 1 / update) if update else rate
    law = "min(X / B, 1 / (U + S)), X by Little's law"
    yield "updates_per_hour", Limit(3600 * rate, "tends to", law, "one of the two clearly the less")


def _tendencies(scenario: Scenario) -> Iterator[tuple[str, Limit]]:
    if steady_engines(scenario):
        yield from _of_engines(scenario)
    durations = durations_of(scenario)
    if durations is None or not math.isfinite(durations.mean):
        return
    trainer, workers, batch = scenario.trainer, scenario.rollout.workers, scenario.trainer.batch_size
    distribution, speed = durations.distribution, durations.speed
    holds = "independent draws"
    rounds = rounds_of(scenario, durations)
    if rounds is not None and not rounds.overlapping and rounds.issued == batch:
        busy = (trainer.update_seconds.mean() + trainer.weight_sync_seconds) * speed
        rate = synchronous_rate(distribution, batch, busy) * speed
        law = "1 / (E[max of B draws] + U + S)"
        yield "updates_per_hour", Limit(3600 * rate, "tends to", law, holds)
        share = synchronous_utilisation(distribution, workers, batch, busy)
        law = "B E[d] / (W (E[max of B draws] + U + S))"
        yield "workers.utilisation", Limit(share, "tends to", law, holds)
    seconds = busy_seconds_of(scenario)
    if seconds is None or busy_workers(scenario) is None:
        return
    if flows(scenario):
        rate = asynchronous_rate(durations.mean, workers, batch, seconds)
        law = "min(W / (B E[d]), 1 / (U + S))"
        yield "updates_per_hour", Limit(3600 * rate, "tends to", law, "one of the two clearly the less")
        if workers * seconds < batch * durations.mean and trainer.publish_every == 1:
            law = "W / B, whatever the spread"
            yield "staleness.in_flight_mean", Limit(in_flight_limit(workers, batch), "tends to", law, holds)
    elif (cap := _single_drops(scenario)) is not None:
        discarded = discarded_share(distribution, workers, batch, seconds * speed, cap)
        if discarded is not None:
            law = "W/E[d] (G((η+1) P - U) - G(η P - U)) = B, G = integral of F, P from batch to batch"
            yield "episodes.dropped_share", Limit(discarded, "tends to", law, holds)
            rate = workers * (1 - discarded) / (batch * durations.mean)
            yield "updates_per_hour", Limit(3600 * rate, "tends to", law, holds)


def _single_drops(scenario: Scenario) -> float | None:
    """The bound beyond which single episodes are discarded at each publication; None if it is not so."""
    process = busy_workers(scenario)
    alone = scenario.rollout.group_size == 1 and scenario.trainer.publish_every == 1
    if process is None or process.cancels or process.refreshes or not alone:
        return None
    return process.cap
