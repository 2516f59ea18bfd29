"""What came of a race: its lanes side by side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from emulator.figures import Result
from emulator.figures import spec as f
from emulator.figures.engine_spec import RUNNING, TOKENS_PER_SECOND, UPDATES_PER_GPU_HOUR
from emulator.figures.result import Derived, Quantity, Section, Shown
from emulator.figures.text import NOTHING, setting, times
from emulator.runs import Run
from emulator.summary.interventions import interventions_text
from emulator.summary.laws import theory_beside
from emulator.summary.parts import DIM, bar, end, footer, heading, says, stopped
from emulator.text import width as width_of

_COLUMN_BAR = 12
_MOST_COLUMNS = 4  # more lanes than this are rows
_EVEN = 1.02  # a smaller ratio is no lead


LEAST = 0.005
"""The least share of workers' time, in any lane, that has a line."""


@dataclass(frozen=True)
class RaceSummary:
    """The lanes of a race beside each other, and one line that says who is ahead and at what price."""

    runs: Sequence[Run]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it: a column for each of up to four lanes, else a row."""
        first = self.runs[0]
        yield heading(first, f"race: {first.scenario.name}", "same seed, same episodes", whole=True)
        yield (stopped(first) if first.interrupted else None) or Text()
        laws = [theory_beside(run, ascii_only=options.ascii_only, brief=True) for run in self.runs]
        if len(self.runs) <= _MOST_COLUMNS:
            yield self._columns(laws, ascii_only=options.ascii_only)
        else:
            yield self._rows()
            yield from self._engines(options.max_width)
            yield from self._expected(laws, options.max_width)
            yield from self._learned()
        yield from self._interventions()
        yield Text()
        words = verdict(self.runs)
        if width_of(words) > options.max_width:
            words = words.replace("; ", ";\n")
        yield Text(words, style="bold")
        yield Text()
        yield footer(first.clock)

    def _interventions(self) -> Iterator[Text]:
        """What was injected, in a line for all lanes that had the same."""
        lanes: dict[str, list[str]] = {}
        for run in self.runs:
            if run.interventions:
                lanes.setdefault(interventions_text(run.interventions), []).append(run.name or "")
        if lanes:
            yield Text()
        for text, names in lanes.items():
            where = "" if len(names) == len(self.runs) else f" in {', '.join(names)}"
            yield Text(f"interventions{where}: {text}", style=DIM)

    def _columns(self, laws: Sequence[Mapping[str, str]], *, ascii_only: bool) -> Table:
        table = Table(box=None, padding=(0, 1), show_edge=False, pad_edge=False)
        table.add_column("", no_wrap=True)
        for run in self.runs:
            table.add_column(
                Text(run.name or "", style="bold"), justify="right", overflow="fold", max_width=26
            )
        strategies = (run.scenario.strategy.label.replace(", ", "\n") for run in self.runs)
        table.add_row("", *(Text(strategy, style=DIM) for strategy in strategies))
        table.add_row()
        bars: dict[str, list[float] | list[float | None]] = {
            self._against: _parts_of_most([result[self._pace] or 0.0 for result in self._results]),
            f.WORKERS_BUSY.label: [result[f.WORKERS_BUSY] for result in self._results],
        }
        for row in self._lines():
            theory = [law.get(row.figure.name, "") if row.figure else "" for law in laws]
            if row.figure is f.DROPPED_SHARE and not any(theory):
                continue  # of interest where it can be compared
            table.add_row(Text(row.name, style=row.style), *map(Text, row.cells))
            if any(theory):
                table.add_row(Text("  theory", style=DIM), *(Text(cell, style=DIM) for cell in theory))
            if values := bars.get(row.name):
                table.add_row("", *(bar(value, _COLUMN_BAR, ascii_only=ascii_only) for value in values))
        return table

    @cached_property
    def _results(self) -> list[Result]:
        return [Result(run.result) for run in self.runs]

    @cached_property
    def _pace(self) -> Quantity[float]:
        return _compared(self._results)

    @property
    def _against(self) -> str:
        return "  against the first" if self._pace is f.UPDATES_PER_HOUR else "  trained, against first"

    def _row(self, figure: Quantity[Any], *, under: bool = False) -> "_Row":
        return _Row(f"  {figure.label}" if under else figure.label, self._cells(figure), figure)

    def _cells(self, figure: Quantity[Any]) -> list[str]:
        """A figure in each lane; nothing where a lane has none of it."""
        zero_says_nothing = isinstance(figure, Derived) or figure in f.LOST or f.is_of(figure, Section.ENGINE)
        none = (None, 0) if zero_says_nothing else (None,)
        return ["" if result[figure] in none else result.text(figure) for result in self._results]

    def _lines(self) -> Iterator["_Row"]:
        """The lines of the table; one that says nothing in any lane is left out."""
        for line in f.LINES:
            yield _Row(line.head.label, [result.text(line.head) for result in self._results], line.head)
            if line.head is f.UPDATES_PER_HOUR:
                if self._pace is not f.UPDATES_PER_HOUR:
                    yield self._row(f.BATCH_MEAN, under=True)
                yield _Row(self._against, _ratios(self.runs, self._pace))
            beside = [figure for figure in line.beside if Shown.RACE in figure.shown]
            if beside:
                cells = [", ".join(map(result.text, beside)) for result in self._results]
                yield _Row(f"  {', '.join(figure.column for figure in beside)}", cells)
            for figure in line.under:
                if Shown.RACE in figure.shown and any(says(r, figure, LEAST) for r in self._results):
                    yield self._row(figure, under=True)
            if line.head is f.STALENESS and any(run.scenario.strategy.limit is not None for run in self.runs):
                limits = [run.scenario.strategy.limit for run in self.runs]
                yield _Row("  limit", ["" if limit is None else setting(limit) for limit in limits])
        yield from self._further()
        yield from self._learning_lines()
        if any(run.error is not None for run in self.runs):
            ends = [f"deadlock\n{end(run)}" if run.error is not None else "" for run in self.runs]
            yield _Row("ended", ends)

    def _further(self) -> Iterator["_Row"]:
        """Lines that only some races have."""
        for section in (Section.GROUPS, Section.ENVIRONMENT, Section.ENGINE, Section.CLUSTER):
            for figure in f.FIGURES:
                if figure.section is section and Shown.RACE in figure.shown and self._any(figure):
                    yield self._row(figure)
        for account in f.LOST:
            if self._any(account):
                yield self._row(account)
                if account is f.DROPPED:
                    yield self._row(f.DROPPED_SHARE, under=True)

    def _any(self, figure: Quantity[Any]) -> bool:
        return any(self._cells(figure))

    def _engines(self, width: int) -> Iterator[Text]:
        """What engines and GPUs came to, of lanes that are rows."""
        for place, figure in enumerate(figure for figure in _OF_ENGINES if self._any(figure)):
            cells = zip(self.runs, self._cells(figure), strict=True)
            said = [f"{run.name} {cell}" for run, cell in cells if cell]
            line = _flowing(f"{figure.label}:", said, width)
            yield Text(line if place else f"\n{line}", style=DIM)

    def _expected(self, laws: Sequence[Mapping[str, str]], width: int) -> Iterator[Text]:
        """What theory says of lanes that are rows, a line for a figure."""
        lines = []
        for figure in (f.UPDATES_PER_HOUR, f.STALENESS):
            cells = [
                f"{run.name} {law[figure.name].partition(' ±')[0].partition(' +-')[0]}"
                for run, law in zip(self.runs, laws, strict=True)
                if figure.name in law
            ]
            if cells:
                lines.append(_flowing(f"theory, {figure.label}:", cells, width))
        cells = [
            f"{run.name} {Result(run.result).text(f.DROPPED_SHARE)} (theory {law[f.DROPPED_SHARE.name]})"
            for run, law in zip(self.runs, laws, strict=True)
            if f.DROPPED_SHARE.name in law
        ]
        if cells:
            lines.append(_flowing(f"dropped {f.DROPPED_SHARE.label}:", cells, width))
        for place, line in enumerate(lines):
            yield Text(line if place else f"\n{line}", style=DIM)

    def _learned(self) -> Iterator[Text]:
        """What lanes that are rows have learned, in a few words each."""
        lines = list(self._learning_lines())
        if lines:
            yield Text()
        for row in lines:
            cells = [f"{run.name} {cell}" for run, cell in zip(self.runs, row.cells, strict=True) if cell]
            yield Text(f"{row.name.strip()}: {', '.join(cells)}", style=DIM)

    def _learning_lines(self) -> Iterator["_Row"]:
        """Lines of a race in which anything learns; nothing stands for a lane in which nothing does."""
        results = self._results
        if not any(result.has(Section.LEARNING) for result in results):
            return
        for figure in (f.REWARD, f.REWARD_SLOWEST):
            cells = [result.text(figure) if result.has(Section.LEARNING) else "" for result in results]
            yield _Row(figure.label if figure is f.REWARD else f"  {figure.label}", cells)
        minutes = [result[f.MINUTES_TO_80] for result in results]
        first = min((value for value in minutes if value is not None), default=None)
        cells = [
            ""
            if not result.has(Section.LEARNING)
            else "never"
            if value is None
            else result.text(f.MINUTES_TO_80) + (" first" if value == first else "")
            for result, value in zip(results, minutes, strict=True)
        ]
        yield _Row(f"  {f.MINUTES_TO_80.label}", cells)

    def _rows(self) -> Table:
        table = Table(box=None, padding=(0, 0, 0, 1), show_edge=False, pad_edge=False)
        loses = any(map(_lost_episodes, self._results))
        table.add_column("\nlane", overflow="ellipsis", no_wrap=True, max_width=13 if loses else 15)
        heads = {figure: figure.label.replace(" ", "\n", 1) for figure in _ROW_FIGURES}
        heads[f.STALENESS] = f"{f.STALENESS.column}\nmean"
        heads |= {figure: figure.column for figure in (f.STALENESS_P95, f.STALENESS_MAX)}
        for figure, head in heads.items():
            table.add_column(head if "\n" in head else f"\n{head}", justify="right", no_wrap=True)
            if figure is f.UPDATES_PER_HOUR:
                of = "" if self._pace is figure else "trained\nepisodes"
                table.add_column(of, justify="right", no_wrap=True)
        if loses:
            table.add_column("\nlost", justify="right", no_wrap=True, min_width=5)
        ratios = _ratios(self.runs, self._pace)
        for run, result, ratio in zip(self.runs, self._results, ratios, strict=True):
            updates, *others = map(result.text, _ROW_FIGURES)
            lost = [f.LOST[0].format(_lost_episodes(result))] if loses else []
            cells = [updates, "dead" if run.error is not None else ratio, *others, *lost]
            table.add_row(Text(run.name or "", style="bold"), *map(Text, cells))
        return table


@dataclass(frozen=True)
class _Row:
    """A line of the table: a name, set in if it belongs to the line above, and a cell for each lane."""

    name: str
    cells: list[str]
    figure: Quantity[Any] | None = None

    @property
    def style(self) -> str:
        """Bold for what is judged, dim for what it is made of."""
        if self.name.startswith(" "):
            return DIM
        return "bold" if self.figure is None or self.figure in _HEADS else ""


_HEADS = tuple(line.head for line in f.LINES)
_ROW_FIGURES: tuple[Quantity[Any], ...] = (
    f.UPDATES_PER_HOUR,
    f.WORKERS_BUSY,
    f.GOODPUT,
    f.TRAINER_BUSY,
    f.STALENESS,
    f.STALENESS_P95,
    f.STALENESS_MAX,
    f.LENGTH_BIAS,
)

_OF_ENGINES = (TOKENS_PER_SECOND, RUNNING, UPDATES_PER_GPU_HOUR)


def _flowing(head: str, parts: Sequence[str], width: int) -> str:
    """Parts behind a head with commas between them, in lines that break between parts alone."""
    lines = [head]
    for place, part in enumerate(parts, 1):
        more = f"{part}," if place < len(parts) else part
        if width_of(lines[-1]) + 1 + width_of(more) <= width:
            lines[-1] += f" {more}"
        else:
            lines.append(f"  {more}")
    return "\n".join(lines)


def _lost_episodes(result: Result) -> int:
    """Episodes that were begun and will not be trained."""
    return sum(result[figure] or 0 for figure in f.LOST)


def verdict(runs: Sequence[Run]) -> str:
    """Who made the most updates, and what they cost, in one sentence; lanes that failed are out."""
    running = {
        run.name: result
        for run in runs
        if run.error is None and (result := Result(run.result))[f.UPDATES_PER_HOUR] is not None
    }
    if len(running) < 2:
        failed = " and ".join(run.name or "" for run in runs if run.error is not None)
        return f"no comparison: {failed} did not get to the end" if failed else "no comparison"
    figure = _compared(running.values())
    what = "updates" if figure is f.UPDATES_PER_HOUR else "trained episodes"
    rates = {name: result[figure] or 0.0 for name, result in running.items()}
    leader, first = max(rates, key=rates.__getitem__), next(iter(rates))
    other = first if leader != first else min(rates, key=rates.__getitem__)
    most, fewer = rates[leader], rates[other]
    if most <= fewer * _EVEN:
        costs = (f.STALENESS, f.LENGTH_BIAS)
        spans = "; ".join(f"{figure.label} {_span(running, figure)}" for figure in costs)
        return f"no lane is ahead in {what}; {spans}"
    result = running[leader]
    lead = f"{result.say(f.UPDATES)}, {other} none"
    if fewer:
        lead = f"{times(most / fewer)} the {what} of {other}"
    price = f"{result.say(f.STALENESS)} ({result.say(f.STALENESS_MAX)}), {result.say(f.LENGTH_BIAS)}"
    return f"{leader}: {lead}; price: {price}"


def _compared(results: Iterable[Result]) -> Quantity[float]:
    """What lanes are compared by: updates per hour, or episodes where batches differ in size."""
    return f.TRAINED_PER_HOUR if f.uneven(r[f.BATCH_MEAN] for r in results) else f.UPDATES_PER_HOUR


def _ratios(runs: Sequence[Run], pace: Quantity[float]) -> list[str]:
    """Each lane's pace against the first one's; nothing where a lane failed."""
    rates = [Result(run.result)[pace] or 0.0 if run.error is None else None for run in runs]
    return [times(rate / rates[0]) if rates[0] and rate is not None else NOTHING for rate in rates]


def _parts_of_most(values: Sequence[float]) -> list[float]:
    most = max(values)
    return [value / most if most else 0.0 for value in values]


def _span(results: Mapping[str | None, Result], figure: Quantity[float]) -> str:
    values = [(value, name) for name, result in results.items() if (value := result[figure]) is not None]
    if not values:
        return NOTHING
    (low, lowest), (high, highest) = min(values), max(values)
    if figure.format(low) == figure.format(high):
        return figure.format(low)
    return f"{figure.format(low)} ({lowest}) to {figure.format(high)} ({highest})"
