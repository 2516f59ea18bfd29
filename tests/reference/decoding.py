"""Every single decode step of every engine, one by one: what the fluid is held against.

Tokens are whole. Between two steps an engine lets in who waits, prefills what is new, puts out the last
admitted while one more token of each would not fit, and then makes one step, at whose end each that runs has
one token more. Who comes during a step waits for its end: half a step on average, which the fluid leaves out.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from .turns import Outcome, Plan, Setup


@dataclass(eq=False)
class Sequence:
    """An episode at its engine: tokens left of its turn, tokens of context, those that are not cached."""

    k: int
    worker: int
    plan: Plan
    turn: int = 0
    left: int = 0
    context: int = 0
    fresh: int = 0


class StepEngine:
    """One engine that makes its steps one by one."""

    def __init__(self, loop: StepLoop, speed: float) -> None:
        self.loop = loop
        self.speed = speed
        self.runs: list[Sequence] = []  # in order of admission
        self.waits: deque[Sequence] = deque()
        self.busy = False
        self.held = 0  # tokens of context of what runs
        self.generated = self.prefilled = self.preempted = 0

    def step_ms(self) -> float:
        """The table by its own reading: the straight line through the two points around B."""
        shape, b = self.loop.setup.shape, len(self.runs)
        points = shape.step_ms
        right = next((i for i, point in enumerate(points) if point[0] >= b), len(points) - 1)
        if right == 0:
            step = points[0][1]
        else:
            (b0, s0), (b1, s1) = points[right - 1], points[right]
            share = (b - b0) / (b1 - b0)
            step = (1 - share) * s0 + share * s1
        return (step + shape.context_ms * self.held / 1000) / self.speed

    def wake(self) -> None:
        if not self.busy:
            self.busy = True
            self.loop.after(0.0, self.begin_step)

    def begin_step(self) -> None:
        shape = self.loop.setup.shape
        fresh = 0
        while self.waits and (
            not self.runs
            or (
                len(self.runs) < shape.slots
                and self.held + self.waits[0].context + len(self.runs) + 1 <= shape.kv_tokens
            )
        ):
            sequence = self.waits.popleft()
            self.runs.append(sequence)
            self.held += sequence.context
            fresh += sequence.fresh
        while self.runs and self.held + len(self.runs) > shape.kv_tokens:
            sequence = self.runs.pop()
            self.held -= sequence.context
            sequence.fresh = sequence.context
            self.waits.appendleft(sequence)
            self.preempted += 1
        if not self.runs:
            self.busy = False
            return
        self.prefilled += fresh
        self.loop.after((shape.prefill_ms * fresh / 1000 / self.speed + self.step_ms()) / 1000, self.end_step)

    def end_step(self) -> None:
        self.generated += len(self.runs)
        for sequence in self.runs:
            sequence.left -= 1
            sequence.context += 1
        self.held += len(self.runs)
        over = [sequence for sequence in self.runs if sequence.left == 0]
        if over:
            self.runs = [sequence for sequence in self.runs if sequence.left]
        for sequence in over:
            self.held -= sequence.context
            self.loop.turn_over(self, sequence)
        self.loop.after(0.0, self.begin_step)


class StepLoop:
    """The closed loop, step by step."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.now = 0.0
        self.timers: list[tuple[float, int, Callable[[], None]]] = []
        self.numbers = count()
        self.engines = [StepEngine(self, speed) for speed in setup.speeds]
        self.outcome = Outcome(done=[0.0] * len(setup.plans))
        for worker in range(setup.workers):
            self.next_for(worker)

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self.timers, (self.now + seconds, next(self.numbers), action))

    def next_for(self, worker: int) -> None:
        k = len(self.outcome.begun)
        if k == len(self.setup.plans):
            return
        self.outcome.begun.append(self.now)
        group = k // self.setup.group_size
        engines = self.engines
        engine = {
            "least_loaded": min(engines, key=lambda e: len(e.runs) + len(e.waits)),
            "round_robin": engines[k % len(engines)],
            "by_worker": engines[worker % len(engines)],
            "by_group": engines[group % len(engines)],
        }[self.setup.routing]
        plan = self.setup.plans[k]
        self.ask(engine, Sequence(k, worker, plan), plan.prompt)

    def ask(self, engine: StepEngine, sequence: Sequence, new: int) -> None:
        sequence.left = int(sequence.plan.turns[sequence.turn].tokens)
        sequence.context += new
        sequence.fresh = new if self.setup.shape.keep_cache else sequence.context
        engine.waits.append(sequence)
        engine.wake()

    def turn_over(self, engine: StepEngine, sequence: Sequence) -> None:
        turn = sequence.plan.turns[sequence.turn]
        sequence.turn += 1
        if sequence.turn == len(sequence.plan.turns):
            self.outcome.done[sequence.k] = self.now
            self.next_for(sequence.worker)
        else:
            self.outcome.acting += turn.tool_seconds
            self.after(turn.tool_seconds, lambda: self.ask(engine, sequence, turn.tool_tokens))

    def run(self) -> Outcome:
        while self.timers:
            self.now, _, action = heapq.heappop(self.timers)
            action()
        outcome = self.outcome
        outcome.seconds = self.now
        outcome.tokens = sum(engine.generated for engine in self.engines)
        outcome.prefilled = sum(engine.prefilled for engine in self.engines)
        outcome.preempted = sum(engine.preempted for engine in self.engines)
        return outcome
