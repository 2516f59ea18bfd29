"""Which options are best and what each gives up: pure decisions over figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.advice.limits import Limit
from emulator.advice.options import BIAS, OLDEST, STALENESS, UPDATES, Option, difference
from emulator.scenario import Scenario
from emulator.scenario.values import plain
from emulator.sweeps.axes import yaml_text
from emulator.sweeps.grid import given

_FRESH = 0.1
"""What makes no option fresher than another, in versions."""

_APART = 0.1
"""What share of the updates is too much for a tie."""

PLACES = 3
"""How many options an answer has."""


@dataclass(frozen=True)
class Choice:
    """An option that is advised, with what it gives up and gains against another, and the YAML that makes it.

    `against` is the best or, for the best itself, the fastest of all that were tried, whether it meets the
    limits or not (`against_meets`). `changes` are the sections of the scenario to replace, each whole:
    ``rollout``, with all that it says besides, and ``strategy``; `yaml` is the same as text, and `overrides`
    as texts ``PATH=VALUE``, all empty if the scenario is so already. `unclear` has the limits that lie inside
    the interval of their figure: more seeds could tell otherwise.
    """

    option: Option
    against: Option | None
    against_meets: bool
    gives_up: tuple[str, ...]
    gains: tuple[str, ...]
    changes: dict[str, Any]
    yaml: str
    overrides: tuple[str, ...]
    unclear: tuple[Limit, ...]

    @property
    def sentence(self) -> str:
        """What it gives up and gains, in a line; empty where there is nothing to compare with."""
        if self.against is None:
            return ""
        up, gains = (", ".join(parts) or "nothing" for parts in (self.gives_up, self.gains))
        which = "" if self.against_meets else ", beyond the limits"
        return f"against {self.against.name}{which}: gives up {up}; gains {gains}"


def meets(option: Option, limits: Sequence[Limit]) -> bool:
    """Whether an option that works keeps every limit by its mean."""
    return option.works and not missed(option, limits)


def missed(option: Option, limits: Sequence[Limit]) -> list[Limit]:
    """The limits that the means of an option miss."""
    return [limit for limit in limits if limit.miss(option.mean(limit.measure.figure))]


def straddles(option: Option, limit: Limit) -> bool:
    """Whether the limit lies inside the 95 % interval of the figure."""
    found = option.figures[limit.measure.figure]
    return found.low is not None and found.high is not None and found.low < limit.bound < found.high


def ranked(options: Sequence[Option]) -> list[Option]:
    """Order options, the best first: by updates an hour, those that tie by staleness, then by workers.

    What ties with the fastest of those left is not told from it by `difference`, and no tenth slower. Of
    these go first those within a tenth of a version of the least stale; of those the ones with the fewest
    workers; of those the least biased. Updates count trained episodes alone, so what is aborted or dropped
    earns nothing.
    """
    left = sorted(options, key=lambda option: -(option.mean(UPDATES) or 0.0))
    order: list[Option] = []
    while left:
        tied = [option for option in left if not _differ(left[0], option, UPDATES)]
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
        return all(option.family != other.family or _differ(option, other, UPDATES) for other in placed)

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


def compare(option: Option, other: Option) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What an option gives up against another, and what it gains, each a few words with its figures."""
    gives_up: list[str] = []
    gains: list[str] = []
    for figure, more, sign in _CRITERIA:
        change = _differ(option, other, figure)
        if change:
            (gains if change * sign > 0 else gives_up).append(more(option, other, change))
    if change := option.workers - other.workers:
        words = f"{abs(change):,} {'more' if change > 0 else 'fewer'} worker{'' if abs(change) == 1 else 's'}"
        (gains if change < 0 else gives_up).append(words)
    return tuple(gives_up), tuple(gains)


def choice(option: Option, against: Option | None, scenario: Scenario, limits: Sequence[Limit]) -> Choice:
    """Make the choice of an option, compared with another."""
    gives_up, gains = compare(option, against) if against is not None else ((), ())
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
        option, against, within, gives_up, gains, changes, yaml_of(changes), tuple(overrides), unclear
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
    return plain(value) if isinstance(value, float) else yaml_text(value)


def nearest(options: Sequence[Option], limits: Sequence[Limit]) -> Option | None:
    """The option whose worst miss, as a share of the bound, is the least; None if none works.

    Where some miss one limit alone, so that this one binds, only those come into question.
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
    if figure != UPDATES:
        return difference(a, b, figure, _RESOLUTION[figure])
    at_a, at_b = a.mean(UPDATES) or 0.0, b.mean(UPDATES) or 0.0
    if abs(at_a - at_b) >= _APART * max(at_a, at_b):
        return at_a - at_b
    return difference(a, b, UPDATES, a.resolution if min(a.runs, b.runs) == 1 else 0.0)


def _better(option: Option, other: Option) -> bool:
    """Whether an option has anything over another."""
    return bool(compare(option, other)[1])


def _updates(option: Option, other: Option, change: float) -> str:
    base = other.mean(UPDATES)
    if not base:
        return f"{abs(change):.1f} updates an hour"
    share = 100 * abs(change) / base
    number = f"{share:.0f}" if share >= 1 else f"{share:.1f}"
    return f"{number} % {'more updates' if change > 0 else 'of its updates'}"


def _instead(words: str, figure: str, places: int) -> Callable[[Option, Option, float], str]:
    def tell(option: Option, other: Option, change: float) -> str:
        return f"{words} {option.mean(figure):.{places}f} instead of {other.mean(figure):.{places}f}"

    return tell


_RESOLUTION = {STALENESS: 0.01, OLDEST: 1.0, BIAS: 0.01}
"""What is too little to speak of: of staleness in versions, and of length bias."""

_CRITERIA: tuple[tuple[str, Callable[[Option, Option, float], str], int], ...] = (
    (UPDATES, _updates, 1),
    (STALENESS, _instead("staleness", STALENESS, 2), -1),
    (OLDEST, _instead("largest staleness", OLDEST, 1), -1),
    (BIAS, _instead("length bias", BIAS, 2), 1),
)
"""What options are compared by: how to tell it, and whether more of it is better."""
