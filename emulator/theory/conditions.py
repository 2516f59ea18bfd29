"""Which law a scenario falls under: the one place that knows when which of them holds."""

import numpy as np

from emulator.scenario import Scenario
from emulator.strategies.processes import BusyWorkers, IndependentRounds
from emulator.theory.renewal import Durations, TimeGrid
from emulator.theory.rounds import Rounds
from emulator.values.distributions import Constant, Distribution, Mixture, Trace

_MOST_ALIKE = 0.02
_ENOUGH = 16
_LEAST_SPREAD = 0.05
_CELLS_TO_A_MEAN = 8
_CELLS_TO_A_DEVIATION = 2


def known(scenario: Scenario) -> bool:
    """Whether all distributions are known; older recordings did not keep those that a file gave."""
    return all(trace.series is not None for trace in scenario.traces())


def durations_of(scenario: Scenario) -> Durations | None:
    """How long episodes take; None where that depends on more than an independent draw.

    Engines, timelines, an environment that takes time or fails, workers of various speeds, correlated groups,
    and traces that are not resampled do that.
    """
    rollout = scenario.rollout
    plain = (
        scenario.engine is None
        and not scenario.events
        and not _has_environment(scenario)
        and _independent(rollout.length)
    )
    if not plain or rollout.group_correlation or not isinstance(rollout.speed, Constant):
        return None
    durations = Durations(rollout.length, rollout.speed.value)
    return durations if rollout.length.mean() > 0 else None


def rounds_of(scenario: Scenario, durations: Durations) -> Rounds | None:
    """The rounds of a strategy that has independent ones, each episode of which has a worker at once."""
    rollout, trainer, update = scenario.rollout, scenario.trainer, scenario.trainer.update_seconds
    process = scenario.strategy.process(scenario.setting)
    if not isinstance(process, IndependentRounds) or process.issued > rollout.workers:
        return None
    if rollout.group_redundancy or not _independent(update):
        return None
    if process.overlapping and update.variance() and not _continuous(update):
        return None
    return Rounds(
        durations=durations,
        batch_size=trainer.batch_size,
        issued=process.issued,
        update=update,
        push_seconds=trainer.weight_sync_seconds,
        overlapping=process.overlapping,
    )


def busy_workers(scenario: Scenario) -> BusyWorkers | None:
    """The process of workers that never stop; None if these may."""
    process = scenario.strategy.process(scenario.setting)
    return process if isinstance(process, BusyWorkers) else None


def steady_engines(scenario: Scenario) -> bool:
    """Whether every worker is always at an engine or a tool, and each update takes the next batch.

    As long as runs are not so short that their beginning counts.
    """
    plain = scenario.engine is not None and not scenario.events and not _has_environment(scenario)
    process = busy_workers(scenario)
    return plain and process is not None and process.cap is None


def flows(scenario: Scenario) -> bool:
    """Whether each update takes simply the next batch to finish: busy workers, no bound, no groups."""
    process = busy_workers(scenario)
    return process is not None and process.cap is None and scenario.rollout.group_size == 1


def busy_seconds_of(scenario: Scenario) -> float | None:
    """How long each update keeps the trainer, its push included; None where that varies."""
    trainer = scenario.trainer
    if trainer.token_gpu_ms or (scenario.cluster is not None and scenario.cluster.is_shared):
        return None
    regular = trainer.publish_every == 1 or not trainer.weight_sync_seconds
    if trainer.update_seconds.variance() or not regular:
        return None
    return trainer.update_seconds.mean() + trainer.weight_sync_seconds


def ages_hold(scenario: Scenario, durations: Durations) -> bool:
    """Whether the ages of a flow's episodes follow their law.

    Not of few workers or small batches, whose numbers are far from normal; not where workers finish in waves.
    Nor where a publication follows at once on a batch and moves running episodes: one just begun has
    generated nothing.
    """
    process = busy_workers(scenario)
    at_once = busy_seconds_of(scenario) == 0
    moves = process is not None and process.refreshes
    variation = durations.deviation / durations.mean
    blended = variation**2 * scenario.duration >= durations.mean and variation > _LEAST_SPREAD
    enough = min(scenario.rollout.workers, scenario.trainer.batch_size) >= _ENOUGH
    return enough and blended and not (at_once and moves)


def resolved(durations: Durations, grid: TimeGrid) -> bool:
    """Whether episodes finish at any time, not many of them together, and the grid shows how they spread."""
    fine = grid.step < min(durations.mean / _CELLS_TO_A_MEAN, durations.deviation / _CELLS_TO_A_DEVIATION)
    return fine and _continuous(durations.distribution)


def _continuous(distribution: Distribution) -> bool:
    """Whether hardly any two episodes last equally long, so that they do not finish together."""
    if distribution.share_at_cap() > _MOST_ALIKE:
        return False
    match distribution:
        case Mixture():
            return all(_continuous(part.distribution) for part in distribution.components)
        case Trace():
            counts = np.unique(distribution.values, return_counts=True)[1]
            return bool(counts.max() <= _MOST_ALIKE * counts.sum())
    return distribution.variance() > 0


def _has_environment(scenario: Scenario) -> bool:
    """Whether sandboxes are ever waited for, take time to get ready, or attempts fail."""
    environment = scenario.environment
    if environment is None:
        return False
    short = environment.sandboxes is not None and environment.sandboxes < scenario.rollout.workers
    fails = environment.failure_probability > 0 or environment.timeout_seconds is not None
    return short or fails or environment.reset_seconds != Constant(kind="constant", value=0.0)


def _independent(distribution: Distribution) -> bool:
    """Whether its values are drawn one independently of the other: a trace only if it is resampled."""
    if isinstance(distribution, Mixture):
        return all(_independent(part.distribution) for part in distribution.components)
    return (
        not isinstance(distribution, Trace) or distribution.order == "resample" or not distribution.variance()
    )
