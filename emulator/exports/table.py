"""Episodes as CSV, one a row: when each started, finished and was trained, under which versions, its outcome.

What did not happen is left empty. The columns are those of `emulator.episodes.EPISODE`; a race has one more,
the lane.
"""

import csv
import math
from typing import Any, TextIO

from emulator.episodes import EPISODE
from emulator.exports.settings import Settings
from emulator.recording import Recording
from emulator.text import defused


def write(recording: Recording, settings: Settings, file: TextIO) -> None:
    """Write the episodes of all lanes."""
    rows = csv.writer(file, lineterminator="\n")
    names = list(EPISODE.names or ())
    rows.writerow(["lane", *names] if recording.is_race else names)
    for lane in recording.lanes:
        lead = [defused(lane.name)] if lane.name is not None else []
        rows.writerows([*lead, *map(_cell, row)] for row in lane.episodes.tolist())


def _cell(value: Any) -> Any:
    if value == -1 or (isinstance(value, float) and math.isnan(value)):
        return ""
    return defused(value) if isinstance(value, str) else value
