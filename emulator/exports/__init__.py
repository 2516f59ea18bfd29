"""Exports: what a recording becomes for those who do not have the emulator. One module a format.

>>> export("hour.jsonl.gz", "hour.html")

``.svg`` is a frame of the dashboard, ``.html`` a page, ``.cast`` an asciicast for terminal players,
``.json`` a Chrome trace for Perfetto, ``.csv`` a table of episodes.
"""

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TextIO

from emulator.errors import RecordingError
from emulator.exports.settings import Settings
from emulator.recording import Recording, read

__all__ = ["FORMATS", "Settings", "export"]

Writer = Callable[[Recording, Settings, TextIO], None]

FORMATS = {".svg": "picture", ".html": "page", ".cast": "cast", ".json": "trace", ".csv": "table"}
"""The module that writes each format, by the suffix of the file; its function is ``write``."""


def export(
    recording: str | os.PathLike[str], to: str | os.PathLike[str], settings: Settings | None = None
) -> Recording:
    """Write a recording to the file `to` in the format of its suffix; returns what was written of it.

    A recording that was cut off is exported until there, and its `cut` says so. Raises RecordingError for a
    recording that cannot be read, for an unknown suffix, or if the file cannot be written.
    """
    to = Path(to)
    settings = settings or Settings()
    writer = _writer(to)
    if to.is_dir():
        raise _complaint(to, "a directory")
    if not to.parent.is_dir():
        raise _complaint(to, f"no directory {to.parent}")
    told = settings.until(read(recording))
    try:
        with to.open("w", encoding="utf-8", newline="\n") as file:
            writer(told, settings, file)
    except OSError as error:
        raise _complaint(to, f"a file that cannot be written ({error.strerror})") from None
    return told


def _writer(to: Path) -> Writer:
    if to.suffix not in FORMATS:
        found = f"the suffix {to.suffix}" if to.suffix else "no suffix"
        raise RecordingError(f"{to}: found {found}; allowed: {', '.join(FORMATS)}")
    writer: Writer = import_module(f"{__name__}.{FORMATS[to.suffix]}").write
    return writer


def _complaint(to: Path, found: str) -> RecordingError:
    return RecordingError(f"{to}: found {found}; allowed: a path where a file can be")
