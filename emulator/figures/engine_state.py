"""What engines run and hold, as the events of a lane leave it, and how that goes on until the next event."""

from math import inf

from emulator import events as ev
from emulator.fluid import StepTable, steps_in
from emulator.scenario import Scenario


class Stay:
    """A request that an engine runs: admitted at step `begun`, with `context` tokens, until step `end`."""

    __slots__ = ("begun", "context", "end")

    def __init__(self, begun: float, context: float, end: float) -> None:
        self.begun, self.context, self.end = begun, context, end


class EngineRecord:
    """One engine: at `at` it had made `steps` since it was empty, and held `held` tokens of context.

    It decodes nothing before `until`, and is `down` after a crash. `running` has what it runs by worker, in
    order of admission; `waiting` are the workers in its line.
    """

    __slots__ = (
        *("at", "down", "held", "number", "own_speed", "running", "speed", "steps", "until", "waiting"),
        *("_context_ms", "_kv_tokens", "_step"),
    )

    def __init__(self, number: int, context_ms: float, kv_tokens: float, step: StepTable) -> None:
        self.number = number
        self.at = self.steps = self.held = self.until = 0.0
        self.speed = self.own_speed = 1.0
        self.down = False
        self.running: dict[int, Stay] = {}
        self.waiting: dict[int, None] = {}
        self._context_ms = context_ms
        self._kv_tokens = kv_tokens
        self._step = step

    def steps_at(self, t: float) -> float:
        """The steps made until `t`; never more than until the next request ends, or the cache is full."""
        ms = (t - max(self.at, self.until)) * 1000
        if ms <= 0 or not self.running:
            return self.steps
        running = len(self.running)
        x = (self._step(running) + self._context_ms * self.held / 1000) / self.speed
        y = self._context_ms * running / 2000 / self.speed
        target = min(stay.end for stay in self.running.values())
        target = min(target, max(self.steps, self.steps + (self._kv_tokens - self.held) / running))
        return min(self.steps + steps_in(ms, x, y), target) if x > 0 else target

    def step_ms_at(self, t: float) -> float:
        """Milliseconds that a decode step takes at `t`."""
        held = self.held_at(t)
        return (self._step(len(self.running)) + self._context_ms * held / 1000) / self.speed

    @property
    def slowed(self) -> bool:
        """Whether it is slower than it was at first."""
        return self.speed < self.own_speed

    def held_at(self, t: float) -> float:
        """The tokens of context held at `t`."""
        return self.held + len(self.running) * (self.steps_at(t) - self.steps)

    # -- what events do -----------------------------------------------------------------------------

    def _bring(self, t: float, steps: float, held: float) -> None:
        self.at, self.steps, self.held = t, steps, held

    def admit(self, e: ev.Admit) -> None:
        """A request begins to run."""
        t, worker, _, tokens, context, prefill, steps, held = e
        self.at, self.steps, self.held = t, steps, held
        until = self.until
        self.until = (until if until > t else t) + prefill
        self.running[worker] = Stay(steps, context, steps + tokens)

    def release(self, e: ev.Release) -> None:
        """A request leaves."""
        self._bring(e.t, e.steps, e.held)
        stay = self.running.pop(e.worker)
        self.held -= stay.context + e.tokens
        if not self.running:
            self.steps = self.held = 0.0

    def lengthen(self, e: ev.Lengthen) -> None:
        """What is left of a request is longer."""
        self._bring(e.t, e.steps, e.held)
        self.running[e.worker].end = e.steps + e.left

    def change(self, e: ev.EngineChange) -> None:
        """Something happened to the whole of it."""
        self._bring(e.t, e.steps, e.held)
        self.speed, self.until = e.speed, e.until
        if e.cause == "start":
            self.own_speed = e.speed
        if e.cause in ("crash", "restart"):
            self.down = e.cause == "crash"


def records_of(scenario: Scenario) -> list[EngineRecord]:
    """A record of each engine, by number, as they are before anything happens."""
    engine = scenario.engine
    if engine is None:
        return []
    step = StepTable(engine.step_ms)
    kv_tokens = inf if engine.kv_tokens is None else engine.kv_tokens
    return [EngineRecord(number, engine.context_ms, kv_tokens, step) for number in range(scenario.engines)]
