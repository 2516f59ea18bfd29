"""Engines, tokens and GPUs in a scenario: what is taken, what is refused and in what words, and presets."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import emulator
from emulator.errors import ScenarioError
from emulator.fluid import StepTable
from emulator.scenario import Scenario
from emulator.scenario.engines import Engine
from emulator.scenario.presets import presets

TOKENS = {"workers": 8, "episode_tokens": 500}
ENGINE = {"count": 2, "step_ms": 10}
CLUSTER = {"gpus": 8, "engine_gpus": 2, "trainer_gpus": 4}


def document(**sections: Any) -> dict[str, Any]:
    return {
        "rollout": {"workers": 8, "episode_seconds": 20},
        "trainer": {"batch_size": 8, "update_seconds": 5},
        "strategy": {"kind": "asynchronous"},
        **sections,
    }


def scenario(**sections: Any) -> Scenario:
    return Scenario.model_validate(document(**sections))


def refusals(**sections: Any) -> list[str]:
    with pytest.raises(ValidationError) as error:
        scenario(**sections)
    (detail,) = error.value.errors()
    if detail["type"] != "rules":
        return [f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}"]
    return [str(violation) for violation in detail["ctx"]["violations"]]


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        (
            {"rollout": {"workers": 8}},
            "rollout: found none of them; allowed: exactly one of episode_seconds, episode_tokens, turns",
        ),
        (
            {"rollout": TOKENS},
            "rollout.episode_tokens: found no engine to generate tokens; allowed: an engine section beside "
            "it, or rollout.episode_seconds instead",
        ),
        (
            {"engine": {**ENGINE, "prefill_ms": 18}},
            "engine.prefill_ms: found 18; allowed: none with rollout.episode_seconds: it needs tokens, so "
            "rollout.episode_tokens or rollout.turns",
        ),
        (
            {"trainer": {"batch_size": 8, "update_seconds": 5, "token_gpu_ms": 900}},
            "trainer.token_gpu_ms: found 900; allowed: none with rollout.episode_seconds: it needs tokens, "
            "so rollout.episode_tokens or rollout.turns",
        ),
        (
            {"engine": {"step_ms": 10}},
            "engine.count: found neither count nor cluster; allowed: a count of engines, or a cluster whose "
            "GPUs give it",
        ),
        (
            {"engine": ENGINE, "cluster": CLUSTER},
            "engine.count: found 2; allowed: none beside a cluster, which has GPUs for 2",
        ),
        (
            {"cluster": CLUSTER},
            "cluster: found a cluster without engines; allowed: an engine section beside it, or no cluster",
        ),
        (
            {"engine": {"step_ms": 10}, "cluster": {**CLUSTER, "trainer_gpus": 3}},
            "cluster.trainer_gpus: found 8 - 3 = 5 GPUs for engines of 2; allowed: what leaves no GPU over "
            "(1 here), such as 4 or 2",
        ),
        (
            {"engine": {"step_ms": 10}, "cluster": {**CLUSTER, "trainer_gpus": 8}},
            "cluster.trainer_gpus: found 8 - 8 = 0 GPUs for engines of 2; allowed: at most 6, so that there "
            "is an engine",
        ),
        (
            {"engine": {"step_ms": 10}, "cluster": {**CLUSTER, "trainer_gpus": "shared"}},
            "cluster.trainer_gpus: found shared, with strategy asynchronous; allowed: a number of GPUs, "
            "since this strategy generates while it trains; or strategy synchronous",
        ),
        (
            {
                "engine": {"step_ms": 10},
                "cluster": {**CLUSTER, "gpus": 9, "trainer_gpus": "shared"},
                "strategy": {"kind": "synchronous"},
            },
            "cluster.gpus: found 9 GPUs for engines of 2; allowed: a multiple of cluster.engine_gpus (2), "
            "such as 8",
        ),
        (
            {"rollout": {**TOKENS, "prompt_tokens": 600}, "engine": {**ENGINE, "kv_tokens": 1099}},
            "engine.kv_tokens: found 1099; allowed: at least 1100: every sequence comes to that many tokens "
            "(600 of prompt + 500 generated)",
        ),
        (
            {
                "rollout": {
                    "workers": 8,
                    "turns": {
                        "count": 3,
                        "output_tokens": {"kind": "uniform", "low": 10, "high": 20},
                        "tool_tokens": 5,
                    },
                },
                "engine": {**ENGINE, "kv_tokens": 39},
            },
            "engine.kv_tokens: found 39; allowed: at least 40: every sequence comes to that many tokens (0 "
            "of prompt + 3 x 10 generated + 2 x 5 of tools)",
        ),
        (
            {"engine": {**ENGINE, "speed": {"kind": "uniform", "low": 0, "high": 0}}},
            "engine.speed: found a speed of 0; allowed: speeds from 1e-40 on: an engine without speed never "
            "finishes",
        ),
        (
            {"rollout": {"workers": 8, "turns": {"count": 1e6, "output_tokens": 1}}, "engine": ENGINE},
            "rollout.turns.count: found more than 100000 turns in a share of 1 of the episodes; allowed: at "
            "most 100000, but for one episode in a million; a cap bounds them",
        ),
        (
            {
                "engine": ENGINE,
                "events": [{"at": 0, "crash": {"engines": [2], "restart_seconds": 1}}],
            },
            "events.0.crash.engines: found engine 2; allowed: engines from 0 to 1: there are no more",
        ),
        (
            {"events": [{"at": 0, "slow": {"engines": 1, "factor": 2, "for": 9}}]},
            "events.0.slow.engines: found a number of 1; allowed: workers: there is no engine",
        ),
        (
            {
                "rollout": {
                    "workers": 8,
                    "turns": {"count": 3, "output_tokens": 9},
                    "group_size": 2,
                    "group_correlation": 0.5,
                },
                "engine": ENGINE,
            },
            "rollout.group_correlation: found 0.5; allowed: 0, or a lognormal rollout.turns.count: it is a "
            "share of the log variance",
        ),
    ],
)
def test_what_is_refused_is_told_with_its_arithmetic(sections: dict[str, Any], message: str) -> None:
    assert refusals(**sections) == [message]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (0, "found 0"),
        ({}, "found {}"),
        ({0: 5}, "found {0: 5}"),
        ({1: 5, 2: 4}, "found {1: 5, 2: 4}"),
        ({1: float("nan")}, "found {1: nan}"),
        (dict.fromkeys(range(1, 34), 5), "found {1: 5,"),
    ],
)
def test_steps_that_fall_or_never_end_are_refused(step: Any, message: str) -> None:
    (refusal,) = refusals(engine={"count": 1, "step_ms": step})
    assert refusal.startswith(f"engine.step_ms: {message}")
    assert "1 to 32 numbers of running sequences (from 1) to milliseconds above 0" in refusal


def test_a_step_may_fall_before_the_last_point() -> None:
    table = StepTable(Engine.model_validate({"step_ms": {1: 12, "2": 10, 8: 10.6}}).step_ms)
    assert [table(n) for n in (1, 2, 5, 8, 12)] == pytest.approx([12, 10, 10.3, 10.6, 11.0])


def test_a_split_says_how_many_engines_there_are_and_what_an_update_runs_on() -> None:
    split = scenario(engine={"step_ms": 10}, cluster={**CLUSTER, "gpus": 64, "trainer_gpus": 16})
    assert (split.engines, split.training_gpus) == (24, 16)
    shared = scenario(
        engine={"step_ms": 10},
        cluster={**CLUSTER, "gpus": 64, "trainer_gpus": "shared"},
        strategy={"kind": "synchronous"},
    )
    assert (shared.engines, shared.training_gpus) == (32, 64)
    assert (scenario().engines, scenario().training_gpus) == (0, 1)


def test_a_lane_that_gives_a_length_replaces_the_scenarios() -> None:
    race = scenario(
        engine=ENGINE,
        rollout=TOKENS,
        lanes=[
            {"name": "seconds", "rollout": {"episode_seconds": 20}, "engine": None},
            {"name": "turns", "rollout": {"turns": {"count": 2, "output_tokens": 9}}},
            {"name": "as it is"},
        ],
    )
    assert [lane.rollout.length_key[1] for lane in race.lane_scenarios()] == [
        "episode_seconds",
        "turns",
        "episode_tokens",
    ]
    assert race.lane_scenarios()[0].engine is None


def test_every_preset_is_an_engine_and_single_keys_override_it() -> None:
    for name, keys in presets().items():
        engine = Engine.model_validate({"preset": name, "count": 2})
        assert {key: engine.model_dump(mode="json")[key] for key in keys} == keys
        assert Engine.model_validate({"preset": name, "count": 2, "kv_tokens": 9}).kv_tokens == 9
        assert Engine.model_validate(engine.model_dump(mode="json")) == engine
    engine = Engine.model_validate({"preset": "qwen3-8b-h100", "count": 1})
    table = StepTable(engine.step_ms)
    assert [round(table(n), 2) for n in (1, 64, 256)] == [6.6, 7.04, 8.38]
    assert engine.model_dump(exclude_unset=True) == {"preset": "qwen3-8b-h100", "count": 1}


def test_the_mixture_of_experts_has_its_saturating_term() -> None:
    table = StepTable(Engine.model_validate({"preset": "qwen3-30b-a3b-h100", "count": 1}).step_ms)
    for running in (1, 4, 16, 40, 80, 200, 400):
        assert table(running) == pytest.approx(
            3.5 + 19.8 * running / (running + 16) + 0.023 * running, rel=0.01
        )


def test_a_preset_is_told_to_be_rough_and_a_misspelt_one_has_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    text = """
rollout: {workers: 8, episode_tokens: 500}
trainer: {batch_size: 8, update_seconds: 5}
strategy: {kind: asynchronous}
engine: {preset: qwen3-8b-h10, count: 2}
"""
    path.write_text(text)
    with pytest.raises(ScenarioError) as error:
        emulator.load_scenario(path)
    (problem,) = error.value.problems
    assert (problem.line, problem.column, problem.key) == (5, 18, "engine.preset")
    assert problem.hint == 'did you mean "qwen3-8b-h100"?'
    path.write_text(text.replace("h10,", "h100,"))
    assert emulator.load_scenario(path).notes() == [
        "note: engine.preset qwen3-8b-h100 is made from public tables, not measured; it can be off by a third"
    ]


def test_sweeps_vary_presets_splits_and_steps() -> None:
    split = scenario(
        rollout={"workers": 8, "episode_tokens": 200},
        engine={"preset": "qwen3-8b-h100"},
        cluster=CLUSTER,
        duration=60,
    )
    swept = emulator.sweep(
        split,
        vary=["cluster.trainer_gpus=2,4,6", "engine.preset=qwen3-8b-h100,qwen3-8b-a100"],
        seeds=1,
    )
    engines = [point.scenario.engines for point in swept.points if point.scenario]
    assert engines == [3, 3, 2, 2, 1, 1]
    rates = swept.column("engine.tokens_per_second")
    assert all(fast > slow for fast, slow in zip(rates[::2], rates[1::2], strict=True))
    steps = emulator.sweep(
        scenario(rollout={"workers": 1, "episode_tokens": 600}, engine=ENGINE, duration=60),
        vary={"engine.step_ms": [10, {"1": 20, "8": 24}]},
        seeds=1,
    )
    assert steps.column("engine.tokens_per_second") == pytest.approx([100, 50])
