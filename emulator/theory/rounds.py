"""Strategies in rounds, over a run of finite length: `synchronous`, and `one_step_off`.

Rounds are independent and alike, so that the updates are a renewal process, and their number by the end is
known from the first episode on: ``E[N] = Σ_n P(T_n <= T)`` and ``E[N²] = Σ_n (2n - 1) P(T_n <= T)``.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from emulator.theory.laws import above_maximum
from emulator.theory.renewal import Durations, TimeGrid, Transform, Values
from emulator.values.distributions import Distribution

_FEW_BATCHES = 25
_RARE = 1e-6
_SELDOM = 0.05


@dataclass(frozen=True)
class RoundFigures:
    """What rounds come to by the end of a run."""

    updates: tuple[float, float]
    """Mean and deviation."""
    lag: tuple[float, float] | None
    """Mean and deviation of ``1 - 1 / N`` over the batches taken: all but the first lag by one version.

    None where there may well be no batch at all.
    """
    generating_seconds: float
    busy_seconds: float
    """Of the trainer."""


@dataclass(frozen=True)
class Rounds:
    """Rounds that issue so many episodes to as many workers, and close when a batch of them is complete."""

    durations: Durations
    batch_size: int
    issued: int
    update: Distribution
    push_seconds: float
    overlapping: bool
    """Whether the next round is generated during the update, as in `one_step_off`."""

    @property
    def certain(self) -> bool:
        """Whether every round lasts equally long."""
        return not self.durations.deviation and not self.update.variance()

    @property
    def alike(self) -> float:
        """The share of rounds that last just as long as an update, which is constant."""
        constant = self.overlapping and not self.update.variance()
        return float(self.closed(np.array([self.update.mean()]))[0]) if constant else 0.0

    def figures(self, grid: TimeGrid) -> RoundFigures:
        """The figures at the end of the grid."""
        if self.certain:
            return self._certain(grid.end)
        update, push = grid.of(self.update), grid.constant(self.push_seconds)
        generation = grid.duration(self.closed)
        if self.overlapping:
            both = grid.duration(lambda x: self.closed(x) * self.update.cdf(x))
            cycle = both * push
            taken = generation / (1 - cycle)
            begun = 1 + taken
            pushed = taken * both
            done = pushed * push if self.push_seconds else taken * update
        else:
            cycle = generation * update * push
            taken = generation / (1 - cycle)
            begun = 1 / (1 - cycle)
            pushed = taken * update
            done = pushed * push
        batches = grid.coefficients(taken)
        busy = grid.total(batches, grid.held(self.update))
        busy += grid.total(grid.coefficients(pushed), np.minimum(grid.times, self.push_seconds))
        return RoundFigures(
            updates=_number(grid, done, done * (1 + cycle) / (1 - cycle)),
            lag=self._lag(grid, generation, cycle, float(batches.sum())),
            generating_seconds=grid.total(grid.coefficients(begun), self._generated(grid)),
            busy_seconds=busy,
        )

    def _certain(self, end: float) -> RoundFigures:
        episode, update, push = self.durations.mean, self.update.mean(), self.push_seconds
        wait = max(episode, update) if self.overlapping else update  # until the push
        cycle = wait + push + (0.0 if self.overlapping else episode)
        taken = episode + cycle * np.arange(int(end / cycle) + 1)
        taken = taken[taken <= end]
        begun = np.append(0.0, taken if self.overlapping else taken + wait + push)
        done = taken + (wait + push if push else update)
        busy = np.minimum(end - taken, update) + np.clip(end - taken - wait, 0.0, push)
        lag = (1 - 1 / len(taken) if self.overlapping else 0.0, 0.0) if len(taken) else None
        generating = self.issued * float(np.clip(end - begun, 0.0, episode).sum())
        return RoundFigures((float((done <= end).sum()), 0.0), lag, generating, float(busy.sum()))

    def _lag(
        self, grid: TimeGrid, generation: Transform, cycle: Transform, batches: float
    ) -> tuple[float, float] | None:
        """The lag of batches; None where too many runs have none."""
        if 1 - float(grid.coefficients(generation).sum()) > _SELDOM:
            return None
        return _lag(grid, generation, cycle, batches) if self.overlapping else (0.0, 0.0)

    def closed(self, x: Values) -> Values:
        """The chance that a round is generated within `x`: a batch of those issued has finished."""
        if self.issued == self.batch_size:
            return 1.0 - above_maximum(self.durations.survival(x), self.batch_size)
        from scipy.special import betainc  # type: ignore[import-untyped]  # noqa: PLC0415  (takes long to import)

        finished = 1.0 - self.durations.survival(x)
        return np.asarray(betainc(self.batch_size, self.issued - self.batch_size + 1, finished))

    def _generated(self, grid: TimeGrid) -> Values:
        """The mean seconds that a round has generated by each of the grid's times since its beginning.

        The integral of ``N P(d > x, and fewer than B of the others are not)``, the number that run.
        """

        def running(x: Values) -> Values:
            survival = self.durations.survival(x)
            if self.issued == self.batch_size:
                return self.issued * survival
            from scipy.special import betaincc  # noqa: PLC0415  (it takes long to import)

            fewer = betaincc(self.batch_size, self.issued - self.batch_size, 1.0 - survival)
            return np.asarray(self.issued * survival * fewer)

        return grid.integral(running)


def _number(grid: TimeGrid, happenings: Transform, squares: Transform) -> tuple[float, float]:
    """Mean and deviation of a number, from the transforms of its density and of that of its square."""
    mean = float(grid.coefficients(happenings).sum())
    return mean, sqrt(max(0.0, float(grid.coefficients(squares).sum()) - mean**2))


def _lag(grid: TimeGrid, first: Transform, cycle: Transform, mean: float) -> tuple[float, float]:
    """Mean and deviation of ``1 - 1 / N`` where there are batches, for the number `N` of them by the end."""
    chances: list[float] = []  # that there are at least 1, 2, 3, ...
    at_least = first
    while mean < _FEW_BATCHES and (not chances or chances[-1] > _RARE):
        chances.append(float(grid.coefficients(at_least).sum()))
        at_least = at_least * cycle
    if not chances:
        _, deviation = _number(grid, first / (1 - cycle), first * (1 + cycle) / (1 - cycle) ** 2)
        return 1 - (1 + (deviation / mean) ** 2) / mean, deviation / mean**2
    exactly = np.maximum(-np.diff(chances, append=0.0), 0.0)
    lags = 1 - 1 / np.arange(1, len(exactly) + 1)
    average = float(np.average(lags, weights=exactly))
    return average, sqrt(float(np.average((lags - average) ** 2, weights=exactly)))
