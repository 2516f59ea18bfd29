"""Engines with every worker at work: by hand where that can be, and against runs."""

from typing import Any

import pytest

import emulator
from emulator.scenario import Scenario
from emulator.steady import steady
from emulator.theory import expected, limits, promised_episodes


def scenario(workers: int, engine: dict[str, Any], **rollout: Any) -> Scenario:
    return Scenario.model_validate(
        {
            "duration": 1800,
            "rollout": {"workers": workers, **(rollout or {"episode_tokens": 100})},
            "trainer": {"batch_size": 8, "update_seconds": 0.5},
            "strategy": {"kind": "asynchronous"},
            "engine": {"count": 2, "step_ms": 10, **engine},
        }
    )


TWO_TURNS = {"turns": {"count": 2, "output_tokens": 50, "tool_seconds": 1, "tool_tokens": 100}}


@pytest.mark.parametrize(
    ("workers", "engine", "rollout", "rate", "running"),
    [
        # 100 tokens of 10 ms.
        (8, {}, {}, 8, 4),
        (8, {"speed": 2}, {}, 16, 4),
        # A second of tool after a half of generating, and another half.
        (8, {}, TWO_TURNS, 4, 2),
        (8, {}, {**TWO_TURNS, "speed": 2}, 8 / 1.5, 8 / 3),
        # Four run, in steps of 13 ms.
        (8, {"step_ms": {1: 10, 11: 20}}, {}, 8 / 1.3, 4),
        # Two of four run.
        (8, {"slots": 2}, {}, 4, 2),
        # A tenth of a second of prefill, then a second.
        (2, {"prefill_ms": 1000}, {"episode_tokens": 100, "prompt_tokens": 100}, 2 / 1.1, 1),
        # The second turn prefills 50 + 100 tokens of 0.4 ms: 0.06 B^2 - 4 B - 100 = 0 of 100 on each engine.
        (200, {"prefill_ms": 400, "keep_cache": False}, TWO_TURNS, 27.92408, 86.03796),
        # Or 100 of them: 0.04 B^2 - 2 B - 100 = 0.
        (200, {"prefill_ms": 400}, TWO_TURNS, 38.19660, 80.90170),
        # 100 tokens of context at first and 200 at the end: 150 in the mean, so 10 + 15 ms for each.
        (2, {"context_ms": 100}, {"episode_tokens": 100, "prompt_tokens": 100}, 2 / 2.5, 1),
    ],
)
def test_rates_by_hand(
    workers: int, engine: dict[str, Any], rollout: dict[str, Any], rate: float, running: float
) -> None:
    found = steady(scenario(workers, engine, **rollout))
    assert found.episodes_per_second == pytest.approx(rate, rel=1e-5)
    assert found.tokens_per_second == pytest.approx(100 * rate, rel=1e-5)
    assert found.running == pytest.approx(running, rel=1e-5)
    assert found.waits == ("slots" in engine)


def test_what_it_takes_to_wait_is_no_part_of_an_episodes_seconds() -> None:
    assert steady(scenario(8, {"slots": 2})).seconds == pytest.approx([1.0] * 2000)
    assert steady(scenario(8, {}, **TWO_TURNS)).seconds == pytest.approx([2.0] * 2000)


TURNS = {
    "turns": {
        "count": {"kind": "lognormal", "median": 10, "sigma": 0.45},
        "output_tokens": {"kind": "lognormal", "median": 220, "sigma": 0.9},
        "tool_seconds": {"kind": "lognormal", "median": 1, "sigma": 1.3},
        "tool_tokens": 700,
    },
    "prompt_tokens": 500,
}


@pytest.mark.parametrize(("workers", "slots"), [(16, None), (64, None), (64, 8)])
def test_runs_tend_to_it(workers: int, slots: int | None) -> None:
    engine = {"preset": "qwen3-8b-h100", "step_ms": {1: 6.6, 257: 8.4}, "slots": slots}
    lane = scenario(workers, engine, **TURNS)
    result = emulator.run(lane, speed="max").result
    found = limits(lane)
    for name, within in (("tokens_per_second", 0.05), ("running_mean", 0.05)):
        assert result["engine"][name] == pytest.approx(found[f"engine.{name}"].value, rel=within)
    assert result["updates_per_hour"] == pytest.approx(found["updates_per_hour"].value, rel=0.1)
    assert result["episodes"]["started"] == pytest.approx(promised_episodes(lane), rel=0.1)
    assert not [name for name in expected(lane) if name.startswith(("updates", "workers", "staleness"))]


def test_an_update_that_takes_longer_than_its_batch_is_the_limit() -> None:
    lane = scenario(64, {}, episode_tokens=100, prompt_tokens=900)
    slow = lane.model_copy(
        update={"trainer": lane.trainer.model_copy(update={"token_gpu_ms": 1000.0, "gpus": 4})}
    )
    assert limits(lane)["updates_per_hour"].value == pytest.approx(3600 * 2)
    # 8,000 tokens of a millisecond on four GPUs, and half a second.
    assert limits(slow)["updates_per_hour"].value == pytest.approx(3600 / 2.5)
    assert emulator.run(slow, speed="max").result["updates_per_hour"] == pytest.approx(3600 / 2.5, rel=0.02)


def test_nothing_is_said_of_engines_that_wait_for_rounds_or_faults() -> None:
    lane = scenario(16, {}, **TWO_TURNS)
    for changes in (
        {"strategy": {"kind": "synchronous"}},
        {"strategy": {"kind": "asynchronous", "max_staleness": 1}},
        {"events": [{"at": 60, "crash": {"engines": 1, "restart_seconds": 60}}]},
        {"environment": {"reset_seconds": 5}},
    ):
        other = Scenario.model_validate({**lane.resolved(), **changes})
        assert all(limit.kind == "at most" for limit in limits(other).values())
        assert set(expected(other)) <= {"workers.utilisation", "workers.goodput"}
