"""Runs lanes side by side on one loop, folds what they emit, and lets somebody watch.

A watcher is a coroutine that runs beside the lanes in real time: a progress bar, a dashboard, the handling
of signals and keys. It sees the `Session` and can pace, pause and stop it; it cannot change a trace but by
an injection.
"""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from itertools import chain, zip_longest
from typing import Any

import anyio
import numpy as np

from emulator.clock import ClockStatistics, EmulatedLoop, Phase, Speed
from emulator.errors import RunError
from emulator.events import Event
from emulator.figures import Figures
from emulator.journal import Block, Journal
from emulator.learner import Learner, LearnerFactory, built_in
from emulator.randomness import Streams
from emulator.runs import Run, RunInterrupted
from emulator.scenario import Scenario
from emulator.scenario.timeline import Event as TimelineEntry
from emulator.signals import interrupting
from emulator.system.system import System
from emulator.trace import TraceHash

_PATIENCE = 0.2  # wall seconds

EventSink = Callable[[Sequence[Event]], None]
"""Takes the next events of a lane, in order."""

LineSink = Callable[[Block, bytes], None]
"""Takes the next events of a lane, and their lines in the trace, each with its newline."""


class LaneView:
    """One lane of a session as a watcher sees it: its scenario, its figures, and injections."""

    def __init__(
        self,
        scenario: Scenario,
        loop: EmulatedLoop,
        sinks: Sequence[EventSink],
        *,
        line_sink: LineSink | None = None,
        keep_events: bool = False,
        learner: Learner | None = None,
    ) -> None:
        self.scenario = scenario
        self.name = scenario.lane
        self.error: RunError | None = None
        # Whoever watches is to get the events little by little, or reading them would halt the clock.
        watched = bool(sinks) or line_sink is not None
        self._journal = Journal(self._read, 1 if watched else scenario.rollout.workers)
        self._system = System(scenario, loop, self._journal, learner)
        self._loop = loop
        self._figures = Figures(scenario)
        self._trace = TraceHash()
        self._sinks = tuple(sinks)
        self._line_sink = line_sink
        self._kept: list[Block] | None = [] if keep_events else None
        self._ended_at: float | None = None

    def _read(self, block: Block) -> None:
        self._figures.add_block(block)
        if self._line_sink is None:
            self._trace.add_block(block)
        else:
            self._line_sink(block, self._trace.add_lines(block))
        if self._kept is not None:
            self._kept.append(block)
        if self._sinks:
            events = block.events()
            for sink in self._sinks:
                sink(events)

    def _recall(self) -> list[Event]:
        assert self._kept is not None
        return list(chain.from_iterable(block.events() for block in self._kept))

    @property
    def figures(self) -> Figures:
        """The figures as of now."""
        self._journal.pass_on()
        return self._figures

    @property
    def now(self) -> float:
        """Emulated seconds: where the lane stands, or where it ended."""
        return self._loop.time() if self._ended_at is None else self._ended_at

    async def run(self) -> None:
        """Run to the end; what makes it impossible to go on is kept in `error`."""
        try:
            await self._system.run()
        except RunError as error:
            self.error = error
        finally:
            self._ended_at = self._loop.time()

    def inject(self, entry: TimelineEntry) -> None:
        """Let a timeline entry take effect now, whatever its time; it is recorded resolved."""
        if self._ended_at is None:
            self._system.timeline.inject(entry)

    def outcome(self, clock: ClockStatistics, *, interrupted: bool) -> Run:
        """What came of it."""
        figures = self.figures
        return Run(
            scenario=self.scenario,
            result=figures.result(self.now),
            hash_trace=self._trace.hexdigest,
            clock=clock,
            name=self.name,
            error=self.error,
            interrupted=interrupted and self.error is None,
            interventions=tuple(figures.interventions),
            recall=None if self._kept is None else self._recall,
        )


class Session:
    """Lanes that run side by side, and the clock that they share."""

    def __init__(self, loop: EmulatedLoop, lanes: Sequence[LaneView]) -> None:
        self.clock = loop
        self.lanes = tuple(lanes)
        self.duration = max(lane.scenario.duration for lane in lanes)
        self.ended = asyncio.Event()
        self.interrupted = False
        self.runs: list[Run] | None = None  # what came of the lanes, once all have ended
        self._scope = anyio.CancelScope()

    def stop(self) -> None:
        """End the run here; what happened so far is kept."""
        if not self.ended.is_set():
            self.interrupted = True
            self._scope.cancel()

    async def run(self) -> None:
        """Run all lanes until each has ended."""
        failures: list[BaseException] = []

        def fail(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            failures.append(context.get("exception") or RuntimeError(context["message"]))
            self._scope.cancel()

        self.clock.set_exception_handler(fail)
        self.clock.call_when_settled(Phase.END, self.clock.begin_pacing)
        try:
            with self._scope:
                async with anyio.create_task_group() as lanes:
                    for lane in self.lanes:
                        lanes.start_soon(lane.run)
        except asyncio.CancelledError:
            # Ctrl-C, where no watcher listens to it.
            self.interrupted = True
            self._conclude()
            raise
        finally:
            self.clock.set_exception_handler(None)  # it knows the session, which knows the clock
        if failures:
            raise failures[0]
        self._conclude()

    def _conclude(self) -> None:
        clock = self.clock.statistics()
        self.runs = [lane.outcome(clock, interrupted=self.interrupted) for lane in self.lanes]


Watcher = Callable[[Session], Coroutine[Any, Any, None]]
"""Watches a session; returns some time after `Session.ended` is set."""


async def watch_nothing(session: Session) -> None:
    """Watch nothing."""


async def ticks(session: Session, seconds: float) -> AsyncIterator[None]:
    """Yield every so many wall seconds, until the session has ended."""
    while not session.ended.is_set():
        yield
        with anyio.CancelScope() as scope:
            timer = session.clock.call_wall_later(seconds, scope.cancel)
            await session.ended.wait()
        timer.cancel()


def run_lanes(
    scenarios: Sequence[Scenario],
    *,
    speed: Speed | None = None,
    watch: Watcher | Sequence[Watcher] = watch_nothing,
    sinks: Sequence[Sequence[EventSink]] = (),
    line_sinks: Sequence[LineSink] = (),
    keep_events: bool = False,
    learner: LearnerFactory = built_in,
) -> list[Run]:
    """Run scenarios side by side on one clock; returns what came of each, in order.

    `speed` is in emulated seconds per wall second, or ``"max"``; None takes the first scenario's. `sinks` and
    `line_sinks` are given the events of the lane that stands at their place; `keep_events` keeps them in
    what is returned. `learner` makes what learns in each lane, in their order.

    Ctrl-C ends the run at once, and raises RunInterrupted with what came of it. Where a loop runs already, as
    in a notebook, that is returned instead, each Run `interrupted`.
    """
    asked = scenarios[0].speed if speed is None else speed
    learners = [_learner_of(scenario, learner) for scenario in scenarios]
    watchers = [w for w in ([watch] if callable(watch) else watch) if w is not watch_nothing]

    session: Session | None = None
    to_stop = False

    async def main() -> list[Run]:
        nonlocal session
        loop = asyncio.get_running_loop()
        assert isinstance(loop, EmulatedLoop)
        lanes = [
            LaneView(
                scenario, loop, taken or (), line_sink=line_sink, keep_events=keep_events, learner=learns
            )
            for scenario, taken, line_sink, learns in zip_longest(scenarios, sinks, line_sinks, learners)
        ]
        session = Session(loop, lanes)
        if to_stop:
            session.stop()
        async with _watching(session, watchers):
            await session.run()
        assert session.runs is not None
        return session.runs

    def run() -> list[Run]:
        with _rare_garbage_collection(), _plain_exceptions():
            return anyio.run(main, backend_options={"loop_factory": partial(EmulatedLoop, asked)})

    def stop() -> None:
        nonlocal to_stop
        to_stop = True
        if session is not None and not session.clock.is_closed():
            session.clock.call_soon_threadsafe(session.stop)

    try:
        if not _in_running_loop():
            return run()
        # In a notebook: another loop runs in this thread, and is blocked until the run is over. Were it for
        # that loop, Ctrl-C would be heard only then.
        with ThreadPoolExecutor(1) as thread, interrupting(stop):
            ending = thread.submit(run)
            while not wait([ending], _PATIENCE).done:
                pass  # on Windows a signal is handled only between two waits
            return ending.result()
    except KeyboardInterrupt as interrupt:
        if type(interrupt) is KeyboardInterrupt and session is not None and session.runs is not None:
            raise RunInterrupted(session.runs) from None
        raise
    finally:
        session = None  # else what has ended lives as long as the frames that called it


def _learner_of(scenario: Scenario, make: LearnerFactory) -> Learner | None:
    learner = make(scenario, Streams(scenario.seed).learner)
    if learner is not None:
        # It may import scipy, which would take the time of many updates once the clock runs.
        scenario.rollout.length.cdf(np.zeros(1))
    return learner


def _in_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@asynccontextmanager
async def _watching(session: Session, watchers: Sequence[Watcher]) -> AsyncIterator[None]:
    if not watchers:
        yield
        return
    async with anyio.create_task_group() as tasks:
        for watch in watchers:
            tasks.start_soon(watch, session)
        yield
        session.ended.set()


@contextmanager
def _plain_exceptions() -> Iterator[None]:
    """Let what a watcher or a sink raises come out as it is, and not in the groups of the tasks around it."""
    try:
        yield
    except BaseExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from first.__cause__


_collecting = threading.Lock()
_collectors: list[tuple[int, int, int]] = []


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """At thousands of tasks the cyclic collector would go through all of them again and again.

    Of runs that overlap, in threads, the last to end puts the thresholds back that the first found.
    """
    with _collecting:
        _collectors.append(_collectors[0] if _collectors else gc.get_threshold())
        gc.set_threshold(1_000_000, 20, 100)
    try:
        yield
    finally:
        with _collecting:
            found = _collectors.pop()
            if not _collectors:
                gc.set_threshold(*found)
