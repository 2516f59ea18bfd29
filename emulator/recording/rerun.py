"""Running a recording again: its scenario, with what took effect in the run as its timeline."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emulator.events import Inject
from emulator.recording.form import has_suffix, is_recording
from emulator.recording.reading import Recording, read
from emulator.scenario import Scenario
from emulator.scenario.loading import find, grown, read_scenario
from emulator.scenario.models import held_by
from emulator.scenario.tree import Place, planted
from emulator.values.series import Series, Source, TraceError, read_trace

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
    source: str | os.PathLike[str],
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    allow_files: bool = False,
) -> Scenario:
    """Load a scenario from a file (YAML or JSON), by the name of a bundled one, or from a recording.

    A bare word that names a bundled scenario is that one; everything else is a path. ``overrides`` are
    texts ``PATH=VALUE``: a dotted path (entries of a list by number from 0) and a YAML value, put in place
    of what the file says. ``seed`` does the same for the seed. Paths of traces are relative to the file,
    also in an override. Raises ``ScenarioError`` with every mistake.

    Of a recording it is the scenario that was run, its timeline replaced by what took effect, from the file
    or from a person; so it runs to the same trace. In a race each lane has a timeline of its own. The
    durations of trace files are in it; where an older one lacks them, files below its own folder are read,
    and others if `allow_files`. Raises ``RecordingError`` for a file that is named as a recording and is
    not one.
    """
    if not has_suffix(Path(source)):
        path = find(source)
        if not is_recording(path):
            return read_scenario(path, overrides=overrides, seed=seed)
    path = Path(source)
    recording = read(path)
    return grown(
        planted(_document(recording), Place(str(path))),
        path,
        overrides=overrides,
        seed=seed,
        series=held_by(recording.scenario, read_trace if allow_files else _guarded(recording, path)),
    )


def _guarded(recording: Recording, path: Path) -> Source:
    """Reads a file that a recording names only if it is below the recording's own folder."""
    named = {trace.path for trace in recording.scenario.traces()}
    folder = Path(os.path.realpath(path)).parent

    def source(name: str, column: str | int | None) -> Series:
        if name in named and not Path(os.path.realpath(name)).is_relative_to(folder):
            allowed = (
                "a file below the recording's own folder, or run and race with --allow-files "
                "(allow_files=True in Python)"
            )
            raise TraceError(f"{name}, which only the recording names", allowed)
        return read_trace(name, column)

    return source


def _document(recording: Recording) -> dict[str, Any]:
    """The scenario of a recording in the form of a file."""
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
