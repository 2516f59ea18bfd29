"""Runs lanes side by side on one loop, folds what they emit, and lets somebody watch.

A watcher is a coroutine that runs beside the lanes in real time: a progress bar, a dashboard, the handling
of signals and keys. It sees the `Session` and can pace, pause and stop it; it cannot change a trace but by
an injection.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import anyio

from emulator.clock import ClockStatistics, EmulatedLoop, Speed
from emulator.errors import RunError
from emulator.events import Event, TraceHash
from emulator.metrics import Figures
from emulator.scenario import Scenario
from emulator.scenario.timeline import Event as TimelineEntry
from emulator.system.lane import Lane
from emulator.version import __version__

SCHEMA = 1
"""The version of the result's form."""

_BLOCK = 4096  # events that are folded and hashed in one go

EventSink = Callable[[Sequence[Event]], None]
"""Takes the next events of a lane, in order."""


@dataclass(frozen=True)
class Run:
    """What came of one lane.

    `result` holds what the JSON output calls ``result``, until the end or until where the run was cut short.
    `error` says why it could not go on; `interrupted` that a person ended it. `name` is a lane's, in a race.
    """

    scenario: Scenario
    result: dict[str, Any]
    trace_sha256: str
    clock: ClockStatistics
    name: str | None = None
    error: RunError | None = None
    interrupted: bool = False

    def to_json(self) -> dict[str, Any]:
        """The object that ``--json`` prints, of plain JSON values."""
        lines: dict[str, Any] = {} if self.name is None else {"name": self.name}
        lines |= {
            "schema": SCHEMA,
            "emulator": __version__,
            "scenario": self.scenario.resolved(),
            "seed": self.scenario.seed,
            "result": self.result,
            "trace_sha256": self.trace_sha256,
            "clock": asdict(self.clock),
        }
        if self.error is not None:
            lines["error"] = str(self.error)
        if self.interrupted:
            lines["interrupted"] = True
        return lines


class LaneView:
    """One lane of a session as a watcher sees it: its scenario, its figures, and injections."""

    def __init__(self, scenario: Scenario, loop: EmulatedLoop, sinks: Sequence[EventSink]) -> None:
        self.scenario = scenario
        self.name = scenario.lane
        self.error: RunError | None = None
        self._lane = Lane(scenario, loop, self._take)
        self._loop = loop
        self._figures = Figures(scenario)
        self._hash = TraceHash()
        self._sinks = (self._figures.add, self._hash.add, *sinks)
        self._events: list[Event] = []
        self._ended_at: float | None = None

    def _take(self, event: Event) -> None:
        self._events.append(event)
        if len(self._events) >= _BLOCK:
            self._flush()

    def _flush(self) -> None:
        events, self._events = self._events, []
        for sink in self._sinks:
            sink(events)

    @property
    def figures(self) -> Figures:
        """The figures as of now."""
        if self._events:
            self._flush()
        return self._figures

    @property
    def now(self) -> float:
        """Emulated seconds: where the lane stands, or where it ended."""
        return self._loop.time() if self._ended_at is None else self._ended_at

    async def run(self) -> None:
        """Run to the end; what makes it impossible to go on is kept in `error`."""
        try:
            await self._lane.run()
        except RunError as error:
            self.error = error
        finally:
            self._ended_at = self._loop.time()

    def inject(self, entry: TimelineEntry) -> None:
        """Let a timeline entry take effect now, whatever its time; it is recorded resolved."""
        if self._ended_at is None:
            self._lane.timeline.inject(entry)

    def outcome(self, clock: ClockStatistics, *, interrupted: bool) -> Run:
        """What came of it."""
        figures = self.figures
        return Run(
            scenario=self.scenario,
            result=figures.result(self.now),
            trace_sha256=self._hash.hexdigest(),
            clock=clock,
            name=self.name,
            error=self.error,
            interrupted=interrupted and self.error is None,
        )


class Session:
    """Lanes that run side by side, and the clock that they share."""

    def __init__(self, loop: EmulatedLoop, lanes: Sequence[LaneView]) -> None:
        self.clock = loop
        self.lanes = tuple(lanes)
        self.duration = max(lane.scenario.duration for lane in lanes)
        self.ended = asyncio.Event()
        self.interrupted = False
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
        with self._scope:
            async with anyio.create_task_group() as lanes:
                for lane in self.lanes:
                    lanes.start_soon(lane.run)
        if failures:
            raise failures[0]


Watcher = Callable[[Session], Coroutine[Any, Any, None]]
"""Watches a session; returns some time after `Session.ended` is set."""


async def watch_nothing(session: Session) -> None:
    """Watch nothing."""


def run_lanes(
    scenarios: Sequence[Scenario],
    *,
    speed: Speed | None = None,
    watch: Watcher = watch_nothing,
    sinks: Sequence[Sequence[EventSink]] = (),
) -> list[Run]:
    """Run scenarios side by side on one clock; returns what came of each, in order.

    `speed` is in emulated seconds per wall second, or ``"max"``; None takes the first scenario's. `sinks` are
    given the events of the lane that stands at their place.
    """
    asked = scenarios[0].speed if speed is None else speed

    async def main() -> list[Run]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, EmulatedLoop)
        taken = [*sinks, *[()] * (len(scenarios) - len(sinks))]
        session = Session(loop, [LaneView(s, loop, t) for s, t in zip(scenarios, taken, strict=True)])
        async with _watching(session, watch):
            await session.run()
            clock = loop.statistics()
        return [lane.outcome(clock, interrupted=session.interrupted) for lane in session.lanes]

    with _rare_garbage_collection():
        return anyio.run(main, backend_options={"loop_factory": partial(EmulatedLoop, asked)})


@asynccontextmanager
async def _watching(session: Session, watch: Watcher) -> AsyncIterator[None]:
    if watch is watch_nothing:
        yield
        return
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch, session)
        yield
        session.ended.set()


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """At thousands of tasks the cyclic collector would go through all of them again and again."""
    thresholds = gc.get_threshold()
    gc.set_threshold(200_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
