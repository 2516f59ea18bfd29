"""A frame: a grid of characters, each with a role, that views draw into and terminals read from."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment

from emulator.dashboard.theme import ASCII, DARK, UNICODE, Glyphs, Role, Theme, styles
from emulator.text import cells, clean, cut, encodable, overlay
from emulator.text import width as width_of

Row = tuple[tuple[str, ...], bytes]
"""The characters of a row and their roles; an empty character lies under a wide one."""


class Area(NamedTuple):
    """A part of a frame, in columns and rows."""

    x: int
    y: int
    width: int
    height: int

    @property
    def inside(self) -> "Area":
        """What a box around this area leaves."""
        return Area(self.x + 1, self.y + 1, self.width - 2, self.height - 2)


class Canvas:
    """A frame of a fixed size, and the glyphs it is drawn with; what is drawn outside it is cut off."""

    def __init__(self, width: int, height: int, glyphs: Glyphs = UNICODE) -> None:
        self.width = width
        self.height = height
        self.glyphs = glyphs
        self._characters = [[" "] * width for _ in range(height)]
        self._roles = [bytearray([Role.TEXT]) * width for _ in range(height)]

    def put(self, x: int, y: int, text: str, role: Role = Role.TEXT) -> int:
        """Write `text` from column `x` of row `y` on; returns the column after it."""
        text = self.said(text)
        return self.cells(x, y, text if text.isascii() else cells(text), role)

    def cells(self, x: int, y: int, drawn: Sequence[str], roles: bytes | Role) -> int:
        """Write what is in each cell, with a role for each or one for all; returns the column after it."""
        end = x + len(drawn)
        if 0 <= y < self.height and x < self.width and end > 0:
            overlay(self._characters[y], x, drawn)
            first, last = max(0, x), min(end, self.width)
            some = bytes([roles]) * (last - first) if isinstance(roles, Role) else roles[first - x : last - x]
            self._roles[y][first:last] = some
        return end

    def said(self, text: str) -> str:
        """The text as it can be drawn: on one line, and of ASCII where the glyphs are."""
        if not text.isprintable():
            text = clean(text, 10 * len(text))
        return encodable(text, "ascii") if self.glyphs is ASCII else text

    def right(self, end: int, y: int, text: str, role: Role = Role.TEXT) -> int:
        """Write `text` so that it ends before column `end`; returns its first column."""
        x = end - width_of(self.said(text))
        self.put(x, y, text, role)
        return x

    def box(self, area: Area, title: str, foot: str) -> None:
        """Draw a frame of lines with a title in its top and a foot in its bottom line."""
        x, y, width, height = area
        corners, across, down = self.glyphs.corners, self.glyphs.across, self.glyphs.down
        for row, text, left, right in (
            (y, title, corners[0], corners[1]),
            (y + height - 1, foot, corners[2], corners[3]),
        ):
            self.put(x, row, left + across * (width - 2) + right, Role.REST)
            if text:
                self.put(x + 1, row, f" {fitting(self.said(text), width - 4)} ", Role.DIM)
        for row in range(y + 1, y + height - 1):
            self.put(x, row, down, Role.REST)
            self.put(x + width - 1, row, down, Role.REST)

    def rows(self) -> list[Row]:
        """All rows as values that can be compared and kept."""
        return [
            (tuple(characters), bytes(roles))
            for characters, roles in zip(self._characters, self._roles, strict=True)
        ]

    def plain(self) -> str:
        """The characters alone, a line for each row, without blanks at the ends."""
        return "\n".join("".join(row).rstrip() for row in self._characters) + "\n"

    def on(self, theme: Theme) -> "Frame":
        """This canvas in the colours of a theme, as something rich can print."""
        return Frame(self, theme)


def fitting(text: str, width: int) -> str:
    """As many of the parts of a text, which two blanks set apart, as fit."""
    while width_of(text) > width:
        shorter, _, _ = text.rpartition("  ")
        if not shorter:
            return cut(text, max(width, 0)).rstrip()
        text = shorter
    return text


class Frame:
    """A canvas in the colours of a theme."""

    def __init__(self, canvas: Canvas, theme: Theme = DARK) -> None:
        self.canvas = canvas
        self.theme = theme

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        looks = styles(self.theme, None if console.no_color else "truecolor")
        for row in self.canvas.rows():
            for _, characters, role in runs(row):
                yield Segment("".join(characters), looks[role])
            yield Segment.line()


def runs(row: Row) -> Iterator[tuple[int, Sequence[str], int]]:
    """The stretches of one role in a row, from the left: column, characters, role."""
    characters, roles = row
    start = 0
    for role, stretch in groupby(roles):
        end = start + len(list(stretch))
        yield start, characters[start:end], role
        start = end


def written(characters: Sequence[str], x: int) -> str:
    """Characters from column `x` on as a terminal is to be sent them.

    Terminals disagree on how wide it is what several code points make up, so behind such the column is said.
    """
    text = "".join(characters)
    if text.isascii() or len(text) + characters.count("") == len(characters):
        return text
    pieces = []
    for at, character in enumerate(characters, x + 1):
        pieces.append(character)
        if len(character) > 1:
            pieces.append(f"\x1b[{at + width_of(character)}G")
    return "".join(pieces)
