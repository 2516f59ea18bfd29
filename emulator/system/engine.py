"""An inference engine: what it runs, what waits in its line, and one alarm for whatever comes next.

All that runs makes the same steps, so a request ends when the engine has made as many steps since its
admission as it has tokens: only the next end has a due time, and an event costs O(log n) for n that run.
"""

from collections import OrderedDict
from heapq import heappop, heappush
from math import inf
from typing import Protocol

from emulator import events as ev
from emulator.clock import Alarm
from emulator.errors import SequenceTooLargeError
from emulator.fluid import StepTable, ms_of, steps_in
from emulator.scenario.engines import Engine as Shape
from emulator.system.chronicle import Chronicle


class Generated(Protocol):
    """What a request is a part of."""

    generating_since: float

    def stop_generating(self, now: float) -> None:
        """Nothing is generated from `now` on."""


class Asker(Protocol):
    """Who makes a request."""

    number: int

    @property
    def episode(self) -> Generated | None:
        """What it is at."""

    def ask(self) -> None:
        """Ask again, an engine that is up."""

    def turn_over(self) -> None:
        """The last token is there."""


class Request:
    """One turn of an episode, or what is left of it.

    `tokens` are to be generated; `context` is all that it holds when it begins to, and `fresh` the part of it
    that is not in the cache. `order` is the number of its admission while it runs, else 0; it was admitted at
    step `begun` and ends at step `end`.
    """

    __slots__ = ("asker", "begun", "context", "end", "episode", "fresh", "order", "tokens")

    def __init__(self, asker: Asker, episode: Generated, tokens: float, context: float, fresh: float) -> None:
        self.asker = asker
        self.episode = episode
        self.tokens = tokens
        self.context = context
        self.fresh = fresh
        self.order = 0
        self.begun = self.end = 0.0

    def ask_again(self) -> None:
        """Be asked again of an engine that is up, if the episode is still there."""
        if self.asker.episode is self.episode:
            self.asker.ask()


class Engine:
    """One engine. `steps` have been made since it was empty, and `held` is its context, both as of `_at`.

    It decodes nothing before `stopped_until`, admits nothing while it is `frozen` or `down`, and has crashed
    `crashes` times. `left` holds the numbers of the engines that somebody left, so that their lines are to be
    served when what made them leave is over.
    """

    def __init__(
        self,
        number: int,
        shape: Shape,
        step: StepTable,
        *,
        speed: float,
        chronicle: Chronicle,
        left: set[int],
    ) -> None:
        self.number = number
        self.line: OrderedDict[Request, None] = OrderedDict()
        self.running: OrderedDict[Request, None] = OrderedDict()
        """In order of admission."""
        self.frozen = self.down = False
        self.crashes = 0
        self._own_speed = self._speed = speed
        self._slowdowns: tuple[float, ...] = ()
        self._chronicle = chronicle
        self._loop = chronicle.loop
        self._emit = chronicle.emit
        self._left = left
        self._step = step
        self._context_ms = shape.context_ms
        self._prefill_ms = shape.prefill_ms
        self._slots = inf if shape.slots is None else shape.slots
        self._kv_tokens = inf if shape.kv_tokens is None else shape.kv_tokens
        self.load = 0
        """Requests that run or wait."""
        self._alarm = Alarm(chronicle.timers)
        self._heap: list[tuple[float, int, Request]] = []
        self._admissions = 0
        self._steps = self._held = 0.0
        self._at = self._stopped_until = 0.0
        self._target = self._next_end = inf
        self._x = self._y = 0.0

    async def run(self) -> None:
        """Sleep until a request ends or the cache is full; for ever."""
        while True:
            await self._alarm
            self._ring()

    def start(self) -> None:
        """Say that it is there."""
        self._tell("start")

    # -- requests -----------------------------------------------------------------------------------

    def join(self, request: Request) -> None:
        """Stand in line with a request, and be admitted at once if there is room."""
        self.load += 1
        self.line[request] = None
        self.serve()
        if not request.order:
            self._emit(ev.Enqueue(self._loop.now, request.asker.number, self.number))

    def serve(self) -> None:
        """Admit who waits, from the head of the line, as long as there is room."""
        if self._left:
            self._left.discard(self.number)
        line = self.line
        while line:
            if self.frozen or self.down:
                return
            running = len(self.running)
            if running and running >= self._slots:
                return
            request = next(iter(line))
            steps = self._steps_now()
            held = self._held + running * (steps - self._steps)
            if running and held + request.context > self._kv_tokens:
                return
            del line[request]
            self._admit(request, steps, held)

    def _admit(self, request: Request, steps: float, held: float) -> None:
        """Run a request; by now the engine has made so many steps, and holds so much without it."""
        now, tokens, context = self._loop.now, request.tokens, request.context
        self._at, self._steps = now, steps
        self._held = held = held + context
        self._admissions = order = self._admissions + 1
        self.running[request] = None
        request.order = order
        request.begun = steps
        request.end = end = steps + tokens
        heappush(self._heap, (end, order, request))
        prefill = self._prefill_ms * request.fresh / 1000 / self._speed / 1000
        until = self._stopped_until
        self._stopped_until = (until if until > now else now) + prefill
        request.episode.generating_since = now
        self._emit(ev.Admit(now, request.asker.number, self.number, tokens, context, prefill, steps, held))
        self._set_alarm()

    def take_out(self, request: Request, *, cached: bool) -> None:
        """Take a request out with what is left of it; its place is given to nobody before `serve`."""
        if request.order:
            self._left.add(self.number)
            self._bring()
            tokens = self._steps - request.begun
            request.tokens = request.end - self._steps
            self._release(request, tokens)
            request.fresh = 0.0 if cached else request.context
        elif request in self.line:
            self._left.add(self.number)
            self.load -= 1
            del self.line[request]

    def lengthen(self, request: Request, factor: float) -> None:
        """Multiply what is still to be generated."""
        if not request.order:
            request.tokens *= factor
            return
        self._bring()
        left = (request.end - self._steps) * factor
        request.tokens = self._steps - request.begun + left
        request.end = self._steps + left
        heappush(self._heap, (request.end, request.order, request))
        self._set_alarm()
        number = request.asker.number
        self._emit(ev.Lengthen(self._loop.now, number, self.number, left, self._steps, self._held))

    def _release(self, request: Request, tokens: float) -> None:
        """Slot and context of a request that has generated so many tokens are free; the alarm is set anew."""
        now = self._loop.now
        self._emit(ev.Release(now, request.asker.number, self.number, tokens, self._steps, self._held))
        request.context += tokens
        request.order = 0
        self.load -= 1
        del self.running[request]
        self._held -= request.context
        request.episode.stop_generating(now)
        self._set_alarm()

    def _ring(self) -> None:
        self._bring_to(self._target)
        heap = self._heap
        if self._next_end > self._steps:
            self._preempt()
        # All that end now, each with all that follows from it, and nothing else between.
        while self._next_end <= self._steps:
            request = heap[0][2]
            tokens, request.tokens = request.tokens, 0.0
            self._release(request, tokens)
            request.asker.turn_over()
            if self.line:
                self.serve()
            elif self._left:
                self._left.discard(self.number)

    def _preempt(self) -> None:
        """The cache is full: the last admitted goes to the head of the line."""
        if len(self.running) == 1:
            raise SequenceTooLargeError(self._loop.now, self.number, self._held, self._kv_tokens)
        last = next(reversed(self.running))
        before = self.number in self._left
        self.take_out(last, cached=False)
        if not before:
            self._left.discard(self.number)
        self.load += 1
        self.line[last] = None
        self.line.move_to_end(last, last=False)
        self._emit(ev.Preempt(self._loop.now, last.asker.number, self.number))

    # -- the virtual clock --------------------------------------------------------------------------

    def _steps_now(self) -> float:
        """Steps made until now, without anything being changed; never beyond what the alarm is set for."""
        since, until = self._at, self._stopped_until
        ms = (self._loop.now - (until if until > since else since)) * 1000
        if ms <= 0 or not self.running:
            return self._steps
        steps = self._steps + steps_in(ms, self._x, self._y)
        return steps if steps < self._target else self._target

    def _bring(self) -> None:
        self._bring_to(self._steps_now())

    def _bring_to(self, steps: float) -> None:
        self._held += len(self.running) * (steps - self._steps)
        self._steps = steps
        self._at = self._loop.now

    def _set_alarm(self) -> None:
        """Set the alarm to the next end, or to the moment at which the cache is full."""
        running = len(self.running)
        if not running:
            self._steps = self._held = 0.0
            self._target = self._next_end = inf
            self._heap.clear()
            self._alarm.clear()
            return
        speed, steps = self._speed, self._steps
        self._x = x = (self._step(running) + self._context_ms * self._held / 1000) / speed
        self._y = y = self._context_ms * running / 2000 / speed
        heap = self._heap
        target, order, request = heap[0]
        while request.order != order or request.end != target:  # it has left, or its end is another
            heappop(heap)
            target, order, request = heap[0]
        self._next_end = target
        if self._kv_tokens != inf:
            target = min(target, max(steps, steps + (self._kv_tokens - self._held) / running))
        self._target = target
        begin, until = self._loop.now, self._stopped_until
        self._alarm.set((until if until > begin else begin) + ms_of(target - steps, x, y) / 1000)

    # -- what happens to the whole of it ------------------------------------------------------------

    def halt(self, seconds: float, cause: str) -> None:
        """Stop decoding for so long, after what stops it already."""
        self._bring()
        self._stopped_until = max(self._loop.now, self._stopped_until) + seconds
        self._set_alarm()
        self._tell(cause)

    def prefill_again(self) -> None:
        """Prefill all that it holds."""
        seconds = self._prefill_ms * self._held / 1000 / self._speed / 1000
        self._bring()
        self._stopped_until = max(self._loop.now, self._stopped_until) + seconds
        self._set_alarm()
        self._tell("prefill", prefill=seconds)

    def slow_down(self, factor: float) -> None:
        """Take `factor` times as long for everything, until `speed_up` with the same factor."""
        self._slowdowns += (factor,)
        self._set_speed()

    def speed_up(self, factor: float) -> None:
        """End a slow-down."""
        ended = self._slowdowns.index(factor)
        self._slowdowns = self._slowdowns[:ended] + self._slowdowns[ended + 1 :]
        self._set_speed()

    def _set_speed(self) -> None:
        self._bring()
        speed = self._own_speed
        for factor in self._slowdowns:
            speed /= factor
        self._speed = self._chronicle.in_range(speed, f"the speed of engine {self.number}")
        self._set_alarm()
        self._tell("slow")

    def crash(self) -> list[Request]:
        """Go down; returns what ran, in order of admission. Its line is left to choose again."""
        self._bring()
        self.down = True
        self.crashes += 1
        lost = list(self.running)
        for request in lost:
            self.take_out(request, cached=False)
        self._stopped_until = self._loop.now
        self._tell("crash")
        return lost

    def restart(self) -> None:
        """Be there again, and admit who waits."""
        self.down = False
        self._tell("restart")
        self.serve()

    def _tell(self, cause: str, prefill: float = 0.0) -> None:
        self._emit(
            ev.EngineChange(
                self._loop.now,
                self.number,
                cause,
                self._speed,
                self._stopped_until,
                prefill,
                self._steps,
                self._held,
            )
        )
