"""Many cases on several processes with bounded memory, each failure told once."""

import gc
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

KINDS = ("scenarios", "recordings")
MEMORY = 1 << 30
"""Bytes that a process may take beyond what it has once everything is imported."""

_CHUNK = 20
_STUCK = 120.0
"""Seconds until a process that says nothing is ended: several times what a case may take."""


class Job(NamedTuple):
    """Cases to run, by number from `first`."""

    kind: str
    seed: int
    first: int
    cases: int
    thorough: bool


def limit_memory(more: int = MEMORY) -> tuple[int, int]:
    """Let this process take no more than so many bytes beyond what it has; returns the limits before."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = Path("/proc/self/statm")
    if pages.exists():
        taken = int(pages.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (taken + more, before[1]))
    return before


def _work(pipe: Connection, folder: str) -> None:
    """Run the cases of one job after the other; says each case's number before it begins."""
    tempfile.tempdir = folder
    # A shell lets what it starts in the background ignore Ctrl-C, and what ignores it cannot be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setpgid(0, 0)  # Ctrl-C on a terminal is the parent's, who lets the jobs in hand end
    from tests.fuzz.cases import run_case  # noqa: PLC0415  (the parent needs none of it)
    from tests.fuzz.recordings import bases  # noqa: PLC0415

    bases()
    gc.freeze()  # it would go through all modules again and again
    limit_memory()
    while (job := pipe.recv()) is not None:
        failures: list[Any] = []
        counts: Counter[str] = Counter()
        for index in range(job.first, job.first + job.cases):
            pipe.send(index)
            found, came_of_it = run_case(job.kind, job.seed, index, thorough=job.thorough)
            failures += found
            counts += came_of_it
        pipe.send((failures, counts))


class _Worker:
    def __init__(self, folder: str) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._folder = folder
        self.job: Job | None = None
        self._begin()

    def _begin(self) -> None:
        self.pipe, theirs = self._context.Pipe()
        self.process = self._context.Process(target=_work, args=(theirs, self._folder), daemon=True)
        self.process.start()
        theirs.close()
        self.heard = time.monotonic()
        self.index = -1

    def start(self, job: Job) -> None:
        self.job, self.heard, self.index = job, time.monotonic(), job.first
        self.pipe.send(job)

    def end(self) -> str:
        """End the process for good and begin another; how it ended."""
        self.process.join(1.0)
        ended = not self.process.is_alive()
        if not ended:
            self.process.kill()
        self.process.join()
        told = f"the process ended with {self.process.exitcode}" if ended else "a hang that no alarm ends"
        self.pipe.close()
        self.job = None
        self._begin()
        return told


class Campaign:
    """Gives out jobs until time or cases are used up, and tells each failure once."""

    def __init__(
        self,
        kinds: Sequence[str],
        *,
        seed: int,
        first: int,
        cases: int | None,
        seconds: float | None,
        jobs: int,
        thorough: bool,
    ) -> None:
        self._seed, self._jobs, self._thorough = seed, jobs, thorough
        self._next = dict.fromkeys(kinds, first)
        self._last = first + (cases or sys.maxsize)
        self._ends_at = None if seconds is None else time.monotonic() + seconds
        self._failed: Counter[str] = Counter()
        self.counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}

    def _job(self) -> Job | None:
        if self._ends_at is not None and time.monotonic() > self._ends_at:
            return None
        kind = min(self._next, key=self._next.__getitem__)
        first = self._next[kind]
        if first >= self._last:
            return None
        count = min(_CHUNK, self._last - first)
        self._next[kind] += count
        return Job(kind, self._seed, first, count, self._thorough)

    def run(self) -> int:
        """Run it all, or until Ctrl-C or ``kill``; returns how many different failures there were."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            workers = [_Worker(folder) for _ in range(self._jobs)]
            for worker in workers:
                self._go_on(worker)
            while busy := [worker for worker in workers if worker.job is not None]:
                ready = wait([worker.pipe for worker in busy], timeout=5.0)
                for worker in busy:
                    if worker.pipe in ready:
                        self._hear(worker)
                    elif time.monotonic() - worker.heard > _STUCK:
                        self._lost(worker)
            for worker in workers:
                worker.process.kill()
        return len(self._failed)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Give out no more jobs."""
        self._ends_at = time.monotonic()

    def _hear(self, worker: _Worker) -> None:
        assert worker.job is not None
        worker.heard = time.monotonic()
        try:
            told = worker.pipe.recv()
        except (EOFError, OSError):
            self._lost(worker)
            return
        if isinstance(told, int):
            worker.index = told
            return
        failures, counts = told
        self.counts[worker.job.kind] += counts
        for failure in failures:
            self._tell(failure.place, failure.case, failure.told)
        self._go_on(worker)

    def _lost(self, worker: _Worker) -> None:
        """Go on after the case with which a process was lost."""
        job, index = worker.job, worker.index
        assert job is not None
        told = worker.end()
        self._tell(told, f"{job.kind} {job.seed}:{index}", told)
        self.counts[job.kind]["cases"] += index + 1 - job.first
        rest = job.first + job.cases - index - 1
        if rest:
            worker.start(job._replace(first=index + 1, cases=rest))
        else:
            self._go_on(worker)

    def _go_on(self, worker: _Worker) -> None:
        worker.job = None
        if (job := self._job()) is not None:
            worker.start(job)

    def _tell(self, place: str, case: str, told: str) -> None:
        self._failed[place] += 1
        if self._failed[place] == 1:
            kind, _, number = case.partition(" ")
            how = f"python -m tests.fuzz --kind {kind} --case {number}"
            print(f"\n=== {place}\n{told.strip()[:6000]}\n{how}", flush=True)

    def report(self) -> None:
        """Say how many cases there were, and what came of them."""
        for place, count in self._failed.most_common():
            print(f"{count:6}  {place}")
        for kind, counts in self.counts.items():
            rest = ", ".join(f"{count} {name}" for name, count in counts.most_common() if name != "cases")
            print(f"{kind}: {counts['cases']} cases; {rest}")
        print(f"{len(self._failed)} different failures")
