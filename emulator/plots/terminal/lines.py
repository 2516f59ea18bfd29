"""Panels in the terminal: points over a number, with their intervals and theory; bars over categories."""

from collections.abc import Iterator
from itertools import pairwise
from math import floor, log10

from rich.style import Style as Ink

from emulator.plots.charts import Across, Curve, Estimate, Lines, Panel
from emulator.plots.terminal.cells import DIM, STRONG, Marks, Sheet, beside, ink, marker
from emulator.plots.terminal.plane import Plane
from emulator.plots.terminal.scale import Ruler, fitted

_HIGH, _LOW = 16, 11
"""Rows of a plane alone in its row, and of planes side by side."""
_NARROW, _GAP = 31, 3


def draw(chart: Lines, width: int, glyphs: Marks) -> Iterator[Sheet]:
    """Draw the panels side by side as far as they fit."""
    if not chart.across.numeric:
        for panel in chart.panels:
            yield _bars(chart.across, panel, width, glyphs)
        return
    count = len(chart.panels)
    a_row = next((n for n in range(count, 0, -1) if (width + _GAP) // n - _GAP >= _NARROW), 1)
    each = (width + _GAP) // a_row - _GAP
    for start in range(0, count, a_row):
        some = chart.panels[start : start + a_row]
        height = _HIGH if a_row == 1 and count == 1 else _LOW
        yield beside([_plane(chart.across, panel, each, height, glyphs) for panel in some], _GAP)


def _plane(across: Across, panel: Panel, width: int, height: int, glyphs: Marks) -> Sheet:
    vertical = fitted(_values(panel), height, from_zero=panel.from_zero, top=panel.top)
    plane = Plane(width, height, glyphs, title=panel.label, label=across.label, vertical=vertical)
    pad = 2
    scale = Ruler(across.positions[0], across.positions[-1], plane.cells - 2 * pad, across.log)
    columns = [pad + scale.place(position) for position in across.positions]
    if vertical.low < 0 < vertical.high:
        plane.block.put(plane.left, plane.row(0.0), glyphs.zero * plane.cells, DIM)
    for series in panel.series:
        _draw_theory(plane, columns, series, glyphs)
    for series in panel.series:
        _draw_intervals(plane, columns, series, glyphs)
    for series in panel.series:
        for column, point in zip(columns, series.points, strict=True):
            if point is not None:
                plane.mark(column, point.mean, marker(series.style, glyphs), ink(series.style))
    plane.under(list(zip(columns, across.ticks, strict=True)))
    return plane.block


def _draw_theory(plane: Plane, columns: list[int], series: Curve, glyphs: Marks) -> None:
    """Draw dots at what is known, and between neighbours that are: none where no law holds."""

    def dot(x: int, y: float) -> None:
        plane.block.put(plane.left + x, plane.row(y), glyphs.theory, ink(series.style))

    places = list(zip(columns, series.theory, strict=True))
    for x, y in places:
        if y is not None:
            dot(x, y)
    for (x0, y0), (x1, y1) in pairwise(places):
        if y0 is not None and y1 is not None:
            for x in range(x0 + 1, x1):
                dot(x, y0 + (y1 - y0) * (x - x0) / (x1 - x0))


def _draw_intervals(plane: Plane, columns: list[int], series: Curve, glyphs: Marks) -> None:
    stroke, upper, lower = tuple(glyphs.interval)
    for column, point in zip(columns, series.points, strict=True):
        if point is not None:
            top, middle, bottom = (plane.row(value) for value in (point.highest, point.mean, point.lowest))
            for y in range(top, bottom + 1):
                sign = upper if y == top < middle else lower if y == bottom > middle else stroke
                plane.block.put(plane.left + column, y, sign, ink(series.style))


def _bars(across: Across, panel: Panel, width: int, glyphs: Marks) -> Sheet:
    """A bar a line, with its number: a group for each category, a bar for each series in it."""
    rows: list[tuple[str, Curve | None, int]] = []
    for place, tick in enumerate(across.ticks):
        if len(across) > 1:
            rows.append((tick, None, place))
        rows += [(series.label, series, place) for series in panel.series]
    block = Sheet(width, len(rows) + 1, glyphs)
    block.put(0, 0, panel.label)
    left = min(max(block.size(label) for label, _, _ in rows) + 4, width // 2)
    texts = [_number(series.points[i], series.theory[i]) if series else "" for _, series, i in rows]
    numbers = max(map(block.size, texts)) + 1
    lowest = 0.0 if panel.from_zero else min(0.0, *_values(panel))
    scale = fitted([lowest, 0.0, *_values(panel)], max(width - left - numbers, 4), top=panel.top)
    for y, ((label, series, place), text) in enumerate(zip(rows, texts, strict=True), 1):
        if series is None:
            block.put(0, y, label, STRONG)
            continue
        block.put(0, y, f"{marker(series.style, glyphs)} {label}", ink(series.style))
        point, theory = series.points[place], series.theory[place]
        if point is not None:
            _draw_bar(block, left, y, scale=scale, point=point, color=ink(series.style))
        if theory is not None:
            block.put(left + scale.place(theory), y, glyphs.axis[0], STRONG)
        block.put(left + scale.cells + 1, y, text)
    return block


def _draw_bar(block: Sheet, left: int, y: int, *, scale: Ruler, point: Estimate, color: Ink) -> None:
    solid, unsure = tuple(block.glyphs.bar)
    start, end = sorted((scale.place(0.0), scale.place(point.mean)))
    block.put(left + start, y, solid * (end - start + 1), color)
    low, high = scale.place(point.lowest), scale.place(point.highest)
    if high > low:
        block.put(left + low, y, unsure * (high - low + 1), color)


def _number(point: Estimate | None, theory: float | None) -> str:
    """A mean with the half of its interval to two places that count, and theory to as many."""
    half = 0.0 if point is None or point.high is None else point.high - point.mean
    # What rounding leaves of equal numbers is no interval.
    resolvable = point is not None and half > 1e-9 * abs(point.mean)
    digits = min(max(1 - floor(log10(half)), 0), 4) if resolvable else 1
    text = "-" if point is None else f"{point.mean:,.{digits}f}"
    if point is not None and point.high is not None:
        text += f" ± {half:,.{digits}f}"
    return text if theory is None else f"{text}  theory {theory:,.{digits}f}"


def _values(panel: Panel) -> list[float]:
    found = [0.0]
    for series in panel.series:
        for point in series.points:
            found += [] if point is None else [point.lowest, point.highest]
        found += [value for value in series.theory if value is not None]
    return found
