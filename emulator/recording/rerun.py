"""Running a recording again: its scenario, with what took effect in the run as its timeline."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emulator.events import Inject
from emulator.recording.form import has_suffix, is_recording
from emulator.recording.reading import read
from emulator.scenario import Scenario
from emulator.scenario.loading import find, parse_scenario, read_scenario

ScenarioSource = Scenario | str | os.PathLike[str]
"""A scenario, or what `load_scenario` finds one by: a bundled name, or the path of a file or a recording."""


def as_scenario(source: ScenarioSource) -> Scenario:
    """Return a scenario itself, or load the one that a name or a path stands for.

    Raises what `load_scenario` does, and TypeError for anything else.
    """
    if isinstance(source, Scenario):
        return source
    if not isinstance(source, str | os.PathLike):
        allowed = "a Scenario, the name of a bundled one, or the path of a file"
        raise TypeError(
            f"found {type(source).__name__} as a scenario; allowed: {allowed}; "
            "Scenario.model_validate makes one of a dict"
        )
    return load_scenario(source)


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
    recording = read(path)
    timelines = {
        lane.name: [e.entry for e in lane.events if isinstance(e, Inject)] for lane in recording.lanes
    }
    document = recording.scenario.resolved()
    if not recording.is_race:
        document["events"] = timelines[None]
    else:
        for lane in document["lanes"]:
            lane["events"] = timelines[lane["name"]]
    return document
