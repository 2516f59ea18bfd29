"""What writing and reading a recording have in common: its names, its header, and how its file is opened."""

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from emulator.errors import RecordingError
from emulator.files import open_regular
from emulator.text import clean
from emulator.version import __version__

SCHEMA = 1
"""The version of the recording's form."""

SUFFIXES = (".jsonl", ".jsonl.gz")
END = "end"
"""The name of the last line's event."""

ALLOWED = "a recording (.jsonl or .jsonl.gz)"

FORCE = "--force (force=True in Python)"
"""What lets an older file be replaced."""

DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile)
"""What reading raises where a compressed file is cut off or damaged."""

_GZIP_MAGIC = b"\x1f\x8b"
LONGEST_HEADER = 1 << 28
"""The longest first line, with the durations of 20 million episodes, which hardly become smaller; 256 MiB."""

_LONGEST_REST = 1 << 24  # of it, without those: what JSON makes of a text may take 30 times as much memory
_DATA = re.compile(rb'"data"\s*:\s*"([A-Za-z0-9+/=]*)"')


class _Chunks(io.RawIOBase):
    """What a compressed file unpacks to, as it comes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = gzip.GzipFile(fileobj=file)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._file.read1(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)


class Unpacked(io.BufferedReader):
    """A compressed file as it was before; its lines are read several times as fast as those of a `GzipFile`.

    `packed` is the size of the file in bytes.
    """

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(_Chunks(file), 1 << 16)
        self.packed = os.fstat(file.fileno()).st_size


def complaint(path: Path, found: str, allowed: str = ALLOWED, *, line: int | None = None) -> RecordingError:
    """The error that says what was found in a file and what is allowed there."""
    place = f"{path}" if line is None else f"{path}:{line}"
    return RecordingError(f"{place}: found {found}; allowed: {allowed}")


def has_suffix(path: Path) -> bool:
    """Whether a file is named as a recording is."""
    return path.name.endswith(SUFFIXES)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The lines of a recording, unpacked if need be; RecordingError if it cannot be opened."""
    try:
        file = open_regular(path)
    except FileNotFoundError:
        raise complaint(path, "no such file") from None
    except IsADirectoryError:
        raise complaint(path, "a directory") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else str(error)) or "unknown"
        raise complaint(path, f"a file that cannot be read ({reason})") from None
    with file:
        yield Unpacked(file) if file.peek(2)[:2] == _GZIP_MAGIC else file


def read_header(file: IO[bytes], path: Path) -> dict[str, Any]:
    """The header of a recording, from its first line; RecordingError if it cannot be used."""
    try:
        line = file.readline(LONGEST_HEADER)
    except DAMAGE:
        line = b"?"
    except OSError as error:
        raise complaint(path, f"a file that cannot be read ({error.strerror})") from None
    if not line:
        raise complaint(path, "an empty file")
    header = _header(line)
    if header is None:
        raise complaint(path, "a first line that is no header of a recording")
    if header["schema"] > SCHEMA:
        found = f"schema {header['schema']}, written by emulator {clean(header['emulator'])}"
        raise complaint(path, found, f"up to schema {SCHEMA}, the newest that emulator {__version__} knows")
    return header


def is_recording(path: Path) -> bool:
    """Whether a file begins as a recording does, of whatever schema."""
    try:
        with opened(path) as file:
            return _header(file.readline(LONGEST_HEADER)) is not None
    except (RecordingError, OSError, *DAMAGE):
        return False


def _header(line: bytes) -> dict[str, Any] | None:
    """The header in a line, if it is one; the ``data`` of its traces as bytes."""
    data: list[bytes] = []

    def put_aside(match: re.Match[bytes]) -> bytes:
        data.append(match[1])
        return b'"data":%d' % (len(data) - 1)

    line = _DATA.sub(put_aside, line)
    if len(line) > _LONGEST_REST:
        return None
    try:
        header = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(header, dict) or not {"schema", "emulator"} <= header.keys():
        return None
    traces = header.get("traces")
    for entry in traces if isinstance(traces, list) else ():
        if isinstance(entry, dict) and type(entry.get("data")) is int and 0 <= entry["data"] < len(data):
            entry["data"] = data[entry["data"]]
    return header if type(header["schema"]) is int and header["schema"] > 0 else None
