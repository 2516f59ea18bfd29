"""The queue of finished episodes between the workers and the trainer."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import cast

from emulator.clock import KeyedQueue
from emulator.system.episodes import AnyGroup, Episode


class EpisodeQueue(KeyedQueue[Episode]):
    """An `asyncio.Queue` whose episodes stay in it until they are taken group by group.

    Workers put, in the order in which they finish, and hold on to what they have when it is full. `complete`
    holds the groups whose needed members are all in the queue, in order of completion: the trainer chooses
    from them.
    """

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        self._complete: dict[int, AnyGroup] = {}
        self.complete: Mapping[int, AnyGroup] = self._complete

    def put_nowait(self, item: Episode) -> None:
        """Put an episode in; raises QueueFull if there is no room."""
        super().put_nowait(item)
        group = item.group
        group.queued += 1
        if group.queued == group.size:
            self._complete[group.number] = group

    def get_nowait(self) -> Episode:
        """Take the oldest episode, whatever its group; raises QueueEmpty if there is none."""
        episode = super().get_nowait()
        self._left(episode)
        return episode

    def take_batch(self, groups: int) -> list[int]:
        """Take the first complete groups, to be trained; returns the numbers of their episodes."""
        first = list(islice(self.complete.values(), groups))
        numbers = [episode.number for episode in self.take_groups(first)]
        for group in first:
            group.dissolve()
        return numbers

    def take_groups(self, groups: Iterable[AnyGroup]) -> list[Episode]:
        """Take what the queue holds of some groups, each in order of finishing."""
        taken = self.take(e.number for group in groups for e in group.finished if e.number in self.items)
        for episode in taken:
            self._left(episode)
        return taken

    def _left(self, episode: Episode) -> None:
        episode.group.queued -= 1
        self._complete.pop(episode.group.number, None)


class LoneEpisodeQueue(KeyedQueue[Episode]):
    """The same where episodes have no groups: each is complete as soon as it is in the queue."""

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        self.complete = cast(Mapping[int, AnyGroup], self.items)

    def take_batch(self, groups: int) -> list[int]:
        """Take the first episodes, to be trained; returns their numbers."""
        return self.take_first(groups)

    def take_groups(self, groups: Iterable[AnyGroup]) -> list[Episode]:
        """Take some episodes, as far as the queue holds them."""
        return self.take(group.number for group in groups if group.number in self.items)
