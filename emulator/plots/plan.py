"""Which axis of a sweep goes where: across, as lines of their own, or on a page each.

The first numeric axis goes across. The product of the others are the lines of a chart, up to `MOST_LINES`;
beyond that numeric axes, those of the most values first, are spread over pages. Where even so there is too
much for a picture, a selection is drawn, and the small print says so: the table has everything.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from emulator.figures.text import setting
from emulator.plots.charts import Across, Style
from emulator.plots.words import Value, axis_label, strategy_of_text, value_label

MOST_LINES = 8
"""The most lines in a chart, and the number of colours and markers there are."""
MOST_PAGES = 4
MOST_GROUPS = 8
"""The most categories across."""

Point = tuple[Value, ...]
"""A point of the grid: a value for each swept axis, in order."""


@dataclass(frozen=True)
class Swept:
    """A swept axis: its path, and its values as the rows have them, numbers rising, others as given."""

    path: str
    values: tuple[Value, ...]

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers."""
        return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.values)

    def only(self, most: int) -> "Swept":
        """At most so many of the values: of numbers some from end to end, of others the first."""
        if len(self.values) <= most:
            return self
        if not self.numeric:
            return replace(self, values=self.values[:most])
        last = len(self.values) - 1
        return replace(self, values=tuple(self.values[round(i * last / (most - 1))] for i in range(most)))


def swept(paths: Sequence[str], rows: Sequence[Mapping[str, Value]]) -> tuple[Swept, ...]:
    """The axes with the values that rows have."""
    axes = (Swept(path, tuple(dict.fromkeys(row[path] for row in rows))) for path in paths)
    return tuple(replace(axis, values=tuple(sorted(axis.values, key=_order))) for axis in axes)


def _order(value: Value) -> tuple[bool, float]:
    """Numbers first, rising; what is no number stays in its order."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return not number, _number(value) if number else 0.0


def _number(value: Value) -> float:
    assert isinstance(value, (int, float))
    return float(value)


@dataclass(frozen=True)
class PlannedCurve:
    """A line of a chart, or a group of bars: the points of the grid from left to right."""

    label: str
    style: Style
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Plan:
    """The layout of one page: axes by their number. `across` is None where one place is enough."""

    axes: tuple[Swept, ...]
    across: int | None
    lines: tuple[int, ...]
    page: str = ""
    suffix: str = ""
    notes: tuple[str, ...] = ()

    def horizontal(self) -> Across:
        """The horizontal axis of the page."""
        if self.across is None:
            return Across("", ("",), (0.0,))
        axis = self.axes[self.across]
        if not axis.numeric:
            ticks = tuple(value_label(axis.path, value) for value in axis.values)
            label = "" if axis.path == "strategy" else axis_label(axis.path)
            return Across(label, ticks, tuple(map(float, range(len(ticks)))))
        positions = tuple(map(_number, axis.values))
        ticks = tuple(map(setting, axis.values))
        return Across(axis_label(axis.path), ticks, positions, numeric=True, log=_geometric(positions))

    def series(self) -> Iterator[PlannedCurve]:
        """The lines of the page."""
        main = self._main()
        colors = {} if main is None else _colors(self.axes[main])
        shades: Counter[int] = Counter()
        for n, values in enumerate(product(*(self.axes[i].values for i in self.lines))):
            chosen = dict(zip(self.lines, values, strict=True))
            label = ", ".join(value_label(self.axes[i].path, value) for i, value in chosen.items())
            color = 0 if main is None else colors[chosen[main]]
            style = Style(color, color if len(self.lines) <= 1 else n % MOST_LINES, shades[color])
            shades[color] += 1
            yield PlannedCurve(label, style, tuple(self._points(chosen)))

    def compared(self) -> int | None:
        """The axis whose values are set against its first: the strategy, else the last one of categories."""
        main = self._main()
        return None if main is None or self.axes[main].numeric else main

    def _points(self, chosen: Mapping[int, Value]) -> Iterator[Point]:
        places = [{}] if self.across is None else [{self.across: v} for v in self.axes[self.across].values]
        for place in places:
            at = {**chosen, **place}
            yield tuple(at.get(i, axis.values[0]) for i, axis in enumerate(self.axes))

    def _main(self) -> int | None:
        """The axis that gives the colours: the strategy, else the last one of categories, else the first."""
        for i in self.lines:
            if self.axes[i].path == "strategy":
                return i
        categories = [i for i in self.lines if not self.axes[i].numeric]
        return categories[-1] if categories else next(iter(self.lines), None)


def plans(axes: tuple[Swept, ...]) -> list[Plan]:
    """The pages of a sweep."""
    varied = [i for i, axis in enumerate(axes) if len(axis.values) > 1]
    across = _across(axes, varied)
    lines = [i for i in varied if i != across]
    paged: list[int] = []
    while len(lines) > 1 and prod(len(axes[i].values) for i in lines) > MOST_LINES:
        moved = max(lines, key=lambda i: (axes[i].path != "strategy", axes[i].numeric, len(axes[i].values)))
        lines.remove(moved)
        paged.append(moved)
    paged.sort()
    each = int(MOST_PAGES ** (1 / len(paged))) if paged else 0
    most = dict.fromkeys(lines, MOST_LINES) | dict.fromkeys(paged, max(each, 1))
    if across is not None and not axes[across].numeric:
        most[across] = MOST_GROUPS
    drawn = tuple(axis.only(most.get(i, len(axis.values))) for i, axis in enumerate(axes))
    notes = tuple(
        f"{len(few.values)} of {len(axis.values)} values of {axis.path}"
        for axis, few in zip(axes, drawn, strict=True)
        if len(few.values) < len(axis.values)
    )
    return [
        _page(Plan(drawn, across, tuple(lines), notes=notes), dict(zip(paged, values, strict=True)))
        for values in product(*(drawn[i].values for i in paged))
    ]


def _across(axes: Sequence[Swept], varied: Sequence[int]) -> int | None:
    numeric = [i for i in varied if axes[i].numeric]
    if numeric:
        return numeric[0]
    # One axis of categories is drawn as bars side by side, each a series with its own colour and word.
    others = [i for i in varied if axes[i].path != "strategy"]
    return others[0] if len(varied) > 1 else None


def _page(plan: Plan, fixed: Mapping[int, Value]) -> Plan:
    if not fixed:
        return plan
    axes = tuple(
        replace(axis, values=(fixed[i],)) if i in fixed else axis for i, axis in enumerate(plan.axes)
    )
    labels = [value_label(axes[i].path, value) for i, value in fixed.items()]
    suffix = "".join(f"-{''.join(c if c.isalnum() or c == '.' else '-' for c in text)}" for text in labels)
    return replace(plan, axes=axes, page=", ".join(labels), suffix=suffix)


def _colors(axis: Swept) -> dict[Value, int]:
    free = list(range(MOST_LINES))
    colors: dict[Value, int] = {}
    for value in axis.values if axis.path == "strategy" else ():
        # The same strategy has the same colour in every chart, as far as the others leave it free.
        strategy = strategy_of_text(str(value))
        if strategy is not None and strategy.color in free:
            free.remove(strategy.color)
            colors[value] = strategy.color
    for n, value in enumerate(axis.values):
        if value not in colors:
            colors[value] = free.pop(0) if free else n % MOST_LINES
    return colors


def _geometric(positions: Sequence[float]) -> bool:
    """Whether a logarithmic axis suits: positive, over a factor of 8, and steps that grow."""
    if len(positions) < 3 or positions[0] <= 0 or positions[-1] < 8 * positions[0]:
        return False
    return positions[-1] - positions[-2] > 2.5 * (positions[1] - positions[0])
