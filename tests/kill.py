"""Runs killed at random moments, and what their recordings lost: ``python -m tests.kill --times 100``.

A run is the command line's own, with one more watcher that reports to the test what the wall clock and the
emulated time are. What it had recorded is compared, event by event, with the same run that nobody kills. What
happened and is not in the recording was lost: the first of it so many seconds before the kill.
"""

import argparse
import os
import pty
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from struct import Struct

import anyio

import emulator
from emulator.cli import main as command_line
from emulator.cli.watching import Watching
from emulator.events import Event
from emulator.recording import Recording, read_recording
from emulator.runner import Session, ticks

ALLOWED = 1.0
"""Wall seconds of what happened that may be lost."""
LONGEST = 2.0
"""Wall seconds after which the last is killed."""

_EVERY = 0.02  # wall seconds between two reports
_REPORT = Struct("2d")  # wall seconds, emulated seconds


@dataclass(frozen=True)
class Way:
    """A way to run: the command, how fast, how compressed; on a terminal unless it is `headless`."""

    command: str
    speed: str
    suffix: str = ".jsonl"
    headless: bool = True


WAYS = [
    Way(command, speed, suffix)
    for command in ("run", "race")
    for speed in ("60", "3600", "max")
    for suffix in (".jsonl", ".jsonl.gz")
] + [Way("run", "3600", headless=False), Way("race", "600", ".jsonl.gz", headless=False)]


@dataclass(frozen=True)
class Loss:
    """What a kill cost, in wall seconds, of how many events; `stall` is the longest time without a report."""

    seconds: float
    events: int
    stall: float


def kill(way: Way, folder: Path, after: float) -> Loss:
    """Kill a run `after` so many wall seconds of its life; AssertionError if its recording is not true."""
    path = folder / f"killed{way.suffix}"
    path.unlink(missing_ok=True)
    ours, theirs = pty.openpty()
    reports, reported = os.pipe()
    words = [sys.executable, "-m", "tests.kill", "--report-to", str(reported), way.command, "stragglers"]
    words += ["--speed", way.speed, "--set", "duration=10000d", "--record", str(path)]
    words += ["--json", "--quiet"] if way.headless else []
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, pass_fds=[reported]
    )
    os.close(reported)
    os.close(theirs)
    try:
        first = os.read(reports, _REPORT.size)
        assert first, os.read(ours, 65536).decode(errors="replace")
        time.sleep(after)
        killed_at = time.monotonic()
        process.kill()
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    with os.fdopen(reports, "rb") as rest:
        data = first + rest.read()
    told = list(_REPORT.iter_unpack(data[: len(data) // _REPORT.size * _REPORT.size]))
    walls = [wall for wall, _ in told] + [killed_at]
    stall = max(b - a for a, b in pairwise(walls))
    recording = read_recording(path)
    assert recording.cut is not None
    missing = [
        _missing(lane.events, true)
        for lane, true in zip(recording.lanes, _truth(recording, told[-1][1]), strict=True)
    ]
    lost = [killed_at - wall for rest_of in missing for wall, now in told if rest_of and now > rest_of[0].t]
    happened = [event for rest_of in missing for event in rest_of if event.t < told[-1][1]]
    return Loss(max(lost, default=0.0), len(happened), stall)


def _truth(recording: Recording, now: float) -> list[list[Event]]:
    """The events of the same run until somewhat later."""
    last = max([now, *(lane.events[-1].t for lane in recording.lanes if lane.events)])
    scenario = recording.scenario.model_copy(update={"duration": 1.1 * last + 100})
    if recording.is_race:
        return [list(run.events) for run in emulator.race(scenario, speed="max", keep_events=True)]
    return [list(emulator.run(scenario, speed="max", keep_events=True).events)]


def _missing(events: list[Event], truth: list[Event]) -> list[Event]:
    assert list(events) == truth[: len(events)], "what was recorded did not happen"
    return truth[len(events) :]


def _report(to: int) -> None:
    """Let every run of this process report."""
    watch = Watching.watch

    async def report(session: Session) -> None:
        async for _ in ticks(session, _EVERY):
            os.write(to, _REPORT.pack(time.monotonic(), session.clock.now))

    async def watch_and_report(self: Watching, session: Session) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(report, session)
            await watch(self, session)

    Watching.watch = watch_and_report  # type: ignore[method-assign]


def main(arguments: list[str]) -> int:
    """Kill as often as asked and say what it cost; 1 if ever more was lost than is allowed."""
    if arguments[:1] == ["--report-to"]:
        _report(int(arguments[1]))
        command_line(arguments[2:])
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    choice = random.Random(asked.seed)
    losses: list[Loss] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(asked.times):
            way = WAYS[number % len(WAYS)]
            loss = kill(way, Path(folder), choice.uniform(0.0, LONGEST))
            losses.append(loss)
            print(
                f"{number + 1}: {way}: {loss.seconds:.2f} s, {loss.events} events, stall {loss.stall:.2f} s",
                flush=True,
            )
    worst = max(loss.seconds for loss in losses)
    over = sum(loss.seconds >= ALLOWED for loss in losses)
    print(
        f"{asked.times} kills: {over} lost {ALLOWED:g} s or more of what happened; the most was {worst:.2f} s"
    )
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
