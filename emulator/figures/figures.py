"""Figures: what the events of one lane amount to at any moment.

They come from the scenario and the events alone: a replayed recording gives the figures of the live run.
"""

from typing import Any, TypeVar

from emulator.figures.accounts import LaneAccounts, Reading
from emulator.figures.result import Figure, nested
from emulator.figures.spec import FIGURES

T = TypeVar("T")


class Figures(LaneAccounts):
    """The figures of one lane: give it its events with `add` or `add_block`, and read them at any time."""

    def value(self, figure: Figure[T], t: float) -> T | None:
        """One figure of the run from 0 to `t`."""
        return figure.value(Reading(self, t))

    def listed(self) -> list[Figure[Any]]:
        """The figures that this lane has, in the order of its result."""
        return [figure for figure in FIGURES if figure.section.is_in(self)]

    def result(self, t: float) -> dict[str, Any]:
        """All figures of the run from 0 to `t`, under the names of the result JSON."""
        reading = Reading(self, t)
        return nested((figure.name, figure.value(reading)) for figure in self.listed())
