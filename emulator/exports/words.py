"""How an injection is called in an export."""

from typing import Any

from emulator.dashboard.text import span


def injection(action: dict[str, Any]) -> str:
    """One line that tells an injection: ``straggler: episode 1000 x8``."""
    ((name, about),) = [(key, value) for key, value in action.items() if isinstance(value, dict)]
    return f"{name.replace('_', ' ')}: {', '.join(_part(key, value) for key, value in about.items())}"


def _part(key: str, value: Any) -> str:
    if isinstance(value, list):
        numbers = [str(number) for number in value]
        some = numbers if len(numbers) <= 4 else [*numbers[:3], f"{len(numbers) - 3} more"]
        return f"{key} {' '.join(some)}"
    if key == "factor":
        return f"x{value:g}"
    if key == "for" or key.endswith("_seconds"):
        return f"{key.replace('_seconds', '')} {span(value)}"
    return f"{key} {value}"
