"""The trainer: an asyncio task that updates on a batch, pushes the weights and has them published."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from emulator import events as ev
from emulator.system.timers import Alarm

if TYPE_CHECKING:
    from emulator.system.lane import Lane


class Trainer:
    """The trainer of one lane.

    `free` says that it looks for a batch; `stalled` that it stands still, whatever else it does.
    """

    def __init__(
        self, lane: "Lane", next_update_seconds: Callable[[], float], push_seconds: float, publish_every: int
    ) -> None:
        self.free = True
        self.stalled = False
        self._lane = lane
        self._next_update_seconds = next_update_seconds
        self._push_seconds = push_seconds
        self._publish_every = publish_every
        self._update = 0
        self._due = 0.0
        self._alarm = Alarm(lane.timers)
        self._stalled_until = 0.0
        self._pushing = False
        self._poked: asyncio.Future[None] | None = None

    def take(self, episodes: list[int]) -> None:
        """Take a batch, on which `begin` begins the update."""
        self.free = False
        self._lane.emit(ev.Update(self._lane.now, self._update, episodes))

    def begin(self) -> None:
        """Begin the update on the batch that was taken."""
        self._sleep(self._next_update_seconds())

    async def run(self) -> None:
        """Sleep through each update that `begin` sets going, then push and publish; for ever."""
        while True:
            await self._alarm.rings()
            publishes = (self._update + 1) % self._publish_every == 0
            pushes = publishes and self._push_seconds > 0
            self._lane.emit(ev.Updated(self._lane.now, self._update, pushes))
            self._update += 1
            while self.stalled or not self._lane.strategy.may_publish():
                await self._wait_for_poke()
            if pushes:
                await self._push()
            if publishes:
                self._lane.publish()
            self.free = True
            self._lane.update_is_over()

    async def _push(self) -> None:
        freezes = self._lane.strategy.freezes_for_push
        self._lane.emit(ev.Push(self._lane.now, freezes))
        self._sleep(self._push_seconds)
        if freezes:
            self._lane.freeze(self._push_seconds, self._due)
        self._pushing = True
        await self._alarm.rings()
        self._pushing = False

    def _sleep(self, seconds: float) -> None:
        self._due = self._lane.now + seconds
        self._alarm.set(self._due)

    async def _wait_for_poke(self) -> None:
        self._poked = self._lane.timers.loop.create_future()
        await self._poked
        self._poked = None

    def poke(self) -> None:
        """Something that it may be waiting for has happened."""
        if self._poked is not None and not self._poked.done():
            self._poked.set_result(None)

    def stall(self, seconds: float) -> None:
        """Stand still for `seconds`, after any stall that is going on."""
        now = self._lane.now
        if not self.stalled:
            self._lane.emit(ev.Stall(now))
        self.stalled = True
        self._stalled_until = max(now, self._stalled_until) + seconds
        self._lane.timers.call_at(self._stalled_until, self._unstall)
        if self._alarm.is_set:
            self._due += seconds
            self._alarm.set(self._due)
            if self._pushing and self._lane.frozen:
                self._lane.freeze(seconds, self._due)

    def _unstall(self) -> None:
        if self._lane.now < self._stalled_until:
            return
        self.stalled = False
        self._lane.emit(ev.Unstall(self._lane.now))
        self.poke()
        self._lane.request_look()
