"""Figures from events: exact sums, ranks, and accounts worked by hand."""

import copy
import math
import random
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emulator
from emulator import events as ev
from emulator.figures import ExactSum, Figures, Result, sums
from emulator.figures.spec import FIRST_UPDATE, LONGEST_WAIT, QUEUE_WAIT
from emulator.scenario import Scenario
from tests import reference
from tests.agreement import inputs
from tests.scenarios import scenarios

FLOATS = st.floats(-1e300, 1e300) | st.integers(-(10**6), 10**6).map(lambda n: n / 10)
quick = settings(max_examples=100)


def exact(terms: list[float]) -> float:
    return float(sum(map(Fraction, terms)))


@quick
@given(st.lists(FLOATS, max_size=40), st.lists(FLOATS, max_size=5))
def test_a_sum_is_rounded_once(terms: list[float], further: list[float]) -> None:
    total = ExactSum()
    for term in terms:
        total.add(term)
    assert total.value() == exact(terms)
    assert total.value(further) == exact(terms + further)
    assert total.value() == exact(terms)


@quick
@given(st.lists(FLOATS, max_size=40), st.integers(0, 10**9))
def test_the_order_of_terms_makes_no_difference(terms: list[float], seed: int) -> None:
    shuffled = list(terms)
    random.Random(seed).shuffle(shuffled)
    one, other = ExactSum(), ExactSum()
    one.extend(terms)
    other.extend(shuffled)
    assert one.value() == other.value()


@quick
@given(st.lists(FLOATS, max_size=60), st.lists(FLOATS, max_size=5))
def test_condensing_keeps_the_exact_sum_in_few_terms(terms: list[float], further: list[float]) -> None:
    total = ExactSum()
    total.extend(terms)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "_CONDENSE_AT", 3)
        total.condense_if_long()
        assert total.value(further) == exact(terms + further)
    assert sum(map(Fraction, total.terms)) == sum(map(Fraction, terms))
    total.extend(further)
    assert total.value() == exact(terms + further)


def test_a_long_sum_takes_little_memory() -> None:
    total = ExactSum()
    total.extend(0.1 for _ in range(60_000))
    total.condense_if_long()
    assert len(total.terms) < 5
    assert total.value() == exact([0.1] * 60_000)
    assert total.value() != reduce(add, [0.1] * 60_000)  # as anything that rounds at each step


def test_a_copied_sum_goes_its_own_way() -> None:
    total = ExactSum()
    total.add(1.0)
    other = copy.deepcopy(total)
    other.add(2.0)
    total.add(5.0)
    assert (total.value(), other.value()) == (6.0, 3.0)


@quick
@given(st.lists(st.integers(0, 9), min_size=1, max_size=50), st.sampled_from([50, 95, 99, 100]))
def test_nearest_rank_is_the_smallest_value_that_enough_values_do_not_exceed(
    values: list[int], percent: int
) -> None:
    expected = next(
        value
        for value in sorted(values)
        if 100 * sum(other <= value for other in values) >= percent * len(values)
    )
    histogram = [values.count(value) for value in range(10)]
    assert sums.nearest_rank(sorted(map(float, values)), percent) == expected
    assert sums.nearest_rank_of(histogram, percent) == expected


def test_nothing_has_no_rank() -> None:
    assert sums.nearest_rank([], 50) is None
    assert sums.nearest_rank_of([], 50) is None


# -- accounts by hand ---------------------------------------------------------------------------------


def figures(
    *events: ev.Event,
    workers: int = 1,
    batch: int = 1,
    environment: dict[str, Any] | None = None,
    **rollout: Any,
) -> Figures:
    """The figures of a scenario of so many workers, after these events."""
    scenario = Scenario.model_validate(
        {
            "rollout": {"workers": workers, "episode_seconds": 10, **rollout},
            "trainer": {"batch_size": batch, "update_seconds": 5},
            "strategy": {"kind": "asynchronous"},
            "environment": environment,
        }
    )
    found = Figures(scenario)
    found.add(events)
    return found


def start(t: float, worker: int, episode: int, *, group: int = -1, version: int = 0) -> ev.Start:
    """A start of an episode of 10 s in a group of its own, unless told."""
    return ev.Start(t, worker, episode, episode if group < 0 else group, version, 10.0)


def spent(found: Figures, t: float) -> dict[str, float]:
    """Worker seconds that are not 0."""
    return {state: seconds for state, seconds in found.worker_seconds(t).items() if seconds}


def training(found: Figures, t: float) -> dict[str, float]:
    """Trainer seconds that are not 0."""
    return {state: seconds for state, seconds in found.trainer_seconds(t).items() if seconds}


def test_an_empty_run_has_no_means() -> None:
    result = figures(workers=2).result(10.0)
    assert result["staleness"] == {
        "mean": None,
        "p50": None,
        "p95": None,
        "max": None,
        "histogram": [],
        "in_flight_mean": None,
        "in_queue_mean": None,
    }
    assert result["versions"] == dict.fromkeys(("span_mean", "span_max", "newest_mean", "weighted_mean"))
    assert result["episode_seconds"] == dict.fromkeys(("started_mean", "trained_mean", "length_bias"))
    assert set(result["episodes"].values()) == {0}
    assert result["workers"]["seconds"]["waiting"] == 20
    assert result["trainer"]["seconds"]["waiting"] == 10
    assert (result["queue"]["mean"], result["queue"]["max"]) == (0, 0)
    assert "groups" not in result
    assert "environment" not in result


def test_a_run_of_no_time_divides_by_nothing() -> None:
    result = figures().result(0.0)
    assert result["updates_per_hour"] is None
    assert result["workers"]["utilisation"] is None
    assert result["trainer"]["utilisation"] is None
    assert result["queue"]["mean"] is None


def test_a_freeze_lies_over_what_each_worker_does_and_not_over_one_that_is_down() -> None:
    found = figures(
        start(0, 0, 0),
        start(0, 1, 1),
        start(0, 2, 2),
        ev.Fail(5, 2, 2, "crash"),
        ev.Down(5, 2),
        ev.Finish(10, 0, 0),
        ev.Gated(10, 0),
        ev.Update(10, 0, [0]),
        ev.Updated(14, 0, pushes=True),
        ev.Push(14, freezes=True),
        ev.Publish(17, 1),
        workers=3,
    )
    # w0 generates to 10, is gated to 14 and from 17; w1 generates to 14 and from 17; w2 to 5, in vain.
    assert spent(found, 20) == {"generating": 32, "gated": 7, "frozen": 6, "down": 15, "wasted": 5}
    assert training(found, 20) == {"waiting": 13, "updating": 4, "pushing": 3}
    result = found.result(20.0)
    assert result["workers"]["utilisation"] == 32 / 60
    assert result["workers"]["goodput"] == 27 / 60
    assert (result["updates"], result["publications"]) == (1, 1)
    assert result["trainer"]["utilisation"] == 7 / 20


def test_what_happens_within_a_freeze_counts_after_it() -> None:
    found = figures(
        start(0, 0, 0),
        ev.Push(2, freezes=True),
        ev.Abort(4, 0, 0, "leave"),
        ev.Leave(4, 0),
        ev.Up(5, 2),
        ev.Publish(8, 1),
        workers=2,
    )
    # w0 0-2, frozen to 4; w1 waits to 2 and from 8; w2 is frozen from 5 to 8.
    assert spent(found, 10) == {"generating": 2, "waiting": 6, "frozen": 11, "wasted": 2}
    assert found.service_seconds(10) == 19


def test_an_update_with_a_push_counts_when_it_is_published() -> None:
    found = figures(start(0, 0, 0), ev.Finish(1, 0, 0), ev.Update(1, 0, [0]), ev.Updated(3, 0, pushes=True))
    assert found.updates == 0
    found.add([ev.Push(3, freezes=False)])
    assert (found.updates, found.frozen) == (0, False)
    found.add([ev.Publish(5, 1)])
    assert (found.updates, found.publications) == (1, 1)
    found.add([ev.Update(5, 1, []), ev.Updated(6, 1, pushes=False)])
    assert (found.updates, found.publications) == (2, 1)


def test_blocked_has_an_account_for_each_cause() -> None:
    found = figures(
        start(0, 0, 0),
        start(0, 1, 1),
        ev.Blocked(0, 1, "sandbox"),
        ev.Finish(4, 0, 0),
        ev.Blocked(4, 0, "queue"),
        ev.Generate(4, 1),
        workers=2,
        environment={"sandboxes": 1},
    )
    # A held episode is queued, and not in the queue's depth.
    assert found.episode_counts()["queued"] == 1
    assert found.depth == 0
    found.add([ev.HandOver(6, 0, 0), start(6, 0, 2), ev.Blocked(6, 0, "sandbox")])
    assert found.depth == 1
    # w0 generates 0-4, is blocked 4-6 by the queue, 6-10 by the pool; w1 0-4 by the pool.
    assert spent(found, 10) == {"generating": 10, "blocked": 10}
    result = found.result(10.0)
    assert result["environment"]["sandbox_wait_seconds"] == 8
    assert result["environment"]["sandbox_seconds"] == 10
    assert result["environment"]["sandbox_utilisation"] == 1
    assert result["queue"] == {"mean": 0.4, "max": 1, "wait_mean": None}
    assert result["episodes"]["attempts"] == 2
    assert result["episodes"]["in_flight"] == 2


def test_a_worker_that_crashes_holding_an_episode_holds_it_still() -> None:
    found = figures(
        start(0, 0, 0),
        ev.Finish(3, 0, 0),
        ev.Blocked(3, 0, "queue"),
        ev.Down(4, 0),
        ev.Up(6, 0),
        ev.HandOver(9, 0, 0),
    )
    assert spent(found, 10) == {"generating": 3, "blocked": 4, "down": 2, "waiting": 1}
    assert found.result(10.0)["queue"] == {"mean": 0.1, "max": 1, "wait_mean": None}


def test_a_held_episode_that_is_dropped_frees_its_worker() -> None:
    found = figures(
        start(0, 0, 0),
        ev.Finish(3, 0, 0),
        ev.Blocked(3, 0, "queue"),
        ev.Drop(5, [0], "stale"),
        ev.Gated(5, 0),
    )
    assert spent(found, 10) == {"generating": 3, "blocked": 2, "gated": 5, "wasted": 3}
    counts = found.episode_counts()
    assert (counts["dropped"], counts["queued"], found.depth) == (1, 0, 0)


def test_the_queue_is_weighted_by_time_and_its_maximum_taken_when_an_instant_has_settled() -> None:
    found = figures(
        start(0, 0, 0),
        start(0, 1, 1),
        ev.Finish(2, 0, 0),
        ev.Finish(6, 1, 1),
        ev.Update(6, 0, [0, 1]),
        workers=2,
        batch=2,
    )
    assert found.result(10.0)["queue"] == {"mean": 0.4, "max": 1, "wait_mean": 2.0}


def test_what_attempts_generated_for_nothing_is_wasted() -> None:
    found = figures(
        start(0, 0, 0),
        ev.Overhead(0, 0),
        ev.Generate(1, 0),
        ev.Retry(3, 0, 0, "failure"),
        ev.Overhead(3, 0),
        ev.Generate(4, 0),
        ev.Retry(7, 0, 0, "timeout"),
        ev.Finish(9, 0, 0),
        ev.Update(9, 0, [0]),
        start(9, 0, 1),
        ev.Fail(12, 0, 1, "failure"),
        environment={"retries": 2},
    )
    # In vain: 1-3, 4-7 and 9-12; not 7-9.
    assert spent(found, 12) == {"generating": 10, "overhead": 2, "wasted": 8}
    result = found.result(12.0)
    assert result["environment"] == {
        "sandbox_seconds": 12,
        "sandbox_utilisation": None,
        "sandbox_wait_seconds": 0,
        "failures": 2,
        "timeouts": 1,
        "retries": 2,
    }
    assert result["episodes"]["started"] == 2
    assert result["episodes"]["attempts"] == 4
    assert result["episodes"]["failed"] == 1


def test_a_wasted_attempt_is_no_part_of_the_versions_of_an_episode() -> None:
    found = figures(
        start(0, 0, 0),
        ev.Publish(3, 1),
        ev.Refresh(3, [0]),
        ev.Retry(5, 0, 0, "failure"),
        ev.Finish(9, 0, 0),
        ev.Update(9, 0, [0]),
        environment={"retries": 1},
    )
    assert found.result(10.0)["staleness"]["histogram"] == [1]


def test_a_partial_rollout_keeps_its_progress_and_a_deferred_one_begins_again() -> None:
    rest = (
        ev.Resume(10, 0, 0, 1),
        ev.Overhead(10, 0),
        ev.Generate(11, 0),
        ev.Finish(13, 0, 0),
        ev.Update(13, 0, [0]),
    )
    kept = figures(start(0, 0, 0), ev.Pause(4, 0, 0, "resume"), ev.Publish(8, 1), *rest)
    lost = figures(start(0, 0, 0), ev.Pause(4, 0, 0, "defer"), ev.Publish(8, 1), *rest)
    seconds = {"generating": 6, "overhead": 1, "waiting": 6}
    assert spent(kept, 13) == seconds
    assert spent(lost, 13) == {**seconds, "wasted": 4}
    assert [f.episode_counts()["attempts"] for f in (kept, lost)] == [1, 2]
    assert [f.result(13.0)["staleness"]["histogram"] for f in (kept, lost)] == [[0, 1], [1]]
    assert kept.result(13.0)["versions"]["weighted_mean"] == pytest.approx(1 - 2 / 6)


def test_paused_episodes_are_counted_until_they_are_resumed_or_given_up() -> None:
    found = figures(start(0, 0, 0), ev.Pause(4, 0, 0, "resume"), start(4, 0, 1), ev.Pause(6, 0, 1, "resume"))
    assert found.episode_counts()["paused"] == 2
    found.add([ev.Resume(7, 0, 0, 0), ev.Abort(8, None, 1, "group")])
    counts = found.episode_counts()
    assert (counts["paused"], counts["in_flight"], counts["aborted"]) == (0, 1, 1)
    assert found.worker_seconds(8)["wasted"] == 2


def test_an_episode_refreshed_in_flight_has_a_span_and_a_weighted_mean_of_versions() -> None:
    found = figures(
        start(0, 0, 0),
        ev.Publish(5, 1),
        ev.Refresh(5, [0]),
        ev.Overhead(5, 0),
        ev.Generate(7, 0),
        ev.Publish(12, 2),
        ev.Refresh(12, [0]),
        ev.Finish(15, 0, 0),
        ev.Publish(16, 3),
        ev.Update(17, 0, [0]),
    )
    # Five seconds of version 0, five of 1, three of 2; finished under 2, trained under 3.
    result = found.result(20.0)
    assert result["staleness"] == {
        "mean": 3,
        "p50": 3,
        "p95": 3,
        "max": 3,
        "histogram": [0, 0, 0, 1],
        "in_flight_mean": 2,
        "in_queue_mean": 1,
    }
    assert result["versions"] == {
        "span_mean": 2,
        "span_max": 2,
        "newest_mean": 1,
        "weighted_mean": pytest.approx(3 - 11 / 13, abs=1e-12),
    }
    assert spent(found, 20) == {"generating": 13, "overhead": 2, "waiting": 5}


def test_a_version_without_generating_seconds_has_generated_nothing() -> None:
    found = figures(
        start(0, 0, 0),
        ev.Publish(0, 1),
        ev.Refresh(0, [0]),
        ev.Publish(4, 2),
        ev.Refresh(4, [0]),
        ev.Finish(4, 0, 0),
        ev.Update(4, 0, [0]),
    )
    result = found.result(5.0)
    assert result["staleness"]["histogram"] == [0, 1]
    assert result["versions"]["span_max"] == 0


def test_an_episode_of_no_length_counts_for_the_version_it_started_under() -> None:
    found = figures(start(0, 0, 0), ev.Publish(0, 1), ev.Finish(0, 0, 0), ev.Update(0, 0, [0]))
    result = found.result(1.0)
    assert result["staleness"]["histogram"] == [0, 1]
    assert result["versions"]["weighted_mean"] == 1


def test_a_deferred_episode_of_no_length_counts_for_the_version_it_began_again_under() -> None:
    found = figures(
        start(0, 0, 0),
        ev.Pause(0, 0, 0, "defer"),
        ev.Publish(3, 1),
        ev.Resume(3, 0, 0, 1),
        ev.Finish(3, 0, 0),
        ev.Publish(4, 2),
        ev.Update(4, 0, [0]),
    )
    assert found.result(5.0)["staleness"]["histogram"] == [0, 1]


def test_groups_are_completed_at_their_size_and_lost_whole() -> None:
    found = figures(
        start(0, 0, 0, group=0),
        start(0, 1, 1, group=0),
        start(1, 2, 2, group=1),
        start(1, 3, 3, group=1),
        ev.Finish(4, 1, 1),
        start(4, 1, 4, group=2),
        ev.Finish(8, 2, 2),
        start(8, 2, 5, group=2),
        ev.Finish(9, 1, 4),
        ev.Finish(10, 0, 0),
        ev.Update(10, 0, [1, 0]),
        ev.Fail(11, 2, 5, "timeout"),
        ev.Drop(11, [4], "group"),
        ev.Finish(12, 3, 3),
        workers=4,
        batch=2,
        group_size=2,
    )
    result = found.result(12.0)
    # The first took 10 s, with 6 s of waiting for a sibling; the second 11 and 4; the third is lost.
    assert result["groups"] == {
        "completed": 2,
        "lost": 1,
        "sibling_wait_mean": 2.5,
        "completion_p50": 10,
        "completion_p95": 11,
    }
    assert result["episodes"]["dropped"] == result["episodes"]["failed"] == 1
    assert result["workers"]["seconds"]["wasted"] == 8


def test_a_redundant_group_survives_a_loss_and_its_surplus_is_no_loss() -> None:
    found = figures(
        *(start(0, worker, worker, group=0) for worker in range(4)),
        ev.Fail(2, 0, 0, "failure"),
        ev.Finish(5, 1, 1),
        ev.Finish(6, 2, 2),
        ev.Abort(6, 3, 3, "surplus"),
        workers=4,
        batch=2,
        group_size=2,
        group_redundancy=2,
    )
    groups = found.result(6.0)["groups"]
    assert (groups["completed"], groups["lost"]) == (1, 0)


def test_a_stall_lies_over_what_the_trainer_does() -> None:
    found = figures(
        start(0, 0, 0),
        ev.Finish(2, 0, 0),
        ev.Update(2, 0, [0]),
        ev.Stall(4),
        ev.Unstall(9),
        ev.Updated(12, 0, pushes=False),
        ev.Stall(14),
    )
    assert training(found, 20) == {"waiting": 4, "updating": 5, "stalled": 11}
    assert training(found, 14) == {"waiting": 4, "updating": 5, "stalled": 5}


def test_joins_and_leaves_change_the_seconds_in_service() -> None:
    found = figures(start(0, 0, 0), ev.Up(4, 2), start(4, 2, 1), ev.Leave(7, 1), workers=2)
    assert found.service_seconds(10) == 10 + 7 + 6
    assert spent(found, 10) == {"generating": 16, "waiting": 7}


def test_the_length_bias_compares_durations_as_drawn() -> None:
    found = figures(
        ev.Start(0, 0, 0, 0, 0, 30.0),
        ev.Start(0, 1, 1, 1, 0, 5.0),
        ev.Finish(9, 1, 1),
        ev.Update(9, 0, [1]),
        ev.Start(9, 1, 2, 2, 0, 25.0),
        workers=2,
    )
    assert found.result(10.0)["episode_seconds"] == {
        "started_mean": 20,
        "trained_mean": 5,
        "length_bias": 0.25,
    }


EVERYTHING = {
    "duration": 400,
    "rollout": {
        "workers": 6,
        "episode_seconds": {"kind": "uniform", "low": 2, "high": 40},
        "group_size": 2,
        "group_redundancy": 1,
        "queue_capacity": 8,
    },
    "trainer": {"batch_size": 4, "update_seconds": 7, "weight_sync_seconds": 2},
    "strategy": {
        "kind": "asynchronous",
        "max_staleness": 1,
        "enforce": "cancel",
        "weights": "in_flight",
        "refresh_overhead": 1,
        "weight_sync": "pause",
    },
    "environment": {"sandboxes": 4, "reset_seconds": 1, "failure_probability": 0.2, "retries": 1},
    "events": [
        {"at": 90, "crash": {"workers": 2, "restart_seconds": 30}},
        {"at": 150, "stall_trainer": {"for": 25}},
        {"at": 200, "add_workers": {"count": 2}},
        {"at": 240, "remove_workers": {"count": 1}},
    ],
}


@pytest.mark.parametrize("share", [0, 0.3, 0.77])
def test_a_copy_made_on_the_way_goes_on_to_the_same_result_and_leaves_the_first_alone(share: float) -> None:
    scenario = Scenario.model_validate(EVERYTHING)
    events: list[ev.Event] = []
    expected = emulator.run(scenario, speed="max", sinks=[events.extend]).result
    cut = math.floor(share * len(events))
    first = Figures(scenario)
    first.add(events[:cut])
    before = first.result(first.t)
    second = copy.deepcopy(first)
    second.add(events[cut:])
    assert second.result(400.0) == expected
    assert first.result(first.t) == before
    first.add(events[cut:])
    assert first.result(400.0) == expected


# -- waits --------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(scenarios())
def test_the_first_update_and_the_waits_are_those_of_the_independent_calculation(scenario: Scenario) -> None:
    try:
        expected = reference.run(scenario.resolved(), **inputs(scenario))
    except (reference.Deadlock, reference.Loop):
        return
    result = Result(emulator.run(scenario, speed="max").result)
    for figure in (FIRST_UPDATE, LONGEST_WAIT, QUEUE_WAIT):
        assert result[figure] == Result(expected)[figure], figure.name


def test_a_wait_that_goes_on_counts_until_it_is_read() -> None:
    found = figures(start(0.0, 0, 0), ev.Finish(10.0, 0, 0), ev.Update(10.0, 0, [0]))
    assert (found.longest_wait(12.0), found.first_update_at) == (10.0, None)
    found.add([ev.Updated(15.0, 0, pushes=False), ev.Publish(15.0, 1)])
    assert (found.longest_wait(20.0), found.longest_wait(40.0), found.first_update_at) == (10.0, 25.0, 15.0)
    found.add([ev.Stall(30.0), ev.Unstall(50.0)])
    assert (found.longest_wait(60.0), found.longest_wait(70.0)) == (15.0, 20.0)


def test_an_update_counts_at_the_end_of_its_push() -> None:
    found = figures(start(0.0, 0, 0), ev.Finish(10.0, 0, 0), ev.Update(12.0, 0, [0]))
    found.add([ev.Updated(15.0, 0, pushes=True), ev.Push(15.0, freezes=False)])
    assert found.first_update_at is None
    found.add([ev.Publish(18.0, 1)])
    assert (found.first_update_at, found.queue_wait_mean()) == (18.0, 2.0)
