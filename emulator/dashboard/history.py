"""What views need beyond the figures, folded from a lane's events: who does what, and how it came there.

It is cheap (a view watches thousands of events in a frame) and bounded: it keeps the present state of
every worker, running totals, and one column of the past for each `Scale.column` seconds, as many as the
widest screen shows. Totals are plain floats, good for drawing; the figures have the exact ones.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from emulator import events as ev
from emulator.dashboard.barrier import Barrier
from emulator.dashboard.crew import ABSENT, ACTING, BLOCKED, DOWN, GATED, IDLE, RUN, STRAGGLER, WEIGHTS, Crew
from emulator.dashboard.engines import engine_states
from emulator.dashboard.log import Entry, Log, worker
from emulator.dashboard.past import Column, Past, Totals
from emulator.dashboard.scale import Scale
from emulator.figures import records
from emulator.figures.lane_state import LaneState
from emulator.figures.records import FINISHED, PAUSED, RETRIED, STALLED, WAITING, WorkerRecord
from emulator.figures.text import count, decimal, span
from emulator.learner import TARGET_SHARE
from emulator.scenario import Scenario

COLUMNS = 512
"""Columns of the past that are kept, unless there are very many workers."""

_LEAST_COLUMNS = 64
_MEMORY = 32_000_000  # bytes, about, for the states of workers in all columns
_MARKS = 1000
_HITS = 64
_ENDLESS = 5  # times the longest wait before
_ROLES = {
    records.GENERATING: RUN,
    records.OVERHEAD: WEIGHTS,
    records.ACTING: ACTING,
    records.WAITING: IDLE,
    records.GATED: GATED,
    records.BLOCKED: BLOCKED,
    records.SANDBOX: BLOCKED,
    records.QUEUE: BLOCKED,
    records.ENGINE: BLOCKED,
    records.FROZEN: WEIGHTS,
    records.DOWN: DOWN,
    records.ABSENT: ABSENT,
}
"""What a worker's state, and what its account, is shown as."""

_BACK = frozenset({records.ABSENT, records.DOWN})


class Hit(NamedTuple):
    """A straggler injected: when, into which episode, and whether that ran, was yet to come or was over."""

    t: float
    episode: int
    factor: float
    effect: str


class History(LaneState):
    """The state of one lane as views see it, and its past."""

    def __init__(self, scenario: Scenario, scale: Scale) -> None:
        super().__init__(scenario)
        workers = scenario.rollout.workers
        self.scale = scale
        self.crew = Crew(workers, scale)
        self.log = Log()
        self.past = Past(max(_LEAST_COLUMNS, min(COLUMNS, _MEMORY // workers)))
        self.marks: deque[float] = deque(maxlen=_MARKS)
        """When something was injected."""
        self.hits: deque[Hit] = deque(maxlen=_HITS)
        self.barrier = Barrier(self.log, scale.column)
        self._slowed: set[int] = set()
        self._waits_since = 0.0
        self._finished: tuple[float, int, int] | None = None
        self._trainer_seconds = 0.0
        self._queue_seconds = 0.0
        self._staleness = 0
        self._batch_staleness = 0.0
        self._next_column = scale.column
        self.full_engine = 0 if scenario.engine is None else scenario.engine.slots or 0
        """The most sequences that an engine runs, or has run so far where there is no limit."""

    def engine_states(self) -> NDArray[np.uint8]:
        """What each engine is shown as now: the more it runs, of all that it can or did, the brighter."""
        return engine_states(self.engines, self.full_engine)

    def states(self) -> NDArray[np.uint8]:
        """What each worker is shown as now."""
        return self.crew.states(self.t, frozen=self.frozen)

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
        if self.trainer_account != WAITING or not 0.0 < _ENDLESS * self.barrier.longest < waited:
            return None
        text = f"training has waited {span(waited)}"
        running = np.flatnonzero(np.isin(self.states(), (RUN, ACTING, STRAGGLER)))
        if len(running):
            first = min(running.tolist(), key=self.crew.episode.__getitem__)
            text += f"; {worker(first)} is still at episode {self.crew.episode[first]}"
        return Entry(self.t, "wait", text)

    def seconds(self) -> list[float]:
        """Worker seconds by state up to now; those of a freeze under `WEIGHTS`."""
        return self.crew.seconds(self.t, frozen=self.frozen)

    def totals(self) -> Totals:
        """The running totals now."""
        seconds = self.seconds()
        return Totals(
            self.t,
            sum(seconds),
            seconds[RUN],
            self._trainer_seconds,
            self._queue_seconds,
            self.counts["trained"],
            self._staleness,
            None if self.lesson is None else self.lesson.reward,
        )

    def advance(self, t: float) -> None:
        """Say that nothing else has happened before `t`."""
        if t > self.t:
            self._on_pass(t)

    def _on_pass(self, t: float) -> None:
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
            past.close(Column(self.states().tobytes(), self.totals(), self.engine_states().tobytes()))
        self._next_column = end

    def _spend(self, t: float) -> None:
        """Let time go by in which nothing changes."""
        passed = t - self.t
        crew = self.crew
        count = crew.count
        if self.depth:
            self._queue_seconds += self.depth * passed
        last = None
        if self.trainer_state != WAITING:
            self._trainer_seconds += 0.0 if self.stalled else passed
        elif not self.stalled and count[RUN] + count[ACTING] + count[WEIGHTS] == 1:
            last = crew.alone
        if last is None:
            self.barrier.over(self.t)
        else:
            self.barrier.wait(last, crew.episode[last], self.t, passed)
        self.t = t

    def _on_worker(self, worker: WorkerRecord, before: str, t: float) -> None:
        crew, number = self.crew, worker.number
        if before in _BACK:
            self._come_back(worker, before, t)
        count, states, since = crew.count, crew.state, crew.since
        state = _ROLES[worker.state]
        count[states[number]] -= 1
        count[state] += 1
        states[number] = state
        if t > since[number]:
            crew.spent[_ROLES[before]] += t - since[number]
            since[number] = t
        if crew.flagged and worker.episode is None:
            crew.flagged.discard(number)

    def _come_back(self, worker: WorkerRecord, before: str, t: float) -> None:
        if before == records.ABSENT:
            self.crew.join(worker.number, t)
        elif worker.state in (records.WAITING, records.BLOCKED):
            self.log.add_up(t, "back", 1, "worker", "back")

    def _on_take(self, worker: WorkerRecord, start: ev.Start, t: float) -> None:
        crew, number = self.crew, worker.number
        crew.begun[number] = t
        crew.episode[number] = start.episode
        if self._slowed and start.episode in self._slowed:
            crew.flagged.add(number)

    def _on_attempt(self, worker: WorkerRecord, start: ev.Start, t: float) -> None:
        self.crew.begun[worker.number] = t

    def _on_end(self, worker: WorkerRecord | None, start: ev.Start, how: str, cause: str, t: float) -> None:
        if how == FINISHED and worker is not None:
            self._finished = t, worker.number, start.episode
            age = t - self.crew.begun[worker.number]
            if age >= self.scale.straggler:
                self.log.straggler(t, worker.number, age, self.scale.median)
        elif how == RETRIED:
            self.barrier.retried(start.episode, cause)
        else:
            if how != PAUSED:
                self.barrier.lost(t, start.episode, cause)
            if cause != "crash":
                self.log.lost(t, how, cause, 1)

    def _on_admit(self, event: ev.Admit) -> None:
        running = len(self.engines[event.engine].running) + 1
        self.full_engine = max(self.full_engine, running)

    def _on_engine(self, event: ev.EngineChange) -> None:
        if event.cause == "restart":
            self.log.add_up(event.t, "back", 1, "engine", "back")

    def _on_batch(self, update: ev.Update, starts: Sequence[ev.Start]) -> None:
        last = None if self._finished is None else ev.Finish(*self._finished)
        begun = self.crew.begun[last.worker] if last is not None else 0.0
        self.barrier.trained(update, update.t - self._waits_since, last, begun)
        staleness = self.version * len(starts) - sum([start.version for start in starts])
        self._staleness += staleness
        self._batch_staleness = staleness / len(starts)

    def _on_trainer(self, before: str, t: float) -> None:
        if before == STALLED:
            self.log.add(t, "back", "trainer goes on")
        if self.trainer_account == WAITING:
            self._waits_since = t

    def _on_learn(self, event: ev.Learn) -> None:
        before = 0.0 if self.lesson is None else self.lesson.reward
        if before < TARGET_SHARE <= event.reward:
            text = f"reward {decimal(event.reward)} of 1 after {count(event.update + 1, 'update')}"
            self.log.add(event.t, "learn", text)

    def _on_publish(self, event: ev.Publish) -> None:
        self.log.published(event.t, event.version, self._batch_staleness)

    def _on_inject(self, event: ev.Inject) -> None:
        self.marks.append(event.t)
        self.log.injected(event.t, event.action)
        if (straggler := event.action.get("straggler")) is not None:
            self._slow_episode(event.t, straggler["episode"], straggler["factor"])

    def _slow_episode(self, t: float, episode: int, factor: float) -> None:
        at_it = self.crew.on(episode)
        self.crew.flagged.update(at_it)
        effect = "now" if at_it else "later" if episode >= self.counts["started"] else "none"
        self.hits.append(Hit(t, episode, factor, effect))
        self._slowed = {hit.episode for hit in self.hits}
        self.barrier.watch(self._slowed)
