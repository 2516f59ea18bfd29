"""Emulated time: an asyncio event loop whose ``time()`` is the time of the emulated system.

Code that emulates something says ``await asyncio.sleep(20)`` and means 20 emulated seconds.
Nothing else in the package multiplies or divides by a speed.

**Pacing.** The loop never computes the time from the wall clock; it *steps* from timer to timer
and, before it steps to a timer due at ``t``, really waits until the wall clock reads
``anchor_wall + (t - anchor_time) / speed``. So emulated time never overtakes a timer that has not
run, and what happens does not depend on the speed or on the machine: only when it happens does.
A machine that cannot keep up makes emulated time *dilate*. A lag of up to ``CATCH_UP`` wall
seconds is caught up; what exceeds it is forgiven by moving the anchor, so that a run never races
after a stall. Pausing, a new speed and a process that was stopped move the anchor too.

**Order.** At one instant timers run one at a time, first set first run, each followed by all that
it makes ready: how many turns of the loop a wake-up takes makes no difference. When nothing is
ready and no timer is due any more, the instant has *settled*, and callbacks given to
`call_when_settled` run, lowest phase first, one at a time; anything that one of them makes ready
or due runs before the next.

**Real events.** A key, a socket or the end of a subprocess is polled for as on any loop. It takes
the emulated time that the wall clock maps to, though never later than the next timer; under
``max`` and in a pause it takes the time that the loop stands at. Timers of the wall clock
(`call_wall_later`, `wall_sleep`) are such events: views are paced by them and so never set a
timer in emulated time.

Of asyncio's private parts the loop uses ``_run_once``, ``_ready``, ``_stopping``, ``_selector``,
``_process_events`` and the ``_scheduled`` mark of a timer handle; no other module uses any.
"""

import asyncio
import heapq
import itertools
import math
import selectors
import time
from collections import deque
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, Protocol, TypeVarTuple

CATCH_UP = 0.05
"""Wall seconds of lag that are caught up; the rest is forgiven."""

_POLL_INTERVAL = 0.005  # wall seconds for which a busy loop may leave the OS unasked
_TURNS_PER_LOOK = 64  # turns for which it does not even look at the wall clock
_LONGEST_WAIT = 86_400.0  # the OS refuses much longer ones
_FEW_CANCELLED = 128  # cancelled timers that may lie in the heap before it is swept

Speed = float | Literal["max"]
"""Emulated seconds per wall second, or ``"max"``: as fast as the machine can."""

_Ts = TypeVarTuple("_Ts")
_SelectorEvents = list[tuple[selectors.SelectorKey, int]]


class Phase(IntEnum):
    """The order in which callbacks run when an instant has settled."""

    TRAINER = 0
    TIMELINE = 1
    CHECK = 2
    END = 3


class Wall(Protocol):
    """The wall clock and the waiting on it; tests put one of their own in its place."""

    def now(self) -> float:
        """Seconds since some fixed moment; never goes back."""

    def select(self, selector: selectors.BaseSelector, timeout: float | None) -> _SelectorEvents:
        """Wait at most `timeout` seconds (None: for ever) for the selector's files."""


class MonotonicWall:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Seconds of `time.monotonic`."""
        return time.monotonic()

    def select(self, selector: selectors.BaseSelector, timeout: float | None) -> _SelectorEvents:
        """Block in the operating system."""
        return selector.select(timeout)


@dataclass(frozen=True)
class ClockStatistics:
    """How the emulated time went by, seen from the wall.

    `asked_speed` is the last one asked for. `achieved_speed` is emulated seconds per wall second,
    pauses excluded (None before any wall time has passed). `worst_lag_ms` is in wall
    milliseconds, None if no timer was ever paced.
    """

    asked_speed: Speed
    achieved_speed: float | None
    wall_seconds: float
    paused_seconds: float
    worst_lag_ms: float | None


class _Timer(asyncio.TimerHandle):
    __slots__ = ()
    _scheduled: bool


def _parse_speed(speed: Speed) -> float:
    if speed == "max":
        return math.inf
    if isinstance(speed, str) or not (speed > 0 and math.isfinite(speed)):
        raise ValueError(f"speed is {speed!r}; it must be a number above 0, or 'max'")
    return float(speed)


class EmulatedLoop(asyncio.SelectorEventLoop):
    """An asyncio event loop that runs in emulated time, from 0."""

    _ready: deque[asyncio.Handle]
    _stopping: bool
    _selector: selectors.BaseSelector
    _process_events: Callable[[_SelectorEvents], None]
    _check_closed: Callable[[], None]

    def __init__(self, speed: Speed = "max", wall: Wall | None = None) -> None:
        super().__init__()
        self._speed = math.inf
        self._wall = wall or MonotonicWall()
        self._now = 0.0
        self._timers: list[tuple[float, int, _Timer]] = []
        self._cancelled_timers = 0
        self._wall_timers: list[tuple[float, int, _Timer]] = []
        self._settled: list[tuple[int, int, asyncio.Handle]] = []
        self._order = itertools.count()
        self._turns = 0
        self._last_poll = -math.inf
        self._listened = False
        # Pacing: None until time first has to move, so that setting up costs no lag.
        self._anchor_wall: float | None = None
        self._anchor_time = 0.0
        self._paused_at: float | None = None
        self._steps = 0
        self._begun_wall = 0.0
        self._begun_time = 0.0
        self._paused_seconds = 0.0
        self._worst_lag: float | None = None
        try:
            self._speed = _parse_speed(speed)
        except ValueError:
            self.close()
            raise

    # -- the loop that asyncio and its users see ------------------------------------------------

    def time(self) -> float:
        """The emulated time, in seconds since the loop was made."""
        return self._now

    def call_at(
        self, when: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run `callback(*args)` at the emulated time `when`, after all that was set for it before.

        Raises ValueError if `when` is not a number.
        """
        if when != when:  # noqa: PLR0124  (nan would corrupt the heap without a word)
            raise ValueError("a timer is due at nan; its due time must be a number")
        self._check_closed()
        handle = _Timer(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._order), handle))
        handle._scheduled = True
        return handle

    def call_later(
        self, delay: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run `callback(*args)` after `delay` emulated seconds."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_when_settled(
        self, phase: Phase, callback: Callable[[*_Ts], object], *args: *_Ts
    ) -> asyncio.Handle:
        """Run `callback(*args)` when nothing else is ready or due at this instant, by phase."""
        handle = asyncio.Handle(callback, args, self)
        heapq.heappush(self._settled, (phase, next(self._order), handle))
        return handle

    def call_wall_later(
        self, delay: float, callback: Callable[[*_Ts], object], *args: *_Ts
    ) -> asyncio.TimerHandle:
        """Run `callback(*args)` after `delay` seconds of the wall clock, paused or not."""
        when = self._wall.now() + delay
        handle = _Timer(when, callback, args, self)
        heapq.heappush(self._wall_timers, (when, next(self._order), handle))
        return handle

    async def wall_sleep(self, delay: float) -> None:
        """Sleep for `delay` seconds of the wall clock; sets no timer in emulated time."""
        woken = self.create_future()
        handle = self.call_wall_later(delay, _set_result_unless_done, woken)
        try:
            await woken
        finally:
            handle.cancel()

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Wait for the executor's threads, without asyncio's limit.

        That limit would be a timer in emulated time, which may go by in no time at all.
        """
        await super().shutdown_default_executor()

    def close(self) -> None:
        """Close the loop; timers still set never run."""
        super().close()
        self._timers.clear()
        self._wall_timers.clear()
        self._settled.clear()

    # -- what a person does to the time -----------------------------------------------------------

    @property
    def speed(self) -> Speed:
        """The speed asked for."""
        return "max" if self._speed == math.inf else self._speed

    @speed.setter
    def speed(self, speed: Speed) -> None:
        new = _parse_speed(speed)
        self._anchor_here()
        self._speed = new

    @property
    def paused(self) -> bool:
        """Whether emulated time stands still until `resume`."""
        return self._paused_at is not None

    def pause(self) -> None:
        """Hold emulated time when the present instant has settled."""
        if self._paused_at is None:
            self._anchor_here()
            self._paused_at = self._wall.now()

    def resume(self) -> None:
        """Go on from where emulated time stands."""
        if self._paused_at is not None:
            if self._anchor_wall is not None:
                # While paused the time is what it stands at, so that nothing of the pause is caught up.
                self._paused_seconds += self._wall.now() - self._paused_at
                self._anchor_here()
            self._paused_at = None
            self._steps = 0

    def step(self) -> None:
        """In a pause: let the next instant that has a timer happen, then hold again."""
        if self.paused:
            self._steps += 1

    def forgive_stop(self) -> None:
        """Say that the process was stopped and continued (SIGCONT): what time is behind is a pause."""
        when = self._next_timer()
        if self._anchor_wall is None or self._paused_at is not None or when is None:
            return
        behind = self._wall.now() - self._due_on_wall(when)
        if self._speed != math.inf and behind > 0:
            self._paused_seconds += behind
            self._anchor_wall += behind

    def statistics(self) -> ClockStatistics:
        """How it went until now."""
        now = self._wall.now()
        elapsed = paused = 0.0
        if self._anchor_wall is not None:
            paused = self._paused_seconds
            if self._paused_at is not None:
                paused += now - self._paused_at
            elapsed = now - self._begun_wall - paused
        return ClockStatistics(
            asked_speed=self.speed,
            achieved_speed=(self._now - self._begun_time) / elapsed if elapsed > 0 else None,
            wall_seconds=elapsed,
            paused_seconds=paused,
            worst_lag_ms=None if self._worst_lag is None else self._worst_lag * 1e3,
        )

    # -- the turn ---------------------------------------------------------------------------------

    def _run_once(self) -> None:
        """Run what is ready, due or settled until there is nothing of it at this instant; then move on."""
        ready, timers, settled = self._ready, self._timers, self._settled
        while True:
            for _ in range(len(ready)):
                handle = ready.popleft()
                if not handle._cancelled:
                    handle._run()
            if self._stopping:
                return
            self._turns += 1
            if self._turns % _TURNS_PER_LOOK == 0 and self._wall.now() - self._last_poll > _POLL_INTERVAL:
                self._poll(0)
            if ready:
                continue
            if timers and timers[0][0] <= self._now:
                timer = heapq.heappop(timers)[2]
                timer._scheduled = False
                if timer._cancelled:
                    self._cancelled_timers -= 1
                else:
                    timer._run()
            elif settled:
                handle = heapq.heappop(settled)[2]
                if not handle._cancelled:
                    handle._run()
            else:
                self._advance()
                return

    def _advance(self) -> None:
        """Step to the next timer if its wall time has come; else wait for that, or for a real event."""
        when = self._next_timer()
        if self._anchor_wall is None:
            self._anchor_wall = self._begun_wall = self._wall.now()
            self._anchor_time = self._begun_time = self._now
            if self._paused_at is not None:
                self._paused_at = self._anchor_wall
        if when is not None:
            if self._paused_at is not None:
                if self._steps:
                    self._steps -= 1
                    self._now = when
                    return
                when = None
            elif self._speed == math.inf:
                self._now = when
                return
        self._wait_for(when)

    def _due_on_wall(self, when: float) -> float:
        """What the wall clock reads when the emulated time `when` has come."""
        assert self._anchor_wall is not None
        return self._anchor_wall + (when - self._anchor_time) / self._speed

    def _wait_for(self, when: float | None) -> None:
        assert self._anchor_wall is not None
        now = self._wall.now()
        until = math.inf
        if when is not None:
            until = self._due_on_wall(when)
            lag = now - until
            if lag > CATCH_UP and not self._listened:
                # A process that was stopped has a signal waiting, and it is to be heard first.
                self._listened = True
                self._poll(0, between=True)
                return
            self._listened = False
            if lag >= 0:
                self._worst_lag = lag if self._worst_lag is None else max(self._worst_lag, lag)
                if lag > CATCH_UP:
                    self._anchor_wall += lag - CATCH_UP
                self._now = when
                return
        if self._wall_timers:
            until = min(until, self._wall_timers[0][0])
        self._poll(None if until == math.inf else min(max(until - now, 0.0), _LONGEST_WAIT), between=True)

    def _poll(self, timeout: float | None, *, between: bool = False) -> None:
        """Ask the OS for real events, and take the wall's timers that are due.

        `between` says that the present instant has settled, so that what comes may take a later time.
        """
        self._process_events(self._wall.select(self._selector, timeout))
        now = self._last_poll = self._wall.now()
        while self._wall_timers and self._wall_timers[0][0] <= now:
            handle = heapq.heappop(self._wall_timers)[2]
            if not handle._cancelled:
                self._ready.append(handle)
        if between and self._ready:
            self._now = self._mapped(now)

    def _mapped(self, wall: float) -> float:
        """The emulated time that a real event takes at `wall`."""
        if self._anchor_wall is None or self._paused_at is not None or self._speed == math.inf:
            return self._now
        mapped = self._anchor_time + (wall - self._anchor_wall) * self._speed
        when = self._next_timer()
        return max(self._now, mapped if when is None else min(mapped, when))

    def _anchor_here(self) -> None:
        """Pace from this moment on, and from the time that the loop stands at.

        A real event that asks for it has just been given the time that its moment maps to.
        """
        if self._anchor_wall is not None:
            self._anchor_wall, self._anchor_time = self._wall.now(), self._now

    def _next_timer(self) -> float | None:
        """When the next timer is due; cancelled ones and those that are never due do not count."""
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)[2]._scheduled = False
            self._cancelled_timers -= 1
        return timers[0][0] if timers and timers[0][0] != math.inf else None

    def _timer_handle_cancelled(self, handle: _Timer) -> None:
        if not handle._scheduled:
            return
        self._cancelled_timers += 1
        if self._cancelled_timers > max(_FEW_CANCELLED, len(self._timers) // 2):
            self._timers[:] = [entry for entry in self._timers if not entry[2]._cancelled]
            heapq.heapify(self._timers)
            # The one being cancelled is marked only after this call.
            self._cancelled_timers = 1


def _set_result_unless_done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
