"""What holds of every file that a command writes, and of every text that it prints."""

import csv
import io
import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

LONGEST_TEXT = 1 << 20
"""The most characters that a command may print."""

_CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?")
_SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)
# Control characters but the newline, those that turn the order of letters, separators of lines, surrogates.
_UNPRINTABLE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})


class FaultError(Exception):
    """Something that a command may not do."""


def bounded(text: str, what: str) -> None:
    """Refuse more than anybody can read."""
    if len(text) > LONGEST_TEXT:
        raise FaultError(f"{what}: more than {LONGEST_TEXT} characters")


def printable(text: str, what: str) -> None:
    """Refuse what would act on a terminal."""
    if found := _UNPRINTABLE.search(text):
        around = text[max(0, found.start() - 30) : found.end() + 30]
        raise FaultError(f"{what}: the character {found[0]!a} in {around!a}")


def strict_json(text: str, what: str) -> Any:
    """The value of a text of JSON, without what only Python takes for JSON."""

    def refuse(name: str) -> None:
        raise FaultError(f"{what}: {name}")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            raise FaultError(f"{what}: a key twice in {names}")
        return dict(pairs)

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=once)
    except ValueError as error:
        raise FaultError(f"{what}: not JSON: {error}") from None


def exported(suffix: str, text: str) -> None:
    """Check an export by its suffix."""
    try:
        _FORMATS[suffix](text)
    except FaultError as fault:
        raise FaultError(f"export {suffix}: {fault}") from None


def _svg(text: str) -> None:
    printable(text, "an SVG")
    try:
        ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise FaultError(f"an SVG that is no XML: {error}") from None


class _Balanced(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "script":
            raise FaultError("a page with a script")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            raise FaultError(f"a page with a stray </{tag}>")


def _html(text: str) -> None:
    printable(text, "a page")
    page = _Balanced()
    page.feed(text)
    page.close()
    if page.open:
        raise FaultError(f"a page that leaves open {page.open}")
    for drawing in _SVG.findall(text):
        _svg(drawing)


def _cast(text: str) -> None:
    header, *frames = text.splitlines()
    if strict_json(header, "a cast's header")["version"] != 2:
        raise FaultError("a cast of another version")
    at = 0.0
    for line in frames:
        t, kind, told = strict_json(line, "a cast's line")
        if t < at or kind not in ("o", "m"):
            raise FaultError(f"a cast's line {line[:80]}")
        at = t
        printable(_CODE.sub("", told) if kind == "o" else told, "a cast")


def _trace(text: str) -> None:
    for event in strict_json(text, "a trace")["traceEvents"]:
        if "ts" in event and event["ts"] < 0:
            raise FaultError(f"a trace's event {event}")
    printable(text, "a trace")


def _table(text: str) -> None:
    rows = list(csv.reader(io.StringIO(text), strict=True))
    if any(len(row) != len(rows[0]) for row in rows):
        raise FaultError("a table with rows of different lengths")
    printable(text.replace("\r\n", "\n"), "a table")
    for cell in {cell for row in rows for cell in row}:
        if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
            raise FaultError(f"a table with the formula {cell[:80]!a}")


_FORMATS = {".svg": _svg, ".html": _html, ".cast": _cast, ".json": _trace, ".csv": _table}
