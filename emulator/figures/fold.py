"""The fold: events of one lane, in order, into accounts.

Totals of seconds are kept as the signed end points of their intervals (``+end``, ``-start``), to be rounded
once when they are read. So a total does not depend on how many pieces an interval was cut into, nor on the
order in which they came.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from emulator import events as ev
from emulator.figures.learning import LearningSums
from emulator.figures.records import (
    BLOCKED,
    DOWN,
    FROZEN,
    GATED,
    GENERATING,
    LEFT,
    OVERHEAD,
    PUSHING,
    QUEUE,
    SANDBOX,
    STALLED,
    TRAINER_STATES,
    UPDATING,
    WAITING,
    WORKER_STATES,
    EpisodeRecord,
    GroupRecord,
    WorkerRecord,
)
from emulator.figures.sums import ExactSum, ratio
from emulator.scenario import Scenario

GROUP_CAUSES = ("group", "stale", "round")
"""Why whole groups are given up."""


class Fold:
    """The accounts of one lane, as of the events that it was given."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.t = 0.0
        self.version = 0
        self.updates = 0
        self.publications = 0
        self.frozen = False
        self.workers: dict[int, WorkerRecord] = {w: WorkerRecord() for w in range(scenario.rollout.workers)}
        self.episodes: dict[int, EpisodeRecord] = {}
        self.interventions: list[dict[str, Any]] = []
        self.counts: Counter[str] = Counter()
        self.depth = 0
        self.max_depth = 0
        self.trainer_state: str = WAITING
        self.stalled = False
        self.first_update_at: float | None = None
        """Emulated seconds at which the first update counted; None if none has."""
        self._waits_since: float | None = 0.0
        self._longest_wait = 0.0
        self._push_counts = False
        self.staleness: Counter[int] = Counter()
        self._seconds = {account: ExactSum() for account in (*WORKER_STATES, SANDBOX, QUEUE)}
        self._service = ExactSum()
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
        self._last_finished = -1
        self._holders: dict[int, WorkerRecord] = {}
        self._groups: dict[int, GroupRecord] = {}
        self._group_seconds: list[float] = []
        self._sibling_waits = ExactSum()
        self._finished_in_groups = 0
        self._has_environment = scenario.environment is not None
        self._group_size = scenario.rollout.group_size
        self.learning: LearningSums | None = None if scenario.learner is None else LearningSums()
        """What the learner came to; None if there is none."""

    # -- the fold ---------------------------------------------------------------------------------

    def add(self, events: Iterable[ev.Event]) -> None:
        """Take in the next events of the lane, in their order."""
        handlers = HANDLERS
        for event in events:
            if event.t > self.t:
                self._settle()
                self.t = event.t
            handlers[type(event)](self, event)
        for total in self._sums():
            total.condense_if_long()

    def _record(self, number: int) -> EpisodeRecord:
        """The record of an episode that is in flight, paused or queued."""
        return self.episodes[number]

    def _take_out(self, number: int) -> EpisodeRecord:
        """The same of one that is so no longer."""
        return self.episodes.pop(number)

    def oldest_version(self) -> int | None:
        """The oldest version that runs, is paused or queued; None if there is no episode."""
        return min((episode.version for episode in self.episodes.values()), default=None)

    def _settle(self) -> None:
        self.max_depth = max(self.max_depth, self.depth)

    def _sums(self) -> Iterator[ExactSum]:
        yield from self._seconds.values()
        yield from self._trainer_seconds.values()
        yield from (self._wasted, self._queue_seconds, self._trained_waits)
        yield from (self._started_durations, self._trained_durations)
        yield from (self._sandbox_seconds, self._weighted, self._sibling_waits)
        if self.learning is not None:
            yield from self.learning.sums()

    def _enter(self, worker: WorkerRecord, state: str, t: float, cause: str = "") -> None:
        """Let a worker change its state; time in a freeze counts as frozen, whatever the state."""
        old = self._account(worker)
        worker.state = state
        worker.cause = cause
        new = self._account(worker)
        if old != new:
            self._seconds[old].add(t)
            self._seconds[new].add(-t)
            if old == GENERATING:
                self._close_segment(worker, t)
            if new == GENERATING:
                self._open_segment(worker, t)

    def _account(self, worker: WorkerRecord) -> str:
        """The account that a worker's time goes to; `BLOCKED` has one for each cause."""
        if self.frozen and worker.state != DOWN:
            return FROZEN
        return worker.cause if worker.state == BLOCKED else worker.state

    def _open_segment(self, worker: WorkerRecord, t: float) -> None:
        if worker.episode is not None:
            self._record(worker.episode).opened = t

    def _close_segment(self, worker: WorkerRecord, t: float) -> None:
        if worker.episode is not None:
            episode = self._record(worker.episode)
            if episode.opened is not None:
                episode.segments.append((episode.version, episode.opened, t))
                episode.opened = None

    def _set_frozen(self, t: float, *, frozen: bool) -> None:
        workers = [worker for worker in self.workers.values() if worker.state != DOWN]
        for worker in workers:
            old = self._account(worker)
            if old == GENERATING:
                self._close_segment(worker, t)
            self._seconds[old].add(t)
        self.frozen = frozen
        for worker in workers:
            new = self._account(worker)
            if new == GENERATING:
                self._open_segment(worker, t)
            self._seconds[new].add(-t)

    def _take(self, worker: WorkerRecord, episode: int, t: float) -> None:
        worker.episode = episode
        self._enter(worker, GENERATING, t)
        if self._has_environment:
            self._hold_sandbox(self._record(episode), t, holds=True)

    def _hold_sandbox(self, episode: EpisodeRecord, t: float, *, holds: bool) -> None:
        if episode.has_sandbox != holds:
            episode.has_sandbox = holds
            self._sandbox_seconds.add(-t if holds else t)

    def _release(self, worker_id: int, t: float, state: str = WAITING) -> None:
        """Let a worker go of its episode."""
        worker = self.workers[worker_id]
        self._enter(worker, state, t)
        worker.episode = None

    def _waste(self, episode: EpisodeRecord) -> None:
        """Count what the present attempt generated as wasted; what earlier ones did already is."""
        for _, start, end in episode.segments[episode.attempt_segments :]:
            self._wasted.add(end)
            self._wasted.add(-start)
        episode.attempt_segments = len(episode.segments)

    def longest_wait(self, t: float) -> float:
        """Seconds of the trainer's longest single wait up to `t`, the one that may still go on included."""
        return max(self._longest_wait, 0.0 if self._waits_since is None else t - self._waits_since)

    def queue_wait_mean(self) -> float | None:
        """Mean seconds from the finish of trained episodes to the beginning of their update."""
        return ratio(self._trained_waits.value(), self.counts["trained"])

    @property
    def trainer_account(self) -> str:
        """The account that the trainer's time goes to."""
        return STALLED if self.stalled else self.trainer_state

    def _set_trainer(self, t: float, state: str | None = None, *, stalled: bool | None = None) -> None:
        old = self.trainer_account
        self.trainer_state = self.trainer_state if state is None else state
        self.stalled = self.stalled if stalled is None else stalled
        new = self.trainer_account
        if old != new:
            self._trainer_seconds[old].add(t)
            self._trainer_seconds[new].add(-t)
            if old == WAITING:
                self._longest_wait = self.longest_wait(t)
            self._waits_since = t if new == WAITING else None

    def _count_update(self, t: float) -> None:
        self.updates += 1
        if self.first_update_at is None:
            self.first_update_at = t

    def _enqueue(self, t: float, change: int) -> None:
        self.depth += change
        self._queue_seconds.add(-t if change > 0 else t)

    def _start(self, e: ev.Start) -> None:
        self.counts["started"] += 1
        self.counts["attempts"] += 1
        self._started_durations.add(e.duration)
        self.episodes[e.episode] = EpisodeRecord(e.worker, e.group, e.version, e.version, e.t, e.duration)
        if self._group_size > 1:
            self._groups.setdefault(e.group, GroupRecord(e.t))
        self._take(self.workers[e.worker], e.episode, e.t)

    def _resume(self, e: ev.Resume) -> None:
        episode = self._record(e.episode)
        if not episode.begun:
            self.counts["attempts"] += 1
            episode.begun = True
            episode.start_version = e.version
        self.counts["paused"] -= 1
        episode.worker = e.worker
        episode.version = e.version
        self._take(self.workers[e.worker], e.episode, e.t)

    def _blocked(self, e: ev.Blocked) -> None:
        worker = self.workers[e.worker]
        if e.cause == SANDBOX:
            self._count_attempt(worker, e.t, holds=False)
        else:
            self._enqueue(e.t, -1)
            worker.held = self._last_finished
            self._holders[self._last_finished] = worker
        self._enter(worker, BLOCKED, e.t, e.cause)

    def _begin_attempt_if_blocked(self, worker: WorkerRecord, t: float) -> None:
        if worker.state == BLOCKED and worker.cause == SANDBOX:
            self._count_attempt(worker, t, holds=True)

    def _count_attempt(self, worker: WorkerRecord, t: float, *, holds: bool) -> None:
        """An attempt begins when there is a sandbox for it."""
        assert worker.episode is not None
        episode = self._record(worker.episode)
        self._hold_sandbox(episode, t, holds=holds)
        self.counts["attempts"] += 1 if holds else -1
        episode.begun = holds

    def _overhead(self, e: ev.Overhead) -> None:
        worker = self.workers[e.worker]
        self._begin_attempt_if_blocked(worker, e.t)
        self._enter(worker, OVERHEAD, e.t)

    def _generate(self, e: ev.Generate) -> None:
        worker = self.workers[e.worker]
        self._begin_attempt_if_blocked(worker, e.t)
        self._enter(worker, GENERATING, e.t)

    def _gated(self, e: ev.Gated) -> None:
        self._enter(self.workers[e.worker], GATED, e.t)

    def _retry(self, e: ev.Retry) -> None:
        worker = self.workers[e.worker]
        self._close_segment(worker, e.t)
        self._waste(self._record(e.episode))
        self.counts["attempts"] += 1
        self.counts["retried"] += 1
        self.counts[f"attempt_{e.cause}"] += 1
        if worker.state == GENERATING:
            self._open_segment(worker, e.t)
        else:
            self._enter(worker, GENERATING, e.t)

    def _finish(self, e: ev.Finish) -> None:
        self.counts["finished"] += 1
        self.counts["queued"] += 1
        self._release(e.worker, e.t)
        self._last_finished = e.episode
        episode = self._record(e.episode)
        self._hold_sandbox(episode, e.t, holds=False)
        episode.finished = e.t
        episode.finished_version = self.version
        self._enqueue(e.t, 1)
        if self._group_size > 1:
            self._finish_in_group(episode.group, e.t)

    def _finish_in_group(self, number: int, t: float) -> None:
        group = self._groups[number]
        group.finishes.append(t)
        if len(group.finishes) == self._group_size:
            self.counts["groups_completed"] += 1
            self._group_seconds.append(t - group.first_start)
            for finish in group.finishes:
                self._sibling_waits.add(t)
                self._sibling_waits.add(-finish)
            self._finished_in_groups += self._group_size

    def _hand_over(self, e: ev.HandOver) -> None:
        self._enqueue(e.t, 1)
        self._relieve(self._holders.pop(e.episode), e.t)

    def _relieve(self, worker: WorkerRecord, t: float) -> None:
        """A worker holds its finished episode no longer; one that is down or has left stays so."""
        worker.held = None
        if worker.state == BLOCKED:
            self._enter(worker, WAITING, t)

    def _pause(self, e: ev.Pause) -> None:
        self._release(e.worker, e.t)
        self.counts["paused"] += 1
        if e.cause == "defer":
            episode = self._record(e.episode)
            self._waste(episode)
            self._hold_sandbox(episode, e.t, holds=False)
            episode.begun = False

    def _abort(self, e: ev.Abort) -> None:
        if e.worker is None:
            self.counts["paused"] -= 1
        else:
            self._release(e.worker, e.t)
        self._lose(e.episode, "aborted", e.t, e.cause)

    def _fail(self, e: ev.Fail) -> None:
        self._release(e.worker, e.t)
        if e.cause != "crash":
            self.counts[f"attempt_{e.cause}"] += 1
        self._lose(e.episode, "failed", e.t, e.cause)

    def _lose(self, number: int, account: str, t: float, cause: str) -> None:
        episode = self._take_out(number)
        self._hold_sandbox(episode, t, holds=False)
        self.counts[account] += 1
        self._waste(episode)
        if self._group_size > 1 and cause != "surplus":
            self._lose_member(episode.group, whole=cause in GROUP_CAUSES)

    def settled_groups(self) -> Iterator[GroupRecord]:
        """Groups that are complete or lost and have no episode left: nothing changes them any more."""
        present = {episode.group for episode in self.episodes.values()}
        for number, group in self._groups.items():
            if number not in present and (group.lost or len(group.finishes) == self._group_size):
                yield group

    def _lose_member(self, number: int, *, whole: bool) -> None:
        """A group lost a member; it is lost `whole` if that was the reason, or if too few are left."""
        group = self._groups[number]
        group.lost_members += 1
        whole = whole or group.lost_members > self.scenario.rollout.group_redundancy
        if whole and not group.lost:
            group.lost = True
            self.counts["groups_lost"] += 1

    def _drop(self, e: ev.Drop) -> None:
        for number in e.episodes:
            episode = self._take_out(number)
            self.counts["dropped"] += 1
            self.counts["queued"] -= 1
            self._waste(episode)
            if e.cause == "group" and self._group_size > 1:
                self._lose_member(episode.group, whole=True)
            if (holder := self._holders.pop(number, None)) is None:
                self._enqueue(e.t, -1)
            else:
                self._relieve(holder, e.t)

    def _update(self, e: ev.Update) -> None:
        self._set_trainer(e.t, UPDATING)
        self.counts["trained"] += len(e.episodes)
        self.counts["queued"] -= len(e.episodes)
        self._train(e.episodes, e.t)

    def _train(self, numbers: Sequence[int], t: float) -> None:
        for number in numbers:
            episode = self._take_out(number)
            self._enqueue(t, -1)
            assert episode.finished is not None
            self._trained_waits.add(t)
            self._trained_waits.add(-episode.finished)
            self._trained_durations.add(episode.duration)
            self._count_staleness(episode)

    def _count_staleness(self, episode: EpisodeRecord) -> None:
        versions = episode.versions()
        oldest, newest = versions[0], versions[-1]
        self._in_flight_versions += episode.finished_version - oldest
        self._in_queue_versions += self.version - episode.finished_version
        self.staleness[self.version - oldest] += 1
        self._span_total += newest - oldest
        self._span_max = max(self._span_max, newest - oldest)
        self._newest_total += self.version - newest
        mean = float(oldest) if oldest == newest else episode.mean_version()
        self._weighted.add(self.version - mean)

    def _updated(self, e: ev.Updated) -> None:
        if not e.pushes:
            self._count_update(e.t)
        self._push_counts = e.pushes
        self._set_trainer(e.t, WAITING)

    def _learn(self, e: ev.Learn) -> None:
        if self.learning is None:  # a learner that the scenario does not tell of
            self.learning = LearningSums()
        self.learning.add(e)

    def _push(self, e: ev.Push) -> None:
        self._set_trainer(e.t, PUSHING)
        if e.freezes:
            self._set_frozen(e.t, frozen=True)

    def _publish(self, e: ev.Publish) -> None:
        self.version = e.version
        self.publications += 1
        if self._push_counts:
            self._count_update(e.t)
        self._set_trainer(e.t, WAITING)
        if self.frozen:
            self._set_frozen(e.t, frozen=False)

    def _refresh(self, e: ev.Refresh) -> None:
        for number in e.workers:
            worker = self.workers[number]
            if worker.episode is None:
                continue
            episode = self._record(worker.episode)
            open_segment = episode.opened is not None
            self._close_segment(worker, e.t)
            episode.version = self.version
            if open_segment:
                self._open_segment(worker, e.t)

    def _stall(self, e: ev.Stall) -> None:
        self._set_trainer(e.t, stalled=True)

    def _unstall(self, e: ev.Unstall) -> None:
        self._set_trainer(e.t, stalled=False)

    def _down(self, e: ev.Down) -> None:
        self._enter(self.workers[e.worker], DOWN, e.t)

    def _up(self, e: ev.Up) -> None:
        worker = self.workers.get(e.worker)
        if worker is None:
            self.workers[e.worker] = WorkerRecord()
            self._service.add(-e.t)
            self._seconds[self._account(self.workers[e.worker])].add(-e.t)
        elif worker.held is None:
            self._enter(worker, WAITING, e.t)
        else:
            self._enter(worker, BLOCKED, e.t, QUEUE)

    def _leave(self, e: ev.Leave) -> None:
        worker = self.workers.pop(e.worker)
        self._seconds[self._account(worker)].add(e.t)
        self._service.add(e.t)
        worker.state = LEFT

    def _inject(self, e: ev.Inject) -> None:
        self.interventions.append(e.entry)


HANDLERS: Final[dict[type[ev.Event], Callable[[Fold, Any], None]]] = {
    ev.Start: Fold._start,
    ev.Resume: Fold._resume,
    ev.Blocked: Fold._blocked,
    ev.Gated: Fold._gated,
    ev.Overhead: Fold._overhead,
    ev.Generate: Fold._generate,
    ev.Retry: Fold._retry,
    ev.Finish: Fold._finish,
    ev.HandOver: Fold._hand_over,
    ev.Pause: Fold._pause,
    ev.Abort: Fold._abort,
    ev.Fail: Fold._fail,
    ev.Drop: Fold._drop,
    ev.Update: Fold._update,
    ev.Updated: Fold._updated,
    ev.Learn: Fold._learn,
    ev.Push: Fold._push,
    ev.Publish: Fold._publish,
    ev.Refresh: Fold._refresh,
    ev.Stall: Fold._stall,
    ev.Unstall: Fold._unstall,
    ev.Down: Fold._down,
    ev.Up: Fold._up,
    ev.Leave: Fold._leave,
    ev.Inject: Fold._inject,
}
