"""What each candidate came to: its figures over the seeds, and whether two candidates differ in one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from emulator.figures import spec as f
from emulator.figures.result import Quantity
from emulator.figures.text import count
from emulator.scenario import Scenario
from emulator.strategies import Strategy
from emulator.sweeps import Sweep
from emulator.sweeps.intervals import Interval, interval

UPDATES, STALENESS, BIAS = f.UPDATES_PER_HOUR.name, f.STALENESS.name, f.LENGTH_BIAS.name
_MADE_OF: tuple[Quantity[float], ...] = (
    f.UPDATES_PER_HOUR,
    f.BATCH_MEAN,
    f.STALENESS,
    f.STALENESS_P95,
    f.STALENESS_MAX,
    f.LENGTH_BIAS,
    f.WORKERS_BUSY,
    f.GOODPUT,
)
FIGURES = tuple(figure.name for figure in _MADE_OF)
"""The figures that advice is made of."""

PACE = "batches_per_hour"
"""What options are ranked by: updates per hour, each as the part of a batch that it is on.

So short batches are no way to more of them; where all are whole it is `UPDATES`.
"""


@dataclass(frozen=True)
class Option:
    """A strategy with a number of workers, and what it came to.

    `values` has `PACE` and each figure of `FIGURES` by seed, in the units of the result; `failed` of the
    `runs` have none, for `error`. `traces` are the hashes of the runs. `resolution` is one update of a run in
    updates per hour: what is closer than that, of one seed, is the same.
    """

    strategy: Strategy
    workers: int
    runs: int
    failed: int = 0
    error: str | None = None
    values: Mapping[str, Mapping[int, float]] = field(default_factory=dict, repr=False)
    traces: tuple[str | None, ...] = field(default=(), repr=False)
    resolution: float = 1.0

    @property
    def family(self) -> str:
        """How it waits, whatever its numbers."""
        return self.strategy.family

    @property
    def like(self) -> str:
        """The systems that wait like it, with their knobs."""
        return self.strategy.systems

    @property
    def strategy_name(self) -> str:
        """The strategy in few words: ``asynchronous, gate 2``."""
        return self.strategy.among_others

    @property
    def name(self) -> str:
        """The strategy and the workers, in few words."""
        return f"{self.strategy_name}, {count(self.workers, 'worker')}"

    @property
    def works(self) -> bool:
        """Whether every run went to its end and something was trained."""
        return (
            not self.failed
            and bool(self.runs)
            and bool(self.mean(UPDATES))
            and self.mean(STALENESS) is not None
        )

    @cached_property
    def figures(self) -> dict[str, Interval]:
        """`PACE` and each figure of `FIGURES`: its mean over the seeds that have it, with a 95 % interval."""
        return {name: interval(list(self.values.get(name, {}).values())) for name in (PACE, *FIGURES)}

    def mean(self, figure: str) -> float | None:
        """The mean of a figure over the seeds that have it."""
        return self.figures[figure].mean

    def changes(self, scenario: Scenario) -> dict[str, Any]:
        """What must change in the scenario to have it: ``rollout.workers``, and ``strategy`` as a whole."""
        changed: dict[str, Any] = {}
        if self.workers != scenario.rollout.workers:
            changed["rollout"] = {"workers": self.workers}
        if self.strategy != scenario.strategy:
            changed["strategy"] = self.strategy.options()
        return changed


def difference(a: Option, b: Option, figure: str, resolution: float) -> float:
    """How much more `a` has of a figure than `b`, and 0 where that cannot be told from none.

    That is a mean difference, seed by seed, within `resolution` or whose 95 % interval includes 0 (paired by
    common random numbers, as in `emulator.sweeps.paired`). One seed, which has no interval, is
    believed.
    """
    at_a, at_b = a.values.get(figure, {}), b.values.get(figure, {})
    found = interval([at_a[seed] - at_b[seed] for seed in at_a if seed in at_b], fewest=2)
    if found.mean is None or abs(found.mean) <= resolution:
        return 0.0
    if found.low is not None and found.high is not None and found.low <= 0 <= found.high:
        return 0.0
    return found.mean


def options_of(sweep: Sweep) -> tuple[Option, ...]:
    """The points of a sweep over ``strategy`` and ``rollout.workers`` as options, in order."""
    by_point: list[list[dict[str, Any]]] = [[] for _ in sweep.points]
    for row in sweep.rows:
        by_point[row["run"] // len(sweep.seeds)].append(row)
    options = []
    for point, rows in zip(sweep.points, by_point, strict=True):
        if point.scenario is None:
            continue
        batch = point.scenario.trainer.batch_size
        well = [row for row in rows if row["error"] is None]
        paced = [{**row, PACE: _pace(row, batch)} for row in well]
        options.append(
            Option(
                strategy=point.scenario.strategy,
                workers=point.scenario.rollout.workers,
                runs=len(rows),
                failed=len(rows) - len(well),
                error=next((row["error"] for row in rows if row["error"] is not None), None),
                values={
                    name: {row["seed"]: row[name] for row in paced if row.get(name) is not None}
                    for name in (PACE, *FIGURES)
                },
                traces=tuple(row.get("trace_sha256") for row in rows),
                resolution=3600.0 / point.scenario.duration,
            )
        )
    return tuple(options)


def _pace(row: Mapping[str, Any], batch_size: int) -> float | None:
    """`PACE` of a run; None where it has no updates per hour."""
    updates, size = row.get(UPDATES), row.get(f.BATCH_MEAN.name)
    return updates if updates is None or size is None else updates * (size / batch_size)
