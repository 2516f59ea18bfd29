"""Pictures of frames, and numbers as they are read."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from emulator.dashboard import text
from emulator.dashboard.canvas import Canvas
from emulator.dashboard.still import main
from emulator.dashboard.svg import save, svg
from emulator.dashboard.theme import DARK, LIGHT, Role


def test_a_picture_draws_blocks_as_rectangles_and_words_as_text_and_links_nothing() -> None:
    canvas = Canvas(12, 1)
    canvas.put(0, 0, "███▄", Role.BUSY)
    canvas.put(4, 0, " a < b", Role.STRONG)
    picture = svg(canvas, DARK)
    root = ElementTree.fromstring(picture)
    rectangles = [shape for shape in root if shape.tag.endswith("rect")][1:]
    assert [(float(r.get("width", 0)), float(r.get("height", 0))) for r in rectangles] == [
        (25.2, 18),
        (8.4, 9),
    ]
    assert [shape.text for shape in root if shape.tag.endswith("text")] == ["a < b"]
    assert picture.count("http") == 1


def test_a_still_is_saved_by_its_suffix(tmp_path: Path) -> None:
    canvas = Canvas(3, 1)
    canvas.put(0, 0, "abc")
    save(canvas, LIGHT, tmp_path / "still.txt")
    save(canvas, LIGHT, tmp_path / "still.svg")
    assert (tmp_path / "still.txt").read_text() == "abc\n"
    assert "#ffffff" in (tmp_path / "still.svg").read_text()


def test_the_still_command_draws_the_moment_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["stragglers", "--race", "--at", "90s", "--size", "80x24", "--set", "duration=100"]
    assert main(arguments) == 0
    assert "00:01:30 / 00:01:40" in capsys.readouterr().out
    assert main([*arguments, "--to", str(tmp_path / "race.svg")]) == 0
    assert (tmp_path / "race.svg").exists()
    assert main(["no-such-scenario"]) == 2
    assert main(["stragglers", "--size", "wide"]) == 2


def test_numbers_read_at_a_glance() -> None:
    assert text.clock(2240.9) == "00:37:20"
    spans = (0, 0.8, 9.94, 9.96, 20, 59.7, 60, 312, 3600, 7500)
    assert [text.span(s) for s in spans] == [
        "0s",
        "0.8s",
        "9.9s",
        "10s",
        "20s",
        "1m",
        "1m",
        "5m12s",
        "1h",
        "2h05m",
    ]
    assert [text.speed(s) for s in (60.0, 59.9, 48210.4, 0.5, "max", None)] == [
        "60x",
        "59.9x",
        "48,210x",
        "0.5x",
        "max",
        "-",
    ]
    assert [text.count(n, "update") for n in (0, 1, 1200)] == ["0 updates", "1 update", "1,200 updates"]
    assert [text.nice_step(s) for s in (0.02, 0.5, 1, 17.5, 61, 5000)] == [0.1, 1, 1, 20, 120, 7200]
