"""How fast emulated time has gone recently, and how many frames are drawn, by wall time."""

from collections import deque
from dataclasses import replace

from emulator.clock import EmulatedLoop, Speed
from emulator.dashboard.state import ClockReading

_OVER = 2.0  # wall seconds over which the achieved speed is measured
_FEW_FRAMES = 0.8  # of those asked for


class SpeedMeter:
    """Reads the clock for frames."""

    def __init__(self, clock: EmulatedLoop, frames_per_second: float) -> None:
        self._clock = clock
        self._asked_frames = frames_per_second
        self._speed: Speed = clock.speed
        self._progress: deque[tuple[float, float]] = deque()
        self._frames: deque[float] = deque(maxlen=16)
        self._last: ClockReading | None = None

    def wall(self) -> float:
        """Wall seconds since the clock began to go."""
        statistics = self._clock.statistics()
        return statistics.wall_seconds + statistics.paused_seconds

    def drawn(self) -> None:
        """Say that a frame is being drawn."""
        self._frames.append(self.wall())

    def read(self, t: float, *, ended: bool) -> ClockReading:
        """The clock's reading at `t`; once the session has ended, as it was then."""
        if ended and self._last is not None:
            return replace(self._last, t=t, paused=False, frames=None)
        clock, progress = self._clock, self._progress
        if clock.speed != self._speed:
            self._speed = clock.speed
            progress.clear()
        unpaused, now = clock.statistics().wall_seconds, clock.time()
        progress.append((unpaused, now))
        while progress[0][0] < unpaused - _OVER:
            progress.popleft()
        passed = unpaused - progress[0][0]
        achieved = (now - progress[0][1]) / passed if passed > _OVER / 4 else None
        self._last = ClockReading(t, clock.speed, achieved, clock.paused, self._few_frames())
        return self._last

    def _few_frames(self) -> float | None:
        frames = self._frames
        if self._clock.paused or len(frames) < 4 or frames[-1] == frames[0]:
            return None
        rate = (len(frames) - 1) / (frames[-1] - frames[0])
        return rate if rate < _FEW_FRAMES * self._asked_frames else None
