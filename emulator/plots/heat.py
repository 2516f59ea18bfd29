"""A map of staleness: how many of the trained episodes were how stale, over the swept axis."""

from typing import TYPE_CHECKING

import numpy as np

from emulator.plots.charts import Ages, HeatMap
from emulator.plots.layout import BOTTOM, LEFT, LETTER, put_ticks, slide, under, wrapped
from emulator.plots.look import LABEL, SMALL, TICK, Palette, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

_TOP, _RIGHT = 0.795, 0.885
_TICKS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
_MOST_IN_A_ROW = 4


def draw(chart: HeatMap, theme: Palette) -> "Figure":
    """Draw the maps of all series over one scale of shades."""
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415
    from matplotlib.colors import PowerNorm  # noqa: PLC0415

    figure = slide(chart, theme, "shade: share of trained episodes", "dots: their mean staleness")
    # The root: most episodes are in a few cells, and the tail is what the map is for.
    norm, colors = PowerNorm(0.5, 0, 1), shades(theme.stale)
    panels = list(chart.panels)
    lines = 0
    columns = min(len(panels), _MOST_IN_A_ROW) if len(panels) != 6 else 3
    rows = -(-len(panels) // columns)
    width = (_RIGHT - LEFT - 0.018 * (columns - 1)) / columns
    height = (_TOP - BOTTOM - 0.09 * (rows - 1)) / rows
    for n, panel in enumerate(panels):
        row, column = divmod(n, columns)
        bottom = _TOP - height - row * (height + 0.09)
        axis = figure.add_axes((LEFT + column * (width + 0.018), bottom, width, height))
        _draw_map(axis, chart, panel, theme, norm)
        step = -(-len(chart.rows) // (14 // rows))
        labelled = [k for k in range(len(chart.rows)) if k % step == 0 or chart.rows[k].endswith("+")]
        axis.set_yticks(labelled, [chart.rows[k] for k in labelled] if column == 0 else [""] * len(labelled))
        places = list(range(len(chart.across)))
        last = n + columns >= len(panels)
        lines = max(lines, put_ticks(axis, chart.across, width, places, named=last))
    bar = figure.colorbar(
        ScalarMappable(norm, colors), cax=figure.add_axes((_RIGHT + 0.015, BOTTOM, 0.016, _TOP - BOTTOM))
    )
    bar.set_ticks(list(_TICKS), labels=[f"{tick:.0%}" for tick in _TICKS])
    bar.outline.set_visible(False)
    figure.text(0.025, _TOP + 0.09, "versions stale", size=LABEL, va="center")
    figure.text(0.975, _TOP + 0.09, "share of episodes", size=LABEL, va="center", ha="right")
    if lines < 2:
        under(figure, chart.across.label, right=_RIGHT)
    return figure


def _draw_map(axis: "Axes", chart: HeatMap, panel: Ages, theme: Palette, norm: "Normalize") -> None:
    shares = np.zeros((len(chart.rows), len(panel.shares)))
    for i, column in enumerate(panel.shares):
        shares[: len(column), i] = column
    edges = np.arange(len(panel.shares) + 1) - 0.5
    heights = np.arange(len(chart.rows) + 1) - 0.5
    axis.pcolormesh(
        edges,
        heights,
        np.ma.masked_equal(shares, 0.0),
        cmap=shades(theme.stale),
        norm=norm,
        edgecolors=theme.ground,
        linewidth=1.2,
    )
    found = [(i, mean) for i, mean in enumerate(panel.means) if mean is not None]
    x, y = [i for i, _ in found], [mean for _, mean in found]
    width = 1.8 if chart.across.numeric else 0.0
    axis.plot(x, y, color=theme.text, lw=width, marker="o", ms=7, mec=theme.ground, zorder=3)
    axis.set_xlim(edges[0], edges[-1])
    axis.set_ylim(heights[0], heights[-1])
    axis.grid(visible=False)
    axis.tick_params(length=0)
    letters = axis.get_position().width / LETTER
    small = any(len(other.label) > letters * 0.95 for other in chart.panels)
    label = wrapped(panel.label, letters * 1.15) if small else panel.label
    size = SMALL if small else TICK
    axis.set_title(label, size=size, weight="bold", color=theme.color(panel.style), loc="left")
