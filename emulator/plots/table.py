"""The numbers of a sweep by point of its grid: estimates, theory, paired differences, staleness counts."""

from collections.abc import Mapping
from typing import Any

from emulator.figures.result import Quantity
from emulator.figures.spec import STALENESS_HISTOGRAM
from emulator.figures.text import count
from emulator.plots.charts import Estimate
from emulator.plots.plan import Point, Swept, swept
from emulator.sweeps.paired import paired_differences
from emulator.sweeps.table import Sweep


class Table:
    """The rows of a sweep that did not fail, gathered by point."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self.scenario = sweep.scenario
        self.seeds = sweep.seeds
        self.paths = tuple(axis.path for axis in sweep.axes)
        self.failed = len(sweep.failed)
        missing = sweep.grid.runs - len(sweep.rows)
        self.interrupted = f"{count(missing, 'run')} yet to come" if missing else ""
        whole = all(point.scenario is None or point.scenario.strategy.whole_batches for point in sweep.points)
        self.short_batches = "" if whole else "updates may be on fewer episodes than a batch"
        self.axes: tuple[Swept, ...] = swept(self.paths, sweep.rows)
        self._summary = {self._point(row): row for row in sweep.summary()}
        self._runs: dict[Point, list[Mapping[str, Any]]] = {}
        for row in sweep.rows:
            if row["error"] is None:
                self._runs.setdefault(self._point(row), []).append(row)

    def _point(self, row: Mapping[str, Any]) -> Point:
        return tuple(row[path] for path in self.paths)

    @property
    def empty(self) -> bool:
        """Whether no run came to an end."""
        return not self._runs

    def estimate(self, point: Point, figure: Quantity[float]) -> Estimate | None:
        """The mean of a figure at a point with its interval, in its unit."""
        row, scale = self._summary.get(point, {}), figure.format.factor
        mean, low, high = (row.get(f"{figure.name}.{end}") for end in ("mean", "low", "high"))
        if mean is None:
            return None
        if low is None or high is None:
            return Estimate(mean * scale)
        return Estimate(mean * scale, low * scale, high * scale)

    def theory(self, point: Point, figure: Quantity[float]) -> float | None:
        """What theory expects of a figure at a point, in its unit."""
        value = self._summary.get(point, {}).get(f"theory.{figure.name}")
        return None if value is None else float(value) * figure.format.factor

    def differences(self, axis: int, figure: Quantity[float]) -> dict[Point, Estimate]:
        """By how much a figure differs at a point from the first value of an axis, over common seeds."""
        found: dict[Point, Estimate] = {}
        for difference in paired_differences(self._sweep, figure.name, self.paths[axis]):
            if difference.mean is not None:
                at = {**difference.point, self.paths[axis]: difference.b}
                found[self._point(at)] = Estimate(difference.mean, difference.low, difference.high)
        return found

    def staleness(self, point: Point) -> tuple[int, ...]:
        """How many trained episodes were 0, 1, 2, … versions stale, over all seeds of a point."""
        histograms = [row[STALENESS_HISTOGRAM.name] or [] for row in self._runs.get(point, [])]
        top = max(map(len, histograms), default=0)
        return tuple(sum(h[k] for h in histograms if k < len(h)) for k in range(top))
