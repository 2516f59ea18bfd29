"""What figures tend to, and what they never exceed."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emulator
from emulator.theory import limits
from tests.theory.scenarios import ASYNCHRONOUS, SYNCHRONOUS, scenario


@settings(max_examples=25)
@given(
    st.sampled_from([0, 0.5, 1, 1.75, 3]),
    st.sampled_from(["gate", "drop", "cancel"]),
    st.integers(1, 24),
    st.sampled_from([1, 2, 8]),
    st.floats(1, 60),
    st.integers(1, 2),
    st.integers(0, 99),
)
def test_no_run_exceeds_its_bounds(  # noqa: PLR0917
    cap: float, enforce: str, workers: int, group: int, update: float, every: int, seed: int
) -> None:
    case = scenario(
        {"kind": "asynchronous", "max_staleness": cap, "enforce": enforce},
        seed=seed,
        duration=900,
        rollout={"workers": max(workers, group), "group_size": group},
        trainer={"batch_size": 8, "update_seconds": update, "publish_every": every},
    )
    bounds = {name: limit.value for name, limit in limits(case).items() if limit.kind == "at most"}
    result = emulator.run(case, speed="max").result
    assert {"staleness.mean"} <= set(bounds)
    if result["updates"]:
        assert result["staleness"]["mean"] <= bounds["staleness.mean"] + 1e-12
        assert result["staleness"]["max"] <= bounds.get("staleness.max", math.inf)
    assert result["updates_per_hour"] <= bounds.get("updates_per_hour", math.inf) + 1e-9


def test_a_single_straggler_exceeds_the_bound_that_the_mean_keeps() -> None:
    case = scenario({"kind": "asynchronous", "max_staleness": 1})
    staleness = emulator.run(case, speed="max").result["staleness"]
    assert "staleness.max" not in limits(case)
    assert staleness["mean"] <= limits(case)["staleness.mean"].value == 1 < staleness["max"]


@pytest.mark.parametrize(
    ("strategy", "updates", "others"),
    [
        (SYNCHRONOUS, 3600 / (233.23 + 15), {"workers.utilisation": 32.974 / 248.23}),
        (ASYNCHRONOUS, 3600 / 32.974, {"staleness.in_flight_mean": 1.0}),
        (
            {"kind": "asynchronous", "max_staleness": 1, "enforce": "drop"},
            86.23,
            {"episodes.dropped_share": 0.2102},
        ),
    ],
)
def test_the_reference_hour_tends_to_the_quoted_laws(
    strategy: dict[str, Any], updates: float, others: dict[str, float]
) -> None:
    found = {
        name: limit.value for name, limit in limits(scenario(strategy)).items() if limit.kind == "tends to"
    }
    assert found == pytest.approx({"updates_per_hour": updates, **others}, rel=1e-3)


def test_twice_as_fast_workers_halve_the_episodes_in_every_law() -> None:
    for strategy in (
        SYNCHRONOUS,
        ASYNCHRONOUS,
        {"kind": "asynchronous", "max_staleness": 1, "enforce": "drop"},
    ):
        fast = scenario(strategy, rollout={"speed": 2}, trainer={"update_seconds": 5})
        halved = scenario(
            strategy,
            rollout={"episode_seconds": {"kind": "lognormal", "median": 10, "sigma": 1.0}},
            trainer={"update_seconds": 5},
        )
        values = [{name: limit.value for name, limit in limits(case).items()} for case in (fast, halved)]
        assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_a_gate_with_redundant_groups_has_no_bound_on_the_mean() -> None:
    groups = {"group_size": 8, "group_redundancy": 2}
    case = scenario({"kind": "asynchronous", "max_staleness": 1}, rollout=groups)
    assert "staleness.mean" not in limits(case)
