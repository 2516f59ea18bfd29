"""The book of episodes: how each is started and ends, and the groups and rounds that they form.

Whatever ends several episodes at once ends them in worker order and within the instant. The workers that
are set free by it are returned, and it is for the caller to put them to work.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from emulator import events as ev
from emulator.journal import ROW, TWO_ROWS
from emulator.strategies.decisions import Accounts, Admission, PausedEpisode, Unfinished
from emulator.system.episodes import AnyGroup, Episode, LoneEpisode, Source

if TYPE_CHECKING:
    from emulator.system.lane import Lane
    from emulator.system.worker import Worker

_STARTS_PER_LOOK = 1024
"""Starts between two looks at how long the journal has become."""


class Book:
    """The episodes of one lane.

    `paused` are set aside to be taken up again.
    """

    def __init__(self, lane: "Lane", source: Source) -> None:
        self.source = source
        self.accounts = Accounts()
        self.paused: dict[int, Episode] = {}
        self._incomplete: dict[int, AnyGroup] = {}
        self._deadline: asyncio.TimerHandle | None = None
        self._lane = lane
        self._loop = lane.loop
        self._strategy = lane.strategy
        self._rows = lane.journal.rows
        self._queue = lane.queue
        self._alone = lane.alone
        self._judged = lane.strategy.judges_queue
        self._batch = lane.strategy.batch_groups
        self._has_rounds = lane.strategy.has_rounds
        self._admits_all = lane.alone and lane.strategy.admits_all
        self._retries = 0 if lane.environment is None else lane.environment.retries

    @property
    def incomplete(self) -> Mapping[int, AnyGroup]:
        """The groups begun and neither complete nor lost, by number, oldest first."""
        if not self._alone:
            return self._incomplete
        running = [worker.running for worker in self._lane.workforce.running()]
        return {
            number: episode.group
            for number, episode in sorted(({e.number: e for e in running} | self.paused).items())
        }

    # -- starts -------------------------------------------------------------------------------------

    def admit(self, worker: "Worker") -> bool:
        """Let a free worker take what the strategy says; False if that is nothing."""
        if self._admits_all:
            worker.take(self._start_alone(worker))
            return True
        in_progress = None if self._alone else self.source.group_in_progress(self._strategy.held_back)
        admission = self._strategy.admit(self.accounts, in_progress)
        if admission is None:
            return False
        worker.gated = False
        if admission is Admission.RESUME:
            worker.take(self._resume(worker))
        elif self._alone:
            worker.take(self._start_alone(worker))
        else:
            worker.take(self._start(worker, None if admission is Admission.GROUP else in_progress))
        return True

    def _resume(self, worker: "Worker") -> Episode:
        version = self.accounts.version
        episode = self.paused.pop(self._strategy.resumed())
        if episode.remaining is None:
            episode.restart_under(version)
        else:
            episode.change_version(version, self._lane.now)
        self._lane.emit(ev.Resume(self._lane.now, worker.number, episode.number, version))
        return episode

    def _start(self, worker: "Worker", group: int | None) -> Episode:
        """Start the next member of a group in progress, or the first of a new one."""
        version = self.accounts.version
        if group is None:
            episode = self.source.start_group(version)
            self._incomplete[episode.group.number] = episode.group
        else:
            episode = self.source.start_member(group, version)
        if self._retries:
            episode.attempts_left = self._retries
        self.accounts.started += 1
        now, group_number = self._loop.now, episode.group.number
        self._lane.emit(ev.Start(now, worker.number, episode.number, group_number, version, episode.duration))
        return episode

    def _start_alone(self, worker: "Worker") -> LoneEpisode:
        """Start the next episode, where they have no groups."""
        accounts, now = self.accounts, self._loop.now
        accounts.started += 1
        episode = self.source.start_alone(accounts.version)
        if self._retries:
            episode.attempts_left = self._retries
        self._rows += ROW(now, worker.number, episode.duration)
        if episode.number % _STARTS_PER_LOOK == 0:
            self._look_at_length(worker, episode)
        return episode

    def _look_at_length(self, worker: "Worker", started: LoneEpisode) -> None:
        number = started.number
        self._lane.watch_instant(
            ev.Start(self._loop.now, worker.number, number, number, started.version, started.duration)
        )

    # -- ends ---------------------------------------------------------------------------------------

    def finish(self, worker: "Worker") -> Sequence["Worker"]:
        """A worker's episode is finished; returns the other workers that are set free by it."""
        episode = worker.episode
        assert episode is not None
        now = self._loop.now
        self.accounts.finished += 1
        worker.let_go()
        episode.finish(now)
        if self._alone:
            self._rows += ROW(now, worker.number, -1 - episode.number)
            if self._has_rounds and self._strategy.group_completed():
                return self._close_round()
            return ()
        self._lane.emit(ev.Finish(now, worker.number, episode.number))
        group = episode.group
        group.add_finished(episode)
        return self._complete(group) if group.complete else ()

    def finish_and_start(self, worker: "Worker") -> None:
        """The same, handed over, and the worker's next: what nearly all is in a plain lane, all in one."""
        episode, accounts, now = worker.episode, self.accounts, self._loop.now
        assert episode is not None
        accounts.finished += 1
        episode.whole = True
        if not now > episode.generating_since:
            episode.finish(now)
        self._queue.put_nowait(episode)
        trainer = self._lane.trainer
        if trainer.free and (self._judged or len(self._queue.complete) >= self._batch):
            trainer.request_look()
        accounts.started += 1
        following = self.source.start_alone(accounts.version)
        number = worker.number
        self._rows += TWO_ROWS(now, number, -1 - episode.number, now, number, following.duration)
        if following.number % _STARTS_PER_LOOK == 0:
            self._look_at_length(worker, following)
        worker.take(following)

    def _complete(self, group: AnyGroup) -> Sequence["Worker"]:
        del self._incomplete[group.number]
        self.source.close(group)
        closes = self._has_rounds and self._strategy.group_completed()
        freed: list[Worker] = []
        if group.started > group.size:
            freed += self._abort_running((group,), "surplus")
            self._abort_paused(group, "surplus")
        if closes:
            freed += self._close_round()
        return freed

    def fail(self, worker: "Worker", cause: str) -> list[AnyGroup]:
        """A worker's episode is lost for good; returns its group if that can no longer complete."""
        episode = worker.running
        self.accounts.failed += 1
        self._lane.emit(ev.Fail(self._lane.now, worker.number, episode.number, cause))
        worker.release()
        return self._lose_member(episode)

    def lose_with_worker(self, worker: "Worker") -> list[AnyGroup]:
        """A worker leaves and its episode is aborted; returns the group if that can no longer complete."""
        return self._lose_member(self._abort(worker, "leave"))

    def _abort(self, worker: "Worker", cause: str) -> Episode:
        episode = worker.running
        self.accounts.aborted += 1
        self._lane.emit(ev.Abort(self._lane.now, worker.number, episode.number, cause))
        worker.release()
        return episode

    def _abort_running(self, groups: "tuple[AnyGroup, ...] | list[AnyGroup]", cause: str) -> list["Worker"]:
        hit = [worker for worker in self._lane.workforce.running() if worker.running.group in groups]
        for worker in hit:
            self._abort(worker, cause)
        return hit

    def _abort_paused(self, group: AnyGroup, cause: str) -> None:
        for episode in [episode for episode in self.paused.values() if episode.group is group]:
            del self.paused[episode.number]
            self._strategy.withdrawn(episode.number)
            self._lane.sandboxes.take_back(episode)
            self.accounts.aborted += 1
            self._lane.emit(ev.Abort(self._lane.now, None, episode.number, cause))

    def _lose_member(self, episode: Episode) -> list[AnyGroup]:
        group = episode.group
        group.lose(episode)
        return [] if group.can_complete or not (self._alone or group.number in self._incomplete) else [group]

    def lose_groups(self, groups: list[AnyGroup], cause: str) -> list["Worker"]:
        """Drop what is finished of these groups and abort the rest; returns the workers set free."""
        freed: list[Worker] = []
        for group in groups:
            self._incomplete.pop(group.number, None)
            self.source.close(group)
            self._strategy.group_lost()
            if group.finished:
                freed += self.drop(group, "group")
            self._abort_paused(group, cause)
        if groups:
            freed += self._abort_running(groups, cause)
        for group in groups:
            group.dissolve()
        return freed

    def drop(self, group: AnyGroup, cause: str) -> list["Worker"]:
        """Discard the finished members of a group; returns the workers that held any for want of room."""
        self.accounts.dropped += len(group.finished)
        self._lane.emit(ev.Drop(self._lane.now, [episode.number for episode in group.finished], cause))
        self._lane.queue.take_groups((group,))
        freed = self._lane.workforce.relieve(group)
        group.dissolve()
        return freed

    # -- rounds -------------------------------------------------------------------------------------

    def open_round(self) -> None:
        """Begin a round, if the strategy has rounds."""
        if not self._has_rounds:
            return
        paused = [PausedEpisode(n, self.paused[n].group.number) for n in sorted(self.paused)]
        self._strategy.open_round(self._loop.now, paused, self.incomplete)
        if self._strategy.closes_at is not None:
            self._deadline = self._lane.timers.call_at(self._strategy.closes_at, self._time_is_up)

    def _time_is_up(self) -> None:
        self._deadline = None
        if self._strategy.time_is_up():
            self._lane.workforce.redistribute(self._close_round())
            self._lane.trainer.request_look()

    def _close_round(self) -> list["Worker"]:
        """The batch is there: deal with what is unfinished; returns the workers set free."""
        if self._deadline is not None:
            self._lane.timers.call_off(self._deadline)
            self._deadline = None
        self._lane.trainer.poke()
        running = self._lane.workforce.running()
        match self._strategy.unfinished:
            case Unfinished.ABORT:
                for worker in running:
                    self._abort(worker, "round")
                return running + self.lose_groups(list(self.incomplete.values()), "round")
            case Unfinished.RESUME:
                for worker in running:
                    self._pause(worker, "resume")
            case Unfinished.DEFER:
                for worker in running:
                    episode = self._pause(worker, "defer")
                    episode.forget_progress()
                    self._lane.sandboxes.take_back(episode)
        return running

    def _pause(self, worker: "Worker", cause: str) -> Episode:
        episode = worker.set_aside()
        self._lane.emit(ev.Pause(self._lane.now, worker.number, episode.number, cause))
        self.paused[episode.number] = episode
        return episode
