"""The loop paced against the wall clock: when what happens in emulated time really happens."""

import asyncio
import itertools
import math
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal, Protocol, TypeVarTuple

from emulator.clock.internals import SelectorEvents, SteppingLoop

CATCH_UP = 0.05
"""Wall seconds of lag that are caught up; the rest is forgiven."""

_POLL_INTERVAL = 0.005  # wall seconds for which a busy loop may leave the OS unasked
_LONGEST_WAIT = 86_400.0  # the OS refuses much longer ones

Speed = float | Literal["max"]
"""Emulated seconds per wall second, or ``"max"``: as fast as the machine can."""

_Ts = TypeVarTuple("_Ts")


class Wall(Protocol):
    """The wall clock and the waiting on it; tests put one of their own in its place."""

    def now(self) -> float:
        """Seconds since some fixed moment; never goes back."""

    def select(self, selector: selectors.BaseSelector, timeout: float | None) -> SelectorEvents:
        """Wait at most `timeout` seconds (None: for ever) for the selector's files."""


class MonotonicWall:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Seconds of `time.monotonic`."""
        return time.monotonic()

    def select(self, selector: selectors.BaseSelector, timeout: float | None) -> SelectorEvents:
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


def _parse_speed(speed: Speed) -> float:
    if speed == "max":
        return math.inf
    if isinstance(speed, str) or not (speed > 0 and math.isfinite(speed)):
        raise ValueError(f"speed is {speed!r}; it must be a number above 0, or 'max'")
    return float(speed)


class EmulatedLoop(SteppingLoop):
    """An asyncio event loop that runs in emulated time, from 0."""

    def __init__(self, speed: Speed = "max", wall: Wall | None = None) -> None:
        super().__init__()
        self._speed = math.inf
        self._wall = wall or MonotonicWall()
        self._wall_timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._wall_order = itertools.count()
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

    # -- what asyncio and views ask of it -----------------------------------------------------------

    def call_wall_later(
        self, delay: float, callback: Callable[[*_Ts], object], *args: *_Ts
    ) -> asyncio.TimerHandle:
        """Run `callback(*args)` after `delay` seconds of the wall clock, paused or not."""
        when = self._wall.now() + delay
        handle = asyncio.TimerHandle(when, callback, args, self)
        heappush(self._wall_timers, (when, next(self._wall_order), handle))
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
        self._wall_timers.clear()

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
        when = self.next_timer()
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

    # -- pacing -----------------------------------------------------------------------------------

    def look(self) -> None:
        """See whether anything real has happened, if the last time is long enough ago."""
        if self._wall.now() - self._last_poll > _POLL_INTERVAL:
            self._poll_wall(0)

    def advance(self) -> bool:
        """Step to the next timer if its wall time has come; else wait for that, or for a real event.

        Returns whether it has stepped.
        """
        when = self.next_timer()
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
                self._poll_wall(0, between=True)
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
        self._poll_wall(
            None if until == math.inf else min(max(until - now, 0.0), _LONGEST_WAIT), between=True
        )
        return False

    def _poll_wall(self, timeout: float | None, *, between: bool = False) -> None:
        """Ask the OS for real events, and take the wall's timers that are due.

        `between` says that the present instant has settled, so that what comes may take a later time.
        """
        self.poll(self._wall.select, timeout)
        now = self._last_poll = self._wall.now()
        while self._wall_timers and self._wall_timers[0][0] <= now:
            self.make_ready(heappop(self._wall_timers)[2])
        if between and self.has_ready:
            self.now = self._mapped(now)

    def _mapped(self, wall: float) -> float:
        """The emulated time that a real event takes at `wall`."""
        if self._anchor_wall is None or self._paused_at is not None or self._speed == math.inf:
            return self.now
        mapped = self._anchor_time + (wall - self._anchor_wall) * self._speed
        when = self.next_timer()
        return max(self.now, mapped if when is None else min(mapped, when))

    def _anchor_here(self) -> None:
        """Pace from this moment on, and from the time that the loop stands at.

        A real event that asks for it has just been given the time that its moment maps to.
        """
        if self._anchor_wall is not None:
            self._anchor_wall, self._anchor_time = self._wall.now(), self.now

    def _note_pacing(self) -> None:
        self.unpaced = self._speed == math.inf and self._anchor_wall is not None and self._paused_at is None


def _set_result_unless_done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
