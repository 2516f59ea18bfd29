"""An inference engine as a fluid, by events: the independent calculation of what shares a GPU.

Everything below is written out because the product has to agree with `==`. All times are seconds, all steps
and rates milliseconds, as in a scenario; a conversion is one `/ 1000` or `* 1000`, last. Operations run from
left to right, as Python reads them, on doubles.

Rates
- `step(B)`: the value of the first point up to it; `s + (B - b) * (s' - s) / (b' - b)` from the last point
  (b, s) that is not above B to the next one; above the last point (b', s') with its own slope, from itself:
  `s' + (B - b') * (s' - s) / (b' - b)`. One point, or a bare number, is constant.
- `x = (step(B) + context_ms * K / 1000) / speed` and `y = context_ms * B / 2000 / speed`.
- `speed` is the engine's own, divided by the factor of each slow-down in force, one after the other, in the
  order in which they began (the end of one makes it anew from the own speed).
- Bringing V to now: `ms = (now - max(at, stopped_until)) * 1000`, where `at` is when it was brought last; if
  `ms <= 0` only `at` changes. Else `made = 2 * ms / (x + sqrt(x * x + 4 * y * ms))`, the new V is
  `min(V + made, target)`, `K += B * (new V - V)`. V never passes the alarm's target, else rounding could put
  an end into the past.
- The alarm: `target` is the least end on the heap. With `kv_tokens`, it is `max(V, V + (kv_tokens - K) / B)`
  where that is less: an end and a full cache at one V are an end. With `d = target - V` it is due at
  `max(now, stopped_until) + (x * d + y * d * d) / 1000`. When it rings, `K += B * (target - V)` and V is
  the target, whatever `now` would give.
- Looking changes nothing: V and K are brought to now only when something is changed. The K that an admission
  asks for is calculated aside, in the same way.

Requests
- `tokens` are still to be generated, `context` is all that it holds when it begins to generate (what is
  cached, and what is not), `fresh` is the part to prefill: all of it after a preemption, a crash, or without
  `keep_cache`; else what is new. K counts what runs only: a cache that is kept meanwhile takes no room.
- Every request joins the end of a line, then the line is served: from its head, as long as the head is
  admitted. It is served when a request joined, after a request ended (after all that its end brought
  about), after an event that took requests out (see `engines`), at the end of a pause and of a restart. At
  no other time, and not after a preemption: what was preempted would fit at that very instant.
- Admission: V to now; `end = V + tokens`; `B += 1`; `K += context`;
  `stopped_until = max(now, stopped_until) + prefill_ms * fresh / 1000 / speed / 1000`; the alarm anew.
  Several at one instant prefill one after the other, each stopping all.
- An end: `context += tokens`, `B -= 1`, `K -= context`. With B = 0, V = K = 0 at once, before anything
  follows from it; `stopped_until` stays. The alarm is set anew, then the end has its consequences, then the
  line is served, then the next with `end <= V` ends: all in one ring of the alarm, so that nothing else which
  is due at that instant comes between them, and a prefill that began with the first does not hold the rest.
- Taken out early (abort, pause, preemption): V to now, `context += V - V at admission`, `tokens = end - V`,
  then as an end. Nothing gives back a prefill: `stopped_until` never moves back, except by a crash.
- Full: the last admitted of those that run goes to the head of the line, one in each ring. With B = 1 it
  alone does not fit: `TooLarge`. A context above `kv_tokens`, admitted by B = 0, is found so at once.
- Longer (a straggler): what is left is multiplied, never rounded: `left = (end - V) * factor`,
  `tokens = V - V at admission + left`, `end = V + left`.
- Every change sets the alarm anew at once, so several at one instant set it several times. The last counts,
  also for the order of timers of one instant. A request that joins a line and waits changes nothing.

A slow-down or a changed speed does not move a prefill that has begun; it counts from the next admission.
What concerns several engines, and the episodes that use them, is in `engines`.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, sqrt
from typing import Protocol

from .heap import Agenda, Timer


class TooLarge(Exception):  # noqa: N818 - what it says of the sequence
    """One sequence alone has more context than its engine can hold."""


class Clock(Protocol):
    """What an engine needs of the run that it is part of."""

    now: float
    agenda: Agenda


@dataclass(frozen=True)
class Shape:
    """What a scenario says of its engines. `step_ms`: points (running sequences, ms), by sequences."""

    step_ms: tuple[tuple[float, float], ...]
    context_ms: float = 0.0
    prefill_ms: float = 0.0
    slots: float = inf
    kv_tokens: float = inf
    keep_cache: bool = True

    @classmethod
    def of(
        cls,
        step_ms: float | Mapping[int, float],
        *,
        context_ms: float = 0.0,
        prefill_ms: float = 0.0,
        slots: float = inf,
        kv_tokens: float = inf,
        keep_cache: bool = True,
    ) -> Shape:
        points = step_ms.items() if isinstance(step_ms, Mapping) else [(1, step_ms)]
        return cls(tuple(sorted(points)), context_ms, prefill_ms, slots, kv_tokens, keep_cache)

    def step(self, running: int) -> float:
        """Milliseconds of one decode step, without what the context adds."""
        points = self.step_ms
        below = [point for point in points if point[0] <= running]
        if not below or len(points) == 1:
            return points[0][1]
        here = below[-1]
        left, right = points[len(below) - 1 : len(below) + 1] if len(below) < len(points) else points[-2:]
        return here[1] + (running - here[0]) * (right[1] - left[1]) / (right[0] - left[0])


class Request:
    """One turn. `done` is called when its last token is there."""

    __slots__ = ("begun", "context", "done", "end", "entry", "first", "fresh", "state", "tokens")

    def __init__(self, tokens: float, context: float, fresh: float, done: Callable[[], None]) -> None:
        self.tokens = tokens
        self.context = context
        self.fresh = fresh
        self.done = done
        self.state = "out"  # waiting, running
        self.begun = self.end = 0.0  # V at admission, V at which it ends
        self.first = 0.0  # when its first token is there, if nothing comes between
        self.entry: tuple[float, int, Request] | None = None  # on the engine's heap

    def become(self, state: str) -> None:
        """Where it is from now on; one hook for accounts."""
        self.state = state


@dataclass(frozen=True)
class Piece:
    """A time in which nothing changed: B sequences ran, a step took x ms at first, y more with each."""

    begin: float
    end: float
    running: int
    x: float
    y: float


class Engine:
    """One engine: a virtual clock, what runs, what waits, and one alarm."""

    def __init__(self, clock: Clock, shape: Shape, speed: float = 1.0) -> None:
        self.clock = clock
        self.shape = shape
        self.own_speed = self.speed = speed
        self.slow: list[tuple[object, float]] = []
        self.steps = 0.0  # V
        self.at = 0.0  # when it was so
        self.running = 0  # B
        self.context = 0.0  # K
        self.stopped_until = 0.0
        self.frozen = self.down = False
        self.left = False  # somebody left it, and its line was not served since
        self.crashes = 0
        self.heap: list[tuple[float, int, Request]] = []
        self.line: deque[Request] = deque()
        self.alarm: Timer | None = None
        self.target = inf
        self.x = self.y = 0.0
        self.admitted = self.preempted = self.most = 0
        self.peak = 0.0
        self.generated: list[float] = []  # tokens, by stay
        self.prefilled = 0.0  # tokens
        self.prefills: list[float] = []  # seconds
        self.stays: list[float] = []  # of sequences: -begin, end
        self.busy: list[float] = []  # of anything that runs: -begin, end
        self.history: list[Piece] = []

    # The virtual clock

    def steps_at(self, now: float) -> float:
        """V as it is now."""
        ms = (now - max(self.at, self.stopped_until)) * 1000
        if ms <= 0 or not self.running:
            return self.steps
        made = 2 * ms / (self.x + sqrt(self.x * self.x + 4 * self.y * ms))
        return min(self.steps + made, self.target)

    def bring(self, steps: float | None = None) -> None:
        """Bring V and K to now, or to what the alarm rang for."""
        now = self.clock.now
        if steps is None:
            steps = self.steps_at(now)
        begin = max(self.at, self.stopped_until)
        if self.running and now > begin:
            self.history.append(Piece(begin, now, self.running, self.x, self.y))
        self.context += self.running * (steps - self.steps)
        self.peak = max(self.peak, self.context)
        self.steps = steps
        self.at = now

    def arm(self) -> None:
        """Set the alarm anew."""
        self.clock.agenda.cancel(self.alarm)
        self.alarm = None
        if not self.running:
            self.steps = self.context = 0.0
            self.target = inf
            return
        shape = self.shape
        self.x = (shape.step(self.running) + shape.context_ms * self.context / 1000) / self.speed
        self.y = shape.context_ms * self.running / 2000 / self.speed
        self.target = self.head().end
        full = max(self.steps, self.steps + (shape.kv_tokens - self.context) / self.running)
        self.target = min(self.target, full)
        ahead = self.target - self.steps
        due = max(self.clock.now, self.stopped_until) + (self.x * ahead + self.y * ahead * ahead) / 1000
        self.alarm = self.clock.agenda.set(due, self.ring)

    def head(self) -> Request:
        """Who ends next."""
        while self.heap[0] is not self.heap[0][2].entry:
            heapq.heappop(self.heap)
        return self.heap[0][2]

    def ring(self) -> None:
        """A request ends, or the cache is full."""
        self.bring(self.target)
        if self.head().end > self.steps:
            self.preempt()
        while self.running and self.head().end <= self.steps:
            request = self.head()
            self.generated.append(request.tokens)
            request.context += request.tokens
            request.tokens = 0.0
            self.release(request)
            request.done()
            self.serve()

    # Requests

    def load(self) -> int:
        return self.running + len(self.line)

    def join(self, request: Request) -> None:
        request.become("waiting")
        self.line.append(request)
        self.serve()

    def serve(self) -> None:
        self.left = False
        while self.line and self.admits(self.line[0]):
            self.admit(self.line.popleft())

    def admits(self, request: Request) -> bool:
        if self.frozen or self.down:
            return False
        grown = self.running * (self.steps_at(self.clock.now) - self.steps)
        fits = self.context + grown + request.context <= self.shape.kv_tokens
        return self.running == 0 or (self.running < self.shape.slots and fits)

    def admit(self, request: Request) -> None:
        self.bring()
        self.admitted += 1
        request.become("running")
        request.begun = self.steps
        self.stays.append(-self.clock.now)
        if not self.running:
            self.busy.append(-self.clock.now)
        self.running += 1
        self.most = max(self.most, self.running)
        self.context += request.context
        self.peak = max(self.peak, self.context)
        self.enter(request, self.admitted, self.steps + request.tokens)
        self.stop(self.prefill(request.fresh))
        self.arm()
        request.first = self.stopped_until + self.x / 1000

    def enter(self, request: Request, order: int, end: float) -> None:
        request.end = end
        request.entry = (end, order, request)
        heapq.heappush(self.heap, request.entry)

    def prefill(self, tokens: float) -> float:
        """Prefill so many: the seconds that it takes."""
        seconds = self.shape.prefill_ms * tokens / 1000 / self.speed / 1000
        self.prefilled += tokens
        self.prefills.append(seconds)
        return seconds

    def stop(self, seconds: float) -> None:
        self.stopped_until = max(self.clock.now, self.stopped_until) + seconds

    def release(self, request: Request) -> None:
        """Its slot and its context are free."""
        request.become("out")
        request.entry = None
        self.running -= 1
        self.stays.append(self.clock.now)
        if not self.running:
            self.busy.append(self.clock.now)
        self.context -= request.context
        self.arm()

    def take_out(self, request: Request, *, cached: bool) -> None:
        """Take it out with what is left of it, from the line or from what runs; the line is not served."""
        if request.state == "waiting":
            self.left = True
            request.become("out")
            self.line.remove(request)
        elif request.state == "running":
            self.left = True
            self.bring()
            generated = self.steps - request.begun
            self.generated.append(generated)
            request.context += generated
            request.tokens = request.end - self.steps
            request.fresh = 0.0 if cached else request.context
            self.release(request)

    def preempt(self) -> None:
        if self.running == 1:
            raise TooLarge(f"{self.context} tokens of one sequence in {self.shape.kv_tokens}")
        last = max((entry for entry in self.heap if entry is entry[2].entry), key=lambda entry: entry[1])[2]
        self.preempted += 1
        left = self.left
        self.take_out(last, cached=False)
        self.left = left
        last.become("waiting")
        self.line.appendleft(last)

    def lengthen(self, request: Request, factor: float) -> None:
        """Multiply what is still to be generated."""
        if request.entry is None:
            request.tokens *= factor
            return
        self.bring()
        left = (request.end - self.steps) * factor
        request.tokens = self.steps - request.begun + left
        self.enter(request, request.entry[1], self.steps + left)
        self.arm()

    # What happens to the whole of it

    def halt(self, seconds: float) -> None:
        """Stop decoding for so long, after what stops it already."""
        self.bring()
        self.stop(seconds)
        self.arm()

    def set_slow(self, slow: list[tuple[object, float]]) -> None:
        self.bring()
        self.slow = slow
        self.speed = self.own_speed
        for _, factor in slow:
            self.speed /= factor
        self.arm()

    def crash(self) -> list[Request]:
        """Go down; what ran, in order of admission. The line is left to choose again."""
        self.bring()
        self.down = True
        self.crashes += 1
        entries = [entry for entry in self.heap if entry is entry[2].entry]
        lost = [entry[2] for entry in sorted(entries, key=lambda entry: entry[1])]
        for request in lost:
            self.take_out(request, cached=False)
        self.heap.clear()
        self.stopped_until = self.clock.now
        return lost

    def token_parts(self) -> list[float]:
        """Tokens generated until now, by what left and by what runs."""
        steps = self.steps_at(self.clock.now)
        return self.generated + [steps - entry[2].begun for entry in self.heap if entry is entry[2].entry]
