"""The workers of a lane: who is there, who is free, and who waits for what.

What becomes free at an instant goes first to the line for sandboxes, then to workers that hold an episode
for want of room, then to the workers set free, in worker order, and last to those that have waited.
"""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING

from emulator import events as ev
from emulator.randomness import Draws, Streams
from emulator.system.episodes import AnyGroup, Episode
from emulator.system.sandboxes import Attempts
from emulator.system.worker import Worker

if TYPE_CHECKING:
    from emulator.system.lane import Lane


class Workforce:
    """The workers of one lane, by number.

    `waiting` are free and were told to wait, in order of arrival; `holding` have a finished episode that the
    queue has no room for, in line. `next_number` is how many have ever joined. While `frozen` nobody starts;
    `thaw_at` is when that ends.
    """

    def __init__(self, lane: "Lane", streams: Streams) -> None:
        self.workers: dict[int, Worker] = {}
        self.waiting: dict[int, Worker] = {}
        self.holding: dict[int, Worker] = {}
        self.frozen = False
        self.thaw_at = 0.0
        self._lane = lane
        self._streams = streams
        self._speeds = Draws(lane.scenario.rollout.speed.sampler(streams.worker_speeds))
        self.next_number = 0
        self.finished: Callable[[Worker], None] = lane.book.finish_and_start if lane.plain else self._finished
        """A worker's episode is finished: it is handed over, and the worker is free, as are others by it."""
        self._limited = lane.scenario.rollout.queue_capacity is not None
        self._at_work = False

    def begin(self) -> None:
        """Put everybody to work."""
        self._at_work = True
        self.redistribute(self.workers.values())

    def running(self) -> list[Worker]:
        """Workers that have an episode, in worker order."""
        return [worker for worker in self.workers.values() if worker.episode is not None]

    # -- free workers -------------------------------------------------------------------------------

    def redistribute(self, freed: Collection[Worker] = ()) -> None:
        """Give what became free to who waits for it."""
        if not self.frozen:
            self._lane.sandboxes.serve()
        if self.holding:
            self.hand_over_held()
        for worker in sorted(freed, key=_number):
            self._offer(worker)
        if self.waiting:
            self.serve_waiting()

    def _offer(self, worker: Worker) -> None:
        """Give a free worker its next episode at once, or let it wait; one that is down or busy gets none."""
        if not self._at_work or not worker.up or worker.episode is not None or worker.held is not None:
            return
        if self.frozen or not self._lane.book.admit(worker):
            self._wait(worker)

    def _wait(self, worker: Worker) -> None:
        self.waiting[worker.number] = worker
        self._mark_gated(worker)

    def serve_waiting(self) -> None:
        """Admit waiting workers as far as the strategy has something for them."""
        if self.frozen:
            return
        order = sorted(self.waiting) if self._lane.strategy.in_worker_order else list(self.waiting)
        for place, number in enumerate(order):
            if not self._lane.book.admit(self.waiting[number]):
                for left in order[place:]:
                    self._mark_gated(self.waiting[left])
                return
            del self.waiting[number]

    def _mark_gated(self, worker: Worker) -> None:
        if self._lane.strategy.gates and not self.frozen and not worker.gated:
            worker.gated = True
            self._lane.emit(ev.Gated(self._lane.now, worker.number))

    # -- the queue's side ---------------------------------------------------------------------------

    def _finished(self, worker: Worker) -> None:
        lane = self._lane
        # What the finish brings about may make room, but for those first who have waited for it.
        full = self._limited and lane.queue.full()
        episode = worker.running
        freed = lane.book.finish(worker)
        if full:
            self._hold(worker, episode, freed)
            return
        lane.queue.put_nowait(episode)
        if lane.trainer.free:
            lane.trainer.request_look()
        if freed or self.holding or lane.environment is not None:
            self.redistribute([worker, *freed])
        elif self.frozen or not lane.book.admit(worker):
            self._wait(worker)

    def _hold(self, worker: Worker, episode: Episode, freed: Collection[Worker]) -> None:
        """The queue is full: the worker keeps its episode, and its place in line."""
        worker.held = episode
        self.holding[worker.number] = worker
        self._lane.emit(ev.Blocked(self._lane.now, worker.number, "queue"))
        self.redistribute(freed)

    def hand_over_held(self) -> None:
        """Hand over for workers that wait for room, in line, each taking its next episode at once."""
        while self.holding and not self._lane.queue.full():
            worker = self.holding.pop(next(iter(self.holding)))
            episode = worker.held
            assert episode is not None
            worker.held = None
            self._lane.queue.put_nowait(episode)
            self._lane.emit(ev.HandOver(self._lane.now, worker.number, episode.number))
            self._lane.trainer.request_look()
            self._offer(worker)

    def relieve(self, group: AnyGroup) -> list[Worker]:
        """Members of a group that wait for room are dropped; returns the workers that held them."""
        relieved = [w for w in self.holding.values() if w.held is not None and w.held.group is group]
        for worker in relieved:
            worker.held = None
            del self.holding[worker.number]
        return relieved

    # -- losses, crashes, joining, leaving ----------------------------------------------------------

    def fail(self, worker: Worker, cause: str) -> None:
        """A worker's episode is lost for good, and the worker goes on with another."""
        self._after_loss(self._lane.book.fail(worker, cause), [worker])

    def _after_loss(self, groups: list[AnyGroup], freed: list[Worker]) -> None:
        """Give up groups that can no longer complete, replace them, and put free workers to work."""
        groups = list(dict.fromkeys(groups))
        self.redistribute(freed + self._lane.book.lose_groups(groups, "group"))
        self._lane.trainer.request_look()

    def add(self) -> Worker:
        """A worker joins, with the next number."""
        environment = self._lane.environment
        number = self.next_number
        self.next_number += 1
        attempts = None if environment is None else Attempts(environment, self._streams, number)
        worker = Worker(self._lane, number, self._speeds.next(), attempts)
        self.workers[number] = worker
        self._lane.spawn(worker.run())
        return worker

    def join(self, count: int) -> None:
        """Workers join while the system runs."""
        joined = [self.add() for _ in range(count)]
        for worker in joined:
            self._lane.emit(ev.Up(self._lane.now, worker.number))
        self.redistribute(joined)

    def crash(self, numbers: Iterable[int], restart_seconds: float) -> None:
        """Workers lose what they run and are down for `restart_seconds`."""
        lost: list[AnyGroup] = []
        now = self._lane.now
        for worker in [self.workers[number] for number in numbers]:
            if not worker.up:
                continue
            if worker.episode is not None:
                lost += self._lane.book.fail(worker, "crash")
            self._put_down(worker)
            self._lane.emit(ev.Down(now, worker.number))
            restart = partial(self._restart, worker)
            worker.restart = self._lane.timers.call_at(now + restart_seconds, restart)
        self._after_loss(lost, [])

    def _restart(self, worker: Worker) -> None:
        worker.restart = None
        worker.up = True
        self._lane.emit(ev.Up(self._lane.now, worker.number))
        self.redistribute([worker])

    def leave(self, numbers: Iterable[int]) -> None:
        """Workers leave for good."""
        lost: list[AnyGroup] = []
        for worker in [self.workers[number] for number in numbers]:
            if worker.episode is not None:
                lost += self._lane.book.lose_with_worker(worker)
            self._put_down(worker)
            if worker.restart is not None:
                self._lane.timers.call_off(worker.restart)
            del self.workers[worker.number]
            self._lane.emit(ev.Leave(self._lane.now, worker.number))
        self._after_loss(lost, [])

    def _put_down(self, worker: Worker) -> None:
        worker.up = False
        worker.gated = False
        self.waiting.pop(worker.number, None)


def _number(worker: Worker) -> int:
    return worker.number
