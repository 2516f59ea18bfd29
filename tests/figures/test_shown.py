"""A figure of the list is shown wherever it is marked to be, with no more than its entry there."""

import io
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

import emulator
from emulator import Run
from emulator.dashboard.frame import draw
from emulator.dashboard.state import ClockReading
from emulator.figures import Result
from emulator.figures import spec as f
from emulator.figures.result import Figure, Shown
from emulator.figures.text import COUNT
from emulator.summary import RaceSummary, RunSummary
from emulator.sweeps import sweep
from emulator.sweeps.report import SweepSummary
from tests.dashboard.scenarios import lanes_at, long_tail

UNDER = [figure for line in f.LINES for figure in line.under if isinstance(figure, Figure)]


def drawn(what: RenderableType) -> str:
    page = io.StringIO()
    Console(file=page, width=200).print(what)
    return page.getvalue()


def has_line(text: str, label: str) -> bool:
    return any(line.startswith(f"  {label} ") for line in text.split("\n"))


@pytest.fixture(scope="module")
def race() -> list[Run]:
    drop = "lanes.1.strategy={kind: asynchronous, max_staleness: 1, enforce: drop}"
    return emulator.race(emulator.load_scenario("stragglers", overrides=["duration=20m", drop]), speed="max")


def test_summaries_have_a_line_for_each(race: list[Run]) -> None:
    alone, together = drawn(RunSummary(race[1])), drawn(RaceSummary(race))
    for figure in UNDER:
        seen = figure is not f.NEWEST_MEAN  # that of a run whose episodes have several versions
        assert has_line(alone, figure.label) == (Shown.SUMMARY in figure.shown), figure.name
        assert has_line(together, figure.label) == (seen and Shown.RACE in figure.shown), figure.name


def test_a_page_has_each(tmp_path: Path) -> None:
    scenario = emulator.load_scenario("stragglers", overrides=["duration=20m", "lanes=[]"])
    result = Result(emulator.run(scenario, speed="max", record=tmp_path / "run.jsonl").result)
    emulator.export(tmp_path / "run.jsonl", tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    for figure in UNDER:
        assert (result.say(figure) in page) == (Shown.PAGE in figure.shown), figure.name


def test_the_dashboard_has_each() -> None:
    lanes = lanes_at([long_tail()], 1000.0)
    frame = draw(lanes, ClockReading(1000.0, 60), (200, 50)).plain()
    for figure in UNDER:
        assert (lanes[0].say(figure) in frame) == (Shown.DASHBOARD in figure.shown), figure.name


def test_a_sweep_has_a_column_for_each_where_there_is_room() -> None:
    scenario = emulator.load_scenario("stragglers", overrides=["duration=20m", "lanes=[]"])
    done = sweep(scenario, {"rollout.workers": [32, 64]}, seeds=3, jobs=1)
    table = drawn(SweepSummary(done))
    for figure in UNDER:
        assert figure.name in done.figures
        assert (f"  {figure.column}" in table) == (Shown.SWEEP in figure.shown), figure.name


def test_a_new_figure_needs_its_entry_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown.SUMMARY | Shown.RACE
    added = Figure[int]("made_up", format=COUNT, shown=shown, value=lambda r: 7 * r.lane.updates)
    monkeypatch.setattr("emulator.figures.figures.FIGURES", (*f.FIGURES, added))
    monkeypatch.setattr(f, "LINES", (f.LINES[0]._replace(under=(added,)), *f.LINES[1:]))
    run = emulator.run(emulator.load_scenario("stragglers", overrides=["duration=20m"]), speed="max")
    assert run.result["made_up"] == 7 * run.result["updates"]
    assert has_line(drawn(RunSummary(run)), "made up")
    assert has_line(drawn(RaceSummary([run, run])), "made up")
