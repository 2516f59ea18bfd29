"""Runs a scenario twice, by the emulator and by the independent calculation, and compares every number."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.random import SeedSequence

import emulator
from emulator.errors import DeadlockError, EndlessInstantError, RunError, SequenceTooLargeError
from emulator.events import Event
from emulator.randomness import Draws, Streams
from emulator.scenario import Scenario
from emulator.values.distributions import Distribution, Lognormal
from tests import reference
from tests.reference import whole
from tests.reference.engine import TooLarge
from tests.reference.plans import Parts, Plan, Plans, group_values, one_turn

NOT_EXACT = {"weighted_mean"}
"""Means of quotients, which are rounded on the way."""


class Sequence:
    """Values of an endless sequence by their number."""

    def __init__(self, draws: Draws | Callable[[], float]) -> None:
        self._next = draws.next if isinstance(draws, Draws) else draws
        self._values: list[float] = []

    def __call__(self, k: int) -> float:
        while len(self._values) <= k:
            self._values.append(self._next())
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


def correlated(distribution: Distribution, scenario: Scenario, episodes: SeedSequence) -> Callable[[], float]:
    """The next value for the next episode, which has something in common with its group."""
    rollout = scenario.rollout
    if not rollout.group_correlation:
        return Draws(distribution.sampler(episodes)).next
    assert isinstance(distribution, Lognormal)
    of_groups, of_episodes = (np.random.default_rng(s) for s in (Streams(scenario.seed).groups, episodes))
    return group_values(
        distribution.median_,
        distribution.sigma,
        rollout.group_correlation,
        size=rollout.group_size + rollout.group_redundancy,
        of_groups=iter(of_groups.standard_normal, None),
        of_episodes=iter(of_episodes.standard_normal, None),
        cap=math.inf if distribution.cap is None else distribution.cap,
    ).__next__


def plans(scenario: Scenario) -> Callable[[int], Plan]:
    """The k-th plan, of an episode that has tokens."""
    rollout = scenario.rollout
    streams = Streams(scenario.seed)
    seeds = SeedSequence(scenario.seed, spawn_key=(5,)).spawn(5)

    def values(distribution: Distribution, child: int) -> Iterator[float]:
        return iter(Draws(distribution.sampler(seeds[child])).next, None)

    prompts = values(rollout.prompt_tokens, 0)
    if rollout.episode_tokens is not None:
        lengths = correlated(rollout.episode_tokens, scenario, streams.durations)
        return Plans(one_turn(iter(lengths, None), prompts))
    turns = rollout.turns
    assert turns is not None
    counts = iter(correlated(turns.count, scenario, seeds[1]), None)
    outputs, seconds, results = (
        values(distribution, child)
        for child, distribution in enumerate((turns.output_tokens, turns.tool_seconds, turns.tool_tokens), 2)
    )
    return Plans(Parts(counts, outputs, seconds, results, prompts).next_plan)


def calculated(scenario: Scenario) -> dict[str, Any]:
    """The result of the independent calculation."""
    given = inputs(scenario)
    if scenario.engine is None:
        return reference.run(scenario.resolved(), **given)
    speeds = SeedSequence(scenario.seed, spawn_key=(7,))
    given["engine_speeds"] = Sequence(Draws(scenario.engine.speed.sampler(speeds)))
    if scenario.rollout.episode_seconds is None:
        given["plans"] = plans(scenario)
        del given["durations"]
    return whole.run(scenario.resolved(), **given)


def inputs(scenario: Scenario) -> dict[str, Any]:
    """The random numbers of a scenario, as functions of their place."""
    streams = Streams(scenario.seed)
    rollout = scenario.rollout
    given: dict[str, Any] = {
        "durations": Sequence(correlated(rollout.length, scenario, streams.durations)),
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
        expected = calculated(scenario)
    except reference.Deadlock as deadlock:
        assert isinstance(run.error, DeadlockError)
        assert run.error.t == deadlock.t
        return run
    except TooLarge:
        assert isinstance(run.error, SequenceTooLargeError)
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
