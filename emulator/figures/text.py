"""The one formatter: numbers as people read them, wherever they are shown.

What there is nothing to say of, None, is ``-`` everywhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

NOTHING = "-"
"""What stands for a figure that has no data."""

_STEPS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600)


def clock_time(seconds: float) -> str:
    """An emulated time of day, rounded down to the second: ``00:37:20``."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def span(seconds: float | None) -> str:
    """How long something takes, in at most two units: ``40ms``, ``0.8s``, ``20s``, ``5m12s``, ``2h05m``."""
    if seconds is None:
        return NOTHING
    if 5e-5 <= seconds < 0.0995:
        return f"{1000 * seconds:.1f}".removesuffix(".0") + "ms"
    if seconds < 9.95:
        return f"{seconds:.1f}".removesuffix(".0") + "s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s".replace("m00s", "m")
    minutes = round(seconds / 60)
    return f"{minutes // 60}h{minutes % 60:02}m".replace("h00m", "h")


def mean_span(seconds: float | None) -> str:
    """The same of a mean, to be compared with another: with its tenths up to two minutes."""
    if seconds is None or seconds >= 119.95 or 0 < seconds < 0.0995:
        return span(seconds)
    return f"{seconds:.1f}s"


def share(value: float | None, places: int = 0) -> str:
    """A share as a percentage; ``0%`` only for what is not at all so, ``100%`` if it is so to a tenth."""
    if value is None:
        return NOTHING
    if 0 < value < 0.0005:
        return "<0.1%"
    percent = f"{100 * value:.{places}f}%"
    if (percent == "100%" and value < 0.9995) or (percent == "0%" and value > 0):
        return f"{100 * value:.1f}%"
    return percent


def decimal(value: float | None, places: int = 2) -> str:
    """A figure of order 1, to two places."""
    return NOTHING if value is None else f"{value:,.{places}f}"


def number(value: float | None) -> str:
    """A figure of any size: as a whole number, or to one place where that is not one and below 100."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value >= 99.95 or float(value).is_integer() else f"{value:.1f}"


def compact(value: float) -> str:
    """A number where there is hardly any room: ``0.25``, ``40``, ``1.2k``."""
    if value >= 9950:
        return f"{value / 1000:.0f}k"
    if value >= 995:
        return f"{value / 1000:.1f}k".replace(".0k", "k")
    return f"{value:.2f}".rstrip("0").rstrip(".") if value < 10 else f"{value:.0f}"


def magnitude(value: float | None) -> str:
    """A number of any size to three digits: ``950``, ``9,500``, ``12.3k``, ``4.56M``, ``7.8G``."""
    if value is None or value < 9999.5:
        return number(value)
    for factor, unit in ((1e3, "k"), (1e6, "M"), (1e9, "G")):
        if value < 999.5 * factor:
            return f"{value / factor:.3g}{unit}"
    return f"{value / 1e9:,.0f}G"


def times(ratio: float) -> str:
    """How many times as much: ``1.4x``, ``120x``."""
    return f"{ratio:.1f}x" if ratio < 99.95 else f"{ratio:.0f}x"


def speed(value: float | str | None) -> str:
    """Emulated seconds per wall second: ``60x``, ``max``."""
    if value is None or isinstance(value, str):
        return value or NOTHING
    return f"{value:,.0f}x" if value >= 99.95 or float(value).is_integer() else times(value)


def count(n: int, noun: str) -> str:
    """A counted noun: ``1 update``, ``2 updates``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def seeds(numbers: Sequence[int]) -> str:
    """Seeds in few words: ``seed 3``, ``seeds 1 to 20``, ``5 seeds``."""
    if len(numbers) == 1:
        return f"seed {numbers[0]}"
    if list(numbers) == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"seeds {numbers[0]} to {numbers[-1]}"
    return count(len(numbers), "seed")


def setting(value: float | str | None) -> str:
    """A value of a scenario, as a tick of an axis says it."""
    if value is None:
        return "none"
    return str(value) if isinstance(value, bool) or not isinstance(value, int | float) else f"{value:.6g}"


def nice_step(seconds: float) -> float:
    """The round number of seconds nearest above `seconds`."""
    if seconds < 1:
        power = 1.0
        while power / 10 >= seconds and power > 1e-9:
            power /= 10
        return power
    return next((float(step) for step in _STEPS if step >= seconds), -(-seconds // 3600) * 3600)


@dataclass(frozen=True)
class Format:
    """One of the few ways in which a figure is written.

    `write` writes that of one run. A mean over runs, in a column whose head has the unit, is a number to
    `places` places, of the value times `factor`.
    """

    write: Callable[[Any], str]
    places: int = 1
    factor: float = 1.0

    def __call__(self, value: Any) -> str:
        """The figure of one run, with its unit."""
        return NOTHING if value is None else self.write(value)

    def mean(self, value: float | None) -> str:
        """A mean over runs, without its unit."""
        return NOTHING if value is None else decimal(value * self.factor, self.places)

    def measured(self, mean: float | None, low: float | None, sign: str) -> str:
        """A mean with half its interval behind a `sign`, if it has one: ``108.2 ±1.7``."""
        if mean is None or low is None:
            return self.mean(mean)
        return f"{self.mean(mean)} {sign}{self.mean(mean - low)}"


COUNT = Format("{:,}".format)
NUMBER = Format(number)
DECIMAL = Format(decimal, places=2)
MAGNITUDE = Format(magnitude, places=0)
SHARE = Format(share, factor=100.0)
SPAN = Format(span)
MEAN_SPAN = Format(mean_span)
MINUTES = Format(lambda minutes: span(60 * minutes))
