"""Pictures of frames, and numbers as they are read."""

from pathlib import Path
from xml.etree import ElementTree

from emulator.dashboard import text
from emulator.dashboard.canvas import Canvas
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


def test_a_frame_is_saved_in_the_colours_of_its_theme(tmp_path: Path) -> None:
    canvas = Canvas(3, 1)
    canvas.put(0, 0, "abc")
    save(canvas, LIGHT, tmp_path / "frame.svg")
    assert "#ffffff" in (tmp_path / "frame.svg").read_text()


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
