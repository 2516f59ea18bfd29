"""Panels of lines over a number, or of bars over categories: updates, utilisation, differences."""

from collections.abc import Sequence
from itertools import pairwise
from math import exp, log
from typing import TYPE_CHECKING, Any

from emulator.plots.charts import Across, Curve, Lines, Panel
from emulator.plots.layout import (
    LEGEND_ROW,
    LETTER,
    RIGHT,
    TOP,
    apart,
    draw_legend,
    legend_rows,
    put_ticks,
    side_by_side,
    slide,
    under,
)
from emulator.plots.look import HEIGHT, LABEL, MARKERS, Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STEP = 0.012
"""How far apart series of one colour stand, of the width of a slide."""
_MOST_TAKEN = 0.6
"""The most that they take of what is between two places."""
_DASHES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
_MOST_ROOM = 0.45
"""The share of a slide that words beside the lines may take."""


def draw(chart: Lines, theme: Palette) -> "Figure":
    """Draw the panels in a row; words beside the lines where there is one panel, else a legend on top."""
    sign = "broad line" if chart.across.numeric else "dash"
    figure = slide(chart, theme, f"{sign}: theory" if chart.theory else "")
    labels = [series.label for series in chart.panels[0].series]
    one = len(chart.panels) == 1
    room = max(map(len, labels)) * 1.12 * LETTER
    beside = one and chart.across.numeric and 0 < room <= _MOST_ROOM
    right = RIGHT - (room if beside else 0)
    legend = any(labels) and not beside and (len(chart.across) > 1 or not one)
    rows = legend_rows(labels) if legend else 0
    axes = side_by_side(figure, len(chart.panels), right=right, top=TOP - LEGEND_ROW * rows)
    lines = 0
    for panel, axis in zip(chart.panels, axes, strict=True):
        if chart.across.numeric:
            lines = _draw_lines(axis, chart.across, panel, theme, step=_STEP * len(chart.panels))
        else:
            lines = _draw_bars(axis, chart.across, panel, theme, named=one)
        _vertical(axis, panel, theme)
    if beside:
        _words(axes[0], chart.panels[0], theme)
    elif legend:
        draw_legend(figure, theme, chart.panels[0].series, bars=not chart.across.numeric)
    if lines < 2:
        under(figure, chart.across.label, right=right)
    return figure


def _draw_lines(axis: "Axes", across: Across, panel: Panel, theme: Palette, *, step: float) -> int:
    for n, series in enumerate(panel.series):
        color = theme.color(series.style)
        theory = [float("nan") if value is None else value for value in series.theory]
        broad: Any = {"color": color, "alpha": 0.32, "zorder": 2}
        axis.plot(across.positions, theory, lw=7, solid_capstyle="round", **broad)
        alone = [
            (x, y) for x, y in zip(across.positions, _alone(series.theory), strict=True) if y is not None
        ]
        if alone:  # one point makes no line
            axis.plot(*zip(*alone, strict=True), ls="", marker="o", ms=7, mew=0, **broad)
        positions = _moved(across, panel, series, step)
        found = [(x, point) for x, point in zip(positions, series.points, strict=True) if point is not None]
        x = [at for at, _ in found]
        y = [point.mean for _, point in found]
        below = [point.mean - point.lowest for _, point in found]
        above = [point.highest - point.mean for _, point in found]
        axis.errorbar(
            x,
            y,
            yerr=[below, above],
            color=color,
            lw=1.6,
            ls=_DASHES[series.style.shade % len(_DASHES)],
            elinewidth=2.4,
            capsize=7,
            capthick=2.0,
            marker=MARKERS[series.style.marker],
            ms=8,
            mec=theme.ground,
            mew=1.0,
            zorder=3 + 0.01 * n,
        )
    if across.log:
        axis.set_xscale("log")
        axis.minorticks_off()
    return put_ticks(axis, across, axis.get_position().width, across.positions)


def _alone(theory: Sequence[float | None]) -> list[float | None]:
    """The values that have no neighbour."""
    around = [None, *theory, None]
    return [
        value if before is None and after is None else None
        for before, value, after in zip(around, theory, around[2:], strict=False)
    ]


def _moved(across: Across, panel: Panel, series: Curve, step: float) -> list[float]:
    """Where the points of a series stand: those of one colour beside each other, so that no bar hides one."""
    count = sum(other.style.color == series.style.color for other in panel.series)
    if count == 1:
        return list(across.positions)
    at = list(map(log, across.positions)) if across.log else list(across.positions)
    room = _MOST_TAKEN * min(b - a for a, b in pairwise(at)) / count
    move = min(step * (at[-1] - at[0]), room) * (series.style.shade - (count - 1) / 2)
    return [exp(x + move) if across.log else x + move for x in at]


def _draw_bars(axis: "Axes", across: Across, panel: Panel, theme: Palette, *, named: bool) -> int:
    count = len(panel.series)
    alone = len(across) == 1
    width = 0.7 if alone else 0.8 / count
    centres: list[float] = []
    for n, series in enumerate(panel.series):
        offset = float(n) if alone else (n - (count - 1) / 2) * width
        centres.append(offset)
        for place, point, theory in zip(across.positions, series.points, series.theory, strict=True):
            x = place + offset
            if point is not None:
                axis.bar([x], [point.mean], width * 0.92, color=theme.color(series.style), zorder=2)
                bar = [[point.mean - point.lowest], [point.highest - point.mean]]
                axis.errorbar(
                    [x], [point.mean], yerr=bar, color=theme.text, elinewidth=2.2, capsize=6, capthick=2.2
                )
            if theory is not None:
                half = width * 0.5
                axis.plot(
                    [x - half, x + half], [theory] * 2, color=theme.text, lw=2.5, ls=(0, (4, 2)), zorder=4
                )
    axis.tick_params(axis="x", length=0)
    if not alone:
        return put_ticks(axis, across, axis.get_position().width, across.positions)
    pad = max(0.7, (4 - count) / 2)
    axis.set_xlim(-pad, count - 1 + pad)
    names = Across("", tuple(series.label for series in panel.series), tuple(centres))
    return put_ticks(axis, names, axis.get_position().width, centres, named=named)


def _vertical(axis: "Axes", panel: Panel, theme: Palette) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    axis.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_title(panel.label, size=LABEL, loc="left", pad=10)
    if panel.top is not None:
        axis.set_ylim(0, panel.top * 1.04)
    elif panel.from_zero:
        axis.set_ylim(0, axis.get_ylim()[1] or 1)
    else:
        axis.axhline(0, color=theme.text, lw=1.6, zorder=1.5)


def _words(axis: "Axes", panel: Panel, theme: Palette) -> None:
    """Write the name of each series beside its last point."""
    low, high = axis.get_ylim()
    ends = [
        next((point.mean for point in reversed(series.points) if point is not None), low)
        for series in panel.series
    ]
    box = axis.get_position()
    gap = (high - low) * 1.5 * LABEL / 72 / HEIGHT / box.height
    for series, y in zip(panel.series, apart(ends, gap, low, high), strict=True):
        axis.annotate(
            series.label,
            (1, y),
            xycoords=("axes fraction", "data"),
            xytext=(10, 0),
            textcoords="offset points",
            color=theme.color(series.style),
            weight="bold",
            va="center",
        )
