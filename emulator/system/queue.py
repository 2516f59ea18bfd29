"""The queue of finished episodes between the workers and the trainer."""

import asyncio
from collections import deque

from emulator.system.episodes import Episode, Group


class EpisodeQueue(asyncio.Queue[Episode]):
    """An `asyncio.Queue` whose episodes stay in it until they are taken group by group.

    Workers `put`, and block when it is full, in the order in which they came. `complete` holds the groups
    whose needed members are all in the queue, in order of completion: the trainer chooses from them.
    """

    complete: dict[int, Group]

    def _init(self, maxsize: int) -> None:
        self._queue: dict[int, Episode] = {}
        self._wanted: deque[int] = deque()
        self.complete = {}

    def _put(self, item: Episode) -> None:
        self._queue[item.number] = item
        group = item.group
        group.queued += 1
        if group.queued == group.size:
            self.complete[group.number] = group

    def _get(self) -> Episode:
        number = self._wanted.popleft() if self._wanted else next(iter(self._queue))
        episode = self._queue.pop(number)
        episode.group.queued -= 1
        self.complete.pop(episode.group.number, None)
        return episode

    def take(self, group: Group) -> list[Episode]:
        """Take what the queue holds of a group, in order of finishing; blocked workers get its room."""
        self._wanted.extend(e.number for e in group.finished if e.number in self._queue)
        return [self.get_nowait() for _ in range(len(self._wanted))]
