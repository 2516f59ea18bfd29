"""Figures as texts."""


def clock_time(seconds: float) -> str:
    """Emulated time as ``hh:mm:ss``, rounded down to the second."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def seconds_text(seconds: float | None) -> str:
    """A duration for people: seconds below two minutes, then ``m:ss``."""
    if seconds is None:
        return "-"
    return f"{seconds:.1f} s" if seconds < 120 else f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def share(value: float | None) -> str:
    """A share as a percentage; 100% and 0% only for what is wholly or not at all so."""
    if value is None:
        return "-"
    percent = f"{100 * value:.0f}%"
    if (percent == "100%" and value < 0.9995) or (percent == "0%" and value > 0.0005):
        percent = f"{100 * value:.1f}%"
    return percent


def percent(value: float) -> str:
    """A share as a percentage, to one place."""
    return f"{100 * value:.1f}%"


def decimal(value: float | None) -> str:
    """A figure of order 1, to two places."""
    return "-" if value is None else f"{value:.2f}"


def tenths(value: float) -> str:
    """A figure of any size that need not be whole, to one place."""
    return f"{value:,.1f}"


def number(value: float | None) -> str:
    """A figure of any size: as a whole number, or to one place where that is not one and below 100."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 99.95 or float(value).is_integer() else f"{value:.1f}"


def speed_text(speed: float | str | None) -> str:
    """A speed, such as ``60x``."""
    if speed is None:
        return "-"
    if isinstance(speed, str):
        return speed
    return f"{speed:,.0f}x" if speed >= 999.5 or float(speed).is_integer() else f"{speed:.1f}x"


def minutes_text(value: float | None) -> str:
    """Emulated minutes until something was reached."""
    return "never" if value is None else f"{value:.1f} min"


def plural_s(count: int) -> str:
    """The s of a plural, where it is one."""
    return "" if count == 1 else "s"
