"""A YAML document as a tree in which every value and every key knows where it stands.

Built from the parser's events, so that a hostile document is refused before it costs anything: nothing is
constructed but mappings, lists and plain values, by the rules of YAML 1.2.
"""

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StringMark
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from emulator.errors import Problem, ScenarioError
from emulator.text import clean, quoted

MAX_DEPTH = 40
"""The deepest nesting of a document."""

MAX_NODES = 250_000
"""The most values and keys of a document, aliases written out: two timelines of 10,000 entries, and more."""

_LONG_TAG = re.compile(r"(?<![^\s\[{,:-])!\S{1000}")

Scalar = str | int | float | bool | None
Numbers = tuple[int, ...]
"""A list of whole numbers that stands in no text, as one value: there may be millions."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: a file (or an option of the command line) with line and column from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def problem(self, key: str, found: str, allowed: str, hint: str = "") -> Problem:
        """Return the problem that stands here."""
        return Problem(self.file, self.line, self.column, key, found, allowed, hint)

    def error(self, key: str, found: str, allowed: str, hint: str = "") -> ScenarioError:
        """Return the error of this one problem."""
        return ScenarioError([self.problem(key, found, allowed, hint)])


@dataclass(slots=True)
class Node:
    """A value with its place, its text as written, and for a mapping the places of its keys."""

    place: Place
    value: "Scalar | Numbers | list[Node] | dict[str, Node]"
    text: str
    keys: dict[str, Place] = field(default_factory=dict)
    size: int = 1
    depth: int = 0

    def data(self) -> Any:
        """Return the value without places."""
        if isinstance(self.value, dict):
            return {key: node.data() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.data() for node in self.value]
        return self.value

    def copy(self) -> "Node":
        """Return a tree of its own, so that a change to the one leaves the other alone."""
        value = self.value
        if isinstance(value, dict):
            value = {key: node.copy() for key, node in value.items()}
        elif isinstance(value, list):
            value = [node.copy() for node in value]
        return Node(self.place, value, self.text, dict(self.keys), self.size, self.depth)

    def child(self, key: str | int) -> "Node | None":
        """Return the value of a key or the entry of a list, if there is one."""
        if isinstance(self.value, dict):
            return self.value.get(str(key))
        if isinstance(self.value, list) and isinstance(key, int) and key < len(self.value):
            return self.value[key]
        return None


def planted(value: Any, place: Place) -> Node:
    """The tree of a document that stands in no text, all of it at one place: of what JSON knows."""
    if isinstance(value, dict):
        branches = {key: planted(item, place) for key, item in value.items()}
        return Node(place, branches, "a mapping", dict.fromkeys(branches, place))
    if isinstance(value, list) and value and all(type(item) is int for item in value):
        return Node(place, tuple(value), "a list")
    if isinstance(value, list):
        return Node(place, [planted(item, place) for item in value], "a list")
    return Node(place, value, quoted(value) if isinstance(value, str) else clean(json.dumps(value)))


def parse(text: str, file: str, *, at: Place | None = None) -> tuple[Node, list[Problem]]:
    """Parse one document; ``at`` replaces all places, for a text that stands in no file.

    Returns the tree and the mistakes that can be lived with (duplicate keys, of which the first counts).
    ScenarioError for a text that is no document at all, or one that is refused.
    """
    if (long := _LONG_TAG.search(text)) is not None:
        # The parser takes time with the square of its length.
        start = long.start()
        place = at or Place(file, text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start))
        raise place.error("", f"the tag {clean(long[0])}", "plain values without tags")
    builder = _Builder(file, at)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            builder.take(event)
    except ScenarioError:
        raise
    except Exception as error:  # the parser fails in ways of its own, as at an escape of no character
        line, column, found, allowed = _told(error, text, builder.read)
        raise (at or Place(file, line, column)).error("", found, allowed) from None
    if builder.root is None:
        if at is not None:
            raise at.error("", "nothing", "a value")
        raise Place(file, 1, 1).error("", "an empty file", "a scenario file")
    return builder.root, builder.problems


def _told(error: Exception, text: str, read: Any) -> tuple[int, int, str, str]:
    """Where a text is no YAML (line and column from 1), what is there, and what is allowed.

    `read` is the mark to which the parser had come, for an error that has none.
    """
    if isinstance(error, ReaderError):
        line = text.count("\n", 0, error.position)
        column = error.position - text.rfind("\n", 0, error.position) - 1
        character = f"the control character {clean(chr(error.character))}"
        return line + 1, column + 1, character, "printable text"
    mark, reason = read, str(error) or type(error).__name__
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark or mark
        reason = error.problem or error.context or "a mistake"
    elif isinstance(error, ValueError | OverflowError):
        reason = "a number or an escape of a character that is too large"
    return mark.line + 1, mark.column + 1, f"text that is not YAML: {clean(reason)}", "YAML"


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end is still to come."""

    node: Node
    anchor: str | None
    key: str | None = None


class _Builder:
    """Puts the events of the parser together, and refuses what a scenario has no use for."""

    def __init__(self, file: str, at: Place | None) -> None:
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self.read: Any = StringMark(file, 0, 0, 0, "", 0)
        self._file = file
        self._at = at
        self._open: list[_Open] = []
        self._anchors: dict[str, Node] = {}
        self._nodes = 0
        self._documents = 0

    def take(self, event: Any) -> None:
        self.read = event.end_mark
        if isinstance(event, DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._refuse(event, "a second document", "one document in a file")
        elif isinstance(event, CollectionEndEvent):
            done = self._open.pop()
            if done.anchor:
                self._anchors[done.anchor] = done.node
            self._add(done.node)
        elif isinstance(event, AliasEvent):
            self._alias(event)
        elif isinstance(event, NodeEvent):
            self._start(event)

    def _start(self, event: Any) -> None:
        if event.tag is not None:
            self._refuse(event, f"the tag {clean(str(event.tag))}", "plain values without tags")
        self._count(event, 1)
        place = self._place(event)
        if isinstance(event, ScalarEvent):
            if event.style in (None, ""):
                node = Node(place, _resolve(event.value), clean(event.value) or "nothing")
            else:
                node = Node(place, self._paired(event), quoted(event.value))
            if event.anchor:
                self._anchors[event.anchor] = node
            self._add(node, event)
        elif isinstance(event, MappingStartEvent):
            self._descend(event, Node(place, {}, "a mapping"))
        elif isinstance(event, SequenceStartEvent):
            self._descend(event, Node(place, [], "a list"))

    def _paired(self, event: Any) -> str:
        """A quoted text in which each pair of surrogates, JSON's escape of an emoji, is one character."""
        text: str = event.value
        if text.isascii():
            return text
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            lone = _LONE.findall(text)[0]
            self._refuse(event, f"the lone surrogate {clean(lone)}", "whole characters")

    def _descend(self, event: Any, node: Node) -> None:
        if self._open and isinstance(self._open[-1].node.value, dict) and self._open[-1].key is None:
            self._refuse(event, f"{node.text} as a key", "names as keys")
        self._check_depth(event, 1)
        self._open.append(_Open(node, event.anchor))

    def _check_depth(self, event: Any, more: int) -> None:
        if len(self._open) + more > MAX_DEPTH:
            self._refuse(event, f"nesting deeper than {MAX_DEPTH} levels", f"at most {MAX_DEPTH} levels")

    def _alias(self, event: Any) -> None:
        node = self._anchors.get(event.anchor)
        if node is None:
            self._refuse(
                event, f"the alias *{clean(event.anchor)} inside its own anchor or without one", "a value"
            )
        else:
            self._count(event, node.size)
            self._check_depth(event, node.depth)
            self._add(node.copy(), event)

    def _add(self, node: Node, event: Any = None) -> None:
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        if isinstance(parent.node.value, list):
            parent.node.value.append(node)
        elif isinstance(parent.node.value, dict):
            if parent.key is None:
                self._key(parent, node, event)
                return
            if parent.key not in parent.node.value:
                parent.node.value[parent.key] = node
            parent.key = None
        parent.node.size += node.size
        parent.node.depth = max(parent.node.depth, node.depth + 1)

    def _key(self, parent: _Open, node: Node, event: Any) -> None:
        if isinstance(node.value, dict | list):
            self._refuse(event, f"{node.text} as a key", "names as keys")
        if node.value == "<<":
            self._refuse(event, "the merge key <<", "keys written out; merge keys are not supported")
        name = node.value if isinstance(node.value, str) else node.text
        parent.key = name
        first = parent.node.keys.setdefault(name, node.place)
        if first is not node.place:
            path = [self._step(index) for index in range(len(self._open))]
            found = "the same key again" + (f" (first in line {first.line})" if first.line else "")
            self.problems.append(node.place.problem(".".join(path), found, "each key once"))

    def _step(self, index: int) -> str:
        level = self._open[index]
        return str(len(level.node.value)) if isinstance(level.node.value, list) else str(level.key)

    def _count(self, event: Any, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            self._refuse(
                event, f"over {MAX_NODES} values, aliases written out", f"at most {MAX_NODES} values"
            )

    def _place(self, event: Any) -> Place:
        return self._at or Place(self._file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _refuse(self, event: Any, found: str, allowed: str) -> NoReturn:
        raise ScenarioError([*self.problems, self._place(event).problem("", found, allowed)])


_LONE = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + word: math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **{"-" + word: -math.inf for word in (".inf", ".Inf", ".INF")},
}


def _resolve(text: str) -> Scalar:
    """What a plain scalar means in the core schema of YAML 1.2."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        # Python refuses to read longer ones, and no limit of a scenario is near.
        if len(text) > 300:
            return math.inf
        return int(text, 0) if text.startswith(("0o", "0x")) else int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
