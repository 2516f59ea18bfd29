"""The queue of finished episodes between the workers and the trainer."""

import asyncio
from collections.abc import Iterable, Mapping

from emulator.system.episodes import AnyGroup, Episode


class EpisodeQueue(asyncio.Queue[Episode]):
    """An `asyncio.Queue` whose episodes stay in it until they are taken group by group.

    Workers put, in the order in which they finish, and hold on to what they have when it is full. `complete`
    holds the groups whose needed members are all in the queue, in order of completion: the trainer chooses
    from them.
    """

    complete: Mapping[int, AnyGroup]

    def _init(self, maxsize: int) -> None:
        self._queue: dict[int, Episode] = {}
        self._complete: dict[int, AnyGroup] = {}
        self.complete = self._complete

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

    def take(self, groups: Iterable[AnyGroup]) -> list[Episode]:
        """Take what the queue holds of some groups, each in order of finishing."""
        numbers = [e.number for group in groups for e in group.finished if e.number in self._queue]
        return [self._remove(number) for number in numbers]


class LoneEpisodeQueue(EpisodeQueue):
    """The same where episodes have no groups: each is complete as soon as it is in the queue."""

    _queue: dict[int, Episode]

    def _init(self, maxsize: int) -> None:
        super()._init(maxsize)
        self.complete = self._queue  # type: ignore[assignment]  # each is its own group

    def _put(self, item: Episode) -> None:
        self._queue[item.number] = item

    def _remove(self, number: int) -> Episode:
        return self._queue.pop(number)

    def take(self, groups: Iterable[AnyGroup]) -> list[Episode]:
        """Take some episodes, as far as the queue holds them."""
        pop = self._queue.pop
        return [episode for group in groups if (episode := pop(group.number, None)) is not None]
