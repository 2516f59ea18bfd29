"""What the summaries of a run and of a race have in common."""

from typing import Any

from rich.table import Table
from rich.text import Text

from emulator.clock import ClockStatistics
from emulator.figures import Result
from emulator.figures.result import Quantity
from emulator.figures.spec import GOODPUT, NEWEST_MEAN, SPAN_MAX, WASTED, of_service
from emulator.figures.text import clock_time, mean_span, span, speed
from emulator.runs import Run

BUSY = "#4a9fd0"
ALERT = "#f0a500"
DIM = "bright_black"

BAR = 24


def heading(run: Run, title: str, subtitle: str, *, whole: bool = False) -> Table:
    """Title and subtitle, and to the right where it ended and the seed; of a race the `whole` duration."""
    table = Table.grid(expand=True, padding=(0, 1))
    table.add_column(overflow="ellipsis", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    end = clock_time(
        run.scenario.duration if whole and not run.interrupted else run.result["emulated_seconds"]
    )
    table.add_row(Text.assemble((title, "bold"), f"  {subtitle}"), Text(f"{end}, seed {run.scenario.seed}"))
    return table


def stopped(run: Run) -> Text | None:
    """Why a run did not get to its end, and where; None if it did."""
    if run.error is None and not run.interrupted:
        return None
    why = "Interrupted"
    if run.error is not None:
        # Of a recording only the text of the error is left.
        why = "Stopped by a deadlock" if str(run.error).startswith("deadlock") else "Stopped by an error"
    return Text(f"{why} {end(run)} of {clock_time(run.scenario.duration)}.\n", style=ALERT)


def end(run: Run) -> str:
    """Where a run ended."""
    return f"at {clock_time(run.result['emulated_seconds'])}"


def bar(value: float | None, width: int, *, ascii_only: bool, rest: bool = True, style: str = BUSY) -> Text:
    """A share as a bar, with what it leaves of the width unless without `rest`."""
    full, empty = ("#", ".") if ascii_only else ("█", "·")
    filled = min(width, round((value or 0) * width))
    if value and not filled:
        return Text("." if ascii_only else "▏", style=style).append(
            empty * (width - 1) if rest else "", style=DIM
        )
    return Text(full * filled, style=style).append(empty * (width - filled) if rest else "", style=DIM)


def footer(clock: ClockStatistics) -> Text:
    """How the clock went."""
    words = [f"clock: asked {speed(clock.asked_speed)}"]
    if clock.achieved_speed is not None:
        words.append(f"achieved {speed(clock.achieved_speed)}")
        words.append(f"{mean_span(clock.wall_seconds)} of wall time")
    if clock.worst_lag_ms is not None:
        words.append(f"worst lag {span(clock.worst_lag_ms / 1000)}")
    return Text(", ".join(words), style=DIM)


def says(result: Result, figure: Quantity[Any], least: float) -> bool:
    """Whether a figure under another says something: of shares, from `least` on."""
    if figure is GOODPUT:  # as busy as the workers, where nothing was wasted
        return of_service(result, WASTED) >= least
    if figure is NEWEST_MEAN:  # as stale as the oldest, where episodes have one version
        return bool(result[SPAN_MAX])
    value = result[figure]
    return value is not None and (figure.unit != "%" or value >= least)
