"""What a person asks of a strategy: bounds on its figures."""

import math
from dataclasses import dataclass
from typing import Literal

from emulator.errors import Problem, ScenarioError
from emulator.figures import spec as f
from emulator.figures.result import Quantity
from emulator.values.scalars import shortest

Sense = Literal["max", "min"]


@dataclass(frozen=True)
class Measure:
    """A figure of a run that a limit may bound.

    `highest` is the highest bound that is taken; of staleness it is that of ``max_staleness``.
    """

    quantity: Quantity[float]
    highest: float

    @property
    def figure(self) -> str:
        """Its name."""
        return self.quantity.name

    @property
    def words(self) -> str:
        """What it is called, apart from the others."""
        return f"mean {self.quantity.label}" if self.quantity is f.STALENESS else self.quantity.label

    @property
    def places(self) -> int:
        """The decimal places it is shown with; a share is compared with one, not in per cent."""
        return 3 if self.quantity.unit == "%" else self.quantity.format.places


MEASURES: dict[str, Measure] = {
    "max_staleness": Measure(f.STALENESS, 1e6),
    "max_staleness_p95": Measure(f.STALENESS_P95, 1e6),
    "max_staleness_max": Measure(f.STALENESS_MAX, 1e6),
    "min_length_bias": Measure(f.LENGTH_BIAS, 1000.0),
    "min_goodput": Measure(f.GOODPUT, 1.0),
}
"""What each limit bounds, by its name."""


@dataclass(frozen=True)
class Requirement:
    """A bound on the mean over seeds of a figure: at most it, or at least it.

    `name` is a key of `MEASURES`; staleness is in versions, length bias and goodput are shares.
    """

    name: str
    bound: float

    @property
    def measure(self) -> Measure:
        """What it bounds."""
        return MEASURES[self.name]

    @property
    def sense(self) -> Sense:
        """Whether the bound is the most or the least."""
        return "max" if self.name.startswith("max") else "min"

    @property
    def option(self) -> str:
        """As the command line gives it."""
        return f"--{self.name.replace('_', '-')} {shortest(self.bound)}"

    def __str__(self) -> str:
        how = "at most" if self.sense == "max" else "at least"
        return f"{self.measure.words} {how} {shortest(self.bound)}"

    def miss(self, mean: float | None) -> float:
        """By how much a mean misses the bound, 0 if it meets it; infinity where there is no mean."""
        if mean is None:
            return math.inf
        return max(0.0, mean - self.bound if self.sense == "max" else self.bound - mean)

    def share(self, mean: float | None) -> float:
        """The miss as a share of the bound, so that misses of different figures compare; of 1 if it is 0."""
        return self.miss(mean) / (abs(self.bound) or 1.0)


def make_limits(given: dict[str, float | None]) -> tuple[Requirement, ...]:
    """Make the limits that are given, by name; ScenarioError for bounds that are no bounds."""
    limits: list[Requirement] = []
    problems: list[Problem] = []
    for name, bound in given.items():
        if bound is None:
            continue
        highest = MEASURES[name].highest
        if not 0 <= bound <= highest:
            allowed = f"a number from 0 to {shortest(highest)}"
            problems.append(Problem(f"--{name.replace('_', '-')}", None, None, "", f"{bound:g}", allowed))
        limits.append(Requirement(name, float(bound)))
    if problems:
        raise ScenarioError(problems)
    return tuple(limits)
