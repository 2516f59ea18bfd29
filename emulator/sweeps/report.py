"""The table of a sweep as it is printed: one line a point, in 100 columns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from emulator.figures import spec as f
from emulator.figures.result import Quantity
from emulator.figures.text import NOTHING, count, setting
from emulator.sweeps.axes import Cell, cell_text
from emulator.sweeps.intervals import intervals_text
from emulator.sweeps.table import Sweep
from emulator.text import width as cells_of

WIDTH = 100
"""The columns that it needs, unless the values of the axes are long."""

_ALERT = "#f0a500"
_DIM = "bright_black"
_LEAST = 8


@dataclass(frozen=True)
class SweepSummary:
    """Updates per hour, utilisation, staleness and length bias at every point, with intervals."""

    sweep: Sweep

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it."""
        sweep = self.sweep
        summary = sweep.summary()
        yield _heading(sweep)
        if sweep.interrupted:
            yield Text(
                f"Interrupted: {len(sweep.rows):,} of {sweep.grid.runs:,} runs are done.", style=_ALERT
            )
        yield Text()
        sign = "+-" if options.ascii_only else "±"
        yield _table(sweep, summary, sign=sign, width=options.max_width)
        if reasons := failures(sweep):
            yield Text()
            for reason in reasons:
                yield Text(reason, style=_ALERT)


def failures(sweep: Sweep, most: int = 3) -> list[str]:
    """Why runs failed, the most frequent reason first, each with how many have it."""
    counts: dict[str, int] = {}
    for row in sweep.failed:
        counts[row["error"]] = counts.get(row["error"], 0) + 1
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    lines = [f"{count:,} failed: {reason}" for reason, count in ordered[:most]]
    if len(ordered) > most:
        lines.append(f"{sum(count for _, count in ordered[most:]):,} failed for other reasons")
    return lines


def short_names(paths: Sequence[str]) -> list[str]:
    """The last step of each path, or as many as distinguish it from the others."""
    names = []
    for path in paths:
        steps = path.split(".")
        for length in range(1, len(steps) + 1):
            name = ".".join(steps[-length:])
            if sum(f".{other}".endswith(f".{name}") for other in paths) == 1:
                break
        names.append(name)
    return names


def _heading(sweep: Sweep) -> Table:
    seeds = sweep.seeds
    which = f"{seeds[0]} to {seeds[-1]}" if seeds[-1] - seeds[0] == len(seeds) - 1 else "as given"
    seeds_text = f"seed {seeds[0]}" if len(seeds) == 1 else f"{count(len(seeds), 'seed')} ({which})"
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(overflow="ellipsis", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    runs = f"{count(len(sweep.points), 'point')}, {seeds_text}"
    table.add_row(
        Text.assemble((f"sweep: {sweep.scenario.name}", "bold"), f"  {runs}"),
        Text(intervals_text(len(seeds))),
    )
    return table


def _table(sweep: Sweep, summary: Sequence[Mapping[str, Any]], *, sign: str, width: int) -> Table:
    lines = [(point, line) for point, line in zip(sweep.points, summary, strict=True) if line["runs"]]
    figures = _figures([line for _, line in lines], sign)
    if all(point.scenario is None or point.scenario.strategy.whole_batches for point, _ in lines):
        figures.pop(f.BATCH_MEAN.column, None)
    names = [name.replace("_", " ") for name in short_names([axis.path for axis in sweep.axes])]
    labels = [_labels([point.values[axis.path] for point, _ in lines]) for axis in sweep.axes]
    # Values of an axis go on in further lines, in words; what is left of the width must hold the longest.
    least = [_longest(" ".join([name, *column]).split()) for name, column in zip(names, labels, strict=True)]
    room = width - sum(least) - 2 * len(least)
    for dropped in _FIRST_DROPPED:
        if _width(figures) > room:
            for column in dropped:
                figures.pop(column, None)
    whole = [_longest([name, *column]) for name, column in zip(names, labels, strict=True)]
    widths = _shared(width - _width(figures) - 2 * len(least), least, whole)
    table = Table(box=None, padding=(0, 1), show_edge=False, pad_edge=False, header_style="bold")
    for name, chosen in zip(names, widths, strict=True):
        table.add_column(name, overflow="fold", width=chosen)
    for name, cells in figures.items():
        table.add_column(name, justify="right", no_wrap=True, width=_longest([name, *cells]))
    styles = {f.UPDATES_PER_HOUR.column: "bold", **dict.fromkeys(_LAWS.values(), _DIM), "failed": _ALERT}
    for number in range(len(lines)):
        row = [Text(column[number]) for column in labels]
        row += [Text(cells[number], style=styles.get(name, "")) for name, cells in figures.items()]
        table.add_row(*row)
    return table


def _figures(lines: Sequence[Mapping[str, Any]], sign: str) -> dict[str, list[str]]:
    """The columns of figures, each a text for each line; one that says nothing in any line is left out."""
    columns: dict[str, list[str]] = {}
    for figure in f.SWEPT:
        if figure is f.STALENESS_MAX:
            columns[_P95_MAX] = [
                "/".join(part.format.mean(line[f"{part.name}.mean"]) for part in (f.STALENESS_P95, figure))
                for line in lines
            ]
        elif figure is not f.STALENESS_P95:
            columns[figure.column] = [_CELLS.get(figure, _measured)(line, figure, sign) for line in lines]
        if figure in _LAWS:
            name = _LAWS[figure]
            law = f"{name.replace(' ', '_')}.{figure.name}"
            columns[name] = [figure.format.mean(line.get(law)) for line in lines]
    columns["failed"] = [f"{line['failed']}/{line['runs']}" if line["failed"] else "" for line in lines]
    return {name: cells for name, cells in columns.items() if not set(cells) <= {"-", "-/-", ""}}


def _until_80(line: Mapping[str, Any], figure: Quantity[Any], sign: str) -> str:
    """Minutes to 80 %, if all runs got there: the mean of those that did would hide the others."""
    runs = line["runs"] - line["failed"]
    reached = line.get(f"{figure.name}.n", runs)
    return f"{reached} of {runs} do" if reached < runs else _measured(line, figure, sign)


def _dropped(line: Mapping[str, Any], figure: Quantity[Any], _: str) -> str:
    """The share of finished episodes that were dropped, where theory knows it."""
    if line.get(f"tends_to.{figure.name}") is None or not line["episodes.finished.mean"]:
        return NOTHING
    return figure.format.mean(line["episodes.dropped.mean"] / line["episodes.finished.mean"])


def _measured(line: Mapping[str, Any], figure: Quantity[Any], sign: str) -> str:
    return figure.format.measured(line.get(f"{figure.name}.mean"), line.get(f"{figure.name}.low"), sign)


_CELLS: dict[Quantity[Any], Callable[[Mapping[str, Any], Quantity[Any], str], str]] = {
    f.MINUTES_TO_80: _until_80,
    f.DROPPED_SHARE: _dropped,
}
_LAWS: dict[Quantity[Any], str] = {
    f.UPDATES_PER_HOUR: "theory",
    f.STALENESS: "at most",
    f.DROPPED_SHARE: "tends to",
}
"""The columns of theory, each behind its figure's."""
_P95_MAX = f"{f.STALENESS_P95.column}/{f.STALENESS_MAX.column}"
_FIRST_DROPPED = (
    *((figure.column,) for line in reversed(f.LINES) for figure in line.under),
    (f.DROPPED_SHARE.column, _LAWS[f.DROPPED_SHARE]),
    (_LAWS[f.STALENESS],),
    (_P95_MAX,),
    (f.WORKERS_BUSY.column,),
    (_LAWS[f.UPDATES_PER_HOUR],),
)
"""The columns that go, in turn, where not all have room."""


def _labels(values: Sequence[Cell]) -> list[str]:
    """The values of an axis as texts: fractions rounded as in the charts, unless that makes two the same."""
    rounded = {
        value: setting(value) if isinstance(value, float) else cell_text(value) for value in set(values)
    }
    if len(set(rounded.values())) < len(rounded):
        return list(map(cell_text, values))
    return [rounded[value] for value in values]


def _shared(room: int, least: Sequence[int], whole: Sequence[int]) -> list[int]:
    """How wide each axis is: all their values in one line, else in words, else torn where it must be."""
    widths = list(least)
    while sum(widths) > room and max(widths) > _LEAST:
        widths[widths.index(max(widths))] -= 1
    for place, longest in enumerate(whole):
        widths[place] += max(0, min(longest - widths[place], room - sum(widths)))
    return widths


def _longest(texts: Iterable[str]) -> int:
    return max(map(cells_of, texts))


def _width(columns: Mapping[str, Sequence[str]]) -> int:
    """How wide columns are, with the two spaces between them."""
    return sum(_longest([name, *cells]) + 2 for name, cells in columns.items()) - 2
