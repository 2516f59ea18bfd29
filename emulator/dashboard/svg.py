"""A frame as SVG: blocks as rectangles, so that they join without gaps, and text in the system's own font."""

import re
from html import escape
from pathlib import Path

from emulator.dashboard.canvas import Canvas, runs
from emulator.dashboard.theme import Look, Role, Theme
from emulator.files import replacing_text
from emulator.text import width

_WIDTH, _HEIGHT, _SIZE = 8.4, 18.0, 14.0
_MARGIN = 14.0
_FONT = "'DejaVu Sans Mono', 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace"

_Part = tuple[float, float, float, float]
_WHOLE: _Part = (0.0, 0.0, 1.0, 1.0)

# Left, top, right and bottom of what is full of a cell, as shares of it.
_BLOCKS: dict[str, _Part] = {
    "█": _WHOLE,
    "▓": _WHOLE,
    "▀": (0.0, 0.0, 1.0, 0.5),
    "━": (0.0, 0.42, 1.0, 0.58),
    "─": (0.0, 0.47, 1.0, 0.53),
    "│": (0.44, 0.0, 0.56, 1.0),
    **{glyph: (0.0, 1 - i / 8, 1.0, 1.0) for i, glyph in enumerate("▁▂▃▄▅▆▇", 1)},
    **{glyph: (0.0, 0.0, i / 8, 1.0) for i, glyph in enumerate("▏▎▍▌▋▊▉", 1)},
}
_SHADE = 0.7  # of a cell of ▓
_PIECES = re.compile(rf"([{''.join(_BLOCKS)}])\1*|[^{''.join(_BLOCKS)}\s]+(?: [^{''.join(_BLOCKS)}\s]+)*")


def svg(canvas: Canvas, theme: Theme) -> str:
    """The picture of a frame in the colours of a theme."""
    across = canvas.width * _WIDTH + 2 * _MARGIN
    down = canvas.height * _HEIGHT + 2 * _MARGIN
    shapes: list[str] = []
    for y, row in enumerate(canvas.rows()):
        for x, characters, number in runs(row):
            shapes += _stretch("".join(characters), x, y, theme.looks[Role(number)], theme)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across:g} {down:g}" '
            f'width="{across:g}" height="{down:g}" font-family="{_FONT}" font-size="{_SIZE:g}" '
            'shape-rendering="crispEdges">',
            f'<rect width="100%" height="100%" rx="8" fill="{theme.ground}"/>',
            *shapes,
            "</svg>\n",
        ]
    )


def save(canvas: Canvas, theme: Theme, path: Path) -> None:
    """Write a frame to a file as SVG. Raises OSError."""
    with replacing_text(path) as file:
        file.write(svg(canvas, theme))


def _stretch(text: str, x: int, y: int, look: Look, theme: Theme) -> list[str]:
    """The shapes of a text of one look: its ground, its blocks, and its words."""
    color, ground = look.color or theme.text, look.ground
    if look.reverse:
        color, ground = theme.ground, color
    shapes = [_rect((x, y), width(text), _WHOLE, ground)] if ground else []
    for piece in _PIECES.finditer(text):
        words, at = piece[0], x + width(text[: piece.start()])
        part = _BLOCKS.get(words[0])
        if part is None:
            shapes.append(_text(words, at, y, color, bold=look.bold))
        elif part[2] - part[0] == 1:
            shapes.append(_rect((at, y), len(words), part, color, _SHADE if words[0] == "▓" else 1))
        else:
            shapes += [_rect((at + i, y), 1, part, color) for i in range(len(words))]
    return shapes


def _rect(at: tuple[int, int], cells: int, part: _Part, color: str, opacity: float = 1) -> str:
    (x, y), (left, top, right, bottom) = at, part
    return (
        f'<rect x="{_MARGIN + (x + left) * _WIDTH:.2f}" y="{_MARGIN + (y + top) * _HEIGHT:.2f}" '
        f'width="{(right - left) * cells * _WIDTH:.2f}" height="{(bottom - top) * _HEIGHT:.2f}" '
        f'fill="{color}"' + ("/>" if opacity == 1 else f' fill-opacity="{opacity:g}"/>')
    )


def _text(words: str, x: int, y: int, color: str, *, bold: bool) -> str:
    weight = ' font-weight="bold"' if bold else ""
    left, base = _MARGIN + x * _WIDTH, _MARGIN + (y + 0.76) * _HEIGHT
    return (
        f'<text x="{left:.2f}" y="{base:.2f}" fill="{color}"{weight} '
        f'textLength="{width(words) * _WIDTH:.2f}" lengthAdjust="spacingAndGlyphs">{escape(words)}</text>'
    )
