"""What a figure tends to in the long run, and what it cannot exceed."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from emulator.scenario import Scenario
from emulator.scenario.strategies import Asynchronous
from emulator.theory.conditions import busy_seconds_of, busy_workers, durations_of, flows, known, rounds_of
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
    strategy, rollout, trainer = scenario.strategy, scenario.rollout, scenario.trainer
    push = trainer.weight_sync_seconds if trainer.publish_every == 1 else 0.0
    each = trainer.update_seconds.mean() + push
    if not trainer.update_seconds.variance() and each:
        law = "1 / (U + S): the trainer is never idle"
        yield "updates_per_hour", Limit(3600 / each, "at most", law, "constant update times")
    if not isinstance(strategy, Asynchronous) or strategy.max_staleness is None:
        return
    bound = float(strategy.max_staleness)
    if strategy.enforce == "gate":
        if not rollout.group_redundancy:
            # When a version is published, at most eta B episodes are out and not in training; each version
            # makes those, and no others, one older; and it comes with a batch.
            law = "η: at most η B episodes are out as a version comes, and age by it"
            yield "staleness.mean", Limit(bound, "at most", law, "a gate without redundant episodes")
    else:
        law = "⌊η⌋: what is older is discarded"
        yield "staleness.mean", Limit(math.floor(bound), "at most", law, "drop and cancel")
        yield "staleness.max", Limit(math.floor(bound), "at most", law, "drop and cancel")


def _tendencies(scenario: Scenario) -> Iterator[tuple[str, Limit]]:
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
    if seconds is None or not busy_workers(scenario):
        return
    if flows(scenario):
        rate = asynchronous_rate(durations.mean, workers, batch, seconds)
        law = "min(W / (B E[d]), 1 / (U + S))"
        yield "updates_per_hour", Limit(3600 * rate, "tends to", law, "one of the two clearly the less")
        if workers * seconds < batch * durations.mean and trainer.publish_every == 1:
            law = "W / B, whatever the spread"
            yield "staleness.in_flight_mean", Limit(in_flight_limit(workers, batch), "tends to", law, holds)
    elif _drops_singly(scenario):
        assert isinstance(scenario.strategy, Asynchronous)
        bound = float(scenario.strategy.max_staleness or 0)
        discarded = discarded_share(distribution, workers, batch, seconds * speed, bound)
        if discarded is not None:
            law = "W/E[d] (G((η+1) P - U) - G(η P - U)) = B, G = integral of F, P from batch to batch"
            yield "episodes.dropped_share", Limit(discarded, "tends to", law, holds)
            rate = workers * (1 - discarded) / (batch * durations.mean)
            yield "updates_per_hour", Limit(3600 * rate, "tends to", law, holds)


def _drops_singly(scenario: Scenario) -> bool:
    strategy = scenario.strategy
    return (
        isinstance(strategy, Asynchronous)
        and strategy.max_staleness is not None
        and strategy.enforce == "drop"
        and scenario.rollout.group_size == 1
        and scenario.trainer.publish_every == 1
        and strategy.weights == "next_episode"
    )
