"""The lines of a recording, one by one, without more of the file in memory than what was read can need."""

import math
from collections.abc import Callable, Iterator
from typing import IO

from emulator.recording.form import Unpacked
from emulator.recording.schema import MisfitError

USUAL = 1 << 16
"""Bytes of a line that need no reason."""

BYTES_A_NUMBER = 24
"""The most that a number takes in a list, with its comma."""

UNPACKED = 1 << 24
"""Bytes that any compressed recording may unpack to."""

RATIO = 16
"""How many times its size a larger one may; the emulator's own unpack to 4 to 11 times their size."""


def bounded(file: IO[bytes], numbers: Callable[[], int]) -> Iterator[bytes]:
    """The lines of an open recording from where it stands.

    A line may be as long as one list of `numbers` needs. MisfitError for a longer one, and for a
    compressed file that unpacks to more than any recording of its size.
    """
    room = max(UNPACKED, RATIO * file.packed) if isinstance(file, Unpacked) else math.inf
    read = 0
    while line := file.readline(USUAL):
        if len(line) == USUAL and not line.endswith(b"\n"):
            most = BYTES_A_NUMBER * numbers()
            line += file.readline(most)
            if not line.endswith(b"\n") and len(line) == USUAL + most:
                allowed = (
                    f"{len(line):,} bytes, which is enough for all workers, episodes and versions so far"
                )
                raise MisfitError("a longer line", allowed)
        read += len(line)
        if read > room:
            raise MisfitError(
                "a compressed file that unpacks to far more than a recording of its size",
                f"{room:,} bytes; if it is to be trusted, unpack it first with gunzip",
            )
        yield line
