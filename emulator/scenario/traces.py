"""Reading recorded durations from a file: plain text, CSV or JSON Lines, told apart by the file's suffix.

- ``.csv``: one row a value; the column is named by the header, or counted from 1.
- ``.jsonl``, ``.ndjson``: one bare number a line, or one object a line with the column as a key.
- anything else: plain text, one number a line; blank lines and what follows a ``#`` are skipped.
"""

import csv
import json
import math
import stat
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from emulator.scenario.values import MAX_SECONDS, plain

MAX_TRACE_BYTES = 1 << 30
"""The largest trace file read: 1 GiB."""

MAX_TRACE_VALUES = 20_000_000
"""The most values read from one trace."""

MAX_LINE_BYTES = 1 << 20
"""The longest line of a trace file."""

ALLOWED = f"one number from 0 to {plain(MAX_SECONDS)} a line"

_CHUNK = 1 << 20


class TraceError(ValueError):
    """A trace cannot be used: ``found`` tells what stands where, ``allowed`` what should."""

    def __init__(self, found: str, allowed: str, key: str = "path") -> None:
        self.found, self.allowed, self.key = found, allowed, key
        super().__init__(f"found {found}; allowed: {allowed}")


class Series:
    """The values of a trace: an array that is compared by content and cannot be written to."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        values.setflags(write=False)
        self.values = values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Series):
            return NotImplemented
        return self is other or np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash(len(self.values))


def read_trace(path: str, column: str | int | None) -> Series:
    """Read all values of a trace file; TraceError tells what is wrong, with the file's name and the line.

    A file that has not changed since it was last read is not read again.
    """
    try:
        status = Path(path).stat()
        if stat.S_ISDIR(status.st_mode):
            raise TraceError(f"the directory {path}", "a file")
        if not stat.S_ISREG(status.st_mode):
            raise TraceError(f"{path}, which is not a regular file", "a file")
        if status.st_size > MAX_TRACE_BYTES:
            raise TraceError(
                f"{path}, {status.st_size} bytes long", f"a file of at most {MAX_TRACE_BYTES} bytes"
            )
        return _read(path, column, status.st_mtime_ns, status.st_size)
    except FileNotFoundError:
        raise TraceError(f"no file {path}", "the path of a trace, relative to the scenario file") from None
    except (OSError, ValueError) as error:
        if isinstance(error, TraceError):
            raise
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise TraceError(f"{path}, which cannot be read ({reason})", "a readable file") from None


@lru_cache(maxsize=8)
def _read(path: str, column: str | int | None, modified: int, size: int) -> Series:
    suffix = Path(path).suffix.lower()
    if suffix == ".csv":
        blocks = _blocks(path, _csv_cells(path, column))
    elif suffix in {".jsonl", ".ndjson"}:
        blocks = _blocks(path, _jsonl_cells(path, column))
    elif column is not None:
        raise TraceError(
            f"a column for the plain text file {path}", "no column, or a .csv or .jsonl file", "column"
        )
    else:
        blocks = _text_blocks(path)
    values: list[NDArray[np.float64]] = []
    total = 0
    for block in blocks:
        values.append(block)
        total += len(block)
        if total > MAX_TRACE_VALUES:
            raise TraceError(
                f"more than {MAX_TRACE_VALUES} values in {path}", f"at most {MAX_TRACE_VALUES} values"
            )
    if not total:
        raise TraceError(f"no values in {path}", "at least one value")
    return Series(np.concatenate(values))


def _text_blocks(path: str) -> Iterator[NDArray[np.float64]]:
    with Path(path).open("rb") as file:
        first = 1
        while lines := _lines(file, path, first):
            try:
                block = np.fromiter(map(float, lines), np.float64, len(lines))
            except ValueError:
                block = None
            # Whatever is not simply numbers (comments, blanks, mistakes) is looked at again, slowly.
            if block is None or not _fits(block) or any(b"_" in line for line in lines):
                numbered = enumerate((line.split(b"#")[0].strip() for line in lines), first)
                values = [
                    _value(path, line, text.decode(errors="replace")) for line, text in numbered if text
                ]
                block = np.array(values, np.float64)
            yield block
            first += len(lines)


def _lines(file: BinaryIO, path: str, first: int) -> list[bytes]:
    chunk = file.read(_CHUNK)
    if chunk and not chunk.endswith(b"\n"):
        chunk += file.readline(MAX_LINE_BYTES)
        if b"\n" not in chunk and len(chunk) >= MAX_LINE_BYTES:
            raise TraceError(f"a line of over {MAX_LINE_BYTES} bytes in {path}, line {first}", ALLOWED)
    return chunk.splitlines()


def _fits(block: NDArray[np.float64]) -> bool:
    # NaN compares false, so it is refused too.
    return bool(np.all((block >= 0) & (block <= MAX_SECONDS)))


def _value(path: str, line: int, cell: object) -> float:
    found = cell.strip() if isinstance(cell, str) else json.dumps(cell)
    try:
        number = math.nan if "_" in found or isinstance(cell, bool) else float(found)
    except ValueError:
        number = math.nan
    if not 0 <= number <= MAX_SECONDS:
        shown = found if len(found) <= 40 else f"{found[:40]}…"
        shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in shown)
        raise TraceError(f"{shown or 'nothing'} in {path}, line {line}", ALLOWED)
    return number


def _blocks(path: str, cells: Iterable[tuple[int, object]]) -> Iterator[NDArray[np.float64]]:
    values: list[float] = []
    for line, cell in cells:
        values.append(_value(path, line, cell))
        if len(values) == 100_000:
            yield np.array(values)
            values = []
    yield np.array(values)


def _csv_cells(path: str, column: str | int | None) -> Iterator[tuple[int, object]]:
    with Path(path).open(encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.reader(file)
        try:
            first = next(rows, None)
            if first is None:
                return
            index = _csv_index(path, first, column)
            if not isinstance(column, str) and _is_number(first[index]):
                yield 1, first[index]
            for row in rows:
                if row:
                    yield rows.line_num, row[index] if index < len(row) else ""
        except csv.Error as error:
            raise TraceError(f"a broken row in {path}, line {rows.line_num} ({error})", "CSV") from None


def _csv_index(path: str, first: list[str], column: str | int | None) -> int:
    names = [name.strip() for name in first]
    if isinstance(column, str):
        if column not in names:
            raise TraceError(f"no column {column} in {path}", f"one of {', '.join(names)}", "column")
        return names.index(column)
    if column is None and len(names) > 1:
        raise TraceError(
            f"{len(names)} columns in {path} and no choice", f"one of {', '.join(names)}", "column"
        )
    index = (column or 1) - 1
    if index >= len(names):
        raise TraceError(f"no column {column} in {path}", f"a column from 1 to {len(names)}", "column")
    return index


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _jsonl_cells(path: str, column: str | int | None) -> Iterator[tuple[int, object]]:
    with Path(path).open(encoding="utf-8-sig", errors="replace") as file:
        for line, text in enumerate(file, 1):
            if text.strip():
                yield line, _jsonl_cell(path, line, text, column)


def _jsonl_cell(path: str, line: int, text: str, column: str | int | None) -> Any:
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()
    if not isinstance(entry, dict):
        return entry
    if column is None:
        raise TraceError(
            f"an object in {path}, line {line}, and no choice", f"one of {', '.join(entry)}", "column"
        )
    if column not in entry:
        raise TraceError(f"no {column} in {path}, line {line}", f"one of {', '.join(entry)}", "column")
    return entry[column]
