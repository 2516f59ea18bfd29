"""What can be chosen of an export, and the texts in which it is said."""

import math
import re
from dataclasses import dataclass, replace

from emulator.errors import RecordingError
from emulator.recording import RecordedLane, Recording
from emulator.scenario.values import parse_duration

_SMALLEST, _LARGEST = (20, 5), (500, 200)
_LONGEST = 3600.0


@dataclass(frozen=True)
class Settings:
    """`at` is the moment that the export ends at (emulated seconds; None: with the recording).

    `size` is that of frames, in columns and rows; `seconds` how long a cast plays.
    """

    at: float | None = None
    size: tuple[int, int] = (100, 30)
    seconds: float = 30.0

    def until(self, recording: Recording) -> Recording:
        """The recording until the moment that was chosen."""
        at = self.at
        if at is None or at >= recording.t_end:
            return recording
        return replace(recording, lanes=tuple(_until(lane, at) for lane in recording.lanes), cut=None)


def _until(lane: RecordedLane, at: float) -> RecordedLane:
    if at >= lane.t_end:
        return lane
    events = tuple(event for event in lane.events if event.t <= at)
    return RecordedLane(lane.name, lane.scenario, events, at)


def parse_settings(at: str | None, size: str, seconds: str) -> Settings:
    """The settings that the options of the command say; RecordingError for a text that says none."""
    return Settings(None if at is None else _moment(at), _size(size), _length(seconds))


def _moment(text: str) -> float:
    try:
        value = float(text) if re.match(r"[\d.]+$", text) else parse_duration(text)
    except ValueError:
        raise _complaint("at", text, "a time such as 90s, 20m or 1h30m") from None
    return value


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    if found is not None:
        columns, rows = int(found[1]), int(found[2])
        if _SMALLEST[0] <= columns <= _LARGEST[0] and _SMALLEST[1] <= rows <= _LARGEST[1]:
            return columns, rows
    bounds = f"from {_SMALLEST[0]}x{_SMALLEST[1]} to {_LARGEST[0]}x{_LARGEST[1]}"
    raise _complaint("size", text, f"columns x rows, such as 100x30, {bounds}")


def _length(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1 <= value <= _LONGEST:
        raise _complaint("seconds", text, f"a number from 1 to {_LONGEST:g}")
    return value


def _complaint(option: str, found: str, allowed: str) -> RecordingError:
    return RecordingError(f"--{option}: found {found}; allowed: {allowed}")
