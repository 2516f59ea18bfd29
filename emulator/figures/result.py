"""What a figure is, and the typed result of a run, in which what an older one lacks is None."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, Flag, auto
from typing import Any, Generic, TypeVar

from emulator.figures.accounts import LaneAccounts, Reading
from emulator.figures.text import COUNT, NUMBER, SHARE, SPAN, Format, count

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_BY_UNIT = Format(str)


class Shown(Flag):
    """Where a figure is shown besides the JSON and the table of a sweep, which have them all."""

    NOWHERE = 0
    SUMMARY = auto()
    RACE = auto()
    SWEEP = auto()
    """The table of a sweep as it is printed."""
    PAGE = auto()
    DASHBOARD = auto()
    TABLES = SUMMARY | RACE
    READ = TABLES | PAGE
    EVERYWHERE = READ | SWEEP | DASHBOARD


class Section(Enum):
    """Which lanes have a figure."""

    ALL = "all"
    GROUPS = "groups"
    ENVIRONMENT = "environment"
    LEARNING = "learning"
    TOKENS = "episode_tokens"
    ENGINE = "engine"
    CLUSTER = "cluster"

    def is_in(self, lane: LaneAccounts) -> bool:
        """Whether a lane has the figures of this section."""
        return {
            Section.ALL: True,
            Section.GROUPS: lane.has_groups,
            Section.ENVIRONMENT: lane.scenario.environment is not None,
            Section.LEARNING: lane.learning is not None,
            Section.TOKENS: lane.scenario.rollout.episode_seconds is None,
            Section.ENGINE: lane.scenario.engine is not None,
            Section.CLUSTER: lane.scenario.cluster is not None,
        }[self]


@dataclass(frozen=True, kw_only=True)
class Quantity(Generic[T_co]):
    """A figure as people read it.

    `name` is its dotted name in the result, `label` what it is called (the end of the name unless given),
    `column` the same where there is hardly any room, and `words` how a list of figures says it, with ``{}``
    for the figure, followed by its `noun` where things are counted. `unit` is that of the number, empty where
    the label has it or there is none; it tells the `format` unless that is given.
    """

    name: str = field(kw_only=False)
    label: str = field(default="", kw_only=False)
    unit: str = ""
    format: Format = _BY_UNIT
    words: str = ""
    noun: str = ""
    column: str = ""
    shown: Shown = Shown.NOWHERE

    def __post_init__(self) -> None:
        """Fill in what follows from the rest."""
        given = self.__dict__
        given["label"] = self.label or self.name.rpartition(".")[2].replace("_", " ")
        given["words"] = self.words or ("{}" if self.noun else f"{self.label} {{}}")
        given["column"] = self.column or self.label
        if self.format is _BY_UNIT:
            given["format"] = COUNT if self.noun else {"%": SHARE, "s": SPAN}.get(self.unit, NUMBER)

    def say(self, value: Any) -> str:
        """The figure among others: ``p95 4``."""
        text = count(value, self.noun) if self.noun and value is not None else self.format(value)
        return self.words.format(text)

    @property
    def axis(self) -> str:
        """What it is called along the axis of a chart, with the unit that its means are in."""
        return f"{self.label}, {self.unit}" if self.unit else self.label

    def read(self, result: "Result") -> T_co | None:
        """What it is in a result."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Figure(Quantity[T_co]):
    """A figure of the result: what it is at a moment, which lanes have it, and since which version."""

    value: Callable[[Reading], T_co | None]
    section: Section = Section.ALL
    since: str = "0.1.0"
    is_list: bool = False
    """Whether it is several numbers, of which there is no mean."""

    def read(self, result: "Result") -> T_co | None:
        """What it is in a result; None where it lacks."""
        found: T_co | None = result.get(self.name)
        return found


@dataclass(frozen=True, kw_only=True)
class Derived(Quantity[T_co]):
    """A figure that follows from others of a result."""

    of: Callable[["Result"], T_co | None]

    def read(self, result: "Result") -> T_co | None:
        """What follows from a result."""
        return self.of(result)


def part(name: str, label: str = "", section: Section | None = None, **more: Any) -> Figure[Any]:
    """A figure that `Reading` has in a mapping: ``staleness.mean``."""
    account, _, last = name.rpartition(".")
    if section is None:
        section = next((one for one in Section if one.value == account), Section.ALL)
    attribute = account.replace(".", "_")
    return Figure[Any](name, label, section=section, value=lambda r: getattr(r, attribute)[last], **more)


class Result:
    """The figures of a run: `Run.result`, or a part of it that an older version wrote."""

    def __init__(self, tree: Mapping[str, Any]) -> None:
        self._tree = tree

    def __getitem__(self, figure: Quantity[T]) -> T | None:
        """A figure; None where the run has no data for it, or was made before there was such a figure."""
        return figure.read(self)

    def get(self, name: str) -> Any:
        """What stands under a dotted name; None where nothing does."""
        found: Any = self._tree
        for step in name.split("."):
            found = found.get(step) if isinstance(found, Mapping) else None
        return found

    def has(self, section: Section) -> bool:
        """Whether there are figures of a section."""
        return section is Section.ALL or section.value in self._tree

    def text(self, figure: Quantity[Any]) -> str:
        """A figure as it is written."""
        return figure.format(self[figure])

    def say(self, figure: Quantity[Any]) -> str:
        """A figure as a list of figures says it."""
        return figure.say(self[figure])

    def list(self, figures: Iterable[Quantity[Any]]) -> str:
        """Those of some figures that there are, with commas between them."""
        return ", ".join(self.say(figure) for figure in figures if self[figure] is not None)


def nested(figures: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Values by dotted name as nested mappings."""
    tree: dict[str, Any] = {}
    for name, value in figures:
        *steps, last = name.split(".")
        at = tree
        for step in steps:
            at = at.setdefault(step, {})
        at[last] = value
    return tree


def flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested mappings by dotted name."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
