"""The map of staleness in the terminal: a cell a place and version, the fuller the more episodes."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from emulator.plots.charts import Across, Ages, HeatMap
from emulator.plots.terminal.cells import DIM, SHARES, STALE, Marks, Sheet, beside, ink, marker
from emulator.text import cut
from emulator.text import width as cells_of

_GAP = 3
_WIDEST, _MOST_COLUMNS = 14, 30


def draw(chart: HeatMap, width: int, glyphs: Marks) -> Iterator[Sheet]:
    """Draw the maps side by side as far as they fit, and then what the shades mean."""
    columns = _columns(chart.across)
    left = max(map(len, chart.rows)) + 1
    cell = _cell(chart, columns, left, width)
    each = left + cell * len(columns)
    a_row = max(1, (width + _GAP) // (each + _GAP))
    for start in range(0, len(chart.panels), a_row):
        some = chart.panels[start : start + a_row]
        yield beside([_map(chart, panel, columns, cell, glyphs) for panel in some], _GAP)
    yield _key(width, glyphs)


def _columns(across: Across) -> list[int]:
    return list(range(0, len(across), -(-len(across) // _MOST_COLUMNS)))


def _cell(chart: HeatMap, columns: list[int], left: int, width: int) -> int:
    """The width of a cell: so that ticks, means and label fit, the panels side by side if they can be."""
    longest = max(cells_of(word) for tick in chart.across.ticks for word in tick.split(", ")) + 1
    wanted = max(min(max(longest, 5), _WIDEST), -(-len(chart.across.label) // len(columns)))
    for panels in range(len(chart.panels), 0, -1):
        room = ((width + _GAP) // panels - _GAP - left) // len(columns)
        if room >= min(wanted, 5):
            return min(room, wanted)
    return max((width - left) // len(columns), 1)


def _map(chart: HeatMap, panel: Ages, columns: list[int], cell: int, glyphs: Marks) -> Sheet:
    left, bottom = max(map(len, chart.rows)) + 1, len(chart.rows) - (not panel.label)
    words = max(tick.count(", ") for tick in chart.across.ticks) + 1
    block = Sheet(left + cell * len(columns), bottom + words + 3, glyphs)
    if panel.label:
        block.put(0, 0, f"{marker(panel.style, glyphs)} {panel.label}", ink(panel.style))
    for k, text in enumerate(chart.rows):
        block.right(left - 1, bottom - k, text, DIM)
    means = _means([panel.means[i] for i in columns], cell - 1)
    ends = [-1] * (words + 1)
    for n, i in enumerate(columns):
        x = left + n * cell
        for k, share in enumerate(panel.shares[i]):
            block.put(x, bottom - k, shade(share, glyphs) * cell, STALE)
        words_below = [cut(block.said(word), max(cell - 1, 4)) for word in chart.across.ticks[i].split(", ")]
        lines = [*words_below, *[""] * (words - len(words_below)), means[n]]
        for row, text in enumerate(lines):
            color = DIM if row < words else None
            if text and block.start(x + cell // 2, text) > ends[row]:
                ends[row] = block.centre(x + cell // 2, bottom + 1 + row, text, color)
    block.centre(left + cell * len(columns) // 2, bottom + words + 2, chart.across.label)
    return block


def _means(means: Sequence[float | None], width: int) -> list[str]:
    """The means to as many places as all of them have room for, two at most."""
    texts: list[str] = []
    for places in (2, 1, 0):
        texts = ["" if mean is None else f"{mean:.{places}f}" for mean in means]
        if max(map(len, texts)) <= width:
            break
    return texts


def shade(share: float, glyphs: Marks) -> str:
    """The character for a share of the episodes; a blank for none at all."""
    return glyphs.shades[bisect_right(SHARES, share) + 1] if share > 0 else glyphs.shades[0]


def _key(width: int, glyphs: Marks) -> Sheet:
    block = Sheet(width, 1, glyphs)
    bounds = [f"under {SHARES[0]:.0%}", *(f"{share:.0%}" for share in SHARES)]
    x = 0
    for sign, text in zip(glyphs.shades[1:], bounds, strict=True):
        x = block.put(x, 0, sign * 2, STALE)
        x = block.put(x + 1, 0, text if text.startswith("under") else f"from {text}", DIM) + 2
    block.put(x, 0, "last line: mean", DIM)
    return block
