"""What came of a run or a race, to be read from the back of a room.

`RunSummary` and `RaceSummary` are rich renderables that fit 80 columns. Both tell updates, staleness and
length bias together: these three are what a strategy trades against each other. Where a law holds, what
theory expects stands beside what was measured, with the standard deviation of one run; else what a figure
cannot exceed, or what it tends to in a long run.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from emulator.clock import ClockStatistics
from emulator.events import Inject
from emulator.runner import Run
from emulator.scenario import Scenario
from emulator.scenario.strategies import Asynchronous, Synchronous

if TYPE_CHECKING:
    from emulator.theory import Expectation, Limit

_BUSY = "#4a9fd0"
_ALERT = "#f0a500"
_DIM = "bright_black"

_BAR = 24
_COLUMN_BAR = 12
_HISTOGRAM_ROWS = 8
_HISTOGRAM_BAR = 40
_MOST_COLUMNS = 4  # more lanes than this are rows
_EVEN = 1.02  # a smaller ratio is no lead

_SECTIONS = (
    ("wait for siblings", "groups", "sibling_wait_mean"),
    ("group complete, p95", "groups", "completion_p95"),
    ("sandboxes used", "environment", "sandbox_utilisation"),
)
"""Figures of a section that only some lanes have."""

_CAUSES = {
    "waiting": "waiting",
    "gated": "gated",
    "blocked": "blocked",
    "frozen": "frozen",
    "down": "down",
    "overhead": "overhead",
}


@dataclass(frozen=True)
class RunSummary:
    """The summary of one run: its figures, each with what they are made of where that says something.

    `injected` says that a person changed it on the way, so that no law holds.
    """

    run: Run
    injected: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it."""
        run, result = self.run, self.run.result
        yield _heading(run, run.scenario.name, strategy_text(run.scenario))
        yield _stopped(run) or Text()
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column()
        theory = _theory(run, injected=self.injected, ascii_only=options.ascii_only)
        for name, value, detail in _figures(result, ascii_only=options.ascii_only):
            if law := theory.get(name):
                detail.append(f"{', ' if detail.plain[-1:].isalnum() else '  '}theory {law}", style=_DIM)
            table.add_row(Text(name), Text(value, style="bold"), detail)
        for name, more in _further(run.scenario, result, theory.get(_DROPPED)):
            table.add_row(Text(name), Text(), Text(more))
        yield table
        yield from _histogram(result["staleness"], _limit(run.scenario), ascii_only=options.ascii_only)
        yield Text()
        yield _footer(run.clock)


@dataclass(frozen=True)
class RaceSummary:
    """The lanes of a race beside each other, and one line that says who is ahead and at what price.

    `injected` says that a person changed them on the way, so that no law holds.
    """

    runs: Sequence[Run]
    injected: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it: a column for each of up to four lanes, else a row."""
        first = self.runs[0]
        yield _heading(first, f"race: {first.scenario.name}", "same seed, same episodes", whole=True)
        yield (_stopped(first) if first.interrupted else None) or Text()
        laws = [
            _theory(run, injected=self.injected, ascii_only=options.ascii_only, brief=True)
            for run in self.runs
        ]
        if len(self.runs) <= _MOST_COLUMNS:
            yield self._columns(laws, ascii_only=options.ascii_only)
        else:
            yield self._rows()
            yield from self._expected(laws, options.max_width)
            yield from self._learned()
        yield Text()
        words = verdict(self.runs)
        if len(words) > options.max_width:
            words = words.replace("; ", ";\n")
        yield Text(words, style="bold")
        yield Text()
        yield _footer(first.clock)

    def _columns(self, laws: Sequence[Mapping[str, str]], *, ascii_only: bool) -> Table:
        table = Table(box=None, padding=(0, 1), show_edge=False, pad_edge=False)
        table.add_column("", no_wrap=True)
        for run in self.runs:
            table.add_column(
                Text(run.name or "", style="bold"), justify="right", overflow="fold", max_width=26
            )
        strategies = (strategy_text(run.scenario).replace(", ", "\n") for run in self.runs)
        table.add_row("", *(Text(strategy, style=_DIM) for strategy in strategies))
        table.add_row()
        results = [run.result for run in self.runs]
        bars = {
            "  against the first": _parts_of_most([_updates_per_hour(run) for run in self.runs]),
            "workers busy": [r["workers"]["utilisation"] for r in results],
        }
        for name, cells in self._lines(results):
            if name.plain == _OF_FINISHED and not any(_DROPPED in law for law in laws):
                continue  # of interest where it can be compared
            table.add_row(name, *(Text(cell) for cell in cells))
            known = _DROPPED if name.plain == _OF_FINISHED else name.plain.upper()
            theory = [law.get(known, "") for law in laws]
            if any(theory):
                table.add_row(Text("  theory", style=_DIM), *(Text(cell, style=_DIM) for cell in theory))
            if values := bars.get(name.plain):
                table.add_row("", *(_bar(value, _COLUMN_BAR, ascii_only=ascii_only) for value in values))
        return table

    def _lines(self, results: Sequence[dict[str, Any]]) -> Iterator[tuple[Text, list[str]]]:
        """The lines of the table; one that says nothing in any lane is left out."""
        yield Text("updates per hour", style="bold"), [number(r["updates_per_hour"]) for r in results]
        yield Text("  against the first", style=_DIM), _ratios(self.runs)
        yield Text("workers busy", style="bold"), [share(r["workers"]["utilisation"]) for r in results]
        goodput = [share(r["workers"]["goodput"]) for r in results]
        if any(_wasted_share(r) >= 0.005 for r in results):
            yield Text("  goodput", style=_DIM), goodput
        for cause in _CAUSES:
            shares = [_cause_share(r, cause) for r in results]
            if any(part >= 0.005 for part in shares):
                yield Text(f"  {cause}", style=_DIM), [share(part) if part else "" for part in shares]
        yield Text("trainer busy", style="bold"), [share(r["trainer"]["utilisation"]) for r in results]
        yield Text("staleness", style="bold"), [decimal(r["staleness"]["mean"]) for r in results]
        spreads = [f"{number(r['staleness']['p95'])}, {number(r['staleness']['max'])}" for r in results]
        yield Text("  p95, max", style=_DIM), spreads
        if any(r["versions"]["span_max"] for r in results):
            newest = [decimal(r["versions"]["newest_mean"]) for r in results]
            yield Text("  of the newest version", style=_DIM), newest
        if any(_limit(run.scenario) is not None for run in self.runs):
            yield Text("  limit", style=_DIM), [_limit_text(run.scenario) for run in self.runs]
        bias = [decimal(r["episode_seconds"]["length_bias"]) for r in results]
        yield Text("length bias", style="bold"), bias
        queues = [f"{number(r['queue']['mean'])}, {number(r['queue']['max'])}" for r in results]
        yield Text("queue mean, max", style="bold"), queues
        for label, section, key in _SECTIONS:
            values = [r.get(section, {}).get(key) for r in results]
            if any(value is not None for value in values):
                tell = share if section == "environment" else seconds_text
                yield Text(label), ["" if value is None else tell(value) for value in values]
        for account in ("aborted", "dropped", "failed"):
            if any(r["episodes"][account] for r in results):
                counts = [f"{r['episodes'][account]:,}" if r["episodes"][account] else "" for r in results]
                yield Text(f"episodes {account}"), counts
                if account == "dropped":
                    lost = [_dropped_share(r) if r["episodes"]["dropped"] else "" for r in results]
                    yield Text(_OF_FINISHED, style=_DIM), lost
        yield from _learning_lines(results)
        if any(run.error is not None for run in self.runs):
            ends = [f"deadlock\n{_end(run)}" if run.error is not None else "" for run in self.runs]
            yield Text("ended", style="bold"), ends

    def _expected(self, laws: Sequence[Mapping[str, str]], width: int) -> Iterator[Text]:
        """What theory says of lanes that are rows, a line for a figure."""
        lines = []
        for name, words in ((_UPDATES, "updates per hour"), (_STALENESS, "staleness")):
            told = [
                f"{run.name} {law[name].partition(' ±')[0].partition(' +/-')[0]}"
                for run, law in zip(self.runs, laws, strict=True)
                if name in law
            ]
            if told:
                lines.append(_flowing(f"theory, {words}:", told, width))
        told = [
            f"{run.name} {_dropped_share(run.result)} (theory {law[_DROPPED]})"
            for run, law in zip(self.runs, laws, strict=True)
            if _DROPPED in law
        ]
        if told:
            lines.append(_flowing("dropped of the finished:", told, width))
        for place, line in enumerate(lines):
            yield Text(line if place else f"\n{line}", style=_DIM)

    def _learned(self) -> Iterator[Text]:
        """What lanes that are rows have learned, in a few words each."""
        lines = list(_learning_lines([run.result for run in self.runs]))
        if lines:
            yield Text()
        for head, cells in lines:
            told = [f"{run.name} {cell}" for run, cell in zip(self.runs, cells, strict=True) if cell]
            yield Text(f"{head.plain.strip()}: {', '.join(told)}", style=_DIM)

    def _rows(self) -> Table:
        table = Table(box=None, padding=(0, 0, 0, 1), show_edge=False, pad_edge=False)
        loses = any(_lost_episodes(run.result) for run in self.runs)
        table.add_column("\nlane", overflow="ellipsis", no_wrap=True, max_width=13 if loses else 15)
        for heading in ("updates\nper hour", "", "workers\nbusy", "\ngoodput", "trainer\nbusy"):
            table.add_column(heading, justify="right", no_wrap=True)
        for heading in ("stale\nmean", "\np95", "\nmax", "length\nbias"):
            table.add_column(heading, justify="right", no_wrap=True)
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
        if len(lines[-1]) + 1 + len(more) <= width:
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
    yield Text("  slowest tenth", style=_DIM), slowest
    minutes = [lesson["minutes_to_80"] if lesson else None for lesson in lessons]
    first = min((value for value in minutes if value is not None), default=None)
    yield (
        Text("  first to 80%", style=_DIM),
        [
            ""
            if lesson is None
            else _minutes(value) + (" first" if value is not None and value == first else "")
            for lesson, value in zip(lessons, minutes, strict=True)
        ],
    )


def _minutes(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f} min"


def _lost_episodes(result: dict[str, Any]) -> int:
    """Episodes that were begun and will not be trained."""
    return sum(result["episodes"][account] for account in ("aborted", "dropped", "failed"))


def _theory(run: Run, *, injected: bool, ascii_only: bool, brief: bool = False) -> dict[str, str]:
    """What theory says of a run's figures, by their names here.

    What it expects for as long as the run went; else what a figure
    tends to, or is at most: in signs if `brief`.
    """
    injected = injected or (run.recall is not None and any(type(event) is Inject for event in run.events))
    seconds = run.result["emulated_seconds"]
    if injected or run.error is not None or not seconds:
        return {}
    from emulator.theory import expected, limits  # noqa: PLC0415  (it takes long to import)

    scenario = run.scenario.model_copy(update={"duration": seconds})
    laws, found = expected(scenario), limits(scenario)
    told: dict[str, str] = {}
    for name, (figure, tell) in _LAWS.items():
        if figure in laws:
            told[name] = _law_text(laws[figure], tell, ascii_only=ascii_only)
        # How far updates are from the most possible is how busy the trainer is.
        elif figure in found and (figure, found[figure].kind) != ("updates_per_hour", "at most"):
            told[name] = _limit_words(found[figure], tell, ascii_only=ascii_only, brief=brief)
    if not brief and _STALENESS in told and "staleness.mean" in found and "staleness.max" not in found:
        told[_STALENESS] += " on average"
    return told


def _limit_words(limit: "Limit", tell: Callable[[float], str], *, ascii_only: bool, brief: bool) -> str:
    at_most = limit.kind == "at most"
    value = f"{limit.value:g}" if at_most else tell(limit.value)
    if not brief:
        return f"{limit.kind} {value}"
    at_most_sign, tends_sign = ("<=", "->") if ascii_only else ("≤", "→")
    return f"{at_most_sign if at_most else tends_sign} {value}"


def _law_text(law: "Expectation", tell: Callable[[float], str], *, ascii_only: bool) -> str:
    deviation = "" if not law.sd or tell is share else tell(law.sd)
    if not deviation.strip("0."):
        return tell(law.mean)
    return f"{tell(law.mean)} {'+/-' if ascii_only else '±'} {deviation}"


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
        times = f"{most / fewer:.1f}x the updates of {other.name}"
    else:
        times = f"{leader.result['updates']:,} update{_s(leader.result['updates'])}, {other.name} none"
    price = f"staleness {decimal(staleness['mean'])} (max {number(staleness['max'])})"
    return f"{leader.name}: {times}; price: {price}, length bias {decimal(bias)}"


def strategy_text(scenario: Scenario) -> str:
    """A strategy with the options that matter, such as ``asynchronous, gate 1``."""
    strategy = scenario.strategy
    words = [strategy.kind.replace("_", " ")]
    if isinstance(strategy, Synchronous) and strategy.unfinished != "wait":
        words.append(f"{strategy.oversample} {strategy.unfinished}")
    if isinstance(strategy, Asynchronous):
        if strategy.max_staleness is not None:
            words.append(f"{strategy.enforce} {strategy.max_staleness}")
        if strategy.weights == "in_flight":
            words.append("in-flight weights")
    return ", ".join(words)


def clock_time(seconds: float) -> str:
    """Emulated time as ``hh:mm:ss``, rounded down to the second."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def seconds_text(seconds: float | None) -> str:
    """A duration for people: seconds below two minutes, then ``m:ss``."""
    if seconds is None:
        return "-"
    return f"{seconds:.1f} s" if seconds < 120 else f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def share(value: float | None) -> str:
    """A share as a percentage; 100% and 0% only for what is wholly or not at all so."""
    if value is None:
        return "-"
    percent = f"{100 * value:.0f}%"
    if (percent == "100%" and value < 0.9995) or (percent == "0%" and value > 0.0005):
        percent = f"{100 * value:.1f}%"
    return percent


def percent(value: float) -> str:
    """A share as a percentage, to one place."""
    return f"{100 * value:.1f}%"


def decimal(value: float | None) -> str:
    """A figure of order 1, to two places."""
    return "-" if value is None else f"{value:.2f}"


def tenths(value: float) -> str:
    """A figure of any size that need not be whole, to one place."""
    return f"{value:,.1f}"


def number(value: float | None) -> str:
    """A figure of any size: as a whole number, or to one place where that is not one and below 100."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 99.95 or float(value).is_integer() else f"{value:.1f}"


def speed_text(speed: float | str | None) -> str:
    """A speed, such as ``60x``."""
    if speed is None:
        return "-"
    if isinstance(speed, str):
        return speed
    return f"{speed:,.0f}x" if speed >= 999.5 or float(speed).is_integer() else f"{speed:.1f}x"


_UPDATES = "UPDATES PER HOUR"

_STALENESS = "STALENESS"
_DROPPED = "DROPPED"
_OF_FINISHED = "  of the finished"

_LAWS: dict[str, tuple[str, Callable[[float], str]]] = {
    _UPDATES: ("updates_per_hour", tenths),
    "WORKERS BUSY": ("workers.utilisation", share),
    "TRAINER BUSY": ("trainer.utilisation", share),
    _STALENESS: ("staleness.mean", decimal),
    _DROPPED: ("episodes.dropped_share", percent),
}
"""Figures that theory has laws for: their names in the result, and how they are told."""


def _heading(run: Run, title: str, subtitle: str, *, whole: bool = False) -> Table:
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(overflow="ellipsis", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    end = clock_time(
        run.scenario.duration if whole and not run.interrupted else run.result["emulated_seconds"]
    )
    table.add_row(Text.assemble((title, "bold"), f"  {subtitle}"), Text(f"{end}, seed {run.scenario.seed}"))
    return table


def _stopped(run: Run) -> Text | None:
    if run.error is None and not run.interrupted:
        return None
    why = "Stopped by a deadlock" if run.error is not None else "Interrupted"
    return Text(f"{why} {_end(run)} of {clock_time(run.scenario.duration)}.\n", style=_ALERT)


def _end(run: Run) -> str:
    return f"at {clock_time(run.result['emulated_seconds'])}"


def _figures(result: dict[str, Any], *, ascii_only: bool) -> Iterator[tuple[str, str, Text]]:
    """The lines that every run has: name, value, detail."""
    workers, trainer = result["workers"], result["trainer"]
    staleness, queue, lengths = result["staleness"], result["queue"], result["episode_seconds"]
    trained = result["episodes"]["trained"]
    updates = f"{result['updates']:,} update{_s(result['updates'])}, {trained:,} episodes"
    yield _UPDATES, number(result["updates_per_hour"]), Text(updates)
    busy = workers["utilisation"]
    yield "WORKERS BUSY", share(busy), _bar(busy, _BAR, ascii_only=ascii_only)
    if _wasted_share(result) >= 0.0005:
        goodput = workers["goodput"]
        yield "  goodput", share(goodput), _bar(goodput, _BAR, ascii_only=ascii_only)
    yield (
        "TRAINER BUSY",
        share(trainer["utilisation"]),
        _bar(trainer["utilisation"], _BAR, ascii_only=ascii_only),
    )
    parts = f"p95 {number(staleness['p95'])}, max {number(staleness['max'])}"
    yield "STALENESS", decimal(staleness["mean"]), Text(parts)
    means = (
        f"{seconds_text(lengths['trained_mean'])} trained, {seconds_text(lengths['started_mean'])} started"
    )
    yield "LENGTH BIAS", decimal(lengths["length_bias"]), Text(f"mean episode: {means}")
    yield "QUEUE", number(queue["mean"]), Text(f"max {number(queue['max'])} episodes")


def _further(scenario: Scenario, result: dict[str, Any], dropped: str | None) -> Iterator[tuple[str, str]]:
    """The lines that some runs have: name and detail; `dropped` is what theory says of the share dropped."""
    episodes = result["episodes"]
    lost = [f"{episodes[account]:,} {account}" for account in ("aborted", "dropped", "failed")]
    lost = [text for text in lost if not text.startswith("0 ")]
    if wasted := _wasted_share(result):
        lost.append(f"{share(wasted)} of worker time wasted")
    if lost:
        yield "episodes lost", ", ".join(lost)
    if dropped and episodes["dropped"]:
        yield _OF_FINISHED, f"{_dropped_share(result)} dropped, theory {dropped}"
    idle = [(name, _cause_share(result, cause)) for cause, name in _CAUSES.items()]
    shares = [f"{name} {share(part)}" for name, part in idle if part >= 0.0005]
    if shares:
        yield "workers otherwise", ", ".join(shares)
    seconds, whole = result["trainer"]["seconds"], result["emulated_seconds"]
    held = [f"{state} {share(seconds[state] / whole)}" for state in ("pushing", "stalled") if seconds[state]]
    if held:
        yield "trainer", ", ".join([f"updating {share(seconds['updating'] / whole)}", *held])
    if groups := result.get("groups"):
        wait = seconds_text(groups["sibling_wait_mean"])
        yield (
            "groups",
            f"{groups['completed']:,} complete, {groups['lost']:,} lost, mean wait for siblings {wait}",
        )
    if environment := result.get("environment"):
        yield "environment", _environment_text(environment)
    if learning := result.get("learning"):
        yield from _learning(learning)
    versions = result["versions"]
    if versions["span_max"]:
        spans = f"span {decimal(versions['span_mean'])} (max {versions['span_max']})"
        yield "versions in one", f"{spans}, newest one {decimal(versions['newest_mean'])} behind"
    if result["publications"] != result["updates"]:
        yield "publications", f"{result['publications']:,}"


def _learning(learning: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if not learning["updates"]:
        yield "learning", "no update yet"
        return
    reward = (
        f"reward {decimal(learning['reward'])}, slowest tenth {decimal(learning['reward_slowest_tenth'])}"
    )
    reached = learning["minutes_to_80"]
    after = "never" if reached is None else f"after {_minutes(reached)}, {learning['updates_to_80']} updates"
    yield "learning", reward
    yield "  80% of the best", after
    off = f"clipped {share(learning['clip_fraction'])}, KL {learning['kl']:.3f}"
    yield "  off policy", f"{off}, effective sample size {share(learning['effective_sample_size'])}"
    yield "", "on a small model problem, not a forecast of yours"


def _environment_text(environment: dict[str, Any]) -> str:
    used = environment["sandbox_utilisation"]
    words = [] if used is None else [f"sandboxes {share(used)} in use"]
    counts = ((environment[name], name) for name in ("failures", "timeouts", "retries"))
    words += [f"{name} {count:,}" for count, name in counts if count]
    return ", ".join(words) or "no failures"


def _histogram(
    staleness: dict[str, Any], limit: float | None, *, ascii_only: bool
) -> Iterator[Text | Table | Rule]:
    """Bars of how many trained episodes were how stale, with the limit drawn between them."""
    counts: list[int] = staleness["histogram"]
    if len(counts) < 2:
        return
    total = sum(counts)
    yield Text()
    yield Text("staleness of trained episodes", style="bold")
    bands = list(_bands(counts))
    most = max(n for _, _, n in bands)
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", min_width=5)
    table.add_column(min_width=_HISTOGRAM_BAR)
    table.add_column(justify="right")
    table.add_column(justify="right")
    drawn = limit is None
    for low, high, n in bands:
        if limit is not None and not drawn and low > limit:
            drawn = True
            table.add_row(*_limit_row(counts, limit, ascii_only=ascii_only))
        beyond = limit is not None and low > limit
        bar = _bar(
            n / most, _HISTOGRAM_BAR, ascii_only=ascii_only, rest=False, style=_ALERT if beyond else _BUSY
        )
        label = str(low) if low == high else f"{low}-{high}"
        table.add_row(Text(label), bar, Text(f"{n:,}"), Text(share(n / total), style=_DIM))
    if limit is not None and not drawn:
        table.add_row(*_limit_row(counts, limit, ascii_only=ascii_only))
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


def _limit_row(counts: Sequence[int], limit: float, *, ascii_only: bool) -> tuple[Text, ...]:
    beyond = sum(counts[int(limit) + 1 :])
    text = f" limit {limit:g}: {share(beyond / sum(counts))} beyond "
    line = "-" if ascii_only else "╌"
    return Text(), Text(f"{line * 3}{text}".ljust(_HISTOGRAM_BAR, line), style=_ALERT), Text(), Text()


def _bar(value: float | None, width: int, *, ascii_only: bool, rest: bool = True, style: str = _BUSY) -> Text:
    full, empty = ("#", ".") if ascii_only else ("█", "·")
    filled = min(width, round((value or 0) * width))
    if value and not filled:
        return Text("." if ascii_only else "▏", style=style).append(
            empty * (width - 1) if rest else "", style=_DIM
        )
    return Text(full * filled, style=style).append(empty * (width - filled) if rest else "", style=_DIM)


def _footer(clock: ClockStatistics) -> Text:
    words = [f"clock: asked {speed_text(clock.asked_speed)}"]
    if clock.achieved_speed is not None:
        words.append(f"achieved {speed_text(clock.achieved_speed)}")
        words.append(f"{clock.wall_seconds:.1f} s of wall time")
    if clock.worst_lag_ms is not None:
        words.append(f"worst lag {clock.worst_lag_ms:.1f} ms")
    return Text(", ".join(words), style=_DIM)


def _limit(scenario: Scenario) -> float | None:
    strategy = scenario.strategy
    if isinstance(strategy, Asynchronous) and strategy.max_staleness is not None:
        return float(strategy.max_staleness)
    return None


def _limit_text(scenario: Scenario) -> str:
    limit = _limit(scenario)
    return "" if limit is None else f"{limit:g}"


def _service(result: dict[str, Any]) -> float:
    seconds = result["workers"]["seconds"]
    return float(sum(seconds[state] for state in ("generating", *_CAUSES)))


def _cause_share(result: dict[str, Any], cause: str) -> float:
    service = _service(result)
    return result["workers"]["seconds"][cause] / service if service else 0.0


def _wasted_share(result: dict[str, Any]) -> float:
    service = _service(result)
    return result["workers"]["seconds"]["wasted"] / service if service else 0.0


def _dropped_share(result: dict[str, Any]) -> str:
    """Episodes dropped of those finished, as theory has it."""
    episodes = result["episodes"]
    return percent(episodes["dropped"] / episodes["finished"]) if episodes["finished"] else "-"


def _updates_per_hour(run: Run) -> float:
    return float(run.result["updates_per_hour"] or 0.0)


def _ratios(runs: Sequence[Run]) -> list[str]:
    """Each lane's updates per hour against the first one's; nothing where a lane failed."""
    first = _updates_per_hour(runs[0]) if runs[0].error is None else 0.0
    return [f"{_updates_per_hour(run) / first:.1f}x" if first and run.error is None else "-" for run in runs]


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


def _s(count: int) -> str:
    return "" if count == 1 else "s"
