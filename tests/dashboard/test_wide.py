"""Names of any script: each column of a frame stands where it does with names of ASCII."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyte
import pytest

from emulator.dashboard.canvas import Canvas
from emulator.dashboard.frame import draw
from emulator.dashboard.scale import scale
from emulator.dashboard.state import ClockReading, Looking, ShownLane
from emulator.dashboard.svg import svg
from emulator.dashboard.terminal import Terminal
from emulator.dashboard.theme import ASCII, DARK, UNICODE, Glyphs
from emulator.exports.cast import Painter
from emulator.scenario import Scenario
from emulator.text import width
from tests.dashboard.scenarios import lanes_at
from tests.patience import eventually

SIZES = [(100, 30), (80, 24), (60, 12)]
WIDE = ("同期レーン", "🚀 한글")
NARROW = ("SYNC__LANE", "RK_ASIA")
UNSURE = ("\u2764\ufe0f1\ufe0f\u20e3", "e\u0301ab")
"""Names over whose width terminals disagree."""


def lanes(names: Sequence[str]) -> Sequence[Scenario]:
    return Scenario.model_validate(
        {
            "name": "race",
            "duration": 600,
            "rollout": {"workers": 4, "episode_seconds": {"kind": "exponential", "mean": 20}},
            "trainer": {"batch_size": 4, "update_seconds": 15},
            "strategy": {"kind": "asynchronous"},
            "lanes": [
                {"name": names[0], "strategy": {"kind": "synchronous"}},
                {"name": names[1], "events": [{"at": 100, "straggler": {"worker": 0, "factor": 8}}]},
            ],
        }
    ).lane_scenarios()


def frames(names: Sequence[str], size: tuple[int, int], glyphs: Glyphs = UNICODE) -> Iterator[Canvas]:
    """The start, two moments later, and the help over the last."""
    yield draw([ShownLane.fresh(s, scale(lanes(names))) for s in lanes(names)], ClockReading(0, 60.0), size)
    for t, looking in ((200, Looking()), (500, Looking(notice=f"{names[0]}!")), (500, Looking(help=True))):
        yield draw(lanes_at(lanes(names), t), ClockReading(t, 60.0), size, looking, glyphs)


@pytest.mark.parametrize("size", SIZES)
def test_a_frame_with_wide_names_is_the_one_with_narrow_names_of_that_width(size: tuple[int, int]) -> None:
    assert tuple(map(width, WIDE)) == tuple(map(width, NARROW))
    pairs = list(zip(frames(WIDE, size), frames(NARROW, size), strict=True))
    for wide, narrow in pairs[:-1]:  # the help covers a part of a name
        text = wide.plain()
        for one, other in zip(WIDE, NARROW, strict=True):
            text = text.replace(one, other)
        assert text == narrow.plain()


def shown(screen: pyte.Screen) -> list[tuple[str, ...]]:
    return [tuple(screen.buffer[y][x].data for x in range(screen.columns)) for y in range(screen.lines)]


def sent_live(canvases: Sequence[Canvas], path: Path) -> Iterator[str]:
    """What the terminal is sent for each of some frames."""
    output = os.open(path, os.O_CREAT | os.O_RDWR)
    terminal = Terminal(output, None, "256")
    sent = 0
    try:
        for canvas in canvases:
            terminal.draw(canvas, DARK)
            eventually(lambda: not terminal.busy)
            data = os.pread(output, 1 << 20, sent)
            sent += len(data)
            yield data.decode()
    finally:
        terminal.close()
        os.close(output)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("names", [WIDE, UNSURE])
@pytest.mark.parametrize("live", [True, False], ids=["live", "cast"])
def test_a_terminal_shows_each_cell_where_the_frame_has_it(
    size: tuple[int, int], names: Sequence[str], live: bool, tmp_path: Path
) -> None:
    canvases = list(frames(names, size))
    painter = Painter()
    texts = sent_live(canvases, tmp_path / "sent") if live else map(painter.paint, canvases)
    screen = pyte.Screen(*size)
    stream = pyte.Stream(screen)
    compared = 0
    for canvas, text in zip(canvases, texts, strict=True):
        stream.feed(text)
        for (drawn, _), found in zip(canvas.rows(), shown(screen), strict=True):
            for x, character in enumerate(drawn):
                alone = len(character) == 1 or (not character and len(drawn[x - 1]) == 1)
                if alone and (names is WIDE or character.isascii()):
                    assert found[x] == character
                    compared += 1
    assert compared > 1000


def test_a_picture_puts_what_is_behind_a_wide_character_in_its_column() -> None:
    wide, narrow = Canvas(20, 1), Canvas(20, 1)
    wide.put(0, 0, "東京█x")
    narrow.put(0, 0, "abcd█x")
    (behind,) = (line for line in svg(wide, DARK).splitlines() if ">x<" in line)
    assert behind in svg(narrow, DARK)
    (block,) = (line for line in svg(wide, DARK).splitlines() if line.startswith('<rect x="'))
    assert block in svg(narrow, DARK)


def test_what_cannot_be_printed_is_drawn_as_its_escape() -> None:
    canvas = Canvas(20, 1)
    assert canvas.put(0, 0, "a\x1b[2J\n") == 10
    assert canvas.plain() == "a\\x1b[2J\\n\n"


def test_frames_of_ascii_have_nothing_else() -> None:
    for canvas in list(frames(WIDE, (100, 30), ASCII))[1:]:
        assert canvas.plain().isascii()
        assert r"\u540c\u671f" in canvas.plain()


def test_a_cut_name_leaves_no_half_of_a_character() -> None:
    canvas = Canvas(5, 1)
    canvas.put(0, 0, "東京京")
    assert canvas.rows()[0][0] == ("東", "", "京", "", " ")
    canvas.put(1, 0, "x")
    assert canvas.rows()[0][0] == (" ", "x", "京", "", " ")
