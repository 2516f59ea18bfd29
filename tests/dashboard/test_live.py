"""The dashboard beside a running session: it never changes a trace, and does what keys say."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from emulator import events as ev
from emulator.dashboard import watch_dashboard
from emulator.dashboard.controls import next_speed
from emulator.dashboard.history import History
from emulator.dashboard.injections import straggler_episode
from emulator.dashboard.keys import KeyReader
from emulator.dashboard.live import Dashboard, Options
from emulator.dashboard.scale import scale
from emulator.dashboard.terminal import Terminal
from emulator.runner import EventSink, Session, run_lanes
from emulator.runs import Run
from emulator.scenario import Scenario
from tests.dashboard.scenarios import long_tail

Actor = Callable[[Session, "FakeTerminal"], Coroutine[Any, Any, None]]


class FakeTerminal:
    """A pseudo-terminal whose other end is read and typed on by the test."""

    def __init__(self) -> None:
        self._ours, self.theirs = pty.openpty()
        self.shown = b""
        self.modes = termios.tcgetattr(self.theirs)
        self.resize(100, 30)
        self._done = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def _read(self) -> None:
        while not self._done.is_set():
            if select.select([self._ours], [], [], 0.02)[0]:
                self.shown += os.read(self._ours, 65536)

    def close(self) -> None:
        self._done.set()
        self._reader.join()
        os.close(self._ours)
        os.close(self.theirs)


@contextmanager
def fake_terminal() -> Iterator[FakeTerminal]:
    terminal = FakeTerminal()
    try:
        yield terminal
    finally:
        terminal.close()


def watched(
    scenarios: tuple[Scenario, ...],
    *,
    speed: float = 3600.0,
    act: Actor | None = None,
    sinks: Sequence[EventSink] = (),
    **options: Any,
) -> tuple[list[Run], int, FakeTerminal]:
    """Run with a dashboard, something being done to it meanwhile; also how many frames were drawn."""
    with fake_terminal() as fake:
        options = {"hold": False, "frames_per_second": 30.0} | options
        dashboard = Dashboard(scenarios, Terminal(fake.theirs, fake.theirs, "truecolor"), Options(**options))

        async def watch(session: Session) -> None:
            task = session.clock.create_task(act(session, fake)) if act is not None else None
            await dashboard.watch(session)
            if task is not None:
                await task

        for taken, sink in zip(dashboard.sinks, sinks, strict=False):
            taken.append(sink)
        runs = run_lanes(scenarios, speed=speed, watch=watch, sinks=dashboard.sinks)
        assert termios.tcgetattr(fake.theirs) == fake.modes
        return runs, dashboard.frames, fake


async def until(session: Session, condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, or the session has ended."""
    while not condition() and not session.ended.is_set():
        await session.clock.wall_sleep(0.002)


async def resize(session: Session, fake: FakeTerminal) -> None:
    for columns, rows in ((200, 50), (80, 24), (30, 6)) * 2:
        fake.resize(columns, rows)
        await session.clock.wall_sleep(0.04)


async def fiddle(session: Session, fake: FakeTerminal) -> None:
    for key in "  .-+g?xcgz12+":
        fake.press(key)
        await session.clock.wall_sleep(0.015)
    await until(session, lambda: not session.clock.paused)


@pytest.mark.parametrize("speed", [3600.0, "max"])
def test_the_trace_is_the_same_with_the_dashboard_on_off_resized_and_at_any_frame_rate(speed: Any) -> None:
    lanes = long_tail(64, 450).lane_scenarios()
    traces = [run.trace_sha256 for run in run_lanes(lanes, speed="max")]
    for options in (
        {},
        {"frames_per_second": 1.0},
        {"act": resize},
        {"act": fiddle, "ascii": True},
        {"theme": "light", "frames_per_second": 200.0},
    ):
        runs, frames, _ = watched(lanes, speed=speed, **options)
        assert [run.trace_sha256 for run in runs] == traces, options
        assert frames >= 1 or speed == "max"  # which may be over before there is one


def test_an_injection_hits_the_same_episode_in_every_lane_and_can_be_run_again() -> None:
    lanes = long_tail(8, 2000).lane_scenarios()
    events: list[list[ev.Event]] = [[], []]

    async def act(session: Session, fake: FakeTerminal) -> None:
        await until(session, lambda: session.clock.time() > 100)
        fake.press("s")
        await until(session, lambda: False)

    runs, _, _ = watched(lanes, act=act, sinks=[told.extend for told in events])
    first, second = ([event for event in told if isinstance(event, ev.Inject)] for told in events)
    assert len(first) == len(second) == 1
    assert first[0].action == second[0].action
    assert first[0].t == second[0].t
    again = long_tail(8, 2000, events=[{"at": first[0].t, **first[0].action}]).lane_scenarios()
    assert [run.trace_sha256 for run in run_lanes(again, speed="max")] == [run.trace_sha256 for run in runs]


def test_quitting_interrupts_the_run_and_restores_the_terminal() -> None:
    async def act(session: Session, fake: FakeTerminal) -> None:
        await until(session, lambda: session.clock.time() > 10)
        fake.press("q")

    (run,), _, fake = watched((long_tail(8, 1e6),), speed=600.0, act=act, hold=True)
    assert run.interrupted
    assert 10 < run.result["emulated_seconds"] < 1e5
    assert fake.shown.startswith(b"\x1b[?1049h\x1b[?25l")
    assert fake.shown.endswith(b"\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l")


def test_a_signal_ends_the_run_and_is_reported() -> None:
    async def act(session: Session, fake: FakeTerminal) -> None:
        await until(session, lambda: session.clock.time() > 10)
        signal.raise_signal(signal.SIGTERM)

    told: list[signal.Signals] = []
    (run,), _, _ = watched((long_tail(8, 1e6),), speed=600.0, act=act, hold=True, on_signal=told.append)
    assert run.interrupted
    assert told == [signal.SIGTERM]


def test_exporting_saves_the_frame_as_a_picture(tmp_path: Path) -> None:
    async def act(session: Session, fake: FakeTerminal) -> None:
        await until(session, lambda: session.clock.time() > 10)
        fake.press("e")
        await until(session, lambda: any(tmp_path.iterdir()))
        fake.press("q")

    watched((long_tail(8, 1e6),), speed=600.0, act=act, folder=tmp_path)
    (picture,) = tmp_path.iterdir()
    assert picture.name.startswith("long-tail-0000")
    assert "ASYNCHRONOUS" in picture.read_text(encoding="utf-8")


def test_a_terminal_that_takes_nothing_costs_frames_and_not_emulated_time() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    lanes = long_tail(64, 1800).lane_scenarios()
    terminal = Terminal(theirs, None, "truecolor")
    dashboard = Dashboard(lanes, terminal, Options(hold=False, frames_per_second=30))

    sessions: list[Session] = []

    def take_in_the_end() -> None:
        while not (sessions and sessions[0].ended.is_set()):
            time.sleep(0.005)
        while select.select([ours], [], [], 0.2)[0]:
            os.read(ours, 65536)

    taker = threading.Thread(target=take_in_the_end)
    taker.start()

    async def watch(session: Session) -> None:
        sessions.append(session)
        await dashboard.watch(session)

    runs = run_lanes(lanes, speed=3600.0, watch=watch, sinks=dashboard.sinks)
    taker.join()
    os.close(ours)
    os.close(theirs)
    assert runs[0].result["emulated_seconds"] == 1800
    assert dashboard.frames <= 3


def test_keys_are_read_whole_however_they_are_cut() -> None:
    assert KeyReader().feed(b" q+\r") == ["space", "q", "+", "enter"]
    assert KeyReader().feed(b"\x1b[A\x1b[1~\x1bOF") == ["up", "home", "end"]
    assert KeyReader().feed("é?".encode()) == ["é", "?"]
    cut = KeyReader()
    assert cut.feed(b"s\x1b") == ["s"]
    assert cut.feed(b"[") == []
    assert cut.feed(b"Dq") == ["left", "q"]
    assert KeyReader().feed(b"\x1b[200~paste") == list("paste")


def test_speeds_go_up_and_down_a_ladder() -> None:
    assert [next_speed(speed, up=True) for speed in (1, 45, 3600, "max")] == [10, 60, "max", "max"]
    assert [next_speed(speed, up=False) for speed in ("max", 45, 1, 0.5)] == [3600, 30, 1, 0.5]


def test_the_straggler_is_an_episode_that_no_lane_has_finished_and_most_lanes_run() -> None:
    lanes = long_tail(2).lane_scenarios()
    slow, fast = (History(lane, scale(lanes)) for lane in lanes)
    assert straggler_episode([slow, fast]) is None
    slow.add([ev.Start(0.0, 0, 0, 0, 0, 9.0), ev.Start(0.0, 1, 1, 1, 0, 9.0)])
    fast.add([ev.Start(0.0, 0, 0, 0, 0, 9.0), ev.Start(0.0, 1, 1, 1, 0, 9.0)])
    fast.add([ev.Finish(9.0, 0, 0), ev.Start(9.0, 0, 2, 2, 0, 9.0)])
    assert straggler_episode([slow, fast]) == 1
    fast.add([ev.Finish(9.0, 1, 1), ev.Start(9.0, 1, 3, 3, 0, 9.0)])
    assert straggler_episode([slow, fast]) == 3


def test_a_dashboard_needs_a_terminal_and_a_theme_that_there_is(tmp_path: Path) -> None:
    scenario = long_tail()
    with (tmp_path / "file").open("w") as file, pytest.raises(ValueError, match="needs a terminal"):
        watch_dashboard([scenario], output=file)
    with pytest.raises(ValueError, match="'blue'; it must be one of dark, light, plain"):
        watch_dashboard([scenario], theme="blue")


def test_without_keys_nothing_is_held() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as output, Path(os.devnull).open(encoding="utf-8") as nothing:
        watch, sinks = watch_dashboard([long_tail(4, 60)], output=output, keys=nothing)
        (run,) = run_lanes([long_tail(4, 60)], speed="max", watch=watch, sinks=sinks)
    os.close(ours)
    assert run.result["emulated_seconds"] == 60
