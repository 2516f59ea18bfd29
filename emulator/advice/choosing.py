"""Which options are best and what each costs: pure decisions over figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.advice.limits import Requirement
from emulator.advice.options import BIAS, PACE, STALENESS, Option, difference
from emulator.figures import spec as f
from emulator.figures.result import Quantity
from emulator.figures.text import count, share
from emulator.scenario import Scenario
from emulator.sweeps.axes import yaml_text
from emulator.sweeps.grid import given
from emulator.values.scalars import shortest

_FRESH = 0.1
"""What makes no option fresher than another, in versions."""

_APART = 0.1
"""What share of the updates is too much for a tie."""

PLACES = 3
"""How many options an answer has."""


@dataclass(frozen=True)
class Choice:
    """A recommended option, with what it costs and gains over another, and the YAML that makes it.

    `ties` are the figures whose means differ by no more than the seeds resolve or a reader would notice.
    `against` is the best or, for the best itself, the fastest of all that were tried, whether it meets the
    limits or not (`against_meets`). `changes` are the sections of the scenario to replace, each whole:
    ``rollout``, with all that it says besides, and ``strategy``; `yaml` is the same as text, and `overrides`
    as texts ``PATH=VALUE``, all empty if the scenario is so already. `unclear` has the limits that lie inside
    the interval of their figure: more seeds could decide otherwise.
    """

    option: Option
    against: Option | None
    against_meets: bool
    gives_up: tuple[str, ...]
    gains: tuple[str, ...]
    ties: tuple[str, ...]
    changes: dict[str, Any]
    yaml: str
    overrides: tuple[str, ...]
    unclear: tuple[Requirement, ...]

    @property
    def sentence(self) -> str:
        """What it costs and gains, in a line; empty where there is nothing to compare with."""
        if self.against is None:
            return ""
        parts_of = (("costs", self.gives_up), ("gains", self.gains), ("about the same:", self.ties))
        words = "; ".join(f"{verb} {', '.join(parts)}" for verb, parts in parts_of if parts)
        which = "" if self.against_meets else ", beyond the limits"
        return f"against {self.against.name}{which}: {words or 'the same in every figure'}"


def meets(option: Option, limits: Sequence[Requirement]) -> bool:
    """Whether an option that works keeps every limit by its mean."""
    return option.works and not missed(option, limits)


def missed(option: Option, limits: Sequence[Requirement]) -> list[Requirement]:
    """The limits that the means of an option miss."""
    return [limit for limit in limits if limit.miss(option.mean(limit.measure.figure))]


def straddles(option: Option, limit: Requirement) -> bool:
    """Whether the limit lies inside the 95 % interval of the figure."""
    found = option.figures[limit.measure.figure]
    return found.low is not None and found.high is not None and found.low < limit.bound < found.high


def ranked(options: Sequence[Option]) -> list[Option]:
    """Order options, the best first: by their pace, those that tie by staleness, then by workers.

    What ties with the fastest of those left does not differ from it by `difference`, and is no tenth slower.
    Of these go first those within a tenth of a version of the least stale; of those the ones with the fewest
    workers; of those the least biased. Updates count trained episodes alone, so what is aborted or dropped
    earns nothing.
    """
    left = sorted(options, key=lambda option: -(option.mean(PACE) or 0.0))
    order: list[Option] = []
    while left:
        tied = [option for option in left if not _differ(left[0], option, PACE)]
        freshest = min(tied, key=lambda option: option.mean(STALENESS) or 0.0)
        fresh = [option for option in tied if not difference(option, freshest, STALENESS, _FRESH)]
        best = min(fresh, key=lambda option: (option.workers, -round(option.mean(BIAS) or 0.0, 2)))
        order.append(best)
        left.remove(best)
    return order


def different(order: Sequence[Option], places: int = PLACES) -> list[Option]:
    """The best of an order that are choices of different kinds.

    First the best of each family (a gate, dropping, rounds that resume, …) that is better than every one
    placed before it in updates, staleness, length bias or workers. Where these are too few, others of a
    family that is placed, with other updates; then those that are better in nothing. Two with the same
    traces are the same choice.
    """

    def another_way(option: Option) -> bool:
        return all(option.family != other.family for other in placed)

    def other_updates(option: Option) -> bool:
        return all(option.family != other.family or _differ(option, other, PACE) for other in placed)

    def worthwhile(option: Option) -> bool:
        return all(_better(option, other) for other in placed)

    def other_traces(option: Option) -> bool:
        return all(not set(option.traces) & set(other.traces) - {None} for other in placed)

    rounds: list[list[Callable[[Option], bool]]] = [
        [another_way, worthwhile],
        [other_updates, worthwhile],
        [another_way, other_traces],
    ]
    placed: list[Option] = []
    for demands in rounds:
        for option in order:
            if len(placed) < places and option not in placed and all(demand(option) for demand in demands):
                placed.append(option)
    return [option for option in order if option in placed]


@dataclass(frozen=True)
class Comparison:
    """What an option costs over another, what it gains and what ties, a few words for each figure."""

    gives_up: tuple[str, ...]
    gains: tuple[str, ...]
    ties: tuple[str, ...]


def compare(option: Option, other: Option) -> Comparison:
    """Compare two options in every figure; one that reads the same for both is in none of the lists."""
    gives_up: list[str] = []
    gains: list[str] = []
    ties: list[str] = []
    whole = option.strategy.whole_batches and other.strategy.whole_batches
    what = "updates" if whole else "trained episodes"
    for criterion in _CRITERIA:
        a, b = option.mean(criterion.figure), other.mean(criterion.figure)
        if a is None or b is None or criterion.text(a) == criterion.text(b):
            continue
        change = _differ(option, other, criterion.figure)
        # Seeds that only one of them has may turn the means that are read against the seeds they share.
        if change * (a - b) <= 0:
            ties.append(f"{criterion.quantity.label} {criterion.text(a)} and {criterion.text(b)}")
        else:
            (gains if change * criterion.better > 0 else gives_up).append(criterion.change(a, b, what))
    if change := option.workers - other.workers:
        words = count(abs(change), f"{'more' if change > 0 else 'fewer'} worker")
        (gains if change < 0 else gives_up).append(words)
    return Comparison(tuple(gives_up), tuple(gains), tuple(ties))


def choice(
    option: Option, against: Option | None, scenario: Scenario, limits: Sequence[Requirement]
) -> Choice:
    """Make the choice of an option, compared with another."""
    found = Comparison((), (), ()) if against is None else compare(option, against)
    sections = given(scenario)
    changed = option.changes(scenario)
    changes = {
        name: {**sections["rollout"], **keys} if name == "rollout" else keys for name, keys in changed.items()
    }
    unclear = tuple(limit for limit in limits if straddles(option, limit))
    within = against is not None and meets(against, limits)
    overrides = []
    if "rollout" in changed:
        overrides.append(f"rollout.workers={option.workers}")
    if "strategy" in changed:
        overrides.append(f"strategy={_flow(changed['strategy'])}")
    return Choice(
        option=option,
        against=against,
        against_meets=within,
        gives_up=found.gives_up,
        gains=found.gains,
        ties=found.ties,
        changes=changes,
        yaml=yaml_of(changes),
        overrides=tuple(overrides),
        unclear=unclear,
    )


def yaml_of(sections: dict[str, Any]) -> str:
    """Sections of a scenario as YAML, a key a line."""
    lines = []
    for section, keys in sections.items():
        lines += [f"{section}:", *(f"  {key}: {_flow(value)}" for key, value in keys.items())]
    return "\n".join(lines)


def _flow(value: Any) -> str:
    """A value as YAML in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return shortest(value) if isinstance(value, float) else yaml_text(value)


def nearest(options: Sequence[Option], limits: Sequence[Requirement]) -> Option | None:
    """The option whose worst miss, as a share of the bound, is the least; None if none works.

    Where some miss one limit alone, so that this one binds, only those are considered.
    """
    working = [option for option in options if option.works]
    single = [option for option in working if len(missed(option, limits)) == 1]
    return min(
        ranked(single or working),
        key=lambda option: max(
            (limit.share(option.mean(limit.measure.figure)) for limit in limits), default=0.0
        ),
        default=None,
    )


def _differ(a: Option, b: Option, figure: str) -> float:
    """How much more `a` has, 0 if it is the same.

    Length bias is the same where neither has any. Updates that are a tenth apart never are: with few seeds
    intervals are so wide that nearly all would tie, and the means are then the best guess. Closer ones are
    where the interval says so or, of one seed, which has none, where they are one update of a run apart.
    """
    if figure == BIAS and min(a.mean(BIAS) or 0.0, b.mean(BIAS) or 0.0) >= 1:
        return 0.0
    if figure != PACE:
        return difference(a, b, figure, _RESOLUTION[figure])
    at_a, at_b = a.mean(PACE) or 0.0, b.mean(PACE) or 0.0
    if abs(at_a - at_b) >= _APART * max(at_a, at_b):
        return at_a - at_b
    return difference(a, b, PACE, a.resolution if min(a.runs, b.runs) == 1 else 0.0)


def _better(option: Option, other: Option) -> bool:
    """Whether an option has anything over another that ranks it."""
    if option.workers < other.workers:
        return True
    return any(
        _differ(option, other, criterion.figure) * criterion.better > 0
        for criterion in _CRITERIA
        if criterion.ranks
    )


@dataclass(frozen=True)
class _Criterion:
    """A figure that options are compared by, and what is better of it, more (1) or less (-1).

    What is within the `resolution` is too little to mention.
    """

    quantity: Quantity[float]
    better: int
    resolution: float = 0.0
    ranks: bool = True

    @property
    def figure(self) -> str:
        """Its name; of updates, that of the pace."""
        return PACE if self.quantity is f.UPDATES_PER_HOUR else self.quantity.name

    def text(self, mean: float) -> str:
        """A mean as it is shown."""
        return self.quantity.format.mean(mean) + ("%" if self.quantity.unit == "%" else "")

    def change(self, mean: float, other: float, what: str) -> str:
        """A mean against another; the pace by its share of the other's, in `what`."""
        if self.figure != PACE or not other:
            return f"{self.quantity.label} ({self.text(other)} to {self.text(mean)})"
        return f"{share(abs(mean - other) / other)} {'more' if mean > other else 'of its'} {what}"


_CRITERIA = (
    _Criterion(f.UPDATES_PER_HOUR, 1),
    _Criterion(f.STALENESS, -1, 0.01),
    _Criterion(f.STALENESS_P95, -1, 1.0, ranks=False),
    _Criterion(f.STALENESS_MAX, -1, 1.0),
    _Criterion(f.LENGTH_BIAS, 1, 0.01),
    _Criterion(f.GOODPUT, 1, 0.005, ranks=False),
)

_RESOLUTION = {criterion.figure: criterion.resolution for criterion in _CRITERIA}
