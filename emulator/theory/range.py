"""Where the arithmetic of laws ends: a law that leaves the range of floats says nothing."""

import math
from collections.abc import Iterator
from typing import TypeVar

import numpy as np

Law = TypeVar("Law")


def representable(laws: Iterator[tuple[str, Law]]) -> dict[str, Law]:
    """The laws by name whose values are finite; none that follows on one whose arithmetic overflows.

    A scenario may have times of 1e-300 s and of 1e9 s side by side, whose ratios no float holds.
    """
    found: dict[str, Law] = {}
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            found.update(laws)
    except ArithmeticError:
        pass  # what was found before holds
    return {name: law for name, law in found.items() if _is_finite(law)}


def _is_finite(law: object) -> bool:
    return all(math.isfinite(value) for value in vars(law).values() if isinstance(value, float))
