"""Distributions of durations (in seconds) and of worker speeds (a factor), and sequences drawn from them.

A sampler gives the next values of its sequence block by block. How the sequence is cut into blocks never
changes its values: whatever needs two kinds of draws takes them from two streams.
"""

import math
import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from numpy.random import SeedSequence, default_rng
from numpy.typing import NDArray
from pydantic import (
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from emulator.errors import UnknownDurationsError
from emulator.values.scalars import Aliased, Column, Number, Part, Seconds, Text, misfit
from emulator.values.traces import Series, Source, TraceError, read_trace

Sampler = Callable[[int], NDArray[np.float64]]
"""Gives the next ``n`` values of an endless sequence, each time it is called."""

Positive = Annotated[float, Seconds(above=True)]


class _Distribution(Aliased):
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

    def traces(self) -> Iterator["Trace"]:
        """Yield the traces that it is made of."""
        return iter(())

    def median(self) -> float:
        """Return the median; where no formula is known, that of 100,001 fixed draws (within about 1 %)."""
        return float(np.median(self.sampler(SeedSequence(0))(100_001)))


class Constant(_Distribution):
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


class Lognormal(_Distribution):
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


class Uniform(_Distribution):
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


class Exponential(_Distribution):
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


class Gamma(_Distribution):
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


class Pareto(_Distribution):
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


class Component(Part):
    """One part of a mixture."""

    weight: Annotated[float, Number(0, 1e9, above=True)] = Field(examples=[0.9])
    """How often this part is chosen, relative to the other weights."""
    distribution: "Distribution"
    """The distribution of the values when it is, in seconds."""


class Mixture(_Distribution):
    """Each value from one of several distributions, chosen by weight. The weights need not add up to 1."""

    kind: Literal["mixture"]
    components: Annotated[tuple[Component, ...], Field(min_length=1, max_length=100)]
    """The parts, each with a ``weight`` and a ``distribution``."""

    def sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence of the seed: one stream chooses, and each component has one of its own."""
        # Children are named rather than spawned, since spawning would change the seed it was given.
        chooser, *seeds = (
            SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, child))
            for child in range(len(self.components) + 1)
        )
        rng = default_rng(chooser)
        samplers = [
            part.distribution.sampler(seed) for part, seed in zip(self.components, seeds, strict=True)
        ]
        edges = np.cumsum(self._shares())[:-1]

        def sample(n: int) -> NDArray[np.float64]:
            chosen = np.searchsorted(edges, rng.random(n), side="right")
            values = np.empty(n)
            for index, sampler in enumerate(samplers):
                mask = chosen == index
                values[mask] = sampler(int(mask.sum()))
            return values

        return sample

    def mean(self) -> float:
        """Return the weighted mean of the components' means."""
        return float(
            sum(
                share * part.distribution.mean()
                for share, part in zip(self._shares(), self.components, strict=True)
            )
        )

    def variance(self) -> float:
        """Return the mean of the components' squares less the square of the mean."""
        squares = (part.distribution.variance() + part.distribution.mean() ** 2 for part in self.components)
        square = sum(share * value for share, value in zip(self._shares(), squares, strict=True))
        return float(max(0.0, square - self.mean() ** 2)) if math.isfinite(square) else math.inf

    def survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted mean of the components'."""
        total = np.zeros_like(x)
        for share, part in zip(self._shares(), self.components, strict=True):
            total += share * part.distribution.survival(x)
        return total

    def traces(self) -> Iterator["Trace"]:
        """Yield the traces among the components."""
        for part in self.components:
            yield from part.distribution.traces()

    def _shares(self) -> list[float]:
        total = math.fsum(part.weight for part in self.components)
        return [part.weight / total for part in self.components]


class Trace(_Distribution):
    """Recorded values from a file: plain text, CSV or JSON Lines, by its suffix."""

    kind: Literal["trace"]
    path: Annotated[str, Text(4096)] = Field(examples=["durations.csv"])
    """The file, relative to the scenario file. One value a line; at most 1 GiB and 20 million values."""
    column: Annotated[str | int | None, Column()] = Field(default=None, examples=["seconds"])
    """The column of a CSV (by name, or counted from 1) or key of JSON Lines; needed if there are several."""
    order: Literal["sequential", "shuffle", "resample"] = "sequential"
    """In file order, in a new random order on each pass, or drawn with replacement.

    The last two destroy what the episodes of a group have in common in a file in prompt order.
    """
    scale: Annotated[float, Number(0, 1e9, above=True)] = 1.0
    """What each value is multiplied by: 0.001 for a file in milliseconds."""

    _series: Series | None = PrivateAttr(default=None)

    @field_validator("path")
    @classmethod
    def _absolute(cls, path: str, info: ValidationInfo) -> str:
        folder = (info.context or {}).get("folder", "")
        return os.path.abspath(os.path.join(folder, path))  # noqa: PTH100, PTH118 - as text, links kept

    @model_validator(mode="after")
    def _readable(self, info: ValidationInfo) -> "Trace":
        source: Source = (info.context or {}).get("series", read_trace)
        try:
            self._series = source(self.path, self.column)
        except TraceError as error:
            raise misfit(error.allowed, error.found, key=error.key) from None
        return self

    @property
    def series(self) -> Series | None:
        """The file's values; None in an older recording, which did not keep them."""
        return self._series

    @property
    def values(self) -> NDArray[np.float64]:
        """All values in file order, scaled, in seconds; UnknownDurationsError where they are not known."""
        return self._known().values * self.scale

    def traces(self) -> Iterator["Trace"]:
        """Yield this one."""
        yield self

    def sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence; in sequential order the seed has no influence; it cycles."""
        values = self.values
        rng = default_rng(seed)
        if self.order == "resample":
            return lambda n: values[rng.integers(0, len(values), n)]
        return _cycle(values, rng if self.order == "shuffle" else None)

    def mean(self) -> float:
        """Return the mean of the file's values."""
        return float(self.values.mean())

    def variance(self) -> float:
        """Return the variance of the file's values."""
        return float(self.values.var())

    def survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of the file's values above each of `x`, whatever the order."""
        values = _sorted(self._known(), self.scale)
        return 1.0 - np.searchsorted(values, x, side="right") / len(values)

    def median(self) -> float:
        """Return the median of the file's values."""
        return float(np.median(self.values))

    def _known(self) -> Series:
        if self._series is None:
            raise UnknownDurationsError(self.path)
        return self._series


@lru_cache(maxsize=8)
def _sorted(series: Series, scale: float) -> NDArray[np.float64]:
    """The values as drawn: a value divided by the scale might miss the one that it was made of."""
    return np.sort(series.values) * scale


def _cycle(values: NDArray[np.float64], rng: np.random.Generator | None) -> Sampler:
    """Go round and round: in the order given, or with ``rng`` in a new order on each round."""
    current = values
    position = len(values)

    def sample(n: int) -> NDArray[np.float64]:
        nonlocal current, position
        pieces: list[NDArray[np.float64]] = [values[:0]]
        while n:
            if position == len(values):
                current = values if rng is None else rng.permutation(values)
                position = 0
            piece = current[position : position + n]
            pieces.append(piece)
            position += len(piece)
            n -= len(piece)
        return np.concatenate(pieces)

    return sample


class _ShortForm:
    """Lets a bare number or a duration text stand for a constant."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_long_form, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        short: list[dict[str, Any]] = Seconds().json_schema()["anyOf"]
        return {"anyOf": [*short, handler(schema)]}


def _long_form(value: object) -> object:
    if value is None or isinstance(value, dict | list | tuple | _Distribution):
        return value
    return {"kind": "constant", "value": value}


Distribution = Annotated[
    Annotated[
        Constant | Lognormal | Uniform | Exponential | Gamma | Pareto | Mixture | Trace,
        Field(discriminator="kind"),
    ],
    _ShortForm(),
]
"""Any of the distributions, or a bare number of seconds."""

Component.model_rebuild()
Mixture.model_rebuild()
