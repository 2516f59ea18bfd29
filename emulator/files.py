"""Files: which may be read, how they are replaced, and who alone writes to one.

- `open_regular` reads regular files only: a pipe or a device may have no end, or never begin.
- `replacing` writes a file beside the old one and renames it, so that a failure leaves the old as it was.
- `Claim` is a file that one process writes to as things happen, and no other at the same time.
- `hold_folder` keeps other processes that ask for it out of a directory.
"""

import errno
import io
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

_ALWAYS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_BESIDE = re.compile(r"\..*\.new")
_BUFFER = 1 << 20

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


class BusyError(OSError):
    """Another process holds the file or the directory."""


def open_regular(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a regular file to read what it holds now: what is appended later is not seen.

    A file of /proc says that it is empty, and is read as such. Raises OSError, IsADirectoryError among
    them, for whatever else it is; never waits for a writer.
    """
    _refuse_irregular(Path(path).stat(), path)
    descriptor = os.open(path, os.O_RDONLY | _ALWAYS)
    try:
        status = os.fstat(descriptor)
        _refuse_irregular(status, path)
    except BaseException:
        os.close(descriptor)
        raise
    return io.BufferedReader(_UpTo(descriptor, status.st_size), _BUFFER)


def replaceable(path: str | os.PathLike[str], *, force: bool) -> None:
    """Raise OSError unless a file may be written there: FileExistsError where one would be lost."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return
    _refuse_irregular(status, path)
    if status.st_size and not force:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write, which takes the place and the permissions of an older one only when it is whole."""
    with _whole(path) as descriptor, os.fdopen(descriptor, "wb") as file:
        yield file


@contextmanager
def replacing_text(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """The same for text in UTF-8, whose line ends stay as they are."""
    with _whole(path) as descriptor, os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        yield file


def is_beside(path: Path) -> bool:
    """Whether a file is named as those that are to replace another: one that is left over means nothing."""
    return _BESIDE.fullmatch(path.name) is not None


class Claim:
    """A file that is written to as things happen, by this process alone.

    `file` is where to write. Where an older file is to be replaced (`force`) it stands beside that until
    `keep`. Closing `file` gives the claim back. Raises FileExistsError where something would be lost,
    BusyError where another process has a claim to the file, and OSError where none can be.
    """

    def __init__(self, path: str | os.PathLike[str], *, force: bool) -> None:
        self._path = target_of(path)
        self._beside: Path | None = None
        descriptor, self._made = _held(self._path)
        self.file: IO[bytes] = os.fdopen(descriptor, "wb")
        self._older: IO[bytes] | None = None
        try:
            if os.fstat(descriptor).st_size:
                self._replace(force=force)
        except BaseException:
            self.drop()
            raise

    def _replace(self, *, force: bool) -> None:
        if not force:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(self._path))
        if fcntl is None:  # and an open file cannot be renamed
            self.file.truncate(0)
            return
        self._older = self.file
        self._beside, descriptor = _beside(self._path)
        _lock(descriptor)
        self.file = os.fdopen(descriptor, "wb")

    def keep(self) -> None:
        """Let the file take its place: it has begun well."""
        if self._beside is not None:
            self._beside.replace(self._path)
            self._beside = None
        self._made = False
        if self._older is not None:
            self._older.close()

    def drop(self) -> None:
        """Leave everything as it was before."""
        for file in (self.file, self._older):
            if file is not None:
                with suppress(OSError):
                    file.close()
        if self._beside is not None:
            self._beside.unlink(missing_ok=True)
        if self._made:
            self._path.unlink(missing_ok=True)


@contextmanager
def hold_folder(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a directory, until the end of the block or of the process; BusyError if another process does.

    Where the system has no such locks, nothing is held.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


class _UpTo(io.RawIOBase):
    """The first bytes of a file."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._file = io.FileIO(descriptor)
        self._left = size

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def readinto(self, buffer: Any, /) -> int | None:
        count = self._file.readinto(memoryview(buffer)[: self._left])
        self._left -= count or 0
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _refuse_irregular(status: os.stat_result, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise OSError(errno.EINVAL, f"{kind}, not a regular file", os.fspath(path))


@contextmanager
def _whole(path: str | os.PathLike[str]) -> Iterator[int]:
    target = target_of(path)
    replaceable(target, force=True)
    beside, descriptor = _beside(target)
    try:
        yield descriptor
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def target_of(path: str | os.PathLike[str]) -> Path:
    """The file that is written where a path leads to, through any links, which stay."""
    return Path(os.path.realpath(path))


def _beside(path: Path) -> tuple[Path, int]:
    """A new file in the same directory, with the permissions of the one it may replace."""
    beside = path.with_name(f".emulator-{secrets.token_hex(8)}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _ALWAYS, 0o666)
    with suppress(OSError):
        beside.chmod(stat.S_IMODE(path.stat().st_mode))
    return beside, descriptor


def _held(path: Path) -> tuple[int, bool]:
    """A file open to be written and locked, and whether it was made; what is in it stays."""
    while True:
        descriptor, made = _made_or_opened(path)
        try:
            _lock(descriptor)
            # Whoever held it until now may have put another file in its place.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor, made
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _made_or_opened(path: Path) -> tuple[int, bool]:
    while True:
        with suppress(FileExistsError):
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _ALWAYS, 0o666), True
        with suppress(FileNotFoundError):
            _refuse_irregular(path.stat(), path)
            descriptor = os.open(path, os.O_WRONLY | _ALWAYS)
            try:
                _refuse_irregular(os.fstat(descriptor), path)
            except BaseException:
                os.close(descriptor)
                raise
            return descriptor, False


def _lock(descriptor: int) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BusyError(errno.EBUSY, os.strerror(errno.EBUSY)) from None
    except OSError:
        return  # a file system without locks
