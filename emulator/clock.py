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

**Cost.** The heap holds plain tuples, compared in C. An `Alarm` is what a task awaits in place of a future:
the loop steps the task straight from the heap, without a handle, a future and a second turn (and in the
context of the loop instead of the task's own). Timers that were moved or called off stay in the heap as
entries that nobody owns any more, and are swept out when there are many.

Of asyncio's private parts the loop uses ``_run_once``, ``_ready``, ``_stopping``, ``_selector`` and
``_process_events``, and an alarm ``_asyncio_future_blocking``, by which a task knows what it may await; no
other module uses any.
"""

import asyncio
import itertools
import math
import selectors
import time
from collections import deque
from collections.abc import Callable, Generator
from contextvars import Context
from dataclasses import dataclass
from enum import IntEnum
from heapq import heapify, heappop, heappush
from typing import Literal, Protocol, TypeVarTuple

CATCH_UP = 0.05
"""Wall seconds of lag that are caught up; the rest is forgiven."""

_POLL_INTERVAL = 0.005  # wall seconds for which a busy loop may leave the OS unasked
_TURNS_PER_LOOK = 64  # turns for which it does not even look at the wall clock
_LONGEST_WAIT = 86_400.0  # the OS refuses much longer ones
_FEW_FORGOTTEN = 128  # entries of no timer any more that may lie in the heap before it is swept

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
    """A timer with a callback. `place` is the number of its entry in the heap, 0 when it has none."""

    __slots__ = ("place",)
    place: int

    def ring(self, _: "_Timer") -> None:
        self._run()


class Alarm:
    """What one task sleeps on: ``await alarm`` goes on when it rings, at the emulated time it is set to.

    It can be set, and set anew, by anybody at any time before that, and counts as newly set each time. It
    rings only for a task that awaits it; one task at a time may.
    """

    __slots__ = (
        "_asyncio_future_blocking",
        "_loop",
        "_next_place",
        "_timers",
        "get_loop",
        "place",
        "result",
        "ring",
    )

    def __init__(self, loop: "EmulatedLoop") -> None:
        self._loop = loop
        self._timers = loop._timers
        self._next_place = loop._next_place
        self._asyncio_future_blocking = False
        # A task asks these two each time that it goes to sleep and wakes; they are answered in C, and by
        # objects that all alarms share, since at 10,000 workers it is memory that takes the time.
        self.get_loop: Callable[[], EmulatedLoop] = loop._itself
        self.result: Callable[[], None] = _NOTHING
        self.place = 0
        self.ring: Callable[[Alarm], object] = _nobody_sleeps

    def set(self, due: float) -> None:
        """Ring at the emulated time `due` and at no other; ValueError if that is not a number."""
        if due != due:  # noqa: PLR0124  (nan would corrupt the heap without a word)
            raise ValueError("an alarm is due at nan; its due time must be a number")
        if self.place:
            self.place = 0
            self._loop._forget_entry()
        self.place = place = self._next_place()
        heappush(self._timers, (due, place, self))

    def clear(self) -> None:
        """Do not ring."""
        if self.place:
            self.place = 0
            self._loop._forget_entry()

    @property
    def is_set(self) -> bool:
        """Whether it is going to ring."""
        return self.place != 0

    def __await__(self) -> Generator["Alarm", None, None]:
        self._asyncio_future_blocking = True
        return itertools.repeat(self, 1)  # type: ignore[return-value]  # an iterator is all that is needed

    # What a task asks of what it awaits, besides `get_loop` and `result`.

    def add_done_callback(self, wake: "Callable[[Alarm], object]", *, context: Context | None = None) -> None:
        """Have `wake` step the task that awaits it."""
        self.ring = wake

    def cancel(self, msg: object = None) -> bool:
        """Wake the task because it is cancelled; False if none sleeps."""
        if self.ring is _nobody_sleeps:
            return False
        wake, self.ring = self.ring, _nobody_sleeps
        self.clear()
        self.result = self._cancelled
        self._loop.call_soon(wake, self)
        return True

    def _cancelled(self) -> None:
        self.result = _NOTHING
        raise asyncio.CancelledError


_NOTHING: Callable[[], None] = type(None)


def _nobody_sleeps(alarm: Alarm) -> None:
    """Ring in vain: the task that is to sleep on it does not yet, or does no more."""


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
        self.now = 0.0
        """The emulated time, as `time` tells it; to be read only."""
        self._timers: list[tuple[float, int, _Timer | Alarm]] = []
        self._next_place = itertools.count(1).__next__
        self._itself = itertools.repeat(self).__next__
        self._forgotten = 0
        self._wall_timers: list[tuple[float, int, _Timer]] = []
        self._settled: list[tuple[int, int, asyncio.Handle]] = []
        self._order = itertools.count()
        self._turns = 0
        self._last_poll = -math.inf
        self._listened = False
        # Pacing: None until time first has to move, so that setting up costs no lag.
        self._unpaced = False
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
        return self.now

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
        handle.place = self._next_place()
        heappush(self._timers, (when, handle.place, handle))
        return handle

    def call_later(
        self, delay: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run `callback(*args)` after `delay` emulated seconds."""
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_when_settled(
        self, phase: Phase, callback: Callable[[*_Ts], object], *args: *_Ts
    ) -> asyncio.Handle:
        """Run `callback(*args)` when nothing else is ready or due at this instant, by phase."""
        handle = asyncio.Handle(callback, args, self)
        heappush(self._settled, (phase, next(self._order), handle))
        return handle

    def call_wall_later(
        self, delay: float, callback: Callable[[*_Ts], object], *args: *_Ts
    ) -> asyncio.TimerHandle:
        """Run `callback(*args)` after `delay` seconds of the wall clock, paused or not."""
        when = self._wall.now() + delay
        handle = _Timer(when, callback, args, self)
        handle.place = 0
        heappush(self._wall_timers, (when, next(self._order), handle))
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
        self._note_pacing()

    @property
    def paused(self) -> bool:
        """Whether emulated time stands still until `resume`."""
        return self._paused_at is not None

    def pause(self) -> None:
        """Hold emulated time when the present instant has settled."""
        if self._paused_at is None:
            self._anchor_here()
            self._paused_at = self._wall.now()
            self._note_pacing()

    def resume(self) -> None:
        """Go on from where emulated time stands."""
        if self._paused_at is not None:
            if self._anchor_wall is not None:
                # While paused the time is what it stands at, so that nothing of the pause is caught up.
                self._paused_seconds += self._wall.now() - self._paused_at
                self._anchor_here()
            self._paused_at = None
            self._steps = 0
            self._note_pacing()

    def step(self) -> None:
        """In a pause: let the next instant that has a timer happen, then hold again."""
        if self.paused:
            self._steps += 1

    def begin_pacing(self) -> None:
        """Let the time that has passed on the wall until now be none: setting up is over, and time begins."""
        self._anchor_wall = None
        self._paused_seconds = 0.0
        self._note_pacing()

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
            achieved_speed=(self.now - self._begun_time) / elapsed if elapsed > 0 else None,
            wall_seconds=elapsed,
            paused_seconds=paused,
            worst_lag_ms=None if self._worst_lag is None else self._worst_lag * 1e3,
        )

    # -- the turn ---------------------------------------------------------------------------------

    def _run_once(self) -> None:
        """Run what is ready, due or settled until there is nothing of it at this instant; then move on.

        Where the next instant is due it is but a new value of the time, and no return is made for it.
        """
        ready, timers, settled = self._ready, self._timers, self._settled
        while True:
            if ready:
                self._run_ready()
            if self._stopping:
                return
            self._turns += 1
            if self._turns % _TURNS_PER_LOOK == 0:
                self._poll_now_and_then()
            if ready:
                continue
            if timers:
                when, place, timer = timers[0]
                if when <= self.now or (self._unpaced and not settled and when != math.inf):
                    heappop(timers)
                    if timer.place == place:
                        self.now = when if when > self.now else self.now
                        timer.place = 0
                        timer.ring(timer)  # type: ignore[arg-type]  # each its own kind
                    else:
                        self._forgotten -= 1
                    continue
            if settled:
                handle = heappop(settled)[2]
                if not handle._cancelled:
                    handle._run()
            elif not self._advance():
                return

    def _run_ready(self) -> None:
        ready = self._ready
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    def _poll_now_and_then(self) -> None:
        if self._wall.now() - self._last_poll > _POLL_INTERVAL:
            self._poll(0)

    def _advance(self) -> bool:
        """Step to the next timer if its wall time has come; else wait for that, or for a real event.

        Returns whether it has stepped.
        """
        when = self._next_timer()
        if self._anchor_wall is None:
            self._anchor_wall = self._begun_wall = self._wall.now()
            self._anchor_time = self._begun_time = self.now
            if self._paused_at is not None:
                self._paused_at = self._anchor_wall
            self._note_pacing()
        if when is not None:
            if self._paused_at is not None:
                if self._steps:
                    self._steps -= 1
                    self.now = when
                    return True
                when = None
            elif self._speed == math.inf:
                self.now = when
                return True
        return self._wait_for(when)

    def _due_on_wall(self, when: float) -> float:
        """What the wall clock reads when the emulated time `when` has come."""
        assert self._anchor_wall is not None
        return self._anchor_wall + (when - self._anchor_time) / self._speed

    def _wait_for(self, when: float | None) -> bool:
        now = self._wall.now()
        until = math.inf
        if when is not None:
            assert self._anchor_wall is not None
            until = self._due_on_wall(when)
            lag = now - until
            if lag > CATCH_UP and not self._listened:
                # A process that was stopped has a signal waiting, and it is to be heard first.
                self._listened = True
                self._poll(0, between=True)
                return False
            self._listened = False
            if lag >= 0:
                self._worst_lag = lag if self._worst_lag is None else max(self._worst_lag, lag)
                if lag > CATCH_UP:
                    self._anchor_wall += lag - CATCH_UP
                self.now = when
                return True
        if self._wall_timers:
            until = min(until, self._wall_timers[0][0])
        self._poll(None if until == math.inf else min(max(until - now, 0.0), _LONGEST_WAIT), between=True)
        return False

    def _poll(self, timeout: float | None, *, between: bool = False) -> None:
        """Ask the OS for real events, and take the wall's timers that are due.

        `between` says that the present instant has settled, so that what comes may take a later time.
        """
        self._process_events(self._wall.select(self._selector, timeout))
        now = self._last_poll = self._wall.now()
        while self._wall_timers and self._wall_timers[0][0] <= now:
            handle = heappop(self._wall_timers)[2]
            if not handle._cancelled:
                self._ready.append(handle)
        if between and self._ready:
            self.now = self._mapped(now)

    def _mapped(self, wall: float) -> float:
        """The emulated time that a real event takes at `wall`."""
        if self._anchor_wall is None or self._paused_at is not None or self._speed == math.inf:
            return self.now
        mapped = self._anchor_time + (wall - self._anchor_wall) * self._speed
        when = self._next_timer()
        return max(self.now, mapped if when is None else min(mapped, when))

    def _anchor_here(self) -> None:
        """Pace from this moment on, and from the time that the loop stands at.

        A real event that asks for it has just been given the time that its moment maps to.
        """
        if self._anchor_wall is not None:
            self._anchor_wall, self._anchor_time = self._wall.now(), self.now

    def _note_pacing(self) -> None:
        self._unpaced = self._speed == math.inf and self._anchor_wall is not None and self._paused_at is None

    def _next_timer(self) -> float | None:
        """When the next timer is due; those called off and those that are never due do not count."""
        timers = self._timers
        while timers and timers[0][2].place != timers[0][1]:
            heappop(timers)
            self._forgotten -= 1
        return timers[0][0] if timers and timers[0][0] != math.inf else None

    def _timer_handle_cancelled(self, handle: _Timer) -> None:
        if handle.place:
            handle.place = 0
            self._forget_entry()

    def _forget_entry(self) -> None:
        """An entry of the heap has become nobody's."""
        self._forgotten += 1
        if self._forgotten > max(_FEW_FORGOTTEN, len(self._timers) // 2):
            self._timers[:] = [entry for entry in self._timers if entry[2].place == entry[1]]
            heapify(self._timers)
            self._forgotten = 0


def _set_result_unless_done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
