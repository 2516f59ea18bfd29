"""What a frame is drawn from: folded lanes, and how the clock is said to go."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from emulator.clock import Speed
from emulator.dashboard.history import History
from emulator.dashboard.scale import Scale
from emulator.events import Event
from emulator.figures import Figures
from emulator.figures.result import Figure
from emulator.scenario import Scenario

T = TypeVar("T")


@dataclass
class ShownLane:
    """A lane as folded from its events. `error` says why it could not go on."""

    scenario: Scenario
    figures: Figures
    history: History
    error: str | None = None

    def busy(self) -> tuple[float, float]:
        """How busy workers and trainer were so far, as shares of their time."""
        totals = self.history.totals()
        return totals.busy / (totals.service or 1.0), totals.trainer / (totals.t or 1.0)

    def value(self, figure: Figure[T]) -> T | None:
        """A figure of the lane so far."""
        return self.figures.value(figure, self.history.t)

    def say(self, figure: Figure[Any]) -> str:
        """The same among others, in words."""
        return figure.say(self.value(figure))

    @classmethod
    def fresh(cls, scenario: Scenario, scale: Scale) -> "ShownLane":
        """A lane to which nothing has happened yet."""
        return cls(scenario, Figures(scenario), History(scenario, scale))

    def add(self, events: Iterable[Event]) -> None:
        """Take in the next events, in their order."""
        events = list(events)
        self.figures.add(events)
        self.history.add(events)

    @property
    def name(self) -> str:
        """What the lane is called in a frame."""
        return (self.scenario.lane or self.scenario.strategy.kind.replace("_", " ")).upper()

    @property
    def limit(self) -> float | None:
        """The most versions of lag that the strategy allows; None if it sets no limit."""
        return self.scenario.strategy.limit


@dataclass(frozen=True)
class ClockReading:
    """What a frame says about the clock: emulated time, the speed asked for and the one achieved recently."""

    t: float
    asked: Speed
    achieved: float | None = None
    paused: bool = False
    frames: float | None = None
    """Frames per second, where they are fewer than asked for."""


@dataclass(frozen=True)
class Looking:
    """What a person chose to look at: which lane of a race, its workers as a raster, the help.

    `notice` takes the place of the keys; without `keys` neither is there. In a `replay` there are other keys.
    """

    zoom: int | None = None
    raster: bool = False
    help: bool = False
    notice: str | None = None
    keys: bool = True
    replay: bool = False
