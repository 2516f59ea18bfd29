from collections.abc import Callable, Sequence
from typing import Any

import pytest

from emulator.plots.charts import Chart, Estimate, Frontier, HeatMap, Lines
from emulator.plots.data import charts
from emulator.sweeps import Sweep
from tests.plots.made import ASYNCHRONOUS, DROP, GATE, SIGMA, SYNCHRONOUS, figures, made

# Student's t for 95 % with 2 degrees of freedom, from a table.
T2 = 4.302653


def by_name(sweep: Sweep) -> dict[str, Chart]:
    return {chart.name: chart for chart in charts(sweep)}


def lines(sweep: Sweep, name: str) -> Lines:
    chart = by_name(sweep)[name]
    assert isinstance(chart, Lines)
    return chart


def pair(values: dict[str, Any], seed: int) -> dict[str, Any]:
    if values["strategy"] == "synchronous":
        return figures(10.0 + 2 * seed + values[SIGMA], histogram=[4])
    return figures(30.0 + 3 * seed, histogram=[1, 3], bias=0.75)


PAIR: dict[str, Sequence[Any]] = {SIGMA: [0.5, 1.0], "strategy": [SYNCHRONOUS, ASYNCHRONOUS]}


def test_a_point_is_the_mean_over_seeds_with_students_interval() -> None:
    chart = lines(made(PAIR, pair), "updates")
    (panel,) = chart.panels
    assert [series.label for series in panel.series] == ["synchronous", "asynchronous"]
    point = panel.series[0].points[1]
    assert point is not None
    # 13, 15 and 17 at sigma 1: mean 15, standard deviation 2.
    half = T2 * 2 / 3**0.5
    assert point == pytest.approx((15, 15 - half, 15 + half), rel=1e-6)
    assert chart.across.ticks == ("0.5", "1")
    assert chart.across.label == "spread of episode durations, σ"  # noqa: RUF001
    assert chart.title == "Updates per hour: synchronous and asynchronous"
    assert chart.caption[0] == "made up · 64 workers · batches of 64 · 1h emulated"
    assert "mean and 95 % interval of seeds 1 to 3" in chart.caption


def test_a_difference_is_taken_seed_by_seed_and_its_interval_is_of_the_differences() -> None:
    chart = lines(made(PAIR, pair), "differences")
    assert chart.title == "Difference from synchronous, seed by seed"
    updates, staleness, bias = chart.panels
    (series,) = updates.series
    assert series.label == "asynchronous"
    point = series.points[0]
    assert point is not None
    # 33 - 12.5, 36 - 14.5 and 39 - 16.5: mean 21.5, standard deviation 1.
    half = T2 / 3**0.5
    assert point == pytest.approx((21.5, 21.5 - half, 21.5 + half), rel=1e-6)
    assert staleness.series[0].points[0] == Estimate(0.75, 0.75, 0.75)
    assert bias.series[0].points[0] == Estimate(-0.25, -0.25, -0.25)


def test_the_difference_has_the_colour_that_the_strategy_has_elsewhere() -> None:
    sweep = made({SIGMA: [1, 2], "strategy": [SYNCHRONOUS, ASYNCHRONOUS, GATE, DROP]}, lambda *_: figures(3))
    (updates,) = lines(sweep, "updates").panels
    styles = {series.label: series.style for series in updates.series}
    for panel in lines(sweep, "differences").panels:
        assert {series.label: series.style for series in panel.series} == {
            label: style for label, style in styles.items() if label != "synchronous"
        }


def test_only_seeds_that_both_have_are_compared() -> None:
    def outcome(values: dict[str, Any], seed: int) -> dict[str, Any] | str:
        return "deadlock at 3 s" if (values["strategy"], seed) == ("synchronous", 1) else pair(values, seed)

    chart = lines(made(PAIR, outcome), "differences")
    point = chart.panels[0].series[0].points[0]
    assert point is not None
    assert point.mean == pytest.approx(22.0)
    assert "2 failed runs left out" in chart.caption


def test_theory_stands_beside_the_measured_where_there_is_one(expect: Callable[[Any], None]) -> None:
    expect(
        lambda s: (
            {"updates_per_hour": 42.0, "workers.utilisation": 0.5} if s.strategy.kind == "synchronous" else {}
        )
    )
    sweep = made(PAIR, pair)
    synchronous, asynchronous = lines(sweep, "updates").panels[0].series
    assert synchronous.theory == (42.0, 42.0)
    assert asynchronous.theory == (None, None)
    assert lines(sweep, "utilisation").panels[0].series[0].theory == (50.0, 50.0)
    assert lines(sweep, "updates").theory
    assert not lines(sweep, "differences").theory


def test_utilisation_is_in_per_cent_and_has_goodput_only_where_work_is_wasted() -> None:
    plain = lines(made(PAIR, pair), "utilisation")
    assert [panel.label for panel in plain.panels] == ["workers busy, %", "trainer busy, %"]
    assert plain.panels[1].series[0].points[0] == Estimate(25.0, 25.0, 25.0)
    wasteful = made({SIGMA: [1, 2]}, lambda *_: figures(1, busy=0.9, good=0.4))
    labels = [panel.label for panel in lines(wasteful, "utilisation").panels]
    assert labels == ["workers busy, %", "goodput, %", "trainer busy, %"]


def test_staleness_is_a_share_of_all_episodes_of_a_point() -> None:
    def outcome(values: dict[str, Any], seed: int) -> dict[str, Any]:
        return figures(1, histogram=[9, 1] if seed == 1 else [0, 10, 20])

    chart = by_name(made({SIGMA: [1, 2]}, outcome, seeds=2))["staleness"]
    assert isinstance(chart, HeatMap)
    (ages,) = chart.panels
    # 40 episodes: 9 + 0, 1 + 10 and 20.
    assert ages.shares == ((0.225, 0.275, 0.5),) * 2
    assert chart.rows == ("0", "1", "2")
    # The headline is the mean of the runs' means: 0.1 and 5/3.
    assert ages.means[0] == pytest.approx((0.1 + 5 / 3) / 2)


def test_the_last_row_of_the_map_takes_the_rest_of_a_long_tail() -> None:
    chart = by_name(made({SIGMA: [1, 2]}, lambda *_: figures(1, histogram=[1] * 100)))["staleness"]
    assert isinstance(chart, HeatMap)
    assert len(chart.rows) == 16
    assert chart.rows[-2:] == ("14", "15+")
    assert chart.panels[0].shares[0][-1] == pytest.approx(0.85)
    assert sum(chart.panels[0].shares[0]) == pytest.approx(1)


def test_one_strategy_beside_another_makes_columns_of_one_map() -> None:
    sweep = made({"strategy": [SYNCHRONOUS, ASYNCHRONOUS]}, lambda v, s: pair({SIGMA: 1, **v}, s))
    chart = by_name(sweep)["staleness"]
    assert isinstance(chart, HeatMap)
    assert chart.across.ticks == ("synchronous", "asynchronous")
    (ages,) = chart.panels
    assert ages.shares == ((1.0, 0.0), (0.25, 0.75))


def test_the_frontier_has_what_each_point_gets_and_pays() -> None:
    chart = by_name(made(PAIR, pair))["frontier"]
    assert isinstance(chart, Frontier)
    trade = chart.series[1].points[0]
    assert (trade.tag, trade.staleness.mean, trade.length_bias) == ("0.5", 0.75, 0.75)
    assert trade.updates.mean == pytest.approx(36)
    assert chart.along == "along each line: spread of episode durations, σ 0.5 to 1"  # noqa: RUF001


def test_one_seed_gives_points_without_intervals() -> None:
    chart = lines(made(PAIR, pair, seeds=[7]), "updates")
    assert chart.panels[0].series[0].points[0] == Estimate(24.5)
    assert "seed 7" in chart.caption


def test_points_that_failed_are_gaps() -> None:
    sweep = made(
        PAIR, lambda v, s: "deadlock" if v == {SIGMA: 1.0, "strategy": "synchronous"} else pair(v, s)
    )
    chart = lines(sweep, "updates")
    assert [point is None for point in chart.panels[0].series[0].points] == [False, True]
    assert "3 failed runs left out" in chart.caption


def test_a_sweep_of_which_all_runs_failed_has_no_charts() -> None:
    assert charts(made(PAIR, lambda *_: "deadlock")) == []


def test_a_chart_without_data_is_left_out() -> None:
    sweep = made({SIGMA: [1, 2]}, lambda *_: figures(0, histogram=[]))
    assert list(by_name(sweep)) == ["updates", "utilisation"]


def test_an_interrupted_sweep_draws_what_is_done_and_says_so() -> None:
    chart = lines(made(PAIR, pair, done=7), "updates")
    assert "5 runs yet to come" in chart.caption
    assert chart.across.ticks == ("0.5", "1")
    assert [point is None for point in chart.panels[0].series[1].points] == [False, True]


def test_pages_have_files_and_titles_of_their_own() -> None:
    vary: dict[str, Sequence[Any]] = {
        SIGMA: [1, 2],
        "rollout.workers": [8, 16, 32],
        "strategy": [SYNCHRONOUS, ASYNCHRONOUS, GATE],
    }
    found = by_name(made(vary, lambda v, s: figures(v["rollout.workers"] + s)))
    chart = found["updates-workers-16"]
    assert isinstance(chart, Lines)
    assert chart.title == "Updates per hour: 3 strategies (workers 16)"
    assert [series.points[0].mean for series in chart.panels[0].series if series.points[0]] == [18, 18, 18]
    assert len(found) == 15


def test_a_fixed_strategy_is_reported_in_the_small_print() -> None:
    chart = lines(made({"rollout.workers": [32, 64]}, lambda *_: figures(1)), "updates")
    assert chart.caption[0] == "made up · batches of 64 · 1h emulated · asynchronous"
