"""What is tried: the strategies of the field and a few worker counts, around what a scenario has itself."""

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from emulator.errors import Problem, ScenarioError
from emulator.scenario import Scenario
from emulator.scenario.models import violations
from emulator.strategies import STRATEGIES, Strategy, strategy_of
from emulator.values.violation import Violation

RATIOS = (0.5, 1.0, 1.5, 2.0, 3.0)
"""Workers, as multiples of the batch."""


def vary(scenario: Scenario, *, budget: int, caps: Iterable[float] = ()) -> dict[str, list[Any]]:
    """The axes of the sweep: ``strategy`` and ``rollout.workers``, each value good at some point.

    No count of workers exceeds `budget`. `caps` are further bounds on staleness, in versions, for gate, drop
    and cancel. ScenarioError if the scenario cannot run with so few workers.
    """
    counts = worker_counts(scenario, budget)
    tried = strategies(scenario, caps)
    wrong = {(id(s), n): _violations(scenario, s, n) for s in tried for n in counts}
    fitting = [n for n in counts if not all(wrong[id(s), n] for s in tried)]
    if not fitting:
        least = _least_workers(scenario, tried, counts[-1])
        why = wrong[id(tried[-1]), counts[-1]][0]
        where = ".".join(map(str, why.path))
        allowed = f"at least {least} workers, which the scenario needs ({where} is {why.found})"
        raise ScenarioError([Problem("--budget-workers", None, None, "", str(budget), allowed)])
    return {
        "strategy": [s.options() for s in tried if any(not wrong[id(s), n] for n in fitting)],
        "rollout.workers": fitting,
    }


def worker_counts(scenario: Scenario, budget: int) -> list[int]:
    """The scenario's own count, `RATIOS` of its batch, and the whole budget: those within the budget."""
    batch = scenario.trainer.batch_size
    counts = {scenario.rollout.workers, budget, *(math.ceil(ratio * batch) for ratio in RATIOS)}
    return sorted(count for count in counts if count <= budget)


def strategies(scenario: Scenario, caps: Iterable[float] = ()) -> list[Strategy]:
    """The strategies to try, each once, simplest first; the scenario's own last unless it is among them."""
    own = scenario.strategy
    bounds = list(caps)
    tried = (kind.tried(own if isinstance(own, kind) else None, bounds) for kind in STRATEGIES)
    # A bound may have more digits, or be higher, than a scenario takes.
    made = map(strategy_of, chain.from_iterable(tried))
    return list(dict.fromkeys([*filter(None, made), own]))


def _least_workers(scenario: Scenario, tried: Sequence[Strategy], too_few: int) -> int:
    """The fewest workers with which some strategy can run, given that `too_few` are and its own are not."""
    enough = scenario.rollout.workers
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if all(_violations(scenario, strategy, middle) for strategy in tried):
            too_few = middle
        else:
            enough = middle
    return enough


def _violations(scenario: Scenario, strategy: Strategy, workers: int) -> list[Violation]:
    rollout = scenario.rollout.model_copy(update={"workers": workers})
    update = {"strategy": strategy, "rollout": rollout, "lanes": ()}
    return violations(scenario.model_copy(update=update))
