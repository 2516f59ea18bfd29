"""Running a recording again: its scenario, with what took effect in the run as its timeline."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emulator.events import NAMES, Inject
from emulator.recording.form import DAMAGE, has_suffix, is_recording, opened, read_header
from emulator.recording.reading import recorded_scenarios
from emulator.scenario import Scenario
from emulator.scenario.loading import find, parse_scenario, read_scenario

_INJECT = NAMES[Inject]


def load_scenario(
    source: str | os.PathLike[str], *, overrides: Sequence[str] = (), seed: int | None = None
) -> Scenario:
    """Load a scenario from a file (YAML or JSON), by the name of a bundled one, or from a recording.

    A bare word that names a bundled scenario is that one; everything else is a path. ``overrides`` are
    texts ``PATH=VALUE``: a dotted path (entries of a list by number from 0) and a YAML value, put in place
    of what the file says. ``seed`` does the same for the seed. Paths of traces are relative to the file,
    also in an override. Raises ``ScenarioError`` with every mistake.

    Of a recording it is the scenario that was run, its timeline replaced by what took effect, be it of the
    file or of a person; so it runs to the same trace. In a race each lane has a timeline of its own. Raises
    ``RecordingError`` for a file that is named as a recording and is none.
    """
    if not has_suffix(Path(source)):
        path = find(source)
        if not is_recording(path):
            return read_scenario(path, overrides=overrides, seed=seed)
    path = Path(source)
    text = json.dumps(_document(path), ensure_ascii=False)
    return parse_scenario(text, path, overrides=overrides, seed=seed)


def _document(path: Path) -> dict[str, Any]:
    """The scenario of a recording in the form of a file."""
    with opened(path) as file:
        header = read_header(file, path)
        scenario, lanes = recorded_scenarios(header, path)
        timelines: dict[str | None, list[dict[str, Any]]] = {name: [] for name in lanes}
        try:
            for line in file:
                if _INJECT.encode() in line and (told := _injection(line)) is not None:
                    timelines[told.get("lane")].append({"at": told["t"], **told["action"]})
        except DAMAGE:
            pass  # what comes after was lost
    document = scenario.resolved()
    if None in timelines:
        document["events"] = timelines[None]
    else:
        for lane in document["lanes"]:
            lane["events"] = timelines[lane["name"]]
    return document


def _injection(line: bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(line)
    except ValueError:
        return None  # the last line, cut off
    return told if isinstance(told, dict) and told.get("event") == _INJECT else None
