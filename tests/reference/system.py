"""Workers, queue, sandboxes and trainer on the heap; what is admitted when is the strategy's business."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from math import inf
from typing import Protocol

from .heap import Agenda, Timer
from .parts import (
    DOWN,
    GATED,
    GONE,
    HOLDING,
    POOL,
    RUNNING,
    WAITING,
    Draws,
    Episode,
    Group,
    Settings,
    Trainer,
    Worker,
)

STATES = {WAITING: "waiting", GATED: "gated", HOLDING: "blocked", POOL: "blocked", DOWN: "down"}


class Strategy(Protocol):
    """What a strategy decides."""

    def begin(self) -> None: ...
    def next_for(self, worker: Worker) -> None: ...
    def serve_line(self) -> None: ...
    def forget(self, worker: Worker) -> None: ...
    def completed(self, freed: set[Worker]) -> None: ...
    def lost(self, group: Group) -> None: ...
    def look(self) -> None: ...
    def update_ended(self) -> None: ...
    def push_begun(self, until: float) -> None: ...
    def push_delayed(self, by: float) -> None: ...
    def published(self) -> None: ...


class System:
    """One run. All that happens is a timer, a look of the trainer, or an entry of the timeline."""

    strategy: Strategy

    def __init__(self, settings: Settings, draws: Draws) -> None:
        self.settings = settings
        self.draws = draws
        self.agenda = Agenda()
        self.now = 0.0
        self.version = 0
        self.frozen_until: float | None = None
        self.workers: list[Worker] = []
        self.trainer = Trainer()
        self.episodes: list[Episode] = []
        self.coming_factors: dict[int, list[float]] = {}
        self.open_groups: dict[int, Group] = {}
        self.groups_begun = 0
        self.ready: deque[Group] = deque()  # complete groups, in order of completion
        self.depth = 0  # episodes in the queue
        self.holders: deque[Worker] = deque()
        self.free_sandboxes = inf if settings.sandboxes is None else settings.sandboxes
        self.pool_line: deque[Worker] = deque()
        names = (
            "generating",
            "overhead",
            "waiting",
            "gated",
            "blocked",
            "frozen",
            "down",
            "wasted",
            "pool",
            "service",
        )
        self.seconds: dict[str, list[float]] = {name: [] for name in names}
        self.trainer_seconds: dict[str, list[float]] = {
            name: [] for name in ("updating", "pushing", "waiting", "stalled")
        }
        self.trainer_stays: list[tuple[str, float, float]] = []
        self.first_update: float | None = None
        self.queue_stays: list[float] = []
        self.queue_max = 0
        self.started = self.finished = self.trained = self.dropped = self.aborted = self.failed = (
            self.attempts
        ) = 0
        self.completed_groups: list[Group] = []
        self.lost_groups = 0
        self.starts: list[tuple[float, int, int]] = []
        self.batches: list[tuple[float, list[int]]] = []
        self.trained_episodes: list[tuple[Episode, int]] = []
        self.trained_waits: list[float] = []
        for _ in range(settings.workers):
            self.new_worker()

    # Accounts

    def account(self, worker: Worker) -> None:
        """Write down what the worker did until now."""
        now, mark = self.now, worker.mark
        if now == mark:
            return
        worker.mark = now
        state = worker.state
        if state == GONE:
            return
        if self.frozen_until is not None and state != DOWN:
            self.seconds["frozen"] += (now, -mark)
        elif state == RUNNING:
            episode = worker.episode
            assert episode is not None
            if episode.generation_from > mark:
                cut = min(episode.generation_from, now)
                self.seconds["overhead"] += (cut, -mark)
                mark = cut
            if now > mark:
                self.seconds["generating"] += (now, -mark)
                episode.segments.append((episode.version, mark, now))
        else:
            self.seconds[STATES[state]] += (now, -mark)
            if state == POOL:
                self.seconds["pool"] += (now, -mark)

    def account_trainer(self) -> None:
        trainer, now = self.trainer, self.now
        mark, trainer.mark = trainer.mark, now
        if trainer.stalled_until > mark:
            cut = min(trainer.stalled_until, now)
            self.trainer_seconds["stalled"] += (cut, -mark)
            self.trainer_stays.append(("stalled", mark, cut))
            mark = cut
        self.trainer_seconds[trainer.state] += (now, -mark)
        self.trainer_stays.append((trainer.state, mark, now))

    def set_state(self, worker: Worker, state: int) -> None:
        self.account(worker)
        worker.state = state

    def set_trainer(self, state: str) -> None:
        self.account_trainer()
        self.trainer.state = state

    def waste(self, episode: Episode) -> None:
        """What it generated so far is for nothing."""
        for _, begin, end in episode.segments:
            self.seconds["wasted"] += (end, -begin)
        episode.segments = []

    # Workers and their episodes

    def new_worker(self) -> Worker:
        number = len(self.workers)
        worker = Worker(number, self.draws.speeds(number), self.now)
        self.workers.append(worker)
        self.seconds["service"].append(-self.now)
        return worker

    def new_group(self) -> Group:
        settings = self.settings
        group = Group(
            self.groups_begun, settings.group_size, settings.group_size + settings.redundancy, self.now
        )
        self.groups_begun += 1
        self.open_groups[group.number] = group
        return group

    def start(self, worker: Worker, group: Group) -> None:
        """Start the group's next episode for the first time."""
        k = len(self.episodes)
        episode = Episode(k, self.draws.durations(k), group)
        for factor in self.coming_factors.pop(k, ()):
            episode.length *= factor
        self.episodes.append(episode)
        group.members.append(episode)
        self.started += 1
        self.starts.append((self.now, k, worker.number))
        self.take(worker, episode)

    def take(self, worker: Worker, episode: Episode) -> None:
        """Give the episode, stamped, to the worker: a new one, a paused one, or one that runs again."""
        worker.episode = episode
        episode.worker = worker
        episode.state = "running"
        episode.version = self.version
        if episode.begun:
            self.resume(worker, episode)
            return
        episode.start_version = self.version
        if self.free_sandboxes > 0:
            self.free_sandboxes -= 1
            episode.has_sandbox = True
            self.begin_attempt(worker, episode)
        else:
            self.pool_line.append(worker)
            self.set_state(worker, POOL)

    def begin_attempt(self, worker: Worker, episode: Episode) -> None:
        nth = worker.attempts
        worker.attempts += 1
        self.attempts += 1
        self.set_state(worker, RUNNING)
        episode.begun = True
        episode.fails = self.draws.failures(worker.number, nth)
        episode.generation_from = self.now + self.draws.resets(worker.number, nth)
        episode.due = episode.generation_from + episode.length / worker.speed
        timeout = self.settings.timeout
        episode.limit = inf if timeout is None else self.now + timeout
        self.set_timer(worker, episode)

    def resume(self, worker: Worker, episode: Episode) -> None:
        self.set_state(worker, RUNNING)
        overhead = self.settings.strategy.get("resume_overhead") or 0
        episode.generation_from = self.now + overhead + episode.overhead_left
        if worker.speed == episode.paused_speed:
            episode.due = self.now + overhead + episode.remaining
        else:
            work = (episode.remaining - episode.overhead_left) * episode.paused_speed
            episode.due = episode.generation_from + work / worker.speed
        episode.limit = self.now + episode.limit_left
        for factor in episode.later_factors:
            episode.due += (factor - 1) * episode.length / worker.speed
            episode.length *= factor
        episode.later_factors = []
        self.set_timer(worker, episode)

    def set_timer(self, worker: Worker, episode: Episode) -> None:
        """Set the worker's timer anew."""
        if worker.timer is not None:
            self.agenda.cancel(worker.timer)
        worker.timer = self.agenda.set(min(episode.due, episode.limit), partial(self.attempt_over, worker))

    def attempt_over(self, worker: Worker) -> None:
        episode = worker.episode
        assert episode is not None
        self.account(worker)
        if episode.due <= episode.limit and not episode.fails:
            self.finish(worker, episode)
            return
        episode.failed_attempts += 1
        if episode.failed_attempts <= self.settings.retries:
            self.waste(episode)
            self.begin_attempt(worker, episode)
            return
        freed: set[Worker] = set()
        self.end(episode, "failed", freed)
        self.judge([episode.group], freed)
        self.go_on(freed)

    def finish(self, worker: Worker, episode: Episode) -> None:
        self.finished += 1
        episode.state = "finished"
        episode.finish = self.now
        episode.finish_version = self.version
        self.detach(worker, episode)
        freed = {worker}
        if self.settings.capacity is not None and self.depth >= self.settings.capacity:
            worker.held = episode
            self.holders.append(worker)
            self.set_state(worker, HOLDING)
        else:
            self.enqueue(episode)
        group = episode.group
        group.finished.append(episode)
        if len(group.finished) == group.need:
            group.state = "complete"
            group.completed_at = self.now
            del self.open_groups[group.number]
            self.completed_groups.append(group)
            self.ready.append(group)
            if group.size > group.need:
                for other in self.by_worker(group.members):
                    self.end(other, "aborted", freed)
            self.strategy.completed(freed)
        self.go_on(freed)

    def by_worker(self, episodes: Iterable[Episode]) -> list[Episode]:
        """Those that run, in worker order, then those that are paused."""
        unfinished = [episode for episode in episodes if episode.state in ("running", "paused")]
        return sorted(unfinished, key=lambda e: (e.worker is None, e.worker.number if e.worker else e.k))

    def detach(self, worker: Worker, episode: Episode) -> None:
        """Part the two: no timer, no place in the pool's line."""
        self.agenda.cancel(worker.timer)
        worker.timer = None
        worker.episode = None
        episode.worker = None
        if worker.state == POOL:
            self.pool_line.remove(worker)
        if episode.state != "paused" and episode.has_sandbox:
            episode.has_sandbox = False
            self.free_sandboxes += 1
        if worker.is_up():
            self.set_state(worker, WAITING)

    def end(self, episode: Episode, outcome: str, freed: set[Worker]) -> None:
        """Abort, fail or drop an episode; its worker, if it has one, is free."""
        worker = episode.worker
        if worker is not None:
            self.account(worker)
        queued = episode.state == "finished"
        episode.state = outcome
        if worker is not None:
            self.detach(worker, episode)
            freed.add(worker)
        elif episode.has_sandbox:  # of a paused episode
            episode.has_sandbox = False
            self.free_sandboxes += 1
        if queued:
            self.unqueue(episode, freed)
        self.waste(episode)
        setattr(self, outcome, getattr(self, outcome) + 1)

    def pause(self, worker: Worker, episode: Episode, keep: bool) -> None:
        """Put an episode away, with its progress or without."""
        self.account(worker)
        was_begun = episode.begun
        if keep and was_begun:
            episode.remaining = episode.due - self.now
            episode.overhead_left = max(0.0, episode.generation_from - self.now)
            episode.limit_left = episode.limit - self.now
            episode.paused_speed = worker.speed
            episode.state = "paused"
            self.detach(worker, episode)
        else:
            self.waste(episode)
            episode.begun = False
            self.detach(worker, episode)
            episode.state = "paused"

    def judge(self, groups: Iterable[Group], freed: set[Worker]) -> None:
        """Lose those of the groups that can no longer complete."""
        for group in groups:
            if group.state == "open" and group.can_finish() < group.need:
                self.lose(group, freed)

    def lose(self, group: Group, freed: set[Worker]) -> None:
        if group.state == "complete":
            self.ready.remove(group)
        else:
            self.lost_groups += 1
            del self.open_groups[group.number]
        was_open = group.state == "open"
        group.state = "lost"
        for episode in group.finished:
            self.end(episode, "dropped", freed)
        for episode in self.by_worker(group.members):
            self.end(episode, "aborted", freed)
        if was_open:
            self.strategy.lost(group)

    def go_on(self, freed: Iterable[Worker] = ()) -> None:
        """After something ended: sandboxes, queue slots, the workers that it freed, the line."""
        if self.pool_line and self.frozen_until is None:
            while self.pool_line and self.free_sandboxes > 0:
                worker = self.pool_line.popleft()
                episode = worker.episode
                assert episode is not None
                self.free_sandboxes -= 1
                episode.has_sandbox = True
                self.begin_attempt(worker, episode)
        while self.holders and self.depth < (self.settings.capacity or inf):
            worker = self.holders.popleft()
            assert worker.held is not None
            self.enqueue(worker.held)
            worker.held = None
            if worker.is_up():
                self.strategy.next_for(worker)
        for worker in sorted(freed, key=lambda w: w.number):
            if worker.is_free() and worker.state == WAITING:
                self.strategy.next_for(worker)
        self.strategy.serve_line()

    # Queue

    def enqueue(self, episode: Episode) -> None:
        episode.in_queue = True
        self.depth += 1
        self.queue_stays.append(-self.now)

    def unqueue(self, episode: Episode, freed: set[Worker]) -> None:
        """Take a finished episode out of the queue, or from the worker that holds it."""
        if episode.in_queue:
            episode.in_queue = False
            self.depth -= 1
            self.queue_stays.append(self.now)
            return
        holder = next(worker for worker in self.holders if worker.held is episode)
        self.holders.remove(holder)
        holder.held = None
        if holder.is_up():
            self.set_state(holder, WAITING)
            freed.add(holder)

    # Trainer

    def may_train(self) -> bool:
        return self.trainer.state == "waiting" and self.trainer.stalled_until <= self.now

    def next_batch(self, count: int | None = None) -> list[Group] | None:
        """So many (else a batch of) complete groups that are wholly in the queue, if they are there."""
        count = self.settings.batch // self.settings.group_size if count is None else count
        if len(self.ready) < count:
            return None
        if not self.holders:
            return list(islice(self.ready, count))
        batch: list[Group] = []
        for group in self.ready:
            if all(episode.in_queue for episode in group.finished):
                batch.append(group)
                if len(batch) == count:
                    return batch
        return None

    def train(self, batch: list[Group]) -> None:
        """Take the batch out of the queue and begin the update."""
        numbers = []
        for group in batch:
            self.ready.remove(group)
            for episode in group.finished:
                self.unqueue(episode, set())
                episode.state = "trained"
                self.trained_episodes.append((episode, self.version))
                self.trained_waits += (self.now, -episode.finish)
                numbers.append(episode.k)
        self.trained += len(numbers)
        self.batches.append((self.now, numbers))
        self.set_trainer("updating")
        self.go_on()
        due = self.now + self.draws.updates(self.trainer.begun)
        self.trainer.begun += 1
        self.trainer.timer = self.agenda.set(due, self.update_over)

    def update_over(self) -> None:
        self.set_trainer("waiting")
        if not (self.push_due() and self.settings.push):
            self.count_update()
        self.strategy.update_ended()

    def count_update(self) -> None:
        self.trainer.updates += 1
        if self.first_update is None:
            self.first_update = self.now

    def push_due(self) -> bool:
        """Whether the update that ended last is to be pushed."""
        return self.trainer.begun % self.settings.publish_every == 0

    def push(self) -> None:
        """Push, then publish; a push of 0 sets no timer."""
        if self.settings.push == 0:
            self.publish()
            return
        self.set_trainer("pushing")
        self.trainer.timer = self.agenda.set(self.now + self.settings.push, self.publish)
        self.strategy.push_begun(self.trainer.timer.due)

    def publish(self) -> None:
        self.set_trainer("waiting")
        self.version += 1
        self.trainer.publications += 1
        if self.settings.push:
            self.count_update()
        self.strategy.published()

    def stall(self, seconds: float) -> None:
        trainer = self.trainer
        self.account_trainer()
        trainer.stalled_until = max(trainer.stalled_until, self.now) + seconds
        if trainer.state == "waiting":
            self.agenda.cancel(trainer.stall_timer)
            trainer.stall_timer = self.agenda.set(trainer.stalled_until, self.account_trainer)
            return
        assert trainer.timer is not None
        trainer.timer = self.agenda.again(trainer.timer, trainer.timer.due + seconds)
        if trainer.state == "pushing":
            self.strategy.push_delayed(seconds)

    # Freezes, refreshes, faults

    def running(self) -> list[tuple[Worker, Episode]]:
        """Workers in an attempt, in worker order."""
        return [(w, w.episode) for w in self.workers if w.state == RUNNING and w.episode is not None]

    def freeze(self, until: float, seconds: float) -> None:
        """Freeze every worker, or go on freezing for so many seconds more."""
        for worker in self.workers:
            self.account(worker)
        thaw = self.now if self.frozen_until is None else self.frozen_until
        self.frozen_until = until
        for worker, episode in self.running():
            if episode.generation_from >= thaw:
                episode.generation_from += seconds
            episode.due += seconds
            episode.limit += seconds
            self.set_timer(worker, episode)

    def thaw(self) -> None:
        for worker in self.workers:
            self.account(worker)
        self.frozen_until = None

    def refresh(self, overhead: float) -> None:
        """Move what runs to the newest version."""
        for worker in self.workers:
            episode = worker.episode
            if episode is None:
                continue
            self.account(worker)
            episode.version = self.version
            if worker.state == RUNNING and overhead > 0:
                episode.generation_from = max(episode.generation_from, self.now) + overhead
                episode.due += overhead
                self.set_timer(worker, episode)

    def rescale(self, worker: Worker, change: Callable[[float], float]) -> None:
        """Stretch what is left of the generating."""
        episode = worker.episode
        if worker.state == RUNNING and episode is not None:
            begin = max(episode.generation_from, self.now, self.frozen_until or self.now)
            episode.due = begin + change(episode.due - begin)
            self.set_timer(worker, episode)

    def straggle(self, episode: Episode, factor: float) -> None:
        worker = episode.worker
        if episode.state == "paused" and episode.begun:
            episode.later_factors.append(factor)
        elif worker is not None and worker.state == RUNNING:
            episode.due += (factor - 1) * episode.length / worker.speed
            episode.length *= factor
            self.set_timer(worker, episode)
        elif episode.state in ("running", "paused"):
            episode.length *= factor

    def take_away(self, workers: list[Worker], restart: float | None) -> None:
        """Workers crash, to be up again after `restart` seconds, or leave (None)."""
        workers = [
            worker for worker in workers if worker.is_up() or (restart is None and worker.state == DOWN)
        ]
        freed: set[Worker] = set()
        touched: list[Episode] = []
        restarts: list[tuple[Worker, Timer | None]] = []
        for worker in workers:
            self.strategy.forget(worker)
            self.account(worker)
            if worker.state == POOL:
                self.pool_line.remove(worker)
            restarts.append((worker, worker.timer if worker.state == DOWN else None))
            worker.state = GONE if restart is None else DOWN
        for worker, timer in restarts:
            if worker.episode is not None:
                touched.append(worker.episode)
                self.end(worker.episode, "aborted" if restart is None else "failed", freed)
            self.agenda.cancel(timer)
            if restart is None:
                self.seconds["service"].append(self.now)
            else:
                worker.timer = self.agenda.set(self.now + restart, partial(self.restart, worker))
        self.judge([episode.group for episode in touched], freed)
        self.go_on(freed)

    def restart(self, worker: Worker) -> None:
        worker.timer = None
        self.set_state(worker, WAITING if worker.held is None else HOLDING)
        if worker.held is None:
            self.strategy.next_for(worker)
