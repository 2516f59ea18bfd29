"""Reading recorded durations from a file: plain text, CSV or JSON Lines, told apart by the file's suffix.

- ``.csv``: one row a value; the column is named by the header, or counted from 1.
- ``.jsonl``, ``.ndjson``: one bare number a line, or one object a line with the column as a key.
- anything else: plain text, one number a line; blank lines and what follows a ``#`` are skipped.

A path may name any file, so a message never shows what stands in one: of a table it names the columns that
hold numbers, and otherwise it says no more than which line is at fault.
"""

import csv
import hashlib
import io
import json
import math
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from emulator.files import open_regular
from emulator.text import clean
from emulator.values.scalars import MAX_SECONDS, shortest

MAX_TRACE_BYTES = 1 << 30
"""The largest trace file read: 1 GiB."""

MAX_TRACE_VALUES = 20_000_000
"""The most values read from one trace."""

MAX_LINE_BYTES = 1 << 20
"""The longest line of a trace file, and the longest row of a CSV."""

MAX_LINES = 25_000_000
"""The most lines of a trace file, with those that hold no value: they take time too."""

ALLOWED = f"one number from 0 to {shortest(MAX_SECONDS)} a line"

_CHUNK = 1 << 20
_MOST_NAMES = 20


class TraceError(ValueError):
    """A trace cannot be used: ``found`` says what stands where, ``allowed`` what should."""

    def __init__(self, found: str, allowed: str, key: str = "path") -> None:
        self.found, self.allowed, self.key = found, allowed, key
        super().__init__(f"found {found}; allowed: {allowed}")


class Series:
    """The values of a trace: an array that is compared by content and cannot be written to."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        values.setflags(write=False)
        self.values = values

    @cached_property
    def sha256(self) -> str:
        """The SHA-256, in hex, of the values as 64-bit floats, little-endian."""
        return hashlib.sha256(np.ascontiguousarray(self.values, "<f8").data).hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Series):
            return NotImplemented
        return self is other or np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash(len(self.values))


Source = Callable[[str, str | int | None], Series | None]
"""Gives the values of a path and a column, None where they are not known; may raise TraceError."""


def read_trace(path: str, column: str | int | None) -> Series:
    """Read all values of a trace file; TraceError says what is wrong, with the file's name and the line.

    A file that has not changed since it was last read is not read again.
    """
    try:
        status = Path(path).stat()
        if status.st_size > MAX_TRACE_BYTES:
            raise TraceError(
                f"{path}, {status.st_size} bytes long", f"a file of at most {MAX_TRACE_BYTES} bytes"
            )
        if stat.S_ISREG(status.st_mode) and not status.st_size:
            found = f"{path}, which is empty or no file of a disk"
            raise TraceError(found, "a file with at least one value")
        return _read(path, column, status.st_mtime_ns, status.st_size)
    except FileNotFoundError:
        raise TraceError(f"no file {path}", "the path of a trace, relative to the scenario file") from None
    except IsADirectoryError:
        raise TraceError(f"the directory {path}", "a file") from None
    except OSError as error:
        raise TraceError(f"{path}, which cannot be read ({error.strerror})", "a readable file") from None


@lru_cache(maxsize=8)
def _read(path: str, column: str | int | None, modified: int, size: int) -> Series:
    with open_regular(path) as file:
        return Series(np.concatenate(list(_blocks(path, column, file))))


def _blocks(path: str, column: str | int | None, file: BinaryIO) -> Iterator[NDArray[np.float64]]:
    """The values of a file in blocks, which are not too many and not none."""
    suffix = Path(path).suffix.lower()
    if suffix == ".csv":
        blocks = _in_blocks(path, _csv_cells(path, _Lines(path, file), column))
    elif suffix in {".jsonl", ".ndjson"}:
        blocks = _in_blocks(path, _jsonl_cells(path, _Lines(path, file), column))
    elif column is not None:
        raise TraceError(
            f"a column for the plain text file {path}", "no column, or a .csv or .jsonl file", "column"
        )
    else:
        blocks = _text_blocks(path, file)
    total = 0
    for block in blocks:
        yield block
        total += len(block)
        if total > MAX_TRACE_VALUES:
            raise TraceError(
                f"more than {MAX_TRACE_VALUES} values in {path}", f"at most {MAX_TRACE_VALUES} values"
            )
    if not total:
        raise TraceError(f"no values in {path}", "at least one value")


def _text_blocks(path: str, file: BinaryIO) -> Iterator[NDArray[np.float64]]:
    first = 1
    while lines := _text_lines(file, path, first):
        try:
            block = np.fromiter(map(float, lines), np.float64, len(lines))
        except ValueError:
            block = None
        # Whatever is not simply numbers (comments, blanks, mistakes) is looked at again, slowly.
        if block is None or not _fits(block) or any(b"_" in line for line in lines):
            numbered = enumerate((line.split(b"#")[0].strip() for line in lines), first)
            values = [_value(path, line, text.decode(errors="replace")) for line, text in numbered if text]
            block = np.array(values, np.float64)
        yield block
        first += len(lines)


def _text_lines(file: BinaryIO, path: str, first: int) -> list[bytes]:
    chunk = file.read(_CHUNK)
    if chunk and not chunk.endswith(b"\n"):
        chunk += file.readline(MAX_LINE_BYTES)
        if b"\n" not in chunk and len(chunk) >= MAX_LINE_BYTES:
            raise _too_long(path, first)
    lines = chunk.splitlines()
    _check_count(path, first + len(lines) - 1)
    return lines


class _Lines:
    """The lines of a file as text; `row_ended` is to be called whenever a row of values is complete."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        self.number = 0
        self._path = path
        self._file = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
        self._size = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._file.readline(MAX_LINE_BYTES + 1):
            self.number += 1
            self._size += len(line)
            if self._size > MAX_LINE_BYTES:
                raise _too_long(self._path, self.number)
            _check_count(self._path, self.number)
            yield line

    def row_ended(self) -> None:
        self._size = 0


def _too_long(path: str, line: int) -> TraceError:
    return TraceError(f"a line of over {MAX_LINE_BYTES} bytes in {path}, line {line}", ALLOWED)


def _check_count(path: str, lines: int) -> None:
    if lines > MAX_LINES:
        raise TraceError(f"more than {MAX_LINES} lines in {path}", f"at most {MAX_LINES} lines")


def _fits(block: NDArray[np.float64]) -> bool:
    # NaN compares false, so it is refused too.
    return bool(np.all((block >= 0) & (block <= MAX_SECONDS)))


def _value(path: str, line: int, cell: object) -> float:
    number = _number(cell)
    if not 0 <= number <= MAX_SECONDS:
        found = "no number" if math.isnan(number) else "a number out of range"
        raise TraceError(f"{'nothing' if cell == '' else found} in {path}, line {line}", ALLOWED)
    return number


def _number(cell: object) -> float:
    """The number that a cell is; nan where it is not one."""
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return math.nan
    try:
        return math.nan if isinstance(cell, str) and "_" in cell else float(cell)
    except (ValueError, OverflowError):
        return math.nan


def _in_blocks(path: str, cells: Iterable[tuple[int, object]]) -> Iterator[NDArray[np.float64]]:
    values: list[float] = []
    for line, cell in cells:
        values.append(_value(path, line, cell))
        if len(values) == 100_000:
            yield np.array(values)
            values = []
    yield np.array(values)


def _csv_cells(path: str, lines: _Lines, column: str | int | None) -> Iterator[tuple[int, object]]:
    rows = _csv_rows(path, lines)
    line, first = next(rows, (1, []))
    if not first:
        return
    second = next(rows, (0, []))
    index = _csv_index(path, first, second[1], column)
    if not isinstance(column, str) and _is_number(first[index]):
        yield line, first[index]
    for number, row in chain([second], rows) if second[1] else ():
        yield number, row[index] if index < len(row) else ""


def _csv_rows(path: str, lines: _Lines) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the number of its last line."""
    rows = csv.reader(lines)
    try:
        for row in rows:
            lines.row_ended()
            if row:
                yield rows.line_num, row
    except csv.Error as error:
        raise TraceError(f"a broken row in {path}, line {rows.line_num} ({error})", "CSV") from None


def _csv_index(path: str, first: list[str], second: list[str], column: str | int | None) -> int:
    names = [name.strip() for name in first]
    # What has no numbers under names is no table that may be spoken of.
    is_table = len(first) == len(second) and not any(map(_is_number, first))
    known = [name for name, cell in zip(names, second, strict=True) if _is_number(cell)] if is_table else []
    if isinstance(column, str):
        if column not in names:
            raise TraceError(f"no column {clean(column)} in {path}", _choice(known), "column")
        return names.index(column)
    if column is None and len(names) > 1:
        raise TraceError(f"{len(names)} columns in {path} and no choice", _choice(known), "column")
    index = (column or 1) - 1
    if index >= len(names):
        raise TraceError(f"no column {clean(column)} in {path}", f"a column from 1 to {len(names)}", "column")
    return index


def _choice(names: list[str]) -> str:
    """The columns to choose from."""
    if not names:
        return "the name of a column of numbers, or its number from 1"
    listed = [clean(name) for name in names[:_MOST_NAMES]]
    return f"one of {', '.join(listed)}{', …' if len(names) > _MOST_NAMES else ''}"


def _is_number(cell: str) -> bool:
    return not math.isnan(_number(cell))


def _jsonl_cells(path: str, lines: _Lines, column: str | int | None) -> Iterator[tuple[int, object]]:
    for text in lines:
        lines.row_ended()
        if text.strip():
            yield lines.number, _jsonl_cell(path, lines.number, text, column)


def _jsonl_cell(path: str, line: int, text: str, column: str | int | None) -> Any:
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()
    if not isinstance(entry, dict):
        return entry
    known = [key for key, value in entry.items() if isinstance(value, int | float)]
    if column is None:
        raise TraceError(f"an object in {path}, line {line}, and no choice", _choice(known), "column")
    if column not in entry:
        raise TraceError(f"no {clean(column)} in {path}, line {line}", _choice(known), "column")
    return entry[column]
