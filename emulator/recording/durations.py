"""The durations of trace files in a recording, so that it needs no file but itself.

The header's ``traces`` has an entry for each path and column: how many ``values``, the ``sha256`` of them as
64-bit floats, little-endian, and as ``data`` these floats, compressed by zlib, in base64. Where two entries
have the same values the first has the data. What a path names is never opened to read a recording.
"""

import base64
import binascii
import os
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from emulator.recording.form import complaint
from emulator.scenario import Scenario
from emulator.values.scalars import MAX_SECONDS, shortest
from emulator.values.series import MAX_TRACE_VALUES, Series, Source

MAX_VALUES = MAX_TRACE_VALUES
"""The most values that a recording holds, of all its traces together."""

_SHA256 = re.compile("[0-9a-f]{64}")
_LEVEL = 6
_BYTES = 8
_ALLOWED = "what a recording is written with: path, column, values, sha256, data"


def kept_durations(scenario: Scenario, path: Path) -> list[dict[str, Any]]:
    """The entries for the traces of a scenario; RecordingError if they are too many to be held in `path`."""
    entries: dict[tuple[str, str | int | None], dict[str, Any]] = {}
    held: dict[str, int] = {}
    for trace in scenario.traces():
        if trace.series is None or (trace.path, trace.column) in entries:
            continue
        series = trace.series
        entry: dict[str, Any] = {"path": trace.path, "column": trace.column}
        entry |= {"values": len(series.values), "sha256": series.sha256}
        if series.sha256 not in held:
            held[series.sha256] = len(series.values)
            if sum(held.values()) > MAX_VALUES:
                found = f"traces of more than {MAX_VALUES} values in all"
                raise complaint(path, found, "as many in a recording, which holds them")
            packed = zlib.compress(series.values.astype("<f8").tobytes(), _LEVEL)
            entry["data"] = base64.b64encode(packed).decode()
        entries[trace.path, trace.column] = entry
    return list(entries.values())


def recorded(header: dict[str, Any], path: Path) -> Source:
    """The values that a header holds, by path and column; RecordingError where it holds something else.

    Of an older recording there are none, and what a path names is not known.
    """
    entries = header.get("traces", [])
    if not isinstance(entries, list):
        raise complaint(path, "traces that are no list", _ALLOWED, line=1)
    known: dict[tuple[str, str | int | None], Series] = {}
    by_hash: dict[str, Series] = {}
    room = MAX_VALUES
    for number, entry in enumerate(entries):
        try:
            name, column, count, sha256, data = _checked(entry, room)
            if sha256 not in by_hash:
                by_hash[sha256] = _unpacked(data, count, sha256)
                room -= count
        except ValueError as error:
            raise complaint(path, f"traces.{number} with {error}", _ALLOWED, line=1) from None
        known[os.path.abspath(name), column] = by_hash[sha256]  # noqa: PTH100 - as text, links kept
    return lambda name, column: known.get((name, column))


def _checked(entry: Any, room: int) -> tuple[str, str | int | None, int, str, bytes]:
    entry = entry if isinstance(entry, dict) else {}
    name, column, count, sha256 = (entry.get(key) for key in ("path", "column", "values", "sha256"))
    data = entry.get("data", b"")
    if (
        not (isinstance(name, str) and name.isprintable())
        or not isinstance(column, str | int | None)
        or type(count) is not int
        or not 1 <= count <= MAX_VALUES
        or not (isinstance(sha256, str) and _SHA256.fullmatch(sha256))
        or not isinstance(data, bytes)
    ):
        raise ValueError("other values")
    if data and count > room:
        raise ValueError(f"more than {MAX_VALUES} values in all")
    return name, column, count, sha256, data


def _unpacked(data: bytes, count: int, sha256: str) -> Series:
    """The values in a text; ValueError if they are not those that were written."""
    try:
        packed = binascii.a2b_base64(data, strict_mode=True)
        unpacked = zlib.decompressobj().decompress(packed, count * _BYTES + 1)
    except (binascii.Error, zlib.error):
        raise ValueError("data that cannot be unpacked") from None
    if len(unpacked) != count * _BYTES:
        raise ValueError("data of another length")
    values = np.frombuffer(unpacked, "<f8").astype(np.float64, copy=False)
    # NaN compares false, so it is refused too.
    if not np.all((values >= 0) & (values <= MAX_SECONDS)):
        raise ValueError(f"values that are not from 0 to {shortest(MAX_SECONDS)}")
    series = Series(values)
    if series.sha256 != sha256:
        raise ValueError("values of another SHA-256")
    return series
