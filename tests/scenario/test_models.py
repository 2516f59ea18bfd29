"""Scenarios as values: defaults, the resolved form, lanes, and the rules between keys."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from emulator.scenario import Scenario
from tests.scenarios import scenarios

BASE: dict[str, Any] = {
    "rollout": {"workers": 8, "episode_seconds": {"kind": "lognormal", "median": 20, "sigma": 1}},
    "trainer": {"batch_size": 8, "update_seconds": "15s"},
    "strategy": {"kind": "asynchronous"},
}


def scenario(**changes: Any) -> Scenario:
    """The base with sections merged into it; a strategy replaces the whole."""
    data = {**BASE}
    for key, value in changes.items():
        merge = key in {"rollout", "trainer"}
        data[key] = {**BASE[key], **value} if merge else value
    return Scenario(**data)


def violations(**changes: Any) -> list[str]:
    with pytest.raises(ValidationError) as error:
        scenario(**changes)
    (detail,) = error.value.errors()
    return [str(violation) for violation in detail["ctx"]["violations"]]


@settings(max_examples=150)
@given(scenarios(lanes=True))
def test_the_resolved_form_is_json_and_loads_to_an_equal_scenario(drawn: Scenario):
    resolved = drawn.resolved()
    again = Scenario.model_validate(json.loads(json.dumps(resolved, allow_nan=False)))
    assert again == drawn
    assert again.resolved() == resolved
    assert again.lane_scenarios() == drawn.lane_scenarios()
    for lane in drawn.lane_scenarios():
        assert Scenario.model_validate(lane.resolved()).resolved() == lane.resolved()


def test_the_resolved_form_fills_in_every_default():
    assert scenario().resolved() == {
        "name": "scenario",
        "description": "No description.",
        "seed": 1,
        "duration": 3600.0,
        "speed": 60.0,
        "rollout": {
            "workers": 8,
            "episode_seconds": {"kind": "lognormal", "median": 20.0, "sigma": 1.0},
            "episode_tokens": None,
            "turns": None,
            "prompt_tokens": {"kind": "constant", "value": 0.0},
            "group_size": 1,
            "group_redundancy": 0,
            "group_correlation": 0.0,
            "queue_capacity": None,
            "speed": {"kind": "constant", "value": 1.0},
        },
        "trainer": {
            "batch_size": 8,
            "update_seconds": {"kind": "constant", "value": 15.0},
            "weight_sync_seconds": 0.0,
            "publish_every": 1,
            "token_gpu_ms": 0.0,
            "gpus": None,
        },
        "strategy": {
            "kind": "asynchronous",
            "max_staleness": None,
            "enforce": "gate",
            "weights": "next_episode",
            "refresh_overhead": 0.0,
            "weight_sync": "background",
        },
        "environment": None,
        "engine": None,
        "cluster": None,
        "learner": None,
        "events": [],
        "lanes": [],
    }


def test_decimals_are_exact_and_dump_as_plain_numbers():
    strategy = scenario(strategy={"kind": "asynchronous", "max_staleness": 0.1}).strategy
    assert strategy.max_staleness == Decimal(1) / 10
    assert json.dumps(strategy.model_dump(mode="json")["max_staleness"]) == "0.1"
    strategy = scenario(strategy={"kind": "synchronous", "oversample": 2, "unfinished": "abort"}).strategy
    assert strategy.oversample == Decimal(2)
    assert json.dumps(strategy.model_dump(mode="json")["oversample"]) == "2"


def test_an_event_has_one_action_and_only_that_is_written_out():
    entries = [
        {"at": "1m", "slow": {"workers": [3, 1], "factor": 5, "for": "10m"}},
        {"at": 5, "straggler": {"worker": 2, "factor": 8}},
        {"at": 5, "remove_workers": {"count": 2}},
    ]
    events = scenario(events=entries).events
    assert [event.kind for event in events] == ["slow", "straggler", "remove_workers"]
    assert events[0].action.for_seconds == 600.0
    assert events[0].action.workers == (3, 1)
    assert [event.model_dump(mode="json", by_alias=True) for event in events] == [
        {"at": 60.0, "slow": {"workers": [3, 1], "factor": 5.0, "for": 600.0}},
        {"at": 5.0, "straggler": {"worker": 2, "factor": 8.0}},
        {"at": 5.0, "remove_workers": {"count": 2}},
    ]


def test_a_scenario_is_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        scenario().seed = 3


def test_lanes_merge_over_the_scenario_and_a_kind_replaces_the_whole():
    base = scenario(
        strategy={"kind": "asynchronous", "max_staleness": 2},
        environment={"sandboxes": 4},
        events=[{"at": 1, "add_workers": {"count": 1}}],
        lanes=[
            {
                "name": "narrow",
                "rollout": {"episode_seconds": {"sigma": 0.3}},
                "strategy": {"enforce": "drop"},
            },
            {"name": "sync", "strategy": {"kind": "synchronous"}, "environment": None, "events": []},
            {"name": "constant", "rollout": {"episode_seconds": 5, "workers": 3}, "description": "Short."},
        ],
    )
    narrow, sync, constant = base.lane_scenarios()
    assert [lane.lane for lane in (base, narrow, sync, constant)] == [None, "narrow", "sync", "constant"]
    assert narrow.lanes == ()
    assert narrow.rollout.workers == 8
    assert narrow.resolved()["rollout"]["episode_seconds"] == {
        "kind": "lognormal",
        "median": 20.0,
        "sigma": 0.3,
    }
    assert (narrow.strategy.max_staleness, narrow.strategy.enforce) == (2, "drop")
    assert narrow.environment == base.environment
    assert sync.strategy.kind == "synchronous"
    assert (sync.environment, sync.events) == (None, ())
    assert constant.resolved()["rollout"]["episode_seconds"] == {"kind": "constant", "value": 5.0}
    assert (constant.rollout.workers, constant.description, constant.events) == (3, "Short.", base.events)


def test_a_lane_changes_the_learner_or_takes_it_away():
    base = scenario(
        learner={"steps": 8, "loss": "vtrace"},
        lanes=[
            {"name": "as it is"},
            {"name": "ppo", "learner": {"loss": "ppo"}},
            {"name": "none", "learner": None},
        ],
    )
    same, ppo, none = base.lane_scenarios()
    assert same.learner == base.learner
    assert ppo.learner is not None
    assert (ppo.learner.steps, ppo.learner.loss) == (8, "ppo")
    assert none.learner is None


def test_lanes_merge_over_parts_made_in_python():
    base = scenario()
    lane = {"name": "few", "rollout": {"workers": 2}}
    made = Scenario(rollout=base.rollout, trainer=base.trainer, strategy=base.strategy, lanes=[lane])
    (few,) = made.lane_scenarios()
    assert few.rollout == base.rollout.model_copy(update={"workers": 2})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"rollout": {"group_size": 3}},
            "rollout.group_size: found 3; allowed: a number that divides trainer.batch_size (8), "
            "since a batch is made of whole groups",
        ),
        (
            {"rollout": {"group_redundancy": 2}},
            "rollout.group_redundancy: found 2; allowed: 0, or a rollout.group_size above 1 "
            "to be redundant in",
        ),
        (
            {"rollout": {"queue_capacity": 7}},
            "rollout.queue_capacity: found 7; allowed: at least trainer.batch_size (8): "
            "a smaller queue never holds a whole batch, a deadlock",
        ),
        (
            {"rollout": {"speed": 0}},
            "rollout.speed: found a speed of 0; allowed: speeds above 0: a worker without "
            "speed never finishes",
        ),
        (
            {"strategy": {"kind": "synchronous", "oversample": 1.5}},
            "strategy.oversample: found 1.5; allowed: 1 with unfinished: wait, or unfinished: abort, "
            "resume or defer for what exceeds the batch",
        ),
        (
            {"strategy": {"kind": "synchronous", "unfinished": "abort", "resume_overhead": 2}},
            "strategy.resume_overhead: found 2; allowed: 0 with unfinished: abort; "
            "it belongs to unfinished: resume",
        ),
        (
            {
                "strategy": {"kind": "synchronous", "unfinished": "abort", "oversample": 2},
                "trainer": {"batch_size": 10_000_000},
            },
            "strategy.oversample: found 2; allowed: at most 10000000 episodes in a round; "
            "with trainer.batch_size they are 20000000",
        ),
        (
            {"strategy": {"kind": "asynchronous", "enforce": "drop"}},
            "strategy.enforce: found drop; allowed: a max_staleness beside it: there is no bound to enforce",
        ),
        (
            {"strategy": {"kind": "asynchronous", "refresh_overhead": 2.5}},
            "strategy.refresh_overhead: found 2.5; allowed: 0 with weights: next_episode; "
            "it belongs to weights: in_flight",
        ),
        (
            {"environment": {"reset_seconds": 5, "timeout_seconds": 5}},
            "environment.timeout_seconds: found 5; allowed: more than reset_seconds (5): "
            "no attempt would ever begin",
        ),
        (
            {"learner": {"steps": 1000}, "trainer": {"batch_size": 10_001}},
            "learner.steps: found 1000; allowed: at most 10000000 decisions in a batch: with "
            "trainer.batch_size (10001) at most 999",
        ),
        (
            {"learner": {"contexts": 4096, "actions": 20}},
            "learner.contexts: found 4096; allowed: at most 3276 with 20 actions, since every version in use "
            "has all of them",
        ),
        (
            {"learner": {}, "trainer": {"batch_size": 10_000_000}},
            "learner.steps: found 32; allowed: at most 10000000 decisions in a batch: with "
            "trainer.batch_size (10000000) at most 1",
        ),
        (
            {"events": [{"at": "2h", "add_workers": {"count": 1}}]},
            "events.0.at: found 7200 s; allowed: from 0 to the duration, 3600 s",
        ),
        (
            {"events": [{"at": 0, "crash": {"workers": [0, 8], "restart_seconds": 1}}]},
            "events.0.crash.workers: found worker 8; allowed: workers from 0 to 7: there are never more",
        ),
        (
            {"events": [{"at": 0, "slow": {"workers": 9, "factor": 2, "for": 1}}]},
            "events.0.slow.workers: found 9 workers; allowed: at most 8 workers: there are never more",
        ),
        (
            {"events": [{"at": 0, "straggler": {"worker": 8, "factor": 2}}]},
            "events.0.straggler.worker: found worker 8; allowed: workers from 0 to 7: there are never more",
        ),
        (
            {"events": [{"at": 0, "remove_workers": {"count": 9}}]},
            "events.0.remove_workers.count: found 9 workers; allowed: at most 8 workers: "
            "there are never more",
        ),
        (
            {"events": [{"at": 0, "add_workers": {"count": 1_000_000}}]},
            "events: found 1000008 workers in all; allowed: at most 1000000 workers, "
            "those that join later included",
        ),
        (
            {
                "rollout": {
                    "group_correlation": 0.3,
                    "episode_seconds": {"kind": "lognormal", "median": 5, "sigma": 1},
                }
            },
            "rollout.group_correlation: found 0.3; allowed: 0, or a rollout.group_size above 1 whose "
            "episodes have something in common",
        ),
        (
            {"rollout": {"group_correlation": 0.3, "group_size": 4, "episode_seconds": 5}},
            "rollout.group_correlation: found 0.3; allowed: 0, or a lognormal rollout.episode_seconds: "
            "it is a share of the log variance",
        ),
        (
            {"lanes": [{"name": "a"}, {"name": "a"}]},
            'lanes.1.name: found "a"; allowed: a name unlike that of lanes.0',
        ),
        (
            {"lanes": [{"name": "a", "rollout": {"group_size": 5}}]},
            "lanes.0.rollout.group_size: found 5; allowed: a number that divides trainer.batch_size (8), "
            "since a batch is made of whole groups",
        ),
    ],
)
def test_a_broken_rule_is_reported_at_its_key(changes: dict[str, Any], expected: str):
    assert violations(**changes) == [expected]


def test_a_rule_broken_by_the_scenario_is_not_reported_again_for_each_lane():
    assert len(violations(rollout={"group_size": 3}, lanes=[{"name": "a"}, {"name": "b"}])) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"strategy": {"kind": "synchronous", "oversample": 1, "unfinished": "defer"}},
        {"strategy": {"kind": "asynchronous", "weight_sync": "pause"}},
        {"strategy": {"kind": "asynchronous", "max_staleness": 0}, "rollout": {"group_size": 8}},
        {
            "events": [
                {"at": 3600, "crash": {"workers": [8], "restart_seconds": 0}},
                {"at": 0, "add_workers": {"count": 1}},
            ]
        },
        {"rollout": {"queue_capacity": 8, "workers": 1_000_000}, "seed": 2**64 - 1},
        {"learner": {"steps": 1000}, "trainer": {"batch_size": 10_000}},
        {"learner": {"contexts": 4096, "actions": 16}},
    ],
)
def test_what_lies_just_inside_the_rules_is_allowed(changes: dict[str, Any]):
    scenario(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rollout": {"workers": True}}, "found True; allowed: a whole number from 1 to 1000000"),
        ({"rollout": {"workers": 1.5}}, "found 1.5; allowed: a whole number from 1 to 1000000"),
        ({"seed": 2**64}, f"found {2**64}; allowed: a whole number from 0 to {2**64 - 1}"),
        ({"speed": 0}, "found 0; allowed: a number above 0, up to 1000000000, or max"),
        ({"name": "\x1b[2J"}, r'found "\x1b[2J"; allowed: a printable text on one line, 1 to 100 characters'),
        (
            {"environment": {"failure_probability": 1}},
            "found 1; allowed: a number from 0 to below 1",
        ),
        (
            {"events": [{"at": 0, "remove_workers": {"workers": [1, 1]}}]},
            "found [1, 1]; allowed: a list of different worker numbers from 0 to 999999",
        ),
        (
            {"events": [{"at": 0, "straggler": {"factor": 2}}]},
            "found none of them; allowed: exactly one of episode, worker",
        ),
        (
            {"lanes": [{"name": "a", "rollout": None}]},
            "found nothing; allowed: a value, or no such key",
        ),
    ],
)
def test_a_value_that_is_not_allowed_is_reported_in_plain_words(changes: dict[str, Any], message: str):
    with pytest.raises(ValidationError) as error:
        scenario(**changes)
    assert [detail["msg"] for detail in error.value.errors()] == [message]


def test_whole_numbers_may_be_written_as_floats():
    assert scenario(rollout={"workers": 1e3}).rollout.workers == 1000


@settings(max_examples=60)
@given(scenarios(lanes=True))
def test_a_plain_dump_is_what_the_constructor_takes(drawn: Scenario):
    assert Scenario(**drawn.model_dump()) == drawn
