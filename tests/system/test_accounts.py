"""Laws that hold for every scenario: accounts that balance, and options that come to the same."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emulator
from emulator import events as ev
from emulator.figures import TRAINER_STATES, WORKER_STATES, Figures
from emulator.scenario import Scenario
from tests.agreement import emulated
from tests.scenarios import any_scenarios, documents, scenarios

STALENESS = st.sampled_from([0, 0.5, 1, 2])


def examples(count: int) -> settings:
    return settings(
        max_examples=count,
    )


def with_strategy(document: dict[str, Any], kind: str, **options: Any) -> Scenario:
    return Scenario.model_validate({**document, "strategy": {"kind": kind, **options}})


def ending(scenario: Scenario) -> tuple[str, str]:
    """The trace of a run, by its hash, and how it ended."""
    run = emulated(scenario)
    return run.trace_sha256, str(run.error)


class Whereabouts:
    """Where each episode is, from the events alone."""

    def __init__(self) -> None:
        self.running: set[int] = set()
        self.paused: set[int] = set()
        self.finished: set[int] = set()

    def follow(self, event: ev.Event) -> None:
        match event:
            case ev.Start() | ev.Resume():
                self.paused.discard(event.episode)
                self.running.add(event.episode)
            case ev.Finish():
                self.running.remove(event.episode)
                self.finished.add(event.episode)
            case ev.Pause():
                self.running.remove(event.episode)
                self.paused.add(event.episode)
            case ev.Fail() | ev.Abort():
                self.running.discard(event.episode)
                self.paused.discard(event.episode)
            case ev.Drop() | ev.Update():
                self.finished.difference_update(event.episodes)


def assert_balanced(figures: Figures, t: float, where: Whereabouts) -> None:
    workers = figures.worker_seconds(t)
    assert sum(workers[state] for state in WORKER_STATES) == pytest.approx(
        figures.service_seconds(t), abs=1e-9, rel=0
    )
    assert all(workers[state] >= 0 for state in WORKER_STATES)
    assert 0 <= workers["wasted"] <= workers["generating"] + 1e-9
    trainer = figures.trainer_seconds(t)
    assert sum(trainer[state] for state in TRAINER_STATES) == pytest.approx(t, abs=1e-9, rel=0)
    assert all(trainer[state] >= 0 for state in TRAINER_STATES)
    counts = figures.episode_counts()
    assert counts["in_flight"] == len(where.running)
    assert counts["paused"] == len(where.paused)
    assert counts["queued"] == len(where.finished)
    assert counts["started"] == sum(
        counts[name] for name in ("finished", "aborted", "failed", "in_flight", "paused")
    )
    assert counts["finished"] == counts["trained"] + counts["dropped"] + counts["queued"]
    assert 0 <= figures.depth <= counts["queued"]


@examples(50)
@given(any_scenarios())
def test_the_accounts_balance_after_every_event(scenario: Scenario) -> None:
    events: list[ev.Event] = []
    run = emulated(scenario, events)
    capacity = scenario.rollout.queue_capacity
    figures, where = Figures(scenario), Whereabouts()
    for event in events[:2000]:
        if event.t > figures.t and capacity is not None:
            assert figures.depth <= capacity
        figures.add([event])
        where.follow(event)
        assert_balanced(figures, event.t, where)
    figures.add(events[2000:])
    assert figures.result(run.result["emulated_seconds"]) == run.result
    if capacity is not None and run.error is None:
        assert run.result["queue"]["max"] <= capacity


@examples(30)
@given(documents(kinds=("asynchronous",)), STALENESS, st.sampled_from(["drop", "cancel"]))
def test_drop_and_cancel_train_nothing_beyond_the_limit(
    document: dict[str, Any], limit: float, enforce: str
) -> None:
    scenario = with_strategy(document, "asynchronous", max_staleness=limit, enforce=enforce)
    oldest = emulated(scenario).result["staleness"]["max"]
    assert oldest is None or oldest <= limit


@examples(15)
@given(documents())
def test_all_strategies_start_the_same_episodes_in_the_same_order(document: dict[str, Any]) -> None:
    sequences = []
    for strategy in (
        document["strategy"],
        {"kind": "synchronous", "unfinished": "defer", "oversample": 1.5},
        {"kind": "one_step_off"},
        {"kind": "asynchronous", "max_staleness": 0, "enforce": "cancel", "weights": "in_flight"},
    ):
        events: list[ev.Event] = []
        emulated(Scenario.model_validate({**document, "strategy": strategy}), events)
        sequences.append([(e.episode, e.duration) for e in events if isinstance(e, ev.Start)])
    longest = max(sequences, key=len)
    assert [number for number, _ in longest] == list(range(len(longest)))
    for sequence in sequences:
        assert sequence == longest[: len(sequence)]


@examples(15)
@given(documents(kinds=("synchronous",)), st.sampled_from(["abort", "resume", "defer"]))
def test_without_oversampling_nothing_is_unfinished(document: dict[str, Any], unfinished: str) -> None:
    wait = with_strategy(document, "synchronous")
    other = with_strategy(document, "synchronous", oversample=1, unfinished=unfinished)
    assert ending(other) == ending(wait)


@examples(15)
@given(documents(kinds=("asynchronous",)), st.sampled_from(["gate", "drop", "cancel"]))
def test_a_limit_beyond_reach_limits_nothing(document: dict[str, Any], enforce: str) -> None:
    options = {**document["strategy"], "max_staleness": None, "enforce": "gate"}
    unlimited = Scenario.model_validate({**document, "strategy": options})
    limited = {**options, "max_staleness": 1_000_000, "enforce": enforce}
    assert ending(Scenario.model_validate({**document, "strategy": limited})) == ending(unlimited)


@examples(20)
@given(documents(kinds=("asynchronous",)))
def test_a_gate_without_any_staleness_is_on_policy(document: dict[str, Any]) -> None:
    result = emulated(with_strategy(document, "asynchronous", max_staleness=0)).result
    trained = result["episodes"]["trained"]
    assert result["staleness"]["histogram"] == [trained] * (trained > 0)


@examples(20)
@given(documents(kinds=("one_step_off",)))
def test_one_step_off_lags_by_one_version_after_the_first_batch(document: dict[str, Any]) -> None:
    trainer = {**document["trainer"], "publish_every": 1}
    result = emulated(with_strategy({**document, "trainer": trainer}, "one_step_off")).result
    batch, trained = trainer["batch_size"], result["episodes"]["trained"]
    expected = {0: [], batch: [batch]}.get(trained, [batch, trained - batch])
    assert result["staleness"]["histogram"] == expected


@examples(15)
@given(scenarios(lanes=True).filter(lambda scenario: scenario.lanes))
def test_a_lane_in_a_race_has_the_trace_of_its_solo_run(scenario: Scenario) -> None:
    raced = [(run.name, run.trace_sha256, str(run.error)) for run in emulator.race(scenario, speed="max")]
    assert raced == [(lane.lane, *ending(lane)) for lane in scenario.lane_scenarios()]


@examples(30)
@given(documents().filter(lambda document: document["events"]))
def test_the_entries_as_they_are_recorded_give_the_same_trace_again(document: dict[str, Any]) -> None:
    events: list[ev.Event] = []
    first = emulated(Scenario.model_validate(document), events)
    told = [{"at": e.t, **e.action} for e in events if isinstance(e, ev.Inject)]
    again = emulated(Scenario.model_validate({**document, "events": told}))
    assert again.trace_sha256 == first.trace_sha256
