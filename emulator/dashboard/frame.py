"""From folded lanes to a frame: a pure function of them, the clock's reading, the size and the choice."""

from collections.abc import Sequence

from emulator.dashboard.canvas import Canvas
from emulator.dashboard.race_view import draw_race
from emulator.dashboard.run_view import draw_run
from emulator.dashboard.state import ClockReading, Looking, ShownLane
from emulator.dashboard.theme import UNICODE, Glyphs


def draw(
    lanes: Sequence[ShownLane],
    clock: ClockReading,
    size: tuple[int, int],
    looking: Looking | None = None,
    glyphs: Glyphs = UNICODE,
) -> Canvas:
    """The frame at the time that the clock reads, for a terminal of `size` (columns, rows).

    Lanes of a race are drawn side by side, unless one is zoomed; a run alone as one lane is.
    """
    looking = looking or Looking()
    if looking.zoom is None and lanes[0].scenario.lane is not None:
        return draw_race(lanes, clock, size, looking, glyphs)
    return draw_run(lanes[looking.zoom or 0], clock, size, looking, glyphs)
