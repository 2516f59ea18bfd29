"""One emulated system: workers, queue and trainer, and the effects of what its strategy decides.

Workers and the trainer are tasks that sleep and call in; everything that happens to several of them at
once happens here, in plain calls that finish within the instant, in worker order. All that leaves is the
stream of events given to `emit`.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from itertools import islice

from emulator import events as ev
from emulator.clock import EmulatedLoop, Phase
from emulator.errors import DeadlockError, EndlessInstantError
from emulator.randomness import Draws, Streams
from emulator.scenario import Scenario
from emulator.system.deadlock import explain
from emulator.system.episodes import Episode, Group, Source
from emulator.system.queue import EpisodeQueue
from emulator.system.sandboxes import Attempts, SandboxPool
from emulator.system.strategies import build
from emulator.system.strategies.base import Accounts, Admission, PausedEpisode, Unfinished
from emulator.system.timeline import Timeline
from emulator.system.timers import Timers
from emulator.system.trainer import Trainer
from emulator.system.worker import Worker

EVENTS_PER_INSTANT = 10_000
EVENTS_PER_INSTANT_AND_SIZE = 100
"""An instant with more events than the first plus this many for each worker and batch place never ends."""


class Lane:
    """The system of one scenario on a loop, from emulated time 0."""

    def __init__(self, scenario: Scenario, loop: EmulatedLoop, sink: Callable[[ev.Event], None]) -> None:
        rollout, trainer = scenario.rollout, scenario.trainer
        streams = Streams(scenario.seed)
        self.scenario = scenario
        self.loop = loop
        self.timers = Timers(loop, self._expect_deadlock)
        self.accounts = Accounts()
        self.strategy = build(scenario)
        self.environment = scenario.environment
        self.queue = EpisodeQueue(rollout.queue_capacity or 0)
        self.sandboxes = SandboxPool(self.environment.sandboxes if self.environment else None)
        self.source = Source(
            Draws(rollout.episode_seconds.sampler(streams.durations)).next,
            rollout.group_size,
            rollout.group_redundancy,
        )
        self.workers: dict[int, Worker] = {}
        self.waiting: dict[int, Worker] = {}
        """Free workers that were told to wait, in order of arrival."""
        self.holding: dict[int, Worker] = {}
        """Workers with a finished episode that the queue has no room for, in line."""
        self.paused: dict[int, Episode] = {}
        self.incomplete: dict[int, Group] = {}
        """Groups begun and neither complete nor lost, oldest first."""
        self.frozen = False
        self.thaw_at = 0.0
        self.trainer = Trainer(
            self,
            Draws(trainer.update_seconds.sampler(streams.updates)).next,
            trainer.weight_sync_seconds,
            trainer.publish_every,
        )
        self.timeline = Timeline(self)
        self._running = False
        self._freed: list[Worker] = []
        self._streams = streams
        self._speeds = Draws(rollout.speed.sampler(streams.worker_speeds))
        self._sink = sink
        self._ended: asyncio.Future[None] = loop.create_future()
        self._tasks: list[asyncio.Task[None]] = []
        self._next_worker = 0
        self._look_requested = False
        self._check_requested = False
        self._instant = 0.0
        self._events_at_instant = 0
        self._most_events_at_instant = EVENTS_PER_INSTANT + EVENTS_PER_INSTANT_AND_SIZE * (
            rollout.workers + trainer.batch_size
        )

    # -- the run ------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Emulated seconds since the start."""
        return self.loop.time()

    async def run(self) -> None:
        """Run until the scenario's duration has passed.

        Raises DeadlockError when nothing can happen any more, and EndlessInstantError when no time passes.
        """
        try:
            self._start()
            await self._ended
        finally:
            self._sink = _ignore
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self) -> None:
        for _ in range(self.scenario.rollout.workers):
            self.add_worker()
        self._spawn(self.trainer.run())
        self.loop.call_at(self.scenario.duration, self._settle_and_end)
        self.timeline.start()
        self._running = True
        self._open_round()
        self._redistribute(self.workers.values())
        if not self.timers.pending:
            self._expect_deadlock()

    def _settle_and_end(self) -> None:
        self.loop.call_when_settled(Phase.END, self._end)

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def _fail(self, error: BaseException) -> None:
        self._sink = _ignore
        if not self._ended.done():
            self._ended.set_exception(error)

    def _spawn(self, coroutine: Coroutine[None, None, None]) -> None:
        task = self.loop.create_task(coroutine)
        task.add_done_callback(self._task_done)
        self._tasks.append(task)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def emit(self, event: ev.Event) -> None:
        """Let an event out."""
        if event.t != self._instant:
            self._instant = event.t
            self._events_at_instant = 0
        self._events_at_instant += 1
        if self._events_at_instant > self._most_events_at_instant:
            self._fail(EndlessInstantError(event.t, self._most_events_at_instant, ev.encode(event)))
        self._sink(event)

    # -- free workers -------------------------------------------------------------------------------

    def _redistribute(self, freed: Iterable[Worker]) -> None:
        """Give what became free to who waits for it: sandboxes, room in the queue, workers."""
        if not self.frozen:
            self.sandboxes.serve()
        self._hand_over_held()
        for worker in sorted(freed, key=_number):
            self._offer(worker)
        if self.waiting:
            self._serve_waiting()

    def _wait(self, worker: Worker) -> None:
        """Let a free worker wait; one that is down, or busy again, does not."""
        if worker.up and worker.episode is None and worker.held is None:
            self.waiting[worker.number] = worker

    def _serve(self, worker: Worker) -> bool:
        """Admit a waiting worker if the strategy has something for it."""
        if worker.number not in self.waiting:
            return True
        if not self._admit(worker):
            self._mark_gated(worker)
            return False
        del self.waiting[worker.number]
        return True

    def _serve_waiting(self) -> None:
        """Admit waiting workers as far as the strategy has something for them."""
        order = sorted(self.waiting) if self.strategy.in_worker_order else list(self.waiting)
        for place, number in enumerate(order):
            if not self._serve(self.waiting[number]):
                for left in order[place:]:
                    self._mark_gated(self.waiting[left])
                return

    def _offer(self, worker: Worker) -> None:
        """Give a free worker its next episode at once, or let it wait."""
        self._wait(worker)
        self._serve(worker)

    def _mark_gated(self, worker: Worker) -> None:
        if self.strategy.gates and self._running and not self.frozen and not worker.gated:
            worker.gated = True
            self.emit(ev.Gated(self.now, worker.number))

    def _admit(self, worker: Worker) -> bool:
        """Let the worker take what the strategy says; False if that is nothing."""
        if self.frozen or not self._running:
            return False
        in_progress = self.source.group_in_progress(self.strategy.held_back)
        admission = self.strategy.admit(self.accounts, in_progress)
        if admission is None:
            return False
        worker.gated = False
        version = self.accounts.version
        if admission is Admission.RESUME:
            episode = self.paused.pop(self.strategy.resumed())
            if episode.remaining is None:
                episode.restart_under(version)
            else:
                episode.change_version(version, self.now)
            self.emit(ev.Resume(self.now, worker.number, episode.number, version))
        else:
            if admission is Admission.GROUP:
                episode = self.source.start_group(version)
                self.incomplete[episode.group.number] = episode.group
            else:
                assert in_progress is not None
                episode = self.source.start_member(in_progress, version)
            if self.environment is not None:
                episode.attempts_left = self.environment.retries
            self.accounts.started += 1
            self.emit(
                ev.Start(
                    self.now,
                    worker.number,
                    episode.number,
                    episode.group.number,
                    version,
                    episode.duration,
                )
            )
        worker.take(episode)
        return True

    # -- the ends of episodes -----------------------------------------------------------------------

    def finish(self, worker: Worker) -> Episode:
        """A worker's episode is finished; returns it, to be handed over."""
        episode = worker.episode
        assert episode is not None
        self.accounts.finished += 1
        self.emit(ev.Finish(self.now, worker.number, episode.number))
        worker.release()
        episode.finish(self.now)
        group = episode.group
        group.finished.append(episode)
        if group.complete:
            self._complete(group)
        return episode

    def hold(self, worker: Worker, episode: Episode) -> None:
        """The queue is full: the worker keeps its episode, and its place in line."""
        worker.held = episode
        self.holding[worker.number] = worker
        self.emit(ev.Blocked(self.now, worker.number, "queue"))
        self._redistribute(self._take_freed())

    def handed_over(self, worker: Worker) -> None:
        """A worker has handed its episode over and is free."""
        self.request_look()
        if self._freed or self.environment is not None:
            self._redistribute([worker, *self._take_freed()])
        else:
            self._offer(worker)

    def _take_freed(self) -> list[Worker]:
        freed, self._freed = self._freed, []
        return freed

    def _hand_over_held(self) -> None:
        """Hand over for workers that wait for room, in line, each taking its next episode at once."""
        while self.holding and not self.queue.full():
            worker = self.holding.pop(next(iter(self.holding)))
            episode = worker.held
            assert episode is not None
            worker.held = None
            self.queue.put_nowait(episode)
            self.emit(ev.HandOver(self.now, worker.number, episode.number))
            self.request_look()
            self._offer(worker)

    def give_back_sandbox(self, episode: Episode) -> None:
        """An episode needs its sandbox no longer."""
        if episode.has_sandbox:
            episode.has_sandbox = False
            self.sandboxes.release()

    def _complete(self, group: Group) -> None:
        del self.incomplete[group.number]
        self.source.close((group,))
        closes = self.strategy.group_completed()
        if group.started > group.size:
            for worker in self._running_workers():
                if worker.episode is not None and worker.episode.group is group:
                    self._freed.append(worker)
                    self._abort(worker, "surplus")
            self._abort_paused(group, "surplus")
        if closes:
            self._freed += self._close_round()
            self.trainer.poke()

    def fail(self, worker: Worker, cause: str) -> None:
        """A worker's episode is lost for good; its group may be, and the worker is free."""
        lost = self._fail_episode(worker, cause)
        self._after_loss(lost, [worker])

    def _fail_episode(self, worker: Worker, cause: str) -> list[Group]:
        episode = worker.episode
        assert episode is not None
        self.accounts.failed += 1
        self.emit(ev.Fail(self.now, worker.number, episode.number, cause))
        worker.release()
        return self._lose_member(episode)

    def _abort(self, worker: Worker, cause: str) -> Episode:
        episode = worker.episode
        assert episode is not None
        self.accounts.aborted += 1
        self.emit(ev.Abort(self.now, worker.number, episode.number, cause))
        worker.release()
        return episode

    def _abort_paused(self, group: Group, cause: str) -> None:
        for episode in [episode for episode in self.paused.values() if episode.group is group]:
            del self.paused[episode.number]
            self.strategy.withdrawn(episode.number)
            self.give_back_sandbox(episode)
            self.accounts.aborted += 1
            self.emit(ev.Abort(self.now, None, episode.number, cause))

    def _lose_member(self, episode: Episode) -> list[Group]:
        """Count a member lost; returns its group if that can no longer complete."""
        group = episode.group
        group.lost_members += 1
        group.members.remove(episode)
        if group.number not in self.incomplete or group.can_complete:
            return []
        return [group]

    def _after_loss(self, groups: list[Group], freed: list[Worker]) -> None:
        """Give up groups that can no longer complete, replace them, and put free workers to work."""
        self._redistribute(freed + self._lose_groups(list(dict.fromkeys(groups)), "group"))
        self.request_look()

    def _lose_groups(self, groups: list[Group], cause: str) -> list[Worker]:
        """Drop what is finished of these groups and abort what runs; returns the workers set free."""
        freed: list[Worker] = []
        for group in groups:
            group.lost = True
            del self.incomplete[group.number]
            self.source.close((group,))
            self.strategy.group_lost()
            if group.finished:
                freed += self._drop(group, "group")
            self._abort_paused(group, cause)
        for worker in self._running_workers() if groups else ():
            if worker.episode is not None and worker.episode.group.lost:
                self._abort(worker, cause)
                freed.append(worker)
        return freed

    def _drop(self, group: Group, cause: str) -> list[Worker]:
        """Discard the finished members of a group; returns the workers that held any for want of room."""
        self.accounts.dropped += len(group.finished)
        self.emit(ev.Drop(self.now, [episode.number for episode in group.finished], cause))
        freed = [w for w in self.holding.values() if w.held is not None and w.held.group is group]
        for worker in freed:
            worker.held = None
            del self.holding[worker.number]
        self.queue.take(group)
        return freed

    def _running_workers(self) -> list[Worker]:
        """Workers that have an episode, in worker order."""
        return [worker for worker in self.workers.values() if worker.episode is not None]

    # -- rounds -------------------------------------------------------------------------------------

    def _open_round(self) -> None:
        paused = [PausedEpisode(n, self.paused[n].group.number) for n in sorted(self.paused)]
        self.strategy.open_round(paused, self.incomplete)

    def _close_round(self) -> list[Worker]:
        """A batch is complete: deal with what is unfinished; returns the workers that ran it."""
        running = self._running_workers()
        if self.strategy.unfinished is Unfinished.ABORT:
            for worker in running:
                self._abort(worker, "round")
            self._lose_groups(list(self.incomplete.values()), "round")
        elif self.strategy.unfinished is not Unfinished.WAIT:
            for worker in running:
                self._pause(worker, self.strategy.unfinished.value)
        return running

    def _pause(self, worker: Worker, cause: str) -> None:
        episode = worker.set_aside()
        if self.strategy.unfinished is Unfinished.DEFER:
            episode.forget_progress()
            self.give_back_sandbox(episode)
        self.emit(ev.Pause(self.now, worker.number, episode.number, cause))
        self.paused[episode.number] = episode

    # -- the trainer --------------------------------------------------------------------------------

    def request_look(self) -> None:
        """Have the trainer look for a batch when this instant has settled."""
        if not self._look_requested and self.trainer.free:
            self._look_requested = True
            self.loop.call_when_settled(Phase.TRAINER, self._look)

    def _look(self) -> None:
        self._look_requested = False
        if self.trainer.free and not self.trainer.stalled:
            complete = self.queue.complete
            while stale := self.strategy.stale(complete.values(), self.accounts):
                self._redistribute([w for number in stale for w in self._drop(complete[number], "stale")])
            if len(complete) >= self.strategy.batch_groups:
                self._take_batch(list(islice(complete.values(), self.strategy.batch_groups)))

    def _take_batch(self, groups: list[Group]) -> None:
        episodes = [episode.number for group in groups for episode in group.finished]
        self.accounts.trained += len(episodes)
        self.trainer.take(episodes)
        for group in groups:
            self.queue.take(group)
        self._hand_over_held()
        self.trainer.begin()
        if self.strategy.generates_while_training:
            self._open_round()
            self._serve_waiting()

    def update_is_over(self) -> None:
        """The trainer is free again."""
        if not self.strategy.generates_while_training:
            self._open_round()
            self._serve_waiting()
        self.request_look()

    def publish(self) -> None:
        """Publish the next version: refresh or give up what runs, end the freeze, admit who waits."""
        self.accounts.version += 1
        version = self.accounts.version
        self.emit(ev.Publish(self.now, version))
        if self.frozen:
            self.frozen = False
            for worker in self.workers.values():
                worker.thaw()
        if self.strategy.refreshes_in_flight:
            self._refresh(version)
        self._redistribute(self._cancel_stale(version))

    def _refresh(self, version: int) -> None:
        running = self._running_workers()
        if running:
            self.emit(ev.Refresh(self.now, [worker.number for worker in running]))
            for worker in running:
                worker.refresh(version, self.strategy.refresh_overhead)

    def _cancel_stale(self, version: int) -> list[Worker]:
        if not self.strategy.cancels_running:
            return []
        groups = self.incomplete.values()
        stale = [
            group
            for group in groups
            if group.members and self.strategy.cancels(group.oldest_version(), version)
        ]
        return self._lose_groups(stale, "stale")

    def freeze(self, seconds: float, until: float) -> None:
        """Let every worker stand still until the push is over."""
        self.frozen = True
        self.thaw_at = until
        for worker in self.workers.values():
            worker.freeze(seconds)

    def _expect_deadlock(self) -> None:
        """Nothing is pending; see when the instant has settled whether that is still so."""
        if not self._check_requested:
            self._check_requested = True
            self.loop.call_when_settled(Phase.CHECK, self._check_deadlock)

    def _check_deadlock(self) -> None:
        self._check_requested = False
        if not self.timers.pending and self.now < self.scenario.duration:
            self._fail(DeadlockError(self.now, explain(self)))

    # -- joining, leaving, crashing -------------------------------------------------------------------

    def add_worker(self) -> Worker:
        """A worker joins, with the next number."""
        number = self._next_worker
        self._next_worker += 1
        attempts = None if self.environment is None else Attempts(self.environment, self._streams, number)
        worker = Worker(self, number, self._speeds.next(), attempts)
        self.workers[number] = worker
        self._spawn(worker.run())
        return worker

    def join(self, count: int) -> None:
        """Workers join while the system runs."""
        joined = [self.add_worker() for _ in range(count)]
        for worker in joined:
            self.emit(ev.Up(self.now, worker.number))
        self._redistribute(joined)

    def crash(self, numbers: Iterable[int], restart_seconds: float) -> None:
        """Workers lose what they run and are down for `restart_seconds`."""
        lost: list[Group] = []
        for worker in [self.workers[number] for number in numbers]:
            if not worker.up:
                continue
            if worker.episode is not None:
                lost += self._fail_episode(worker, "crash")
            self._put_down(worker)
            self.emit(ev.Down(self.now, worker.number))
            worker.restart = self.timers.call_at(self.now + restart_seconds, partial(self._restart, worker))
        self._after_loss(lost, [])

    def _restart(self, worker: Worker) -> None:
        worker.restart = None
        worker.up = True
        self.emit(ev.Up(self.now, worker.number))
        self._redistribute([worker])

    def leave(self, numbers: Iterable[int]) -> None:
        """Workers leave for good."""
        lost: list[Group] = []
        for worker in [self.workers[number] for number in numbers]:
            if worker.episode is not None:
                lost += self._lose_member(self._abort(worker, "leave"))
            self._put_down(worker)
            if worker.restart is not None:
                self.timers.call_off(worker.restart)
            del self.workers[worker.number]
            self.emit(ev.Leave(self.now, worker.number))
        self._after_loss(lost, [])

    def _put_down(self, worker: Worker) -> None:
        worker.up = False
        worker.gated = False
        self.waiting.pop(worker.number, None)


def _number(worker: Worker) -> int:
    return worker.number


def _ignore(event: ev.Event) -> None:
    """Take the events of a lane that has ended."""
