"""Engines by name, from ``presets.yaml``: the text of a scenario that a file need not write out."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from emulator.scenario.tree import parse
from emulator.values.scalars import Check

NOTE = "note: engine.preset {} is made from public tables, not measured; it can be off by a third"
"""What a scenario with a preset is told."""

_FILE = Path(__file__).with_name("presets.yaml")


@cache
def presets() -> Mapping[str, dict[str, Any]]:
    """The keys of an `engine` section by the name of the preset."""
    root, _ = parse(_FILE.read_text(encoding="utf-8"), _FILE.name)
    found: dict[str, dict[str, Any]] = root.data()
    return found


@dataclass(frozen=True)
class PresetName(Check):
    """The name of a preset, or None."""

    @property
    def choices(self) -> tuple[str, ...]:
        """The names that there are."""
        return tuple(presets())

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        return ", ".join(self.choices)

    def convert(self, value: object) -> str | None:
        """Take a name that there is."""
        if value is None:
            return None
        if not isinstance(value, str) or value not in presets():
            raise ValueError
        return value

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the values allowed."""
        return {"anyOf": [{"enum": list(self.choices)}, {"type": "null"}]}
