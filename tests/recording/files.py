"""Small recordings, written as the emulator writes them, and changed by a line or a value."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import emulator
from emulator.scenario import Scenario

DOCUMENT: dict[str, Any] = {
    "duration": 60,
    "rollout": {"workers": 2, "episode_seconds": 10},
    "trainer": {"batch_size": 2, "update_seconds": 4},
    "strategy": {"kind": "asynchronous"},
}

Line = dict[str, Any]


def scenario(**changes: Any) -> Scenario:
    """The small scenario, with other sections in place of its own."""
    return Scenario.model_validate({**DOCUMENT, **changes})


def header(**changes: Any) -> Line:
    """The first line of a recording of it."""
    resolved = scenario(**changes).resolved()
    names = {"lanes": [lane["name"] for lane in resolved["lanes"]]} if resolved["lanes"] else {}
    return {"schema": 1, "emulator": "0.1.0", "scenario": resolved, "seed": 1, **names}


def written(path: Path, lines: Iterable[Line]) -> Path:
    """A file of these lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def recorded(path: Path, **changes: Any) -> list[Line]:
    """The lines of a recording as the emulator writes them."""
    emulator.run(scenario(**changes), speed="max", record=path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.unlink()
    return lines


def refusal(path: Path, lines: Sequence[Line]) -> str:
    """What is said of a recording that cannot be read, without its path."""
    with pytest.raises(emulator.RecordingError) as error:
        emulator.read_recording(written(path, lines))
    return str(error.value).removeprefix(f"{path}:")


def with_change(lines: Sequence[Line], event: str, change: Callable[[Line], object]) -> list[Line]:
    """The lines, the first of a kind of event changed."""
    changed: list[Line] = json.loads(json.dumps(lines))
    change(next(line for line in changed if line.get("event") == event))
    return changed
