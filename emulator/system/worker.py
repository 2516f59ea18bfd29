"""A rollout worker: an asyncio task that sleeps for its episode's duration and puts it on the queue.

What happens to a worker from outside (it is given an episode, refreshed, frozen, slowed, interrupted) are
plain calls that move its alarm; its task sleeps on that alarm and wakes when the attempt is over.
"""

import asyncio
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from emulator import events as ev
from emulator.clock import Alarm
from emulator.system.episodes import PENDING, Episode
from emulator.system.sandboxes import Attempts

if TYPE_CHECKING:
    from emulator.system.lane import Lane


class Worker:
    """One worker, and the attempt at an episode that it is in.

    `due` is when the attempt ends, `generate_at` when its overhead does, `deadline` when it is abandoned.
    `effective_speed` is how many seconds of an episode's duration it generates in a second, slow-downs
    included.
    """

    __slots__ = (
        "_alarm",
        "_attempts",
        "_generates",
        "_lane",
        "_loop",
        "_slowdowns",
        "_speed",
        "deadline",
        "due",
        "effective_speed",
        "episode",
        "gated",
        "generate_at",
        "held",
        "in_sandbox_line",
        "number",
        "restart",
        "up",
    )

    def __init__(self, lane: "Lane", number: int, speed: float, attempts: Attempts | None) -> None:
        self.number = number
        self.episode: Episode | None = None
        self.held: Episode | None = None
        """A finished episode that the queue has no room for."""
        self.up = True
        self.restart: asyncio.TimerHandle | None = None
        self.gated = False
        self.in_sandbox_line = False
        self.due = PENDING
        self.generate_at = PENDING
        self.deadline = PENDING
        self._lane = lane
        self._loop = lane.loop
        self._speed = speed
        self._slowdowns: tuple[float, ...] = ()
        self._set_effective_speed()
        self._attempts = attempts
        self._alarm = Alarm(lane.timers)
        self._generates: asyncio.TimerHandle | None = None

    @property
    def running(self) -> Episode:
        """The episode of a worker that has one."""
        assert self.episode is not None
        return self.episode

    @property
    def runs(self) -> bool:
        """Whether an attempt is going on: an episode is taken and has what it needs."""
        return self.episode is not None and not self.in_sandbox_line

    async def run(self) -> None:
        """Sleep until the attempt is over, hand the episode over, take the next; for ever."""
        alarm, finished, can_fail = self._alarm, self._lane.workforce.finished, self._attempts is not None
        while True:
            await alarm
            if not can_fail or not self._retries_or_fails():
                finished(self)

    # -- an attempt ---------------------------------------------------------------------------------

    def take(self, episode: Episode) -> None:
        """Begin the episode, or go on with a paused one, as soon as there is a sandbox for it."""
        self.episode = episode
        if self._attempts is None and episode.remaining is None:
            # Without an environment a fresh attempt has no reset, no deadline and no luck.
            self.generate_at = episode.generating_since = now = self._loop.now
            self.due = due = now + episode.duration * episode.factor / self.effective_speed
            self._alarm.set(due)
        elif self._attempts is None or episode.has_sandbox:
            self._begin()
        elif self._lane.sandboxes.acquire(self.number, self._begin_from_line):
            episode.has_sandbox = True
            self._begin()
        else:
            self.in_sandbox_line = True
            self._lane.emit(ev.Blocked(self._lane.now, self.number, "sandbox"))

    def _begin_from_line(self) -> None:
        self.in_sandbox_line = False
        self.running.has_sandbox = True
        self._begin(from_line=True)

    def _begin(self, *, from_line: bool = False) -> None:
        episode = self.running
        now = self._lane.now
        if episode.remaining is None:
            generate_at = now + self._prepare_attempt(episode, now)
            self.due = generate_at + episode.duration * episode.factor / self.effective_speed
        else:
            resumed_at = now + self._lane.strategy.resume_overhead
            generate_at = resumed_at + episode.overhead_left
            if episode.paused_speed == self.effective_speed:
                self.due = resumed_at + episode.remaining
            else:
                self.due = generate_at + episode.generating_left_at(self.effective_speed)
            for longer in episode.longer:
                self.due += longer / self.effective_speed
            episode.longer = ()
            self.deadline = now + episode.time_left
        if generate_at > now:
            self._begin_overhead(generate_at)
        else:
            self.generate_at = now
            episode.generating_since = now
            if from_line:
                self._lane.emit(ev.Generate(now, self.number))
        self._set_alarm()

    def _prepare_attempt(self, episode: Episode, now: float) -> float:
        """Draw the reset and the luck of a fresh attempt; returns the seconds of the reset."""
        self.deadline = PENDING
        environment = self._lane.environment
        if environment is None or self._attempts is None:
            return 0.0
        episode.fails = self._attempts.next_fails()
        if environment.timeout_seconds is not None:
            self.deadline = now + environment.timeout_seconds
        return self._attempts.next_reset()

    def _retries_or_fails(self) -> bool:
        """The attempt is over without a finished episode, and what follows has been done."""
        episode = self.running
        timed_out = self.due > self.deadline
        if not timed_out and not episode.fails:
            return False
        cause = "timeout" if timed_out else "failure"
        episode.stop_generating(self._lane.now)
        if not episode.attempts_left:
            self._lane.workforce.fail(self, cause)
            return True
        episode.attempts_left -= 1
        episode.forget_progress()
        self._stop_timers()
        self._lane.emit(ev.Retry(self._lane.now, self.number, episode.number, cause))
        self._begin()
        return True

    def let_go(self) -> None:
        """Let go of an episode that has finished, and of its sandbox."""
        if self._attempts is not None:
            self._lane.sandboxes.take_back(self.running)
        if self._generates is not None:
            self._generates.cancel()
            self._generates = None
        self.episode = None

    def release(self) -> Episode:
        """Let go of the episode and of its sandbox; the alarm is off."""
        episode = self.set_aside()
        self._lane.sandboxes.take_back(episode)
        return episode

    def set_aside(self) -> Episode:
        """Let go of the episode, which keeps its sandbox and its progress."""
        episode = self.running
        now = self._lane.now
        if self.in_sandbox_line:
            self.in_sandbox_line = False
            self._lane.sandboxes.leave_line(self.number)
        else:
            episode.remaining = self.due - now
            episode.paused_speed = self.effective_speed
            episode.overhead_left = max(0.0, self.generate_at - now)
            episode.time_left = self.deadline - now
        self._stop_timers()
        episode.stop_generating(now)
        self.episode = None
        return episode

    # -- what moves it ------------------------------------------------------------------------------

    def freeze(self, seconds: float) -> None:
        """Stand still for `seconds`: nothing that is due comes sooner than that much later."""
        if self.runs:
            self.due += seconds
            self.deadline += seconds
            if self._generates is not None:
                self._begin_overhead(self.generate_at + seconds)
            else:
                self.running.stop_generating(self._lane.now)
            self._set_alarm()

    def thaw(self) -> None:
        """Go on after a freeze."""
        if self.runs and self._generates is None:
            self.running.generating_since = self._lane.now

    def refresh(self, version: int, overhead: float) -> None:
        """Move the running episode to a new version."""
        episode = self.running
        now = self._lane.now
        episode.change_version(version, now)
        if overhead > 0 and self.runs:
            episode.stop_generating(now)
            self.due += overhead
            self._begin_overhead(max(self.generate_at, now) + overhead)
            self._set_alarm()

    def multiply_duration(self, factor: float) -> None:
        """Make the whole of the running episode take `factor` times as long as it would have."""
        episode = self.running
        longer = episode.multiply_duration(factor)
        if self.runs:
            self.due += longer / self.effective_speed
            self._set_alarm()

    def slow_down(self, factor: float) -> None:
        """Take `factor` times as long for everything, until `speed_up` with the same factor."""
        self._slowdowns += (factor,)
        self._set_effective_speed()
        self._rescale(lambda seconds: seconds * factor)

    def speed_up(self, factor: float) -> None:
        """End a slow-down."""
        ended = self._slowdowns.index(factor)
        self._slowdowns = self._slowdowns[:ended] + self._slowdowns[ended + 1 :]
        self._set_effective_speed()
        self._rescale(lambda seconds: seconds / factor)

    def _set_effective_speed(self) -> None:
        speed, slowdowns = self._speed, self._slowdowns
        if slowdowns:
            speed /= self._lane.in_range(math.prod(slowdowns), f"the slow-down of worker {self.number}")
        self.effective_speed = self._lane.in_range(speed, f"the speed of worker {self.number}")

    def _rescale(self, scale: Callable[[float], float]) -> None:
        if self.runs:
            begin = max(self.generate_at, self._lane.now, self._lane.workforce.thaw_at)
            self.due = begin + scale(self.due - begin)
            self._set_alarm()

    def _begin_overhead(self, generate_at: float) -> None:
        """Spend the time until `generate_at` on overhead; an overhead that has begun is prolonged."""
        if self._generates is not None:
            self._generates.cancel()
        else:
            self._lane.emit(ev.Overhead(self._lane.now, self.number))
        self.generate_at = generate_at
        self._generates = self._lane.timers.loop.call_at(generate_at, self._generate)

    def _generate(self) -> None:
        self._generates = None
        self.running.generating_since = self._lane.now
        self._lane.emit(ev.Generate(self._lane.now, self.number))

    def _set_alarm(self) -> None:
        self._alarm.set(min(self.due, self.deadline))

    def _stop_timers(self) -> None:
        self._alarm.clear()
        if self._generates is not None:
            self._generates.cancel()
            self._generates = None
