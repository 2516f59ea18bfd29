"""Episodes as CSV, one a row: when each started, finished and was trained, under which versions, its outcome.

What did not happen is left empty. The columns are those of `emulator.episodes.EPISODE`, with engines further
ones; a race has one more, the lane.
"""

import csv
import math
from typing import Any, TextIO

from emulator.exports.settings import Settings
from emulator.recording import Recording
from emulator.text import defused


def write(recording: Recording, settings: Settings, file: TextIO) -> None:
    """Write the episodes of all lanes."""
    rows = csv.writer(file, lineterminator="\n")
    # Lanes without engines leave their columns empty.
    names = max((list(lane.episodes.dtype.names or ()) for lane in recording.lanes), key=len)
    rows.writerow(["lane", *names] if recording.is_race else names)
    for lane in recording.lanes:
        lead = [defused(lane.name)] if lane.name is not None else []
        table = lane.episodes.tolist()
        rows.writerows([*lead, *map(_cell, row), *[""] * (len(names) - len(row))] for row in table)


def _cell(value: Any) -> Any:
    if value == -1 or (isinstance(value, float) and math.isnan(value)):
        return ""
    return defused(value) if isinstance(value, str) else value
