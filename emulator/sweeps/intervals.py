"""Means with their intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
"""How often an interval covers the true mean."""


@dataclass(frozen=True)
class Interval:
    """A mean of `n` values, its standard error, and the interval around it; None where too few are there."""

    n: int
    mean: float | None
    se: float | None
    low: float | None
    high: float | None


def interval(values: Sequence[float]) -> Interval:
    """Mean and 95 % interval of independent values, by Student's t with n - 1 degrees of freedom.

    Student, The probable error of a mean, Biometrika 6, 1908. One value has a mean and no interval.
    """
    n = len(values)
    if n == 0:
        return Interval(0, None, None, None, None)
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(1, mean, None, None, None)
    se = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    half = _quantile(n - 1) * se
    return Interval(n, mean, se, mean - half, mean + half)


def _quantile(freedom: int) -> float:
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # noqa: PLC0415  (only a table needs it)

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
