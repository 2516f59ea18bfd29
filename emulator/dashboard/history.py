"""What views need beyond the figures, folded from a lane's events: who does what, and how it came there.

The fold is cheap (a view watches thousands of events in a frame) and bounded: it keeps the present state of
every worker, running totals, and one column of the past for each `Scale.column` seconds, as many as the
widest screen shows. Totals are plain floats, good for drawing; the figures have the exact ones.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emulator import events as ev
from emulator.dashboard.barrier import Barrier
from emulator.dashboard.crew import ABSENT, BLOCKED, DOWN, GATED, IDLE, RUN, STRAGGLER, WEIGHTS, Crew
from emulator.dashboard.log import Entry, Log, worker
from emulator.dashboard.past import Column, Past, Totals
from emulator.dashboard.scale import Scale
from emulator.figures.text import span
from emulator.learner import TARGET_SHARE
from emulator.scenario import Scenario

COLUMNS = 512
"""Columns of the past that are kept, unless there are very many workers."""

_LEAST_COLUMNS = 64
_MEMORY = 32_000_000  # bytes, about, for the states of workers in all columns
_MARKS = 1000
_HITS = 64
_ENDLESS = 5  # times the longest wait before
_PRESENT = (IDLE, RUN, GATED, WEIGHTS, BLOCKED, DOWN)


class Hit(NamedTuple):
    """A straggler injected: when, into which episode, and whether that ran, was yet to come or was over."""

    t: float
    episode: int
    factor: float
    effect: str


class History:
    """The state of one lane as views see it, and its past."""

    def __init__(self, scenario: Scenario, scale: Scale) -> None:
        workers = scenario.rollout.workers
        self.scale = scale
        self.t = 0.0
        self.crew = Crew(workers, scale)
        self.log = Log()
        self.past = Past(max(_LEAST_COLUMNS, min(COLUMNS, _MEMORY // workers)))
        self.marks: deque[float] = deque(maxlen=_MARKS)
        """When something was injected."""
        self.hits: deque[Hit] = deque(maxlen=_HITS)
        self.barrier = Barrier(self.log, scale.column)
        self.next_episode = 0
        self.seconds = [0.0] * (STRAGGLER + 1)
        """Worker seconds by state; those of a freeze under `WEIGHTS`."""
        self._slowed: set[int] = set()
        self._versions: dict[int, int] = {}
        self._holders: dict[int, int] = {}
        self._version = 0
        self._depth = 0
        self._training = False
        self._stalled = False
        self._waits_since = 0.0
        self._finished: ev.Finish | None = None
        self._trainer_seconds = 0.0
        self._queue_seconds = 0.0
        self._trained = 0
        self._staleness = 0
        self._batch_staleness = 0.0
        self._reward: float | None = None
        self._next_column = scale.column

    def states(self) -> NDArray[np.uint8]:
        """What each worker is shown as now."""
        return self.crew.states(self.t)

    def ages(self) -> NDArray[np.float64]:
        """For how many medians of an episode each worker has been at its last attempt, at most a million."""
        return self.crew.medians(self.t)

    def log_lines(self, n: int) -> list[Entry]:
        """The lines of the log to show in `n` rows, oldest first; the last is a wait that does not end."""
        waiting = self._endless_wait() if n else None
        return self.log.last(n) if waiting is None else [*self.log.last(n - 1), waiting]

    def _endless_wait(self) -> Entry | None:
        """A wait of the trainer that is far longer than any before, and who runs the oldest episode."""
        waited = self.t - self._waits_since
        if self._training or self._stalled or not 0.0 < _ENDLESS * self.barrier.longest < waited:
            return None
        text = f"training has waited {span(waited)}"
        running = np.flatnonzero(np.isin(self.states(), (RUN, STRAGGLER)))
        if len(running):
            first = min(running.tolist(), key=self.crew.episode.__getitem__)
            text += f"; {worker(first)} is still at episode {self.crew.episode[first]}"
        return Entry(self.t, "wait", text)

    def totals(self) -> Totals:
        """The running totals now."""
        return Totals(
            self.t,
            sum(self.seconds),
            self.seconds[RUN],
            self._trainer_seconds,
            self._queue_seconds,
            self._trained,
            self._staleness,
            self._reward,
        )

    def add(self, events: Iterable[ev.Event]) -> None:
        """Take in the next events of the lane, in their order."""
        handlers = _HANDLERS
        for event in events:
            if event.t > self.t:
                self._pass(event.t)
            if (handler := handlers.get(type(event))) is not None:
                handler(self, event)

    def advance(self, t: float) -> None:
        """Say that nothing else has happened before `t`."""
        if t > self.t:
            self._pass(t)

    def _pass(self, t: float) -> None:
        if self._next_column < t:
            self._close_columns(t)
        self._spend(t)

    def _close_columns(self, t: float) -> None:
        """Close the columns that end before `t`; of very many only those that are kept."""
        past, column = self.past, self.scale.column
        # One more than is kept, since a column's rates need the totals at its start too.
        beyond = int(t / column) - past.closed - past.kept - 1
        if beyond > 0:
            past.skip(beyond)
            self._spend(past.closed * column)
        while (end := (past.closed + 1) * column) < t:
            self._spend(end)
            past.close(Column(self.states().tobytes(), self.totals()))
        self._next_column = end

    def _spend(self, t: float) -> None:
        """Let time go by in which nothing changes."""
        passed = t - self.t
        crew, seconds = self.crew, self.seconds
        count = crew.count
        if crew.frozen:
            seconds[WEIGHTS] += crew.up * passed
            seconds[DOWN] += count[DOWN] * passed
        else:
            for state in _PRESENT:
                if count[state]:
                    seconds[state] += count[state] * passed
        if self._depth:
            self._queue_seconds += self._depth * passed
        last = None
        if self._training:
            self._trainer_seconds += 0.0 if self._stalled else passed
        elif not self._stalled and count[RUN] + count[WEIGHTS] == 1:
            last = crew.alone
        if last is None:
            self.barrier.over(self.t)
        else:
            self.barrier.wait(last, crew.episode[last], self.t, passed)
        self.t = t

    def _start(self, e: ev.Start) -> None:
        number, crew = e.worker, self.crew
        crew.enter(number, RUN)
        crew.begun[number] = e.t
        crew.episode[number] = e.episode
        self._versions[e.episode] = e.version
        self.next_episode = e.episode + 1
        if self._slowed and e.episode in self._slowed:
            self.crew.flagged.add(number)

    def _resume(self, e: ev.Resume) -> None:
        self.crew.enter(e.worker, RUN)
        self.crew.begun[e.worker] = e.t
        self.crew.episode[e.worker] = e.episode
        self._versions.setdefault(e.episode, e.version)
        if e.episode in self._slowed:
            self.crew.flagged.add(e.worker)

    def _blocked(self, e: ev.Blocked) -> None:
        self.crew.enter(e.worker, BLOCKED)
        if e.cause == "queue":
            self._depth -= 1
            self._holders[self.crew.episode[e.worker]] = e.worker

    def _gated(self, e: ev.Gated) -> None:
        self.crew.enter(e.worker, GATED)

    def _overhead(self, e: ev.Overhead) -> None:
        self._begin_if_blocked(e.worker, e.t)
        self.crew.enter(e.worker, WEIGHTS)

    def _generate(self, e: ev.Generate) -> None:
        self._begin_if_blocked(e.worker, e.t)
        self.crew.enter(e.worker, RUN)

    def _begin_if_blocked(self, number: int, t: float) -> None:
        """The wait for a sandbox is over: an episode's age is counted from here."""
        if self.crew.state[number] == BLOCKED:
            self.crew.begun[number] = t

    def _retry(self, e: ev.Retry) -> None:
        self.crew.enter(e.worker, RUN)
        self.crew.begun[e.worker] = e.t
        self.barrier.retried(e)

    def _finish(self, e: ev.Finish) -> None:
        number = e.worker
        self._finished = e
        self.crew.enter(number, IDLE)
        self._depth += 1
        if self.crew.flagged:
            self.crew.flagged.discard(number)
        age = e.t - self.crew.begun[number]
        if age >= self.scale.straggler:
            self.log.straggler(e.t, number, age, self.scale.median)

    def _hand_over(self, e: ev.HandOver) -> None:
        self._depth += 1
        self._relieve(e.episode)

    def _relieve(self, episode: int) -> bool:
        number = self._holders.pop(episode, None)
        if number is not None and self.crew.state[number] == BLOCKED:
            self.crew.enter(number, IDLE)
        return number is not None

    def _free(self, number: int) -> None:
        self.crew.enter(number, IDLE)
        self.crew.flagged.discard(number)

    def _pause(self, e: ev.Pause) -> None:
        self._free(e.worker)
        if e.cause == "defer":
            self._versions.pop(e.episode, None)
        self.log.lost(e.t, "pause", e.cause, 1)

    def _abort(self, e: ev.Abort) -> None:
        if e.worker is not None:
            self._free(e.worker)
        self._versions.pop(e.episode, None)
        self.barrier.lost(e.t, e.episode, e.cause)
        self.log.lost(e.t, "abort", e.cause, 1)

    def _fail(self, e: ev.Fail) -> None:
        self._free(e.worker)
        self._versions.pop(e.episode, None)
        self.barrier.lost(e.t, e.episode, e.cause)
        if e.cause != "crash":
            self.log.lost(e.t, "fail", e.cause, 1)

    def _drop(self, e: ev.Drop) -> None:
        for episode in e.episodes:
            self._versions.pop(episode, None)
            self.barrier.lost(e.t, episode, e.cause)
            if not self._relieve(episode):
                self._depth -= 1
        self.log.lost(e.t, "drop", e.cause, len(e.episodes))

    def _update(self, e: ev.Update) -> None:
        begun = self.crew.begun[self._finished.worker] if self._finished is not None else 0.0
        self.barrier.trained(e, e.t - self._waits_since, self._finished, begun)
        self._training = True
        self._depth -= len(e.episodes)
        self._trained += len(e.episodes)
        pop = self._versions.pop
        staleness = self._version * len(e.episodes) - sum([pop(episode) for episode in e.episodes])
        self._staleness += staleness
        self._batch_staleness = staleness / len(e.episodes)

    def _updated(self, e: ev.Updated) -> None:
        self._training = False
        self._waits_since = e.t

    def _learn(self, e: ev.Learn) -> None:
        if (self._reward or 0.0) < TARGET_SHARE <= e.reward:
            self.log.add(e.t, "learn", f"reward {e.reward:.2f} of 1 after {e.update + 1} updates")
        self._reward = e.reward

    def _push(self, e: ev.Push) -> None:
        self._training = True
        self.crew.frozen = e.freezes

    def _publish(self, e: ev.Publish) -> None:
        self._training = self.crew.frozen = False
        self._waits_since = e.t
        self._version = e.version
        self.log.published(e.t, e.version, self._batch_staleness)

    def _stall(self, e: ev.Stall) -> None:
        self._stalled = True

    def _unstall(self, e: ev.Unstall) -> None:
        self._stalled = False
        self._waits_since = e.t
        self.log.add(e.t, "back", "trainer goes on")

    def _down(self, e: ev.Down) -> None:
        self.crew.enter(e.worker, DOWN)

    def _up_again(self, e: ev.Up) -> None:
        number = e.worker
        self.crew.join(number, e.t)
        if self.crew.state[number] == DOWN:
            self.log.add_up(e.t, "back", 1, "worker", "back")
        holds = self._holders.get(self.crew.episode[number]) == number
        self.crew.enter(number, BLOCKED if holds else IDLE)

    def _leave(self, e: ev.Leave) -> None:
        self.crew.enter(e.worker, ABSENT)

    def _inject(self, e: ev.Inject) -> None:
        self.marks.append(e.t)
        self.log.injected(e.t, e.action)
        if (straggler := e.action.get("straggler")) is not None:
            self._slow_episode(e.t, straggler["episode"], straggler["factor"])

    def _slow_episode(self, t: float, episode: int, factor: float) -> None:
        at_it = self.crew.on(episode)
        self.crew.flagged.update(at_it)
        effect = "now" if at_it else "later" if episode >= self.next_episode else "none"
        self.hits.append(Hit(t, episode, factor, effect))
        self._slowed = {hit.episode for hit in self.hits}
        self.barrier.watch(self._slowed)


_HANDLERS: dict[type[ev.Event], Callable[[History, Any], None]] = {
    ev.Start: History._start,
    ev.Resume: History._resume,
    ev.Blocked: History._blocked,
    ev.Gated: History._gated,
    ev.Overhead: History._overhead,
    ev.Generate: History._generate,
    ev.Retry: History._retry,
    ev.Finish: History._finish,
    ev.HandOver: History._hand_over,
    ev.Pause: History._pause,
    ev.Abort: History._abort,
    ev.Fail: History._fail,
    ev.Drop: History._drop,
    ev.Update: History._update,
    ev.Updated: History._updated,
    ev.Learn: History._learn,
    ev.Push: History._push,
    ev.Publish: History._publish,
    ev.Stall: History._stall,
    ev.Unstall: History._unstall,
    ev.Down: History._down,
    ev.Up: History._up_again,
    ev.Leave: History._leave,
    ev.Inject: History._inject,
}
