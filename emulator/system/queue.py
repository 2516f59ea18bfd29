"""The queue of finished episodes between the workers and the trainer."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from emulator.system.episodes import AnyGroup, Episode


class EpisodeQueue(asyncio.Queue[Episode]):
    """An `asyncio.Queue` whose episodes stay in it until they are taken group by group.

    Workers put, in the order in which they finish, and hold on to what they have when it is full. `complete`
    holds the groups whose needed members are all in the queue, in order of completion: the trainer chooses
    from them.
    """

    complete: Mapping[int, AnyGroup]
    _maxsize: int
    _getters: deque[asyncio.Future[None]]
    _putters: deque[asyncio.Future[None]]
    _wakeup_next: Callable[[deque[asyncio.Future[None]]], None]

    def _init(self, maxsize: int) -> None:
        self._queue: dict[int, Episode] = {}
        self._complete: dict[int, AnyGroup] = {}
        self.complete = self._complete

    def put_nowait(self, item: Episode) -> None:
        """Put an episode in; raises QueueFull if there is no room.

        What a queue counts for `join` is left out: nobody says `task_done` of an episode.
        """
        if self._maxsize and self.full():
            raise asyncio.QueueFull
        self._put(item)
        if self._getters:
            self._wakeup_next(self._getters)

    def _put(self, item: Episode) -> None:
        self._queue[item.number] = item
        group = item.group
        group.queued += 1
        if group.queued == group.size:
            self._complete[group.number] = group

    def _get(self) -> Episode:
        return self._remove(next(iter(self._queue)))

    def _remove(self, number: int) -> Episode:
        episode = self._queue.pop(number)
        episode.group.queued -= 1
        self._complete.pop(episode.group.number, None)
        return episode

    @property
    def episodes(self) -> Iterable[Episode]:
        """What is in it, in no order that is told."""
        return self._queue.values()

    def take_batch(self, groups: int) -> list[int]:
        """Take the first complete groups, to be trained; returns the numbers of their episodes."""
        first = list(islice(self.complete.values(), groups))
        numbers = [episode.number for episode in self.take(first)]
        for group in first:
            group.dissolve()
        return numbers

    def take(self, groups: Iterable[AnyGroup]) -> list[Episode]:
        """Take what the queue holds of some groups, each in order of finishing."""
        numbers = [e.number for group in groups for e in group.finished if e.number in self._queue]
        taken = [self._remove(number) for number in numbers]
        self._tell_room(len(taken))
        return taken

    def _tell_room(self, places: int) -> None:
        """Wake as many tasks as wait in `put` for the places that have become free."""
        for _ in range(min(places, len(self._putters))):
            self._wakeup_next(self._putters)


class LoneEpisodeQueue(EpisodeQueue):
    """The same where episodes have no groups: each is complete as soon as it is in the queue."""

    _queue: dict[int, Episode]

    def _init(self, maxsize: int) -> None:
        super()._init(maxsize)
        self.complete = self._queue  # type: ignore[assignment]  # each is its own group

    def put_nowait(self, item: Episode) -> None:
        """Put an episode in; raises QueueFull if there is no room."""
        if self._maxsize and self.full():
            raise asyncio.QueueFull
        self._queue[item.number] = item
        if self._getters:
            self._wakeup_next(self._getters)

    def _remove(self, number: int) -> Episode:
        return self._queue.pop(number)

    def take_batch(self, groups: int) -> list[int]:
        """Take the first episodes, to be trained; returns their numbers."""
        numbers = list(islice(self._queue, groups))
        for number in numbers:
            del self._queue[number]
        self._tell_room(groups)
        return numbers

    def take(self, groups: Iterable[AnyGroup]) -> list[Episode]:
        """Take some episodes, as far as the queue holds them."""
        pop = self._queue.pop
        taken = [episode for group in groups if (episode := pop(group.number, None)) is not None]
        self._tell_room(len(taken))
        return taken
