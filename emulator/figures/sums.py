"""Sums that are rounded once, and the statistics that figures are made of."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MANY = 64  # terms, from which on the way over whole numbers is the faster one
_CONDENSE_AT = 50_000  # terms, beyond which memory is more than a sum is worth


class ExactSum:
    """A sum of floats, rounded only when it is read."""

    __slots__ = ("_terms", "add")

    def __init__(self) -> None:
        self._terms: list[float] = []
        self.add: Callable[[float], None] = self._terms.append

    def __deepcopy__(self, memo: dict[int, Any]) -> "ExactSum":
        copy = ExactSum()
        copy.extend(self._terms)
        return copy

    @property
    def terms(self) -> Sequence[float]:
        """Terms whose exact sum it is."""
        return self._terms

    def extend(self, terms: Iterable[float]) -> None:
        """Add several terms."""
        self._terms.extend(terms)

    def extend_array(self, terms: NDArray[np.float64]) -> None:
        """Add several terms, as a few that have the same exact sum."""
        self._terms.extend(few_terms(terms))

    def value(self, further: Iterable[float] = ()) -> float:
        """The sum so far (and of `further` terms), correctly rounded."""
        if len(self._terms) > _CONDENSE_AT:
            self.condense()
        return math.fsum(chain(self._terms, further))

    def condense(self) -> None:
        """Keep a few terms of the same exact sum: what rounding loses becomes a term of its own."""
        few = []
        while total := math.fsum(self._terms):
            few.append(total)
            self._terms.append(-total)
        self._terms[:] = few

    def condense_if_long(self) -> None:
        """Bound the memory that the terms take."""
        if len(self._terms) > _CONDENSE_AT:
            self.condense()


def few_terms(terms: NDArray[np.float64]) -> list[float]:
    """A few terms that have the same exact sum.

    Terms of one exponent are whole numbers of 53 bits; these are added in halves of 26 and 27 bits, of which
    a float takes many without rounding.
    """
    if len(terms) < _MANY:
        short: list[float] = terms.tolist()
        return short
    fractions, exponents = np.frexp(terms)
    whole = np.ldexp(fractions, 53).astype(np.int64)
    lowest = int(exponents.min())
    places = exponents - lowest
    few: list[float] = []
    for half, shift in ((whole >> 27, 27 - 53), (whole & (2**27 - 1), -53)):
        totals = np.bincount(places, weights=half)
        found = np.flatnonzero(totals)
        few.extend(np.ldexp(totals[found], found + (lowest + shift)).tolist())
    return few


def ratio(numerator: float, denominator: float) -> float | None:
    """The quotient; None where there is nothing to divide by, or so little that it would be infinite."""
    quotient = numerator / denominator if denominator else math.inf
    return quotient if math.isfinite(quotient) else None


def nearest_rank(ordered: list[float], percent: int) -> float | None:
    """The smallest value that at least `percent` of the values do not exceed."""
    return ordered[-(-len(ordered) * percent // 100) - 1] if ordered else None


def nearest_rank_of(histogram: list[int], percent: int) -> int | None:
    """`nearest_rank` of whole numbers that are given by their counts from 0."""
    rank = -(-sum(histogram) * percent // 100)
    seen = 0
    for value, count in enumerate(histogram):
        seen += count
        if count and seen >= rank:
            return value
    return None
