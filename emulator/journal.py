"""The journal: what a lane's system writes its events into, and the blocks in which they are read.

Nearly all events are starts and finishes. Where episodes have no groups these are written as rows of three
numbers, from which everything about them follows: a start takes the next episode under the newest version.
All other events are written as they are, with their place among the rows. So the journal costs the
system little, and figures can be folded from whole columns; whoever wants events has them made of a block.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from emulator import events as ev

ROW = Struct("3d").pack
"""Packs a row; a start and a finish by `TWO_ROWS` cost hardly more."""
TWO_ROWS = Struct("6d").pack

_ROW_BYTES = 3 * 8
_T = TypeVar("_T")
_BLOCK = 4096  # events that are read in one go, at least
_LARGE_BLOCK = 524_288  # and where many workers would do hardly anything in a small one


Others = Sequence[tuple[int, ev.Event]]
"""Events that are no rows, each with the number of rows before it."""


@dataclass(frozen=True)
class Block:
    """Consecutive events of one lane.

    `rows` (shape ``(n, 3)``) are starts and finishes: the time, the worker, and the duration of the episode
    that starts (from 0) or ``-1 - episode`` for the one that finishes. `others` are all other events, each
    with the number of rows before it. `first_episode` is the number of the first that starts in the block,
    `version` the newest version published before it.
    """

    rows: NDArray[np.float64]
    others: Others
    first_episode: int
    version: int

    def __len__(self) -> int:
        return len(self.rows) + len(self.others)

    def times(self) -> list[float]:
        """The times of the events, in order."""
        places, others = [place for place, _ in self.others], [event.t for _, event in self.others]
        times: list[float] = np.insert(self.rows[:, 0], places, others).tolist()
        return times

    def rendered(
        self,
        start: Callable[[float, int, int, int, float], _T],
        finish: Callable[[float, int, int], _T],
        other: Callable[[ev.Event], _T],
    ) -> list[_T]:
        """What is made of each event, in order.

        `start` is given the time, worker, episode, version and duration of one that starts, `finish` the
        time, worker and episode of one that finishes, `other` any other event.
        """
        found: list[_T] = []
        episode, version, place = self.first_episode, self.version, 0
        rows = self.rows.tolist()
        for until, event in (*self.others, (len(rows), None)):
            for t, worker, value in rows[place:until]:
                if value < 0:
                    found.append(finish(t, int(worker), -1 - int(value)))
                else:
                    found.append(start(t, int(worker), episode, version, value))
                    episode += 1
            place = until
            if event is not None:
                found.append(other(event))
                if type(event) is ev.Start:
                    episode += 1
                elif type(event) is ev.Publish:
                    version = event.version
        return found

    def events(self) -> list[ev.Event]:
        """The events, in order."""
        return self.rendered(_start, ev.Finish, _itself)


def _start(t: float, worker: int, episode: int, version: int, duration: float) -> ev.Event:
    return ev.Start(t, worker, episode, episode, version, duration)


def _itself(event: ev.Event) -> ev.Event:
    return event


class Journal:
    """Takes the events of one lane, and hands them on in blocks to `read`, until it is closed.

    Whoever starts an episode without a group adds ``ROW(t, worker, duration)`` to `rows`, and for its finish
    ``ROW(t, worker, -1 - episode)``, and sees to it that `pass_on_if_long` is called now and then.
    """

    def __init__(self, read: Callable[[Block], None], workers: int = 1) -> None:
        self._block = max(_BLOCK, min(8 * workers, _LARGE_BLOCK))
        self.rows = bytearray()
        self._others: list[tuple[int, ev.Event]] = []
        self._read = read
        self._passed_on = 0
        self._first_episode = 0
        self._version = 0

    def __len__(self) -> int:
        return self._passed_on + len(self.rows) // _ROW_BYTES + len(self._others)

    def write(self, event: ev.Event) -> int:
        """Take the next event, and hand on what there is if it is enough; returns how many came so far."""
        others, rows = self._others, len(self.rows) // _ROW_BYTES
        others.append((rows, event))
        waiting = rows + len(others)
        written = self._passed_on + waiting
        if waiting >= self._block:
            self.pass_on()
        return written

    def pass_on_if_long(self) -> None:
        """Hand the events on if they are enough for a block."""
        if len(self.rows) // _ROW_BYTES + len(self._others) >= self._block:
            self.pass_on()

    def pass_on(self) -> None:
        """Hand on what there is."""
        if not self.rows and not self._others:
            return
        rows = np.frombuffer(bytes(self.rows), np.float64).reshape(-1, 3)
        block = Block(rows, tuple(self._others), self._first_episode, self._version)
        starts = int(np.count_nonzero(rows[:, 2] >= 0))
        for _, event in self._others:
            if type(event) is ev.Start:
                starts += 1
            elif type(event) is ev.Publish:
                self._version = event.version
        self._first_episode += starts
        self._passed_on += len(block)
        self.rows.clear()
        self._others.clear()
        self._read(block)

    def close(self) -> None:
        """Hand on what there is, and nothing any more; who has read is let go of."""
        self.pass_on()
        self._read = _read_no_more


def _read_no_more(block: Block) -> None:
    """What comes after the end."""
