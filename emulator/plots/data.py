"""The charts of a sweep as numbers: which series, which points, what the small print says."""

from collections.abc import Iterator, Sequence

from emulator.figures import spec as f
from emulator.figures.result import Quantity
from emulator.figures.text import seeds
from emulator.plots.charts import (
    Across,
    Ages,
    Chart,
    Curve,
    Estimate,
    Frontier,
    HeatMap,
    Lines,
    Panel,
    Trade,
    Trades,
)
from emulator.plots.plan import Plan, PlannedCurve, plans
from emulator.plots.table import Table
from emulator.plots.words import failures_text, scenario_text, subject, value_label
from emulator.sweeps.intervals import FEWEST
from emulator.sweeps.table import Sweep

MOST_ROWS = 16
"""The most rows of a staleness map; the last one takes what is above, too."""
_TAIL = 0.003
"""The share of episodes, of any place across, that may hide in a map's last row."""
_WASTE = 0.5
"""The difference in per cent from which goodput is shown beside utilisation."""


def charts(sweep: Sweep) -> list[Chart]:
    """All charts that a sweep has the numbers for, page by page; none if every run failed."""
    table = Table(sweep)
    if table.empty:
        return []
    return [
        chart
        for plan in plans(table.axes)
        for chart in (
            _updates(table, plan),
            _utilisation(table, plan),
            _staleness(table, plan),
            _frontier(table, plan),
            _differences(table, plan),
        )
        if chart is not None
    ]


def _updates(table: Table, plan: Plan) -> Lines | None:
    panel = _panel(table, plan, f.UPDATES_PER_HOUR)
    return _lines(table, plan, "updates", f"{f.UPDATES_PER_HOUR.label.capitalize()}{_of(plan)}", [panel])


def _utilisation(table: Table, plan: Plan) -> Lines | None:
    workers, goodput, trainer = (
        _panel(table, plan, figure, top=100) for figure in (f.WORKERS_BUSY, f.GOODPUT, f.TRAINER_BUSY)
    )
    pairs = zip(_means(workers), _means(goodput), strict=False)
    wasteful = any(busy - good > _WASTE for busy, good in pairs)
    panels = [workers, goodput, trainer] if wasteful else [workers, trainer]
    return _lines(table, plan, "utilisation", f"Utilisation{_of(plan)}", panels)


def _staleness(table: Table, plan: Plan) -> HeatMap | None:
    lines = list(plan.series())
    across = plan.horizontal()
    if plan.across is None and len(lines) > 1:
        # Bars side by side: one map with a column for each of them.
        across = Across("", tuple(line.label for line in lines), tuple(map(float, range(len(lines)))))
        lines = [PlannedCurve("", lines[0].style, tuple(line.points[0] for line in lines))]
    counts = {point: table.staleness(point) for line in lines for point in line.points}
    if not any(map(sum, counts.values())):
        return None
    rows = _rows(list(counts.values()))
    panels = tuple(
        Ages(
            line.label,
            line.style,
            tuple(_shares(counts[point], rows) for point in line.points),
            tuple(_mean(table.estimate(point, f.STALENESS)) for point in line.points),
        )
        for line in lines
    )
    longest = max(map(len, counts.values()))
    labels = (*map(str, range(rows - 1)), f"{rows - 1}{'+' if longest > rows else ''}")
    caption = _caption(table, plan, seeds(table.seeds))
    name, title = f"staleness{plan.suffix}", f"{f.STALENESS_HISTOGRAM.label.capitalize()}{_of(plan)}"
    return HeatMap(name, title, caption, across, labels, panels)


def _frontier(table: Table, plan: Plan) -> Frontier | None:
    across = plan.horizontal()
    series = []
    for line in plan.series():
        points = []
        for tag, point in zip(across.ticks, line.points, strict=True):
            updates, staleness = table.estimate(point, f.UPDATES_PER_HOUR), table.estimate(point, f.STALENESS)
            bias = table.estimate(point, f.LENGTH_BIAS)
            if updates is not None and staleness is not None and bias is not None:
                points.append(Trade(tag, updates, staleness, bias.mean))
        if points:
            series.append(Trades(line.label, line.style, tuple(points)))
    if not series:
        return None
    along = (
        f"along each line: {across.label} {across.ticks[0]} to {across.ticks[-1]}" if across.numeric else ""
    )
    name = f"frontier{plan.suffix}"
    title, caption = f"Throughput against staleness{_of(plan)}", _caption(table, plan, _statistics(table))
    return Frontier(name, title, caption, tuple(series), along)


def _differences(table: Table, plan: Plan) -> Lines | None:
    compared = plan.compared()
    if compared is None:
        return None
    axis = plan.axes[compared]
    first = axis.values[0]

    def panel(figure: Quantity[float]) -> Panel:
        found = table.differences(compared, figure)
        series = tuple(
            Curve(line.label, line.style, tuple(map(found.get, line.points)), (None,) * len(line.points))
            for line in plan.series()
            if line.points[0][compared] != first
        )
        return Panel(figure.axis, series, from_zero=False)

    panels = [panel(figure) for figure in (f.UPDATES_PER_HOUR, f.STALENESS, f.LENGTH_BIAS)]
    page = f" ({plan.page})" if plan.page else ""
    title = f"Difference from {value_label(axis.path, first)}, seed by seed{page}"
    return _lines(table, plan, "differences", title, panels, of="the differences, ")


def _panel(table: Table, plan: Plan, figure: Quantity[float], *, top: float | None = None) -> Panel:
    series = tuple(
        Curve(
            line.label,
            line.style,
            tuple(table.estimate(point, figure) for point in line.points),
            tuple(table.theory(point, figure) for point in line.points),
        )
        for line in plan.series()
    )
    return Panel(figure.axis, series, top)


def _lines(
    table: Table, plan: Plan, name: str, title: str, panels: Sequence[Panel], *, of: str = ""
) -> Lines | None:
    curves = [series for panel in panels for series in panel.series]
    if all(point is None for series in curves for point in series.points):
        return None
    caption = _caption(table, plan, _statistics(table, of))
    return Lines(f"{name}{plan.suffix}", title, caption, plan.horizontal(), tuple(panels))


def _caption(table: Table, plan: Plan, *words: str) -> tuple[str, ...]:
    fixed = scenario_text(table.scenario, table.paths)
    if "strategy" not in {path.partition(".")[0] for path in table.paths}:
        fixed += f" · {table.scenario.strategy.label}"
    notes = (fixed, *words, *plan.notes, table.short_batches, failures_text(table.failed), table.interrupted)
    return tuple(filter(None, notes))


def _statistics(table: Table, of: str = "") -> str:
    if len(table.seeds) < 2:
        return seeds(table.seeds)
    if len(table.seeds) < FEWEST:
        return f"mean of {of}{seeds(table.seeds)}"
    return f"mean and 95 % interval of {of}{seeds(table.seeds)}"


def _of(plan: Plan) -> str:
    alone = [plan.axes[i].path for i in plan.lines] == ["strategy"]
    compared = subject([line.label for line in plan.series()], "strategies" if alone else "settings")
    return "".join((f": {compared}" if compared else "", f" ({plan.page})" if plan.page else ""))


def _means(panel: Panel) -> Iterator[float]:
    for series in panel.series:
        yield from (0.0 if point is None else point.mean for point in series.points)


def _mean(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.mean


def _rows(counts: Sequence[Sequence[int]]) -> int:
    """How many rows a map needs so that no place across hides more than `_TAIL` of its episodes."""
    needed = 2
    for histogram in counts:
        total, above = sum(histogram), sum(histogram)
        for k, count in enumerate(histogram):
            if above <= _TAIL * total:
                break
            needed = max(needed, k + 1)
            above -= count
    return min(needed + 1, max(map(len, counts), default=needed), MOST_ROWS)


def _shares(histogram: Sequence[int], rows: int) -> tuple[float, ...]:
    total = sum(histogram)
    if not total:
        return ()
    kept = [*histogram[: rows - 1], sum(histogram[rows - 1 :])]
    kept += [0] * (rows - len(kept))
    return tuple(count / total for count in kept)
