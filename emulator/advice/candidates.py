"""What is tried: the strategies of the field and a few worker counts, around what a scenario has itself."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from emulator.errors import Problem, ScenarioError
from emulator.scenario import Scenario
from emulator.scenario.rules import Violation, violations
from emulator.scenario.strategies import Asynchronous, OneStepOff, Strategy, Synchronous

OVERSAMPLES = (1.25, 1.5)
"""Episodes issued in a round, as multiples of the batch."""

GATES = (0.5, 1.0, 2.0, 4.0)
"""Bounds of a gate, in versions."""

AGES = (1.0, 2.0, 4.0)
"""Bounds of drop and cancel, in versions."""

RATIOS = (0.5, 1.0, 1.5, 2.0, 3.0)
"""Workers, as multiples of the batch."""

_STRATEGY: TypeAdapter[Strategy] = TypeAdapter(Strategy)
_KEPT = ("weights", "refresh_overhead", "weight_sync")


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
        "strategy": [mapping(s) for s in tried if any(not wrong[id(s), n] for n in fitting)],
        "rollout.workers": fitting,
    }


def worker_counts(scenario: Scenario, budget: int) -> list[int]:
    """The scenario's own count, `RATIOS` of its batch, and the whole budget: those within the budget."""
    batch = scenario.trainer.batch_size
    counts = {scenario.rollout.workers, budget, *(math.ceil(ratio * batch) for ratio in RATIOS)}
    return sorted(count for count in counts if count <= budget)


def strategies(scenario: Scenario, caps: Iterable[float] = ()) -> list[Strategy]:
    """The strategies to try, each once, from the simplest; the scenario's own last unless it is among them.

    What the scenario says of pushes, refreshes and resumes (``weight_sync``, ``weights``, overheads) is of
    its engine and kept. In-flight weights are otherwise not tried: staleness counts from the oldest version
    that generated an episode, which they leave as it is, and they make no episode shorter.
    """
    own = scenario.strategy
    found: list[Strategy] = []
    for options in (*_options(own, list(caps)), mapping(own)):
        try:
            strategy = _STRATEGY.validate_python(options)
        except ValidationError:
            continue  # a bound of more digits, or higher, than a scenario takes
        if strategy not in found:
            found.append(strategy)
    return found


def mapping(strategy: Strategy) -> dict[str, Any]:
    """A strategy as a file gives it, without defaults, numbers as short as they can be."""
    given: dict[str, Any] = {}
    for key, value in strategy.model_dump(exclude_defaults=True).items():
        number = None if isinstance(value, str) else float(value)
        given[key] = value if number is None else int(number) if number.is_integer() else number
    return given


def family(strategy: Strategy) -> str:
    """How workers and trainer wait for each other, whatever the numbers: ``synchronous resume``, ``gate``."""
    if isinstance(strategy, Synchronous):
        return f"synchronous {strategy.unfinished}"
    if isinstance(strategy, OneStepOff):
        return strategy.kind
    return "no cap" if strategy.max_staleness is None else strategy.enforce


def _options(own: Strategy, caps: Sequence[float]) -> Iterator[dict[str, Any]]:
    resume = {"resume_overhead": own.resume_overhead} if isinstance(own, Synchronous) else {}
    kept = {key: getattr(own, key) for key in _KEPT} if isinstance(own, Asynchronous) else {}
    yield {"kind": "synchronous"}
    for unfinished in ("abort", "resume", "defer"):
        for oversample in OVERSAMPLES:
            more = resume if unfinished == "resume" else {}
            yield {"kind": "synchronous", "oversample": oversample, "unfinished": unfinished, **more}
    yield {"kind": "one_step_off"}
    yield {"kind": "asynchronous", **kept}
    for enforce, bounds in (("gate", GATES), ("drop", AGES), ("cancel", AGES)):
        for bound in sorted({*bounds, *caps}):
            yield {"kind": "asynchronous", "max_staleness": bound, "enforce": enforce, **kept}


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
