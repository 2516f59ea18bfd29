"""A learner in a lane: what it is told, and that nothing else comes of it."""

import asyncio
import math
from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.random import SeedSequence, default_rng

import emulator
from emulator import events as ev
from emulator.errors import EndlessInstantError, LearnerError, RunError
from emulator.figures import Figures
from emulator.learner import Learner, LearnerFactory, LearningFigures, TrajectoryGroup
from emulator.scenario import Scenario
from emulator.trace import lines
from tests.agreement import assert_agrees
from tests.scenarios import any_scenarios, scenarios

SMALL = {"contexts": 4, "actions": 3, "steps": 2, "epochs": 1, "difficulty_correlation": 0.5}

drawn = settings(
    max_examples=70,
)


class Listening(Learner):
    """Keeps what it is told, checks what it is promised, and has learned more with every update."""

    def __init__(self) -> None:
        self.batches: list[list[TrajectoryGroup]] = []
        self.versions = {0}

    def update(self, batch: Sequence[TrajectoryGroup]) -> LearningFigures:
        for group in batch:
            for trajectory in group.trajectories:
                assert {version for version, _ in trajectory.portions} <= self.versions
        self.batches.append(list(batch))
        return LearningFigures(len(self.batches) / 100, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0)

    def publish(self, version: int) -> None:
        assert version == max(self.versions) + 1
        self.versions.add(version)

    def retire(self, needed: Collection[int]) -> None:
        self.versions = {version for version in self.versions if version in needed}
        assert max(needed) in self.versions


class Mute(Exception):  # noqa: N818
    """Fails when it is asked for its message."""

    def __str__(self) -> str:
        raise RuntimeError("no message")


def raised(kind: type[BaseException], *args: Any) -> Any:
    raise kind(*args)


def ran(scenario: Scenario, learner: LearnerFactory | None = None) -> tuple[emulator.Run, list[ev.Event]]:
    """What came of a scenario, and its events, whether it could go on or not."""
    events: list[ev.Event] = []
    try:
        return emulator.run(scenario, speed="max", sinks=[events.extend], learner=learner), events
    except RunError as error:
        assert error.run is not None
        return error.run, events


def listened(scenario: Scenario) -> tuple[Listening, list[ev.Event]]:
    learner = Listening()
    return learner, ran(scenario, lambda *_: learner)[1]


def learning(scenario: Scenario, **changes: Any) -> Scenario:
    return Scenario.model_validate({**scenario.resolved(), "learner": SMALL, **changes})


@drawn
@given(any_scenarios())
def test_a_learner_changes_nothing_but_that_its_events_are_there(scenario: Scenario) -> None:
    without, events = ran(scenario)
    run, with_lessons = ran(learning(scenario))
    assert lines(e for e in with_lessons if type(e) is not ev.Learn) == lines(events)
    assert str(run.error) == str(without.error)
    lessons = run.result["learning"]
    assert {**without.result, "learning": lessons} == run.result
    updated = [(e.t, e.update) for e in events if type(e) is ev.Updated]
    if isinstance(run.error, EndlessInstantError) and type(events[-1]) is ev.Updated:
        updated.pop()  # with it the lane has ended
    assert [(e.t, e.update) for e in with_lessons if type(e) is ev.Learn] == updated
    assert lessons["updates"] == len(updated)


@drawn
@given(any_scenarios())
def test_a_batch_is_handed_over_with_the_versions_that_the_events_give(scenario: Scenario) -> None:
    learner, events = listened(scenario)
    batches = iter(learner.batches)
    figures = Figures(scenario)
    told = {e.update for e in events if type(e) is ev.Updated}
    for event in events:
        if type(event) is ev.Update and event.update in told:
            batch = next(batches)
            trajectories = [trajectory for group in batch for trajectory in group.trajectories]
            assert [trajectory.episode for trajectory in trajectories] == event.episodes
            for trajectory in trajectories:
                record = figures.episodes[trajectory.episode]
                spent = [(v, end - start) for v, start, end in record.attempt() if end > start]
                if spent:
                    assert _merged(trajectory.portions) == _merged(spent)
                else:
                    assert trajectory.portions == ((record.start_version, 0.0),)
        figures.add((event,))
    assert next(batches, None) is None


def _merged(portions: Sequence[tuple[int, float]]) -> list[tuple[int, Any]]:
    """Neighbours of one version as one."""
    return [
        (version, pytest.approx(sum(seconds for _, seconds in same), abs=1e-9))
        for version, same in groupby(portions, lambda portion: portion[0])
    ]


@drawn
@given(scenarios())
def test_a_group_has_the_ranks_of_its_first_members_durations(scenario: Scenario) -> None:
    learner, events = listened(scenario)
    durations: dict[int, list[float]] = {}
    for event in events:
        if type(event) is ev.Start:
            durations.setdefault(event.group, []).append(event.duration)
    size = scenario.rollout.group_size
    cdf = scenario.rollout.episode_seconds.cdf
    for group in (group for batch in learner.batches for group in batch):
        assert len(group.trajectories) == len(group.ranks) == size
        for (below, upto), duration in zip(group.ranks, durations[group.group][:size], strict=True):
            assert upto == pytest.approx(float(cdf(np.array([duration]))[0]), abs=1e-12)
            assert 0 <= below <= upto <= 1


def base(**changes: Any) -> Scenario:
    parts: dict[str, Any] = {
        "duration": 600,
        "rollout": {"workers": 8, "episode_seconds": {"kind": "lognormal", "median": 20, "sigma": 1}},
        "trainer": {"batch_size": 8, "update_seconds": 5},
        "strategy": {"kind": "asynchronous"},
    }
    return Scenario.model_validate(parts | changes)


def test_the_ranks_of_a_continuous_distribution_are_uniform() -> None:
    learner, _ = listened(base(duration=36_000))
    ranks = np.array([group.ranks[0] for batch in learner.batches for group in batch])
    assert len(ranks) > 5000
    assert np.abs(ranks[:, 1] - ranks[:, 0]).max() < 1e-12
    # Kolmogorov-Smirnov: the largest distance to the diagonal is beyond 1.95 / sqrt(n) once in a thousand.
    spread = np.sort(ranks[:, 1])
    assert np.abs(spread - np.arange(len(spread)) / len(spread)).max() < 1.95 / np.sqrt(len(spread))


@pytest.mark.parametrize("order", ["sequential", "shuffle", "resample"])
def test_a_trace_ranks_by_the_share_of_its_values_that_are_shorter_and_not_longer(
    tmp_path: Any, order: str
) -> None:
    file = tmp_path / "durations.txt"
    file.write_text("30\n10\n10\n7\n")
    durations = {"kind": "trace", "path": str(file), "order": order, "scale": 0.1}
    learner, events = listened(base(rollout={"workers": 8, "episode_seconds": durations}))
    drawn = {e.group: e.duration for e in events if type(e) is ev.Start}
    ranks = {7: (0, 0.25), 10: (0.25, 0.75), 30: (0.75, 1)}
    seen = [(drawn[group.group], group.ranks[0]) for batch in learner.batches for group in batch]
    assert len(seen) > 900
    assert all(rank == ranks[round(duration * 10)] for duration, rank in seen)


def test_a_refresh_in_flight_divides_an_episode_among_its_versions() -> None:
    scenario = base(
        duration=40,
        rollout={"workers": 1, "episode_seconds": 10},
        trainer={"batch_size": 1, "update_seconds": 4},
        strategy={"kind": "asynchronous", "weights": "in_flight"},
    )
    learner, _ = listened(scenario)
    portions = [batch[0].trajectories[0].portions for batch in learner.batches]
    assert portions == [((0, 10.0),), ((0, 4.0), (1, 6.0)), ((1, 4.0), (2, 6.0))]


def test_versions_that_no_episode_has_any_part_of_are_retired() -> None:
    learner, events = listened(base(duration=3600))
    published = sum(type(e) is ev.Publish for e in events)
    assert published > 90
    assert len(learner.versions) < 40


def test_an_episode_that_hangs_keeps_its_own_version_and_no_later_one() -> None:
    hung = [{"at": 10, "straggler": {"worker": 3, "factor": 1_000_000}}]
    learner, _ = listened(base(duration=3600, events=hung))
    assert 0 in learner.versions
    assert len(learner.versions) < 40


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda: None, "TypeError"),
        (lambda: (0.5, 0.5), "TypeError"),
        (lambda: LearningFigures(*[math.nan] * 8), "reward nan"),
        (lambda: LearningFigures(*["much"] * 8), "ValueError: could not convert string to float: 'much'"),
        (lambda: LearningFigures(*[1e300] * 8), "reward 1e+300"),
        (lambda: "12345678", "TypeError: a str was returned"),
        (lambda: iter([0.5] * 8), "TypeError: a list_iterator was returned"),
        (lambda: dict.fromkeys(range(8)), "TypeError: a dict was returned"),
        (lambda: [10**400] * 8, "OverflowError"),
        (lambda: [[]] * 8, "TypeError"),
        (lambda: raised(asyncio.CancelledError), "update 0 raised CancelledError"),
        (lambda: raised(asyncio.CancelledError, "gone"), "update 0 raised CancelledError: gone"),
        (lambda: raised(GeneratorExit), "update 0 raised GeneratorExit"),
        (lambda: raised(asyncio.TimeoutError), "update 0 raised TimeoutError"),
        (lambda: raised(BaseExceptionGroup, "both", [KeyError("a")]), "ExceptionGroup: both"),
        (lambda: raised(Mute), "update 0 raised Mute"),
        (lambda: raised(LookupError, "a\x1b[2J\nb"), r"LookupError: a\x1b[2J\nb"),
        (lambda: raised(LookupError, "long" * 1000), "longlo…"),
    ],
)
def test_what_a_learner_does_wrong_ends_its_lane_with_a_sentence_and_no_other(
    wrong: Callable[[], Any], said: str
) -> None:
    class Wrong(Listening):
        def update(self, batch: Sequence[TrajectoryGroup]) -> LearningFigures:
            return wrong()  # type: ignore[no-any-return]

    race = base(lanes=[{"name": "right"}, {"name": "wrong"}])
    right, ended = emulator.race(
        race, speed="max", learner=lambda scenario, _: Wrong() if scenario.lane == "wrong" else Listening()
    )
    assert right.error is None
    assert isinstance(ended.error, LearnerError)
    assert str(ended.error).startswith("the learner failed at ")
    assert "update 0" in str(ended.error)
    assert said in str(ended.error)


@pytest.mark.parametrize("method", ["publish", "retire"])
def test_a_learner_that_says_it_is_cancelled_ends_its_lane_with_a_sentence(method: str) -> None:
    learner = Listening()
    setattr(learner, method, lambda _: raised(asyncio.CancelledError))
    with pytest.raises(LearnerError, match=r"version 1 raised CancelledError"):
        emulator.run(base(), speed="max", learner=lambda *_: learner)


def test_a_learner_that_cancels_the_task_it_is_called_in_ends_its_lane_with_a_sentence() -> None:
    class Cancelling(Listening):
        def update(self, batch: Sequence[TrajectoryGroup]) -> LearningFigures:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            return super().update(batch)

    with pytest.raises(RunError, match="tasks was cancelled from outside at ") as caught:
        emulator.run(base(), speed="max", learner=lambda *_: Cancelling())
    assert caught.value.run is not None
    assert caught.value.run.result["updates"] <= 2


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_is_no_fault_of_a_learner(ending: type[BaseException], tmp_path: Path) -> None:
    learner = Listening()
    setattr(learner, "update", lambda _: raised(ending, 3))  # noqa: B010  (it is a method)
    recording = tmp_path / "cut.jsonl"
    with pytest.raises(ending):
        emulator.run(base(), speed="max", learner=lambda *_: learner, record=recording)
    assert emulator.read_recording(recording).lanes[0].events


def test_old_versions_stay_while_a_long_queue_needs_them() -> None:
    # Ten times as many episodes as the trainer takes: by the end it takes those of long ago.
    scenario = base(
        duration=3600,
        rollout={"workers": 80, "episode_seconds": {"kind": "lognormal", "median": 20, "sigma": 1}},
        trainer={"batch_size": 8, "update_seconds": 20},
    )
    learner, _ = listened(scenario)
    assert len(learner.batches) > 100
    assert len(learner.versions) > 100


def test_the_last_batch_is_learned_from_once_its_update_is_computed() -> None:
    learner, events = listened(base(duration=100))
    assert len(learner.batches) == sum(type(e) is ev.Updated for e in events)
    assert len(learner.batches) <= sum(type(e) is ev.Update for e in events)


def test_lanes_of_a_race_learn_as_they_do_alone_and_only_those_that_are_to() -> None:
    scenario = base(
        learner={},
        lanes=[
            {"name": "sync", "strategy": {"kind": "synchronous"}},
            {"name": "async"},
            {"name": "none", "learner": None},
        ],
    )
    lanes = emulator.race(scenario, speed="max")
    alone = [emulator.run(lane, speed="max") for lane in scenario.lane_scenarios()]
    assert [lane.trace_sha256 for lane in lanes] == [run.trace_sha256 for run in alone]
    assert [lane.result for lane in lanes] == [run.result for run in alone]
    assert ["learning" in lane.result for lane in lanes] == [True, True, False]


def test_the_seed_of_a_learner_is_its_own_stream_and_the_same_in_every_lane() -> None:
    seeds: list[SeedSequence] = []

    def make(scenario: Scenario, seed: SeedSequence) -> Learner | None:
        seeds.append(seed)
        return None if scenario.lane == "none" else Listening()

    scenario = base(seed=5, lanes=[{"name": "one"}, {"name": "none"}])
    one, none = emulator.race(scenario, speed="max", learner=make)
    expected = SeedSequence(5, spawn_key=(4,)).generate_state(4).tolist()
    assert [seed.generate_state(4).tolist() for seed in seeds] == [expected, expected]
    assert one.result["learning"]["reward"] == one.result["updates"] / 100
    assert "learning" not in none.result


class Guessing(Listening):
    """Draws its reward."""

    def __init__(self, seed: SeedSequence) -> None:
        super().__init__()
        self._rng = default_rng(seed)

    def update(self, batch: Sequence[TrajectoryGroup]) -> LearningFigures:
        return super().update(batch)._replace(reward=self._rng.random())


def test_a_learner_that_is_plugged_in_makes_the_same_trace_every_time() -> None:
    runs = [emulator.run(base(), speed="max", learner=lambda _, seed: Guessing(seed)) for _ in range(2)]
    assert runs[0].trace_sha256 == runs[1].trace_sha256
    assert runs[0].result == runs[1].result
    other = emulator.run(base(), speed="max", seed=2, learner=lambda _, seed: Guessing(seed))
    assert other.result["learning"]["reward"] != runs[0].result["learning"]["reward"]


def test_figures_that_are_not_finite_end_the_run_with_what_they_are() -> None:
    class Diverging(Listening):
        def update(self, batch: Sequence[TrajectoryGroup]) -> LearningFigures:
            return super().update(batch)._replace(kl=float("nan"))

    with pytest.raises(LearnerError, match=r"kl nan") as caught:
        emulator.run(base(), speed="max", learner=lambda *_: Diverging())
    assert caught.value.run is not None
    assert caught.value.run.result["emulated_seconds"] == caught.value.t > 0


@pytest.mark.parametrize(
    "changes",
    [
        {
            "strategy": {
                "kind": "asynchronous",
                "weights": "in_flight",
                "max_staleness": 1,
                "enforce": "cancel",
            }
        },
        {"strategy": {"kind": "synchronous", "oversample": 1.5, "unfinished": "resume"}},
        {"strategy": {"kind": "synchronous", "oversample": 1.5, "unfinished": "defer"}},
        {"strategy": {"kind": "one_step_off"}},
        {
            "rollout": {
                "workers": 8,
                "episode_seconds": {"kind": "uniform", "low": 5, "high": 40},
                "group_size": 4,
                "group_redundancy": 2,
                "queue_capacity": 40,
            },
            "environment": {"sandboxes": 6, "reset_seconds": 1, "failure_probability": 0.1, "retries": 1},
        },
    ],
)
def test_the_independent_calculation_agrees_while_something_learns(changes: dict[str, Any]) -> None:
    run = assert_agrees(base(learner=SMALL, **changes))
    assert run.result["learning"]["updates"] > 0
