"""How many attempts at episodes a run comes to, before it runs: its cost in time and memory follows."""

import math
from functools import lru_cache

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from emulator.scenario import Scenario
from emulator.steady import steady
from emulator.values.distributions import Distribution

_DRAWS = 1000
_SPEEDS = 50


def promised_episodes(scenario: Scenario) -> float:
    """About how many attempts a run of the scenario makes at most, without its lanes and its timeline.

    Workers never rest, but as the trainer holds them back: in rounds, at a gate or before a full queue. Means
    are those of fixed draws, none counted as longer than the run. ``math.inf`` if no time passes.
    """
    rollout, environment, longest, reset = scenario.rollout, scenario.environment, scenario.duration, 0.0
    if environment is not None:
        longest = min(longest, environment.timeout_seconds or longest)
        reset = _mean(environment.reset_seconds, longest)
    if scenario.engine is not None:
        attempts = rollout.workers + scenario.duration * steady(scenario).episodes_per_second
        return min(attempts, _held_back(scenario))
    speeds = _draws(rollout.speed)[:_SPEEDS, np.newaxis]
    with np.errstate(all="ignore"):
        seconds = np.fmin(_draws(rollout.length) / speeds, longest).mean(axis=1) + reset
        attempts = rollout.workers * float((scenario.duration / seconds).mean())
    return min(attempts, _held_back(scenario))


def _held_back(scenario: Scenario) -> float:
    """How many attempts the trainer lets begin."""
    trainer, pace = scenario.trainer, scenario.strategy.pace(scenario.setting)
    update = _mean(trainer.update_seconds, scenario.duration)
    update += trainer.weight_sync_seconds / trainer.publish_every
    if not update:
        return math.inf
    return (pace.ahead + pace.each * (scenario.duration / update + 1)) * _attempts_each(scenario)


def _attempts_each(scenario: Scenario) -> float:
    environment = scenario.environment
    if environment is None:
        return 1.0
    if environment.timeout_seconds is not None:
        return 1.0 + environment.retries
    return min(1.0 / (1.0 - environment.failure_probability), 1.0 + environment.retries)


def _mean(distribution: Distribution, longest: float) -> float:
    return float(np.minimum(_draws(distribution), longest).mean())


@lru_cache(maxsize=64)
def _draws(distribution: Distribution) -> NDArray[np.float64]:
    return distribution.sampler(SeedSequence(0))(_DRAWS)
