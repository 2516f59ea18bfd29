"""Strategies in rounds, over a run of finite length: `synchronous`, and `one_step_off`.

Rounds are independent and alike, so that the updates are a renewal process, and their number by the end is
known from the first episode on: ``E[N] = Σ_n P(T_n <= T)`` and ``E[N²] = Σ_n (2n - 1) P(T_n <= T)``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import hypot, sqrt

import numpy as np

from emulator.theory.laws import above_maximum
from emulator.theory.renewal import Durations, Grid, Transform, Values, atoms
from emulator.values.distributions import Distribution

_FEW_BATCHES = 25
_RARE = 1e-6
_SELDOM = 0.05
_MOST_ALIKE = 0.02
_ROUNDS_TO_SMEAR = 5
_CLEAR_SPREAD = 0.1


@dataclass(frozen=True)
class RoundFigures:
    """What rounds come to by the end of a run."""

    updates: float
    updates_deviation: float
    times_known: bool
    """Whether seconds can be told: not where rounds are so alike that what the grid blurs is all there is."""
    updates_known: bool
    """Whether updates can: nor where many rounds are equally long, so that one may end just with the run."""
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

    def figures(self, grid: Grid) -> RoundFigures:
        """The figures at the end of the grid."""
        if self.durations.constant and not self.update.variance():
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
            if not self.update.variance():
                # Moved to the grid at once, it is blurred once.
                constant = self.update.mean() + self.push_seconds
                cycle = grid.duration(lambda x: self.closed(x - constant))
            taken = generation / (1 - cycle)
            begun = 1 / (1 - cycle)
            pushed = taken * update
            done = cycle / (1 - cycle)
        updates, deviation = _number(grid, done, done * (1 + cycle) / (1 - cycle))
        spread, together = self._spread(grid)
        wide = spread > grid.step
        smeared = together < _MOST_ALIKE or (1 - together) * updates >= _ROUNDS_TO_SMEAR
        told = not self.overlapping or (wide and smeared)
        batches = grid.coefficients(taken)
        busy = grid.total(batches, grid.held(self.update))
        if self.push_seconds:
            busy += grid.total(grid.coefficients(pushed), np.minimum(grid.times, self.push_seconds))
        generating = grid.total(grid.coefficients(begun), self._generated(grid))
        if self.issued == 1 and not (self.update.mean() or self.push_seconds):
            generating = grid.end  # the one episode of a round is followed at once by the next
        return RoundFigures(
            updates=updates,
            updates_deviation=deviation,
            times_known=wide and (smeared or spread > _CLEAR_SPREAD * grid.end / (updates + 1)),
            updates_known=wide and smeared,
            lag=self._lag(grid, generation, cycle, float(batches.sum())) if told else None,
            generating_seconds=generating,
            busy_seconds=busy,
        )

    def _certain(self, end: float) -> RoundFigures:
        """The figures where nothing is left to chance: every round in turn, in the sums that a run makes."""
        generation, update, push = self.durations.mean, self.update.mean(), self.push_seconds
        updates = batches = 0
        generated = busy = begun = free = 0.0
        while begun <= end:
            generated += min(end - begun, generation)
            complete = begun + generation
            if self.overlapping and batches:
                # The batch before is pushed once this one is complete too.
                pushed = max(complete, free)
                complete = pushed + push
                busy += min(max(0.0, end - pushed), push)
                updates += (complete if push else free) <= end
            if complete > end:
                break
            batches += 1
            free = complete + update
            busy += min(end - complete, update)
            begun = complete
            if not self.overlapping:
                begun = free + push
                busy += min(max(0.0, end - free), push)
                updates += begun <= end
        lag = (1 - 1 / batches if self.overlapping else 0.0, 0.0) if batches else None
        return RoundFigures(float(updates), 0.0, True, True, lag, generated * self.issued, busy)

    def _spread(self, grid: Grid) -> tuple[float, float]:
        """The deviation of a round, in seconds, and the chance that it is just as long as others."""
        episode = np.array(sorted(atoms(self.durations.distribution))) / self.durations.speed
        update = np.array(sorted(atoms(self.update)))
        if self.overlapping:

            def both(x: Values) -> Values:
                return np.asarray(self.closed(x) * self.update.cdf(x))

            return _deviation(grid, both), _together(both, np.append(episode, update))
        deviation = hypot(_deviation(grid, self.closed), sqrt(self.update.variance()))
        together = _together(self.closed, episode) * _together(self.update.cdf, update)
        return deviation, together

    def _lag(
        self, grid: Grid, generation: Transform, cycle: Transform, batches: float
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

    def _generated(self, grid: Grid) -> Values:
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


def _deviation(grid: Grid, cdf: Callable[[Values], Values]) -> float:
    """The deviation of a duration, as far as the grid goes."""
    survival = 1.0 - np.diff(grid.integral(cdf)) / np.diff(grid.times)
    mean, square = (float(survival @ np.diff(grid.times**power)) for power in (1, 2))
    return sqrt(max(0.0, square - mean**2))


def _together(cdf: Callable[[Values], Values], at: Values) -> float:
    """The chance of the durations that are often equal, of those that may be."""
    jumps = cdf(at * (1 + 1e-9)) - cdf(at * (1 - 1e-9) - 1e-12)
    return float(jumps[jumps > _MOST_ALIKE].sum())


def _number(grid: Grid, happenings: Transform, squares: Transform) -> tuple[float, float]:
    """Mean and deviation of a number, from the transforms of its density and of that of its square."""
    mean = float(grid.coefficients(happenings).sum())
    return mean, sqrt(max(0.0, float(grid.coefficients(squares).sum()) - mean**2))


def _lag(grid: Grid, first: Transform, cycle: Transform, mean: float) -> tuple[float, float]:
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
