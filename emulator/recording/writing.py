"""Writing a recording as the run goes, so that whatever ends the process leaves a file that can be read.

The events come block by block with the lines that the trace hash is made of, so nothing is encoded twice.
Once a wall second everything until now is handed to the operating system; a compressed file is flushed so
that it can be unpacked up to there. The lanes of a race stand at one time whenever one of them has a block,
so letting all of them hand over what they have, and sorting that by time, puts the whole file in order.

A disk that is full does not end the run: what could not be written is reported when it is over.
"""

import json
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any

from emulator.errors import RecordingError
from emulator.files import BusyError, Claim, target_of
from emulator.journal import Block
from emulator.recording.durations import kept_durations
from emulator.recording.form import END, FORCE, LONGEST_HEADER, SCHEMA, SUFFIXES, complaint, has_suffix
from emulator.runner import LineSink, Session, ticks
from emulator.runs import Run
from emulator.scenario import Scenario
from emulator.version import __version__

FLUSH_SECONDS = 0.5
"""Wall seconds from one flush to the next; with the time that a busy loop may take, less than a second."""

_LEVEL = 1  # of compression: the highest takes four times as long for a file a seventh smaller
_when = itemgetter(0)


class Recorder:
    """Writes one recording: of a run, or of a race whose lanes are named.

    `line_sinks` are to be given the events of the lanes, in their order, and `watch` is to watch the session.
    `error` says afterwards why the recording is not complete. An older file is replaced only with `force`,
    and when the new one has begun. Raises RecordingError if `path` cannot be written, is named as no
    recording is, would be lost, or is being written by another run.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        scenario: Scenario,
        lanes: Sequence[str] | None = None,
        *,
        force: bool = False,
    ) -> None:
        self.error: RecordingError | None = None
        self._path = Path(path)
        self._names = lanes
        self._session: Session | None = None
        self._gathering = False
        self._pending: list[list[tuple[Block, bytes]]] = [[] for _ in lanes or [""]]
        self._tails = [f',"lane":{json.dumps(name)}}}\n'.encode() for name in lanes or ()]
        self.line_sinks: list[LineSink] = (
            [self._write_lines] if lanes is None else [partial(self._take, n) for n in range(len(lanes))]
        )
        self._pack = zlib.compressobj(_LEVEL, wbits=31) if self._path.name.endswith(".gz") else None
        header = _line(_header(scenario, lanes, self._path))
        if len(header) > LONGEST_HEADER:
            raise complaint(self._path, "a scenario too long", f"at most {LONGEST_HEADER} bytes of it")
        claim = _claimed(self._path, force=force)
        self._file = claim.file
        self._write(header)
        self._flush()
        if self.error is None:
            self._keep(claim)
        if self.error is not None:
            claim.drop()
            raise self.error

    def _keep(self, claim: Claim) -> None:
        try:
            claim.keep()
        except OSError as error:
            self.error = _unwritable(self._path, error)

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    async def watch(self, session: Session) -> None:
        """Flush the recording until the session has ended; then write its end."""
        self._session = session
        try:
            async for _ in ticks(session, FLUSH_SECONDS):
                self._gather()
                self._flush()
        finally:
            self._gather()
            if session.runs is not None:
                self._write(_line({"event": END, **self._end(session.runs)}))
            self._close()

    def _end(self, runs: Sequence[Run]) -> dict[str, Any]:
        results = [run.to_json() for run in runs]
        for run in results:
            for key in ("schema", "emulator", "scenario", "seed", "interventions"):
                del run[key]
        return results[0] if self._names is None else {"lanes": results}

    # -- events, in order ---------------------------------------------------------------------------

    def _take(self, lane: int, block: Block, lines: bytes) -> None:
        """A lane of a race hands over a block; the others stand at the same time."""
        self._pending[lane].append((block, lines))
        if not self._gathering:
            self._gather()

    def _gather(self) -> None:
        """Let all lanes hand over what they have, and write it in order of time."""
        if self._session is None:
            return
        self._gathering = True
        for view in self._session.lanes:
            _ = view.figures  # lets the sinks have all events until now
        self._gathering = False
        rows: list[tuple[float, bytes]] = []
        for blocks, tail in zip(self._pending, self._tails, strict=False):
            for block, lines in blocks:
                times = block.times()
                rows += [(t, line[:-1] + tail) for t, line in zip(times, lines.splitlines(), strict=True)]
            blocks.clear()
        rows.sort(key=_when)  # it keeps the order of a lane, and what is sorted in parts it sorts fast
        self._write(b"".join([line for _, line in rows]))

    def _write_lines(self, block: Block, lines: bytes) -> None:
        self._write(lines)

    # -- the file -----------------------------------------------------------------------------------

    def _write(self, data: bytes) -> None:
        if self.error is None and not self._file.closed:
            packed = data if self._pack is None else self._pack.compress(data)
            self._attempt(packed)

    def _flush(self) -> None:
        if self.error is None and not self._file.closed:
            self._attempt(b"" if self._pack is None else self._pack.flush(zlib.Z_SYNC_FLUSH), flush=True)

    def _attempt(self, data: bytes, *, flush: bool = False) -> None:
        try:
            self._file.write(data)
            if flush:
                self._file.flush()
        except OSError as error:
            self.error = complaint(
                self._path, f"no way to write on ({error.strerror})", "room for the whole recording"
            )

    def _close(self) -> None:
        """Close the file; nothing is written any more."""
        if self._file.closed:
            return
        if self.error is None and self._pack is not None:
            self._attempt(self._pack.flush(zlib.Z_FINISH))
        if self.error is None:
            self._attempt(b"", flush=True)
        with suppress(OSError):
            self._file.close()


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _header(scenario: Scenario, lanes: Sequence[str] | None, path: Path) -> dict[str, Any]:
    header: dict[str, Any] = {
        "schema": SCHEMA,
        "emulator": __version__,
        "scenario": scenario.resolved(),
        "seed": scenario.seed,
    }
    if lanes is not None:
        header["lanes"] = list(lanes)
    if traces := kept_durations(scenario, path):
        header["traces"] = traces
    return header


def _claimed(path: Path, *, force: bool) -> Claim:
    """The file, for this run alone."""
    target = target_of(path)
    if not has_suffix(target):
        if has_suffix(path):
            raise complaint(path, f"a link to {target.name}", f"one to a file named {' or '.join(SUFFIXES)}")
        found = f"the suffix {path.suffix}" if path.suffix else "no suffix"
        raise complaint(path, found, " or ".join(SUFFIXES))
    try:
        return Claim(path, force=force)
    except FileExistsError:
        raise complaint(path, "a file that exists", f"a new file, or {FORCE} to replace it") from None
    except BusyError:
        raise complaint(
            path, "a file that another run records to", "a file of its own for each run"
        ) from None
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError | ValueError) -> RecordingError:
    reason = (error.strerror if isinstance(error, OSError) else str(error)) or "unknown"
    return complaint(path, f"a file that cannot be written ({reason})", "a path where a file can be")
