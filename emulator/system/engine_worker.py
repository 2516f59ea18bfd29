"""A rollout worker whose episodes go through engines: resets, requests, and tools between them."""

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from math import inf

from emulator import events as ev
from emulator.system.chronicle import Chronicle
from emulator.system.engine import Request
from emulator.system.engines import Engines
from emulator.system.episodes import Episode
from emulator.system.sandboxes import Attempts, SandboxPool
from emulator.system.trips import Trip, Trips
from emulator.system.worker import Worker


class _Phase(Enum):
    RESET = auto()
    RESUMING = auto()
    ENGINE = auto()
    ACTING = auto()


class EngineWorker(Worker):
    """A worker that asks an engine for each turn, and uses a tool between turns.

    Its task sleeps through resets and tools on the worker's alarm, and while an engine has its request until
    that is done and there is something to sleep for again. A timeout has a timer of its own.
    """

    __slots__ = ("_due", "_engines", "_fail", "_finish", "_limit", "_phase", "_trips")

    def __init__(
        self,
        number: int,
        *,
        chronicle: Chronicle,
        sandboxes: SandboxPool,
        speed: float,
        attempts: Attempts | None,
        resume_overhead: float,
        engines: Engines,
        trips: Trips,
    ) -> None:
        super().__init__(
            number,
            chronicle=chronicle,
            sandboxes=sandboxes,
            speed=speed,
            attempts=attempts,
            resume_overhead=resume_overhead,
        )
        self._engines = engines
        self._trips = trips
        self._limit: asyncio.TimerHandle | None = None
        self._phase = _Phase.RESET
        self._due = 0.0

    async def run(self, finished: Callable[[Worker], None], failed: Callable[[Worker, str], None]) -> None:
        """Sleep through what is not generating, and ask for the next turn after it; for ever."""
        self._finish, self._fail = finished, failed
        while True:
            await self._alarm
            self._go_on()

    @property
    def trip(self) -> Trip:
        """The trip of the running episode."""
        trip = self.running.trip
        assert trip is not None
        return trip

    # -- an attempt ---------------------------------------------------------------------------------

    def take(self, episode: Episode) -> None:
        """Begin the episode, or go on with a paused one, as soon as there is a sandbox for it."""
        self.episode = episode
        if episode.trip is None:
            episode.trip = self._trips.begin()
        self._begin_with_sandbox(episode)

    def _begin(self, *, from_line: bool = False) -> None:
        episode, trip, now = self.running, self.trip, self._loop.now
        if episode.remaining is None:
            trip.start_over()
            reset, limit = 0.0, inf
            if (attempts := self._attempts) is not None:
                episode.fails = attempts.next_fails()
                reset, limit = attempts.next_reset() / self.effective_speed, attempts.timeout_seconds
            self._phase = _Phase.RESET
        else:
            episode.remaining = None
            reset, trip.overhead_left = self._resume_overhead + trip.overhead_left, 0.0
            limit = episode.time_left
            self._phase = _Phase.RESUMING
        if limit != inf:
            self._limit = self._chronicle.timers.call_at(now + limit, self._time_out)
        self._sleep(reset)

    def _sleep(self, seconds: float) -> None:
        """Go on after so many seconds, at once if none."""
        if seconds > 0:
            if self._phase is not _Phase.ACTING:
                self._chronicle.emit(ev.Overhead(self._loop.now, self.number))
            self._set_due(self._loop.now + seconds)
        else:
            self._go_on()

    def _set_due(self, due: float) -> None:
        self._due = due
        self._alarm.set(due)

    def _go_on(self) -> None:
        """A reset, a tool or the overhead of a resumption is over."""
        if self._phase is _Phase.RESUMING:
            trip = self.trip
            until, trip.tool_until = trip.tool_until, 0.0
            if until > self._loop.now:
                self._phase = _Phase.ACTING
                self._chronicle.emit(ev.Act(self._loop.now, self.number))
                self._set_due(until)
                return
        self.ask()

    def ask(self) -> None:
        """Ask an engine for the present turn, or for what is left of it."""
        episode = self.episode
        assert episode is not None
        trip = episode.trip
        assert trip is not None
        self._phase = _Phase.ENGINE
        engine = trip.engine
        lost = engine is not None and engine.crashes != trip.crashes  # and what it held with it
        if engine is None or lost:
            trip.engine = engine = self._engines.choose(self.number, episode.group.number)
            trip.crashes = engine.crashes
        request = trip.request
        if request is None:
            request = trip.request = self._request(episode, trip)
        request.asker = self
        if lost:
            request.fresh = request.context
        engine.join(request)

    def _request(self, episode: Episode, trip: Trip) -> Request:
        plan, turn = trip.plan, trip.turn
        new = plan.turns[turn - 1].tool_tokens if turn else plan.prompt
        context = trip.context + new
        fresh = new if turn and self._engines.keeps_cache else context
        return Request(self, episode, plan.turns[turn].tokens * episode.factor, context, fresh)

    def turn_over(self) -> None:
        """The last token of the turn is there: use the tool, or end the attempt."""
        episode = self.episode
        assert episode is not None
        trip = episode.trip
        assert trip is not None
        assert trip.request is not None
        trip.context = trip.request.context
        trip.request = None
        turns, turn = trip.plan.turns, trip.turn
        trip.turn = following = turn + 1
        if following < len(turns):
            self._phase = _Phase.ACTING
            self._sleep(turns[turn].tool_seconds * episode.factor / self.effective_speed)
            return
        self._stop_timers()
        if episode.fails:
            self._retry_or_fail(self._fail, "failure")
        else:
            self._finish(self)

    def _time_out(self) -> None:
        self._limit = None
        self._retry_or_fail(self._fail, "timeout")

    def _retry_or_fail(self, failed: Callable[[Worker, str], None], cause: str) -> None:
        self._leave_engine()
        super()._retry_or_fail(failed, cause)
        self._engines.serve()

    def set_aside(self) -> Episode:
        """Let go of the episode, which keeps its sandbox and its progress."""
        episode, now = self.running, self._loop.now
        if self.in_sandbox_line:
            self.in_sandbox_line = False
            self._sandboxes.leave_line(self.number)
        else:
            trip = self.trip
            episode.remaining = 0.0  # what is left is in the trip
            episode.time_left = inf if self._limit is None else self._limit.when() - now
            if self._alarm.is_set:
                if self._phase is _Phase.ACTING:
                    trip.tool_until = self._due
                else:
                    trip.overhead_left = self._due - now
            self._leave_engine()
        self._stop_timers()
        self.episode = None
        return episode

    def _leave_engine(self) -> None:
        trip = self.trip
        if trip.request is not None and trip.engine is not None:
            trip.engine.take_out(trip.request, cached=self._engines.keeps_cache)

    def _stop_timers(self) -> None:
        self._alarm.clear()
        if self._limit is not None:
            self._chronicle.timers.call_off(self._limit)
            self._limit = None

    # -- what moves it ------------------------------------------------------------------------------

    @property
    def _is_served(self) -> bool:
        """Whether an engine runs its request."""
        return (
            self.episode is not None
            and self._phase is _Phase.ENGINE
            and not self.in_sandbox_line
            and self.trip.request is not None
            and self.trip.request.order > 0
        )

    def freeze(self, seconds: float, until: float) -> None:
        """Generate nothing: the engines stand still. Resets and tools go on."""
        if self._is_served:
            self.running.stop_generating(self._loop.now)

    def thaw(self) -> None:
        """Go on after a freeze."""
        if self._is_served:
            self.running.generating_since = self._loop.now

    def refresh(self, version: int, overhead: float) -> None:
        """Move the running episode to a new version; the overhead is the engines'."""
        self.running.change_version(version, self._loop.now)

    def multiply_duration(self, factor: float) -> None:
        """Make what is to come of the running episode take `factor` times as long."""
        self.running.multiply_duration(factor)
        if not self.in_sandbox_line:
            self.trip.lengthen(factor)

    def _rescale(self, scale: Callable[[float], float]) -> None:
        if self.runs and self._alarm.is_set and self._phase in (_Phase.RESET, _Phase.ACTING):
            now = self._loop.now
            self._set_due(now + scale(self._due - now))
