"""Where things stand on a slide of 16:9: title and small print, panels, ticks, legend."""

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from emulator.plots.look import DPI, HEIGHT, LABEL, MARKERS, SMALL, TICK, TITLE, WIDTH, Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from emulator.plots.charts import Across, Chart, Curve, Trades

    Named = Curve | Trades

LETTER = 0.6 * LABEL / 72 / WIDTH
"""The width of a letter of that size, as a share of the slide."""
LEFT, RIGHT, BOTTOM, TOP = 0.085, 0.975, 0.205, 0.85
"""The part of a slide that axes take, unless a chart needs room for words beside them."""
_TITLE_LETTERS = 60
"""Letters of a title that fit in its size; a longer one is written smaller."""
LEGEND_ROW = 0.048
_SMALL_PRINT = 118
"""Letters in a line of it."""
_LETTERS = 108
"""Letters of ticks that fit over the whole width."""


def slide(chart: "Chart", theme: Palette, *keys: str) -> "Figure":
    """An empty slide with the title and the small print of a chart, and what signs mean that it has."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DPI)
    size = min(TITLE, TITLE * _TITLE_LETTERS / len(chart.title))
    figure.text(0.025, 0.965, chart.title, size=size, weight="bold", va="top")
    lines = [chart.caption[0], ""]
    for note in filter(None, (*chart.caption[1:], *keys)):
        longer = f"{lines[-1]} · {note}" if lines[-1] else note
        lines[-1:] = [longer] if len(longer) <= _SMALL_PRINT else [lines[-1], note]
    for n, line in enumerate(reversed(lines)):
        figure.text(0.025, 0.022 + 0.034 * n, line, size=SMALL, color=theme.dim, va="bottom")
    return figure


def side_by_side(
    figure: "Figure", count: int, *, right: float = RIGHT, top: float = TOP, gap: float = 0.075
) -> "list[Axes]":
    """Axes for so many panels in a row."""
    width = (right - LEFT - gap * (count - 1)) / count
    return [figure.add_axes((LEFT + n * (width + gap), BOTTOM, width, top - BOTTOM)) for n in range(count)]


def apart(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Places near the wanted ones, at least `gap` apart and between `low` and `high` if they fit there."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    places = [min(max(wanted[i], low), high) for i in order]
    for n in range(1, len(places)):
        places[n] = max(places[n], places[n - 1] + gap)
    over = max(0.0, places[-1] - high) if places else 0.0
    if over:
        places[-1] -= over
        for n in range(len(places) - 2, -1, -1):
            places[n] = min(places[n], places[n + 1] - gap)
    found = [0.0] * len(wanted)
    for i, place in zip(order, places, strict=True):
        found[i] = place
    return found


def put_ticks(
    axis: "Axes", across: "Across", width: float, places: Sequence[float], *, named: bool = True
) -> int:
    """Put the texts of the horizontal axis at `places`; returns the lines they take, none if not `named`.

    Of numbers as many as do not touch in the `width`, a share of the slide; of categories all, in lines.
    """
    letters = int(_LETTERS * width)
    if across.numeric:
        room = letters // (max(map(len, across.ticks)) + 1)
        shown = range(0, len(across), -(-len(across) // max(room, 1)))
        axis.set_xticks([places[i] for i in shown], [across.ticks[i] if named else "" for i in shown])
        return int(named)
    size: float = TICK
    texts = [wrapped(tick, letters / len(across)) for tick in across.ticks]
    if any(
        text.count("\n") > 1 or len(line) > letters / len(across)
        for text in texts
        for line in text.split("\n")
    ):
        size = SMALL
        texts = [wrapped(tick, letters * TICK / SMALL / len(across)) for tick in across.ticks]
    axis.set_xticks(list(places), texts if named else [""] * len(texts), size=size)
    return max(text.count("\n") for text in texts) + 1 if named else 0


def wrapped(text: str, letters: float) -> str:
    """A text in lines of at most so many letters, unless a word is longer."""
    lines = wrap(text, max(int(letters), 1), break_long_words=False)
    return "\n".join(line.rstrip(",") for line in lines)


def under(figure: "Figure", label: str, right: float = RIGHT) -> None:
    """Write the label of the horizontal axis under all panels."""
    figure.text((LEFT + right) / 2, 0.135, label, size=LABEL, ha="center", va="center")


def legend_rows(labels: list[str]) -> int:
    """How many rows the legend of a slide takes; each is `LEGEND_ROW` of its height."""
    return -(-len(labels) // _columns(labels))


def _columns(labels: list[str]) -> int:
    """The most columns in which the labels, filled in row by row, fit."""
    for count in range(min(len(labels), 6), 1, -1):
        longest = [max(map(len, labels[column::count])) + 5 for column in range(count)]
        if sum(longest) * LETTER <= 1:
            return count
    return 1


def draw_legend(
    figure: "Figure", theme: Palette, series: "Sequence[Named]", *, bars: bool = False, hollow: bool = False
) -> None:
    """Write the names of the series in rows under the title of a slide, each behind its marker."""
    from matplotlib.lines import Line2D  # noqa: PLC0415

    columns = _columns([one.label for one in series])
    # matplotlib fills a legend column by column.
    ordered = [one for column in range(columns) for one in series[column::columns]]
    handles = [
        Line2D(
            [],
            [],
            color=theme.color(one.style),
            marker="s" if bars else MARKERS[one.style.marker],
            mfc=theme.ground if hollow else None,
            mew=2.2 if hollow else None,
            lw=0 if bars else 2.2,
            ms=11,
        )
        for one in ordered
    ]
    figure.legend(
        handles,
        [one.label for one in ordered],
        loc="upper left",
        bbox_to_anchor=(0.0265, 0.9),
        ncols=columns,
        frameon=False,
        handletextpad=0.5,
        columnspacing=1.4,
        borderaxespad=0,
        borderpad=0,
    )
