"""Distributions with a formula each, and what every distribution can do.

A sampler gives the next values of its sequence block by block. How the sequence is cut into blocks never
changes its values: whatever needs two kinds of draws takes them from two streams.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.random import SeedSequence, default_rng
from numpy.typing import NDArray
from pydantic import Field, model_validator

from emulator.values.scalars import Aliased, Number, Seconds, misfit

Sampler = Callable[[int], NDArray[np.float64]]
"""Gives the next ``n`` values of an endless sequence, each time it is called."""

Positive = Annotated[float, Seconds(above=True)]

Cap = Annotated[
    Positive | None,
    Field(description="What every value above it is: a limit on lengths, a hard timeout. Absent means none."),
]

# Moments below a cap are integrated from the cap down, half by half, by Gauss's rule in each part.
_HALVINGS = 80
_NODES = 32
_ROUNDING = 1e-12  # of a mean square: what is no more than that above the square of the mean is no variance


class BaseDistribution(Aliased):
    """What every distribution can do: what its own formulas say, of which nothing exceeds its `cap`."""

    if TYPE_CHECKING:
        cap: Cap  # a field of every distribution, after its own in the order of keys

    unset_left_out = frozenset({"cap"})

    def sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence of ``seed``; every call of the result goes on where the last ended."""
        sample, cap = self._sampler(seed), self.cap
        return sample if cap is None else lambda n: np.minimum(sample(n), cap)

    def mean(self) -> float:
        """Return the mean; ``math.inf`` where it is infinite."""
        return self._mean() if self.cap is None else self.moment(1, self.cap)

    def variance(self) -> float:
        """Return the variance; ``math.inf`` where it is infinite."""
        if self.cap is None:
            return self._variance()
        square, squared_mean = self.moment(2, self.cap), self.mean() ** 2
        return square - squared_mean if square > squared_mean * (1 + _ROUNDING) else 0.0

    def survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``P(value > x)`` for each of `x`, exact in the far tail too."""
        return self._survival(x) if self.cap is None else np.where(x < self.cap, self._survival(x), 0.0)

    def cdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``P(value <= x)`` for each of `x`."""
        return 1.0 - self.survival(x)

    def median(self) -> float:
        """Return the median; where no formula is known, that of 100,001 fixed draws (within about 1 %)."""
        return self._median() if self.cap is None else min(self._median(), self.cap)

    def share_at_cap(self) -> float:
        """Return how much of it the cap holds back, from 0 to 1."""
        return 0.0 if self.cap is None else float(self._survival(np.array([self.cap]))[0])

    def moment(self, power: int, cap: float) -> float:
        """Return the mean of ``min(value, cap) ** power``: ``∫ k x^(k-1) P(value > x) dx`` up to the cap."""
        end = cap if self.cap is None else min(cap, self.cap)
        edges = np.unique([0.0, *np.ldexp(end, np.arange(-_HALVINGS, 1)), *np.clip(self._kinks(), 0, end)])
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        half = np.diff(edges)[:, None] / 2
        x = edges[:-1, None] + half * (1 + nodes)
        return float(np.sum(half * weights * power * x ** (power - 1) * self._survival(x)))

    def _kinks(self) -> Sequence[float]:
        """Where the survival function has a bend."""
        return ()

    def _sampler(self, seed: SeedSequence) -> Sampler:
        raise NotImplementedError

    def _mean(self) -> float:
        raise NotImplementedError

    def _variance(self) -> float:
        raise NotImplementedError

    def _survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        raise NotImplementedError

    def _median(self) -> float:
        return float(np.median(self._sampler(SeedSequence(0))(100_001)))


class Constant(BaseDistribution):
    """Always the same value. A bare number or a text such as ``90s`` is short for it."""

    kind: Literal["constant"]
    value: Annotated[float, Seconds()] = Field(examples=[20])
    """The value, in seconds (for a worker's speed a factor)."""
    cap: Cap = None

    def _sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence; the seed has no influence."""
        return lambda n: np.full(n, self.value)

    def _mean(self) -> float:
        """Return the value."""
        return self.value

    def _variance(self) -> float:
        """Return 0."""
        return 0.0

    def _survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 1 below the value, and 0 from it on."""
        return np.where(x < self.value, 1.0, 0.0)

    def _median(self) -> float:
        """Return the value."""
        return self.value

    def moment(self, power: int, cap: float) -> float:
        """Return that of the value."""
        return min(self.value, cap, self.cap or cap) ** power


class Lognormal(BaseDistribution):
    """Log-normal: many short, few very long. ``exp(sigma * normal) * median``."""

    kind: Literal["lognormal"]
    median_: Positive = Field(alias="median", examples=[20])
    """Half of the values are below, in seconds."""
    sigma: Annotated[float, Number(0, 10)] = Field(examples=[1.0])
    """Spread of the logarithm, a pure number; 0 is a constant, 1 a long tail."""
    cap: Cap = None

    def _sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence of the seed."""
        rng = default_rng(seed)
        # numpy's own lognormal works value by value; np.exp may round a value by its position in the block.
        return lambda n: self.median_ * rng.lognormal(0.0, self.sigma, n)

    def sampler_in_groups(
        self, seed: SeedSequence, group_seed: SeedSequence, size: int, correlation: float
    ) -> Sampler:
        """Start the sequence in which each `size` values share `correlation` of their log variance.

        ``median * exp(sigma * (sqrt(correlation) * common + sqrt(1 - correlation) * own))``: the law of each
        value is the same, and `own` is what makes it without groups.
        """
        rng, groups = default_rng(seed), default_rng(group_seed)
        shared, own = math.sqrt(correlation), math.sqrt(1 - correlation)
        common, left = 0.0, 0

        def sample(n: int) -> NDArray[np.float64]:
            nonlocal common, left
            values = np.empty(n)
            # One by one, since np.exp may round a value by its position in the block.
            for place, normal in enumerate(rng.standard_normal(n).tolist()):
                if not left:
                    common, left = float(groups.standard_normal()), size
                left -= 1
                values[place] = self.median_ * math.exp(self.sigma * (shared * common + own * normal))
            return values if self.cap is None else np.minimum(values, self.cap)

        return sample

    def _mean(self) -> float:
        """Return ``median * exp(sigma² / 2)``."""
        return self.median_ * math.exp(self.sigma**2 / 2)

    def _variance(self) -> float:
        """Return ``mean² * (exp(sigma²) - 1)``."""
        return self._mean() ** 2 * math.expm1(self.sigma**2)

    def _survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return that of the standard normal at ``ln(x / median) / sigma``."""
        from scipy.special import ndtr  # type: ignore[import-untyped]  # noqa: PLC0415  (it takes long to import)

        if not self.sigma:
            return np.where(x < self.median_, 1.0, 0.0)
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(ndtr(-np.log(np.maximum(x, 0.0) / self.median_) / self.sigma))

    def _median(self) -> float:
        """Return the median."""
        return self.median_


class Uniform(BaseDistribution):
    """Every value between two ends equally likely."""

    kind: Literal["uniform"]
    low: Annotated[float, Seconds()] = Field(examples=[10])
    """The lower end, in seconds."""
    high: Annotated[float, Seconds()] = Field(examples=[30])
    """The upper end, in seconds; not below ``low``."""
    cap: Cap = None

    @model_validator(mode="after")
    def _ordered(self) -> "Uniform":
        if self.high < self.low:
            raise misfit(f"seconds from low ({self.low:g}) on", f"{self.high:g}", key="high")
        return self

    def _sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence of the seed."""
        rng = default_rng(seed)
        return lambda n: rng.uniform(self.low, self.high, n)

    def _mean(self) -> float:
        """Return the middle."""
        return (self.low + self.high) / 2

    def _variance(self) -> float:
        """Return a twelfth of the width squared."""
        return (self.high - self.low) ** 2 / 12

    def _survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of the width above `x`."""
        if self.high == self.low:
            return np.where(x < self.low, 1.0, 0.0)
        return np.clip((self.high - x) / (self.high - self.low), 0.0, 1.0)

    def _median(self) -> float:
        """Return the middle."""
        return (self.low + self.high) / 2

    def _kinks(self) -> Sequence[float]:
        return self.low, self.high


class Exponential(BaseDistribution):
    """Exponential: the wait for something that may happen at any moment."""

    kind: Literal["exponential"]
    mean_: Positive = Field(alias="mean", examples=[20])
    """The mean, in seconds."""
    cap: Cap = None

    def _sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence of the seed."""
        rng = default_rng(seed)
        return lambda n: rng.exponential(self.mean_, n)

    def _mean(self) -> float:
        """Return the mean."""
        return self.mean_

    def _variance(self) -> float:
        """Return the mean squared."""
        return self.mean_**2

    def _survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``exp(-x / mean)``."""
        with np.errstate(over="ignore"):
            return np.exp(-np.maximum(x, 0.0) / self.mean_)

    def _median(self) -> float:
        """Return ``mean * ln 2``."""
        return self.mean_ * math.log(2)


class Gamma(BaseDistribution):
    """Gamma: the sum of ``shape`` exponential steps; less spread the larger the shape."""

    kind: Literal["gamma"]
    mean_: Positive = Field(alias="mean", examples=[20])
    """The mean, in seconds."""
    shape: Annotated[float, Number(0.001, 1e6)] = Field(examples=[2])
    """The shape, a pure number: 1 is exponential, 100 nearly constant."""
    cap: Cap = None

    def _sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence of the seed."""
        rng = default_rng(seed)
        return lambda n: rng.gamma(self.shape, self.mean_ / self.shape, n)

    def _mean(self) -> float:
        """Return the mean."""
        return self.mean_

    def _variance(self) -> float:
        """Return ``mean² / shape``."""
        return self.mean_**2 / self.shape

    def _survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the regularised upper incomplete gamma function at ``x * shape / mean``."""
        from scipy.special import gammaincc  # noqa: PLC0415  (it takes long to import)

        rate, above = self.shape / self.mean_, np.maximum(x, 0.0)
        with np.errstate(over="ignore"):
            # A mean of almost nothing has a rate beyond all numbers.
            steps = above * rate if math.isfinite(rate) else above / self.mean_ * self.shape
        return np.asarray(gammaincc(self.shape, steps))


class Pareto(BaseDistribution):
    """Classic Pareto: ``P(value > x) = (minimum / x) ** alpha``; a tail heavier than any log-normal's."""

    kind: Literal["pareto"]
    minimum: Positive = Field(examples=[5])
    """The smallest value, in seconds."""
    alpha: Annotated[float, Number(0.1, 1000)] = Field(examples=[1.5])
    """The tail, a pure number: the smaller, the heavier; at 1 and below the mean is infinite."""
    cap: Cap = None

    def _sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence of the seed."""
        rng = default_rng(seed)
        return lambda n: self.minimum * (1.0 + rng.pareto(self.alpha, n))

    def _mean(self) -> float:
        """Return ``minimum * alpha / (alpha - 1)``, infinite for an alpha of 1 and below."""
        return self.minimum * self.alpha / (self.alpha - 1) if self.alpha > 1 else math.inf

    def _variance(self) -> float:
        """Return ``mean² / (alpha (alpha - 2))``, infinite for an alpha of 2 and below."""
        return self._mean() ** 2 / (self.alpha * (self.alpha - 2)) if self.alpha > 2 else math.inf

    def _survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``(minimum / x) ** alpha``, 1 below the minimum."""
        return (self.minimum / np.maximum(x, self.minimum)) ** self.alpha

    def _median(self) -> float:
        """Return ``minimum * 2 ** (1 / alpha)``."""
        return self.minimum * 2 ** (1 / self.alpha)

    def _kinks(self) -> Sequence[float]:
        return (self.minimum,)
