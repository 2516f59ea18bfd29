"""The printed table: its figures, its width, and why runs failed."""

import io
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from emulator.sweeps import Sweep
from emulator.sweeps.grid import make_grid
from emulator.sweeps.report import WIDTH, SweepSummary, failures, short_names
from tests.sweeps.small import small

FIGURES = {
    "updates_per_hour": 100.0,
    "workers.utilisation": 0.5,
    "staleness.mean": 1.25,
    "staleness.p95": 4,
    "staleness.max": 31,
    "episode_seconds.length_bias": 0.75,
}


def _sweep(
    vary: list[str], changes: list[dict[str, object]], *, interrupted: bool = False, seeds: int = 2
) -> Sweep:
    """A sweep that has a run for each of the changes."""
    grid = make_grid(small(), vary, seeds)
    rows = [
        grid.row(run // seeds, 1 + run % seeds, {"error": None, **FIGURES, **change})
        for run, change in enumerate(changes)
    ]
    return Sweep(grid, rows, interrupted)


def _text(sweep: Sweep, width: int = WIDTH) -> list[str]:
    page = io.StringIO()
    Console(file=page, width=width, color_system=None).print(SweepSummary(sweep))
    return [line.rstrip() for line in page.getvalue().splitlines()]


def test_a_line_has_the_means_and_their_intervals() -> None:
    # Student's t of three values at 97.5 % is 4.303; their standard error is 1 / √3.
    rows = [{"updates_per_hour": updates} for updates in (99.0, 100.0, 101.0)]
    sweep = _sweep(["rollout.group_size=1"], rows, seeds=3)
    *_, header, line = _text(sweep)
    assert header.split() == ["group", "size", "updates/h", "theory", "busy", "%", "stale", "p95/max", "bias"]
    theory = f"{sweep.summary()[0]['theory.updates_per_hour']:.1f}"
    assert line.split() == f"1 100.0 ±2.5 {theory} 50.0 ±0.0 1.25 ±0.00 4.0/31.0 0.75 ±0.00".split()


def test_two_seeds_have_means_and_no_intervals_and_the_heading_says_why() -> None:
    lines = _text(_sweep(["rollout.group_size=1"], [{"updates_per_hour": 99.0}, {"updates_per_hour": 101.0}]))
    assert lines[0].endswith("no intervals: they take 3 seeds")
    assert lines[-1].split()[:2] == ["1", "100.0"]
    assert "±" not in "".join(lines)


def test_theory_stands_beside_the_measured_where_a_law_holds() -> None:
    grid = make_grid(
        small(
            duration=3600,
            rollout={"workers": 64, "episode_seconds": 5},
            trainer={"batch_size": 4, "update_seconds": 15},
        ),
        ["environment.failure_probability=0,0.5"],
        1,
    )
    sweep = Sweep(grid, [grid.row(point, 1, {"error": None, **FIGURES}) for point in (0, 1)])
    lines = _text(sweep)
    assert any("theory" in line for line in lines)
    expected = sweep.summary()[0]["theory.updates_per_hour"]
    assert lines[-2].split()[:3] == ["0", "100.0", f"{expected:.1f}"]
    assert lines[-1].split()[:3] == ["0.5", "100.0", "-"]


def test_failed_runs_are_counted_and_their_reasons_reported() -> None:
    bad = {"error": "deadlock at 1 s: nothing", **dict.fromkeys(FIGURES)}
    sweep = _sweep(["rollout.group_size=1,2"], [{}, bad, bad, bad])
    lines = _text(sweep)
    assert [line.split()[-1] for line in lines if "/2" in line] == ["1/2", "2/2"]
    assert lines[-1] == "3 failed: deadlock at 1 s: nothing"


def test_only_the_most_frequent_reasons_are_reported() -> None:
    sweep = _sweep(["rollout.group_size=1,2,4"], [{"error": f"reason {n}"} for n in (1, 2, 2, 3, 4, 5)])
    assert failures(sweep) == [
        "2 failed: reason 2",
        "1 failed: reason 1",
        "1 failed: reason 3",
        "2 failed for other reasons",
    ]


def test_an_interrupted_sweep_reports_how_far_it_came_and_only_points_with_runs() -> None:
    lines = _text(_sweep(["rollout.workers=4,8,16"], [{}, {}, {}], interrupted=True))
    assert "Interrupted: 3 of 6 runs are done." in lines
    assert [line.split()[0] for line in lines[-2:]] == ["4", "8"]


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["rollout.workers", "strategy"], ["workers", "strategy"]),
        (
            ["rollout.episode_seconds.median", "trainer.update_seconds.median"],
            ["episode_seconds.median", "update_seconds.median"],
        ),
        (["rollout.speed", "rollout.speed.value"], ["speed", "value"]),
    ],
)
def test_columns_have_the_shortest_names_that_differ(paths: list[str], names: list[str]) -> None:
    assert short_names(paths) == names


_AXES = st.lists(
    st.sampled_from(
        [
            "rollout.workers=4,800",
            "rollout.queue_capacity=null,64",
            "environment.failure_probability=0,0.25",
            "strategy=synchronous,{kind: asynchronous, max_staleness: 2, enforce: cancel}",
            "rollout.episode_seconds={kind: lognormal, median: 20, sigma: 1.5},5",
        ]
    ),
    min_size=1,
    max_size=3,
    unique=True,
)


@settings(max_examples=20)
@given(_AXES)
def test_the_table_fits_with_every_figure_whole(vary: list[str]) -> None:
    grid = make_grid(small(), vary, 3)
    rows = [
        grid.row(point, seed, {"error": None, **FIGURES, "updates_per_hour": 90.0 + seed})
        for point in range(len(grid.points))
        for seed in (1, 2, 3)
    ]
    lines = _text(Sweep(grid, rows))
    assert max(map(len, lines)) <= WIDTH
    assert sum("92.0 ±2.5" in line and line.endswith("0.75 ±0.00") for line in lines) == len(grid.points)


def test_a_narrow_table_gives_up_other_figures_before_theory() -> None:
    axes = ["rollout.episode_seconds.sigma=0.1,1.5", "strategy=synchronous,asynchronous"]
    lines = _text(_sweep(axes, [{}] * 12, seeds=3), 80)
    header = next(line for line in lines if "updates/h" in line)
    assert header.split() == ["sigma", "strategy", "updates/h", "theory", "busy", "%", "stale", "bias"]
    assert max(map(len, lines)) <= 80
    wide = _text(_sweep(axes, [{}] * 12, seeds=3), 100)
    assert any("theory" in line and "p95/max" in line for line in wide)


def test_fractions_are_rounded_unless_that_makes_two_the_same() -> None:
    lines = _text(_sweep(["rollout.episode_seconds.median=20:30:4"], [{}] * 8))
    assert [line.split()[0] for line in lines[-4:]] == ["20", "23.3333", "26.6667", "30"]
    lines = _text(_sweep(["rollout.episode_seconds.median=1.00000001,1.00000002"], [{}] * 4))
    assert [line.split()[0] for line in lines[-2:]] == ["1.00000001", "1.00000002"]


def test_limits_of_theory_are_columns_of_the_summary_and_of_a_wide_table() -> None:
    scenario = small(
        duration=3600,
        rollout={"workers": 64, "episode_seconds": {"kind": "lognormal", "median": 20, "sigma": 1.0}},
        trainer={"batch_size": 64, "update_seconds": 15},
    )
    gate, drop = (
        "{kind: asynchronous, max_staleness: 1}",
        "{kind: asynchronous, max_staleness: 1, enforce: drop}",
    )
    grid = make_grid(scenario, [f"strategy={gate},{drop}"], 1)
    counts = {"episodes.finished": 1000, "episodes.dropped": 205}
    sweep = Sweep(grid, [grid.row(point, 1, {"error": None, **FIGURES, **counts}) for point in (0, 1)])
    gated, dropping = sweep.summary()
    assert (gated["at_most.staleness.mean"], gated["at_most.staleness.max"]) == (1.0, None)
    assert (dropping["at_most.staleness.mean"], dropping["at_most.staleness.max"]) == (1, 1)
    # 3600 s / 15 s.
    assert gated["at_most.updates_per_hour"] == 240
    assert (gated["tends_to.episodes.dropped_share"], gated["tends_to.updates_per_hour"]) == (None, None)
    share = dropping["tends_to.episodes.dropped_share"]
    assert share == pytest.approx(0.2102, abs=1e-4)
    # What is not dropped of 64 workers' episodes of 20 exp(1/2) s, in batches of 64.
    rate = 3600 * (1 - share) / (20 * math.exp(0.5))
    assert dropping["tends_to.updates_per_hour"] == pytest.approx(rate)
    lines = _text(sweep, 140)
    header = next(line for line in lines if "updates/h" in line)
    assert "stale  at most" in header
    assert header.endswith("dropped %  tends to")
    assert next(line for line in lines if "enforce=drop" in line).endswith("20.5      21.0")
    assert "at most" not in " ".join(_text(sweep, 60))


def test_wide_values_of_an_axis_keep_the_columns() -> None:
    told = []
    for names in ("東京,京都市", "abcd,abcdef"):
        text = "\n".join(_text(_sweep([f"name={names}", "rollout.workers=4,8"], [{}] * 8)))
        told.append(text.replace("東京", "abcd").replace("京都市", "abcdef"))
    assert told[0] == told[1]
    assert "abcdef" in told[0]


def test_updates_on_short_batches_stand_beside_how_many_episodes_they_are_on() -> None:
    batches = [{"trainer.batch_mean": size} for size in (4.0, 2.5)]
    whole = _text(_sweep(["strategy=synchronous,one_step_off"], batches, seeds=1))
    assert not any("per update" in line for line in whole)
    hasty = "strategy=synchronous,{kind: synchronous, unfinished: abort, deadline: 9}"
    table = _text(_sweep([hasty], batches, seeds=1))
    (place,) = [line.index("per update") for line in table if "per update" in line]
    assert [line[place:].split()[0] for line in table[3:5]] == ["4.0", "2.5"]
