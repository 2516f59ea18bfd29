"""The advice on a scenario: one sweep, and what follows from it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from emulator.advice.candidates import vary
from emulator.advice.choosing import Choice, choice, different, meets, nearest, ranked
from emulator.advice.limits import Requirement, make_limits
from emulator.advice.options import FIGURES, Option, options_of
from emulator.errors import Problem, ScenarioError, SweepBrokenError
from emulator.recording import ScenarioSource, as_scenario
from emulator.scenario import Scenario
from emulator.sweeps import Sweep, sweep
from emulator.sweeps.running import Progress
from emulator.values.scalars import MAX_WORKERS


@dataclass(frozen=True)
class LimitReport:
    """What a limit does: how many options meet it, how many would do without it, and the best reached.

    It `binds` if no option meets all limits and some would without this one.
    """

    limit: Requirement
    meet: int
    without: int
    best: float | None
    binds: bool


@dataclass(frozen=True)
class Advice:
    """The best options of a scenario within limits, or why there are none.

    `best` has up to three, the best first; without any, `reports` says which limits bind, and `nearest` is
    what comes closest: of those that miss only a limit that binds, or else of all, the one whose worst miss
    is the smallest share of its bound. `options` are all that were tried, `own` the scenario's as it is if it
    was within the `budget` of workers.
    """

    scenario: Scenario
    limits: tuple[Requirement, ...]
    budget: int
    seeds: tuple[int, ...]
    options: tuple[Option, ...] = field(repr=False)
    best: tuple[Choice, ...]
    reports: tuple[LimitReport, ...]
    nearest: Choice | None

    @property
    def met(self) -> tuple[Option, ...]:
        """The options that meet every limit."""
        return tuple(option for option in self.options if meets(option, self.limits))

    @property
    def binding(self) -> tuple[Requirement, ...]:
        """The limits of which each alone rules out what would do; empty if only several together do."""
        return tuple(report.limit for report in self.reports if report.binds)

    @property
    def own(self) -> Option | None:
        """The scenario as it is, if it was tried."""
        return next((option for option in self.options if not option.changes(self.scenario)), None)

    def to_json(self) -> dict[str, Any]:
        """The advice as plain JSON values: what was asked, the answer, and every option with its figures."""
        binding = self.binding
        return {
            "scenario": self.scenario.name,
            "seeds": list(self.seeds),
            "budget_workers": self.budget,
            "limits": {limit.name: limit.bound for limit in self.limits},
            "met": bool(self.best),
            "best": [self._choice(found) for found in self.best],
            "binding": [limit.name for limit in binding],
            "reports": [
                {
                    "limit": report.limit.name,
                    "meet": report.meet,
                    "would_do_without_it": report.without,
                    "best_reached": report.best,
                }
                for report in self.reports
            ],
            "nearest": None if self.nearest is None else self._choice(self.nearest),
            "options": [self._option(option) for option in self.options],
        }

    def _choice(self, found: Choice) -> dict[str, Any]:
        return {
            **self._option(found.option),
            "against": None if found.against is None else found.against.name,
            "gives_up": list(found.gives_up),
            "gains": list(found.gains),
            "ties": list(found.ties),
            "unclear": [limit.name for limit in found.unclear],
            "changes": found.changes,
            "yaml": found.yaml,
            "set": list(found.overrides),
        }

    def _option(self, option: Option) -> dict[str, Any]:
        return {
            "name": option.name,
            "workers": option.workers,
            "strategy": option.strategy.options(),
            "runs": option.runs,
            "failed": option.failed,
            "error": option.error,
            "meets": meets(option, self.limits),
            "misses": {
                limit.name: limit.miss(option.mean(limit.measure.figure))
                for limit in self.limits
                if option.works and limit.miss(option.mean(limit.measure.figure))
            },
            "figures": {
                name: {"mean": found.mean, "low": found.low, "high": found.high}
                for name, found in ((name, option.figures[name]) for name in FIGURES)
            },
        }


def advise(
    scenario: ScenarioSource,
    *,
    max_staleness: float | None = None,
    max_staleness_p95: float | None = None,
    max_staleness_max: float | None = None,
    min_length_bias: float | None = None,
    min_goodput: float | None = None,
    budget_workers: int | None = None,
    seeds: int | Sequence[int] = 5,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Advice:
    """Try strategies and worker counts on a scenario's own episodes, and advise the best within limits.

    `scenario` is a `Scenario`, the name of a bundled one, or the path of a file or a recording.
    Tried are the strategies of `emulator.advice.candidates`, with bounds at the limits besides, on worker
    counts up to `budget_workers`, the scenario's own unless given (workers that the timeline adds come on
    top). Groups, environment and timeline stay as they are; lanes are ignored.

    The limits are `max_staleness` on the mean, in policy versions, `max_staleness_p95` and
    `max_staleness_max` on the 95th percentile and the largest of a run, `min_length_bias` and
    `min_goodput`, shares. Each is kept or not by the mean over the `seeds` (how many from the scenario's
    own, or which). `jobs` and `progress` are those of `emulator.sweep`.

    Raises ScenarioError for limits that are not valid, and where the scenario cannot run within the budget;
    otherwise as `emulator.sweep`. That no option meets the limits is an answer, with `best` empty.
    """
    limits = make_limits(
        {
            "max_staleness": max_staleness,
            "max_staleness_p95": max_staleness_p95,
            "max_staleness_max": max_staleness_max,
            "min_length_bias": min_length_bias,
            "min_goodput": min_goodput,
        }
    )
    base = as_scenario(scenario)
    budget = base.rollout.workers if budget_workers is None else budget_workers
    if isinstance(budget, bool) or not isinstance(budget, int) or not 1 <= budget <= MAX_WORKERS:
        allowed = f"a whole number of workers from 1 to {MAX_WORKERS}"
        raise ScenarioError([Problem("--budget-workers", None, None, "", str(budget), allowed)])
    caps = {limit.bound for limit in limits if limit.name.startswith("max_staleness")}
    axes = vary(base, budget=budget, caps=caps)
    try:
        done = sweep(base, axes, seeds=seeds, jobs=jobs, progress=progress)
    except SweepBrokenError as error:
        hint = "there is no advice from a part; try again, with fewer processes (--jobs) if memory is short"
        raise SweepBrokenError(error.what, error.done, error.runs, hint) from error
    return advise_on(done, limits, scenario=base, budget=budget)


def advise_on(table: Sweep, limits: Sequence[Requirement], *, scenario: Scenario, budget: int) -> Advice:
    """The advice that follows from a sweep over ``strategy`` and ``rollout.workers``; runs nothing."""
    options = options_of(table)
    met = [option for option in options if meets(option, limits)]
    reports = tuple(_report(limit, limits, options, any_met=bool(met)) for limit in limits)
    fastest = next(iter(ranked([option for option in options if option.works])), None)
    chosen = different(ranked(met))
    own = next((option for option in options if not option.changes(scenario)), None)
    best = []
    for place, option in enumerate(chosen):
        others = [chosen[0]] if place else [fastest, *chosen[1:2], own]
        against = next((other for other in others if other not in (None, option) and other.works), None)
        best.append(choice(option, against, scenario, limits))
    closest = None if met else nearest(options, limits)
    return Advice(
        scenario=scenario,
        limits=tuple(limits),
        budget=budget,
        seeds=table.seeds,
        options=options,
        best=tuple(best),
        reports=reports,
        nearest=None
        if closest is None
        else choice(closest, fastest if fastest != closest else None, scenario, limits),
    )


def _report(
    limit: Requirement, limits: Sequence[Requirement], options: Sequence[Option], *, any_met: bool
) -> LimitReport:
    means = [option.mean(limit.measure.figure) for option in options if option.works]
    known = [mean for mean in means if mean is not None]
    pick = min if limit.sense == "max" else max
    without = sum(meets(option, [other for other in limits if other is not limit]) for option in options)
    return LimitReport(
        limit=limit,
        meet=sum(meets(option, [limit]) for option in options),
        without=without,
        best=pick(known, default=None),
        binds=not any_met and without > 0,
    )
