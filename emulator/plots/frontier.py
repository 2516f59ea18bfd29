"""What updates cost: throughput against staleness, with length bias as colour."""

from math import floor, hypot
from textwrap import shorten
from typing import TYPE_CHECKING

from emulator.figures.spec import LENGTH_BIAS, STALENESS, UPDATES_PER_HOUR
from emulator.plots.charts import Frontier, Trade
from emulator.plots.layout import BOTTOM, LEFT, LEGEND_ROW, TOP, draw_legend, legend_rows, slide, under
from emulator.plots.look import LABEL, MARKERS, SMALL, Palette, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RIGHT = 0.885
_MOST_TAGGED = 4
_AWAY = 21
"""Points between a marker and the word beyond it."""


def bias_range(chart: Frontier) -> tuple[float, float]:
    """The ends of the scale of length bias: 1, or above where the data are, and a tenth below the lowest."""
    biases = [point.length_bias for series in chart.series for point in series.points]
    return min(floor(min(biases) * 10) / 10, 0.8), max(1.0, *biases)


def draw(chart: Frontier, theme: Palette) -> "Figure":
    """Draw a marker for each point of the grid: its edge is the strategy's colour, its face the bias."""
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415
    from matplotlib.colors import Normalize  # noqa: PLC0415

    figure = slide(chart, theme, chart.along, f"{LENGTH_BIAS.label}: mean duration, trained / started")
    norm, colors = Normalize(*bias_range(chart)), shades(theme.bias)
    labels = [series.label for series in chart.series]
    top = TOP - LEGEND_ROW * (legend_rows(labels) if any(labels) else 0)
    axis = figure.add_axes((LEFT, BOTTOM, _RIGHT - LEFT, top - BOTTOM))
    for series in chart.series:
        color = theme.color(series.style)
        x = [point.staleness.mean for point in series.points]
        y = [point.updates.mean for point in series.points]
        if chart.along:
            axis.plot(x, y, color=color, lw=2.2, alpha=0.7, zorder=2)
        for point in series.points:
            face = colors(float(norm(point.length_bias)))
            _draw_point(axis, point, color, MARKERS[series.style.marker], face)
    axis.margins(0.08)
    axis.set_ylim(bottom=-0.09 * axis.get_ylim()[1])
    axis.set_xlim(left=-0.06 * axis.get_xlim()[1])
    for series in chart.series if len(chart.series) <= _MOST_TAGGED else ():
        _draw_tags(axis, series.points, theme, line=bool(chart.along))
    axis.grid(visible=True, axis="both")
    under(figure, f"mean {STALENESS.axis}", right=_RIGHT)
    axis.set_title(UPDATES_PER_HOUR.axis, size=LABEL, loc="left", pad=10)
    if any(labels):
        draw_legend(figure, theme, chart.series, hollow=True)
    bar = figure.colorbar(
        ScalarMappable(norm, colors), cax=figure.add_axes((_RIGHT + 0.015, BOTTOM, 0.016, top - BOTTOM))
    )
    bar.outline.set_visible(False)
    figure.text(0.975, top + 0.033, LENGTH_BIAS.axis, size=LABEL, va="center", ha="right")
    return figure


def _draw_point(axis: "Axes", point: Trade, color: str, marker: str, face: tuple[float, ...]) -> None:
    x, y = point.staleness, point.updates
    axis.errorbar(
        [x.mean],
        [y.mean],
        xerr=[[x.mean - x.lowest], [x.highest - x.mean]],
        yerr=[[y.mean - y.lowest], [y.highest - y.mean]],
        color=color,
        elinewidth=1.6,
        marker=marker,
        ms=12,
        mfc=face,
        mec=color,
        mew=2.2,
        zorder=3,
    )


def _draw_tags(axis: "Axes", points: tuple[Trade, ...], theme: Palette, *, line: bool) -> None:
    """Write what was swept beyond the ends of a line, or beside each point where there is no line."""
    if len(points) < 2:
        return
    ends = [(points[0], points[1]), (points[-1], points[-2])]
    for point, before in ends if line else [(point, None) for point in points]:
        spot = (point.staleness.mean, point.updates.mean)
        away = (_AWAY * 0.7, 0.0)
        if before is not None:
            spots = [(before.staleness.mean, before.updates.mean), spot]
            (x0, y0), (x1, y1) = axis.transData.transform(spots)
            far = hypot(x1 - x0, y1 - y0) or 1.0
            away = (_AWAY * (x1 - x0) / far, _AWAY * (y1 - y0) / far)
        axis.annotate(
            shorten(point.tag, 16, placeholder="…"),
            spot,
            xytext=away,
            textcoords="offset points",
            size=SMALL,
            color=theme.text,
            ha="center" if line else "left",
            va="center",
            zorder=4,
        )
