"""What each worker and the trainer did and when, as stretches of time that everything is drawn from.

A stretch has one account, one of those that the result tells seconds of. Stretches of one task (an attempt at
an episode, an update, a push) follow each other without a gap.
"""

from collections.abc import Iterator
from typing import NamedTuple

from emulator import events as ev
from emulator.figures import Figures
from emulator.figures.records import BLOCKED, DOWN, FROZEN, PUSHING, STALLED, UPDATING, WAITING
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


_Doing = tuple[str, int, str]


class Tracks:
    """The stretches of a lane, in the order in which they end, with its batches, depths and injections."""

    def __init__(self, lane: RecordedLane) -> None:
        self.lane = lane
        self.figures = Figures(lane.scenario)
        self.stretches: list[Stretch] = []
        self.batches: list[Batch] = []
        self.depths: list[tuple[float, int]] = [(0.0, 0)]
        """The queue's depth from each moment on, when that had settled."""
        self.injections = [event for event in lane.events if isinstance(event, ev.Inject)]
        self.lessons = [event for event in lane.events if isinstance(event, ev.Learn)]
        self._open: dict[int, tuple[_Doing, float, float]] = dict.fromkeys(
            (TRAINER, *self.figures.workers), ((WAITING, -1, ""), 0.0, 0.0)
        )
        self._update = -1
        for event in lane.events:
            self._take(event)
        for who in list(self._open):
            self._close(who, lane.t_end)

    @property
    def workers(self) -> int:
        """One more than the highest number of a worker."""
        return max((stretch.who for stretch in self.stretches), default=-1) + 1

    def _take(self, event: ev.Event) -> None:
        figures, t = self.figures, event.t
        if isinstance(event, ev.Update):
            self._begin_batch(event)
        frozen = figures.frozen
        figures.add((event,))
        if isinstance(event, ev.Update | ev.Updated | ev.Push | ev.Publish | ev.Stall | ev.Unstall):
            if isinstance(event, ev.Push):
                self._update += 1  # a task of its own
            self._enter(TRAINER, self._trainer(), t)
        for who in self._concerned(event, thaws=frozen and not figures.frozen):
            self._enter(who, self._worker(who), t)
        if figures.depth != self.depths[-1][1]:
            if self.depths[-1][0] == t:
                self.depths.pop()
            self.depths.append((t, figures.depth))

    def _concerned(self, event: ev.Event, *, thaws: bool) -> Iterator[int]:
        """The workers that an event may change."""
        if thaws or isinstance(event, ev.Drop) or (isinstance(event, ev.Push) and event.freezes):
            yield from list(self._open.keys() - {TRAINER})
        elif (who := getattr(event, "worker", None)) is not None:
            yield who

    def _begin_batch(self, event: ev.Update) -> None:
        version = self.figures.version
        episodes = self.figures.episodes
        staleness = [version - episodes[number].versions()[0] for number in event.episodes]
        self.batches.append(Batch(event.t, event.update, event.episodes, staleness))
        self._update = 2 * event.update

    def _trainer(self) -> _Doing:
        figures = self.figures
        state = figures.trainer_state
        task = self._update if state in (UPDATING, PUSHING) else -1
        return (STALLED if figures.stalled else state, task, "")

    def _worker(self, who: int) -> _Doing | None:
        worker = self.figures.workers.get(who)
        if worker is None:
            return None
        state = FROZEN if self.figures.frozen and worker.state != DOWN else worker.state
        task = -1 if worker.episode is None else worker.episode
        return (state, task, worker.cause if state == BLOCKED else "")

    def _enter(self, who: int, doing: _Doing | None, t: float) -> None:
        begun = t
        if who in self._open:
            before, _, was_begun = self._open[who]
            if before == doing:
                return
            self._close(who, t)
            if doing is not None and before[1] == doing[1]:
                begun = was_begun
        if doing is not None:
            self._open[who] = (doing, t, begun)

    def _close(self, who: int, t: float) -> None:
        (account, task, cause), start, begun = self._open.pop(who)
        if t > start:
            self.stretches.append(Stretch(who, account, start, t, task, begun, cause))
