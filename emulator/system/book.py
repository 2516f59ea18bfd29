"""The book of episodes: what is started, what ends with what else, and the accounts of it.

It decides and acts on nothing: no loop, no journal, no worker is moved by it. Whoever reports to it carries
out the endings that it returns, one after the other, each before the next is asked for.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from emulator.strategies.decisions import Accounts, Admission, Decisions, PausedEpisode, Unfinished
from emulator.system.episodes import AnyGroup, Episode, Group, LoneEpisode, Source


class AtWork(Protocol):
    """A worker, as far as the book reads it."""

    @property
    def number(self) -> int:
        """Its number."""

    @property
    def episode(self) -> Episode | None:
        """What it has taken, if anything."""


class Aborted(NamedTuple):
    """An episode is given up: that of a worker, or one that was paused."""

    worker: int | None
    episode: Episode
    cause: str


class Dropped(NamedTuple):
    """The finished members of a group are discarded, queued or held for want of room."""

    group: AnyGroup
    cause: str


class SetAside(NamedTuple):
    """A worker's episode is paused, and with `defer` forgets its progress."""

    worker: int
    cause: str


class RoundClosed(NamedTuple):
    """The round has its batch."""


Ending = Aborted | Dropped | SetAside | RoundClosed
Endings = Iterable[Ending]
"""What is to be carried out, in order and within the instant; of several workers in worker order."""


class Book:
    """The episodes, groups and rounds of one lane; the only one that writes its `accounts`.

    `paused` are set aside to be taken up again. `workers` are read, in worker order.
    """

    def __init__(
        self, decisions: Decisions, source: Source, workers: Mapping[int, AtWork], retries: int
    ) -> None:
        self.source = source
        self.accounts = Accounts()
        self.paused: dict[int, Episode] = {}
        self._incomplete: dict[int, AnyGroup] = {}
        self._decisions = decisions
        self._workers = workers
        self._alone = source.alone
        self._admits_all = source.alone and decisions.admits_all
        self._has_rounds = decisions.has_rounds
        self._retries = retries

    @property
    def incomplete(self) -> Mapping[int, AnyGroup]:
        """The groups begun and neither complete nor lost, by number, oldest first."""
        if not self._alone:
            return self._incomplete
        running = {episode.number: episode for _, episode in self._running()}
        return {number: episode.group for number, episode in sorted((running | self.paused).items())}

    def _running(self) -> list[tuple[int, Episode]]:
        """Workers that have an episode, and which."""
        return [(w.number, w.episode) for w in self._workers.values() if w.episode is not None]

    # -- starts -------------------------------------------------------------------------------------

    def next_episode(self, now: float) -> Episode | None:
        """What a free worker takes; None if the strategy lets it wait."""
        accounts, source = self.accounts, self.source
        if self._alone:
            if not self._admits_all:
                admission = self._decisions.admit(accounts, None)
                if admission is None:
                    return None
                if admission is Admission.RESUME:
                    return self._resume(now)
            accounts.started += 1
            episode: Episode = source.start_alone(accounts.version)
        else:
            group = source.group_in_progress(self._decisions.held_back)
            admission = self._decisions.admit(accounts, group)
            if admission is None:
                return None
            if admission is Admission.RESUME:
                return self._resume(now)
            accounts.started += 1
            if group is None or admission is Admission.GROUP:
                episode = source.start_group(accounts.version)
                self._incomplete[episode.group.number] = episode.group
            else:
                episode = source.start_member(group, accounts.version)
        if self._retries:
            episode.attempts_left = self._retries
        return episode

    def _resume(self, now: float) -> Episode:
        version = self.accounts.version
        episode = self.paused.pop(self._decisions.resumed())
        episode.resumed = True
        if episode.remaining is None:
            episode.restart_under(version)
        else:
            episode.change_version(version, now)
        return episode

    # -- ends ---------------------------------------------------------------------------------------

    def finish(self, episode: Episode, now: float) -> Endings:
        """An episode is finished, and no worker has it any more; returns what ends with it."""
        self.accounts.finished += 1
        episode.finish(now)
        if self._alone:
            return self._close_round() if self._has_rounds and self._decisions.group_completed() else ()
        group = episode.group
        assert isinstance(group, Group)
        group.finished.append(episode)
        return self._complete(group) if group.complete else ()

    def replace(self, episode: Episode, now: float) -> LoneEpisode:
        """The same and the next start in one, where nothing can come between; returns what is started."""
        accounts = self.accounts
        accounts.finished += 1
        episode.whole = True
        if not now > episode.generating_since:
            episode.finish(now)
        accounts.started += 1
        return self.source.start_alone(accounts.version)

    def _complete(self, group: AnyGroup) -> Iterator[Ending]:
        del self._incomplete[group.number]
        self.source.close(group)
        closes = self._has_rounds and self._decisions.group_completed()
        if group.started > group.size:
            yield from self._abort_running((group,), "surplus")
            yield from self._abort_paused(group, "surplus")
        if closes:
            yield from self._close_round()

    def fail(self, episode: Episode) -> list[AnyGroup]:
        """A worker's episode is lost for good; returns its group if that can no longer complete."""
        self.accounts.failed += 1
        return self._lose_member(episode)

    def abort(self, episode: Episode) -> list[AnyGroup]:
        """The worker leaves with its episode; returns the group if that can no longer complete."""
        self.accounts.aborted += 1
        return self._lose_member(episode)

    def _lose_member(self, episode: Episode) -> list[AnyGroup]:
        group = episode.group
        group.lose(episode)
        return [] if group.can_complete or not (self._alone or group.number in self._incomplete) else [group]

    def lose_groups(self, groups: Collection[AnyGroup], cause: str) -> Iterator[Ending]:
        """Drop what is finished of these groups and abort the rest."""
        for group in groups:
            self._incomplete.pop(group.number, None)
            self.source.close(group)
            self._decisions.group_lost()
            if group.finished:
                yield from self.drop(group, "group")
            yield from self._abort_paused(group, cause)
        if groups:
            yield from self._abort_running(groups, cause)
        for group in groups:
            group.dissolve()

    def drop(self, group: AnyGroup, cause: str) -> Iterator[Ending]:
        """Discard the finished members of a group."""
        self.accounts.dropped += len(group.finished)
        yield Dropped(group, cause)
        group.dissolve()

    def _abort_running(self, groups: Collection[AnyGroup] | None, cause: str) -> Iterator[Ending]:
        for number, episode in self._running():
            if groups is None or episode.group in groups:
                self.accounts.aborted += 1
                yield Aborted(number, episode, cause)

    def _abort_paused(self, group: AnyGroup, cause: str) -> Iterator[Ending]:
        for episode in [episode for episode in self.paused.values() if episode.group is group]:
            del self.paused[episode.number]
            self._decisions.withdrawn(episode.number)
            self.accounts.aborted += 1
            yield Aborted(None, episode, cause)

    # -- rounds, batches, versions --------------------------------------------------------------------

    def open_round(self, now: float) -> None:
        """Begin a round, if the strategy has rounds."""
        if self._has_rounds:
            paused = [PausedEpisode(n, self.paused[n].group.number) for n in sorted(self.paused)]
            self._decisions.open_round(now, paused, self.incomplete)

    def time_is_up(self) -> Endings:
        """The round's time is over: it closes now, if the strategy has enough for a batch."""
        return self._close_round() if self._decisions.time_is_up() else ()

    def _close_round(self) -> Iterator[Ending]:
        """The batch is there: deal with what is unfinished."""
        yield RoundClosed()
        unfinished = self._decisions.unfinished
        if unfinished is Unfinished.ABORT:
            yield from self._abort_running(None, "round")
            yield from self.lose_groups(list(self.incomplete.values()), "round")
        elif unfinished is not Unfinished.WAIT:
            for number, episode in self._running():
                yield SetAside(number, unfinished.value)
                self.paused[episode.number] = episode

    def train(self, episodes: int) -> None:
        """So many are taken for an update."""
        self.accounts.trained += episodes

    def publish(self) -> int:
        """The next version is published; returns its number."""
        self.accounts.version += 1
        return self.accounts.version

    def cancel_stale(self) -> Endings:
        """Give up the groups that are too old for the version just published."""
        if not self._decisions.cancels_running:
            return ()
        version = self.accounts.version
        stale = [
            group
            for group in self.incomplete.values()
            if group.members and self._decisions.cancels(group.oldest_version(), version)
        ]
        return self.lose_groups(stale, "stale")
