"""Numbers as people read them at a glance."""

from emulator.clock import Speed

_STEPS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600)


def clock(seconds: float) -> str:
    """An emulated time of day: ``00:37:20``."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def span(seconds: float) -> str:
    """How long something takes, in at most two units: ``0.8s``, ``20s``, ``5m12s``, ``2h05m``."""
    if seconds < 9.95:
        return f"{seconds:.1f}".removesuffix(".0") + "s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s".replace("m00s", "m")
    minutes = round(seconds / 60)
    return f"{minutes // 60}h{minutes % 60:02}m".replace("h00m", "h")


def speed(value: Speed | float | None) -> str:
    """Emulated seconds per wall second: ``60x``, ``max``."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}x" if value >= 99.95 or value == int(value) else f"{value:.1f}x"


def percent(share: float | None) -> str:
    """A share in whole percent, ``-`` for none."""
    return "-" if share is None else f"{share * 100:.0f}%"


def number(value: float | None) -> str:
    """A mean with one digit, ``-`` for none."""
    return "-" if value is None else f"{value:.1f}"


def count(n: int, noun: str) -> str:
    """A counted noun: ``1 update``, ``2 updates``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def nice_step(seconds: float) -> float:
    """The round number of seconds nearest above `seconds`."""
    if seconds < 1:
        power = 1.0
        while power / 10 >= seconds and power > 1e-9:
            power /= 10
        return power
    return next((float(step) for step in _STEPS if step >= seconds), -(-seconds // 3600) * 3600)
