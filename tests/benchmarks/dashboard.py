"""What the dashboard costs: ``python tests/benchmarks/dashboard.py``.

Frames are drawn as fast as they come from a folded hour and their cost is told as a share of a core at ten
frames a second; the fold is told as seconds for each million events. Then a run at 3600 times the wall clock
is watched on a pseudo-terminal, and alone, and both say what speed they achieved and what CPU they took.
"""

import fcntl
import os
import pty
import struct
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from emulator import load_scenario
from emulator.dashboard.frame import draw
from emulator.dashboard.history import History
from emulator.dashboard.live import Dashboard, Options
from emulator.dashboard.scale import scale
from emulator.dashboard.state import ClockReading, ShownLane
from emulator.dashboard.terminal import Terminal
from emulator.dashboard.theme import DARK
from emulator.events import Event
from emulator.runner import run_lanes
from emulator.scenario import Scenario

FRAMES_PER_SECOND = 10
FRAMES = 100


def scenario(workers: int, duration: float) -> Scenario:
    """The reference hour, with another number of workers and as long as is asked."""
    overrides = [f"rollout.workers={workers}", f"trainer.batch_size={workers}", f"duration={duration}"]
    return load_scenario("stragglers", overrides=overrides)


def drain(fd: int) -> threading.Thread:
    """Read what is written to a pseudo-terminal until it is closed."""

    def read() -> None:
        try:
            while os.read(fd, 65536):
                pass
        except OSError:
            pass

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


@contextmanager
def pseudo_terminal(size: tuple[int, int]) -> Iterator[int]:
    """A terminal of so many columns and rows that somebody reads from."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    drain(ours)
    try:
        yield theirs
    finally:
        os.close(theirs)


def lane(workers: int) -> ShownLane:
    """The reference hour as it stands after 25 minutes."""
    watched = scenario(workers, 1500)
    lane = ShownLane.fresh(watched, scale([watched]))
    run_lanes([watched], speed="max", sinks=[[lane.add]])
    lane.history.advance(1500)
    return lane


def frame_cost(lanes: Sequence[ShownLane], size: tuple[int, int]) -> float:
    """CPU seconds of a frame that is new in every row, its writing included."""
    ours, theirs = pty.openpty()
    drain(ours)
    terminal = Terminal(theirs, None, "truecolor")
    begun = time.process_time()
    for frame in range(FRAMES):
        t = lanes[0].history.t
        clock = ClockReading(t + frame, 60.0, 59.9)
        terminal.draw(draw(lanes, clock, size), DARK)
        while terminal.busy:
            time.sleep(0.0005)
        terminal.forget()
    cost = (time.process_time() - begun) / FRAMES
    terminal.close()
    return cost


def fold_cost(workers: int) -> tuple[int, float]:
    """How many events there were, and the CPU seconds that it took to fold them."""
    watched = scenario(workers, 600)
    events: list[Event] = []
    run_lanes([watched], speed="max", sinks=[[events.extend]])
    history = History(watched, scale([watched]))
    begun = time.process_time()
    history.add(events)
    return len(events), time.process_time() - begun


def watched(
    workers: int, size: tuple[int, int], *, speed: float, wall: float, on: bool
) -> tuple[float, float]:
    """The achieved speed, and the CPU seconds for each wall second, of a run at `speed`."""
    run = scenario(workers, speed * wall)
    with pseudo_terminal(size) as theirs:
        begun, begun_wall = time.process_time(), time.monotonic()
        if on:
            dashboard = Dashboard([run], Terminal(theirs, None, "truecolor"), Options(hold=False))
            outcome = run_lanes([run], speed=speed, watch=dashboard.watch, sinks=dashboard.sinks)[0]
        else:
            outcome = run_lanes([run], speed=speed)[0]
    cpu, passed = time.process_time() - begun, time.monotonic() - begun_wall
    return outcome.clock.achieved_speed or 0.0, cpu / passed


def main() -> None:
    """Print all measurements."""
    for workers, size, most in ((64, (100, 30), 3.0), (1024, (200, 50), 8.0)):
        cost = frame_cost([lane(workers)], size)
        share = cost * FRAMES_PER_SECOND * 100
        frame = f"{cost * 1e3:.1f} ms a frame, {share:.1f} % of a core (at most {most:g} %)"
        print(f"{workers} workers at {size[0]}x{size[1]}: {frame}")
        events, seconds = fold_cost(workers)
        print(f"{workers} workers: the fold takes {seconds / events * 1e6:.2f} s for a million events")
    for workers, size, speed in ((64, (100, 30), 3600.0), (64, (100, 30), 60.0), (1024, (200, 50), 60.0)):
        alone, cpu_alone = watched(workers, size, speed=speed, wall=10, on=False)
        shown, cpu_shown = watched(workers, size, speed=speed, wall=10, on=True)
        reached = f"{alone / speed:.1%} of the speed alone, {shown / speed:.1%} watched"
        cost = f"{cpu_alone:.1%} of a core alone, {cpu_shown:.1%} watched"
        print(f"{workers} workers at {speed:g}x: {reached}; {cost}")


if __name__ == "__main__":
    main()
