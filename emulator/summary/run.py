"""What came of one run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from emulator.figures.text import count, decimal, mean_span, number, share, span
from emulator.runner import Run
from emulator.scenario import Scenario
from emulator.summary.interventions import interventions_text
from emulator.summary.laws import DROPPED, OF_FINISHED, UPDATES, theory_beside
from emulator.summary.parts import (
    ALERT,
    BAR,
    BUSY,
    CAUSES,
    DIM,
    bar,
    cause_share,
    dropped_share,
    footer,
    heading,
    stopped,
    wasted_share,
)
from emulator.text import cut

_HISTOGRAM_ROWS = 8


_HISTOGRAM_BAR = 40
_HISTOGRAM_LABEL = 5


@dataclass(frozen=True)
class RunSummary:
    """The summary of one run: its figures, each with what they are made of where that says something."""

    run: Run

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it."""
        run, result = self.run, self.run.result
        yield heading(run, run.scenario.name, run.scenario.strategy.label)
        yield stopped(run) or Text()
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column()
        theory = theory_beside(run, ascii_only=options.ascii_only)
        for name, value, detail in _figures(result, ascii_only=options.ascii_only):
            if law := theory.get(name):
                detail.append(f"{', ' if detail.plain[-1:].isalnum() else '  '}theory {law}", style=DIM)
            table.add_row(Text(name), Text(value, style="bold"), detail)
        for name, more in _further(run.scenario, result, theory.get(DROPPED)):
            table.add_row(Text(name), Text(), Text(more))
        if run.interventions:
            table.add_row(Text("interventions"), Text(), Text(interventions_text(run.interventions)))
        yield table
        yield from _histogram(
            result["staleness"],
            run.scenario.strategy.limit,
            width=options.max_width,
            ascii_only=options.ascii_only,
        )
        yield Text()
        yield footer(run.clock)


def _figures(result: dict[str, Any], *, ascii_only: bool) -> Iterator[tuple[str, str, Text]]:
    """The lines that every run has: name, value, detail."""
    workers, trainer = result["workers"], result["trainer"]
    staleness, queue, lengths = result["staleness"], result["queue"], result["episode_seconds"]
    trained = result["episodes"]["trained"]
    updates = f"{count(result['updates'], 'update')}, {count(trained, 'episode')}"
    yield UPDATES, number(result["updates_per_hour"]), Text(updates)
    busy = workers["utilisation"]
    yield "WORKERS BUSY", share(busy), bar(busy, BAR, ascii_only=ascii_only)
    if wasted_share(result) >= 0.0005:
        goodput = workers["goodput"]
        yield "  goodput", share(goodput), bar(goodput, BAR, ascii_only=ascii_only)
    yield (
        "TRAINER BUSY",
        share(trainer["utilisation"]),
        bar(trainer["utilisation"], BAR, ascii_only=ascii_only),
    )
    parts = f"p95 {number(staleness['p95'])}, max {number(staleness['max'])}"
    yield "STALENESS", decimal(staleness["mean"]), Text(parts)
    means = f"{mean_span(lengths['trained_mean'])} trained, {mean_span(lengths['started_mean'])} started"
    yield "LENGTH BIAS", decimal(lengths["length_bias"]), Text(f"mean episode: {means}")
    yield "QUEUE", number(queue["mean"]), Text(f"max {number(queue['max'])} episodes")


def _further(scenario: Scenario, result: dict[str, Any], dropped: str | None) -> Iterator[tuple[str, str]]:
    """The lines that some runs have: name and detail; `dropped` is what theory says of the share dropped."""
    episodes = result["episodes"]
    lost = [f"{episodes[account]:,} {account}" for account in ("aborted", "dropped", "failed")]
    lost = [text for text in lost if not text.startswith("0 ")]
    if wasted := wasted_share(result):
        lost.append(f"{share(wasted)} of worker time wasted")
    if lost:
        yield "episodes lost", ", ".join(lost)
    if dropped and episodes["dropped"]:
        yield OF_FINISHED, f"{dropped_share(result)} dropped, theory {dropped}"
    idle = [(name, cause_share(result, cause)) for cause, name in CAUSES.items()]
    shares = [f"{name} {share(part)}" for name, part in idle if part >= 0.0005]
    if shares:
        yield "workers otherwise", ", ".join(shares)
    seconds, whole = result["trainer"]["seconds"], result["emulated_seconds"]
    held = [f"{state} {share(seconds[state] / whole)}" for state in ("pushing", "stalled") if seconds[state]]
    if held:
        yield "trainer", ", ".join([f"updating {share(seconds['updating'] / whole)}", *held])
    if groups := result.get("groups"):
        wait = mean_span(groups["sibling_wait_mean"])
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
    after = "never"
    if reached is not None:
        after = f"after {span(60 * reached)}, {count(learning['updates_to_80'], 'update')}"
    yield "learning", reward
    yield "  80% of the best", after
    off = f"clipped {share(learning['clip_fraction'])}, KL {decimal(learning['kl'], 3)}"
    yield "  off policy", f"{off}, effective sample size {share(learning['effective_sample_size'])}"
    yield "", "on a small model problem, not a forecast of yours"


def _environment_text(environment: dict[str, Any]) -> str:
    used = environment["sandbox_utilisation"]
    words = [] if used is None else [f"sandboxes {share(used)} in use"]
    counts = ((environment[name], name) for name in ("failures", "timeouts", "retries"))
    words += [f"{name} {count:,}" for count, name in counts if count]
    return ", ".join(words) or "no failures"


def _histogram(
    staleness: dict[str, Any], limit: float | None, *, width: int, ascii_only: bool
) -> Iterator[Text | Table | Rule]:
    """Bars of how many trained episodes were how stale, with the limit drawn between them.

    Where there is no room for all, the bars are shorter.
    """
    counts: list[int] = staleness["histogram"]
    if len(counts) < 2:
        return
    total = sum(counts)
    yield Text()
    yield Text("staleness of trained episodes", style="bold")
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
    text = f" limit {limit:g}: {share(beyond / sum(counts))} beyond "
    line = "-" if ascii_only else "╌"
    drawn = f"{line * 3}{text}" if len(text) + 3 <= room else cut(text.strip(), room)
    return Text(), Text(drawn.ljust(room, line), style=ALERT), Text(), Text()
