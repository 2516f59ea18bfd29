"""The grid: every point that the axes span, each with its scenario, or with why it has none."""

import copy
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from emulator.errors import LONGEST, Problem, ScenarioError
from emulator.scenario import Scenario
from emulator.scenario.loading import grown
from emulator.scenario.models import held_by
from emulator.scenario.tree import Place, planted
from emulator.sweeps.axes import Axis, Cell, cell_text, make_axes, paths_in, yaml_text
from emulator.sweeps.jobs import TEXTS, Row, figure_names
from emulator.text import clean

MAX_RUNS = 1_000_000
"""The most runs of a sweep."""

MAX_POINTS = 100_000
"""The most points of a grid: each has a scenario of its own, which takes some 0.1 ms and 10 kB."""

_MOST_PROBLEMS = 10


@dataclass(frozen=True)
class Point:
    """One point: what the axes are there, and the scenario this makes, or the `error` why there is none."""

    values: dict[str, Cell]
    scenario: Scenario | None
    error: str | None = None


@dataclass(frozen=True)
class Grid:
    """What a sweep runs: the points in order, first axis outermost, and at each the same seeds.

    Run number ``r`` is seed ``r % len(seeds)`` of point ``r // len(seeds)``. `folder` is what paths of traces
    in the values of an axis are relative to.
    """

    scenario: Scenario
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    points: tuple[Point, ...]
    folder: str = field(compare=False)

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return len(self.points) * len(self.seeds)

    @cached_property
    def figures(self) -> dict[str, str]:
        """The figures that any run has, in order, and the column of each.

        A figure that is called like an axis (``environment.retries``) has its column as ``result.…``.
        """
        names = dict.fromkeys(
            name for point in self.points if point.scenario for name in figure_names(point.scenario)
        )
        paths = {axis.path for axis in self.axes}
        return {name: f"result.{name}" if name in paths else name for name in names}

    @property
    def columns(self) -> list[str]:
        """The columns of a row, in order."""
        return [
            "run",
            *(axis.path for axis in self.axes),
            "seed",
            TEXTS[0],
            *self.figures.values(),
            TEXTS[1],
        ]

    @cached_property
    def _places(self) -> dict[int, int]:
        return {seed: place for place, seed in enumerate(self.seeds)}

    def row(self, point: int, seed: int, outcome: Row) -> Row:
        """The row of a run, of what came of it; a figure that it does not have is None."""
        return {
            "run": point * len(self.seeds) + self._places[seed],
            **self.points[point].values,
            "seed": seed,
            "error": outcome["error"],
            **{column: outcome.get(name) for name, column in self.figures.items()},
            "trace_sha256": outcome.get("trace_sha256"),
        }

    def to_json(self) -> dict[str, Any]:
        """Everything that makes the grid, of plain JSON values; `from_json` takes it."""
        document = {
            "scenario": given(self.scenario),
            "vary": {axis.path: list(axis.given) for axis in self.axes},
            "seeds": list(self.seeds),
        }
        if any(True for _ in self._paths_varied()):
            document["folder"] = self.folder
        return document

    def traces(self) -> list[str]:
        """The files of durations that its points name, as absolute paths, whether they exist or not."""
        base = {name: value for name, value in given(self.scenario).items() if name != "lanes"}
        named = {*paths_in("", base), *self._paths_varied()}
        return sorted({os.path.abspath(os.path.join(self.folder, path)) for path in named})  # noqa: PTH100, PTH118 - as text, links kept

    def _paths_varied(self) -> Iterator[str]:
        return (path for axis in self.axes for value in axis.given for path in paths_in(axis.path, value))


def from_json(document: Mapping[str, Any]) -> Grid:
    """Make the grid that `Grid.to_json` wrote; KeyError, TypeError or ValueError for anything else."""
    scenario = Scenario.model_validate(document["scenario"])
    return make_grid(scenario, document["vary"], document["seeds"], folder=document.get("folder", ""))


def make_grid(
    scenario: Scenario,
    vary: Mapping[str, Sequence[Any]] | Sequence[str],
    seeds: int | Sequence[int],
    *,
    folder: str = "",
) -> Grid:
    """Span the grid of a scenario and the axes in `vary`.

    `seeds` is how many, from the scenario's own upwards, or which. Paths of traces in `vary` are relative to
    `folder`. ScenarioError if nothing can be run: a path that does not exist, values that fit no point, and
    a range with such a value. Where some points are well, the others have an error instead of a scenario.
    """
    axes = make_axes(vary)
    numbers = _seeds(scenario, seeds)
    spanned = math.prod(len(axis.values) for axis in axes)
    if spanned > MAX_POINTS:
        raise axes[-1].place.error(axes[-1].path, f"{spanned} points in all", f"at most {MAX_POINTS}")
    count = spanned * len(numbers)
    if count > MAX_RUNS:
        raise axes[-1].place.error(axes[-1].path, f"{count} runs in all", f"at most {MAX_RUNS}")
    folder = str(Path(folder).absolute())
    scenario = scenario.model_copy(update={"seed": numbers[0]})
    base = {name: value for name, value in given(scenario).items() if name != "lanes"}
    context = {"folder": folder, "series": held_by(scenario)}
    points: list[Point] = []
    problems: dict[Problem, None] = {}
    well: set[tuple[int, int]] = set()
    for places in product(*(range(len(axis.values)) for axis in axes)):
        point, wrong = _point(base, axes, places, scenario.name, context)
        points.append(point)
        problems.update(dict.fromkeys(wrong))
        if not wrong:
            well.update(enumerate(places))
    stray = [
        Problem(axis.place.file, None, None, axis.path, cell_text(axis.values[step]), _why(axis, problems))
        for place, axis in enumerate(axes)
        for step in sorted(axis.stepped)
        if (place, step) not in well
    ]
    if not well:
        raise ScenarioError(list(problems)[:_MOST_PROBLEMS])
    if stray:
        raise ScenarioError(stray[:_MOST_PROBLEMS])
    return Grid(scenario, axes, numbers, tuple(points), folder)


def given(scenario: Scenario) -> dict[str, Any]:
    """What a scenario was given, without defaults, as a JSON-ready dict that gives an equal scenario."""
    return scenario.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _point(
    base: dict[str, Any],
    axes: Sequence[Axis],
    places: Sequence[int],
    name: str,
    context: dict[str, Any],
) -> tuple[Point, Sequence[Problem]]:
    values = {axis.path: axis.values[place] for axis, place in zip(axes, places, strict=True)}
    # Shorter paths first, so that a strategy does not wipe out what varies inside it.
    changes = sorted(
        ((axis.path, axis.given[place]) for axis, place in zip(axes, places, strict=True)),
        key=lambda change: change[0].count("."),
    )
    document = copy.deepcopy(base)
    try:
        for path, value in changes:
            _put(document, path.split("."), copy.deepcopy(value))
        return Point(values, Scenario.model_validate(document, context=context)), ()
    except (ValidationError, TypeError):
        problems = _explained(base, changes, name, context)
        return Point(values, None, "; ".join(map(str, problems))), problems


def _put(document: Any, steps: Sequence[str], value: Any) -> None:
    """Put a value at a path; what is absent or null on the way becomes a mapping."""
    for step in steps[:-1]:
        if isinstance(document, dict) and document.get(step) is None:
            document[step] = {}
        document = document[_key(document, step)]
    document[_key(document, steps[-1])] = value


def _key(document: Any, step: str) -> str | int:
    """The key or the index that a step of a path is; TypeError where there is no way further."""
    if isinstance(document, dict):
        return step
    if isinstance(document, list) and step.isdecimal() and int(step) < len(document):
        return int(step)
    raise TypeError(step)


def _explained(
    base: dict[str, Any], changes: Sequence[tuple[str, Any]], name: str, context: Mapping[str, Any]
) -> Sequence[Problem]:
    """What is wrong with the changes, reported as for ``--set``."""
    overrides = [f"{path}={yaml_text(value)}" for path, value in changes]
    try:
        path = Path(context["folder"], name)
        grown(planted(base, Place(str(path))), path, overrides=overrides, seed=None, series=context["series"])
    except ScenarioError as error:
        return [_varied(problem, changes, name) for problem in error.problems]
    raise AssertionError(f"{overrides} are refused without a reason")


def _varied(problem: Problem, changes: Sequence[tuple[str, Any]], name: str) -> Problem:
    paths = [clean(path, LONGEST) for path, _ in changes]
    path = problem.file.removeprefix("--set ")
    if path not in paths:
        # A key of the scenario itself that does not go with a value of an axis.
        return Problem(name, None, None, problem.key, problem.found, problem.allowed, problem.hint)
    return Problem(f"--vary {path}", None, None, problem.key, problem.found, problem.allowed, problem.hint)


def _why(axis: Axis, problems: Mapping[Problem, None]) -> str:
    """What is allowed at an axis, as its problems say it."""
    allowed = next(
        (p.allowed for p in problems if p.file == clean(axis.place.file, LONGEST)),
        "a value that some point can have",
    )
    return f"{allowed}, at every step of a range"


def _seeds(scenario: Scenario, seeds: int | Sequence[int]) -> tuple[int, ...]:
    place = Place("--seeds")
    count = seeds if isinstance(seeds, int) else len(seeds)
    if not 1 <= count <= MAX_RUNS:
        raise place.error("", f"{count} seeds", f"a whole number from 1 to {MAX_RUNS}")
    numbers = tuple(range(scenario.seed, scenario.seed + count)) if isinstance(seeds, int) else tuple(seeds)
    if len(set(numbers)) < len(numbers):
        raise place.error("", "a seed again", "each seed once")
    wrong = [seed for seed in numbers if not isinstance(seed, int) or not 0 <= seed < 2**64]
    if wrong:
        raise place.error("", f"the seed {wrong[0]}", "whole numbers from 0 to 2**64 - 1")
    return numbers
