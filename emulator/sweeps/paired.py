"""Differences between two values of an axis, seed by seed.

All points run the same seeds, so the same episodes in the same order: what two strategies share of a run's
random draws cancels in the difference, whose interval is narrower than those of the two means (common
random numbers: Law, Simulation Modeling and Analysis, 5th ed. 2015, section 11.2).
"""

from dataclasses import dataclass

from emulator.sweeps.axes import Cell
from emulator.sweeps.intervals import interval
from emulator.sweeps.table import Sweep


@dataclass(frozen=True)
class Difference:
    """Mean of the figure at `b` minus the figure at `a`, with its 95 % interval.

    `point` has the values of the other axes, and `pairs` says of how many seeds it is. The mean is None
    without a pair, the interval is None with fewer than three.
    """

    point: dict[str, Cell]
    a: Cell
    b: Cell
    mean: float | None
    low: float | None
    high: float | None
    pairs: int


def paired_differences(sweep: Sweep, figure: str, axis: str) -> list[Difference]:
    """The differences of a figure from the first value of an axis to each other, at every other point.

    Only seeds that have the figure at both ends count. In order of the other axes, then of the values of
    `axis`. KeyError if there is no such axis or figure.
    """
    axes = {a.path: a for a in sweep.axes}
    if axis not in axes:
        raise KeyError(f"{axis}; the axes are {', '.join(axes)}")
    if figure not in sweep.figures:
        raise KeyError(f"{figure}; the figures are {', '.join(sweep.figures)}")
    others = [path for path in axes if path != axis]
    # In the order of the grid, so that the differences are in it too, though some rows may lack.
    values: dict[tuple[Cell, ...], dict[Cell, dict[int, float]]] = {}
    for point in sweep.points:
        values.setdefault(tuple(point.values[path] for path in others), {})[point.values[axis]] = {}
    for row in sweep.rows:
        if row[figure] is not None:
            values[tuple(row[path] for path in others)][row[axis]][row["seed"]] = row[figure]
    first, *rest = axes[axis].values
    return [
        _difference(dict(zip(others, point, strict=True)), first, value, at[first], at[value])
        for point, at in values.items()
        for value in rest
    ]


def _difference(
    point: dict[str, Cell], a: Cell, b: Cell, at_a: dict[int, float], at_b: dict[int, float]
) -> Difference:
    found = interval([at_b[seed] - at_a[seed] for seed in at_a if seed in at_b])
    return Difference(point, a, b, found.mean, found.low, found.high, found.n)
