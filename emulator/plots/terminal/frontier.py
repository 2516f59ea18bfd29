"""Throughput against staleness in the terminal, with the length bias beside a point that has one."""

from collections.abc import Iterator

from emulator.plots.charts import Frontier, Trade
from emulator.plots.terminal.cells import BIASED, Marks, Sheet, ink, marker
from emulator.plots.terminal.plane import Plane
from emulator.plots.terminal.scale import fitted, ticks

_HEIGHT = 16
UNBIASED = 0.95
"""The length bias from which it is not worth a word."""


def draw(chart: Frontier, width: int, glyphs: Marks) -> Iterator[Sheet]:
    """Draw the plane."""
    points = [point for series in chart.series for point in series.points]
    updates = fitted([point.updates.highest for point in points], _HEIGHT, from_zero=True)
    label = "mean staleness, versions"
    plane = Plane(width, _HEIGHT, glyphs, title="updates per hour", label=label, vertical=updates)
    pad = 2
    across = fitted([point.staleness.highest for point in points], plane.cells - 2 * pad - 4, from_zero=True)
    for series in chart.series:
        for point in series.points:
            x = plane.left + pad + across.place(point.staleness.mean)
            _draw_interval(plane, x, point, glyphs)
    spots = []
    for series in chart.series:
        for point in series.points:
            column = pad + across.place(point.staleness.mean)
            sign = marker(series.style, glyphs)
            spots.append((plane.mark(column, point.updates.mean, sign, ink(series.style)), point))
    for (x, y), point in spots:
        _draw_bias(plane.block, x, y, point)
    plane.under([(pad + across.place(value), text) for value, text in ticks(across, 8)])
    yield plane.block


def _draw_interval(plane: Plane, x: int, point: Trade, glyphs: Marks) -> None:
    for y in range(plane.row(point.updates.highest), plane.row(point.updates.lowest) + 1):
        plane.block.put(x, y, glyphs.interval[0])


def _draw_bias(block: Sheet, x: int, y: int, point: Trade) -> None:
    bias = point.length_bias
    text = f"{bias:.2f}".removeprefix("0")
    for start in (x + 1, x - len(text)):
        if bias < UNBIASED and block.free(start, y, len(text)):
            block.put(start, y, text, BIASED[(bias >= 0.6) + (bias >= 0.9)])
            return
