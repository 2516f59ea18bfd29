"""What each worker and the trainer did and when, as stretches of time that everything is drawn from.

A stretch has one account, one of those whose seconds the result reports. Stretches of one task (an attempt at
an episode, an update, a push) follow each other without a gap.
"""

from collections.abc import Sequence
from typing import NamedTuple

from emulator import events as ev
from emulator.figures.episode_state import EpisodeState
from emulator.figures.records import (
    ABSENT,
    BLOCKED,
    PUSHING,
    UPDATING,
    WAITING,
    EpisodeRecord,
    WorkerRecord,
)
from emulator.recording import RecordedLane

TRAINER = -1
"""The trainer's number among the workers."""


class Stretch(NamedTuple):
    """Some emulated time of a worker or the trainer.

    `task` is the episode or the update that it is spent on, -1 for none; `begun` is when that was taken up.
    `cause` says what a blocked worker waits for.
    """

    who: int
    account: str
    start: float
    end: float
    task: int
    begun: float
    cause: str


class Batch(NamedTuple):
    """An update as it begins: its episodes, each with its staleness."""

    t: float
    update: int
    episodes: list[int]
    staleness: list[int]


class Tracks(EpisodeState):
    """The stretches of a lane, in the order in which they end, with its batches, depths and injections."""

    def __init__(self, lane: RecordedLane) -> None:
        super().__init__(lane.scenario)
        self.lane = lane
        self.stretches: list[Stretch] = []
        self.batches: list[Batch] = []
        self.depths: list[tuple[float, int]] = [(0.0, 0)]
        """The queue's depth from each moment on, when that had settled."""
        self.loads: list[list[tuple[float, int, int]]] = [[(0.0, 0, 0)] for _ in self.engines]
        """What each engine runs, and how many wait for it, from each moment on, when that had settled."""
        self.injections: list[ev.Inject] = []
        self.lessons: list[ev.Learn] = []
        self._open = {who: Stretch(who, WAITING, 0.0, 0.0, -1, 0.0, "") for who in (TRAINER, *self.workers)}
        self.add(lane.events)
        self._on_pass(lane.t_end)
        for who in list(self._open):
            self._end(who, lane.t_end)

    @property
    def rows(self) -> int:
        """One more than the highest number of a worker."""
        return max((stretch.who for stretch in self.stretches), default=-1) + 1

    def _on_depth(self, change: int, t: float) -> None:
        if self.depths[-1][0] == t:
            self.depths.pop()
        self.depths.append((t, self.depth))

    def _on_pass(self, t: float) -> None:
        for engine, loads in zip(self.engines, self.loads, strict=True):
            load = len(engine.running), len(engine.waiting)
            if loads[-1][1:] != load:
                loads.append((self.t, *load))

    def _on_worker(self, worker: WorkerRecord, before: str, t: float) -> None:
        super()._on_worker(worker, before, t)
        if worker.account == ABSENT:
            self._end(worker.number, t)
        else:
            blocked = worker.account == worker.cause
            task = -1 if worker.episode is None else worker.episode
            cause = worker.cause if blocked else ""
            self._spend(worker.number, BLOCKED if blocked else worker.account, task, t, cause)

    def _on_trainer(self, before: str, t: float) -> None:
        busy = self.trainer_state in (UPDATING, PUSHING)
        task = 2 * self.update + (self.trainer_state == PUSHING) if busy else -1
        self._spend(TRAINER, self.trainer_account, task, t)

    def _on_trained(self, update: ev.Update, batch: Sequence[EpisodeRecord]) -> None:
        staleness = [self.version - episode.versions()[0] for episode in batch]
        self.batches.append(Batch(update.t, update.update, update.episodes, staleness))

    def _on_learn(self, event: ev.Learn) -> None:
        self.lessons.append(event)

    def _on_inject(self, event: ev.Inject) -> None:
        self.injections.append(event)

    def _spend(self, who: int, account: str, task: int, t: float, cause: str = "") -> None:
        begun = t
        if (before := self._open.get(who)) is not None:
            if (before.account, before.task, before.cause) == (account, task, cause):
                return
            self._end(who, t)
            if before.task == task:
                begun = before.begun
        self._open[who] = Stretch(who, account, t, t, task, begun, cause)

    def _end(self, who: int, t: float) -> None:
        stretch = self._open.pop(who)
        if t > stretch.start:
            self.stretches.append(stretch._replace(end=t))
