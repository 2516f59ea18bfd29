"""Engines while every worker is at work: how many sequences run, by Little's law and a fixed point.

With ``B`` sequences that hold ``c`` tokens each an engine decodes ``r(B) = 1000 B / tau(B, c B)`` tokens a
second. An episode of ``G`` tokens that stops its engine for ``p`` seconds of prefill passes at the rate
``X = r / (G + p r)``, and a worker that is at an engine, a tool or a reset at any time gives
``W = B + X T`` for each engine, with the ``T`` seconds that an episode spends elsewhere. ``W`` grows with
``B``, so one ``B`` fits the workers; what slots or cache do not admit waits in line. Numbers of sequences
are means: the law is that of many.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import inf

import numpy as np
from numpy.typing import NDArray

from emulator.fluid import StepTable
from emulator.randomness import Streams
from emulator.scenario import Scenario
from emulator.scenario.engines import Engine
from emulator.scenario.parts import Rollout
from emulator.system.plans import plans_of

_PLANS = 2000
_TURNS = 100_000
_HALVINGS = 60


@dataclass(frozen=True)
class Steady:
    """What a lane of engines comes to.

    Episodes finish at `episodes_per_second`, over all engines, each of which runs `running` sequences. Each
    of `seconds` is an episode's, from its start to its end but for waits in line. `tokens` is what a trained
    episode has in the mean: prompt, output and tools.
    """

    episodes_per_second: float
    tokens_per_second: float
    running: float
    seconds: NDArray[np.float64]
    tokens: float
    waits: bool
    """Whether not all that the workers ask for is admitted at once."""


@dataclass(frozen=True)
class _DrawnPlans:
    """Of fixed draws, by episode: tokens generated, seconds of tools, tokens to prefill and at the end.

    `held` is the sum of the context over the steps that an episode runs in.
    """

    generated: NDArray[np.float64]
    tools: NDArray[np.float64]
    fresh: NDArray[np.float64]
    end: NDArray[np.float64]
    held: NDArray[np.float64]


def steady(scenario: Scenario) -> Steady:
    """The state of a lane with engines in which every worker is at work."""
    engine, rollout = scenario.engine, scenario.rollout
    assert engine is not None
    step = StepTable(engine.step_ms)
    drawn = _draw(rollout, step(1), engine.keep_cache)
    elsewhere = drawn.tools / _mean(rollout.speed.mean())
    if scenario.environment is not None:
        elsewhere = elsewhere + scenario.environment.reset_seconds.mean() / _mean(rollout.speed.mean())
    speed = _mean(engine.speed.mean())
    generated = float(drawn.generated.mean())
    context = float(drawn.held.mean()) / generated
    prefill = drawn.fresh * engine.prefill_ms / 1e6 / speed
    stop, away = float(prefill.mean()), float(elsewhere.mean())

    def rate(running: float) -> float:
        return 1000 * running / _step_ms(engine, step, running, context) * speed

    def passing(running: float) -> float:
        return rate(running) / (generated + stop * rate(running))

    wanted = rollout.workers / scenario.engines
    most = min(
        inf if engine.slots is None else engine.slots,
        inf if engine.kv_tokens is None or not context else max(1.0, engine.kv_tokens / context),
    )
    low, high = 0.0, wanted
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle + passing(middle) * away < wanted:
            low = middle
        else:
            high = middle
    running = min(high, most)
    passed = passing(running)
    # A token takes a step, and its part of the time in which others are prefilled.
    each = running / (passed * generated)
    return Steady(
        episodes_per_second=passed * scenario.engines,
        tokens_per_second=passed * generated * scenario.engines,
        running=running,
        seconds=drawn.generated * each + elsewhere,
        tokens=float(drawn.end.mean()),
        waits=high > most,
    )


def _mean(mean: float) -> float:
    return mean if 0 < mean < inf else 1.0


def _step_ms(engine: Engine, step: StepTable, running: float, context: float) -> float:
    """Milliseconds of a step of so many sequences, whole or not; of fewer than one, of one."""
    running = max(running, 1.0)
    below = int(running)
    ms = step(below)
    if running > below:
        ms += (running - below) * (step(below + 1) - ms)
    return ms + engine.context_ms * running * context / 1000


@lru_cache(maxsize=64)
def _draw(rollout: Rollout, step_of_one: float, keeps_cache: bool) -> _DrawnPlans:
    """The plans of some episodes, fewer where they have many turns."""
    following = plans_of(rollout, Streams(0), step_of_one)
    rows: list[tuple[float, ...]] = []
    turns = 0
    while len(rows) < _PLANS and turns < _TURNS:
        plan = following()
        turns += len(plan.turns)
        context, fresh, held, tools = plan.prompt, plan.prompt, 0.0, 0.0
        for turn in plan.turns:
            held += turn.tokens * (context + turn.tokens / 2)
            context += turn.tokens
            if turn is not plan.turns[-1]:
                tools += turn.tool_seconds
                context += turn.tool_tokens
                fresh += turn.tool_tokens if keeps_cache else context
        rows.append((sum(turn.tokens for turn in plan.turns), tools, fresh, context, held))
    return _DrawnPlans(*np.array(rows).T)
