"""Advice as it is printed: a table of the best, then each with what it costs and the YAML to paste."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from emulator.advice.advising import Advice
from emulator.advice.choosing import Choice, missed
from emulator.advice.limits import Requirement
from emulator.advice.options import Option
from emulator.figures import spec as f
from emulator.figures.result import Quantity
from emulator.figures.text import NOTHING, Format, count, decimal, seeds, share
from emulator.sweeps.intervals import intervals_text

WIDTH = 100
"""The columns of a page that is no terminal."""

_ALERT = "#f0a500"
_DIM = "bright_black"
_WIDE = 96
_MOST_PLACES = 6


@dataclass(frozen=True)
class AdviceSummary:
    """The answer on a page of 80 columns or more."""

    advice: Advice

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it."""
        advice = self.advice
        sign = "+-" if options.ascii_only else "±"
        wide = options.max_width >= _WIDE
        yield from _heading(advice)
        yield Text()
        if advice.best:
            entries = [(str(place), found.option) for place, found in enumerate(advice.best, 1)]
            found = list(zip([place for place, _ in entries], advice.best, strict=True))
        else:
            yield from _refusal(advice)
            closest = advice.nearest
            entries = [] if closest is None else [("nearest", closest.option)]
            found = [] if closest is None else [("nearest", closest)]
        own = advice.own
        if own is not None and all(own is not option for _, option in entries):
            entries.append(("file", own))
        if entries:
            yield _table(entries, sign=sign, wide=wide)
        for place, chosen in found:
            yield Text()
            yield from _card(place, chosen, advice, sign)
        failed = [option for option in advice.options if option.failed]
        if failed:
            yield Text()
            yield Text(f"{len(failed):,} of the candidates failed, as: {failed[0].error}", style=_ALERT)


def _heading(advice: Advice) -> Iterator[RenderableType]:
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(overflow="ellipsis", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    title = Text.assemble((f"advice: {advice.scenario.name}", "bold"), f"  {seeds(advice.seeds)}")
    table.add_row(title, intervals_text(len(advice.seeds)))
    yield table
    workers = f"at most {count(advice.budget, 'worker')}"
    yield Text(f"limits: {', '.join([*map(str, advice.limits), workers])}")
    met = len(advice.met)
    found = f"{met or 'none'} of {len(advice.options):,} candidates meet{'s' if met < 2 else ''} them"
    kinds = f"; top {len(advice.best)} distinct:" if len(advice.best) > 1 else ""
    yield Text(found + kinds, style="" if met else _ALERT)


def _table(entries: Sequence[tuple[str, Option]], *, sign: str, wide: bool) -> Table:
    """A line an option; what 80 columns have no room for is the interval of the length bias."""
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("")
    table.add_column("strategy", overflow="fold", ratio=1)
    ages = f"{f.STALENESS_P95.column}/{f.STALENESS_MAX.column}"
    others = (figure.column for figure in (f.LENGTH_BIAS, f.WORKERS_BUSY, f.GOODPUT))
    # Updates on fewer episodes than a batch say little without how many.
    sizes = [f.BATCH_MEAN] if any(not option.strategy.whole_batches for _, option in entries) else []
    first = (f.UPDATES_PER_HOUR.column, *(size.column for size in sizes))
    for name in ("workers", *first, f.STALENESS.column, ages, *others):
        table.add_column(name.rjust(len(name) + wide), justify="right", no_wrap=True)
    for place, option in entries:
        cells = [
            f"{option.workers:,}",
            _measured(option, f.UPDATES_PER_HOUR, sign),
            *(_mean(option, size) for size in sizes),
            _measured(option, f.STALENESS, sign),
            "/".join(_mean(option, figure) for figure in (f.STALENESS_P95, f.STALENESS_MAX)),
            _measured(option, f.LENGTH_BIAS, sign) if wide else _mean(option, f.LENGTH_BIAS),
            _mean(option, f.WORKERS_BUSY),
            _mean(option, f.GOODPUT),
        ]
        style = _DIM if place == "file" else ""
        table.add_row(Text(place), Text(option.strategy_name), *cells, style=style)
    return table


def _card(place: str, found: Choice, advice: Advice, sign: str) -> Iterator[RenderableType]:
    """An option in full; its YAML begins in the first column, ready to be pasted."""
    option = found.option
    yield Text(f"{place}  {option.name}", style="bold")
    if option.like:
        yield Padding(Text(f"as in {option.like}", style=_DIM), (0, 0, 0, 3))
    lines = [_miss(option, limit) for limit in missed(option, advice.limits)]
    if lines:
        of = "those that miss one limit alone" if len(lines) == 1 < len(advice.limits) else "all"
        lines.append(f"nearest of {of}, by the worst miss as a share of its limit")
    if found.against is not None:
        lines.append(found.sentence)
    for line in lines:
        yield Padding(Text(line), (0, 0, 0, 3))
    for limit in found.unclear:
        yield Padding(Text(_doubt(option, limit, sign), style=_ALERT), (0, 0, 0, 3))
    if not found.yaml:
        yield Padding(Text("the file as it is: nothing to change"), (0, 0, 0, 3))
    else:
        which = "this section" if len(found.changes) == 1 else "these sections"
        options = " ".join(f"--set {shlex.quote(text)}" for text in found.overrides)
        yield Padding(Text(f"in the file, replace {which} as a whole:", style=_DIM), (0, 0, 0, 3))
        yield Text(found.yaml, style="cyan", no_wrap=True, overflow="ignore")
        yield Padding(Text("or keep the file and any --set, and add:", style=_DIM), (0, 0, 0, 3))
        yield Text(options, style="cyan", no_wrap=True, overflow="ignore")


def _miss(option: Option, limit: Requirement) -> str:
    mean = option.mean(limit.measure.figure)
    if mean is None:
        return f"misses {limit}: no episode to measure it by"
    by = f", by {share(limit.share(mean), 1)}" if limit.bound else ""
    return f"misses {limit}: {_beside(mean, limit)}{by}"


def _beside(mean: float, limit: Requirement) -> str:
    """A mean to as many places as show on which side of the limit it is."""
    places = limit.measure.places
    while places < _MOST_PLACES and bool(limit.miss(round(mean, places))) != bool(limit.miss(mean)):
        places += 1
    return decimal(mean, places)


def _doubt(option: Option, limit: Requirement, sign: str) -> str:
    found, places = option.figures[limit.measure.figure], limit.measure.places
    measured = Format(decimal, places).measured(found.mean, found.low, sign)
    return f"{limit.measure.words} {measured} straddles the limit: more --seeds may decide"


def _refusal(advice: Advice) -> Iterator[RenderableType]:
    """Which limits bind, and what each lets through."""
    works = sum(option.works for option in advice.options)
    if not works:
        yield Text("No candidate ran to its end and trained a batch.", style=_ALERT)
        yield Text()
        return
    binding = advice.binding
    if binding:
        which = " or ".join(limit.option for limit in binding)
        yield Text(f"What binds is {which}.", style="bold")
    else:
        yield Text("No limit binds alone: without any one of them there is still no candidate.", style="bold")
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, pad_edge=False, header_style="bold")
    for name, justify in (
        ("limit", "left"),
        ("meet it", "right"),
        ("without it", "right"),
        ("best", "right"),
    ):
        table.add_column(name, justify="left" if justify == "left" else "right")
    for report in advice.reports:
        best = NOTHING if report.best is None else _beside(report.best, report.limit)
        table.add_row(
            report.limit.option, f"{report.meet:,} of {works:,}", f"{report.without:,} would do", best
        )
    yield table
    yield Text()


def _mean(option: Option, figure: Quantity[float]) -> str:
    return figure.format.mean(option.mean(figure.name))


def _measured(option: Option, figure: Quantity[float], sign: str) -> str:
    found = option.figures[figure.name]
    return figure.format.measured(found.mean, found.low, sign)
