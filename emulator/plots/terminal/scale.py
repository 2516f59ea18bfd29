"""Numbers along an axis of characters."""

from collections.abc import Iterable
from math import ceil, floor, log10
from typing import NamedTuple


class Ruler(NamedTuple):
    """A range of values over `cells` cells; `log` for positive values over a logarithmic axis."""

    low: float
    high: float
    cells: int
    log: bool = False

    def place(self, value: float) -> int:
        """The cell of a value, from 0; a value beyond the range has the cell at that end."""
        low, high, at = (log10(v) for v in (*self[:2], value)) if self.log else (*self[:2], value)
        share = (at - low) / (high - low) if high > low else 0.5
        return min(max(round(share * (self.cells - 1)), 0), self.cells - 1)


def fitted(
    values: Iterable[float], cells: int, *, from_zero: bool = False, top: float | None = None
) -> Ruler:
    """A scale for all values between round numbers, from 0 to `top` if these are asked for."""
    found = list(values) or [0.0]
    low = 0.0 if from_zero else min(found)
    high = max(found) if top is None else top
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        high = low + (abs(low) if abs(low) > 1e-9 else 1.0)
    step = round_step((high - low) / 8)
    return Ruler(
        floor(low / step + 1e-9) * step, high if top is not None else ceil(high / step - 1e-9) * step, cells
    )


def ticks(scale: Ruler, most: int) -> list[tuple[float, str]]:
    """At most so many round numbers of a scale with their texts."""
    step = round_step((scale.high - scale.low) / max(most - 1, 1))
    first, last = ceil(scale.low / step - 1e-9), floor(scale.high / step + 1e-9)
    digits = max(0, ceil(-log10(step) - 1e-9) + (1 if _mantissa(step) == 2.5 else 0))
    return [(k * step, f"{k * step:,.{digits}f}") for k in range(first, last + 1)]


def round_step(least: float) -> float:
    """The round number (1, 2, 2.5 or 5 times a power of ten) nearest above `least`."""
    power = 10.0 ** floor(log10(least))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= least * (1 - 1e-9))


def _mantissa(step: float) -> float:
    return round(step / 10.0 ** floor(log10(step) + 1e-9), 6)
