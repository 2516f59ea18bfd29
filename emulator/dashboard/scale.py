"""What is short, long and very long in a scenario, so that every lane is drawn to one scale."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence

from emulator.events import Event, Start
from emulator.figures.text import nice_step
from emulator.recording import Recording
from emulator.scenario import Scenario
from emulator.steady import steady
from emulator.values.distributions import Distribution, traces

_DRAWS = 20_000
_COLUMNS_A_ROUND = 12
_COLUMNS_A_RUN = 180
_MOST_COLUMNS_A_RUN = 20_000
_STRAGGLER_PERCENT = 98
_STRAGGLER_FACTOR = 3


@dataclass(frozen=True)
class Scale:
    """Lengths, in emulated seconds.

    `median` and `tail` (the 99th percentile) are of an episode; `straggler` is the age at which an episode
    is called one; `column` is what a column of a raster or a sparkline stands for.
    """

    median: float
    tail: float
    straggler: float
    column: float


def recorded_scale(recording: Recording) -> Scale:
    """The scale of a recording's lanes: as it was when they ran."""
    return scale([lane.scenario for lane in recording.lanes], [lane.events for lane in recording.lanes])


def scale(scenarios: Sequence[Scenario], recorded: Sequence[Sequence[Event]] = ()) -> Scale:
    """The scale of lanes that are watched side by side.

    Where an older recording does not hold the durations of a trace, those of the episodes in `recorded`, the
    events of each lane, stand for them.

    A column is so long that a synchronous round, which lasts as long as the longest episode of a batch,
    takes about a dozen and a few fit on the screen; or so short that the run fills the widest screen. It is
    never so short that a run has more than `_MOST_COLUMNS_A_RUN` of them, since each takes time to fold.
    """
    medians, tails, stragglers, rounds = [], [], [], []
    for scenario, events in zip(scenarios, recorded or [()] * len(scenarios), strict=True):
        if scenario.engine is not None:
            draws = steady(scenario).seconds
        elif _known(scenario.rollout.length):
            draws = scenario.rollout.length.sampler(SeedSequence(0))(_DRAWS)
        else:
            draws = np.array([event.duration for event in events if isinstance(event, Start)] or [0.0])
        update = scenario.trainer.update_seconds
        batch = scenario.trainer.batch_size
        median, straggler, tail = (
            float(value) for value in np.percentile(draws, [50, _STRAGGLER_PERCENT, 99])
        )
        last = np.percentile(draws, 100 * 0.5 ** (1 / batch))
        medians.append(median)
        tails.append(tail)
        stragglers.append(max(_STRAGGLER_FACTOR * median, straggler))
        updating = update.median() if _known(update) else 0.0
        rounds.append(float(last) + updating + scenario.trainer.weight_sync_seconds)
    shortest = min(scenario.duration for scenario in scenarios)
    longest = max(scenario.duration for scenario in scenarios)
    column = min(max(rounds) / _COLUMNS_A_ROUND, shortest / _COLUMNS_A_RUN)
    column = max(column, longest / _MOST_COLUMNS_A_RUN)
    return Scale(max(medians), max(tails), max(stragglers) or 1.0, nice_step(column))


def _known(distribution: Distribution) -> bool:
    return all(trace.series is not None for trace in traces(distribution))
