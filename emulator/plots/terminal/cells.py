"""A block of characters with colours, which charts are drawn into and rich prints."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style as Ink

from emulator.plots.charts import Style
from emulator.text import cells, encodable, overlay, width

# In the middle between black and white: a terminal does not say what its background is.
_COLORS = ["#3a8bc9", "#d94801", "#19a463", "#c99400", "#8a55e6", "#808896", "#d0509c", "#a8702f"]
SERIES = tuple(Ink(color=color) for color in _COLORS)
STALE = Ink(color="#d08a00")
DIM = Ink(color="#808896")
STRONG = Ink(bold=True)
BIASED = (Ink(color="#d94801"), Ink(color="#d98a3c"), Ink(color="#6f9fc0"))
"""A length bias below 0.6, below 0.9, and above."""


class Marks(NamedTuple):
    """The characters that charts are drawn with."""

    markers: str
    theory: str
    interval: str
    """A stroke, its upper and its lower end."""
    shades: str
    """Of a share: none, then as `SHARES` parts them."""
    bar: str
    """A bar, and the part of it that its interval covers."""
    axis: str
    """Up, across, a tick on either, and the corner."""
    zero: str


UNICODE = Marks("●■▲◆▼★×+", "·", "│┬┴", " ·░▒▓█", "█▒", "│─┤┬└", "╌")  # noqa: RUF001
ASCII = Marks("o#^*v@x+", ".", "|++", " .:+%@", "#=", "|-++`", "-")

SHARES = (0.01, 0.05, 0.2, 0.5)
"""The shares of episodes at which a cell of a map is drawn darker."""


class Sheet:
    """A rectangle of characters; what is drawn outside it is cut off."""

    def __init__(self, width: int, height: int, glyphs: Marks = UNICODE) -> None:
        self.width = width
        self.height = height
        self.glyphs = glyphs
        self._characters = [[" "] * width for _ in range(height)]
        self._inks: list[list[Ink | None]] = [[None] * width for _ in range(height)]

    def put(self, x: int, y: int, text: str, ink: Ink | None = None) -> int:
        """Write `text` from column `x` of row `y` on; returns the column after it."""
        drawn = cells(self.said(text))
        if 0 <= y < self.height:
            overlay(self._characters[y], x, drawn)
            end = max(x + len(drawn), 0)
            self._inks[y][max(x, 0) : end] = [ink] * len(self._inks[y][max(x, 0) : end])
        return x + len(drawn)

    def right(self, end: int, y: int, text: str, ink: Ink | None = None) -> None:
        """Write `text` so that it ends before column `end`."""
        self.put(end - self.size(text), y, text, ink)

    def centre(self, x: int, y: int, text: str, ink: Ink | None = None) -> int:
        """Write `text` around column `x`, but within the block; returns the column after it."""
        return self.put(self.start(x, text), y, text, ink)

    def start(self, x: int, text: str) -> int:
        """The first column of a text around column `x`."""
        size = self.size(text)
        return max(0, min(x - size // 2, self.width - size))

    def size(self, text: str) -> int:
        """How many cells a text takes in the characters that may be used."""
        return width(self.said(text))

    def said(self, text: str) -> str:
        """The text in the characters that may be used."""
        return text if self.glyphs is UNICODE else encodable(text, "ascii")

    def free(self, x: int, y: int, room: int) -> bool:
        """Whether so many cells from column `x` of row `y` on are within the block and blank."""
        if not (0 <= y < self.height and x >= 0 and x + room <= self.width):
            return False
        return all(character == " " for character in self._characters[y][x : x + room])

    def paste(self, x: int, y: int, other: "Sheet") -> None:
        """Copy another block into this one with its upper left corner at `x` and `y`."""
        for row in range(other.height):
            for column in range(other.width):
                if 0 <= y + row < self.height and 0 <= x + column < self.width:
                    self._characters[y + row][x + column] = other._characters[row][column]
                    self._inks[y + row][x + column] = other._inks[row][column]

    def plain(self) -> str:
        """The characters alone, a line for each row, without blanks at the ends."""
        return "".join("".join(row).rstrip() + "\n" for row in self._characters)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it, without blanks at the ends of lines."""
        for characters, inks in zip(self._characters, self._inks, strict=True):
            end = next((x for x in range(self.width, 0, -1) if characters[x - 1] != " "), 0)
            for ink, alike in groupby(zip(characters[:end], inks[:end], strict=True), lambda cell: cell[1]):
                yield Segment("".join(character for character, _ in alike), ink)
            yield Segment.line()


def beside(blocks: Sequence[Sheet], gap: int) -> Sheet:
    """Blocks in a row, `gap` columns apart."""
    across = sum(block.width for block in blocks) + gap * (len(blocks) - 1)
    row = Sheet(across, max(block.height for block in blocks), blocks[0].glyphs)
    x = 0
    for block in blocks:
        row.paste(x, 0, block)
        x += block.width + gap
    return row


Piece = list[tuple[str, Ink]]
"""A text of several colours."""


def flow(pieces: Sequence[Piece], room: int, glyphs: Marks, gap: int = 3) -> Sheet:
    """Texts one after another, on as many lines as they take; one alone is cut at `room`."""
    page = Sheet(room, 0, glyphs)
    placed: list[tuple[int, int, Piece]] = []
    x = y = 0
    for piece in pieces:
        length = sum(page.size(text) for text, _ in piece)
        if x and x + length > room:
            x, y = 0, y + 1
        placed.append((x, y, piece))
        x += length + gap
    block = Sheet(room, y + 1 if pieces else 0, glyphs)
    for column, row, piece in placed:
        at = column
        for text, color in piece:
            at = block.put(at, row, text, color)
    return block


def marker(style: Style, glyphs: Marks) -> str:
    """The marker of a series."""
    return glyphs.markers[style.marker]


def ink(style: Style) -> Ink:
    """The colour of a series."""
    return SERIES[style.color]
