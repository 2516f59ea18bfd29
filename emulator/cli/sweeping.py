"""The sweep command: how far it is on stderr, its table on stdout, and what a signal ends."""

import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import emulator
from emulator.cli.endings import complain
from emulator.cli.output import can_be_drawn_on, write_drawn, write_lines
from emulator.cli.promise import warn_of_many
from emulator.errors import MissingExtraError
from emulator.figures.text import span
from emulator.scenario import bundled_scenarios
from emulator.scenario.loading import find
from emulator.signals import be_deaf, exit_code
from emulator.sweeps import Sweep, SweepInterrupted
from emulator.sweeps import resume as resume_sweep
from emulator.sweeps.backends import Backend
from emulator.sweeps.grid import make_grid
from emulator.sweeps.report import WIDTH, SweepSummary, failures
from emulator.sweeps.running import Progress as Report
from emulator.text import clean

_SEEDS = "20"
_TENTHS = 10


@dataclass(frozen=True)
class Asked:
    """What is to be run: a scenario and its grid, or the directory of a sweep to go on with."""

    scenario: str | None
    vary: tuple[str, ...]
    seeds: str | None
    seed: int | None
    overrides: tuple[str, ...]
    out: str | None
    resume: str | None

    def check(self) -> None:
        """BadParameter for what does not go together."""
        if self.resume is None:
            if self.scenario is None:
                raise typer.BadParameter("a scenario, or --resume DIR", param_hint="'SCENARIO'")
            return
        others = {
            "SCENARIO": self.scenario,
            "--vary": self.vary,
            "--seeds": self.seeds,
            "--seed": self.seed,
            "--set": self.overrides,
            "--out": self.out,
        }
        given = [name for name, value in others.items() if value not in (None, ())]
        if given:
            what = (
                "it goes on with the sweep that the directory keeps, and takes nothing of it anew: leave out "
            )
            raise typer.BadParameter(what + ", ".join(given), param_hint="'--resume'")

    @property
    def seeds_wanted(self) -> int | list[int]:
        """How many seeds, or which; BadParameter for a text that says neither."""
        return seeds_of(self.seeds or _SEEDS, self.seed)

    def command(self) -> str:
        """The command that makes the same files from any working directory."""
        assert self.scenario is not None
        bundled = {scenario.name for scenario in bundled_scenarios()}
        words = ["emulator", "sweep", self.scenario if self.scenario in bundled else _absolute(self.scenario)]
        options: list[tuple[str, str]] = [("--set", text) for text in self.overrides]
        options += [("--vary", text) for text in self.vary]
        if self.seed is not None:
            options.append(("--seed", str(self.seed)))
        options.append(("--seeds", self.seeds or _SEEDS))
        if self.out is not None:
            options.append(("--out", _absolute(self.out)))
        words += [word for option in options for word in option]
        return shlex.join(words)


def seeds_of(text: str, first: int | None) -> int | list[int]:
    """How many seeds a text says, or which; BadParameter if neither, or if it says which beside `first`."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        allowed = "how many, such as 20, or which, such as 1,5,9"
        raise typer.BadParameter(f"found {clean(text)}; allowed: {allowed}", param_hint="'--seeds'") from None
    if len(numbers) == 1:
        return numbers[0]
    if first is not None:
        raise typer.BadParameter("--seeds names all seeds already", param_hint="'--seed'")
    return numbers


def run_sweep(
    asked: Asked, *, backend: Backend, address: str | None, jobs: int | None, as_json: bool, quiet: bool
) -> None:
    """Run a sweep, or go on with one, and print what came of it; leaves with its exit code."""
    asked.check()
    if backend == "local" and address is not None:
        raise typer.BadParameter("it needs --backend dask or ray", param_hint="'--address'")
    interrupt: BaseException | None = None
    unplotted = False
    try:
        with progress(quiet=quiet) as report:
            table = _run(asked, report, quiet=quiet, backend=backend, address=address, jobs=jobs)
    except SweepInterrupted as interrupted:
        be_deaf()
        table, interrupt = interrupted.sweep, interrupted.__cause__ or interrupted
    directory = asked.resume or asked.out
    if directory is not None and not table.interrupted:
        try:
            _plot(table, directory)
        except OSError as error:
            unplotted = True
            complain(f"{directory}: the plots cannot be kept there: {error.strerror}")
        except KeyboardInterrupt as interrupted:
            be_deaf()
            interrupt = interrupted
            complain("interrupted while the plots were drawn")
    # After all files: a reader that has seen enough, such as head, costs none of them.
    _print(table, as_json=as_json)
    if table.interrupted and directory is not None:
        complain(f"go on with: emulator sweep --resume {shlex.quote(directory)}")
    if interrupt is not None:
        raise typer.Exit(exit_code(interrupt))
    if table.failed:
        for reason in failures(table) if as_json else ():
            complain(reason)
    if unplotted or len(table.failed) == len(table.rows):
        raise typer.Exit(1)


def _run(asked: Asked, report: Report, *, quiet: bool, **where: Any) -> Sweep:
    if asked.resume is not None:
        return resume_sweep(asked.resume, progress=report, **where)
    assert asked.scenario is not None
    loaded = emulator.load_scenario(asked.scenario, overrides=asked.overrides, seed=asked.seed)
    folder = str(find(asked.scenario).parent)
    grid = make_grid(loaded, asked.vary, asked.seeds_wanted, folder=folder)
    points = [point.scenario for point in grid.points if point.scenario is not None]
    warn_of_many(points, quiet=quiet, runs="the sweep", times=len(grid.seeds))
    return emulator.sweep(
        loaded,
        asked.vary,
        seeds=asked.seeds_wanted,
        out=asked.out,
        progress=report,
        folder=folder,
        command=asked.command(),
        **where,
    )


def _print(table: Sweep, *, as_json: bool) -> None:
    if as_json:
        write_lines(table.rows)
        return
    write_drawn(lambda console: console.print(SweepSummary(table)), width=WIDTH)
    if table.interrupted or len(table.failed) == len(table.rows):
        return
    from emulator.plots.terminal import draw  # noqa: PLC0415  (only a table needs it)

    write_drawn(lambda console: draw(table, console), width=WIDTH)


def _plot(table: Sweep, directory: str) -> None:
    """Write the plots of a sweep; without the package for it, say which."""
    if len(table.failed) == len(table.rows):
        return
    from emulator.plots import save  # noqa: PLC0415  (only an --out needs it)

    try:
        save(table, directory)
    except MissingExtraError as error:
        complain(f"no plots: {error}")


@contextmanager
def progress(*, quiet: bool) -> Iterator[Report]:
    """A bar on a terminal, else a line for each tenth of the runs."""
    if quiet:
        yield lambda done, runs: None
    elif can_be_drawn_on(sys.stderr):
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
        )
        console = _SteadyConsole(stderr=True, force_terminal=True, legacy_windows=False)
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("runs", total=None)
            yield lambda done, runs: bar.update(task, completed=done, total=runs)
    else:
        yield _LogLines().report


class _SteadyConsole(Console):
    """A console whose cursor stays: so the terminal needs no repair, whatever stops or ends the process."""

    def show_cursor(self, show: bool = True) -> bool:
        """Leave the cursor as it is."""
        return False


class _LogLines:
    """Lines of progress for a log."""

    def __init__(self) -> None:
        self._begun: tuple[float, int] | None = None
        self._told = 0

    def report(self, done: int, runs: int) -> None:
        """Say how far it has come, at each tenth."""
        now = time.monotonic()
        if self._begun is None:
            self._begun = (now, done)
        tenth = _TENTHS * done // runs
        if tenth <= self._told:
            return
        self._told = tenth
        begun, before = self._begun
        rest = ""
        if before < done < runs and (left := (now - begun) / (done - before) * (runs - done)) >= 1:
            rest = f", about {span(left)} left"
        complain(f"{done:,} of {runs:,} runs{rest}")


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - as text, links kept
