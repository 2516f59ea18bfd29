"""Text from outside made safe to print: cleaned, bounded, quoted, and measured in the cells of a terminal.

Whatever comes from a file, an option or an exception goes through here before anyone sees it. Widths are
those of `rich.cells`, so that what rich lays out and what is drawn by hand agree.
"""

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, split_graphemes

LIMIT = 60
"""The most characters that a message shows of one value."""

# ASCII, and the lines and blocks of which frames have so many that to measure them takes long.
_ONE_CELL_EACH = re.compile("[\\0-\\x7f·‖▲▶─-▟]*").fullmatch

_ELLIPSIS = "…"
_FLAGS = frozenset(map(chr, range(0x1F1E6, 0x1F200)))
_ASCII = str.maketrans(
    {"…": "...", "·": "-", "σ": "sigma", "η": "eta", "−": "-", "–": "-", "±": "+-", "×": "x"}  # noqa: RUF001
)


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


def encodable(text: str, encoding: str | None) -> str:
    r"""A text as it can be written in an encoding; None is UTF-8.

    If that has not all its characters, our own signs are written in ASCII, and others as ``\u6771``.
    """
    encoding = encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    return text


def defused(text: str) -> str:
    """A text as a cell of a CSV: with an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def writable(text: str, stream: object) -> str:
    """A text as a stream takes it: nothing but line ends, tabs and what can be printed in its encoding."""
    return encodable(without_controls(text), getattr(stream, "encoding", None))


def width(text: str) -> int:
    """How many cells of a terminal a text takes, which has one line."""
    return cell_len(text)


def clusters(text: str) -> Iterator[tuple[str, int]]:
    """What a terminal draws as one: each character with all that combines with it, and its width in cells."""
    flag = ""
    for start, end, size in split_graphemes(text)[0]:
        cluster = text[start:end]
        if flag:
            both = cluster in _FLAGS
            yield (flag + cluster, 2) if both else (flag, 1)
            flag = ""
            if both:
                continue
        if cluster in _FLAGS:
            flag = cluster  # two letters are a flag
        else:
            yield cluster, size
    if flag:
        yield flag, 1


def cells(text: str) -> list[str]:
    """A text cell by cell: what is drawn in each, nothing in the second cell of a wide character."""
    if _ONE_CELL_EACH(text):
        return list(text)
    found: list[str] = []
    for cluster, size in clusters(text):
        if size:
            found += [cluster, *[""] * (size - 1)]
        elif found:  # it combines with what is before it, over its second cell if it has one
            found[-1 if found[-1] else -2] += cluster
    return found


def overlay(row: list[str], x: int, drawn: Sequence[str]) -> None:
    """Put cells, as of `cells`, into a row from column `x` on; what lies outside it is cut off.

    The other half of a wide character that is cut becomes blank.
    """
    first, last = max(0, -x), len(drawn) - max(0, x + len(drawn) - len(row))
    if first >= last:
        return
    start, end = x + first, x + last
    if not row[start] and start:
        row[start - 1] = " "
    if end < len(row) and not row[end]:
        row[end] = " "
    row[start:end] = drawn[first:last]
    if not row[start]:
        row[start] = " "
    if last < len(drawn) and not drawn[last]:
        row[end - 1] = " "


def cut(text: str, room: int, end: str = "") -> str:
    """As much of a text as fits into so many cells; `end` stands where something was cut off.

    Of a wide character that fits by half only, nothing is left.
    """
    if width(text) <= room:
        return text
    room -= width(end)
    if room < 0:
        return ""
    kept = []
    for cluster, size in clusters(text):
        room -= size
        if room < 0:
            break
        kept.append(cluster)
    return "".join(kept) + end


def pad(text: str, room: int, *, right: bool = False) -> str:
    """A text with blanks behind it, or before it if it goes to the `right`, to take so many cells."""
    blanks = " " * (room - width(text))
    return blanks + text if right else text + blanks


def _printable(letter: str) -> str:
    return letter if letter.isprintable() else repr(letter)[1:-1]
