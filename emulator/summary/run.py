"""What came of one run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from emulator.figures import Result
from emulator.figures import spec as f
from emulator.figures.result import Quantity, Section, Shown
from emulator.figures.text import setting, share
from emulator.runs import Run
from emulator.summary.interventions import interventions_text
from emulator.summary.laws import theory_beside
from emulator.summary.parts import ALERT, BAR, BUSY, DIM, bar, footer, heading, says, stopped
from emulator.text import cut

LEAST = 0.0005
"""The least share of anybody's time that is spoken of."""

_HISTOGRAM_ROWS = 8
_HISTOGRAM_BAR = 40
_HISTOGRAM_LABEL = 5


@dataclass(frozen=True)
class RunSummary:
    """The summary of one run: its figures, each with what they are made of where that says something."""

    run: Run

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it."""
        run, result = self.run, Result(self.run.result)
        yield heading(run, run.scenario.name, run.scenario.strategy.label)
        yield stopped(run) or Text()
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column()
        theory = theory_beside(run, ascii_only=options.ascii_only)
        for name, figure, detail in _lines(result, ascii_only=options.ascii_only):
            if law := theory.get(figure.name):
                detail.append(f"{', ' if detail.plain[-1:].isalnum() else '  '}theory {law}", style=DIM)
            table.add_row(Text(name), Text(result.text(figure), style="bold"), detail)
        for name, more in _further(result, theory):
            table.add_row(Text(name), Text(), Text(more))
        if run.interventions:
            table.add_row(Text("interventions"), Text(), Text(interventions_text(run.interventions)))
        yield table
        yield from _histogram(
            result[f.STALENESS_HISTOGRAM] or [],
            run.scenario.strategy.limit,
            width=options.max_width,
            ascii_only=options.ascii_only,
        )
        yield Text()
        yield footer(run.clock)


def _lines(result: Result, *, ascii_only: bool) -> Iterator[tuple[str, Quantity[Any], Text]]:
    """The lines that every run has: name, figure, detail."""
    for line in f.LINES:
        yield (
            line.head.label.upper(),
            line.head,
            _detail(result, line.head, line.beside, ascii_only=ascii_only),
        )
        for figure in line.under:
            if Shown.SUMMARY in figure.shown and says(result, figure, LEAST):
                yield f"  {figure.label}", figure, _detail(result, figure, (), ascii_only=ascii_only)


def _detail(
    result: Result, figure: Quantity[Any], beside: Sequence[Quantity[Any]], *, ascii_only: bool
) -> Text:
    if figure.unit == "%":
        return bar(result[figure], BAR, ascii_only=ascii_only)
    in_tokens = result.has(Section.TOKENS)
    shown = (other for other in beside if Shown.SUMMARY in other.shown)
    here = (o for o in shown if result[o] is not None or not (in_tokens or f.is_of(o, Section.TOKENS)))
    return Text(", ".join(map(result.say, here)))


def _further(result: Result, theory: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The lines that some runs have: name and detail, with what theory says of it."""
    dropped = theory.get(f.DROPPED_SHARE.name)
    lost = [result.say(figure) for figure in f.LOST if result[figure]]
    if wasted := f.of_service(result, f.WASTED):
        lost.append(f"{share(wasted)} of worker time wasted")
    if lost:
        yield "episodes lost", ", ".join(lost)
    if dropped and result[f.DROPPED]:
        yield f"  {f.DROPPED_SHARE.label}", f"{result.say(f.DROPPED_SHARE)}, theory {dropped}"
    if idle := result.list(figure for figure in f.IDLE if (result[figure] or 0.0) >= LEAST):
        yield "workers otherwise", idle
    held = [figure for figure in f.TRAINER_HELD if result[figure]]
    if held:
        yield "trainer", result.list((f.TRAINER_UPDATING, *held))
    for section in (Section.GROUPS, Section.ENVIRONMENT, Section.ENGINE, Section.CLUSTER):
        if result.has(section):
            yield section.value, _section(result, section, theory)
    if result.has(Section.LEARNING):
        yield from _learning(result)
    if result[f.SPAN_MAX]:
        spans = f"{result.say(f.SPAN_MEAN)} ({result.say(f.SPAN_MAX)})"
        yield "versions in one", f"{spans}, {result.say(f.NEWEST_MEAN)}"
    if result[f.PUBLICATIONS] != result[f.UPDATES]:
        yield f.PUBLICATIONS.label, result.text(f.PUBLICATIONS)


def _section(result: Result, section: Section, theory: Mapping[str, str]) -> str:
    shown = [figure for figure in f.FIGURES if figure.section is section and Shown.SUMMARY in figure.shown]
    if section in (Section.ENVIRONMENT, Section.ENGINE):  # what did not happen is of no interest
        shown = [figure for figure in shown if result[figure]]
    laws = ((figure, theory.get(figure.name)) for figure in shown)
    told = (result.say(figure) + (f" (theory {law})" if law else "") for figure, law in laws)
    return ", ".join(told) or "no failures"


def _learning(result: Result) -> Iterator[tuple[str, str]]:
    if not result[f.LEARNED]:
        yield "learning", "no update yet"
        return
    yield "learning", result.list((f.REWARD, f.REWARD_SLOWEST))
    reached = f"after {result.text(f.MINUTES_TO_80)}, {result.say(f.UPDATES_TO_80)}"
    yield "  80% of the best", "never" if result[f.MINUTES_TO_80] is None else reached
    yield "  off policy", result.list((f.CLIPPED, f.KL, f.SAMPLE_SIZE))
    yield "", "on a small model problem, not a forecast of yours"


def _histogram(
    counts: Sequence[int], limit: float | None, *, width: int, ascii_only: bool
) -> Iterator[Text | Table | Rule]:
    """Bars of how many trained episodes were how stale, with the limit drawn between them.

    Where there is no room for all, the bars are shorter.
    """
    if len(counts) < 2:
        return
    total = sum(counts)
    yield Text()
    yield Text(f.STALENESS_HISTOGRAM.label, style="bold")
    bands = list(_bands(counts))
    most = max(n for _, _, n in bands)
    labels = [str(low) if low == high else f"{low}-{high}" for low, high, _ in bands]
    left = max(_HISTOGRAM_LABEL, *map(len, labels))
    figures = len(f"{most:,}") + max(len(share(n / total)) for _, _, n in bands)
    longest = max(min(_HISTOGRAM_BAR, width - left - figures - 4), 1)
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", min_width=left, no_wrap=True)
    table.add_column(min_width=longest, no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    drawn = limit is None
    for label, (low, _, n) in zip(labels, bands, strict=True):
        if limit is not None and not drawn and low > limit:
            drawn = True
            table.add_row(*_limit_row(counts, limit, longest, ascii_only=ascii_only))
        beyond = limit is not None and low > limit
        drawn_bar = bar(n / most, longest, ascii_only=ascii_only, rest=False, style=ALERT if beyond else BUSY)
        table.add_row(Text(label), drawn_bar, Text(f"{n:,}"), Text(share(n / total), style=DIM))
    if limit is not None and not drawn:
        table.add_row(*_limit_row(counts, limit, longest, ascii_only=ascii_only))
    yield table


def _bands(counts: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """First and last value and count of each row: single values if they hold 95 in 100, else even bands."""
    top = len(counts) - 1
    if top < _HISTOGRAM_ROWS:
        singles, width = top + 1, 1
    elif sum(counts[: _HISTOGRAM_ROWS - 1]) * 100 >= sum(counts) * 95:
        singles, width = _HISTOGRAM_ROWS - 1, top
    else:
        singles, width = 0, -(-(top + 1) // _HISTOGRAM_ROWS)
    for value in range(singles):
        yield value, value, counts[value]
    for low in range(singles, top + 1, width):
        high = min(low + width - 1, top)
        yield low, high, sum(counts[low : high + 1])


def _limit_row(counts: Sequence[int], limit: float, room: int, *, ascii_only: bool) -> tuple[Text, ...]:
    beyond = sum(counts[int(limit) + 1 :])
    text = f" limit {setting(limit)}: {share(beyond / sum(counts))} beyond "
    line = "-" if ascii_only else "╌"
    drawn = f"{line * 3}{text}" if len(text) + 3 <= room else cut(text.strip(), room)
    return Text(), Text(drawn.ljust(room, line), style=ALERT), Text(), Text()
