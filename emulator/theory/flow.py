"""Workers that never wait, over a run of finite length: `asynchronous` without a bound.

By time ``t`` the workers have finished ``A(t)`` episodes, the sum of ``W`` independent renewal processes:
nearly normal, of a mean and a variance that are known from the first episode on. If the workers set the pace,
the trainer has begun ``⌊A(t) / B⌋`` updates; if the trainer does, one each ``U + S`` from the first batch on.
The ages of episodes follow along the path that ``A`` takes at each of its quantiles.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from emulator.theory.renewal import Renewals, Values

_WAITS = 0.005
"""Updates of a run that may be lost by waiting for each other; if they are more, neither sets the pace."""
_LAGS = 1000
_QUANTILES = np.linspace(-5.0, 5.0, 41)
_MOST_UPDATES = 100_000


@dataclass(frozen=True)
class FlowFigures:
    """What a flow comes to by the end of a run; each figure with its standard deviation."""

    updates: tuple[float, float]
    trainer_utilisation: tuple[float, float]
    in_flight: tuple[float, float] | None
    in_queue: tuple[float, float] | None
    staleness: tuple[float, float] | None


def waves(
    episode: float, workers: int, batch_size: int, busy_seconds: float, end: float
) -> tuple[float, float] | None:
    """The number of updates and the trainer's busy seconds of constant episodes; None of too many."""
    most = int(end / episode) * workers // batch_size
    if most > _MOST_UPDATES:
        return None
    batches = np.arange(1, most + 1)
    taken = _taken(np.ceil(batches * batch_size / workers) * episode, busy_seconds, end)
    return float((taken + busy_seconds <= end).sum()), float(np.minimum(end - taken, busy_seconds).sum())


def _taken(complete: Values, busy_seconds: float, end: float) -> Values:
    """When the trainer takes each batch, by the end, of those that are `complete` at these times."""
    busy = np.arange(1, len(complete) + 1) * busy_seconds
    taken = busy + np.maximum.accumulate(complete - busy)
    return np.asarray(taken[taken <= end])


@dataclass(frozen=True)
class Flow:
    """Workers, and a trainer that is busy for a constant time with each batch (seconds, push included)."""

    renewals: Renewals
    workers: int
    batch_size: int
    busy_seconds: float
    publish_every: int = 1

    @cached_property
    def load(self) -> float:
        """How much of the trainer's time the episodes ask for: ``W (U + S) / (B E[d])``."""
        return self.workers * self.busy_seconds / (self.batch_size * self.renewals.durations.mean)

    def figures(self) -> FlowFigures | None:
        """The figures at the end of the grid; None where neither the workers nor the trainer set the pace."""
        end, busy = self.renewals.grid.end, self.busy_seconds
        if self._mean(end) / self.batch_size > _MOST_UPDATES:
            return None
        if self.load < 1:
            if self._waiting(end - busy, -1.0) > _WAITS:
                return None
            most = int((self._mean(end) + 8 * self._deviation(end)) / self.batch_size) + 1
            n = np.arange(1, most + 1)
            chances = self._finished_by(np.full(len(n), end - busy), n)
        else:
            first = float(np.interp(self.batch_size, self._path(0.0), self.renewals.grid.times, right=end))
            if self._waiting(first, 1.0) > _WAITS:
                return None
            n = np.arange(1, int(end / busy) + 1)
            chances = self._finished_by(end - n * busy, np.ones_like(n))
        return self._along_paths(_moments(chances))

    def _mean(self, x: Values | float) -> Values:
        return self.workers * self.renewals.finished(x)

    def _deviation(self, x: Values | float) -> Values:
        return np.sqrt(self.workers * np.interp(x, self.renewals.grid.times, self.renewals.variance))

    def _finished_by(self, x: Values, batches: Values) -> Values:
        """The chance that so many batches are finished by `x`."""
        margin = self._mean(x) - batches * self.batch_size + 0.5
        return np.where(x > 0, _normal_cdf(margin / np.maximum(self._deviation(x), 1e-9)), 0.0)

    def _waiting(self, around: float, sign: float) -> float:
        """At most how many updates are lost to waiting, on average.

        For the trainer (`sign` -1), the excess over a batch each that finished within its last 1, 2, 3, …
        updates before `around`; for the workers (+1), what is missing within as many after it. The sum of
        their means bounds the mean of their maximum, which is what waits (Lindley's recursion).
        """
        lags = np.arange(1, _LAGS + 1)
        spans = lags * self.busy_seconds
        inside = around - spans > 0 if sign < 0 else around + spans < self.renewals.grid.end
        lags, spans = lags[inside], spans[inside]
        moved = np.abs(self._mean(around + sign * spans) - self._mean(around))
        mean = sign * (lags * self.batch_size - moved)
        deviation = np.sqrt(self.workers * self.renewals.steady_variance(spans)) + 1e-9
        x = mean / deviation
        density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
        return float(np.sum(deviation * density + mean * _normal_cdf(x))) / self.batch_size

    def _along_paths(self, updates: tuple[float, float]) -> FlowFigures:
        weights = np.exp(-(_QUANTILES**2) / 2)
        paths = [self._path_figures(float(z)) for z in _QUANTILES]
        ages = [(w, path.ages) for w, path in zip(weights, paths, strict=True) if path.ages is not None]
        known = bool(ages) and sum(w for w, _ in ages) > 0.999 * weights.sum()
        in_flight = in_queue = staleness = None
        if known:
            weighed = [w for w, _ in ages]
            in_flight = _average(
                [a.in_flight for _, a in ages], weighed, [a.in_flight_variance for _, a in ages]
            )
            in_queue = _average(
                [a.in_queue for _, a in ages], weighed, [a.in_queue_variance for _, a in ages]
            )
            total = [a.in_flight + a.in_queue for _, a in ages]
            variances = [a.in_flight_variance + a.in_queue_variance for _, a in ages]
            staleness = _average(total, weighed, variances)
        busy = _average([path.trainer_utilisation for path in paths], weights, np.zeros(len(paths)))
        return FlowFigures(updates, busy, in_flight, in_queue, staleness)

    def _path(self, z: float) -> Values:
        """``A`` at the grid's times, at the quantile of a standard normal `z`."""
        times = self.renewals.grid.times
        return np.maximum.accumulate(np.maximum(self._mean(times) + z * self._deviation(times), 0.0))

    def _path_figures(self, z: float) -> "_Path":
        """The figures of one path."""
        end, batch, busy = self.renewals.grid.end, self.batch_size, self.busy_seconds
        path = self._path(z)
        batches = np.arange(1, int((path[-1] + 0.5) // batch) + 1)
        complete = np.interp(batches * batch - 0.5, path, self.renewals.grid.times)
        taken = _taken(complete, busy, end)
        n = len(taken)
        utilisation = float(np.minimum(busy, end - taken).sum()) / end
        if not n:
            return _Path(utilisation, None)
        last, trained = float(complete[n - 1]), batch * n
        every = slice(self.publish_every - 1, None, self.publish_every)
        published, before, idle = (taken + busy)[every], batches[:n][every], (taken == complete[:n])[every]
        missed = self.renewals.still_running(published[published <= last], last)
        # The k-th latest is missed by an episode that has seen k publications and is not trained.
        seen = np.arange(len(missed), 0, -1)
        spread = float(np.dot(2 * seen - 1, missed)) - float(missed.sum()) ** 2
        # A batch is taken as an episode finishes: its worker, unlike the others, has just begun another.
        ahead = np.interp(published, self.renewals.grid.times, path) - before * batch
        fresh = (ahead + 0.5) * (1 - 1 / self.workers) + self.renewals.finished(busy)
        queued = np.minimum(np.where(idle, fresh, ahead), trained - before * batch)[published <= taken[-1]]
        varied = self.workers * float(self.renewals.steady_variance(np.array([busy]))[0]) * len(queued)
        ages = _Ages(
            in_flight=self.workers * float((1 - missed).sum()) / trained,
            in_flight_variance=self.workers * max(0.0, spread) / trained**2,
            in_queue=max(0.0, float(queued.sum())) / trained,
            in_queue_variance=varied / trained**2 if self.load < 1 else 0.0,
        )
        return _Path(utilisation, ages)


@dataclass(frozen=True)
class _Ages:
    """Mean ages along a path, in versions, and how they vary beside it."""

    in_flight: float
    in_flight_variance: float
    in_queue: float
    in_queue_variance: float


@dataclass(frozen=True)
class _Path:
    trainer_utilisation: float
    ages: _Ages | None


def _moments(chances: Values) -> tuple[float, float]:
    """Mean and deviation of a number, from the chances that it is at least 1, 2, 3, …"""
    mean = float(chances.sum())
    square = float(np.dot(2 * np.arange(1, len(chances) + 1) - 1, chances))
    return mean, math.sqrt(max(0.0, square - mean**2))


def _average(
    values: Sequence[float], weights: Sequence[float] | Values, variances: Sequence[float] | Values
) -> tuple[float, float]:
    """Mean and deviation over paths, each with a variance beside it."""
    mean = np.average(values, weights=weights)
    variance = np.average((np.asarray(values) - mean) ** 2 + np.asarray(variances), weights=weights)
    return float(mean), math.sqrt(float(variance))


def _normal_cdf(x: Values) -> Values:
    from scipy.special import ndtr  # type: ignore[import-untyped]  # noqa: PLC0415  (it takes long to import)

    return np.asarray(ndtr(x))
