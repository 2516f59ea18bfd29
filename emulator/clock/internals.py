"""The one module that names private parts of asyncio, and what the rest of the package is given of them.

- `SteppingLoop`, the turn of the loop in emulated time: ``_run_once``, ``_ready``, ``_stopping``,
  ``_selector``, ``_process_events``, ``_check_closed``, ``_timer_handle_cancelled``; of handles
  ``_cancelled`` and ``_run``. These have no public counterpart.
- `Alarm`, what a task sleeps on: ``_asyncio_future_blocking``, by which a task knows what it may await.
- `KeyedQueue`, a queue from whose middle items can be removed: ``_init``, ``_get``, ``_queue``, ``_maxsize``,
  ``_getters``, ``_putters`` and ``_wakeup_next``.

`emulator.clock.public` has the last two from public parts alone.
"""

import asyncio
import itertools
import math
import selectors
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextvars import Context
from enum import IntEnum
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Protocol, TypeVar, TypeVarTuple

_TURNS_PER_LOOK = 64  # turns for which it does not even look at the wall clock
_FEW_FORGOTTEN = 128  # entries of no timer any more that may lie in the heap before it is swept

SelectorEvents = list[tuple[selectors.SelectorKey, int]]
Select = Callable[[selectors.BaseSelector, float | None], SelectorEvents]
"""Waits at most so many wall seconds (None: for ever) for the files of a selector."""

_Ts = TypeVarTuple("_Ts")


class Phase(IntEnum):
    """The order in which callbacks run when an instant has settled."""

    TRAINER = 0
    TIMELINE = 1
    CHECK = 2
    END = 3


class Timer(asyncio.TimerHandle):
    """A timer with a callback. `place` is the number of its entry in the heap, 0 when it has none."""

    __slots__ = ("place",)
    place: int

    def ring(self, _: "Timer") -> None:
        """Call back."""
        self._run()


class SteppingLoop(asyncio.SelectorEventLoop):
    """An event loop whose time moves from timer to timer, in their order.

    The heap holds plain tuples, compared in C. Timers that were moved or called off stay in it as entries
    that nobody owns any more, and are swept out when there are many.

    A subclass says when: `advance` moves `now` to the next timer or waits, `look` is called now and then
    while there is always something to run. While `unpaced` is set, timers are stepped to without asking.
    """

    _ready: deque[asyncio.Handle]
    _stopping: bool
    _selector: selectors.BaseSelector
    _process_events: Callable[[SelectorEvents], None]
    _check_closed: Callable[[], None]

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        """The emulated time, as `time` returns it; read-only."""
        self.unpaced = False
        self.timers: list[tuple[float, int, Timer | Alarm]] = []
        self.next_place = itertools.count(1).__next__
        self.itself = itertools.repeat(self).__next__
        self._forgotten = 0
        self._settled: list[tuple[int, int, asyncio.Handle]] = []
        self._order = itertools.count()
        self._turns = 0

    def advance(self) -> bool:
        """Move to the next timer, or wait for it or a real event; returns whether it has moved."""
        raise NotImplementedError

    def look(self) -> None:
        """See whether anything real has happened; there may be too much to do ever to wait."""

    # -- the loop that asyncio and its users see ------------------------------------------------

    def time(self) -> float:
        """The emulated time, in seconds since the loop was made."""
        return self.now

    def call_at(
        self, when: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run `callback(*args)` at the emulated time `when`, after all that was set for it before.

        Raises ValueError if `when` is not a number.
        """
        if when != when:  # noqa: PLR0124  (nan would corrupt the heap without a word)
            raise ValueError("a timer is due at nan; its due time must be a number")
        self._check_closed()
        handle = Timer(when, callback, args, self, context)
        handle.place = self.next_place()
        heappush(self.timers, (when, handle.place, handle))
        return handle

    def call_later(
        self, delay: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run `callback(*args)` after `delay` emulated seconds."""
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_when_settled(
        self, phase: Phase, callback: Callable[[*_Ts], object], *args: *_Ts
    ) -> asyncio.Handle:
        """Run `callback(*args)` when nothing else is ready or due at this instant, by phase."""
        handle = asyncio.Handle(callback, args, self)
        heappush(self._settled, (phase, next(self._order), handle))
        return handle

    def close(self) -> None:
        """Close the loop; timers still set never run."""
        super().close()
        self.timers.clear()
        self._settled.clear()

    # -- the turn ---------------------------------------------------------------------------------

    def _run_once(self) -> None:
        """Run what is ready, due or settled until there is nothing of it at this instant; then move on.

        Where the next instant is due it is but a new value of the time, and no return is made for it.
        """
        ready, timers, settled = self._ready, self.timers, self._settled
        while True:
            if ready:
                self._run_ready()
            if self._stopping:
                return
            self._turns += 1
            if self._turns % _TURNS_PER_LOOK == 0:
                self.look()
            if ready:
                continue
            if timers:
                when, place, timer = timers[0]
                if when <= self.now or (self.unpaced and not settled and when != math.inf):
                    heappop(timers)
                    if timer.place == place:
                        self.now = when if when > self.now else self.now
                        timer.place = 0
                        timer.ring(timer)  # type: ignore[arg-type]  # each its own kind
                    else:
                        self._forgotten -= 1
                    continue
            if settled:
                handle = heappop(settled)[2]
                if not handle._cancelled:
                    handle._run()
            elif not self.advance():
                return

    def _run_ready(self) -> None:
        ready = self._ready
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    # -- for the subclass ---------------------------------------------------------------------------

    @property
    def has_ready(self) -> bool:
        """Whether something is ready to run."""
        return bool(self._ready)

    def make_ready(self, handle: asyncio.Handle) -> None:
        """Run a handle in this turn, unless it was cancelled."""
        if not handle.cancelled():
            self._ready.append(handle)

    def poll(self, select: Select, timeout: float | None) -> None:
        """Wait for the files of the loop, and make ready what they bring about."""
        self._process_events(select(self._selector, timeout))

    def next_timer(self) -> float | None:
        """When the next timer is due; those called off and those that are never due do not count."""
        timers = self.timers
        while timers and timers[0][2].place != timers[0][1]:
            heappop(timers)
            self._forgotten -= 1
        return timers[0][0] if timers and timers[0][0] != math.inf else None

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        if isinstance(handle, Timer) and handle.place:
            handle.place = 0
            self.forget_entry()

    def forget_entry(self) -> None:
        """An entry of the heap has become nobody's."""
        self._forgotten += 1
        if self._forgotten > max(_FEW_FORGOTTEN, len(self.timers) // 2):
            self.timers[:] = [entry for entry in self.timers if entry[2].place == entry[1]]
            heapify(self.timers)
            self._forgotten = 0


class Owner(Protocol):
    """Whose alarms they are: it counts those that are `pending`."""

    pending: int

    @property
    def loop(self) -> SteppingLoop:
        """The loop that they ring on."""

    def count_off(self) -> None:
        """One less is pending."""


class Alarm:
    """What one task sleeps on: ``await alarm`` goes on when it rings, at the emulated time it is set to.

    It can be set, and set anew, by anybody at any time before that, and counts as newly set each time. It
    rings only for a task that awaits it; one task at a time may. It is pending from when it is set until it
    has rung and the task sleeps again, or until it is cleared: a task that sets it anew as soon as it wakes,
    as most do, changes nothing in the count.

    The loop steps the task straight from the heap, without a handle, a future and a second turn (and in the
    context of the loop instead of the task's own).
    """

    __slots__ = (
        "_asyncio_future_blocking",
        "_next_place",
        "_owner",
        "_pending",
        "_timers",
        "get_loop",
        "place",
        "result",
        "ring",
    )

    def __init__(self, owner: Owner) -> None:
        loop = owner.loop
        self._owner = owner
        self._pending = False
        self._timers = loop.timers
        self._next_place = loop.next_place
        self._asyncio_future_blocking = False
        # A task asks these two each time that it goes to sleep and wakes; they are answered in C, and by
        # objects that all alarms share, since at 10,000 workers it is memory that takes the time.
        self.get_loop: Callable[[], SteppingLoop] = loop.itself
        self.result: Callable[[], None] = _NOTHING
        self.place = 0
        self.ring: Callable[[Alarm], object] = _nobody_sleeps

    def set(self, due: float) -> None:
        """Ring at the emulated time `due` and at no other; ValueError if that is not a number."""
        if due != due:  # noqa: PLR0124  (nan would corrupt the heap without a word)
            raise ValueError("an alarm is due at nan; its due time must be a number")
        if not self._pending:
            self._pending = True
            self._owner.pending += 1
        if self.place:
            self._owner.loop.forget_entry()
        self.place = place = self._next_place()
        heappush(self._timers, (due, place, self))

    def clear(self) -> None:
        """Do not ring."""
        if self.place:
            self.place = 0
            self._owner.loop.forget_entry()
        self.rest()

    def rest(self) -> None:
        """Not pending any more, unless it is set: for a task that wakes and then sleeps on something else."""
        if self._pending and not self.place:
            self._pending = False
            self._owner.count_off()

    @property
    def is_set(self) -> bool:
        """Whether it is going to ring."""
        return self.place != 0

    def __await__(self) -> "Generator[Alarm, None, None]":
        if not self.place:
            self.rest()
        self._asyncio_future_blocking = True
        return itertools.repeat(self, 1)  # type: ignore[return-value]  # an iterator is all that is needed

    # What a task asks of what it awaits, besides `get_loop` and `result`.

    def add_done_callback(self, wake: "Callable[[Alarm], object]", *, context: Context | None = None) -> None:
        """Have `wake` step the task that awaits it."""
        self.ring = wake

    def cancel(self, msg: object = None) -> bool:
        """Wake the task because it is cancelled; False if none sleeps."""
        if self.ring is _nobody_sleeps:
            return False
        wake, self.ring = self.ring, _nobody_sleeps
        self.clear()
        self.result = self._raise_cancelled
        self._owner.loop.call_soon(wake, self)
        return True

    def _raise_cancelled(self) -> None:
        self.result = _NOTHING
        raise asyncio.CancelledError


_NOTHING: Callable[[], None] = type(None)


def _nobody_sleeps(alarm: Alarm) -> None:
    """Do nothing: the task that is to sleep on it does not yet, or does no more."""


class Numbered(Protocol):
    """What a `KeyedQueue` holds: each has a number of its own."""

    @property
    def number(self) -> int:
        """By which it is found."""


_Item = TypeVar("_Item", bound=Numbered)


class KeyedQueue(asyncio.Queue[_Item]):
    """An `asyncio.Queue` from whose middle items can be taken by their numbers.

    What a queue counts for `join` is left out: nobody says `task_done` of an item.
    """

    items: Mapping[int, _Item]
    """What is in it by number, in order of coming."""
    _maxsize: int
    _getters: deque[asyncio.Future[None]]
    _putters: deque[asyncio.Future[None]]
    _wakeup_next: Callable[[deque[asyncio.Future[None]]], None]

    def _init(self, maxsize: int) -> None:
        self._queue: dict[int, _Item] = {}
        self.items = self._queue

    def put_nowait(self, item: _Item) -> None:
        """Put an item in; raises QueueFull if there is no room."""
        if self._maxsize and self.full():
            raise asyncio.QueueFull
        self._queue[item.number] = item
        if self._getters:
            self._wakeup_next(self._getters)

    def _get(self) -> _Item:
        return self._queue.pop(next(iter(self._queue)))

    def take(self, numbers: Iterable[int]) -> list[_Item]:
        """Take the items of these numbers."""
        taken = [self._queue.pop(number) for number in numbers]
        self._tell_room(len(taken))
        return taken

    def take_first(self, count: int) -> list[int]:
        """Take the first items; returns their numbers."""
        numbers = list(islice(self._queue, count))
        for number in numbers:
            del self._queue[number]
        self._tell_room(len(numbers))
        return numbers

    def _tell_room(self, places: int) -> None:
        """Wake as many tasks as wait in `put` for the places that have become free."""
        for _ in range(min(places, len(self._putters))):
            self._wakeup_next(self._putters)
