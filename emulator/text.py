"""Text from outside made safe to print: cleaned, bounded, quoted, and measured in the cells of a terminal.

Whatever comes from a file, an option or an exception goes through here before anyone sees it. Widths are
those of `rich.cells`, so that what rich lays out and what is drawn by hand agree.
"""

from collections.abc import Iterator

from rich.cells import cell_len, split_graphemes

LIMIT = 60
"""The most characters that a message shows of one value."""

_ELLIPSIS = "…"


def clean(value: object, limit: int = LIMIT) -> str:
    r"""A value as one printable line of at most `limit` characters, an ellipsis where more was cut off.

    What cannot be printed (control and bidi characters, line ends, lone surrogates) is written as Python
    escapes it, such as ``\x1b`` or ``\u202e``; backslashes stay as they are. Cleaning twice changes nothing.
    """
    try:
        text = str(value)
    except ValueError:  # a whole number of more digits than Python writes
        text = "a number too long to write"
    text = "".join(map(_printable, text[: limit + 1]))
    return text if len(text) <= limit else text[: limit - 1] + _ELLIPSIS


def quoted(value: object, limit: int = LIMIT) -> str:
    """A value as `clean` has it between quotes: double ones, or single ones if it has double ones inside."""
    text = clean(value, limit)
    quote = "'" if '"' in text and "'" not in text else '"'
    return f"{quote}{text}{quote}"


def without_controls(text: str) -> str:
    """A text of any length with line ends and tabs as they are; what else cannot be printed is escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter if letter in "\n\t" else _printable(letter) for letter in text)


def width(text: str) -> int:
    """How many cells of a terminal a text takes, which has one line."""
    return cell_len(text)


def clusters(text: str) -> Iterator[tuple[str, int]]:
    """What a terminal draws as one: each character with all that combines with it, and its width in cells."""
    for start, end, cells in split_graphemes(text)[0]:
        yield text[start:end], cells


def cut(text: str, cells: int, end: str = "") -> str:
    """As much of a text as fits into so many cells; `end` stands where something was cut off.

    Of a wide character that fits by half only, nothing is left.
    """
    if width(text) <= cells:
        return text
    room = cells - width(end)
    if room < 0:
        return ""
    kept = []
    for cluster, size in clusters(text):
        room -= size
        if room < 0:
            break
        kept.append(cluster)
    return "".join(kept) + end


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """A text with blanks behind it, or before it if it goes to the `right`, to take so many cells."""
    blanks = " " * (cells - width(text))
    return blanks + text if right else text + blanks


def _printable(letter: str) -> str:
    return letter if letter.isprintable() else repr(letter)[1:-1]
