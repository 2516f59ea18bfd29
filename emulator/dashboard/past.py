"""The past of a lane in columns, each a stretch of emulated time."""

from collections import deque
from itertools import pairwise
from typing import NamedTuple


class Totals(NamedTuple):
    """Running totals at one moment: seconds of workers and trainer, episodes times seconds, versions.

    `reward` is that of the last update of a learner.
    """

    t: float = 0.0
    service: float = 0.0
    busy: float = 0.0
    trainer: float = 0.0
    queue: float = 0.0
    trained: int = 0
    staleness: int = 0
    reward: float | None = None


class Column(NamedTuple):
    """The end of a column: the state of each worker, the totals until then, and the state of each engine."""

    states: bytes
    totals: Totals
    engines: bytes = b""


class Past:
    """The last columns of a lane, as many as are kept."""

    def __init__(self, kept: int) -> None:
        self.columns: deque[Column] = deque(maxlen=kept)
        self.closed = 0
        """Columns closed so far, kept or not."""

    def close(self, column: Column) -> None:
        """Take the next column."""
        self.columns.append(column)
        self.closed += 1

    def skip(self, columns: int) -> None:
        """Count columns that would be let go again before anybody looks."""
        self.columns.clear()
        self.closed += columns

    @property
    def kept(self) -> int:
        """The most columns that are kept."""
        return self.columns.maxlen or 0

    def last(self, width: int) -> list[Column]:
        """At most `width` columns, the newest last."""
        return list(self.columns)[-width:] if width > 0 else []

    def rates(self, width: int) -> "Rates":
        """What happened in each of at most `width` columns, the newest last."""
        # Each column follows from the totals at its two ends; where the run begins they are zero.
        totals = [column.totals for column in self.last(width + 1)]
        if len(totals) == self.closed:
            totals.insert(0, Totals())
        return Rates(list(pairwise(totals))[-width:] if width > 0 else [])


class Rates(NamedTuple):
    """What happened in some columns, from the totals at their ends; None where there is nothing to report."""

    ends: list[tuple[Totals, Totals]]

    def busy(self) -> list[float | None]:
        """Share of workers that generated."""
        return [_ratio(b.busy - a.busy, b.service - a.service) for a, b in self.ends]

    def trainer(self) -> list[float | None]:
        """Share of the time that the trainer updated or pushed."""
        return [_ratio(b.trainer - a.trainer, b.t - a.t) for a, b in self.ends]

    def queue(self) -> list[float | None]:
        """Mean queue depth."""
        return [_ratio(b.queue - a.queue, b.t - a.t) for a, b in self.ends]

    def staleness(self) -> list[float | None]:
        """Mean staleness of what was trained; where nothing was, that of the column before."""
        values: list[float | None] = []
        for a, b in self.ends:
            value = _ratio(b.staleness - a.staleness, b.trained - a.trained)
            values.append(value if value is not None else values[-1] if values else None)
        return values

    def reward(self) -> list[float | None]:
        """The policy's reward at the end of each."""
        return [b.reward for _, b in self.ends]


def _ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator > 0 else None
