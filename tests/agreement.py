"""Runs a scenario twice, by the emulator and by the independent calculation, and compares every number."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import emulator
from emulator.errors import DeadlockError, EndlessInstantError, RunError
from emulator.events import Event
from emulator.randomness import Draws, Streams
from emulator.scenario import Scenario
from emulator.values.distributions import Lognormal
from tests import reference
from tests.reference.plans import group_values

NOT_EXACT = {"weighted_mean"}
"""Means of quotients, which are rounded on the way."""


class Sequence:
    """Values of an endless sequence by their number."""

    def __init__(self, draws: Draws) -> None:
        self._draws = draws
        self._values: list[float] = []

    def __call__(self, k: int) -> float:
        while len(self._values) <= k:
            self._values.append(self._draws.next())
        return self._values[k]


class PerWorker:
    """The sequence of each worker."""

    def __init__(self, make: Callable[[int], Draws]) -> None:
        self._make = make
        self._sequences: dict[int, Sequence] = {}

    def __call__(self, worker: int, k: int) -> float:
        if worker not in self._sequences:
            self._sequences[worker] = Sequence(self._make(worker))
        return self._sequences[worker](k)


def durations(scenario: Scenario) -> Callable[[int], float]:
    """The k-th duration; where groups have something in common, by the formula from normal numbers."""
    streams, rollout = Streams(scenario.seed), scenario.rollout
    episode = rollout.episode_seconds
    if not rollout.group_correlation:
        return Sequence(Draws(episode.sampler(streams.durations)))
    assert isinstance(episode, Lognormal)
    of_groups, of_episodes = (np.random.default_rng(s) for s in (streams.groups, streams.durations))
    values = group_values(
        episode.median_,
        episode.sigma,
        rollout.group_correlation,
        size=rollout.group_size + rollout.group_redundancy,
        of_groups=iter(of_groups.standard_normal, None),
        of_episodes=iter(of_episodes.standard_normal, None),
        cap=math.inf if episode.cap is None else episode.cap,
    )
    drawn: list[float] = []

    def duration(k: int) -> float:
        while len(drawn) <= k:
            drawn.append(next(values))
        return drawn[k]

    return duration


def inputs(scenario: Scenario) -> dict[str, Any]:
    """The random numbers of a scenario, as functions of their place."""
    streams = Streams(scenario.seed)
    rollout = scenario.rollout
    given: dict[str, Any] = {
        "durations": durations(scenario),
        "updates": Sequence(Draws(scenario.trainer.update_seconds.sampler(streams.updates))),
        "speeds": Sequence(Draws(rollout.speed.sampler(streams.worker_speeds))),
    }
    environment = scenario.environment
    if environment is not None:
        chances = PerWorker(
            lambda w: Draws(np.random.default_rng(streams.environment(w).spawn(2)[1]).random, 64)
        )
        given["resets"] = PerWorker(
            lambda w: Draws(environment.reset_seconds.sampler(streams.environment(w).spawn(2)[0]), 64)
        )
        given["failures"] = lambda worker, k: chances(worker, k) < environment.failure_probability
    return given


def emulated(scenario: Scenario, events: list[Event] | None = None) -> emulator.Run:
    """The run of the emulator, with its error if it could not go on."""
    try:
        sinks = () if events is None else (events.extend,)
        return emulator.run(scenario, speed="max", sinks=sinks)
    except RunError as error:
        assert error.run is not None
        return error.run


def differences(found: Any, expected: Any, path: str = "") -> Iterator[str]:
    """Where two results differ, of what both have."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in found:
            if key in expected:
                yield from differences(found[key], expected[key], f"{path}.{key}")
    elif path.rpartition(".")[2] in NOT_EXACT:
        if found != pytest.approx(expected, abs=1e-9):
            yield f"{path}: {found} is not about {expected}"
    elif found != expected:
        yield f"{path}: {found} is not {expected}"


def assert_agrees(scenario: Scenario) -> emulator.Run:
    """Every number of the result is that of the independent calculation; so is how the run ends."""
    run = emulated(scenario)
    try:
        expected = reference.run(scenario.resolved(), **inputs(scenario))
    except reference.Deadlock as deadlock:
        assert isinstance(run.error, DeadlockError)
        assert run.error.t == deadlock.t
        return run
    except reference.Loop as loop:
        assert isinstance(run.error, EndlessInstantError)
        assert run.error.t == loop.t
        return run
    assert run.error is None, run.error
    assert not list(differences(run.result, expected))
    if scenario.environment is not None and scenario.environment.sandboxes is not None:
        assert run.result["environment"]["sandbox_wait_seconds"] == expected["pool_seconds"]
    return run
