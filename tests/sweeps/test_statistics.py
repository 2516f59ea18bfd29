"""Means, intervals and paired differences against hand-made numbers and laws."""

import io
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import emulator
from emulator.sweeps.grid import make_grid
from emulator.sweeps.intervals import interval
from emulator.sweeps.paired import paired_differences
from emulator.sweeps.report import SweepSummary
from emulator.sweeps.table import Sweep
from tests.sweeps.small import small

# Quantile 0.975 of Student's t, from a printed table.
T_2, T_9 = 4.3027, 2.2622

_VALUES = st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=20)


def _sweep(vary: list[str], seeds: int, updates: dict[int, int | None]) -> Sweep:
    """A sweep with the given numbers of updates, by run; None is a failed run."""
    grid = make_grid(small(), vary, seeds)
    rows = [
        grid.row(*divmod_seed(run, seeds), {"error": None if n is not None else "failed", "updates": n})
        for run, n in updates.items()
    ]
    return Sweep(grid, rows)


def divmod_seed(run: int, seeds: int) -> tuple[int, int]:
    point, place = divmod(run, seeds)
    return point, 1 + place


def test_an_interval_is_that_of_students_t() -> None:
    found = interval([1, 2, 3])
    assert (found.n, found.mean) == (3, 2)
    assert found.se == pytest.approx(1 / 3**0.5)
    assert found.low == pytest.approx(2 - T_2 / 3**0.5, abs=1e-4)
    assert found.high == pytest.approx(2 + T_2 / 3**0.5, abs=1e-4)


def test_too_few_values_have_no_interval() -> None:
    assert vars(interval([])) == {"n": 0, "mean": None, "se": None, "low": None, "high": None}
    assert vars(interval([4.0])) == {"n": 1, "mean": 4, "se": None, "low": None, "high": None}
    found = interval([4.0, 6.0])
    assert (found.n, found.mean, found.low, found.high) == (2, 5, None, None)


def test_equal_values_have_an_interval_of_no_width() -> None:
    found = interval([7, 7, 7])
    assert (found.low, found.mean, found.high) == (7, 7, 7)


@given(_VALUES, st.floats(-1e3, 1e3), st.floats(0.01, 100))
def test_an_interval_moves_and_stretches_with_its_values(
    values: list[float], shift: float, factor: float
) -> None:
    before, after = interval(values), interval([value * factor + shift for value in values])
    for part in ("mean", "low", "high"):
        assert getattr(after, part) == pytest.approx(
            getattr(before, part) * factor + shift, rel=1e-6, abs=1e-3
        )


def test_nineteen_in_twenty_intervals_cover_the_mean() -> None:
    rng = random.Random(1)
    found = [interval([rng.gauss(3, 2) for _ in range(10)]) for _ in range(2000)]
    covered = sum(i.low <= 3 <= i.high for i in found if i.low is not None and i.high is not None)
    # Four standard deviations of the count: 4 * sqrt(2000 * 0.95 * 0.05) = 39.
    assert 1900 - 39 <= covered <= 1900 + 39


def test_a_summary_leaves_failed_runs_out_and_counts_them() -> None:
    sweep = _sweep(["rollout.workers=4,8"], 3, {0: 1, 1: 2, 2: 3, 3: 10, 4: None, 5: 20})
    first, second = sweep.summary()
    assert (first["rollout.workers"], first["runs"], first["failed"], first["updates.mean"]) == (4, 3, 0, 2)
    assert first["updates.high"] == pytest.approx(2 + T_2 / 3**0.5, abs=1e-4)
    assert (second["runs"], second["failed"], second["updates.mean"]) == (3, 1, 15)
    assert [row["run"] for row in sweep.failed] == [4]


def test_a_summary_has_what_theory_expects_where_it_does() -> None:
    # The trainer is the limit: updates of 15 s after a first batch of constant episodes of 5 s.
    grid = make_grid(
        small(
            duration=3600,
            rollout={"workers": 64, "episode_seconds": 5},
            trainer={"batch_size": 4, "update_seconds": 15},
        ),
        ["environment.failure_probability=0,0.5"],
        1,
    )
    law, none = Sweep(grid, []).summary()
    assert law["theory.updates"] == pytest.approx((3600 - 5) // 15, abs=1)
    assert none["theory.updates"] is None


def test_differences_are_taken_seed_by_seed() -> None:
    values = {0: 10, 1: 20, 2: 30, 3: 11, 4: 22, 5: 33}
    (found,) = paired_differences(_sweep(["rollout.workers=4,8"], 3, values), "updates", "rollout.workers")
    assert (found.point, found.a, found.b, found.pairs) == ({}, 4, 8, 3)
    assert found.mean == 2
    assert found.low == pytest.approx(2 - T_2 / 3**0.5, abs=1e-4)


def test_differences_go_from_the_first_value_to_each_other_at_each_point_of_the_rest() -> None:
    vary = ["rollout.workers=4,8,16", "trainer.batch_size=1,2"]
    sweep = _sweep(vary, 1, dict(enumerate([1, 2, 30, 40, 500, 600])))
    told = [
        (d.point["trainer.batch_size"], d.b, d.mean)
        for d in paired_differences(sweep, "updates", "rollout.workers")
    ]
    assert told == [(1, 8, 29), (1, 16, 499), (2, 8, 38), (2, 16, 598)]


def test_a_seed_that_failed_on_one_side_makes_no_pair() -> None:
    values = {0: 10, 1: None, 2: 30, 3: 11, 4: 22, 5: None}
    (found,) = paired_differences(_sweep(["rollout.workers=4,8"], 3, values), "updates", "rollout.workers")
    assert (found.pairs, found.mean, found.low) == (1, 1, None)


def test_what_is_shared_by_a_seed_cancels_in_the_difference() -> None:
    rng = random.Random(2)
    luck = [rng.randrange(100) for _ in range(10)]
    noise = [rng.randrange(3) for _ in range(10)]
    values = dict(enumerate(luck + [a + b for a, b in zip(luck, noise, strict=True)]))
    (found,) = paired_differences(_sweep(["rollout.workers=4,8"], 10, values), "updates", "rollout.workers")
    mean = sum(noise) / 10
    se = (sum((n - mean) ** 2 for n in noise) / 9 / 10) ** 0.5
    assert found.mean == pytest.approx(mean)
    assert found.high == pytest.approx(mean + T_9 * se, abs=1e-4)


@pytest.mark.parametrize(("figure", "axis"), [("updates", "strategy"), ("nothing", "rollout.workers")])
def test_an_unknown_axis_or_figure_is_a_key_error(figure: str, axis: str) -> None:
    with pytest.raises(KeyError, match=r"updates|rollout\.workers"):
        paired_differences(_sweep(["rollout.workers=4"], 1, {}), figure, axis)


def test_a_column_is_in_the_order_of_the_rows() -> None:
    values: dict[int, Any] = {0: 3, 1: None}
    sweep = _sweep(["rollout.workers=4"], 2, values)
    assert sweep.column("updates") == [3, None]
    assert [row["seed"] for row in sweep.at(0)] == [1, 2]
    with pytest.raises(KeyError, match="nothing"):
        sweep.column("nothing")


def test_a_figure_that_some_runs_lack_is_reported_with_how_many_have_it() -> None:
    scenario = emulator.load_scenario("learning", overrides=["duration=12m"])
    sweep = emulator.sweep(scenario, {"strategy": ["synchronous", "asynchronous"]}, seeds=2, jobs=1)
    never, both = sweep.summary()
    assert (never["learning.minutes_to_80.n"], never["learning.minutes_to_80.mean"]) == (0, None)
    assert both["learning.minutes_to_80.n"] == 2
    minutes = [row["learning.minutes_to_80"] for row in sweep.at(1)]
    assert both["learning.minutes_to_80.mean"] == pytest.approx(sum(minutes) / 2)
    assert "updates.n" not in both
    page = io.StringIO()
    Console(file=page, width=120).print(SweepSummary(sweep))
    assert "0 of 2 do" in page.getvalue()
