"""Who does what in a lane, as its events so far leave it: the one place that knows what an event means.

Whoever makes something of events builds on `LaneState`, and overrides those of its `hooks` that concern it.
An event of another type needs a method of its name here, and a hook if it brings a change of a new kind.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from emulator import events as ev
from emulator.figures.engine_state import records_of
from emulator.figures.hooks import Hooks
from emulator.figures.records import (
    ABORTED,
    ABSENT,
    ACTING,
    BLOCKED,
    DOWN,
    DROPPED,
    ENGINE,
    FAILED,
    FINISHED,
    FROZEN,
    GATED,
    GENERATING,
    OVERHEAD,
    PAUSED,
    PUSHING,
    QUEUE,
    RETRIED,
    SANDBOX,
    STALLED,
    UPDATING,
    WAITING,
    GroupRecord,
    WorkerRecord,
)
from emulator.scenario import Scenario

COUNTS = (
    *("started", "finished", "trained", "dropped", "aborted", "failed"),
    *("attempts", "retried", "attempt_failure", "attempt_timeout", "groups_completed", "groups_lost"),
    "preempted",
)

GROUP_CAUSES = ("group", "stale", "round")
"""Why whole groups are given up."""


class LaneState(Hooks):
    """The state of one lane after the events that it was given.

    `workers` are those in service. Episodes are `running` (with a worker), `paused`, or `finished` and not
    yet trained; `holders` are the workers that hold one of these for want of room. `update` is the number of
    the last update, `computed` says that it is computed and not yet published, and `lesson` is what a learner
    reported last.
    """

    __slots__ = (  # since attributes of an object that has many are slower
        "_batch",
        "_group_size",
        "_run_on",
        "computed",
        "counts",
        "depth",
        "engines",
        "ever_in_service",
        "finished",
        "first_update_at",
        "frozen",
        "groups",
        "groups_begun",
        "holders",
        "interventions",
        "last_finished",
        "learned_from",
        "lesson",
        "paused",
        "publications",
        "running",
        "scenario",
        "stalled",
        "t",
        "trainer_state",
        "update",
        "updates",
        "version",
        "workers",
    )

    def __init__(self, scenario: Scenario) -> None:
        rollout = scenario.rollout
        self.scenario = scenario
        self.t = 0.0
        self.version = 0
        self.updates = 0
        self.learned_from = 0
        """Episodes in the updates that have counted."""
        self.publications = 0
        self.first_update_at: float | None = None
        """Emulated seconds at which the first update counted; None if none has."""
        self.workers = {number: WorkerRecord(number) for number in range(rollout.workers)}
        self.ever_in_service = rollout.workers
        self.engines = records_of(scenario)
        """By number; none where workers generate by themselves."""
        self.running: dict[int, ev.Start] = {}
        self.paused: dict[int, tuple[ev.Start, bool]] = {}
        """Paused episodes, each with whether an attempt at it goes on when it is resumed."""
        self.finished: dict[int, ev.Start] = {}
        self.groups: dict[int, GroupRecord] = {}
        """Groups that may still change."""
        self.groups_begun = 0
        self.holders: dict[int, WorkerRecord] = {}
        self.interventions: list[dict[str, Any]] = []
        self.counts = dict.fromkeys(COUNTS, 0)
        self.depth = 0
        self.last_finished = -1
        self.trainer_state: str = WAITING
        self.stalled = False
        self.frozen = False
        self.update = -1
        self._batch = 0
        self.computed: ev.Updated | None = None
        self.lesson: ev.Learn | None = None
        self._group_size = rollout.group_size
        # With engines it is these that a pause of weights stops, and not the workers.
        self._run_on = (DOWN,) if scenario.engine is None else (DOWN, OVERHEAD, ACTING)

    @property
    def trainer_account(self) -> str:
        """What the trainer's time goes to."""
        return STALLED if self.stalled else self.trainer_state

    # -- what events do -----------------------------------------------------------------------------

    def add(self, events: Iterable[ev.Event]) -> None:
        """Take in the next events of the lane, in their order."""
        handlers, t = HANDLERS, self.t
        for event in events:
            if event.t > t:
                t = event.t
                self._on_pass(t)
                self.t = t
            handlers[type(event)](self, event)

    def _change(
        self, worker: WorkerRecord, state: str, episode: int | None, t: float, cause: str = ""
    ) -> None:
        """Let a worker change what it does; time in a freeze counts as frozen, whatever the state."""
        before = worker.account
        if worker.cause == ENGINE:
            del self.engines[worker.engine].waiting[worker.number]
        worker.state = state
        worker.cause = cause
        worker.account = FROZEN if self.frozen and state not in self._run_on else cause or state
        worker.episode = episode
        self._on_worker(worker, before, t)

    def _set_frozen(self, t: float, *, frozen: bool) -> None:
        self.frozen = frozen
        for worker in self.workers.values():
            if worker.cause == ENGINE:
                self._wait_in_line(worker, worker.engine, t)
            else:
                self._change(worker, worker.state, worker.episode, t, worker.cause)

    def _change_depth(self, change: int, t: float) -> None:
        self.depth += change
        self._on_depth(change, t)

    def _start(self, e: ev.Start) -> None:
        t, number, group = e.t, e.episode, e.group
        self.counts["started"] += 1
        self.running[number] = e
        if self._group_size > 1:
            if group not in self.groups:
                self.groups[group] = GroupRecord(t)
                self.groups_begun += 1
            self.groups[group].started += 1
            self.groups[group].present += 1
        worker = self.workers[e.worker]
        self._on_take(worker, e, t)
        self._change(worker, GENERATING, number, t)

    def _resume(self, e: ev.Resume) -> None:
        start, goes_on = self.paused.pop(e.episode)
        start = start if goes_on else start._replace(version=e.version)
        self.running[e.episode] = start
        worker = self.workers[e.worker]
        self._on_take(worker, start, e.t)
        self._change(worker, GENERATING, e.episode, e.t)

    def _blocked(self, e: ev.Blocked) -> None:
        worker = self.workers[e.worker]
        if e.cause == QUEUE:
            worker.held = self.last_finished
            self.holders[self.last_finished] = worker
            self._change_depth(-1, e.t)
        self._change(worker, BLOCKED, worker.episode, e.t, e.cause)

    def _overhead(self, e: ev.Overhead) -> None:
        self._work(self.workers[e.worker], OVERHEAD, e.t)

    def _generate(self, e: ev.Generate) -> None:
        self._work(self.workers[e.worker], GENERATING, e.t)

    def _enqueue(self, e: ev.Enqueue) -> None:
        self._wait_in_line(self.workers[e.worker], e.engine, e.t)

    def _wait_in_line(self, worker: WorkerRecord, engine: int, t: float) -> None:
        self._work(worker, BLOCKED, t, ENGINE)
        worker.engine = engine
        self.engines[engine].waiting[worker.number] = None

    def _admit(self, e: ev.Admit) -> None:
        self._on_admit(e)
        self.engines[e.engine].admit(e)
        worker = self.workers[e.worker]
        if worker.account != GENERATING:  # as it is at the instant of a start, and nothing changes
            self._work(worker, GENERATING, e.t)
        worker.engine = e.engine

    def _release(self, e: ev.Release) -> None:
        self._on_release(e)
        self.engines[e.engine].release(e)
        self._work(self.workers[e.worker], ACTING, e.t)

    def _lengthen(self, e: ev.Lengthen) -> None:
        self._on_lengthen(e)
        self.engines[e.engine].lengthen(e)

    def _act(self, e: ev.Act) -> None:
        self._work(self.workers[e.worker], ACTING, e.t)

    def _preempt(self, e: ev.Preempt) -> None:
        self.counts["preempted"] += 1
        self._wait_in_line(self.workers[e.worker], e.engine, e.t)

    def _enginechange(self, e: ev.EngineChange) -> None:
        self._on_engine(e)
        self.engines[e.engine].change(e)

    def _work(self, worker: WorkerRecord, state: str, t: float, cause: str = "") -> None:
        if worker.cause == SANDBOX and worker.episode is not None:
            self._on_attempt(worker, self.running[worker.episode], t)
        self._change(worker, state, worker.episode, t, cause)

    def _gated(self, e: ev.Gated) -> None:
        self._change(self.workers[e.worker], GATED, None, e.t)

    def _retry(self, e: ev.Retry) -> None:
        self.counts["retried"] += 1
        self.counts[f"attempt_{e.cause}"] += 1
        worker, start = self.workers[e.worker], self.running[e.episode]
        self._on_end(worker, start, RETRIED, e.cause, e.t)
        self._on_attempt(worker, start, e.t)
        self._change(worker, GENERATING, e.episode, e.t)

    def _finish(self, e: ev.Finish) -> None:
        t, number = e.t, e.episode
        self.counts["finished"] += 1
        self.last_finished = number
        start = self.finished[number] = self.running[number]
        del self.running[number]
        worker = self.workers[e.worker]
        self._change(worker, WAITING, None, t)
        self.depth += 1
        self._on_depth(1, t)
        self._on_end(worker, start, FINISHED, "", t)
        if self._group_size > 1:
            group = self.groups[start.group]
            group.finishes.append(t)
            if len(group.finishes) == self._group_size:
                self.counts["groups_completed"] += 1
                self._on_group(group, t)

    def _handover(self, e: ev.HandOver) -> None:
        self._change_depth(1, e.t)
        self._relieve(self.holders.pop(e.episode), e.t)

    def _relieve(self, worker: WorkerRecord, t: float) -> None:
        """A worker holds its finished episode no longer; one that is down or has left stays so."""
        worker.held = None
        if worker.state == BLOCKED:
            self._change(worker, WAITING, None, t)

    def _pause(self, e: ev.Pause) -> None:
        worker = self.workers[e.worker]
        start = self._take_out(self.running, e.episode)
        self.paused[e.episode] = start, e.cause != "defer" and worker.cause != SANDBOX
        self._change(worker, WAITING, None, e.t)
        self._on_end(worker, start, PAUSED, e.cause, e.t)

    def _abort(self, e: ev.Abort) -> None:
        if e.worker is None:
            start, _ = self.paused.pop(e.episode)
            self._lose(None, start, ABORTED, e.cause, e.t)
        else:
            self._lose(self.workers[e.worker], self._take_out(self.running, e.episode), ABORTED, e.cause, e.t)

    def _fail(self, e: ev.Fail) -> None:
        if e.cause != "crash":
            self.counts[f"attempt_{e.cause}"] += 1
        self._lose(self.workers[e.worker], self._take_out(self.running, e.episode), FAILED, e.cause, e.t)

    def _lose(self, worker: WorkerRecord | None, start: ev.Start, how: str, cause: str, t: float) -> None:
        if worker is not None:
            self._change(worker, WAITING, None, t)
        self.counts[how] += 1
        self._on_end(worker, start, how, cause, t)
        if self._group_size > 1:
            if cause != "surplus":
                self._lose_member(start.group, whole=cause in GROUP_CAUSES)
            self._leave_group(start.group)

    def _lose_member(self, number: int, *, whole: bool) -> None:
        """A group lost a member; it is lost `whole` if that was the reason, or if too few are left."""
        group = self.groups[number]
        group.lost_members += 1
        whole = whole or group.lost_members > self.scenario.rollout.group_redundancy
        if whole and not group.lost:
            group.lost = True
            self.counts["groups_lost"] += 1

    def _leave_group(self, number: int) -> None:
        """One of the group's episodes is over; without any, a complete or lost group is forgotten."""
        group = self.groups[number]
        group.present -= 1
        if not group.present and (group.lost or len(group.finishes) >= self._group_size):
            del self.groups[number]

    def _drop(self, e: ev.Drop) -> None:
        for number in e.episodes:
            start = self._take_out(self.finished, number)
            self.counts["dropped"] += 1
            self._on_end(None, start, DROPPED, e.cause, e.t)
            if self._group_size > 1:
                if e.cause == "group":
                    self._lose_member(start.group, whole=True)
                self._leave_group(start.group)
            if (holder := self.holders.pop(number, None)) is None:
                self._change_depth(-1, e.t)
            else:
                self._relieve(holder, e.t)

    @staticmethod
    def _take_out(episodes: dict[int, ev.Start], number: int) -> ev.Start:
        start = episodes[number]
        del episodes[number]
        return start

    # -- the trainer --------------------------------------------------------------------------------

    def _set_trainer(self, t: float, state: str | None = None, *, stalled: bool | None = None) -> None:
        before = self.trainer_account
        if state is not None:
            self.trainer_state = state
        if stalled is not None:
            self.stalled = stalled
        self._on_trainer(before, t)

    def _update(self, e: ev.Update) -> None:
        self.update = e.update
        self._batch = len(e.episodes)
        self.computed = None
        self._set_trainer(e.t, UPDATING)
        self.counts["trained"] += len(e.episodes)
        self._train(e)

    def _train(self, update: ev.Update) -> None:
        starts = [self._take_out(self.finished, number) for number in update.episodes]
        self._change_depth(-len(starts), update.t)
        self._on_batch(update, starts)
        if self._group_size > 1:
            for start in starts:
                self._leave_group(start.group)

    def _updated(self, e: ev.Updated) -> None:
        self.computed = e
        if not e.pushes:
            self._count_update(e.t)
        self._set_trainer(e.t, WAITING)

    def _count_update(self, t: float) -> None:
        self.updates += 1
        self.learned_from += self._batch
        if self.first_update_at is None:
            self.first_update_at = t

    def _learn(self, e: ev.Learn) -> None:
        self._on_learn(e)
        self.lesson = e

    def _push(self, e: ev.Push) -> None:
        self._set_trainer(e.t, PUSHING)
        if e.freezes:
            self._set_frozen(e.t, frozen=True)

    def _publish(self, e: ev.Publish) -> None:
        self.version = e.version
        self.publications += 1
        if self.computed is not None and self.computed.pushes:
            self._count_update(e.t)
        self.computed = None
        self._set_trainer(e.t, WAITING)
        if self.frozen:
            self._set_frozen(e.t, frozen=False)
        self._on_publish(e)

    def _refresh(self, e: ev.Refresh) -> None:
        for number in e.workers:
            worker = self.workers[number]
            if worker.episode is not None:
                self._on_refresh(worker, e.t)

    def _stall(self, e: ev.Stall) -> None:
        self._set_trainer(e.t, stalled=True)

    def _unstall(self, e: ev.Unstall) -> None:
        self._set_trainer(e.t, stalled=False)

    # -- who comes and goes -------------------------------------------------------------------------

    def _down(self, e: ev.Down) -> None:
        self._change(self.workers[e.worker], DOWN, None, e.t)

    def _up(self, e: ev.Up) -> None:
        worker = self.workers.get(e.worker)
        if worker is None:
            worker = self.workers[e.worker] = WorkerRecord(e.worker, ABSENT, account=ABSENT)
            self.ever_in_service = max(self.ever_in_service, e.worker + 1)
        if worker.held is None:
            self._change(worker, WAITING, None, e.t)
        else:
            self._change(worker, BLOCKED, None, e.t, QUEUE)

    def _leave(self, e: ev.Leave) -> None:
        worker = self.workers.pop(e.worker)
        before = worker.account
        worker.state = worker.account = ABSENT
        self._on_worker(worker, before, e.t)

    def _inject(self, e: ev.Inject) -> None:
        self.interventions.append(e.entry)
        self._on_inject(e)


HANDLERS: Final[dict[type[ev.Event], Callable[[LaneState, Any], None]]] = {
    kind: getattr(LaneState, f"_{name}") for kind, name in ev.NAMES.items()
}
"""What each event does: the method of its name."""
