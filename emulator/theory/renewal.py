"""Renewal theory for a run of finite length, on a grid of equal steps.

A duration is moved to one of its two neighbouring multiples of the step, at random so that its mean stays;
sums of durations are then products of polynomials, and sums over all numbers of them are geometric series.
Each is evaluated on a circle of radius below 1 by a discrete Fourier transform, which makes what wraps around
negligible (Embrechts, Grübel and Pitts, Statistica Neerlandica 47, 1993). The series are in Cox, Renewal
Theory, 1962.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.values.distributions import Distribution

Values = NDArray[Any]
Transform = NDArray[np.complex128]

FEWEST_CELLS = 1 << 13
MOST_CELLS = 1 << 16
_CELLS_TO_A_MEAN = 16
_CELLS_TO_A_DEVIATION = 6
_PARTS = 8
_DAMPING = 1e-6  # of the last coefficient: as far from its square, which wraps around, as from rounding


@dataclass(frozen=True)
class Durations:
    """How long episodes take workers of one `speed`, in seconds."""

    distribution: Distribution
    speed: float = 1.0

    def survival(self, x: Values) -> Values:
        """``P(d > x)``."""
        return self.distribution.survival(x * self.speed)

    @property
    def mean(self) -> float:
        """The mean."""
        return self.distribution.mean() / self.speed

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return float(self.distribution.variance() ** 0.5) / self.speed


@dataclass(frozen=True)
class TimeGrid:
    """Times from 0 to `end` (seconds) in so many `cells`, the last cut in half.

    Half: of what happens in a cell, the part that is moved back to its beginning counts as by its middle.
    """

    end: float
    cells: int

    @cached_property
    def step(self) -> float:
        """Seconds of a cell."""
        return self.end / (self.cells + 0.5)

    @cached_property
    def times(self) -> Values:
        """The times that cumulative sums of coefficients stand for, 0 before them."""
        return np.append(0.0, (np.arange(self.cells + 1) + 0.5) * self.step)

    @cached_property
    def _damping(self) -> Values:
        return np.asarray(_DAMPING ** (np.arange(self.cells + 1) / self.cells))

    def duration(self, cdf: Callable[[Values], Values]) -> Transform:
        """The transform of a duration with the cumulative distribution function."""
        within = _integrals(cdf, np.arange(self.cells + 2) * self.step)
        return self.transform(np.diff(within / self.step, prepend=0.0))

    def constant(self, seconds: float) -> Transform:
        """The transform of a duration that is always the same."""
        masses = np.zeros(self.cells + 2)
        whole, part = divmod(min(seconds / self.step, self.cells + 0.0), 1)
        masses[int(whole)], masses[int(whole) + 1] = 1 - part, part
        return self.transform(masses[:-1])

    def of(self, distribution: Distribution) -> Transform:
        """The transform of a duration that is distributed so."""
        return (
            self.duration(distribution.cdf) if distribution.variance() else self.constant(distribution.mean())
        )

    def transform(self, coefficients: Values) -> Transform:
        """The transform of coefficients, one a multiple of the step."""
        return np.asarray(np.fft.rfft(coefficients * self._damping, 2 * (self.cells + 1)))

    def coefficients(self, transform: Transform) -> Values:
        """The coefficients of a transform: expected numbers of happenings at each multiple of the step."""
        return np.asarray(np.fft.irfft(transform, 2 * (self.cells + 1))[: self.cells + 1] / self._damping)

    def held(self, distribution: Distribution) -> Values:
        """The mean seconds by each of `times` in a state that lasts for one draw: ``∫ P(value > x) dx``."""
        if not distribution.variance():
            return np.minimum(self.times, distribution.mean())
        return self.integral(distribution.survival)

    def integral(self, function: Callable[[Values], Values]) -> Values:
        """The integral of a function of seconds from 0 to each of `times`."""
        return np.append(0.0, np.cumsum(_integrals(function, self.times)))

    def total(self, happenings: Values, held: Values) -> float:
        """Seconds until the end in a state that each of `happenings` begins, and that is `held` as long."""
        left = self.end - self.step * np.arange(self.cells + 1)
        return float(happenings @ np.interp(left, self.times, held))


def _integrals(function: Callable[[Values], Values], edges: Values) -> Values:
    """The integrals of a function from each edge to the next, by the midpoints of equal parts."""
    widths = np.diff(edges)
    middles = edges[:-1, None] + widths[:, None] * ((np.arange(_PARTS) + 0.5) / _PARTS)
    return np.asarray(function(middles.ravel()).reshape(middles.shape).mean(axis=1) * widths)


def grid_for(end: float, mean: float, deviation: float, most_cells: int = MOST_CELLS) -> TimeGrid:
    """A grid fine enough for durations of that mean and deviation, if so many cells will do."""
    finest = min(mean / _CELLS_TO_A_MEAN, deviation / _CELLS_TO_A_DEVIATION or mean)
    cells = min(end / finest, most_cells)
    return TimeGrid(end, 1 << max(FEWEST_CELLS - 1, math.ceil(cells) - 1).bit_length())


@dataclass(frozen=True)
class Renewals:
    """The episodes that one worker finishes, one after the other without a pause, from time 0 on."""

    durations: Durations
    grid: TimeGrid

    @cached_property
    def _transform(self) -> Transform:
        return self.grid.duration(lambda x: 1.0 - self.durations.survival(x))

    @cached_property
    def density(self) -> Values:
        """The expected number finished at each multiple of the step, ``m(t) = Σ_k P(S_k <= t)``."""
        p = self._transform
        return self.grid.coefficients(p / (1 - p))

    @cached_property
    def mean(self) -> Values:
        """The expected number finished by each of the grid's times."""
        return np.append(0.0, np.cumsum(self.density))

    @cached_property
    def variance(self) -> Values:
        """Its variance, from ``E[N²] = Σ_k (2k - 1) P(S_k <= t)``."""
        p = self._transform
        squares = np.cumsum(self.grid.coefficients(p * (1 + p) / (1 - p) ** 2))
        return np.asarray(np.maximum(np.append(0.0, squares) - self.mean**2, 0.0))

    def finished(self, x: Values | float) -> Values:
        """``m(x)`` at any time."""
        return np.asarray(np.interp(x, self.grid.times, self.mean))

    def steady_variance(self, x: Values) -> Values:
        """The variance of the number finished within `x` seconds, of a worker that has long been at it.

        ``Var = 2/μ ∫ m(s) ds + x/μ - (x/μ)²`` (Cox, section 4.5).
        """
        widths = np.diff(self.grid.times)
        integral = np.append(0.0, np.cumsum((self.mean[1:] + self.mean[:-1]) / 2 * widths))
        expected = x / self.durations.mean
        both = 2 / self.durations.mean * np.interp(x, self.grid.times, integral)
        variance: Values = np.maximum(both + expected - expected**2, 0.0)
        return variance

    @cached_property
    def _survival(self) -> Values:
        return self.durations.survival(np.arange(self.grid.cells + 1) * self.grid.step)

    def still_running(self, t: Values, later: float) -> Values:
        """The chance that the episode that runs at each of the times `t` has not finished at `later`.

        ``P(d > later) + ∫ P(d > later - s) dm(s)`` up to `t`: it began at 0, or when another finished.
        """
        last = min(int(later / self.grid.step), self.grid.cells)
        begun = np.cumsum(self.density[: last + 1] * self._survival[last::-1])
        return np.asarray(
            self._survival[last] + np.interp(t, self.grid.times[: last + 2], np.append(0.0, begun))
        )
