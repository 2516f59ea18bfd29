"""The whole system with engines: against the one without where both say the same, and by hand where not."""

from __future__ import annotations

import random
from math import fsum
from typing import Any

import pytest

from . import reference
from .reference import whole
from .reference.turns import Plan, Turn


def random_strategy(rng: random.Random) -> dict[str, Any]:
    kind = rng.choice(["synchronous", "one_step_off", "asynchronous", "asynchronous"])
    if kind == "one_step_off":
        return {"kind": kind}
    if kind == "synchronous":
        unfinished = rng.choice(["wait", "abort", "resume", "defer"])
        oversample = 1 if unfinished == "wait" else rng.choice([1.25, 1.5, 2])
        return {"kind": kind, "unfinished": unfinished, "oversample": oversample}
    strategy: dict[str, Any] = {"kind": kind, "weights": rng.choice(["next_episode", "in_flight"])}
    if rng.random() < 0.7:
        strategy |= {
            "max_staleness": rng.choice([0, 1, 2.5]),
            "enforce": rng.choice(["gate", "drop", "cancel"]),
        }
    return strategy | {"weight_sync": rng.choice(["background", "pause"])}


def random_scenario(rng: random.Random) -> dict[str, Any]:
    size = rng.choice([1, 1, 2, 4])
    batch = size * rng.randint(1, 4)
    strategy = random_strategy(rng)
    pausing = strategy.get("weight_sync") == "pause"
    events = [
        {
            "at": rng.uniform(0, 300),
            "crash": {"workers": rng.randint(1, 3), "restart_seconds": rng.choice([0, 5.5])},
        },
        {"at": rng.uniform(0, 300), "stall_trainer": {"for": 7.25}},
        {"at": rng.uniform(0, 300), "add_workers": {"count": 2}},
        {"at": rng.uniform(0, 300), "remove_workers": {"count": 1}},
    ]
    return {
        "duration": 300,
        "rollout": {
            "workers": rng.randint(size + 1, 3 * batch),
            "group_size": size,
            "group_redundancy": rng.choice([0, 0, 1]) if size > 1 else 0,
        },
        "trainer": {
            "batch_size": batch,
            "weight_sync_seconds": rng.choice([0, 1.75]),
            "publish_every": rng.choice([1, 1, 2]),
        },
        "strategy": strategy,
        "environment": {
            "sandboxes": rng.choice([None, rng.randint(2, 12)]),
            "reset_seconds": 0
            if pausing
            else rng.choice([0, 1.37]),  # which a pause of weights does not stop
            "timeout_seconds": None if pausing else rng.choice([None, 30.5]),
            "retries": rng.choice([0, 1]),
        },
        "events": rng.sample(events, rng.randint(0, 3)),
    }


def flat(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        return {k: v for key, part in value.items() for k, v in flat(part, f"{path}.{key}").items()}
    if isinstance(value, (list, tuple)):
        return {k: v for i, part in enumerate(value) for k, v in flat(part, f"{path}.{i}").items()}
    return {path: -1.0 if value is None else value}


@pytest.mark.parametrize("seed", range(60))
def test_engines_whose_step_is_constant_change_nothing(seed: int) -> None:
    rng = random.Random(seed)
    scenario = random_scenario(rng)
    tokens = [rng.uniform(1, 2500) for _ in range(5000)]  # not whole: no two end at one instant
    chance = rng.choice([0, 0.1])
    fails = [rng.random() < chance for _ in range(1000)]
    draws: dict[str, Any] = {
        "updates": lambda i: 3 + i % 7 * 1.31,
        "failures": lambda worker, i: fails[(worker * 37 + i) % 1000],
    }
    scenario["engine"] = {
        "count": rng.randint(1, 3),
        "step_ms": {1: 20, 50: 20},
        "routing": rng.choice(["least_loaded", "round_robin", "by_worker", "by_group"]),
    }
    try:
        plain = flat(reference.run(scenario, durations=lambda k: tokens[k] * 0.02, **draws))
    except reference.Deadlock as deadlock:
        with pytest.raises(reference.Deadlock, match=str(deadlock)):
            whole.run(scenario, plans=lambda k: Plan(0, (Turn(tokens[k]),)), **draws)
        return
    result = whole.run(scenario, plans=lambda k: Plan(0, (Turn(tokens[k]),)), **draws)
    shared = flat(result)
    plain = {path: value for path, value in plain.items() if not path.startswith(".episode_seconds.")}
    assert result["episodes"]["finished"] > 0
    assert {path: shared[path] for path in plain} == pytest.approx(plain, rel=1e-9, abs=1e-6)
    assert fsum(result["workers"]["seconds"].values()) == pytest.approx(
        fsum(v for path, v in plain.items() if path.startswith(".workers.seconds.")), abs=1e-6
    )


def run(
    plans: list[Plan], until: float, *, engine: dict[str, Any] | None = None, **sections: Any
) -> dict[str, Any]:
    """A run whose steps take 10 ms, however many share the engine."""
    scenario = {
        "duration": until,
        "rollout": {"workers": 1},
        "trainer": {"batch_size": 1},
        "strategy": {"kind": "asynchronous"},
        "engine": {"count": 1, "step_ms": 10, **(engine or {})},
        **sections,
    }
    updates = scenario["trainer"].pop("update_seconds", 0.5)
    return whole.run(scenario, plans=lambda k: plans[k % len(plans)], updates=lambda _: updates)


def seconds(result: dict[str, Any]) -> dict[str, float]:
    return {name: round(n, 9) for name, n in result["workers"]["seconds"].items() if round(n, 9)}


def test_an_episode_of_two_turns() -> None:
    # Reset until 1; prefill 0.1, 10 steps: 1.2; tool until 3.2; prefill 0.05, 10 steps: 3.35, then the next.
    plans = [Plan(100, (Turn(10, 2.0, 50), Turn(10)))]
    result = run(plans, 4, engine={"prefill_ms": 1000}, environment={"reset_seconds": 1})
    assert [t for t, _ in result["trained"]] == pytest.approx([3.35])
    assert seconds(result) == {"overhead": 1.65, "generating": 0.35, "acting": 2.0}
    figures = result["engine"]
    assert figures["tokens"] == pytest.approx(20)
    assert figures["kv_peak"] == pytest.approx(170)
    assert figures["prefilling"] == pytest.approx(0.15 / 0.35)
    assert figures["idle"] == pytest.approx([1 - 0.35 / 4])
    assert (figures["running_mean"], figures["running_max"]) == (pytest.approx(0.35 / 4), 1)
    assert result["episode_tokens"]["started_mean"] == 20


def test_without_a_kept_cache_a_turn_prefills_all_that_was_before() -> None:
    plans = [Plan(100, (Turn(10, 2.0, 50), Turn(10)))]
    result = run(plans, 4, engine={"prefill_ms": 1000, "keep_cache": False})
    assert [t for t, _ in result["trained"]] == pytest.approx([0.2 + 2 + 0.16 + 0.1])


def test_seconds_of_an_episode_are_those_alone_in_an_engine_of_speed_one() -> None:
    scenario = {
        "duration": 9,
        "rollout": {"workers": 2},
        "trainer": {"batch_size": 2},
        "strategy": {"kind": "synchronous"},
        "engine": {"count": 1, "step_ms": {1: 10, 2: 15}, "speed": 2},
    }
    result = whole.run(scenario, durations=lambda k: [4.0, 8.0][k % 2], updates=lambda _: 0.1)
    assert [t for t, _ in result["trained"]] == pytest.approx([5.0])  # 400 steps of 7.5 ms, 400 of 5
    assert result["episode_seconds"]["started_mean"] == 6.0


def test_who_waits_in_the_line_of_an_engine_is_blocked() -> None:
    result = run([Plan(0, (Turn(100),))], 2, engine={"slots": 1}, rollout={"workers": 3})
    assert seconds(result) == {"generating": 2.0, "blocked": 4.0}
    assert result["engine"]["wait_seconds"] == pytest.approx(4.0)
    assert [start[1:] for start in result["starts"][:4]] == [(0, 0), (1, 1), (2, 2), (3, 0)]


def test_a_paused_tool_runs_on_and_a_paused_request_keeps_what_is_left() -> None:
    # e0 closes the round at 1; e1 is at its tool from 0.1 to 5.1, e2 has 100 of 300 tokens. Update until 3.
    # e1 (w0) and e2 (w1) come after 1 s of overhead: e1 acts until 5.1 and ends at 5.2, the round with it; e2
    # makes 120 tokens from 4 to 5.2, and e3 (w2), which is new, 220 from 3 to 5.2.
    plans = [
        Plan(0, (Turn(100),)),
        Plan(0, (Turn(10, 5.0), Turn(10))),
        Plan(0, (Turn(300),)),
        Plan(0, (Turn(10_000),)),
    ]
    result = run(
        plans,
        6,
        rollout={"workers": 3},
        trainer={"batch_size": 1, "update_seconds": 2},
        strategy={"kind": "synchronous", "oversample": 3, "unfinished": "resume", "resume_overhead": 1},
    )
    assert [t for t, _ in result["trained"]] == pytest.approx([1, 5.2])
    assert [k for _, ks in result["trained"] for k in ks] == [0, 1]
    assert seconds(result)["acting"] == pytest.approx(0.9 + 1.1)
    assert result["engine"]["tokens"] == pytest.approx(100 + 20 + 220 + 220)
    assert result["starts"][-1][1:] == (3, 2)


def test_a_deferred_episode_starts_again() -> None:
    plans = [Plan(0, (Turn(100),)), Plan(0, (Turn(110),)), Plan(0, (Turn(100),))]
    result = run(
        plans,
        4.5,
        rollout={"workers": 2},
        strategy={"kind": "synchronous", "oversample": 2, "unfinished": "defer"},
    )
    # e0 at 1; e1, deferred with 100 tokens, alone from 1.5 to 2.6; then e2 and e3 (100 each) from 3.1 to 4.1.
    assert [(round(t, 9), ks) for t, ks in result["trained"]] == [(1, [0]), (2.6, [1]), (4.1, [2])]
    assert seconds(result)["generating"] == pytest.approx(2 + 1.1 + 2)


def test_a_crash_fails_what_runs_and_who_was_at_a_tool_goes_elsewhere_with_all_to_prefill() -> None:
    # Engine 0: w0 at a tool from 0.1 to 1.1. w1 on engine 1. Engine 0 crashes at 0.5 until 9. w0 prefills its
    # 110 and 40 new on engine 1, where w1 has 60 more steps at 1.1: 0.15 more for both.
    plans = [Plan(100, (Turn(10, 1.0, 40), Turn(30))), Plan(0, (Turn(170),)), Plan(0, (Turn(10_000),))]
    events = [{"at": 0.5, "crash": {"engines": [0], "restart_seconds": 8.5}}]
    engine = {"count": 2, "prefill_ms": 1000}
    result = run(plans, 3, engine=engine, rollout={"workers": 2}, events=events)
    # The prompt of e0 takes 0.1 first: its tool is from 0.2 to 1.2, when w1 has 50 steps to go.
    assert [(round(t, 9), ks) for t, ks in result["trained"]] == [(1.65, [0]), (2.15, [1])]
    assert result["episodes"]["failed"] == 0


def test_a_crash_frees_the_workers_of_what_it_fails() -> None:
    events = [{"at": 0.5, "crash": {"engines": 1, "restart_seconds": 1}}]
    result = run([Plan(0, (Turn(100),))], 3, events=events, rollout={"workers": 2}, engine={"slots": 1})
    # w0's e0 fails; w1's e1 waited, and waits for the restart at 1.5 with e2 of w0 behind it.
    assert [(round(t, 9), ks) for t, ks in result["trained"]] == [(2.5, [1])]
    assert result["episodes"]["failed"] == 1
    assert [start[1:] for start in result["starts"]] == [(0, 0), (1, 1), (2, 0), (3, 1)]


def test_a_pause_of_weights_stops_engines_and_not_tools() -> None:
    # e0 of w0 ends at 1, update until 1.5, push until 3.5. w1 ends its turn at 1.2, its tool at 2.2, and is
    # frozen until the thaw at 3.5, for 30 tokens more.
    plans = [Plan(0, (Turn(100),)), Plan(0, (Turn(120, 1.0), Turn(30))), Plan(0, (Turn(1000),))]
    result = run(
        plans,
        5,
        rollout={"workers": 2},
        trainer={"batch_size": 1, "weight_sync_seconds": 2},
        strategy={"kind": "asynchronous", "weight_sync": "pause"},
    )
    assert [(round(t, 9), ks) for t, ks in result["trained"]] == [(1, [0]), (3.8, [1])]
    # w0: e2 from 1, frozen from 1.5 to 3.5; w1: from 2.2 to 3.5. A second push freezes both from 4.3 on.
    assert seconds(result)["frozen"] == pytest.approx(2 + 1.3 + 2 * 0.7)
    assert seconds(result)["acting"] == 1.0


def test_a_straggler_has_more_tokens_to_come_and_longer_tools_to_begin() -> None:
    # At 0.5, 50 of 100 tokens are left: 150; the tool of 1 s takes 3, the second turn 30 tokens.
    plans = [Plan(0, (Turn(100, 1.0), Turn(10)))]
    events = [{"at": 0.5, "straggler": {"episode": 0, "factor": 3}}]
    result = run(plans, 6, events=events)
    assert [round(t, 9) for t, _ in result["trained"]] == [5.3]


def test_a_timeout_runs_through_all_turns_and_a_retry_begins_again_elsewhere() -> None:
    # 1 s, tool of 1 s, 1 s: not within 2.5. Engines in turn: the second attempt is on engine 1. Each runs 1.5
    # of an attempt, and engine 0 the 1 s of the third, of another episode, from 5.
    plans = [Plan(0, (Turn(100, 1.0), Turn(100)))]
    environment = {"timeout_seconds": 2.5, "retries": 1}
    scenario_engine = {"count": 2, "routing": "round_robin"}
    result = run(plans, 6, engine=scenario_engine, environment=environment)
    assert result["trained"] == []
    assert (result["episodes"]["attempts"], result["episodes"]["failed"]) == (3, 1)
    assert result["engine"]["idle"] == pytest.approx([1 - 2.5 / 6, 1 - 1.5 / 6])


def test_a_slow_worker_is_slow_at_tools_and_resets_only() -> None:
    plans = [Plan(0, (Turn(100, 1.0), Turn(100)))]
    events = [{"at": 0, "slow": {"workers": 1, "factor": 2, "for": 3.5}}]
    result = run(plans, 6, environment={"reset_seconds": 1}, events=events)
    # Reset until 2, turn until 3, tool: a quarter by 3.5, the rest 0.75 more, turn until 5.25.
    assert [round(t, 9) for t, _ in result["trained"]] == [5.25]


def test_a_slow_engine_is_slow_until_it_is_over() -> None:
    events = [{"at": 0.5, "slow": {"engines": 1, "factor": 4, "for": 1}}]
    result = run([Plan(0, (Turn(100),))], 2.1, events=events)
    assert [round(t, 9) for t, _ in result["trained"]] == [1.75]


def test_new_weights_in_flight_delay_engines_and_prefill_what_is_not_kept() -> None:
    # e0 trains from 1 to 1.5; then e1 (50 tokens so far) stops for 0.3 and for the 150 tokens of its context.
    plans = [Plan(100, (Turn(100),))]
    result = run(
        plans,
        4,
        engine={"prefill_ms": 1000, "keep_cache": False},
        strategy={"kind": "asynchronous", "weights": "in_flight", "refresh_overhead": 0.3},
    )
    # e0: 0.1 + 1 = 1.1; e1 from 1.1: prefill until 1.2, 40 tokens at 1.6: 0.3 + 0.14; 60 more: 2.64.
    assert [round(t, 9) for t, _ in result["trained"]] == [1.1, 2.64]


def test_an_update_takes_longer_with_the_tokens_of_its_batch() -> None:
    plans = [Plan(300, (Turn(100, 0.0, 500), Turn(100)))]
    trainer = {"batch_size": 1, "update_seconds": 0.5, "token_gpu_ms": 4000, "gpus": 8}
    result = run(plans, 4.1, trainer=trainer, strategy={"kind": "synchronous"})
    # 1,000 tokens: 0.5 + 0.5.
    assert [round(t, 9) for t, _ in result["trained"]] == [2]
    assert result["updates"] == 1
    assert result["trainer"]["seconds"]["updating"] == pytest.approx(1)


def test_shared_gpus_switch_before_and_after_a_slower_update() -> None:
    cluster = {
        "gpus": 8,
        "engine_gpus": 2,
        "trainer_gpus": "shared",
        "switch_seconds": 0.25,
        "shared_slowdown": 2,
    }
    plans = [Plan(0, (Turn(100),))]
    result = run(plans, 4, cluster=cluster, strategy={"kind": "synchronous"})
    assert [round(t, 9) for t, _ in result["trained"]] == [1, 3.5]
    assert len(result["engine"]["idle"]) == 4
    # One of four engines of 2 GPUs runs from 0 to 1 and from 2.5 to 3.5; all 8 train for 1.5, then for 0.5.
    found = result["cluster"]["gpu_seconds"]
    assert found == pytest.approx({"generating": 4, "training": 16, "idle": 12})
    assert result["cluster"]["updates_per_gpu_hour"] == pytest.approx(1 / (8 * 4 / 3600))
    assert result["cluster"]["trained_tokens_per_gpu_hour"] == pytest.approx(200 / (8 * 4 / 3600))


def test_a_split_is_a_whole_number_of_engines() -> None:
    def split(**cluster: Any) -> tuple[int, float, tuple[float, float] | None]:
        return whole.split({"cluster": cluster, "trainer": {}, "engine": {}})

    assert split(gpus=64, engine_gpus=2, trainer_gpus=16) == (24, 16, None)
    assert split(gpus=64, engine_gpus=2, trainer_gpus="shared") == (32, 64, (0, 1))
    for wrong in (64, 63, 61):
        with pytest.raises(ValueError, match="GPUs are not a number of engines of 2"):
            split(gpus=64, engine_gpus=2, trainer_gpus=wrong)


@pytest.mark.parametrize("seed", range(40))
def test_all_accounts_balance_with_engines_turns_and_faults(seed: int) -> None:
    rng = random.Random(seed)
    scenario = random_scenario(rng)
    scenario["environment"] |= {"reset_seconds": 1.5, "timeout_seconds": rng.choice([None, 90])}
    at = sorted(rng.uniform(1, 299) for _ in range(4))
    scenario["events"] += [
        {"at": at[0], "crash": {"engines": [0], "restart_seconds": rng.choice([0, 11])}},
        {"at": at[1], "slow": {"engines": [0, 1], "factor": 3, "for": 20}},
        {"at": at[2], "straggler": {"worker": 0, "factor": 5}},
        {"at": at[3], "slow": {"workers": 2, "factor": 2, "for": 30}},
    ]
    for name in ("resume_overhead", "refresh_overhead"):
        if scenario["strategy"].get({"resume_overhead": "unfinished"}.get(name, "weights")) in (
            "resume",
            "in_flight",
        ):
            scenario["strategy"][name] = 0.7
    scenario["engine"] = {
        "count": rng.randint(1, 3),
        "step_ms": {1: 8, 16: 20},
        "context_ms": 0.5,
        "prefill_ms": 40,
        "slots": rng.choice([None, 3]),
        "kv_tokens": rng.choice([None, 60_000]),
        "keep_cache": rng.choice([True, False]),
        "routing": rng.choice(["least_loaded", "round_robin", "by_worker", "by_group"]),
    }

    def turn() -> Turn:
        return Turn(rng.randint(1, 500), rng.choice([0, rng.expovariate(0.5)]), rng.randint(0, 900))

    plans = [Plan(rng.randint(0, 2000), tuple(turn() for _ in range(rng.randint(1, 6)))) for _ in range(3000)]
    result = whole.run(scenario, plans=lambda k: plans[k], updates=lambda i: 3 + i % 7 * 1.31)
    episodes = result["episodes"]
    assert episodes["finished"] > 0
    assert episodes["started"] == sum(
        episodes[name] for name in ("finished", "aborted", "failed", "in_flight", "paused")
    )
    assert episodes["finished"] == episodes["trained"] + episodes["dropped"] + episodes["queued"]
    served = fsum(result["workers"]["seconds"].values()) - result["workers"]["seconds"]["wasted"]
    in_service = result["workers"]["seconds"]["generating"] / (result["workers"]["utilisation"] or 1)
    assert served == pytest.approx(in_service, abs=1e-6)
    figures = result["engine"]
    # Generating is running, but for the time in which engines are frozen.
    ran = figures["running_mean"] * 300 * len(figures["idle"])
    assert ran - result["workers"]["seconds"]["generating"] == pytest.approx(0, abs=1e-6) or (
        result["workers"]["seconds"]["frozen"] > 0 and ran > result["workers"]["seconds"]["generating"]
    )
