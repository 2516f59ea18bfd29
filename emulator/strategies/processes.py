"""What a strategy amounts to in exactly its configuration: processes that theory has laws for."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class IndependentRounds:
    """Rounds that do not depend on the one before, each episode of which finds a free worker at once.

    A round issues `issued` episodes and closes when a batch of them is complete; if `overlapping`, the next
    one is generated while its batch trains.
    """

    issued: int
    overlapping: bool = False


@dataclass(frozen=True)
class BusyWorkers:
    """Workers that never stop, and a trainer that takes the next batch to finish.

    If there is a `cap`, what is older by so many versions is discarded when the trainer looks; if it
    `cancels`, also while it is generated. If it `refreshes`, running episodes move to a new version.
    """

    cap: float | None = None
    cancels: bool = False
    refreshes: bool = False


Process = IndependentRounds | BusyWorkers
"""Any of the processes that theory knows."""


@dataclass(frozen=True)
class StalenessBound:
    """A bound on the mean or the highest staleness of every run, in versions, and why it holds where."""

    statistic: Literal["mean", "max"]
    value: float
    law: str
    holds: str


@dataclass(frozen=True)
class Pace:
    """How the trainer holds workers back: episodes started for each update, and how many more may be out."""

    each: float
    ahead: float
