"""What was injected, in words."""

from collections.abc import Sequence
from typing import Any

from emulator.figures.text import clock_time, span

_MOST = 3


def injection(action: dict[str, Any]) -> str:
    """An injection in one line, or a timeline entry: ``straggler: episode 1000 x8``."""
    ((name, about),) = [(key, value) for key, value in action.items() if isinstance(value, dict)]
    return f"{name.replace('_', ' ')}: {', '.join(_part(key, value) for key, value in about.items())}"


def interventions_text(entries: Sequence[dict[str, Any]]) -> str:
    """The first of some timeline entries, each with its time, and how many more there are."""
    lines = [f"{clock_time(entry['at'])} {injection(entry)}" for entry in entries[:_MOST]]
    more = len(entries) - len(lines)
    return "; ".join([*lines, *([f"and {more:,} more"] if more else [])])


def _part(key: str, value: Any) -> str:
    if isinstance(value, list):
        few = len(value) <= 4
        some = ", ".join(str(number) for number in (value if few else value[:3]))
        return f"{key} {some}" if few else f"{key} {some} and {len(value) - 3} more"
    if key == "factor":
        return f"x{value:g}"
    if key == "for" or key.endswith("_seconds"):
        return f"{key.replace('_seconds', '')} {span(value)}"
    return f"{key} {value}"
