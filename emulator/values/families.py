"""Distributions with a formula each, and what every distribution can do.

A sampler gives the next values of its sequence block by block. How the sequence is cut into blocks never
changes its values: whatever needs two kinds of draws takes them from two streams.
"""

import math
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from numpy.random import SeedSequence, default_rng
from numpy.typing import NDArray
from pydantic import Field, model_validator

from emulator.values.scalars import Aliased, Number, Seconds, misfit

Sampler = Callable[[int], NDArray[np.float64]]
"""Gives the next ``n`` values of an endless sequence, each time it is called."""

Positive = Annotated[float, Seconds(above=True)]


class BaseDistribution(Aliased):
    """What every distribution can do."""

    def sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence of ``seed``; every call of the result goes on where the last ended."""
        raise NotImplementedError

    def mean(self) -> float:
        """Return the mean; ``math.inf`` where it is infinite."""
        raise NotImplementedError

    def variance(self) -> float:
        """Return the variance; ``math.inf`` where it is infinite."""
        raise NotImplementedError

    def survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``P(value > x)`` for each of `x`, exact in the far tail too."""
        raise NotImplementedError

    def cdf(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``P(value <= x)`` for each of `x`."""
        return 1.0 - self.survival(x)

    def median(self) -> float:
        """Return the median; where no formula is known, that of 100,001 fixed draws (within about 1 %)."""
        return float(np.median(self.sampler(SeedSequence(0))(100_001)))


class Constant(BaseDistribution):
    """Always the same value. A bare number or a text such as ``90s`` is short for it."""

    kind: Literal["constant"]
    value: Annotated[float, Seconds()] = Field(examples=[20])
    """The value, in seconds (for a worker's speed a factor)."""

    def sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence; the seed has no influence."""
        return lambda n: np.full(n, self.value)

    def mean(self) -> float:
        """Return the value."""
        return self.value

    def variance(self) -> float:
        """Return 0."""
        return 0.0

    def survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 1 below the value, and 0 from it on."""
        return np.where(x < self.value, 1.0, 0.0)

    def median(self) -> float:
        """Return the value."""
        return self.value


class Lognormal(BaseDistribution):
    """Log-normal: many short, few very long. ``exp(sigma * normal) * median``."""

    kind: Literal["lognormal"]
    median_: Positive = Field(alias="median", examples=[20])
    """Half of the values are below, in seconds."""
    sigma: Annotated[float, Number(0, 10)] = Field(examples=[1.0])
    """Spread of the logarithm, a pure number; 0 is a constant, 1 a long tail."""

    def sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence of the seed."""
        rng = default_rng(seed)
        # numpy's own lognormal works value by value; np.exp may round a value by its position in the block.
        return lambda n: self.median_ * rng.lognormal(0.0, self.sigma, n)

    def mean(self) -> float:
        """Return ``median * exp(sigma² / 2)``."""
        return self.median_ * math.exp(self.sigma**2 / 2)

    def variance(self) -> float:
        """Return ``mean² * (exp(sigma²) - 1)``."""
        return self.mean() ** 2 * math.expm1(self.sigma**2)

    def survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return that of the standard normal at ``ln(x / median) / sigma``."""
        from scipy.special import ndtr  # type: ignore[import-untyped]  # noqa: PLC0415  (it takes long to import)

        if not self.sigma:
            return np.where(x < self.median_, 1.0, 0.0)
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(ndtr(-np.log(np.maximum(x, 0.0) / self.median_) / self.sigma))

    def median(self) -> float:
        """Return the median."""
        return self.median_


class Uniform(BaseDistribution):
    """Every value between two ends equally likely."""

    kind: Literal["uniform"]
    low: Annotated[float, Seconds()] = Field(examples=[10])
    """The lower end, in seconds."""
    high: Annotated[float, Seconds()] = Field(examples=[30])
    """The upper end, in seconds; not below ``low``."""

    @model_validator(mode="after")
    def _ordered(self) -> "Uniform":
        if self.high < self.low:
            raise misfit(f"seconds from low ({self.low:g}) on", f"{self.high:g}", key="high")
        return self

    def sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence of the seed."""
        rng = default_rng(seed)
        return lambda n: rng.uniform(self.low, self.high, n)

    def mean(self) -> float:
        """Return the middle."""
        return (self.low + self.high) / 2

    def variance(self) -> float:
        """Return a twelfth of the width squared."""
        return (self.high - self.low) ** 2 / 12

    def survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of the width above `x`."""
        if self.high == self.low:
            return np.where(x < self.low, 1.0, 0.0)
        return np.clip((self.high - x) / (self.high - self.low), 0.0, 1.0)

    def median(self) -> float:
        """Return the middle."""
        return (self.low + self.high) / 2


class Exponential(BaseDistribution):
    """Exponential: the wait for something that may happen at any moment."""

    kind: Literal["exponential"]
    mean_: Positive = Field(alias="mean", examples=[20])
    """The mean, in seconds."""

    def sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence of the seed."""
        rng = default_rng(seed)
        return lambda n: rng.exponential(self.mean_, n)

    def mean(self) -> float:
        """Return the mean."""
        return self.mean_

    def variance(self) -> float:
        """Return the mean squared."""
        return self.mean_**2

    def survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``exp(-x / mean)``."""
        with np.errstate(over="ignore"):
            return np.exp(-np.maximum(x, 0.0) / self.mean_)

    def median(self) -> float:
        """Return ``mean * ln 2``."""
        return self.mean_ * math.log(2)


class Gamma(BaseDistribution):
    """Gamma: the sum of ``shape`` exponential steps; less spread the larger the shape."""

    kind: Literal["gamma"]
    mean_: Positive = Field(alias="mean", examples=[20])
    """The mean, in seconds."""
    shape: Annotated[float, Number(0.001, 1e6)] = Field(examples=[2])
    """The shape, a pure number: 1 is exponential, 100 nearly constant."""

    def sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence of the seed."""
        rng = default_rng(seed)
        return lambda n: rng.gamma(self.shape, self.mean_ / self.shape, n)

    def mean(self) -> float:
        """Return the mean."""
        return self.mean_

    def variance(self) -> float:
        """Return ``mean² / shape``."""
        return self.mean_**2 / self.shape

    def survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
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

    def sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence of the seed."""
        rng = default_rng(seed)
        return lambda n: self.minimum * (1.0 + rng.pareto(self.alpha, n))

    def mean(self) -> float:
        """Return ``minimum * alpha / (alpha - 1)``, infinite for an alpha of 1 and below."""
        return self.minimum * self.alpha / (self.alpha - 1) if self.alpha > 1 else math.inf

    def variance(self) -> float:
        """Return ``mean² / (alpha (alpha - 2))``, infinite for an alpha of 2 and below."""
        return self.mean() ** 2 / (self.alpha * (self.alpha - 2)) if self.alpha > 2 else math.inf

    def survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``(minimum / x) ** alpha``, 1 below the minimum."""
        return (self.minimum / np.maximum(x, self.minimum)) ** self.alpha

    def median(self) -> float:
        """Return ``minimum * 2 ** (1 / alpha)``."""
        return self.minimum * 2 ** (1 / self.alpha)
