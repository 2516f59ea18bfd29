"""An asciicast (version 2) of the dashboard, drawn without a terminal: only what changes in a row is written.

The lines after the header are ``[seconds, "o", text]``, and ``[seconds, "m", label]`` for an injection, at
which a player can stop.
"""

import json
from collections.abc import Iterator, Sequence
from typing import TextIO

from emulator.dashboard.canvas import Canvas, Row, written
from emulator.dashboard.frame import draw
from emulator.dashboard.state import ClockReading, Looking
from emulator.dashboard.terminal import codes
from emulator.dashboard.theme import DARK, Role
from emulator.events import Inject
from emulator.exports.frames import Film
from emulator.exports.settings import Settings
from emulator.recording import Recording
from emulator.summary.interventions import injection

FRAMES_A_SECOND = 20
_ENTER = "\x1b[?25l\x1b[?7l\x1b[0m\x1b[2J"
_LEAVE = "\x1b[0m\x1b[?7h\x1b[?25h"


def write(recording: Recording, settings: Settings, file: TextIO) -> None:
    """Write a cast of the whole recording that plays for the chosen seconds."""
    columns, rows = settings.size
    header = {
        "version": 2,
        "width": columns,
        "height": rows,
        "duration": settings.seconds,
        "title": recording.scenario.name,
        "env": {"TERM": "xterm-256color"},
    }
    _line(header, file)
    marks = _marks(recording, settings.seconds)
    mark = next(marks, None)
    for at, text in _frames(recording, settings):
        while mark is not None and mark[0] <= at:
            _line([mark[0], "m", mark[1]], file)
            mark = next(marks, None)
        if text:
            _line([at, "o", text], file)
    _line([settings.seconds, "o", _LEAVE], file)


def _frames(recording: Recording, settings: Settings) -> Iterator[tuple[float, str]]:
    film, painter = Film(recording), Painter()
    t_end, looking = recording.t_end, Looking(keys=False)
    speed = t_end / settings.seconds or 1.0
    last = max(1, round(settings.seconds * FRAMES_A_SECOND) - 1)
    for i in range(last + 1):
        t = t_end * i / last
        canvas = draw(film.at(t), ClockReading(t, speed), settings.size, looking)
        yield round(settings.seconds * i / last, 3), painter.paint(canvas)


def _marks(recording: Recording, seconds: float) -> Iterator[tuple[float, str]]:
    """The injections in order, each with when a player shows it; the same one in several lanes once."""
    found: dict[tuple[float, str], None] = {}
    for lane in recording.lanes:
        found |= dict.fromkeys((e.t, injection(e.action)) for e in lane.events if isinstance(e, Inject))
    for t, label in sorted(found):
        yield round(seconds * t / (recording.t_end or 1.0), 3), label


class Painter:
    """Turns frames into what a terminal is to be sent, knowing what it shows.

    In a frame everything of one look is written before the next look: codes of colours are long.
    """

    def __init__(self) -> None:
        self._shown: list[Row] | None = None
        self._codes, _ = codes(DARK, "256")
        self._grounds = [bool(DARK.looks[role].ground or DARK.looks[role].reverse) for role in Role]
        self._plain = [not look or look.startswith("\x1b[38") for look in self._codes]
        self._role = int(Role.TEXT)

    def paint(self, canvas: Canvas) -> str:
        """What makes a terminal show a frame."""
        rows = [self._alike(row) for row in canvas.rows()]
        text = [_ENTER] if self._shown is None else []
        old = self._shown or [self._alike(row) for row in Canvas(canvas.width, canvas.height).rows()]
        pieces: dict[int, list[tuple[int, int, Sequence[str]]]] = {}
        for y, (row, before) in enumerate(zip(rows, old, strict=True)):
            for start, end in _changes(before, row):
                pieces.setdefault(row[1][start], []).append((y, start, row[0][start:end]))
        for role in sorted(pieces, key=lambda role: (role != self._role, role)):
            text.append(self._look(role))
            at_row, at_column = -1, 0
            for y, x, piece in pieces[role]:
                if y != at_row:
                    text.append(f"\x1b[{y + 1};{x + 1}H")
                elif x > at_column:
                    text.append(f"\x1b[{x - at_column}C")
                text.append(written(piece, x))
                at_row, at_column = y, x + len(piece)
        self._shown = rows
        return "".join(text)

    def _look(self, role: int) -> str:
        """What makes the terminal write in the look of a role from now on."""
        before, self._role = self._role, role
        if role == before:
            return ""
        code = self._codes[role]
        return code if code and self._plain[before] else "\x1b[0m" + code

    def _alike(self, row: Row) -> Row:
        """The row with one role for all blanks that look the same."""
        characters, roles = row
        grounds = self._grounds
        return characters, bytes(
            role if character != " " or grounds[role] else Role.TEXT
            for character, role in zip(characters, roles, strict=True)
        )


_NEAR = 3  # cells; moving the cursor costs more than writing so many again


def _changes(old: Row, new: Row) -> Iterator[tuple[int, int]]:
    """Where a row changed: first columns and ends of stretches of one role, those near each other joined."""
    if old == new:
        return
    (old_text, old_roles), (text, roles) = old, new
    start = end = -1
    for i, (character, role) in enumerate(zip(text, roles, strict=True)):
        if not character and i == end:  # the other half of a wide one
            end = i + 1
            continue
        if character == old_text[i] and role == old_roles[i]:
            continue
        if not (start >= 0 and i - end <= _NEAR and roles[start:i].count(role) == i - start):
            if start >= 0:
                yield start, end
            start = i
        end = i + 1
    if start >= 0:
        yield start, end


def _line(value: object, file: TextIO) -> None:
    file.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")
