"""The workers: a grid of glasses that fill with the age of an episode, and the raster of workers by time."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from emulator.dashboard.canvas import Area, Canvas
from emulator.dashboard.crew import ACTING, BLOCKED, DOWN, GATED, RUN, STRAGGLER, WEIGHTS
from emulator.dashboard.history import History
from emulator.dashboard.theme import AGES, Glyphs, Role

_LEGEND = (
    (ACTING, "o in a tool"),
    (BLOCKED, "x blocked"),
    (GATED, ": gated"),
    (WEIGHTS, "~ reset or weights"),
    (DOWN, "- down"),
)

_ROWS_TO_AN_ENGINE = 4


def legend(history: History, first: str) -> str:
    """What the glyphs mean, of the states that there have been."""
    seconds = history.seconds()
    return "  ".join([first, "! straggler", *(text for state, text in _LEGEND if seconds[state] > 0)])


class Tiling(NamedTuple):
    """How a grid is laid out: cells in a row, rows, a cell's size, the gaps after it, workers in a cell."""

    columns: int
    rows: int
    width: int
    height: int
    gap_x: int
    gap_y: int
    band: int

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal that it takes."""
        return (
            self.columns * (self.width + self.gap_x) - self.gap_x,
            self.rows * (self.height + self.gap_y) - self.gap_y,
        )


# Width and height of a cell and the gaps after it, largest first.
_CELLS = (
    *((9, height, 1, 1) for height in (6, 5, 4)),
    *((7, height, 1, 1) for height in (5, 4, 3)),
    *((5, height, 1, 1) for height in (4, 3, 2)),
    (3, 2, 1, 1),
    (3, 1, 1, 1),
    (2, 1, 1, 1),
    (1, 2, 0, 1),
    (1, 1, 1, 1),
    (1, 1, 0, 1),
    (1, 1, 1, 0),
    (1, 1, 0, 0),
)


@lru_cache(maxsize=64)
def layout(workers: int, width: int, height: int) -> Tiling:
    """The largest cells with which all workers fit; if none do, cells that stand for several."""
    workers, width, height = max(workers, 1), max(width, 1), max(height, 1)
    for cell in _CELLS:
        cell_width, _, gap_x, _ = cell
        columns = _round((width + gap_x) // (cell_width + gap_x), workers)
        if not columns:
            continue
        grid = Tiling(columns, -(-workers // columns), *cell, 1)
        if grid.size[1] <= height:
            return grid
    columns = _round(width, workers)
    band = -(-workers // (columns * height))
    return Tiling(columns, -(-workers // (columns * band)), 1, 1, 0, 0, band)


def _round(columns: int, workers: int) -> int:
    """The largest power of two, so that a worker is easy to find; all workers in a row if they fit."""
    return workers if workers <= min(columns, 8) else 1 << (columns.bit_length() - 1) if columns else 0


@lru_cache(maxsize=4096)
def bands(states: bytes, rows: int) -> bytes:
    """The states of workers as one state for each of `rows` bands (or for each worker, if they are fewer).

    A band that is busy is in the shade of how many of it are, unless every third of these, or the only one,
    is a straggler; one that is not, or is mostly held up, is in the state of its middle worker.
    """
    cells = np.frombuffer(states, np.uint8)
    edges = np.arange(min(rows, len(cells)) + 1) * len(cells) // min(rows, len(cells))
    starts = edges[:-1]
    late = cells == STRAGGLER
    stragglers = np.add.reduceat(late, starts, dtype=np.intp)
    busy = np.add.reduceat(late | ((cells >= RUN) & (cells < RUN + AGES)), starts, dtype=np.intp)
    band = np.array([np.sort(cells[a:b])[(b - a) // 2] for a, b in pairwise(edges)])
    some = (busy > 0) & (band < GATED) | (band == STRAGGLER)
    band[some] = (RUN - 1 - (-busy * AGES // np.diff(edges)))[some]
    band[(stragglers > 0) & (3 * stragglers >= busy)] = STRAGGLER
    return band.tobytes()


def draw_grid(canvas: Canvas, area: Area, history: History) -> None:
    """All workers now, each a glass: how full it is says how old its episode is, as a share of the median.

    Where a glass stands for several workers, how full it is says how many of them are busy.
    """
    states = history.states()
    grid = layout(len(states), area.width, area.height)
    ages = history.ages()
    if grid.band > 1:
        cells = min(grid.columns * grid.rows, len(states))
        states = np.frombuffer(bands(states.tobytes(), cells), np.uint8)
        # The shade of a band says how full its glass is.
        ages = (states.astype(float) - RUN + 1) / AGES
    across, down = grid.size
    x = area.x + max(0, (area.width - across) // 2)
    y = area.y + max(0, (area.height - down) // 2)
    eighths = np.ceil(np.clip(ages, 1e-9, 1.0) * 8 * grid.height).astype(int).tolist()
    glasses = list(zip(states.tolist(), eighths, ages.tolist(), strict=True))
    for row in range(grid.rows):
        in_row = glasses[row * grid.columns : (row + 1) * grid.columns]
        for line in range(grid.height):
            below = grid.height - 1 - line
            drawn = [_cell(canvas.glyphs, grid, glass, below) for glass in in_row]
            gap = bytes([Role.TEXT]) * grid.gap_x
            text = (" " * grid.gap_x).join([text for text, _ in drawn])
            roles = gap.join([bytes((role,)) * grid.width for _, role in drawn])
            canvas.cells(x, y + row * (grid.height + grid.gap_y) + line, text, roles)


def _cell(glyphs: Glyphs, grid: Tiling, glass: tuple[int, int, float], below: int) -> tuple[str, int]:
    """One line of a cell, above `below` others, and its role. A glass: state, eighths that are full, age."""
    state, eighths, age = glass
    if RUN <= state < RUN + AGES:
        return glyphs.fill[min(max(eighths - 8 * below, 0), 8)] * grid.width, state
    if state == STRAGGLER and grid.width > 1:
        if below < grid.height - 1:
            return glyphs.over * grid.width, Role.OVERFLOW
        labels = (f"!{age:.0f}x", f"!{age:.0f}", "!" * grid.width)
        return next(label for label in labels if len(label) <= grid.width).center(grid.width), state
    if state == ACTING:
        return (glyphs.states[state] if eighths > 8 * below else " ") * grid.width, state
    if state == Role.IDLE:
        return (" " if below else glyphs.dot) * grid.width, state
    return glyphs.states[state] * grid.width, state


def draw_raster(canvas: Canvas, area: Area, history: History) -> None:
    """The past, a row for each band of workers, then of engines if there are any, and the last the trainer.

    Blank is idle; dots are where time has not come yet.
    """
    x, y, width, height = area
    columns = [(column.states, column.engines) for column in history.past.last(width - 1)]
    columns.append((history.states().tobytes(), history.engine_states().tobytes()))
    engines = min(len(history.engines), height // _ROWS_TO_AN_ENGINE)
    _bands_by_time(canvas, Area(x, y, width, height - 1 - engines), [workers for workers, _ in columns])
    if engines:
        _bands_by_time(canvas, Area(x, y + height - 1 - engines, width, engines), [e for _, e in columns])
    busy = history.past.rates(width - 1).trainer()
    text = "".join("T" if share is not None and share >= 0.5 else " " for share in busy)
    canvas.put(x, y + height - 1, text, Role.TRAINER)


def _bands_by_time(canvas: Canvas, area: Area, columns: Sequence[bytes]) -> None:
    """States by column, in as many rows as there are, or as have room."""
    x, y, width, height = area
    rows = max(1, min(height, max(len(states) for states in columns)))
    picture = np.zeros((len(columns), rows), np.uint8)
    for i, states in enumerate(columns):
        band = bands(states, rows)
        picture[i, : len(band)] = np.frombuffer(band, np.uint8)
    glyphs, to_come = canvas.glyphs.states, canvas.glyphs.rest * (width - len(columns))
    lines = max(1, height // rows)
    for row, codes in enumerate(np.ascontiguousarray(picture.T)):
        roles = codes.tobytes()
        text = "".join([glyphs[code] for code in roles])
        for line in range(y + row * lines, y + (row + 1) * lines):
            canvas.put(canvas.cells(x, line, text, roles), line, to_come, Role.REST)
