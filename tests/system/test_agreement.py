"""The emulator against the independent calculation: every number, for every strategy and option."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import emulator
from emulator.errors import EndlessInstantError
from emulator.scenario import Scenario
from tests.agreement import assert_agrees
from tests.scenarios import any_scenarios

TRACES: dict[str, list[float]] = {
    "ties": [4, 10, 3, 5, 2, 9, 8, 7, 20, 1, 6, 2, 3, 4, 4, 4, 12, 60, 5, 5],
    "zeros": [0, 0, 4, 0, 10, 0, 0, 3, 3, 0, 25],
    "spread": [13.37, 61.2, 8.05, 20.9, 144.6, 31.01, 5.5, 17.73, 42.0, 9.99, 26.3, 11.1, 3.141, 75.25],
    "fives": [5],
    "nothing": [0],
}

CASES: dict[str, dict[str, Any]] = {
    "ties": {"trace": "ties"},
    "constant": {"trace": "fives", "update": 5},
    "zero durations": {"trace": "zeros", "update": 4},
    "zero updates": {"trace": "ties", "update": 0},
    "spread": {"trace": "spread", "update": 14.9, "duration": 600},
    "crowd": {"trace": "ties", "workers": 40},
    "few": {"trace": "spread", "workers": 2, "batch": 8, "duration": 400},
}

ENVIRONMENT = {
    "sandboxes": 3,
    "reset_seconds": 1,
    "failure_probability": 0.25,
    "timeout_seconds": 15,
    "retries": 1,
}
IN_FLIGHT = {"weights": "in_flight", "refresh_overhead": 1}
GROUPS = {"group_size": 2}
REDUNDANT = {"group_size": 4, "group_redundancy": 2}


def synchronous(**options: Any) -> dict[str, Any]:
    return {"strategy": {"kind": "synchronous", **options}}


def asynchronous(**options: Any) -> dict[str, Any]:
    return {"strategy": {"kind": "asynchronous", **options}}


STRATEGIES: dict[str, dict[str, Any]] = {
    "wait": synchronous(),
    "one step off": {"strategy": {"kind": "one_step_off"}},
    "asynchronous": asynchronous(),
    "gate": asynchronous(max_staleness=1),
    "drop": asynchronous(max_staleness=1, enforce="drop"),
    "cancel": asynchronous(max_staleness=1, enforce="cancel"),
    "in flight": asynchronous(**IN_FLIGHT),
    **{
        unfinished: synchronous(unfinished=unfinished, oversample=1.5)
        for unfinished in ("abort", "resume", "defer")
    },
    **{
        f"{unfinished} with a deadline": synchronous(unfinished=unfinished, deadline=9)
        for unfinished in ("abort", "resume", "defer")
    },
}
"""One of each kind, to be combined with everything that is no matter of the strategy."""

SHARED: dict[str, dict[str, Any]] = {
    "a push": {"trainer": {"weight_sync_seconds": 2}},
    "every third published": {"trainer": {"publish_every": 3, "weight_sync_seconds": 1}},
    "groups": {"rollout": GROUPS},
    "redundancy": {"rollout": REDUNDANT},
    "speeds": {"rollout": {"speed": {"kind": "uniform", "low": 0.5, "high": 2}}},
    "environment": {"environment": ENVIRONMENT},
    "environment and groups": {"environment": ENVIRONMENT, "rollout": REDUNDANT},
    "straggler by number": {"events": [{"at": 3, "straggler": {"episode": 7, "factor": 8}}]},
    "straggler by worker": {"events": [{"at": 3, "straggler": {"worker": 1, "factor": 8}}]},
    "slow": {"events": [{"at": 4, "slow": {"workers": 2, "factor": 5, "for": 20}}]},
    "fast": {"events": [{"at": 0, "slow": {"workers": [0, 1], "factor": 0.5, "for": 20}}]},
    "crash": {"events": [{"at": 5, "crash": {"workers": 1, "restart_seconds": 10}}]},
    "crash at a tie": {"events": [{"at": 10, "crash": {"workers": [0, 1], "restart_seconds": 0}}]},
    "stall": {"events": [{"at": 12, "stall_trainer": {"for": 30}}]},
    "join": {"events": [{"at": 7, "add_workers": {"count": 3}}]},
    "leave": {"events": [{"at": 10, "remove_workers": {"count": 1}}]},
    "leave by number": {"events": [{"at": 9, "remove_workers": {"workers": [1]}}]},
    "all leave": {"events": [{"at": 20, "remove_workers": {"workers": [0, 1]}}]},
}

OPTIONS: dict[str, dict[str, Any]] = {
    **STRATEGIES,
    **{
        f"{unfinished}, oversample {oversample}": synchronous(unfinished=unfinished, oversample=oversample)
        for unfinished in ("abort", "resume", "defer")
        for oversample in (1, 1.25, 2)
    },
    "resume with an overhead": synchronous(unfinished="resume", oversample=2, resume_overhead=1.5),
    "gate 0": asynchronous(max_staleness=0),
    "gate 0.5": asynchronous(max_staleness=0.5),
    "gate 2": asynchronous(max_staleness=2),
    "drop 0": asynchronous(max_staleness=0, enforce="drop"),
    "drop 0.5": asynchronous(max_staleness=0.5, enforce="drop"),
    "cancel 0": asynchronous(max_staleness=0, enforce="cancel"),
    "cancel in flight": asynchronous(max_staleness=1, enforce="cancel", **IN_FLIGHT),
    "cancel groups": asynchronous(max_staleness=1, enforce="cancel") | {"rollout": REDUNDANT},
    "drop groups": asynchronous(max_staleness=1, enforce="drop") | {"rollout": GROUPS},
    "gate groups": asynchronous(max_staleness=0.5) | {"rollout": REDUNDANT},
    "gate, every third published": asynchronous(max_staleness=0.5) | {"trainer": {"publish_every": 3}},
    "in flight at once": asynchronous(weights="in_flight"),
    "pause": asynchronous(weight_sync="pause") | {"trainer": {"weight_sync_seconds": 3}},
    "pause, in flight": asynchronous(weight_sync="pause", **IN_FLIGHT)
    | {"trainer": {"weight_sync_seconds": 3}},
    "pause, gate": asynchronous(weight_sync="pause", max_staleness=0)
    | {"trainer": {"weight_sync_seconds": 3}},
    "pause, environment": asynchronous(weight_sync="pause")
    | {"trainer": {"weight_sync_seconds": 3}, "environment": ENVIRONMENT},
    "pause, stall": asynchronous(weight_sync="pause")
    | {
        "trainer": {"weight_sync_seconds": 3},
        "events": [{"at": at, "stall_trainer": {"for": 4}} for at in (10, 14, 20)],
    },
    "capacity of a batch": asynchronous() | {"rollout": {"queue_capacity": 8}},
    "capacity of a batch and one": asynchronous() | {"rollout": {"queue_capacity": 9}},
    "capacity, crash": asynchronous()
    | {
        "rollout": {"queue_capacity": 8},
        "events": [{"at": 10, "crash": {"workers": 2, "restart_seconds": 5}}],
    },
    "capacity, drop": asynchronous(max_staleness=0, enforce="drop") | {"rollout": {"queue_capacity": 8}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    for name, seconds in TRACES.items():
        (folder / f"{name}.txt").write_text("".join(f"{value}\n" for value in seconds))
    return folder


def scenario(
    folder: Path,
    *changes: dict[str, Any],
    trace: str,
    update: float = 6,
    workers: int = 6,
    batch: int = 4,
    duration: float = 120,
) -> Scenario:
    """A scenario on durations that a file lists."""
    document: dict[str, Any] = {
        "seed": 5,
        "duration": duration,
        "rollout": {
            "workers": workers,
            "episode_seconds": {"kind": "trace", "path": str(folder / f"{trace}.txt")},
        },
        "trainer": {"batch_size": batch, "update_seconds": update},
    }
    for change in changes:
        for section, value in change.items():
            merges = section in ("rollout", "trainer")
            document[section] = {**document[section], **value} if merges else value
    return Scenario.model_validate(document)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_agrees_on_a_trace(folder: Path, option: str, case: str) -> None:
    run = assert_agrees(scenario(folder, OPTIONS[option], **CASES[case]))
    assert run.error is None
    assert run.result["updates"] > 0


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("shared", SHARED)
def test_every_strategy_agrees_with_what_may_happen_to_it(folder: Path, strategy: str, shared: str) -> None:
    for case in ("ties", "few"):
        run = assert_agrees(scenario(folder, STRATEGIES[strategy], SHARED[shared], **CASES[case]))
        assert run.result["episodes"]["finished"] > 0


@pytest.mark.parametrize("strategy", ["wait", "asynchronous"])
def test_durations_that_are_all_zero_end_where_no_time_passes(folder: Path, strategy: str) -> None:
    run = assert_agrees(scenario(folder, STRATEGIES[strategy], trace="nothing", update=0))
    assert isinstance(run.error, EndlessInstantError)


def test_zero_durations_pass_time_where_updates_do(folder: Path) -> None:
    run = assert_agrees(scenario(folder, STRATEGIES["wait"], trace="nothing", update=6))
    assert run.result["updates"] == 20


@settings(
    max_examples=200,
)
@given(any_scenarios())
def test_scenarios_with_every_option_agree(drawn: Scenario) -> None:
    run = assert_agrees(drawn)
    assert run.result["episodes"]["started"] >= run.result["episodes"]["trained"]


@pytest.mark.parametrize(("lane", "updates"), [(0, range(10, 20)), (1, range(104, 113))])
def test_the_whole_reference_hour_agrees(lane: int, updates: range) -> None:
    chosen = emulator.load_scenario("stragglers").lane_scenarios()[lane]
    run = assert_agrees(chosen)
    assert run.result["updates"] in updates
    assert (chosen.rollout.workers, chosen.trainer.batch_size, chosen.duration) == (64, 64, 3600)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("workers", "group", "capacity"), [(7, 7, 7), (4, 5, 5), (6, 3, 6), (5, 2, 4)])
def test_workers_that_held_what_a_closing_round_gives_up_go_on(
    workers: int, group: int, capacity: int, seed: int
) -> None:
    # The queue is full of members of several groups when one of them is complete and the others are lost.
    assert_agrees(
        Scenario.model_validate(
            {
                "duration": 4,
                "seed": seed,
                "rollout": {
                    "workers": workers,
                    "episode_seconds": {"kind": "uniform", "low": 0, "high": 1},
                    "group_size": group,
                    "queue_capacity": capacity,
                },
                "trainer": {"batch_size": capacity, "update_seconds": 0},
                "strategy": {"kind": "synchronous", "oversample": 2, "unfinished": "abort"},
            }
        )
    )


def test_what_a_look_discards_does_not_bring_a_second_batch_in_the_same_look() -> None:
    # Stale groups leave a full queue, held members enter, and complete groups for two updates are there.
    assert_agrees(
        Scenario.model_validate(
            {
                "seed": 221681,
                "duration": 100,
                "rollout": {
                    "workers": 4,
                    "group_size": 2,
                    "group_redundancy": 2,
                    "queue_capacity": 8,
                    "prompt_tokens": 71,
                    "episode_tokens": 1502,
                },
                "trainer": {
                    "batch_size": 2,
                    "update_seconds": 10,
                    "weight_sync_seconds": 5,
                    "publish_every": 3,
                    "token_gpu_ms": 900,
                },
                "strategy": {
                    "kind": "asynchronous",
                    "max_staleness": 1,
                    "enforce": "cancel",
                    "weights": "in_flight",
                    "refresh_overhead": 2.25,
                },
                "events": [
                    {"at": 37, "remove_workers": {"count": 3}},
                    {"at": 18, "add_workers": {"count": 2}},
                ],
                "engine": {"step_ms": 8.5, "slots": 3, "routing": "by_worker", "speed": 2},
                "cluster": {"gpus": 5, "engine_gpus": 1, "trainer_gpus": 2},
            }
        )
    )
