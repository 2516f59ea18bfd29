"""What calls the trainer, which is asleep or looks for a batch: between those that bring something and it."""

import asyncio
from collections.abc import Callable

from emulator.clock import EmulatedLoop, Phase


class Summons:
    """Calls for one trainer, which says by `answer` what a look is.

    It is `awaited` while it is free; `requested` says that it is going to look, which then takes that back.
    """

    answer: Callable[[], None]

    def __init__(self, loop: EmulatedLoop) -> None:
        self.awaited = True
        self.requested = False
        self._loop = loop
        self._poked = asyncio.Event()

    def request_look(self) -> None:
        """Look for a batch when this instant has settled, unless busy."""
        if self.awaited and not self.requested:
            self.requested = True
            self._loop.call_when_settled(Phase.TRAINER, self.answer)

    def poke(self) -> None:
        """Something that the task may be waiting for has happened."""
        self._poked.set()

    async def poked(self) -> None:
        """Wait until something of that kind happens."""
        self._poked.clear()
        await self._poked.wait()
