"""A rollout worker: an asyncio task that sleeps for its episode's duration and puts it on the queue.

What happens to a worker from outside (it is given an episode, refreshed, frozen, slowed, interrupted) are
plain calls that move its alarm; its task sleeps on that alarm and wakes when the attempt is over.
"""

import asyncio
import math
from collections.abc import Callable

from emulator import events as ev
from emulator.clock import Alarm
from emulator.system.chronicle import Chronicle
from emulator.system.episodes import PENDING, Episode
from emulator.system.sandboxes import Attempts, SandboxPool


class Worker:
    """One worker, and the attempt at an episode that it is in.

    `due` is when the attempt ends, `generate_at` when its overhead does, `deadline` when it is abandoned.
    `effective_speed` is how many seconds of an episode's duration it generates per second, slow-downs
    included.
    """

    __slots__ = (
        "_alarm",
        "_attempts",
        "_chronicle",
        "_generates",
        "_loop",
        "_resume_overhead",
        "_sandboxes",
        "_slowdowns",
        "_speed",
        "_thaw_at",
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

    def __init__(
        self,
        number: int,
        *,
        chronicle: Chronicle,
        sandboxes: SandboxPool,
        speed: float,
        attempts: Attempts | None,
        resume_overhead: float,
    ) -> None:
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
        self._chronicle = chronicle
        self._loop = chronicle.loop
        self._sandboxes = sandboxes
        self._resume_overhead = resume_overhead
        self._thaw_at = 0.0
        self._speed = speed
        self._slowdowns: tuple[float, ...] = ()
        self._set_effective_speed()
        self._attempts = attempts
        self._alarm = Alarm(chronicle.timers)
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

    async def run(
        self, finished: Callable[["Worker"], None], failed: Callable[["Worker", str], None]
    ) -> None:
        """Sleep until the attempt is over and say how it ended, and begin the next; for ever."""
        alarm, can_fail = self._alarm, self._attempts is not None
        while True:
            await alarm
            if can_fail and self.due > self.deadline:
                self._retry_or_fail(failed, "timeout")
            elif can_fail and self.episode is not None and self.episode.fails:
                self._retry_or_fail(failed, "failure")
            else:
                finished(self)

    # -- an attempt ---------------------------------------------------------------------------------

    def take(self, episode: Episode) -> None:
        """Begin the episode, or go on with a paused one, as soon as there is a sandbox for it."""
        self.episode = episode
        if self._attempts is None and episode.remaining is None:
            # Without an environment a fresh attempt has no reset, no deadline and cannot fail.
            self.generate_at = episode.generating_since = now = self._loop.now
            self.due = due = now + episode.duration * episode.factor / self.effective_speed
            self._alarm.set(due)
        else:
            self._begin_with_sandbox(episode)

    def _begin_with_sandbox(self, episode: Episode) -> None:
        if self._attempts is None or episode.has_sandbox:
            self._begin()
        elif self._sandboxes.acquire(self.number, self._begin_from_line):
            episode.has_sandbox = True
            self._begin()
        else:
            self.in_sandbox_line = True
            self._chronicle.emit(ev.Blocked(self._loop.now, self.number, "sandbox"))

    def _begin_from_line(self) -> None:
        assert self.episode is not None
        self.in_sandbox_line = False
        self.episode.has_sandbox = True
        self._begin(from_line=True)

    def _begin(self, *, from_line: bool = False) -> None:
        episode = self.episode
        assert episode is not None
        now = self._loop.now
        if episode.remaining is None:
            generate_at, self.deadline = now, PENDING
            if (attempts := self._attempts) is not None:
                episode.fails = attempts.next_fails()
                generate_at += attempts.next_reset()
                self.deadline = now + attempts.timeout_seconds
            self.due = generate_at + episode.duration * episode.factor / self.effective_speed
        else:
            resumed_at = now + self._resume_overhead
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
                self._chronicle.emit(ev.Generate(now, self.number))
        self._alarm.set(self.due if self.due < self.deadline else self.deadline)

    def _retry_or_fail(self, failed: Callable[["Worker", str], None], cause: str) -> None:
        """The attempt is over without a finished episode."""
        episode = self.running
        episode.stop_generating(self._loop.now)
        if not episode.attempts_left:
            failed(self, cause)
            return
        episode.attempts_left -= 1
        episode.forget_progress()
        self._stop_timers()
        self._chronicle.emit(ev.Retry(self._loop.now, self.number, episode.number, cause))
        self._begin()

    def let_go(self) -> Episode:
        """Let go of an episode that has finished, and of its sandbox."""
        episode = self.episode
        assert episode is not None
        if episode.has_sandbox:
            self._sandboxes.take_back(episode)
        if self._generates is not None:
            self._generates.cancel()
            self._generates = None
        self.episode = None
        return episode

    def release(self) -> Episode:
        """Let go of the episode and of its sandbox; the alarm is off."""
        episode = self.set_aside()
        self._sandboxes.take_back(episode)
        return episode

    def set_aside(self) -> Episode:
        """Let go of the episode, which keeps its sandbox and its progress."""
        episode = self.running
        now = self._loop.now
        if self.in_sandbox_line:
            self.in_sandbox_line = False
            self._sandboxes.leave_line(self.number)
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

    def freeze(self, seconds: float, until: float) -> None:
        """Stand still for `seconds`, `until` then: nothing that is due comes sooner than that later."""
        self._thaw_at = until
        if self.runs:
            self.due += seconds
            self.deadline += seconds
            if self._generates is not None:
                self._begin_overhead(self.generate_at + seconds)
            else:
                self.running.stop_generating(self._loop.now)
            self._set_alarm()

    def thaw(self) -> None:
        """Go on after a freeze."""
        if self.runs and self._generates is None:
            self.running.generating_since = self._loop.now

    def refresh(self, version: int, overhead: float) -> None:
        """Move the running episode to a new version."""
        episode = self.running
        now = self._loop.now
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
            speed /= self._chronicle.in_range(math.prod(slowdowns), f"the slow-down of worker {self.number}")
        self.effective_speed = self._chronicle.in_range(speed, f"the speed of worker {self.number}")

    def _rescale(self, scale: Callable[[float], float]) -> None:
        if self.runs:
            begin = max(self.generate_at, self._loop.now, self._thaw_at)
            self.due = begin + scale(self.due - begin)
            self._set_alarm()

    def _begin_overhead(self, generate_at: float) -> None:
        """Spend the time until `generate_at` on overhead; an overhead that has begun is prolonged."""
        if self._generates is not None:
            self._generates.cancel()
        else:
            self._chronicle.emit(ev.Overhead(self._loop.now, self.number))
        self.generate_at = generate_at
        self._generates = self._loop.call_at(generate_at, self._generate)

    def _generate(self) -> None:
        self._generates = None
        self.running.generating_since = self._loop.now
        self._chronicle.emit(ev.Generate(self._loop.now, self.number))

    def _set_alarm(self) -> None:
        self._alarm.set(min(self.due, self.deadline))

    def _stop_timers(self) -> None:
        self._alarm.clear()
        if self._generates is not None:
            self._generates.cancel()
            self._generates = None
