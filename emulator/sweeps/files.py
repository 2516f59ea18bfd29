"""What a sweep keeps on disk: the grid, a row for each run as it ends, and the summary.

``sweep.json`` is the grid, with the SHA-256 of each trace file that it names and of itself, so that rows of
another grid or of other durations are never added. ``runs.csv`` gets the rows in the order in which runs end,
and is put in order at the end; so a sweep that was killed has kept every row but perhaps the last, cut short,
which does not count.
"""

import csv
import hashlib
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from emulator.errors import ScenarioError, SweepError
from emulator.files import BusyError, hold_folder, is_beside, open_regular, replacing_text
from emulator.scenario.loading import parse_scenario
from emulator.sweeps.axes import Cell, cell_text, yaml_text
from emulator.sweeps.grid import Grid, from_json
from emulator.sweeps.jobs import TEXTS, Row
from emulator.sweeps.table import Sweep
from emulator.text import clean, defused
from emulator.values.series import MAX_TRACE_BYTES
from emulator.version import __version__

SCHEMA = 1
"""The version of the form of the files."""

GRID, SCENARIO, COMMAND, RUNS, SUMMARY = (
    "sweep.json",
    "scenario.json",
    "command.txt",
    "runs.csv",
    "summary.csv",
)

_HASH = re.compile("[0-9a-f]{64}")


class Directory:
    """The directory of one sweep; all methods raise SweepError where it cannot be read or written."""

    def __init__(self, path: str | os.PathLike[str], grid: Grid) -> None:
        self.path = _folder(path)
        self._grid = grid

    @contextmanager
    def open(self, command: str) -> Iterator[dict[int, Row]]:
        """Begin the sweep here, or go on with it; gives the rows kept so far by number.

        `command` is the text of ``command.txt`` of a new one. SweepError if the directory has something else
        in it, or another sweep; until the end of the block for another process, too.
        """
        with ExitStack() as held:
            with _kept_at(self.path):
                self.path.mkdir(parents=True, exist_ok=True)
                held.enter_context(hold_folder(self.path))
                rows = self._begin(command)
            yield rows

    def _begin(self, command: str) -> dict[int, Row]:
        header = {"schema": SCHEMA, "emulator": __version__, **self._grid.to_json()}
        if traces := self._grid.traces():
            header["traces"] = {file: _file_hash(file) for file in traces}
        header["sha256"] = _hash_of(header)
        texts = {GRID: _json(header), SCENARIO: _json(header["scenario"]), COMMAND: command + "\n"}
        # What a full disk or a killed process left half written beside a file means nothing.
        if not all(map(is_beside, self.path.iterdir())) and read_grid(self.path) != self._grid:
            raise SweepError(
                f"{self.path}: found another sweep; allowed: a new or an empty directory, or the "
                "directory of the same sweep, to go on with it"
            )
        for name, text in texts.items():
            if not (self.path / name).exists():
                _replace(self.path / name, text)
        rows = self._kept()
        self._write_rows(rows.values())
        return rows

    def add(self, rows: Sequence[Row]) -> None:
        """Keep the rows of runs that have ended."""
        with _kept_at(self.path), (self.path / RUNS).open("a", encoding="utf-8", newline="") as file:
            file.write(_csv([self._cells(row) for row in rows]))

    def close(self, sweep: Sweep) -> None:
        """Put the rows in order and write the summary of what there is."""
        with _kept_at(self.path):
            self._write_rows(sweep.rows)
            summary = sweep.summary()
            lines = [[*map(_axis_text, point.values.values())] for point in sweep.points]
            for cells, line in zip(lines, summary, strict=True):
                cells += [_text(value) for value in list(line.values())[len(cells) :]]
            _replace(self.path / SUMMARY, _csv([list(summary[0]), *lines]))

    def _write_rows(self, rows: Iterable[Row]) -> None:
        _replace(self.path / RUNS, _csv([self._grid.columns, *(self._cells(row) for row in rows)]))

    def _cells(self, row: Row) -> list[str]:
        axes = {axis.path for axis in self._grid.axes}
        return [_axis_text(row[name]) if name in axes else _text(row[name]) for name in self._grid.columns]

    def _kept(self) -> dict[int, Row]:
        """The rows of ``runs.csv`` that are whole, by number."""
        try:
            text = (self.path / RUNS).read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return {}
        rows: dict[int, Row] = {}
        head, *lines = text.split("\n")[:-1] or [""]
        columns = next(csv.reader([head]), [])
        for line in lines:
            row = self._row(line, columns)
            if row is not None:
                rows.setdefault(row["run"], row)
        return dict(sorted(rows.items()))

    def _row(self, line: str, columns: Sequence[str]) -> Row | None:
        """The row of a line, or None if it is damaged or none of this grid's.

        A figure that has no column, since the file is older than it, is None.
        """
        grid = self._grid
        try:
            cells = next(csv.reader([line], strict=True))
            found = dict(zip(columns, cells, strict=True))
            point, seed = divmod(int(found["run"]), len(grid.seeds))
            outcome: Row = {}
            for name, column in grid.figures.items():
                outcome[name] = _value(name, found.get(column, ""))
            outcome |= {name: _value(name, found[name]) for name in TEXTS}
            row = grid.row(point, grid.seeds[seed], outcome)
        except (StopIteration, LookupError, ValueError, csv.Error):
            return None
        whole = row["error"] is not None or _HASH.fullmatch(row["trace_sha256"] or "")
        same = found.items() <= dict(zip(grid.columns, self._cells(row), strict=True)).items()
        return row if whole and point >= 0 and same else None


def read_grid(directory: str | os.PathLike[str]) -> Grid:
    """The grid of the sweep that a directory keeps; SweepError if it keeps none that can be gone on with."""
    path = _folder(directory)
    with _kept_at(path):
        document = _header(path)
    if document.get("schema") != SCHEMA:
        raise SweepError(
            f"{path / GRID}: found a file of schema {clean(cell_text(document.get('schema')))}; allowed: "
            f"schema {SCHEMA}, which this version, {__version__}, writes; begin a new one"
        )
    if document.get("emulator") != __version__:
        raise SweepError(
            f"{path / GRID}: found a sweep of emulator {clean(document.get('emulator'))}; allowed: one of "
            f"this version, {__version__}, since the runs of a sweep must be comparable; begin a new one"
        )
    _check_traces(path, document)
    try:
        grid = from_json(document)
    except ValidationError:
        raise SweepError(f"{path / GRID} is damaged: {_mistakes(document['scenario'], path)}") from None
    except KeyError as error:
        raise SweepError(f"{path / GRID} is damaged: it has no {error.args[0]}") from error
    except (ScenarioError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SweepError(f"{path / GRID} is damaged: {error}") from error
    rest = {name: value for name, value in document.items() if name != "sha256"}
    if document.get("sha256") != _hash_of(rest):
        raise SweepError(
            f"{path / GRID}: found another grid than the sweep began with (its sha256 differs); allowed: the "
            "file as it was written, since the rows are to be of one grid; undo the change, or begin a new "
            "sweep in another directory"
        )
    return grid


def _check_traces(path: Path, document: Mapping[str, Any]) -> None:
    """SweepError if a trace file is not as it was when the sweep began."""
    traces = document.get("traces", {})
    if not isinstance(traces, dict):
        raise SweepError(f"{path / GRID} is damaged: its traces are no mapping")
    for file, before in traces.items():
        now = _file_hash(file)
        if now != before:
            found = "no file to read" if now is None else "other contents"
            began = "none" if before is None else clean(before, 64)
            raise SweepError(
                f"{clean(file, 4096)}: found {found}; allowed: the file as it was when the sweep in {path} "
                f"began ({began}), since all rows are to be of the same durations; restore that, or begin a "
                "new sweep in another directory"
            )


def _file_hash(file: str) -> str | None:
    """The SHA-256 of a file's contents; None where there is no file that could be a trace."""
    try:
        if Path(file).stat().st_size > MAX_TRACE_BYTES:
            return None
        with open_regular(file) as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except (OSError, ValueError):
        return None


def _hash_of(document: Mapping[str, Any]) -> str:
    """The SHA-256 of a document of JSON values, however its text is laid out."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _mistakes(scenario: Any, path: Path) -> str:
    """What is wrong with the scenario of a grid, in sentences."""
    try:
        parse_scenario(yaml_text(scenario), path / SCENARIO, overrides=(), seed=None)
    except ScenarioError as error:
        mistakes = [f"scenario.{p.key}: found {p.found}; allowed: {p.allowed}" for p in error.problems]
        return "; ".join(mistakes).replace("scenario.:", "scenario:")
    return "its scenario cannot be used"


def _folder(directory: str | os.PathLike[str]) -> Path:
    """The path of a directory; SweepError for an empty text, which would be the working directory."""
    if not os.fspath(directory):
        raise SweepError(
            "found no name of a directory; allowed: the path of one, . for the working directory"
        )
    return Path(directory)


def _header(path: Path) -> dict[str, Any]:
    try:
        document = json.loads((path / GRID).read_text(encoding="utf-8"))
    except FileNotFoundError:
        found = "other files" if path.is_dir() else "no directory"
        raise SweepError(
            f"{path}: found {found} and no {GRID}; allowed: the directory of a sweep to go on with it, or a "
            "new or an empty one to begin it"
        ) from None
    except ValueError as error:
        raise SweepError(f"{path / GRID} is damaged: {error}") from error
    except RecursionError:
        raise SweepError(f"{path / GRID} is damaged: it is nested too deeply") from None
    if not isinstance(document, dict):
        raise SweepError(f"{path / GRID} is damaged: it is no mapping")
    return document


def _replace(path: Path, text: str) -> None:
    """Write a file so that it is never seen half written."""
    with replacing_text(path) as file:
        file.write(text)


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _csv(lines: Iterable[Sequence[str]]) -> str:
    page = io.StringIO()
    csv.writer(page, lineterminator="\n").writerows(lines)
    return page.getvalue()


def _text(value: Any) -> str:
    """A cell: nothing for None, lists and numbers as in JSON, so that numbers come back as they were."""
    return "" if value is None else _axis_text(value)


def _axis_text(value: Cell) -> str:
    """A cell of an axis, whose values may be null; a text is never a formula."""
    return defused(value) if isinstance(value, str) else cell_text(value)


def _value(column: str, cell: str) -> Any:
    if not cell:
        return None
    if column not in TEXTS:
        return json.loads(cell)
    return cell[1:] if defused(cell[1:]) == cell else cell


@contextmanager
def _kept_at(path: Path) -> Iterator[None]:
    """SweepError where the files of a sweep cannot be kept or read."""
    try:
        yield
    except BusyError:
        raise SweepError(
            f"{path}: found a sweep that another process runs there; allowed: a directory of "
            "its own for each, or this one when that has ended"
        ) from None
    except OSError as error:
        raise SweepError(
            f"{path}: the files of the sweep cannot be kept there: {error.strerror or error}"
        ) from error
