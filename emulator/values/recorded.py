"""The distribution of values that a file holds."""

import os
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from numpy.random import SeedSequence, default_rng
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from emulator.errors import UnknownDurationsError
from emulator.values.families import BaseDistribution, Cap, Sampler
from emulator.values.scalars import ColumnKey, Number, Text, misfit
from emulator.values.series import Series, Source, TraceError, read_trace


class Trace(BaseDistribution):
    """Recorded values from a file: plain text, CSV or JSON Lines, by its suffix."""

    kind: Literal["trace"]
    path: Annotated[str, Text(4096)] = Field(examples=["durations.csv"])
    """The file, relative to the scenario file. One value a line; at most 1 GiB and 20 million values."""
    column: Annotated[str | int | None, ColumnKey()] = Field(default=None, examples=["seconds"])
    """The column of a CSV (by name, or counted from 1) or key of JSON Lines; needed if there are several."""
    order: Literal["sequential", "shuffle", "resample"] = "sequential"
    """In file order, in a new random order on each pass, or drawn with replacement.

    The last two destroy what the episodes of a group have in common in a file in prompt order.
    """
    scale: Annotated[float, Number(0, 1e9, above=True)] = 1.0
    """What each value is multiplied by: 0.001 for a file in milliseconds."""
    cap: Cap = None

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

    def capped_values(self) -> NDArray[np.float64]:
        """The same, none above the cap."""
        return self.values if self.cap is None else np.minimum(self.values, self.cap)

    def _sampler(self, seed: SeedSequence) -> Sampler:
        """Start the sequence; in sequential order the seed has no influence; it cycles."""
        values = self.values
        rng = default_rng(seed)
        if self.order == "resample":
            return lambda n: values[rng.integers(0, len(values), n)]
        return _cycle(values, rng if self.order == "shuffle" else None)

    def _mean(self) -> float:
        """Return the mean of the file's values."""
        return float(self.values.mean())

    def _variance(self) -> float:
        """Return the variance of the file's values."""
        return float(self.values.var())

    def _survival(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of the file's values above each of `x`, whatever the order."""
        values = _sorted(self._known(), self.scale)
        return 1.0 - np.searchsorted(values, x, side="right") / len(values)

    def _median(self) -> float:
        """Return the median of the file's values."""
        return float(np.median(self.values))

    def _known(self) -> Series:
        if self._series is None:
            raise UnknownDurationsError(self.path)
        return self._series

    def moment(self, power: int, cap: float) -> float:
        """Return that of the file's values."""
        return float(np.mean(np.minimum(self.values, min(cap, self.cap or cap)) ** power))


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
