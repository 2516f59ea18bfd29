"""The table that a sweep makes: its rows, and a summary of each point."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from emulator.figures.spec import LISTS
from emulator.scenario import Scenario
from emulator.sweeps.axes import Axis
from emulator.sweeps.grid import Grid, Point
from emulator.sweeps.intervals import interval
from emulator.sweeps.jobs import Row


@dataclass(frozen=True)
class Sweep:
    """The rows of a sweep, one a run, in order: first axis outermost, seeds innermost.

    A row has ``run`` (its number from 0), the value of each axis under its path, ``seed``, ``error`` (None,
    or why the run has no figures), every figure of `Run.result` by dotted name (seconds, shares or counts as
    there), and ``trace_sha256``. An interrupted sweep lacks rows.
    """

    grid: Grid = field(repr=False)
    rows: list[Row] = field(repr=False)
    interrupted: bool = False

    @property
    def scenario(self) -> Scenario:
        """The scenario that the axes vary."""
        return self.grid.scenario

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What varies."""
        return self.grid.axes

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, the same at every point."""
        return self.grid.seeds

    @property
    def points(self) -> tuple[Point, ...]:
        """The points of the grid, in order, each with its scenario."""
        return self.grid.points

    @property
    def figures(self) -> list[str]:
        """The columns that hold numbers of the runs, in order."""
        return [column for name, column in self.grid.figures.items() if name not in LISTS]

    @property
    def failed(self) -> list[Row]:
        """The rows with an error."""
        return [row for row in self.rows if row["error"] is not None]

    def column(self, name: str) -> list[Any]:
        """One column of the rows; KeyError for a name that they do not have."""
        if name not in self.grid.columns:
            raise KeyError(f"{name}; a row has {', '.join(self.grid.columns)}")
        return [row[name] for row in self.rows]

    def at(self, point: int) -> list[Row]:
        """The rows of a point, by its number from 0, in order of their seeds."""
        first = point * len(self.seeds)
        return [row for row in self.rows if first <= row["run"] < first + len(self.seeds)]

    @cached_property
    def _laws(self) -> list[dict[str, float]]:
        return [_known(point.scenario) for point in self.points]

    def _place(self, column: str) -> tuple[int, int]:
        """Where a column of theory stands: by its kind, then as the figures do."""
        kind, _, name = column.partition(".")
        figures = self.figures
        return _KINDS.index(kind), figures.index(name) if name in figures else len(figures)

    def summary(self) -> list[dict[str, Any]]:
        """One dict a point, in order: the axes, ``runs``, ``failed``, and each figure's mean and interval.

        The figure F of the runs that did not fail gives ``F.mean``, ``F.se`` (its standard error) and
        ``F.low`` and ``F.high`` (its 95 % interval by Student's t), None where too few runs have it. Where
        some runs lack it, as those do in which a learner never got far, ``F.n`` counts those that have it.
        Where a law of `emulator.theory` holds, ``theory.F`` has what it expects, ``tends_to.F`` what F tends
        to in a long run, and ``at_most.F`` what F never exceeds; ``tends_to`` has also
        ``episodes.dropped_share``, of those finished.
        """
        by_point: list[list[Row]] = [[] for _ in self.points]
        for row in self.rows:
            by_point[row["run"] // len(self.seeds)].append(row)
        ended = [row for row in self.rows if row["error"] is None]
        partial = {name for name in self.figures if any(row[name] is None for row in ended)}
        laws = self._laws
        known = sorted({column for law in laws for column in law}, key=self._place)
        return [
            {
                **point.values,
                "runs": len(rows),
                "failed": sum(row["error"] is not None for row in rows),
                **_intervals(self.figures, partial, rows),
                **{column: law.get(column) for column in known},
            }
            for point, rows, law in zip(self.points, by_point, laws, strict=True)
        ]


_KINDS = ("theory", "tends_to", "at_most")


def _known(scenario: Scenario | None) -> dict[str, float]:
    """What theory says of the figures of a scenario, where a law holds, by column."""
    if scenario is None:
        return {}
    from emulator.theory import expected, limits  # noqa: PLC0415  (it takes long to import)

    laws = {f"theory.{name}": law.mean for name, law in expected(scenario).items()}
    bounds = {f"{law.kind.replace(' ', '_')}.{name}": law.value for name, law in limits(scenario).items()}
    return laws | bounds


def _intervals(
    figures: Sequence[str], partial: Collection[str], rows: Sequence[Row]
) -> dict[str, float | None]:
    summary: dict[str, float | None] = {}
    for name in figures:
        values = [row[name] for row in rows if row["error"] is None and row[name] is not None]
        found = interval(values)
        if name in partial:
            summary[f"{name}.n"] = len(values)
        for part in ("mean", "se", "low", "high"):
            summary[f"{name}.{part}"] = getattr(found, part)
    return summary
