"""Numbers that are read from the back of a hall, in pixels made of blocks."""

from emulator.dashboard.canvas import Canvas
from emulator.dashboard.theme import Role

_ROWS = 5
_FONT = {
    "0": "### # # # # # # ###",
    "1": " #  ##   #   #  ###",
    "2": "###   # ### #   ###",
    "3": "###   # ###   # ###",
    "4": "# # # # ###   #   #",
    "5": "### #   ###   # ###",
    "6": "### #   ### # # ###",
    "7": "###   #   #   #   #",
    "8": "### # # ### # # ###",
    "9": "### # # ###   # ###",
    ".": "                 # ",
    "x": "    # #  #  # #    ",
}
_HALVES = (" ", "▀", "▄", "█")

SMALL_ROWS = (_ROWS + 1) // 2
LARGE_ROWS = _ROWS


def _pixels(text: str) -> list[str]:
    """A line of ``#`` and blanks for each of the rows of pixels."""
    glyphs = [_FONT[character] for character in text]
    return [" ".join(glyph[4 * row : 4 * row + 3] for glyph in glyphs) for row in range(_ROWS)]


def put_small(canvas: Canvas, x: int, y: int, text: str, role: Role) -> int:
    """Write digits, ``.`` and ``x`` in `SMALL_ROWS` rows; returns the column after them."""
    rows = [*_pixels(text), " " * (4 * len(text))]
    for line in range(SMALL_ROWS):
        upper, lower = rows[2 * line], rows[2 * line + 1]
        halves = (_HALVES[(a == "#") + 2 * (b == "#")] for a, b in zip(upper, lower, strict=False))
        canvas.put(x, y + line, "".join(halves), role)
    return x + 4 * len(text)


def put_large(canvas: Canvas, x: int, y: int, text: str, role: Role) -> int:
    """Write digits, ``.`` and ``x`` in `LARGE_ROWS` rows; returns the column after them."""
    for line, row in enumerate(_pixels(text)):
        canvas.put(x, y + line, "".join("██" if pixel == "#" else "  " for pixel in row), role)
    return x + 8 * len(text)
