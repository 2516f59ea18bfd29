"""Letters for which no font is installed: a box stands for each, as on a screen, and nothing warns."""

from dataclasses import fields, is_dataclass
from functools import cache
from typing import TypeVar

_T = TypeVar("_T")
_FIRST = "DejaVu Sans"
# Outlines of scripts and signs that the first lacks; of these, what a machine has.
_OTHERS = (
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans Symbols 2",
    "Noto Emoji",
    "Symbola",
    "WenQuanYi Zen Hei",
    "Hiragino Sans",
    "PingFang SC",
    "Arial Unicode MS",
    "Microsoft YaHei",
    "Segoe UI Symbol",
)
_BOX = "□"


@cache
def families() -> tuple[str, ...]:
    """The fonts to draw with; each gives the letters that those before it lack."""
    from matplotlib.font_manager import fontManager  # noqa: PLC0415

    installed = {font.name for font in fontManager.ttflist}
    return (_FIRST, *(name for name in _OTHERS if name in installed))


def drawable(value: _T) -> _T:
    """What a chart says, text for text, with a box for each letter that no font has."""
    match value:
        case str():
            found = "".join(letter if letter in "\n " or _has(ord(letter)) else _BOX for letter in value)
            return type(value)(found)
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*map(drawable, value))
        case tuple():
            return type(value)(map(drawable, value))
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: drawable(getattr(value, field.name)) for field in fields(value)}
        return type(value)(**parts)
    return value


def _has(letter: int) -> bool:
    return any(letter in _letters(name) for name in families())


@cache
def _letters(family: str) -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font  # noqa: PLC0415

    return frozenset(get_font(findfont(family)).get_charmap())
