"""A sweep from its beginning, or from where it stopped, to its table."""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any

from emulator.errors import SweepBrokenError, SweepError
from emulator.recording import ScenarioSource, as_scenario
from emulator.sweeps.axes import absolute_text
from emulator.sweeps.backends import BACKENDS, Backend, JobsLostError, processes, run_jobs
from emulator.sweeps.files import SCENARIO, Directory, read_grid
from emulator.sweeps.grid import Grid, make_grid
from emulator.sweeps.jobs import Row, make_jobs
from emulator.sweeps.table import Sweep

Progress = Callable[[int, int], None]
"""Quantity how many runs have ended, and of how many: at the start, and whenever some end."""


class SweepInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a sweep; `sweep` has the rows until then."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        super().__init__(f"{len(sweep.rows)} of {sweep.grid.runs} runs are done")


def sweep(
    scenario: ScenarioSource,
    vary: Mapping[str, Sequence[Any]] | Sequence[str],
    *,
    seeds: int | Sequence[int] = 20,
    backend: Backend = "local",
    address: str | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    folder: str = "",
    command: str | None = None,
) -> Sweep:
    """Run a scenario at every point of a grid, with the same seeds at each, unpaced and in parallel.

    `scenario` is a `Scenario`, the name of a bundled one, or the path of a file or a recording.
    `vary` has a list of values for each dotted path, or texts such as ``rollout.workers=16:128:8``; the first
    is outermost. `seeds` is how many, from the scenario's own upwards, or which. `backend` is ``"local"`` (on
    `jobs` processes, one a core unless given), ``"dask"`` (the cluster of the scheduler at `address`, of this
    process's client, or a local one) or ``"ray"`` (the cluster at `address`, one that runs here, or a local
    one); the rows are the same from all.

    `out` is a directory for ``runs.csv``, ``summary.csv``, the scenario, and `command`, that makes them
    again; if it has a part of the same sweep, only the rest is run. Paths of traces in `vary` are relative to
    `folder`, the working directory unless given. A run or a point that fails is a row with its error.

    Raises ScenarioError if nothing can be run; SweepError if `out` cannot be used or the cluster not be
    reached; SweepBrokenError if a process was killed or had too little memory; MissingExtraError without the
    package of the backend; on Ctrl-C SweepInterrupted, a KeyboardInterrupt, with the table so far, which
    `out` keeps.
    """
    grid = make_grid(as_scenario(scenario), vary, seeds, folder=folder)
    directory = None if out is None else Directory(out, grid)
    words = command or _command(grid, os.fspath(out or ""))
    with ExitStack() as opened:
        kept = {} if directory is None else opened.enter_context(directory.open(words))
        return _run(grid, directory, kept, backend=backend, address=address, jobs=jobs, progress=progress)


def resume(
    directory: str | os.PathLike[str],
    *,
    backend: Backend = "local",
    address: str | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Go on with the sweep that a directory keeps, to the table that it would have made uninterrupted.

    The options and the errors are those of `sweep`.
    """
    grid = read_grid(directory)
    kept_in = Directory(directory, grid)
    with kept_in.open(_command(grid, os.fspath(directory))) as kept:
        return _run(grid, kept_in, kept, backend=backend, address=address, jobs=jobs, progress=progress)


def _run(
    grid: Grid,
    directory: Directory | None,
    rows: dict[int, Row],
    *,
    backend: Backend,
    address: str | None,
    jobs: int | None,
    progress: Progress | None,
) -> Sweep:
    if backend not in BACKENDS:
        raise SweepError(f"found the backend {backend}; allowed: {', '.join(BACKENDS)}")
    if jobs is not None and jobs < 1:
        raise SweepError(f"found {jobs} jobs; allowed: a whole number of processes from 1")
    report = progress or (lambda done, runs: None)

    def keep(new: Sequence[Row]) -> None:
        rows.update((row["run"], row) for row in new)
        if directory is not None:
            directory.add(new)
        report(len(rows), grid.runs)

    stopped: KeyboardInterrupt | JobsLostError | None = None
    try:
        wanted = []
        for number, point in enumerate(grid.points):
            first = number * len(grid.seeds)
            missing = [seed for place, seed in enumerate(grid.seeds, first) if place not in rows]
            if point.scenario is not None:
                wanted.append((number, point.scenario, missing))
            else:
                keep([grid.row(number, seed, {"error": point.error}) for seed in missing])
        report(len(rows), grid.runs)
        work = make_jobs(wanted, processes(jobs))
        if work:
            with closing(run_jobs(work, backend=backend, address=address, jobs=jobs)) as results:
                for job, outcomes in results:
                    pairs = zip(job.seeds, outcomes, strict=True)
                    keep([grid.row(job.point, seed, outcome) for seed, outcome in pairs])
    except (KeyboardInterrupt, JobsLostError) as error:
        stopped = error
    done = Sweep(grid, [rows[run] for run in sorted(rows)], stopped is not None)
    if directory is not None:
        directory.close(done)
    if isinstance(stopped, JobsLostError):
        raise SweepBrokenError(str(stopped), len(rows), grid.runs, _go_on(directory)) from stopped
    if stopped is not None:
        raise SweepInterrupted(done) from stopped
    return done


def _go_on(directory: Directory | None) -> str:
    """How to go on with a sweep that lost a process."""
    fewer = "with fewer processes (--jobs) if memory is short"
    if directory is None:
        return f"none is kept without --out DIR; begin again with it, {fewer}"
    return f"are kept; go on with emulator sweep --resume {shlex.quote(str(directory.path))}, {fewer}"


def _command(grid: Grid, out: str) -> str:
    """A command that makes the same sweep, from the scenario kept in its directory."""
    out = os.path.abspath(out)  # noqa: PTH100 - as text, links kept
    words = ["emulator", "sweep", os.path.join(out, SCENARIO)]  # noqa: PTH118
    for axis in grid.axes:
        words += ["--vary", absolute_text(axis, grid.folder)]
    first, count = grid.seeds[0], len(grid.seeds)
    if grid.seeds == tuple(range(first, first + count)):
        words += ["--seed", str(first), "--seeds", str(count)]
    else:
        words += ["--seeds", ",".join(map(str, grid.seeds))]
    return shlex.join([*words, "--out", out])
