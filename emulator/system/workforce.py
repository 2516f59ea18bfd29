"""The workers of a lane: who is there, who is free, who waits for what, and all that is done to them.

What becomes free at an instant goes first to the line for sandboxes, then to workers that hold an episode
for want of room, then to the workers set free, in worker order, and last to those that have waited. The
book decides which episodes start and end; here it is carried out.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from functools import partial

from emulator import events as ev
from emulator.journal import ROW, TWO_ROWS
from emulator.strategies.decisions import Decisions
from emulator.system.book import Aborted, Book, Dropped, Endings, RoundClosed, SetAside
from emulator.system.chronicle import Chronicle
from emulator.system.engines import Engines
from emulator.system.episodes import AnyGroup, Episode
from emulator.system.queue import EpisodeQueue, LoneEpisodeQueue
from emulator.system.sandboxes import SandboxPool
from emulator.system.summons import Summons
from emulator.system.worker import Worker

_STARTS_PER_LOOK = 1024
"""Starts between two looks at how long the journal has become."""


class Workforce:
    """The workers of one lane, by number.

    `waiting` are free and were made to wait, in order of arrival; `holding` have a finished episode that the
    queue has no room for, in line. While `frozen` nobody starts. `make` makes the next worker, `spawn` runs
    its task. `plain` says that nothing can come between the finish of an episode and its worker's next start.
    """

    def __init__(
        self,
        *,
        chronicle: Chronicle,
        decisions: Decisions,
        book: Book,
        queue: EpisodeQueue | LoneEpisodeQueue,
        sandboxes: SandboxPool,
        engines: Engines,
        summons: Summons,
        workers: dict[int, Worker],
        make: Callable[[int], Worker],
        spawn: Callable[[Coroutine[None, None, None]], None],
        plain: bool,
    ) -> None:
        self.workers = workers
        self.frozen = False
        self._waiting: dict[int, Worker] = {}
        self._holding: dict[int, Worker] = {}
        self._chronicle = chronicle
        self._emit = chronicle.emit
        self._loop = chronicle.loop
        self._rows = chronicle.rows
        self._decisions = decisions
        self._book = book
        self._queue = queue
        self._sandboxes = sandboxes
        self._engines = engines
        self._summons = summons
        self._make = make
        self._spawn = spawn
        self._alone = book.source.alone
        self._limited = queue.maxsize > 0
        self._next_number = 0
        self._at_work = False
        self._deadline: asyncio.TimerHandle | None = None
        self._finished: Callable[[Worker], None] = self._finish_and_start if plain else self._finish

    def add(self) -> Worker:
        """A worker joins, with the next number."""
        worker = self._make(self._next_number)
        self._next_number += 1
        self._chronicle.allow_worker()
        self.workers[worker.number] = worker
        self._spawn(worker.run(self._finished, self._fail))
        return worker

    def begin(self) -> None:
        """Open the first round, if there are rounds, and put everybody to work."""
        self._at_work = True
        self._open_round()
        self.assign(self.workers.values())

    def untrained(self) -> Iterator[Episode]:
        """The episodes that can still be trained: they run, are held, paused or queued."""
        for worker in self.workers.values():
            yield from (episode for episode in (worker.episode, worker.held) if episode is not None)
        yield from self._book.paused.values()
        yield from self._queue.items.values()

    # -- an episode is finished -----------------------------------------------------------------------

    def _finish_and_start(self, worker: Worker) -> None:
        """Hand a worker's finished episode over and let it take the next: all that a plain lane does."""
        episode, now, number = worker.episode, self._loop.now, worker.number
        assert episode is not None
        queue, decisions = self._queue, self._decisions
        queue.put_nowait(episode)
        if len(queue.complete) >= decisions.batch_groups or decisions.judges_queue:
            self._summons.request_look()
        following = self._book.replace(episode, now)
        self._rows += TWO_ROWS(now, number, -1 - episode.number, now, number, following.duration)
        if following.number % _STARTS_PER_LOOK == 0:
            self._watch(worker, following)
        worker.take(following)

    def _finish(self, worker: Worker) -> None:
        """The same in any lane: the worker is free by it, as others may be."""
        # What the finish causes may make room, but for those first who have waited for it.
        queue, decisions = self._queue, self._decisions
        full = self._limited and queue.full()
        now = self._loop.now
        episode = worker.let_go()
        if self._alone:
            self._rows += ROW(now, worker.number, -1 - episode.number)
        else:
            self._emit(ev.Finish(now, worker.number, episode.number))
        endings = self._book.finish(episode, now)
        freed = self.carry_out(endings) if endings else ()
        if full:
            worker.held = episode
            self._holding[worker.number] = worker
            self._emit(ev.Blocked(now, worker.number, "queue"))
            self.assign(freed)
            return
        queue.put_nowait(episode)
        if len(queue.complete) >= decisions.batch_groups or decisions.judges_queue:
            self._summons.request_look()
        if freed or self._holding or self._sandboxes.line:
            self.assign((worker, *freed))
        else:
            self._start(worker)

    # -- who is free ----------------------------------------------------------------------------------

    def assign(self, freed: Collection[Worker] = ()) -> None:
        """Give what became free to who waits for it."""
        if not self.frozen:
            self._sandboxes.serve()
        if self._holding:
            self.hand_over_held()
        for worker in sorted(freed, key=_number) if len(freed) > 1 else freed:
            self._offer(worker)
        if self._waiting:
            self.serve_waiting()
        if self._engines.left:
            self._engines.serve()

    def _offer(self, worker: Worker) -> None:
        """Let a free worker start; one that is down or busy, or before the beginning, does not."""
        if self._at_work and worker.up and worker.episode is None and worker.held is None:
            self._start(worker)

    def _start(self, worker: Worker) -> None:
        """Give a free worker its next episode at once, or let it wait."""
        now = self._loop.now
        episode = None if self.frozen else self._book.next_episode(now)
        if episode is None:
            self._waiting[worker.number] = worker
            if self._decisions.gates:
                self._mark_gated(worker)
        else:
            self._give(worker, episode, now)

    def _give(self, worker: Worker, episode: Episode, now: float) -> None:
        number = worker.number
        worker.gated = False
        if episode.resumed:
            self._emit(ev.Resume(now, number, episode.number, episode.version))
        elif not self._alone:
            group = episode.group.number
            self._emit(ev.Start(now, number, episode.number, group, episode.version, episode.duration))
        else:
            self._rows += ROW(now, number, episode.duration)
            if episode.number % _STARTS_PER_LOOK == 0:
                self._watch(worker, episode)
        worker.take(episode)

    def _watch(self, worker: Worker, started: Episode) -> None:
        number, now = started.number, self._loop.now
        self._chronicle.watch(ev.Start(now, worker.number, number, number, started.version, started.duration))

    def serve_waiting(self) -> None:
        """Admit waiting workers as far as the strategy has something for them."""
        if self.frozen:
            return
        now, waiting = self._loop.now, self._waiting
        order = sorted(waiting) if self._decisions.in_worker_order else list(waiting)
        for place, number in enumerate(order):
            episode = self._book.next_episode(now)
            if episode is None:
                if self._decisions.gates:
                    for left in order[place:]:
                        self._mark_gated(waiting[left])
                return
            self._give(waiting[number], episode, now)
            del waiting[number]

    def _mark_gated(self, worker: Worker) -> None:
        if not self.frozen and not worker.gated:
            worker.gated = True
            self._emit(ev.Gated(self._loop.now, worker.number))

    def hand_over_held(self) -> None:
        """Hand over for workers that wait for room, in line, each taking its next episode at once."""
        while self._holding and not self._queue.full():
            worker = self._holding.pop(next(iter(self._holding)))
            episode = worker.held
            assert episode is not None
            worker.held = None
            self._queue.put_nowait(episode)
            self._emit(ev.HandOver(self._loop.now, worker.number, episode.number))
            self._summons.request_look()
            self._offer(worker)

    def open_round(self) -> None:
        """Begin a round, if there are rounds, and admit who waits."""
        self._open_round()
        self.serve_waiting()

    def _open_round(self) -> None:
        self._book.open_round(self._loop.now)
        if self._decisions.closes_at is not None:
            self._deadline = self._chronicle.timers.call_at(self._decisions.closes_at, self._time_is_up)

    def _time_is_up(self) -> None:
        self._deadline = None
        self.assign(self.carry_out(self._book.time_is_up()))
        self._summons.request_look()

    # -- what the book decides --------------------------------------------------------------------------

    def carry_out(self, endings: Endings) -> list[Worker]:
        """End what is to end; returns the workers that are free by it, to be assigned."""
        now = self._loop.now
        freed: list[Worker] = []
        # However many: each ends once what began, and its beginning counted where that was at this instant.
        end = self._chronicle.emit_uncounted
        for ending in endings:
            match ending:
                case Aborted(None, episode, cause):
                    self._sandboxes.take_back(episode)
                    end(ev.Abort(now, None, episode.number, cause))
                case Aborted(int(number), episode, cause):
                    self.workers[number].release()
                    end(ev.Abort(now, number, episode.number, cause))
                    freed.append(self.workers[number])
                case Dropped(group, cause):
                    end(ev.Drop(now, [episode.number for episode in group.finished], cause))
                    self._queue.take_groups((group,))
                    freed += self._relieve(group)
                case SetAside(number, cause):
                    episode = self.workers[number].set_aside()
                    self._emit(ev.Pause(now, number, episode.number, cause))
                    if cause == "defer":
                        episode.forget_progress()
                        self._sandboxes.take_back(episode)
                    freed.append(self.workers[number])
                case RoundClosed():
                    if self._deadline is not None:
                        self._chronicle.timers.call_off(self._deadline)
                        self._deadline = None
                    self._summons.poke()
        return freed

    def _relieve(self, group: AnyGroup) -> list[Worker]:
        """Members of a group that wait for room are dropped; returns the workers that held them."""
        relieved = [w for w in self._holding.values() if w.held is not None and w.held.group is group]
        for worker in relieved:
            worker.held = None
            del self._holding[worker.number]
        return relieved

    # -- pushes and versions ----------------------------------------------------------------------------

    def freeze(self, seconds: float, until: float) -> None:
        """Let every worker stand still for `seconds` more, until the push is over."""
        self.frozen = True
        for worker in self.workers.values():
            worker.freeze(seconds, until)
        self._engines.freeze(seconds)

    def move_to(self, version: int) -> None:
        """A version is published: end the freeze, refresh or give up what runs, admit who waits."""
        if self.frozen:
            self.frozen = False
            for worker in self.workers.values():
                worker.thaw()
            self._engines.thaw()
        if self._decisions.refreshes_in_flight:
            running = [worker for worker in self.workers.values() if worker.episode is not None]
            if running:
                self._emit(ev.Refresh(self._loop.now, [worker.number for worker in running]))
            for worker in running:
                worker.refresh(version, self._decisions.refresh_overhead)
            self._engines.refresh(self._decisions.refresh_overhead)
        self.assign(self.carry_out(self._book.cancel_stale()))

    # -- losses, crashes, joining, leaving ----------------------------------------------------------------

    def _fail(self, worker: Worker, cause: str) -> None:
        """A worker's episode is lost for good, and the worker goes on with another."""
        self._after_loss(self._lose(worker, cause), [worker])

    def _lose(self, worker: Worker, cause: str) -> list[AnyGroup]:
        episode = worker.release()
        self._emit(ev.Fail(self._loop.now, worker.number, episode.number, cause))
        return self._book.fail(episode)

    def _after_loss(self, groups: list[AnyGroup], freed: list[Worker]) -> None:
        """Give up groups that can no longer complete, replace them, and put free workers to work."""
        self.assign(freed + self._give_up(groups))
        self._summons.request_look()

    def _give_up(self, groups: list[AnyGroup]) -> list[Worker]:
        groups = list(dict.fromkeys(groups))
        return self.carry_out(self._book.lose_groups(groups, "group"))

    def crash_engines(self, numbers: Iterable[int], restart_seconds: float) -> None:
        """Engines lose what they run and are down; what waited for them chooses again."""
        running, waiting = self._engines.crash(numbers, restart_seconds)
        failing = sorted({request.asker.number for request in running})
        freed = [self.workers[number] for number in failing]
        freed += self._give_up([group for worker in freed for group in self._lose(worker, "crash")])
        for request in waiting:
            request.ask_again()
        self.assign(freed)
        self._summons.request_look()

    def join(self, count: int) -> None:
        """Workers join while the system runs."""
        joined = [self.add() for _ in range(count)]
        for worker in joined:
            self._emit(ev.Up(self._loop.now, worker.number))
        self.assign(joined)

    def crash(self, numbers: Iterable[int], restart_seconds: float) -> None:
        """Workers lose what they run and are down for `restart_seconds`."""
        lost: list[AnyGroup] = []
        now = self._loop.now
        for worker in [self.workers[number] for number in numbers]:
            if not worker.up:
                continue
            if worker.episode is not None:
                lost += self._lose(worker, "crash")
            self._put_down(worker)
            self._emit(ev.Down(now, worker.number))
            restart = partial(self._restart, worker)
            worker.restart = self._chronicle.timers.call_at(now + restart_seconds, restart)
        self._after_loss(lost, [])

    def _restart(self, worker: Worker) -> None:
        worker.restart = None
        worker.up = True
        self._emit(ev.Up(self._loop.now, worker.number))
        self.assign([worker])

    def leave(self, numbers: Iterable[int]) -> None:
        """Workers leave for good."""
        lost: list[AnyGroup] = []
        now = self._loop.now
        for worker in [self.workers[number] for number in numbers]:
            if worker.episode is not None:
                episode = worker.release()
                self._emit(ev.Abort(now, worker.number, episode.number, "leave"))
                lost += self._book.abort(episode)
            self._put_down(worker)
            if worker.restart is not None:
                self._chronicle.timers.call_off(worker.restart)
            del self.workers[worker.number]
            self._emit(ev.Leave(now, worker.number))
        self._after_loss(lost, [])

    def _put_down(self, worker: Worker) -> None:
        worker.up = False
        worker.gated = False
        self._waiting.pop(worker.number, None)


def _number(worker: Worker) -> int:
    return worker.number
