"""The fold: events of one lane, in order, into accounts of what happened in it.

Totals of seconds are kept as the signed end points of their intervals (``+end``, ``-start``), to be rounded
once when they are read. So a total does not depend on how many pieces an interval was cut into, nor on the
order in which they came.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

from emulator import events as ev
from emulator.figures.engines import EngineSums
from emulator.figures.episode_state import EpisodeState
from emulator.figures.learning import LearningSums
from emulator.figures.records import (
    ABSENT,
    ENGINE,
    QUEUE,
    SANDBOX,
    TRAINER_STATES,
    WAITING,
    WORKER_STATES,
    EpisodeRecord,
    GroupRecord,
    WorkerRecord,
)
from emulator.figures.sums import ExactSum, ratio
from emulator.scenario import Scenario


class Fold(EpisodeState):
    """The accounts of one lane, as of the events that it was given."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.max_depth = 0
        self.staleness: Counter[int] = Counter()
        self._waits_since: float | None = 0.0
        self._longest_wait = 0.0
        self._seconds = {account: ExactSum() for account in (*WORKER_STATES, SANDBOX, QUEUE, ENGINE, ABSENT)}
        self._wasted = ExactSum()
        self._trainer_seconds = {state: ExactSum() for state in TRAINER_STATES}
        self._queue_seconds = ExactSum()
        self._trained_waits = ExactSum()
        self._sandbox_seconds = ExactSum()
        self._started_durations = ExactSum()
        self._trained_durations = ExactSum()
        self._in_flight_versions = 0
        self._in_queue_versions = 0
        self._span_total = 0
        self._span_max = 0
        self._newest_total = 0
        self._weighted = ExactSum()
        self._group_seconds: list[float] = []
        self._sibling_waits = ExactSum()
        self._finished_in_groups = 0
        self.learning: LearningSums | None = None if scenario.learner is None else LearningSums()
        """What the learner came to; None if there is none."""
        self.engine_sums = EngineSums(self.engines)

    def add(self, events: Iterable[ev.Event]) -> None:
        """Take in the next events of the lane, in their order."""
        super().add(events)
        self._condense()

    def _condense(self) -> None:
        """Bound the memory that sums take."""
        for total in self._sums():
            total.condense_if_long()

    def _sums(self) -> Iterator[ExactSum]:
        yield from self._seconds.values()
        yield from self._trainer_seconds.values()
        yield from (self._wasted, self._queue_seconds, self._trained_waits)
        yield from (self._started_durations, self._trained_durations)
        yield from (self._sandbox_seconds, self._weighted, self._sibling_waits)
        if self.learning is not None:
            yield from self.learning.sums()
        yield from self.engine_sums.sums()

    def longest_wait(self, t: float) -> float:
        """Seconds of the trainer's longest single wait up to `t`, the one that may still go on included."""
        return max(self._longest_wait, 0.0 if self._waits_since is None else t - self._waits_since)

    def queue_wait_mean(self) -> float | None:
        """Mean seconds from the finish of trained episodes to the beginning of their update."""
        return ratio(self._trained_waits.value(), self.counts["trained"])

    # -- hooks --------------------------------------------------------------------------------------

    def _on_pass(self, t: float) -> None:
        self.max_depth = max(self.max_depth, self.depth)

    def _on_worker(self, worker: WorkerRecord, before: str, t: float) -> None:
        if worker.account != before:
            self._seconds[before].add(t)
            self._seconds[worker.account].add(-t)

        super()._on_worker(worker, before, t)

    def _on_take(self, worker: WorkerRecord, start: ev.Start, t: float) -> None:
        if start.episode not in self.episodes:
            self._started_durations.add(start.duration)
        super()._on_take(worker, start, t)

    def _on_episode_end(self, episode: EpisodeRecord, how: str, cause: str, t: float) -> None:
        if cause != "resume":
            for _, start, end in episode.attempt():
                self._wasted.add(end)
                self._wasted.add(-start)

    def _on_depth(self, change: int, t: float) -> None:
        if change == 1:
            self._queue_seconds.add(-t)
        else:
            self._queue_seconds.extend(repeat(t, -change))

    def _on_sandbox(self, t: float, *, holds: bool) -> None:
        self._sandbox_seconds.add(-t if holds else t)

    def _on_admit(self, event: ev.Admit) -> None:
        self.engine_sums.admit(event)

    def _on_release(self, event: ev.Release) -> None:
        self.engine_sums.release(event)
        worker = self.workers[event.worker]
        assert worker.episode is not None
        stay = self.engines[event.engine].running[event.worker]
        self.episodes[worker.episode].context = stay.context + event.tokens

    def _on_lengthen(self, event: ev.Lengthen) -> None:
        self.engine_sums.lengthen(event)

    def _on_engine(self, event: ev.EngineChange) -> None:
        self.engine_sums.change(event)

    def _on_group(self, group: GroupRecord, t: float) -> None:
        self._group_seconds.append(t - group.first_start)
        self._sibling_waits.extend(repeat(t, len(group.finishes)))
        self._sibling_waits.extend(-finish for finish in group.finishes)
        self._finished_in_groups += len(group.finishes)

    def _on_trainer(self, before: str, t: float) -> None:
        account = self.trainer_account
        if account != before:
            self._trainer_seconds[before].add(t)
            self._trainer_seconds[account].add(-t)
            if before == WAITING:
                self._longest_wait = self.longest_wait(t)
            self._waits_since = t if account == WAITING else None

    def _on_trained(self, update: ev.Update, batch: Sequence[EpisodeRecord]) -> None:
        self._trained_waits.extend(repeat(update.t, len(batch)))
        self._trained_waits.extend([-episode.finished for episode in batch if episode.finished is not None])
        self._trained_durations.extend([episode.start.duration for episode in batch])
        if self.engines:
            self.engine_sums.trained.extend([episode.context for episode in batch])
        now, counts = self.version, self.staleness
        for episode in batch:
            versions = episode.versions()
            oldest, newest = versions[0], versions[-1]
            self._in_flight_versions += episode.finished_version - oldest
            self._in_queue_versions += now - episode.finished_version
            counts[now - oldest] += 1
            self._newest_total += now - newest
            if oldest == newest:
                self._weighted.add(float(now - oldest))
            else:
                self._span_total += newest - oldest
                self._span_max = max(self._span_max, newest - oldest)
                self._weighted.add(now - episode.mean_version())

    def _on_learn(self, event: ev.Learn) -> None:
        if self.learning is None:  # a learner that the scenario does not name
            self.learning = LearningSums()
        self.learning.add(event)
