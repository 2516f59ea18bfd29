"""The trainer: an asyncio task that updates on a batch, pushes the weights and has them published."""

import asyncio
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from emulator import events as ev
from emulator.clock import Alarm, Phase

if TYPE_CHECKING:
    from emulator.system.lane import Lane


class Trainer:
    """The trainer of one lane.

    `free` says that it looks for a batch; `stalled` that it stands still, whatever else it does.
    """

    def __init__(self, lane: "Lane", next_update_seconds: Callable[[], float]) -> None:
        self.free = True
        self.stalled = False
        self._lane = lane
        self._next_update_seconds = next_update_seconds
        self._push_seconds = lane.scenario.trainer.weight_sync_seconds
        self._publish_every = lane.scenario.trainer.publish_every
        self._look_requested = False
        self._update = 0
        self._due = 0.0
        self._alarm = Alarm(lane.timers)
        self._stalled_until = 0.0
        self._pushing = False
        self._poked: asyncio.Future[None] | None = None

    def request_look(self) -> None:
        """Look for a batch when this instant has settled, unless busy."""
        if self._look_requested or not self.free:
            return
        strategy = self._lane.strategy
        if strategy.judges_queue or len(self._lane.queue.complete) >= strategy.batch_groups:
            self._look_requested = True
            self._lane.loop.call_when_settled(Phase.TRAINER, self._look)

    def _look(self) -> None:
        """Discard what is stale, then take a batch if there is one."""
        self._look_requested = False
        if not self.free or self.stalled:
            return
        lane, complete = self._lane, self._lane.queue.complete
        while stale := lane.strategy.stale(complete.values(), lane.book.accounts):
            freed = [worker for number in stale for worker in lane.book.drop(complete[number], "stale")]
            lane.workforce.redistribute(freed)
        if len(complete) >= lane.strategy.batch_groups:
            self._begin()

    def _begin(self) -> None:
        """Take a batch out of the queue and begin the update on it."""
        lane = self._lane
        self.free = False
        if lane.learning is not None:
            lane.learning.take(islice(lane.queue.complete.values(), lane.strategy.batch_groups))
        episodes = lane.queue.take_batch(lane.strategy.batch_groups)
        lane.book.accounts.trained += len(episodes)
        lane.emit(ev.Update(lane.now, self._update, episodes))
        lane.workforce.hand_over_held()
        self._sleep(self._next_update_seconds())
        if lane.strategy.generates_while_training:
            self._open_round()

    def _open_round(self) -> None:
        self._lane.book.open_round()
        self._lane.workforce.serve_waiting()

    async def run(self) -> None:
        """Sleep through each update that a look sets going, then push and publish; for ever."""
        while True:
            await self._alarm
            publishes = (self._update + 1) % self._publish_every == 0
            pushes = publishes and self._push_seconds > 0
            self._lane.emit(ev.Updated(self._lane.now, self._update, pushes))
            if self._lane.learning is not None:
                self._lane.learning.update(self._update)
            self._update += 1
            while self.stalled or not self._lane.strategy.may_publish():
                await self._wait_for_poke()
            if pushes:
                await self._push()
            if publishes:
                self._lane.policy.publish()
            self.free = True
            if not self._lane.strategy.generates_while_training:
                self._open_round()
            self.request_look()

    async def _push(self) -> None:
        freezes = self._lane.strategy.freezes_for_push
        self._lane.emit(ev.Push(self._lane.now, freezes))
        self._sleep(self._push_seconds)
        if freezes:
            self._lane.policy.freeze(self._push_seconds, self._due)
        self._pushing = True
        await self._alarm
        self._pushing = False

    def _sleep(self, seconds: float) -> None:
        self._due = self._lane.now + seconds
        self._alarm.set(self._due)

    async def _wait_for_poke(self) -> None:
        self._alarm.rest()
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
            if self._pushing and self._lane.workforce.frozen:
                self._lane.policy.freeze(seconds, self._due)

    def _unstall(self) -> None:
        if self._lane.now < self._stalled_until:
            return
        self.stalled = False
        self._lane.emit(ev.Unstall(self._lane.now))
        self.poke()
        self.request_look()
