"""What came of a race: its lanes side by side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from emulator.figures.text import count, decimal, mean_span, number, share, span, times
from emulator.runner import Run
from emulator.summary.interventions import interventions_text
from emulator.summary.laws import DROPPED, OF_FINISHED, STALENESS, UPDATES, theory_beside
from emulator.summary.parts import (
    CAUSES,
    DIM,
    bar,
    cause_share,
    dropped_share,
    end,
    footer,
    heading,
    stopped,
    wasted_share,
)
from emulator.text import width as width_of

_COLUMN_BAR = 12


_MOST_COLUMNS = 4  # more lanes than this are rows


_EVEN = 1.02  # a smaller ratio is no lead


_SECTIONS = (
    ("wait for siblings", "groups", "sibling_wait_mean"),
    ("group complete, p95", "groups", "completion_p95"),
    ("sandboxes used", "environment", "sandbox_utilisation"),
)
"""Figures of a section that only some lanes have."""


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
        results = [run.result for run in self.runs]
        bars = {
            "  against the first": _parts_of_most([_updates_per_hour(run) for run in self.runs]),
            "workers busy": [r["workers"]["utilisation"] for r in results],
        }
        for name, cells in self._lines(results):
            if name.plain == OF_FINISHED and not any(DROPPED in law for law in laws):
                continue  # of interest where it can be compared
            table.add_row(name, *(Text(cell) for cell in cells))
            known = DROPPED if name.plain == OF_FINISHED else name.plain.upper()
            theory = [law.get(known, "") for law in laws]
            if any(theory):
                table.add_row(Text("  theory", style=DIM), *(Text(cell, style=DIM) for cell in theory))
            if values := bars.get(name.plain):
                table.add_row("", *(bar(value, _COLUMN_BAR, ascii_only=ascii_only) for value in values))
        return table

    def _lines(self, results: Sequence[dict[str, Any]]) -> Iterator[tuple[Text, list[str]]]:
        """The lines of the table; one that says nothing in any lane is left out."""
        yield Text("updates per hour", style="bold"), [number(r["updates_per_hour"]) for r in results]
        yield Text("  against the first", style=DIM), _ratios(self.runs)
        yield Text("workers busy", style="bold"), [share(r["workers"]["utilisation"]) for r in results]
        goodput = [share(r["workers"]["goodput"]) for r in results]
        if any(wasted_share(r) >= 0.005 for r in results):
            yield Text("  goodput", style=DIM), goodput
        for cause in CAUSES:
            shares = [cause_share(r, cause) for r in results]
            if any(part >= 0.005 for part in shares):
                yield Text(f"  {cause}", style=DIM), [share(part) if part else "" for part in shares]
        yield Text("trainer busy", style="bold"), [share(r["trainer"]["utilisation"]) for r in results]
        yield Text("staleness", style="bold"), [decimal(r["staleness"]["mean"]) for r in results]
        spreads = [f"{number(r['staleness']['p95'])}, {number(r['staleness']['max'])}" for r in results]
        yield Text("  p95, max", style=DIM), spreads
        if any(r["versions"]["span_max"] for r in results):
            newest = [decimal(r["versions"]["newest_mean"]) for r in results]
            yield Text("  of the newest version", style=DIM), newest
        limits = [run.scenario.strategy.limit for run in self.runs]
        if any(limit is not None for limit in limits):
            yield Text("  limit", style=DIM), ["" if limit is None else f"{limit:g}" for limit in limits]
        bias = [decimal(r["episode_seconds"]["length_bias"]) for r in results]
        yield Text("length bias", style="bold"), bias
        queues = [f"{number(r['queue']['mean'])}, {number(r['queue']['max'])}" for r in results]
        yield Text("queue mean, max", style="bold"), queues
        for label, section, key in _SECTIONS:
            values = [r.get(section, {}).get(key) for r in results]
            if any(value is not None for value in values):
                tell = share if section == "environment" else mean_span
                yield Text(label), ["" if value is None else tell(value) for value in values]
        for account in ("aborted", "dropped", "failed"):
            if any(r["episodes"][account] for r in results):
                counts = [f"{r['episodes'][account]:,}" if r["episodes"][account] else "" for r in results]
                yield Text(f"episodes {account}"), counts
                if account == "dropped":
                    lost = [dropped_share(r) if r["episodes"]["dropped"] else "" for r in results]
                    yield Text(OF_FINISHED, style=DIM), lost
        yield from _learning_lines(results)
        if any(run.error is not None for run in self.runs):
            ends = [f"deadlock\n{end(run)}" if run.error is not None else "" for run in self.runs]
            yield Text("ended", style="bold"), ends

    def _expected(self, laws: Sequence[Mapping[str, str]], width: int) -> Iterator[Text]:
        """What theory says of lanes that are rows, a line for a figure."""
        lines = []
        for name, words in ((UPDATES, "updates per hour"), (STALENESS, "staleness")):
            told = [
                f"{run.name} {law[name].partition(' ±')[0].partition(' +-')[0]}"
                for run, law in zip(self.runs, laws, strict=True)
                if name in law
            ]
            if told:
                lines.append(_flowing(f"theory, {words}:", told, width))
        told = [
            f"{run.name} {dropped_share(run.result)} (theory {law[DROPPED]})"
            for run, law in zip(self.runs, laws, strict=True)
            if DROPPED in law
        ]
        if told:
            lines.append(_flowing("dropped of the finished:", told, width))
        for place, line in enumerate(lines):
            yield Text(line if place else f"\n{line}", style=DIM)

    def _learned(self) -> Iterator[Text]:
        """What lanes that are rows have learned, in a few words each."""
        lines = list(_learning_lines([run.result for run in self.runs]))
        if lines:
            yield Text()
        for head, cells in lines:
            told = [f"{run.name} {cell}" for run, cell in zip(self.runs, cells, strict=True) if cell]
            yield Text(f"{head.plain.strip()}: {', '.join(told)}", style=DIM)

    def _rows(self) -> Table:
        table = Table(box=None, padding=(0, 0, 0, 1), show_edge=False, pad_edge=False)
        loses = any(_lost_episodes(run.result) for run in self.runs)
        table.add_column("\nlane", overflow="ellipsis", no_wrap=True, max_width=13 if loses else 15)
        for column in ("updates\nper hour", "", "workers\nbusy", "\ngoodput", "trainer\nbusy"):
            table.add_column(column, justify="right", no_wrap=True)
        for column in ("stale\nmean", "\np95", "\nmax", "length\nbias"):
            table.add_column(column, justify="right", no_wrap=True)
        if loses:
            table.add_column("\nlost", justify="right", no_wrap=True, min_width=5)
        for run, ratio in zip(self.runs, _ratios(self.runs), strict=True):
            result = run.result
            cells = [
                number(result["updates_per_hour"]),
                "dead" if run.error is not None else ratio,
                share(result["workers"]["utilisation"]),
                share(result["workers"]["goodput"]),
                share(result["trainer"]["utilisation"]),
                decimal(result["staleness"]["mean"]),
                number(result["staleness"]["p95"]),
                number(result["staleness"]["max"]),
                decimal(result["episode_seconds"]["length_bias"]),
                *([f"{_lost_episodes(result):,}"] if loses else []),
            ]
            table.add_row(Text(run.name or "", style="bold"), *(Text(cell) for cell in cells))
        return table


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


def _learning_lines(results: Sequence[dict[str, Any]]) -> Iterator[tuple[Text, list[str]]]:
    """Lines of a race in which anything learns; nothing stands for a lane in which nothing does."""
    lessons = [result.get("learning") for result in results]
    if not any(lessons):
        return
    yield (
        Text("reward (small model)", style="bold"),
        [decimal(lesson["reward"]) if lesson else "" for lesson in lessons],
    )
    slowest = [decimal(lesson["reward_slowest_tenth"]) if lesson else "" for lesson in lessons]
    yield Text("  slowest tenth", style=DIM), slowest
    minutes = [lesson["minutes_to_80"] if lesson else None for lesson in lessons]
    first = min((value for value in minutes if value is not None), default=None)
    yield (
        Text("  first to 80%", style=DIM),
        [
            ""
            if lesson is None
            else _until(value) + (" first" if value is not None and value == first else "")
            for lesson, value in zip(lessons, minutes, strict=True)
        ],
    )


def _until(minutes: float | None) -> str:
    return "never" if minutes is None else span(60 * minutes)


def _lost_episodes(result: dict[str, Any]) -> int:
    """Episodes that were begun and will not be trained."""
    return sum(result["episodes"][account] for account in ("aborted", "dropped", "failed"))


def verdict(runs: Sequence[Run]) -> str:
    """Who made the most updates, and what they cost, in one sentence; lanes that failed are out."""
    running = [run for run in runs if run.error is None and run.result["updates_per_hour"] is not None]
    if len(running) < 2:
        failed = " and ".join(run.name or "" for run in runs if run.error is not None)
        return f"no comparison: {failed} did not get to the end" if failed else "no comparison"
    leader = max(running, key=_updates_per_hour)
    other = running[0] if leader is not running[0] else min(running, key=_updates_per_hour)
    most, fewer = _updates_per_hour(leader), _updates_per_hour(other)
    if most <= fewer * _EVEN:
        spans = (_span(running, "staleness", "mean"), _span(running, "episode_seconds", "length_bias"))
        return f"no lane is ahead in updates; staleness {spans[0]}; length bias {spans[1]}"
    staleness, bias = leader.result["staleness"], leader.result["episode_seconds"]["length_bias"]
    if fewer:
        lead = f"{times(most / fewer)} the updates of {other.name}"
    else:
        lead = f"{count(leader.result['updates'], 'update')}, {other.name} none"
    price = f"staleness {decimal(staleness['mean'])} (max {number(staleness['max'])})"
    return f"{leader.name}: {lead}; price: {price}, length bias {decimal(bias)}"


def _updates_per_hour(run: Run) -> float:
    return float(run.result["updates_per_hour"] or 0.0)


def _ratios(runs: Sequence[Run]) -> list[str]:
    """Each lane's updates per hour against the first one's; nothing where a lane failed."""
    first = _updates_per_hour(runs[0]) if runs[0].error is None else 0.0
    return [times(_updates_per_hour(run) / first) if first and run.error is None else "-" for run in runs]


def _parts_of_most(values: Sequence[float]) -> list[float]:
    most = max(values)
    return [value / most if most else 0.0 for value in values]


def _span(runs: Iterable[Run], section: str, key: str) -> str:
    values = [(run.result[section][key], run.name) for run in runs if run.result[section][key] is not None]
    if not values:
        return "-"
    (low, lowest), (high, highest) = min(values), max(values)
    if decimal(low) == decimal(high):
        return decimal(low)
    return f"{decimal(low)} ({lowest}) to {decimal(high)} ({highest})"
