"""The house: imports point down one list of floors, without a circle; a class name means one thing."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]

FLOORS = (
    ("version", "text", "errors", "randomness", "files", "signals", "modes", "clock"),
    ("fluid", "values", "strategies", "scenario", "learner"),
    ("events", "journal", "trace", "system"),
    ("figures", "episodes", "steady", "theory", "runs", "runner", "recording", "progress"),
    ("summary", "dashboard", "exports", "sweeps", "plots", "advice"),
    ("api", "emulator", "cli", "__main__"),
)
ORDER = [name for floor in FLOORS for name in floor]
"""The modules and packages from the ground up: each may import what stands before it, for types too.

``emulator`` is the package's own ``__init__``, which hands out all that is public.
"""

LONGEST = 400
LONG = {"emulator.figures.lane_state": "each kind of event has its method there"}
"""Modules of more lines, with the reason."""

MEANINGS = {
    "Alarm": "two ways to be woken at a time, of which the clock takes one",
    "Engine": "the section of a scenario that says what engines are like, and what generates",
    "KeyedQueue": "two ways to hand over episodes, of which the clock takes one",
    "Learner": "the section of a scenario, as the JSON Schema calls it, and the protocol for another",
}
"""Class names that are defined more than once, with the reason."""


def _modules() -> dict[str, Path]:
    found = {}
    for path in (ROOT / "emulator").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = _modules()


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@cache
def _imports(module: str) -> frozenset[str]:
    """The modules of the package that one imports, wherever in it."""
    found = set()
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module} imports by a relative name"
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {name if name in MODULES else str(node.module) for name in names}
    return frozenset(found & MODULES.keys())


def _home(module: str) -> str:
    """Where a module stands in the list."""
    return module.split(".")[1] if "." in module else module


def test_imports_point_down_the_list_of_floors() -> None:
    rank = {name: place for place, name in enumerate(ORDER)}
    arrows = {
        f"{module} imports {other}"
        for module in MODULES
        for other in _imports(module)
        if rank[_home(other)] > rank[_home(module)] and module != "emulator"
    }
    assert arrows == set()


def test_the_list_of_floors_has_every_module_once() -> None:
    assert sorted(ORDER) == sorted({_home(module) for module in MODULES})


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert _circle() == set()


def _circle() -> set[str]:
    """The modules that are left where those without imports among the rest are taken away again and again."""
    rest = {module: _imports(module) - {"emulator", module} for module in MODULES if module != "emulator"}
    while done := {module for module, imports in rest.items() if not imports & rest.keys()}:
        rest = {module: imports for module, imports in rest.items() if module not in done}
    while used := rest.keys() - set().union(*rest.values()):
        rest = {module: imports for module, imports in rest.items() if module not in used}
    return set(rest)


def test_no_module_is_longer_than_one_reads_at_once() -> None:
    lengths = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in MODULES.items()}
    assert {module for module, lines in lengths.items() if lines > LONGEST} == set(LONG)


def _classes() -> Iterator[tuple[str, str]]:
    for module in MODULES:
        for node in ast.walk(_tree(module)):
            if isinstance(node, ast.ClassDef):
                yield node.name, module


def test_a_class_name_means_one_thing() -> None:
    homes = defaultdict(list)
    for name, module in _classes():
        homes[name].append(module)
    assert {name for name, modules in homes.items() if len(modules) > 1} == set(MEANINGS)
