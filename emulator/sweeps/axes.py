"""Axes of a sweep: a dotted path of the scenario and the values it takes, and how a text says them."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from emulator.errors import Problem, ScenarioError
from emulator.scenario.loading import names_kind
from emulator.scenario.tree import Node, Place, parse
from emulator.text import clean, quoted
from emulator.values.scalars import parse_duration

MAX_VALUES = 10_000
"""The most values of an axis."""

MAX_END = 10**18
"""The highest end of a range, above all that a scenario takes."""

Cell = str | int | float | bool | None
"""A value as a table shows it."""

_ELSEWHERE = {
    "seed": "--seeds (seeds=), which every point shares",
    "speed": "no speed: a sweep is not paced, and no result depends on it",
    "lanes": "a path outside lanes: a sweep runs the scenario itself; vary strategy instead",
}
_NOTHING = re.compile(r"(^|,)\s*,")


@dataclass(frozen=True)
class Axis:
    """One dotted path of the scenario, and the values that the points of a sweep have there.

    `values` are as the rows show them: scalars, and for a mapping or a list a short text such as
    ``asynchronous max_staleness=2``. `given` are the same values as the scenario takes them. `stepped` has
    the places of those that come from a range.
    """

    path: str
    values: tuple[Cell, ...]
    given: tuple[Any, ...] = field(repr=False)
    stepped: frozenset[int] = field(default=frozenset(), repr=False, compare=False)

    @property
    def place(self) -> Place:
        """Where mistakes in it stand."""
        return Place(f"--vary {self.path}")


def make_axis(path: str, values: Sequence[Any], *, stepped: frozenset[int] = frozenset()) -> Axis:
    """Make an axis of a path and its values, of the types that JSON knows.

    A word at ``strategy`` is its kind. ScenarioError for no value, the same value twice, and for a path
    that is not one, or that a sweep varies by other means.
    """
    place = Place(f"--vary {path}")
    root = path.partition(".")[0]
    if root in _ELSEWHERE:
        raise place.error(path, f"the path {path}", _ELSEWHERE[root])
    if not path or not all(path.split(".")):
        raise place.error(path, "no path", "a dotted path such as rollout.workers")
    given = tuple({"kind": value} if names_kind(path, value) else value for value in map(_json_types, values))
    try:
        json.dumps(given, allow_nan=False)
    except (TypeError, ValueError):
        allowed = "texts, finite numbers, true, false, null, and mappings and lists of them"
        raise place.error(path, ", ".join(map(str, given)), allowed) from None
    cells = tuple(_shown(path, value) for value in given)
    if not 1 <= len(cells) <= MAX_VALUES:
        raise place.error(path, f"{len(cells)} values", f"1 to {MAX_VALUES} values")
    seen: set[tuple[type, Cell]] = set()
    for cell in cells:
        key = (bool if isinstance(cell, bool) else object, cell)
        if key in seen:
            raise place.error(path, f"{cell_text(cell)} again", "each value once")
        seen.add(key)
    return Axis(path, cells, given, stepped)


def make_axes(vary: Mapping[str, Sequence[Any]] | Sequence[str]) -> tuple[Axis, ...]:
    """Make the axes of a sweep, from lists of values by path or from texts as `parse_axis` takes them.

    ScenarioError with every mistake in them.
    """
    axes: list[Axis] = []
    problems: list[Problem] = []
    makers = (
        [(make_axis, item) for item in vary.items()]
        if isinstance(vary, Mapping)
        else [(parse_axis, (text,)) for text in vary]
    )
    for make, arguments in makers:
        try:
            axis = make(*arguments)
        except ScenarioError as error:
            problems += error.problems
            continue
        if any(axis.path == other.path for other in axes):
            problems += axis.place.error(axis.path, "the same path again", "each path once").problems
        axes.append(axis)
    if problems:
        raise ScenarioError(problems)
    if not axes:
        raise Place("--vary").error("", "nothing to vary", "at least one PATH=VALUES")
    return tuple(axes)


def parse_axis(text: str) -> Axis:
    """Make an axis of a text such as ``rollout.workers=16:128:8`` or ``strategy=synchronous,asynchronous``.

    Behind the = stand YAML values with commas between them; ``start:stop:count`` is a range of `count`
    evenly spaced numbers or durations, both ends included, exact in decimals. ScenarioError with what is
    wrong.
    """
    path, equals, rest = text.partition("=")
    path = path.strip()
    if not equals or not path:
        raise Place(f"--vary {text}").error(
            "", "no PATH=VALUES", "a dotted path, =, and values or start:stop:count"
        )
    place = Place(f"--vary {path}")
    values: list[Any] = []
    stepped: list[int] = []
    for node in _nodes(rest, place, path):
        steps = _range(node, place, path)
        if steps is None:
            values.append(node.data())
        else:
            stepped += range(len(values), len(values) + len(steps))
            values += steps
    return make_axis(path, values, stepped=frozenset(stepped))


def cell_text(cell: Cell) -> str:
    """A value as text: as YAML writes it, without quotes."""
    return cell if isinstance(cell, str) else json.dumps(cell)


def yaml_text(value: Any) -> str:
    """A value as YAML in one line, as `parse_axis` takes it between commas."""
    if isinstance(value, str) and value.isprintable() and not set(value) & set(",:'\"[]{}"):
        try:
            node, _ = parse(value, "")
        except ScenarioError:
            pass
        else:
            if node.data() == value:
                return value
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


def paths_in(path: str, value: Any) -> Iterator[str]:
    """The paths of files that a value at a dotted path is or has inside it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths_in(key, item)
    elif isinstance(value, list):
        for item in value:
            yield from paths_in("", item)
    elif isinstance(value, str) and path.rpartition(".")[2] == "path":
        yield value


def absolute_text(axis: Axis, folder: str) -> str:
    """An axis as `parse_axis` takes it, with the paths of files in `folder` made absolute."""
    return f"{axis.path}={','.join(yaml_text(_absolute(axis.path, value, folder)) for value in axis.given)}"


def _absolute(path: str, value: Any, folder: str) -> Any:
    if isinstance(value, dict):
        return {key: _absolute(key, item, folder) for key, item in value.items()}
    if isinstance(value, list):
        return [_absolute("", item, folder) for item in value]
    is_path = isinstance(value, str) and path.rpartition(".")[2] == "path"
    return os.path.join(folder, value) if is_path else value  # noqa: PTH118 - as text, links kept


def _nodes(text: str, place: Place, path: str) -> list[Node]:
    """The values between commas: what stands between the brackets of a YAML list."""
    nothing = place.error(path, "nothing", "a YAML value before and behind each comma, such as null")
    if not text.strip() or text.rstrip().endswith(","):
        raise nothing
    try:
        node, problems = parse(f"[{text}\n]", place.file, at=place)
    except ScenarioError:
        if _NOTHING.search(text):
            raise nothing from None
        raise
    if problems or not isinstance(node.value, list):
        raise ScenarioError(problems)
    return node.value


def _range(node: Node, place: Place, path: str) -> list[int | float] | None:
    """The numbers of ``start:stop:count``; None for a value that is no range."""
    if not isinstance(node.value, str) or node.text == quoted(node.value):
        return None
    ends = node.value.split(":")
    if len(ends) != 3:
        return None
    try:
        start, stop = (_number(end) for end in ends[:2])
    except ValueError:
        return None
    for end, number in zip(ends, (start, stop), strict=False):
        if not -MAX_END <= number <= MAX_END:
            raise place.error(path, clean(end.strip()), f"ends of a range from -{MAX_END} to {MAX_END}")
    try:
        count = int(ends[2])
    except ValueError:
        count = 0
    if not 1 <= count <= MAX_VALUES:
        allowed = f"a whole number of values from 1 to {MAX_VALUES} behind the second colon"
        raise place.error(path, clean(ends[2].strip()) or "nothing", allowed)
    if (count == 1) != (start == stop):
        allowed = "one value between equal ends, two or more between different ones"
        raise place.error(path, f"{count} from {ends[0].strip()} to {ends[1].strip()}", allowed)
    if count == 1:
        return [_simple(start)]
    return [_simple(start + (stop - start) * step / (count - 1)) for step in range(count)]


def _number(text: str) -> Decimal:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return Decimal(str(parse_duration(text.strip())))
    if number.is_nan():
        raise ValueError(text)
    return number


def _simple(number: Decimal) -> int | float:
    return int(number) if number == int(number) else float(number)


def _json_types(value: Any) -> Any:
    """The value in the types of JSON: numbers of numpy and decimals too."""
    if isinstance(value, Mapping):
        return {str(key): _json_types(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_types(item) for item in value]
    if isinstance(value, Decimal):
        return _simple(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return value.item() if hasattr(value, "item") else value


def _shown(path: str, value: Any) -> Cell:
    if isinstance(value, Mapping):
        rest = " ".join(f"{key}={_short(item)}" for key, item in value.items() if key != "kind")
        return " ".join(text for text in (str(value.get("kind", "")), rest) if text) or "{}"
    return _short(value) if isinstance(value, list) else value


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + " ".join(f"{key}={_short(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + " ".join(_short(item) for item in value) + "]"
    return cell_text(value)
