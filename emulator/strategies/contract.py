"""What a strategy says of itself; each has it in its own file, and nothing outside knows one by name."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Self

from emulator.strategies.decisions import Decisions
from emulator.strategies.processes import Pace, Process, StalenessBound
from emulator.values.scalars import Part
from emulator.values.violation import Violation


@dataclass(frozen=True)
class Setting:
    """The facts of a scenario that a strategy weighs its options against; see there for units."""

    batch_size: int
    group_size: int = 1
    group_redundancy: int = 0
    publish_every: int = 1
    push_seconds: float = 0.0
    workers: int = 1
    queue_capacity: int | None = None

    @property
    def batch_groups(self) -> int:
        """Groups in a batch."""
        return self.batch_size // self.group_size


class Strategy(Part, ABC):
    """The options of a strategy, and all that follows from them.

    A strategy that says nothing more than its decisions has its kind for a label, no limit and no law, and is
    not among what `advise` tries.
    """

    kind: str

    may_limit: ClassVar[bool] = False
    """Whether it can bound staleness, so that no limit is worth a word."""

    rests_while_training: ClassVar[bool] = False
    """Whether nothing is generated while the trainer is at work, so that both can use the same GPUs."""

    @abstractmethod
    def decisions(self, setting: Setting) -> Decisions:
        """What decides in a run, fresh."""

    def violations(self, setting: Setting) -> Iterator[Violation]:
        """The rules that the options break among themselves and in the setting."""
        yield from ()

    # -- words ----------------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """The strategy in few words, with the options that matter: ``asynchronous, gate 1``."""
        return ", ".join(self._label_words(self.options()))

    @property
    def full_label(self) -> str:
        """The same with every option that is not its default, so that no two strategies have the same."""
        options = self.options()
        words = self._label_words(options)
        return ", ".join([*words, *(f"{key.replace('_', ' ')} {value}" for key, value in options.items())])

    @property
    def among_others(self) -> str:
        """The same where strategies are compared by their limits, so that none is worth a word."""
        kind, comma, rest = self.full_label.partition(", ")
        return f"{kind}, no cap{comma}{rest}" if self.may_limit and self.limit is None else self.full_label

    def _label_words(self, options: dict[str, Any]) -> list[str]:
        return [options.pop("kind").replace("_", " "), *self._words(options)]

    def _words(self, options: dict[str, Any]) -> Iterator[str]:
        """Better words for some of the options, which are taken out."""
        yield from ()

    @property
    def family(self) -> str:
        """How workers and trainer wait for each other, whatever the numbers."""
        return self.kind

    @property
    def systems(self) -> str:
        """Systems that wait in this way, with their knobs; empty if none is known."""
        return ""

    @property
    def color(self) -> int:
        """Its preferred place among the colours of a chart, the same in every chart."""
        return 0

    @property
    def limit(self) -> float | None:
        """The most versions of lag that it aims at; None if it sets no limit."""
        return None

    @property
    def whole_batches(self) -> bool:
        """Whether every update is on a whole batch: then a recording with another one is refused."""
        return False

    def options(self) -> dict[str, Any]:
        """The options as a file gives them, without defaults, numbers as short as they can be."""
        given: dict[str, Any] = {}
        for key, value in self.model_dump(exclude_defaults=True).items():
            number = None if isinstance(value, str) else float(value)
            given[key] = value if number is None else int(number) if number.is_integer() else number
        return given

    # -- theory and advice ------------------------------------------------------------------------------

    def process(self, setting: Setting) -> Process | None:
        """The process that it is with exactly these options in this setting; None if theory knows none."""
        return None

    def bounds(self, setting: Setting) -> Iterator[StalenessBound]:
        """What staleness does not exceed in any run, whatever is injected."""
        yield from ()

    def pace(self, setting: Setting) -> Pace:
        """How far the trainer holds workers back."""
        return Pace(setting.batch_size, inf)

    @classmethod
    def tried(cls, own: Self | None, caps: Sequence[float]) -> Iterator[dict[str, Any]]:
        """The options that `advise` tries, simplest first.

        `own` are the scenario's if it has this strategy, `caps` further bounds on staleness, in versions.
        """
        yield from ()
