"""Recordings: the events of a run or a race as JSON Lines, written as it goes, read back and run again.

The first line is a header: ``{"schema": 1, "emulator": …, "scenario": {…}, "seed": …}``, and for a race
``"lanes": [names]``; the durations of trace files are in it too, as ``"traces"``. Then comes one event a
line in order of emulated time, exactly as the trace hash takes it, in a race with ``"lane"`` as its last
key. The last line is ``{"event": "end", …}`` with the result; a file without it was cut off, and is good
until there. ``.jsonl.gz`` is the same, compressed.
"""

from emulator.recording.reading import RecordedLane, Recording, read
from emulator.recording.rerun import ScenarioSource, as_scenario, load_scenario

read_recording = read

__all__ = [
    "RecordedLane",
    "Recording",
    "ScenarioSource",
    "as_scenario",
    "load_scenario",
    "read",
    "read_recording",
]
