"""What can be chosen of an export, and the texts in which it is said."""

import math
import re
from dataclasses import dataclass, replace

from emulator.errors import RecordingError
from emulator.recording import RecordedLane, Recording
from emulator.text import clean
from emulator.values.scalars import parse_duration, shortest

_SMALLEST, _LARGEST = (20, 5), (500, 200)
_LONGEST = 3600.0


def _cells(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"


_SIZES = f"columns x rows, such as 100x30, from {_cells(_SMALLEST)} to {_cells(_LARGEST)}"
_LENGTHS = f"a number from 1 to {_LONGEST:g}"


@dataclass(frozen=True)
class Settings:
    """`at` is the moment that the export ends at (emulated seconds; None: with the recording).

    `size` is that of frames, in columns and rows; `seconds` how long a cast plays. What a format has no use
    for it does not look at, so that one choice serves them all. Raises RecordingError for what is out of
    range.
    """

    at: float | None = None
    size: tuple[int, int] = (100, 30)
    seconds: float = 30.0

    def __post_init__(self) -> None:
        """Refuse what nobody could draw."""
        if self.at is not None and not 0 <= self.at < math.inf:
            raise _complaint("at", f"{self.at:g} s", "a time from 0 s on")
        if not all(least <= n <= most for n, least, most in zip(self.size, _SMALLEST, _LARGEST, strict=True)):
            raise _complaint("size", _cells(self.size), _SIZES)
        if not 1 <= self.seconds <= _LONGEST:
            raise _complaint("seconds", f"{self.seconds:g}", _LENGTHS)

    def until(self, recording: Recording) -> Recording:
        """The recording until the moment that was chosen; RecordingError for one beyond its end."""
        at, t_end = self.at, recording.t_end
        if at is None or at == t_end:
            return recording
        if at > t_end:
            raise _complaint(
                "at", f"{shortest(at)} s", f"at most {shortest(t_end)} s, where the recording ends"
            )
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
    found = re.fullmatch(r"(\d{1,9})x(\d{1,9})", text)
    if found is None:
        raise _complaint("size", text, _SIZES)
    return int(found[1]), int(found[2])


def _length(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _complaint("seconds", text, _LENGTHS) from None


def _complaint(option: str, found: str, allowed: str) -> RecordingError:
    return RecordingError(f"--{option}: found {clean(found)}; allowed: {allowed}")
