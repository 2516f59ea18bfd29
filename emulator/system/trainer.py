"""The trainer: an asyncio task that updates on a batch, pushes the weights and publishes a version."""

from itertools import islice

from emulator import events as ev
from emulator.clock import Alarm
from emulator.strategies.decisions import Decisions
from emulator.system.book import Book
from emulator.system.chronicle import Chronicle
from emulator.system.learning import Learning
from emulator.system.queue import EpisodeQueue, LoneEpisodeQueue
from emulator.system.summons import Summons
from emulator.system.updates import UpdateTimes
from emulator.system.workforce import Workforce


class TrainerTask:
    """The trainer of one lane. `stalled` says that it stands still, whatever else it does."""

    def __init__(
        self,
        *,
        chronicle: Chronicle,
        decisions: Decisions,
        book: Book,
        queue: EpisodeQueue | LoneEpisodeQueue,
        workforce: Workforce,
        summons: Summons,
        learning: Learning | None,
        times: UpdateTimes,
        push_seconds: float,
        publish_every: int,
    ) -> None:
        self.stalled = False
        self._chronicle = chronicle
        self._decisions = decisions
        self._book = book
        self._queue = queue
        self._workforce = workforce
        self._summons = summons
        self._learning = learning
        self._times = times
        self._push_seconds = push_seconds
        self._publish_every = publish_every
        self._update = 0
        self._due = 0.0
        self._alarm = Alarm(chronicle.timers)
        self._stalled_until = 0.0
        self._pushing = False
        summons.answer = self._look

    def _look(self) -> None:
        """Discard what is stale, then take a batch if there is one."""
        self._summons.requested = False
        # What a look discards can bring the next look at the same instant, when there is an update already.
        if self.stalled or not self._summons.awaited:
            return
        complete, workforce = self._queue.complete, self._workforce
        while stale := self._decisions.stale(complete.values(), self._book.accounts):
            freed = [w for n in stale for w in workforce.carry_out(self._book.drop(complete[n], "stale"))]
            workforce.assign(freed)
        if len(complete) >= self._decisions.batch_groups:
            self._begin()

    def _begin(self) -> None:
        """Take a batch out of the queue and begin the update on it."""
        groups = self._decisions.batch_groups
        self._summons.awaited = False
        batch = list(islice(self._queue.complete.values(), groups))
        if self._learning is not None:
            self._learning.take(batch)
        seconds = self._times.next(batch)
        episodes = self._queue.take_batch(groups)
        self._book.train(len(episodes))
        self._chronicle.emit(ev.Update(self._chronicle.now, self._update, episodes))
        self._workforce.hand_over_held()
        self._sleep(seconds)
        if self._decisions.generates_while_training:
            self._workforce.open_round()

    async def run(self) -> None:
        """Sleep through each update that a look sets going, then push and publish; for ever."""
        while True:
            await self._alarm
            publishes = (self._update + 1) % self._publish_every == 0
            pushes = publishes and self._push_seconds > 0
            self._chronicle.emit(ev.Updated(self._chronicle.now, self._update, pushes))
            if self._learning is not None:
                self._learning.update(self._update)
            self._update += 1
            while self.stalled or not self._decisions.may_publish():
                self._alarm.rest()
                await self._summons.poked()
            if pushes:
                await self._push()
            if publishes:
                self._publish()
            self._summons.awaited = True
            if not self._decisions.generates_while_training:
                self._workforce.open_round()
            self._summons.request_look()

    async def _push(self) -> None:
        freezes = self._decisions.freezes_for_push
        self._chronicle.emit(ev.Push(self._chronicle.now, freezes))
        self._sleep(self._push_seconds)
        if freezes:
            self._workforce.freeze(self._push_seconds, self._due)
        self._pushing = True
        await self._alarm
        self._pushing = False

    def _publish(self) -> None:
        version = self._book.publish()
        self._chronicle.emit(ev.Publish(self._chronicle.now, version))
        if self._learning is not None:
            self._learning.publish(version)
        self._workforce.move_to(version)

    def _sleep(self, seconds: float) -> None:
        self._due = self._chronicle.now + seconds
        self._alarm.set(self._due)

    def stall(self, seconds: float) -> None:
        """Stand still for `seconds`, after any stall that is going on."""
        now = self._chronicle.now
        if not self.stalled:
            self._chronicle.emit(ev.Stall(now))
        self.stalled = True
        self._stalled_until = max(now, self._stalled_until) + seconds
        self._chronicle.timers.call_at(self._stalled_until, self._unstall)
        if self._alarm.is_set:
            self._due += seconds
            self._alarm.set(self._due)
            if self._pushing and self._workforce.frozen:
                self._workforce.freeze(seconds, self._due)

    def _unstall(self) -> None:
        if self._chronicle.now < self._stalled_until:
            return
        self.stalled = False
        self._chronicle.emit(ev.Unstall(self._chronicle.now))
        self._summons.poke()
        self._summons.request_look()
