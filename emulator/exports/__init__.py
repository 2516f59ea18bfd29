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
from emulator.files import replaceable, replacing_text, target_of
from emulator.recording import Recording, read
from emulator.recording.form import FORCE

__all__ = ["FORMATS", "Settings", "export"]

Writer = Callable[[Recording, Settings, TextIO], None]

FORMATS = {".svg": "picture", ".html": "page", ".cast": "cast", ".json": "perfetto", ".csv": "table"}
"""The module that writes each format, by the suffix of the file; its function is ``write``."""


def export(
    recording: str | os.PathLike[str],
    to: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    force: bool = False,
) -> Recording:
    """Write a recording to the file `to` in the format of its suffix; returns what was written of it.

    A recording that was cut off is exported until there, and its `cut` says so. An older file is replaced
    only with `force`, and when the new one is whole. Raises RecordingError for a recording that cannot be
    read, for an unknown suffix, or if the file cannot be written or would be lost.
    """
    to = Path(to)
    settings = settings or Settings()
    writer = _writer(to)
    if (target := target_of(to)).suffix != to.suffix:
        raise _complaint(to, f"a link to {target.name}")
    if to.is_dir():
        raise _complaint(to, "a directory")
    if not to.parent.is_dir():
        raise _complaint(to, f"no directory {to.parent}")
    try:
        replaceable(to, force=force)
        exported = settings.until(read(recording))
        with replacing_text(to) as file:
            writer(exported, settings, file)
    except FileExistsError:
        found = "a file that exists"
        raise RecordingError(f"{to}: found {found}; allowed: a new file, or {FORCE} to replace it") from None
    except OSError as error:
        raise _complaint(to, f"a file that cannot be written ({error.strerror})") from None
    return exported


def _writer(to: Path) -> Writer:
    if to.suffix not in FORMATS:
        found = f"the suffix {to.suffix}" if to.suffix else "no suffix"
        raise RecordingError(f"{to}: found {found}; allowed: {', '.join(FORMATS)}")
    writer: Writer = import_module(f"{__name__}.{FORMATS[to.suffix]}").write
    return writer


def _complaint(to: Path, found: str) -> RecordingError:
    return RecordingError(f"{to}: found {found}; allowed: a path where a file can be")
