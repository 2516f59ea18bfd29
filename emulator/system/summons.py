"""What calls the trainer, which is asleep or looks for a batch: between those that bring something and it."""

import asyncio
from collections.abc import Callable

from emulator.clock import EmulatedLoop, Phase
from emulator.strategies.decisions import Decisions
from emulator.system.queue import EpisodeQueue, LoneEpisodeQueue


class Summons:
    """Calls for one trainer, which says by `answer` what a look is; it is `awaited` while it is free."""

    answer: Callable[[], None]

    def __init__(
        self, loop: EmulatedLoop, queue: EpisodeQueue | LoneEpisodeQueue, decisions: Decisions
    ) -> None:
        self.awaited = True
        self._loop = loop
        self._queue = queue
        self._decisions = decisions
        self._requested = False
        self._poked = asyncio.Event()

    def request_look(self) -> None:
        """Look for a batch when this instant has settled, unless busy."""
        if self._requested or not self.awaited:
            return
        decisions = self._decisions
        if decisions.judges_queue or len(self._queue.complete) >= decisions.batch_groups:
            self._requested = True
            self._loop.call_when_settled(Phase.TRAINER, self._look)

    def _look(self) -> None:
        self._requested = False
        self.answer()

    def poke(self) -> None:
        """Something that the task may be waiting for has happened."""
        self._poked.set()

    async def poked(self) -> None:
        """Wait until something of that kind happens."""
        self._poked.clear()
        await self._poked.wait()
