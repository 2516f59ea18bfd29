"""Workers that alternate between generating and tools, over engines, with nothing to train.

A closed loop: each worker takes the next plan as soon as its last one is done, until all plans are done. The
same loop twice, so that one can be held against the other: here by the fluid, in `decoding` step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import fsum

from .engine import Clock, Engine, Request, Shape
from .engines import Engines
from .heap import Agenda


@dataclass(frozen=True)
class Turn:
    """One request, and the tool after it (of the last turn of a plan, nothing of the tool is used)."""

    tokens: float
    tool_seconds: float = 0.0
    tool_tokens: int = 0


@dataclass(frozen=True)
class Plan:
    """All that an episode will do."""

    prompt: int
    turns: tuple[Turn, ...]

    def generated(self) -> float:
        return sum(turn.tokens for turn in self.turns)


@dataclass(frozen=True)
class Setup:
    """What both calculations are given."""

    shape: Shape
    speeds: tuple[float, ...]
    workers: int
    plans: tuple[Plan, ...]
    routing: str = "least_loaded"
    group_size: int = 1


@dataclass
class Outcome:
    """Times of each plan, by number; the rest over all engines."""

    begun: list[float] = field(default_factory=list)
    done: list[float] = field(default_factory=list)
    tokens: float = 0.0
    prefilled: float = 0.0
    preempted: int = 0
    acting: float = 0.0
    seconds: float = 0.0

    def mean(self) -> float:
        return fsum(b - a for a, b in zip(self.begun, self.done, strict=True)) / len(self.done)


class Trip:
    """One plan in the hands of a worker."""

    def __init__(self, loop: FluidLoop, worker: int, k: int) -> None:
        self.loop = loop
        self.worker = worker
        self.k = k
        self.plan = loop.setup.plans[k]
        self.turn = 0
        self.engine = loop.engines.choose(worker, k // loop.setup.group_size)
        self.request = Request(0.0, 0.0, 0.0, self.turn_over)
        self.ask(self.plan.prompt)

    def ask(self, new: int) -> None:
        """Make the request of this turn, with so many tokens that were not there before."""
        request = self.request
        request.tokens = self.plan.turns[self.turn].tokens
        request.context += new
        request.fresh = new if self.turn and self.engine.shape.keep_cache else request.context
        self.engine.join(request)

    def turn_over(self) -> None:
        loop, turn = self.loop, self.plan.turns[self.turn]
        self.turn += 1
        if self.turn == len(self.plan.turns):
            loop.outcome.done[self.k] = loop.now
            loop.next_for(self.worker)
            return
        loop.outcome.acting += turn.tool_seconds
        if turn.tool_seconds:
            loop.agenda.set(loop.now + turn.tool_seconds, partial(self.ask, turn.tool_tokens))
        else:
            self.ask(turn.tool_tokens)


class FluidLoop:
    """The closed loop by events."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.now = 0.0
        self.agenda = Agenda()
        self.engines = Engines(self, setup.shape, setup.speeds, setup.routing)
        self.outcome = Outcome(done=[0.0] * len(setup.plans))
        for worker in range(setup.workers):
            self.next_for(worker)

    def next_for(self, worker: int) -> None:
        k = len(self.outcome.begun)
        if k < len(self.setup.plans):
            self.outcome.begun.append(self.now)
            Trip(self, worker, k)

    def run(self) -> Outcome:
        run(self)
        outcome = self.outcome
        outcome.seconds = self.now
        outcome.tokens = fsum(tokens for engine in self.engines.all for tokens in engine.generated)
        outcome.prefilled = fsum(engine.prefilled for engine in self.engines.all)
        outcome.preempted = sum(engine.preempted for engine in self.engines.all)
        return outcome


class Arrivals:
    """Requests that come when they come, to one engine."""

    def __init__(self, shape: Shape, arrivals: Sequence[tuple[float, int, int]]) -> None:
        """`arrivals`: when, tokens to prefill, tokens to generate."""
        self.now = 0.0
        self.agenda = Agenda()
        self.engine = Engine(self, shape)
        self.first = [0.0] * len(arrivals)  # when the first token of each was there
        self.last = [0.0] * len(arrivals)
        for i, (when, prompt, tokens) in enumerate(arrivals):
            self.agenda.set(when, partial(self.arrive, i, prompt, tokens))

    def arrive(self, i: int, prompt: int, tokens: int) -> None:
        def done() -> None:
            self.first[i] = request.first
            self.last[i] = self.now

        request = Request(tokens, prompt, prompt, done)
        self.engine.join(request)

    def run(self) -> None:
        run(self)


def run(clock: Clock) -> None:
    """Let everything happen."""
    while (due := clock.agenda.next_due()) is not None:
        clock.now = due
        clock.agenda.pop().action()
