"""Distributions of durations (in seconds) and of worker speeds (a factor), and mixtures of them."""

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
from numpy.random import SeedSequence, default_rng
from numpy.typing import NDArray
from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from emulator.values.families import (
    BaseDistribution,
    Cap,
    Constant,
    Exponential,
    Gamma,
    Lognormal,
    Pareto,
    Sampler,
    Uniform,
)
from emulator.values.recorded import Trace
from emulator.values.scalars import Number, Part, Seconds

__all__ = [
    "Component",
    "Constant",
    "Distribution",
    "Exponential",
    "Gamma",
    "Lognormal",
    "Mixture",
    "Pareto",
    "Sampler",
    "Trace",
    "Uniform",
    "traces",
]


class Component(Part):
    """One part of a mixture."""

    weight: Annotated[float, Number(0, 1e9, above=True)] = Field(examples=[0.9])
    """How often this part is chosen, relative to the other weights."""
    distribution: "Distribution"
    """The distribution of the values when it is, in seconds."""


class Mixture(BaseDistribution):
    """Each value from one of several distributions, chosen by weight. The weights need not add up to 1."""

    kind: Literal["mixture"]
    components: Annotated[tuple[Component, ...], Field(min_length=1, max_length=100)]
    """The parts, each with a ``weight`` and a ``distribution``."""
    cap: Cap = None

    def _sampler(self, seed: SeedSequence) -> Sampler:
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

    def _mean(self) -> float:
        """Return the weighted mean of the components' means."""
        return float(
            sum(
                share * part.distribution.mean()
                for share, part in zip(self._shares(), self.components, strict=True)
            )
        )

    def _variance(self) -> float:
        """Return the mean of the components' squares less the square of the mean."""
        squares = (part.distribution.variance() + part.distribution.mean() ** 2 for part in self.components)
        square = sum(share * value for share, value in zip(self._shares(), squares, strict=True))
        return float(max(0.0, square - self._mean() ** 2)) if math.isfinite(square) else math.inf

    def _survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted mean of the components'."""
        total = np.zeros_like(x)
        for share, part in zip(self._shares(), self.components, strict=True):
            total += share * part.distribution.survival(x)
        return total

    def moment(self, power: int, cap: float) -> float:
        """Return the weighted mean of the components'."""
        end = min(cap, self.cap or cap)
        parts = zip(self._shares(), self.components, strict=True)
        return math.fsum(share * part.distribution.moment(power, end) for share, part in parts)

    def _shares(self) -> list[float]:
        total = math.fsum(part.weight for part in self.components)
        return [part.weight / total for part in self.components]


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
    if value is None or isinstance(value, dict | list | tuple | BaseDistribution):
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


def traces(distribution: Distribution) -> Iterator[Trace]:
    """Yield the traces that it is made of."""
    if isinstance(distribution, Mixture):
        for part in distribution.components:
            yield from traces(part.distribution)
    elif isinstance(distribution, Trace):
        yield distribution
