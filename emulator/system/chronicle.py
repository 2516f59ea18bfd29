"""The time of one lane: what is due in it, what is written of it, and what ends it."""

import asyncio

from emulator import events as ev
from emulator.clock import EmulatedLoop, Timers
from emulator.errors import EndlessInstantError, OutOfRangeError
from emulator.journal import Journal
from emulator.values.scalars import LEAST_FACTOR, MOST_FACTOR

EVENTS_PER_INSTANT = 10_000
EVENTS_PER_INSTANT_AND_SIZE = 20
"""An instant with more events than the first plus this many for each worker and batch place never ends.

Few enough that the episodes of such an instant, which all lie in the queue, take little more memory than the
workers do. What an injection causes at its instant is counted by itself, since injections have an end.
"""

NO_TIME = 1e-6
"""Seconds that count as one instant here: durations of almost nothing come to no end either."""


class Chronicle:
    """Time and journal of one lane, for all that happens in it.

    `ended` is done when the lane ends: with an error if it cannot go on. `rows` are the journal's.
    """

    def __init__(self, loop: EmulatedLoop, journal: Journal, timers: Timers, batch_size: int) -> None:
        self.loop = loop
        self.timers = timers
        self.rows = journal.rows
        self.ended: asyncio.Future[None] = loop.create_future()
        self._journal = journal
        self._write = journal.write
        self._most = EVENTS_PER_INSTANT + EVENTS_PER_INSTANT_AND_SIZE * batch_size
        self._instant_until = NO_TIME
        self._allowed = self._most  # events in all, as long as it is the same instant

    @property
    def now(self) -> float:
        """Emulated seconds since the start."""
        return self.loop.now

    def emit(self, event: ev.Event) -> None:
        """Write an event, and see to it that time passes."""
        self._note(event, self._write(event))

    def emit_uncounted(self, event: ev.Event) -> None:
        """Write an event that has no part in the limit of an instant."""
        self._write(event)
        self._allowed += 1

    def watch(self, event: ev.Event) -> None:
        """See to it that time passes where rows are written; `event` is what the last of them says."""
        self._note(event, len(self._journal))
        self._journal.pass_on_if_long()

    def _note(self, event: ev.Event, written: int) -> None:
        """The lane fails if too many events, of which so many are `written`, come at one instant."""
        if event.t > self._instant_until:
            self._instant_until = event.t + NO_TIME
            self._allowed = written + self._most
        elif written > self._allowed:
            self.fail(EndlessInstantError(event.t, self._most, ev.encode(event)))

    def count_anew(self) -> None:
        """Let what has happened at this instant so far have no part in its limit."""
        self._allowed = len(self._journal) + self._most

    def allow_worker(self) -> None:
        """Another worker joins: that much more may happen at an instant."""
        self._most += EVENTS_PER_INSTANT_AND_SIZE
        self._allowed += EVENTS_PER_INSTANT_AND_SIZE

    def in_range(self, value: float, what: str) -> float:
        """A speed or a factor, `what` it is of; the lane fails if it is beyond what can be computed with.

        Every due time is made of a duration, times a factor, over a speed. Durations as drawn are finite: a
        Pareto of the heaviest tail has the longest, some 1e202 s. With the rest in range, so are due times.
        """
        if LEAST_FACTOR <= value <= MOST_FACTOR:
            return value
        self.fail(OutOfRangeError(self.now, what, value, LEAST_FACTOR, MOST_FACTOR))
        return min(max(value, LEAST_FACTOR), MOST_FACTOR)  # for the rest of the instant

    def end(self) -> None:
        """The lane has come to its end."""
        if not self.ended.done():
            self.ended.set_result(None)

    def fail(self, error: BaseException) -> None:
        """The lane cannot go on; nothing more is written."""
        self._journal.close()
        if not self.ended.done():
            self.ended.set_exception(error)

    def close(self) -> None:
        """Write nothing more, and let no timer that is still set do anything."""
        self._journal.close()
        self.timers.ended = True
