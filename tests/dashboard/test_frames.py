"""Frames: as they were looked at and kept, at each size; and as pure as they are said to be."""

from collections.abc import Callable
from io import StringIO

import pytest
from rich.console import Console

from emulator import events as ev
from emulator.dashboard.canvas import Area, Canvas, fitting
from emulator.dashboard.frame import draw
from emulator.dashboard.scale import scale
from emulator.dashboard.state import ClockReading, Looking, ShownLane
from emulator.dashboard.theme import ASCII, DARK, LIGHT, PLAIN, THEMES, Role, Theme, styles
from emulator.dashboard.workers import bands, layout
from emulator.runner import run_lanes
from tests.dashboard.golden_frames import FOLDER, engines, frame, frames, limited, race, run
from tests.dashboard.scenarios import lanes_at, long_tail


@pytest.mark.parametrize(("name", "draw_it"), [pytest.param(*case, id=case[0]) for case in frames()])
def test_the_frame_is_the_one_that_was_kept(name: str, draw_it: Callable[[], Canvas]) -> None:
    assert draw_it().plain() == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_every_golden_frame_is_drawn_and_fits_its_size() -> None:
    names = [name for name, _ in frames()]
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == sorted(names)
    for name in names:
        columns, rows = (int(part) for part in name.rpartition("-")[2].split("x"))
        lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        assert len(lines) == rows
        assert max(len(line) for line in lines) <= columns


def test_a_frame_depends_on_what_is_folded_and_on_nothing_else() -> None:
    scenario = long_tail(duration=600)
    events = list[ev.Event]()
    run_lanes([scenario], speed="max", sinks=[[events.extend]])
    common = scale([scenario])
    whole, piecemeal = ShownLane.fresh(scenario, common), ShownLane.fresh(scenario, common)
    whole.add(events)
    for event in events:
        piecemeal.add([event])
        frame([piecemeal], (80, 24))
    for lane in (whole, piecemeal):
        lane.history.advance(600)
    clock = ClockReading(600, 60.0)
    rows = draw([whole], clock, (100, 30)).rows()
    assert rows == draw([whole], clock, (100, 30)).rows()
    assert rows == draw([piecemeal], clock, (100, 30)).rows()


@pytest.mark.parametrize("width", range(1, 130, 16))
@pytest.mark.parametrize("height", [1, 2, 5, 23, 24, 31, 60])
def test_a_frame_of_any_size_can_be_drawn(width: int, height: int) -> None:
    for lanes in (run(), race(), race(5), engines(), engines(64, 200.0)):
        canvas = frame(lanes, (width, height), Looking(notice="saved", help=height == 31))
        assert [len(roles) for _, roles in canvas.rows()] == [width] * height


def test_a_race_says_ahead_only_with_the_price_beside_it() -> None:
    plain = frame(race(4), (100, 30)).plain()
    assert "GATED leads: 1.0x CAPPED, 8.0x SYNC, 8.0x ONE STEP OFF." in plain
    assert "price:  GATED  staleness 0.92  max 8 (limit 1)" in plain
    assert "length bias 0.58" in plain
    assert "ASYNC is 8.7x ahead.  SYNC workers idle 85%" in frame(race(), (80, 24)).plain()


def test_ascii_frames_are_ascii() -> None:
    for lanes in (run(), race(), limited()):
        assert frame(lanes, (200, 50), Looking(help=True), ASCII).plain().isascii()


def test_the_clock_says_when_it_is_paused_too_slow_or_short_of_frames() -> None:
    def head(clock: ClockReading) -> str:
        return draw(run(), clock, (100, 30)).plain().splitlines()[0].partition("p99")[2]

    assert "▶ 60x  00:16:40" in head(ClockReading(1000, 60.0))
    assert "▶ max (48,210x)  00:16:40" in head(ClockReading(1000, "max", 48210.4))
    assert "▶ 3,600x (only 2,100x)" in head(ClockReading(1000, 3600.0, 2100.0))
    assert "‖ paused  00:16:40" in head(ClockReading(1000, 60.0, paused=True))
    assert "▶ 60x  4 frames/s  00:16:40" in head(ClockReading(1000, 60.0, frames=4.2))


@pytest.mark.parametrize(("theme", "ink"), [(DARK, "20;22;27"), (LIGHT, "0;0;0")])
def test_a_theme_colours_the_stragglers_amber(theme: Theme, ink: str) -> None:
    output = StringIO()
    console = Console(file=output, force_terminal=True, color_system="truecolor", width=100, height=30)
    console.print(frame(race(), (100, 30)).on(theme), end="")
    assert f"\x1b[1;38;2;{ink};48;2;240;165;0m!!!!!!\x1b[0m" in output.getvalue()
    assert output.getvalue().count("\n") == 30


def test_without_colours_a_straggler_is_marked_by_glyph_and_reverse() -> None:
    output = StringIO()
    console = Console(file=output, force_terminal=True, no_color=True, width=100, height=30)
    console.print(frame(race(), (100, 30)).on(DARK), end="")
    assert "\x1b[1;7m!!!!!!\x1b[0m" in output.getvalue()
    assert "38;" not in output.getvalue()
    assert styles(PLAIN)[Role.STRAGGLER].render("!") == "\x1b[1;7m!\x1b[0m"


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize("colors", ["standard", "256", "truecolor"])
def test_states_differ_by_colour_in_every_theme_that_has_any(name: str, colors: str) -> None:
    looks = styles(THEMES[name], colors)  # type: ignore[arg-type]
    states = (Role.IDLE, Role.RUN, Role.STRAGGLER, Role.WEIGHTS, Role.BLOCKED)
    assert len({str(looks[state]) for state in states}) == (2 if name == "plain" else 5)


def test_workers_that_fit_get_a_cell_each_and_others_share_one() -> None:
    assert layout(64, 64, 13)[:4] == (16, 4, 3, 2)
    assert layout(1024, 139, 29)[:4] == (128, 8, 1, 2)
    assert layout(10_000, 64, 13) == (64, 13, 1, 1, 0, 0, 13)
    assert layout(3, 64, 13).columns == 3
    assert layout(0, 0, 0).band == 1


def test_a_band_is_as_full_as_it_is_busy_and_amber_if_what_is_busy_of_it_is_late() -> None:
    idle, busy, late, held = (bytes([role]) for role in (Role.IDLE, Role.RUN_4, Role.STRAGGLER, Role.BLOCKED))
    assert bands(idle * 10, 1) == idle
    assert bands(busy * 10, 1) == bytes([Role.RUN_4])
    assert bands(busy * 3 + idle * 7, 1) == bytes([Role.RUN_1])
    assert bands(busy + idle * 9, 1) == bytes([Role.RUN])
    assert bands(late + idle * 9, 1) == late
    assert bands(late + busy * 9, 1) == bytes([Role.RUN_4])
    assert bands(held * 8 + busy * 2, 1) == held
    assert bands(busy + idle, 5) == bytes([Role.RUN_4, Role.IDLE])


def test_what_is_drawn_outside_is_cut_off_and_wide_characters_take_two_cells() -> None:
    canvas = Canvas(8, 2)
    canvas.put(-2, 0, "abcd")
    canvas.put(6, 0, "efgh")
    canvas.put(0, 5, "nowhere")
    assert canvas.put(1, 1, "日本") == 5
    canvas.put(5, 1, "x")
    assert canvas.plain() == "cd    ef\n 日本x\n"
    assert fitting("one  two  three", 9) == "one  two"
    assert fitting("one", 2) == "on"
    box = Canvas(12, 3)
    box.box(Area(0, 0, 12, 3), "title  more", "")
    assert box.plain() == "┌ title ───┐\n│          │\n└──────────┘\n"


def test_lanes_with_short_batches_are_compared_in_episodes() -> None:
    hasty = {"kind": "synchronous", "unfinished": "resume", "deadline": 10}
    lanes = [
        {"name": "hasty", "strategy": hasty},
        {"name": "whole", "strategy": {"kind": "synchronous"}},
    ]
    scenarios = long_tail(duration=1200, lanes=lanes).lane_scenarios()
    drawn = frame(lanes_at(scenarios, 1200), (100, 30)).plain()
    shown = lanes_at(scenarios, 1200)
    counts = [lane.figures.learned_from for lane in shown]
    assert all(f"{count:,} episodes" in drawn for count in counts)
    assert "in episodes." in drawn
    assert f"{shown[0].figures.updates} updates" not in drawn


@pytest.mark.parametrize("size", [(60, 16), (40, 11)])
def test_a_small_frame_has_a_bar_for_every_lane_that_it_has_room_for(size: tuple[int, int]) -> None:
    lanes = race(5)
    drawn = frame(lanes, size).plain().splitlines()
    assert all(any(line.strip().startswith(lane.name[:6]) for line in drawn[1:6]) for lane in lanes)
