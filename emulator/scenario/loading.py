"""Loading scenarios from files, with all mistakes reported at once, each where it stands."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from emulator.errors import Problem, ScenarioError
from emulator.files import open_regular
from emulator.scenario.explain import explain, nearest
from emulator.scenario.models import Scenario
from emulator.scenario.tree import Node, Place, parse
from emulator.values.series import Source, read_trace

MAX_FILE_BYTES = 1 << 21
"""The largest scenario file: 2 MiB."""

_SUFFIXES = {".yaml", ".yml"}


class Bundled(NamedTuple):
    """A scenario that comes with the package."""

    name: str
    description: str
    path: Path


def bundled_scenarios() -> tuple[Bundled, ...]:
    """Return the scenarios that come with the package, by name, with the first line of their descriptions."""
    package = Path(__file__).parents[1]
    # In an installed package they are inside it, in a checkout beside it.
    folder = next((f for f in (package / "scenarios", package.parent / "scenarios") if f.is_dir()), None)
    if folder is None:
        return ()
    return tuple(Bundled(path.stem, _description(path), path) for path in sorted(folder.glob("*.yaml")))


def load_scenario(
    source: str | os.PathLike[str], *, overrides: Sequence[str] = (), seed: int | None = None
) -> Scenario:
    """Load a scenario from a file (YAML or JSON) or by the name of a bundled one.

    A bare word that names a bundled scenario is that one; everything else is a path. ``overrides`` are
    texts ``PATH=VALUE``: a dotted path (entries of a list by number from 0) and a YAML value, put in place
    of what the file says. ``seed`` does the same for the seed. Paths of traces are relative to the file,
    also in an override. Raises ``ScenarioError`` with every mistake.
    """
    return read_scenario(find(source), overrides=overrides, seed=seed)


def read_scenario(path: Path, *, overrides: Sequence[str], seed: int | None) -> Scenario:
    """Load a scenario from a file, as `load_scenario` does."""
    return parse_scenario(_text(path), path, overrides=overrides, seed=seed)


def parse_scenario(
    text: str, path: Path, *, overrides: Sequence[str], seed: int | None, series: Source = read_trace
) -> Scenario:
    """Load a scenario from a text that stands in the file `path`, as `load_scenario` does.

    `series` gives the values of traces.
    """
    root, problems = parse(text, str(path))
    return grown(root, path, overrides=overrides, seed=seed, series=series, problems=problems)


def grown(
    root: Node,
    path: Path,
    *,
    overrides: Sequence[str],
    seed: int | None,
    series: Source,
    problems: Sequence[Problem] = (),
) -> Scenario:
    """The scenario of a tree, which `problems` were found in already; all else as in `parse_scenario`."""
    problems = list(problems)
    if not isinstance(root.value, dict):
        raise root.place.error("", root.text, "a mapping of keys, at least rollout, trainer, strategy")
    for change in overrides:
        problems += _override(root, change)
    if seed is not None:
        root.keys["seed"] = Place("--seed")
        root.value["seed"] = Node(Place("--seed"), seed, str(seed))
    context = {"folder": str(path.parent), "series": series}
    try:
        scenario = Scenario.model_validate(root.data(), context=context)
    except ValidationError as error:
        problems += explain(error, root, context)
    if problems:
        raise ScenarioError(sorted(dict.fromkeys(problems), key=_order))
    return scenario


def _order(problem: Problem) -> tuple[bool, int, int]:
    return problem.line is None, problem.line or 0, problem.column or 0


def find(source: str | os.PathLike[str]) -> Path:
    """The file of a bundled scenario, or the path itself; ScenarioError for a bare word that is neither."""
    path = Path(source)
    if isinstance(source, str) and path.name == source and path.suffix not in _SUFFIXES:
        bundled = {scenario.name: scenario for scenario in bundled_scenarios()}
        if source in bundled:
            return bundled[source].path
        if not path.exists():
            names = ", ".join(bundled) or "none"
            problem = Place(source).problem(
                "",
                "neither a file nor a bundled scenario of that name",
                f"the path of a scenario file, or a bundled scenario: {names}",
                nearest(source, bundled),
            )
            raise ScenarioError([problem])
    return path


def _text(path: Path) -> str:
    place = Place(str(path))
    allowed = "a scenario file"
    try:
        with open_regular(path) as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        hint = nearest(path.stem, [scenario.name for scenario in bundled_scenarios()])
        raise place.error("", "no such file", allowed, hint) from None
    except IsADirectoryError:
        raise place.error("", "a directory", allowed) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else str(error)) or "unknown"
        raise place.error("", f"a file that cannot be read ({reason})", allowed) from None
    if len(data) > MAX_FILE_BYTES:
        raise place.error("", f"more than {MAX_FILE_BYTES} bytes", f"at most {MAX_FILE_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = len(data[data.rfind(b"\n", 0, error.start) + 1 : error.start].decode(errors="replace")) + 1
        place = Place(str(path), line, column)
        raise place.error("", f"the byte 0x{data[error.start]:02x}", "text in UTF-8") from None
    return text


def _description(path: Path) -> str:
    try:
        node, _ = parse(_text(path), str(path))
    except ScenarioError as error:
        return f"cannot be read: {error.problems[0].found}"
    description = node.child("description")
    return (
        description.value.strip().partition("\n")[0]
        if description and isinstance(description.value, str)
        else ""
    )


def names_kind(path: str, value: object) -> bool:
    """Whether the value that an option puts at a path is a bare word for a mapping with this ``kind``."""
    return isinstance(value, str) and path.rpartition(".")[2] == "strategy"


def _override(root: Node, change: str) -> list[Problem]:
    """Put the value of one ``PATH=VALUE`` into the tree."""
    path, equals, text = change.partition("=")
    path = path.strip()
    place = Place(f"--set {path}")
    steps = path.split(".")
    if not equals or not all(steps):
        return [Place(f"--set {change}").problem("", "no PATH=VALUE", "a dotted path, =, and a YAML value")]
    if any("\ud800" <= letter <= "\udfff" for letter in path):
        return [place.problem("", "bytes that are not UTF-8", "text in UTF-8")]
    nothing: tuple[Node, list[Problem]] = Node(place, None, "nothing"), []
    value, problems = parse(text, place.file, at=place) if text.strip() else nothing
    if names_kind(path, value.value):
        value = Node(place, {"kind": value}, "a mapping", {"kind": place})
    node = root
    for depth, step in enumerate(steps):
        last = depth == len(steps) - 1
        if isinstance(node.value, list):
            if not step.isdecimal() or int(step) >= len(node.value):
                allowed = (
                    f"entries by number, from 0 to {len(node.value) - 1}"
                    if node.value
                    else "no entries: the list is empty"
                )
                return [*problems, place.problem(path, f"no entry {step} in the list", allowed)]
            if last:
                node.value[int(step)] = value
            node = node.value[int(step)]
        elif isinstance(node.value, dict):
            if last:
                node.value[step] = value
                node.keys[step] = place
            elif step not in node.value or node.value[step].value is None:
                node.value[step] = Node(place, {}, "a mapping")
                node.keys[step] = place
            node = node.value[step]
        else:
            inside = ".".join(steps[:depth])
            return [
                *problems,
                place.problem(
                    path,
                    f"{node.text} at {inside}",
                    f"a key inside a mapping or list; set {inside} as a whole",
                ),
            ]
    return problems
