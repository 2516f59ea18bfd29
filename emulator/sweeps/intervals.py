"""Means with their intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
"""How often an interval covers the true mean."""

FEWEST = 3
"""The fewest values that have an interval: that of two is 12.7 standard errors wide and says nothing."""


@dataclass(frozen=True)
class Interval:
    """A mean of `n` values, its standard error, and the interval around it; None where too few are there."""

    n: int
    mean: float | None
    se: float | None
    low: float | None
    high: float | None


def interval(values: Sequence[float], fewest: int = FEWEST) -> Interval:
    """Mean and 95 % interval of independent values, by Student's t with n - 1 degrees of freedom.

    Student, The probable error of a mean, Biometrika 6, 1908. Fewer than `fewest` values have no interval;
    that of two is too wide to be shown, and right to decide by.
    """
    n = len(values)
    if n == 0:
        return Interval(0, None, None, None, None)
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(1, mean, None, None, None)
    se = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    if n < fewest:
        return Interval(n, mean, se, None, None)
    half = _quantile(n - 1) * se
    return Interval(n, mean, se, mean - half, mean + half)


def intervals_text(seeds: int) -> str:
    """What is to be said of the intervals over so many seeds: what they are, or why there are none."""
    return "95 % intervals" if seeds >= FEWEST else f"no intervals: they take {FEWEST} seeds"


def _quantile(freedom: int) -> float:
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # noqa: PLC0415  (only a table needs it)

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
