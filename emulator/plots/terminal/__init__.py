"""The charts of a sweep in the terminal, at once after it: the same numbers as on the slides, in characters.

Points are told apart by markers as well as colours. A console that is no terminal gets plain text, and one
whose encoding has no box characters gets ASCII.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from emulator.plots.charts import Chart, Curve, Frontier, HeatMap, Lines, Trades
from emulator.plots.data import charts
from emulator.plots.terminal import frontier, heat, lines
from emulator.plots.terminal.cells import (
    ASCII,
    BIASED,
    DIM,
    STRONG,
    UNICODE,
    Marks,
    Piece,
    Sheet,
    flow,
    ink,
    marker,
)

if TYPE_CHECKING:
    from emulator.sweeps import Sweep

WIDEST, NARROWEST = 120, 40
"""The most columns that charts take, and the fewest that they need."""


def draw(sweep: "Sweep", console: Console) -> None:
    """Print the charts of a sweep; nothing on a console of fewer than 40 columns, or if all runs failed."""
    width = min(console.width, WIDEST)
    drawn = charts(sweep) if width >= NARROWEST else []
    glyphs = ASCII if console.options.ascii_only or console.legacy_windows else UNICODE
    for chart in drawn:
        for block in _blocks(chart, width, glyphs):
            console.print(block, end="")
        console.print()
    for chart in drawn[:1]:
        console.print(flow([[(note, DIM)] for note in chart.caption], width, glyphs), end="")


def _blocks(chart: Chart, width: int, glyphs: Marks) -> Iterator[Sheet]:
    title = [[(word, STRONG)] for word in chart.title.split()]
    yield flow(title, width, glyphs, gap=1)
    match chart:
        case Lines():
            yield flow([*_names(chart.panels[0].series, glyphs), *_signs(chart, glyphs)], width, glyphs)
            yield from lines.draw(chart, width, glyphs)
        case HeatMap():
            yield from heat.draw(chart, width, glyphs)
        case Frontier():
            bias: Piece = [(".62", BIASED[0]), (" length bias, where below .95", DIM)]
            along: list[Piece] = [[(chart.along, DIM)]] if chart.along else []
            yield flow([*_names(chart.series, glyphs), bias, *along], width, glyphs)
            yield from frontier.draw(chart, width, glyphs)


def _names(series: Sequence[Curve | Trades], glyphs: Marks) -> list[Piece]:
    return [[(f"{marker(one.style, glyphs)} {one.label}", ink(one.style))] for one in series if one.label]


def _signs(chart: Lines, glyphs: Marks) -> Iterator[Piece]:
    """What the signs mean that a chart has."""
    curves = [series for panel in chart.panels for series in panel.series]
    lined = chart.across.numeric
    if any(point is not None and point.high is not None for series in curves for point in series.points):
        yield [(f"{glyphs.interval[0] if lined else glyphs.bar[1]} 95 % interval", DIM)]
    if chart.theory:
        yield [(f"{glyphs.theory * 3 if lined else glyphs.axis[0]} theory", DIM)]
