"""Pictures of frames."""

from pathlib import Path
from xml.etree import ElementTree

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
