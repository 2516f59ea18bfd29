"""Plain episodes: those that nothing happens to but their start and their finish, kept as columns."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from emulator.events import Start
from emulator.figures.records import EpisodeRecord

NONE, RUNNING, FINISHED = 0, 1, 2

_COLUMNS = {
    "state": np.int8,
    "worker": np.int64,
    "version": np.int64,
    "finished_version": np.int64,
    "started": np.float64,
    "finished": np.float64,
    "duration": np.float64,
}
_FIRST_SIZE = 8192
_T = TypeVar("_T")


class PlainEpisodes:
    """Plain episodes by number; what is no longer in flight or queued makes room for what comes.

    `numbers` arguments are arrays of episode numbers. The columns are those of `EpisodeRecord`, with `state`
    one of NONE (not here, or not plain), RUNNING and FINISHED.
    """

    def __init__(self) -> None:
        self._first = 0  # the number that the columns begin with
        self._next = 0  # the number after the last that has started
        self._columns: dict[str, NDArray[Any]] = {
            name: np.zeros(_FIRST_SIZE, kind) for name, kind in _COLUMNS.items()
        }

    def start(self, first: int, **columns: NDArray[Any] | int) -> None:
        """Episodes from number `first` on start; `columns` are worker, version, started and duration."""
        count = len(columns["started"])  # type: ignore[arg-type]
        self._make_room(first + count)
        places = slice(first - self._first, first - self._first + count)
        for name, values in columns.items():
            self._columns[name][places] = values
        self._columns["state"][places] = RUNNING
        self._next = first + count

    def finish(self, numbers: NDArray[np.int64], t: NDArray[np.float64], version: NDArray[np.int64]) -> None:
        """Episodes finish at the times `t`, when the versions `version` were published."""
        places = numbers - self._first
        self._columns["finished"][places] = t
        self._columns["finished_version"][places] = version
        self._columns["state"][places] = FINISHED

    def has(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of them are here."""
        places = numbers - self._first
        inside = (places >= 0) & (numbers < self._next)
        inside[inside] = self._columns["state"][places[inside]] != NONE
        return inside

    def column(self, name: str, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """A column of some that are here."""
        return self._columns[name][numbers - self._first]

    def forget(self, numbers: NDArray[np.int64]) -> None:
        """They are trained."""
        self._columns["state"][numbers - self._first] = NONE

    def take_out(self, number: int) -> EpisodeRecord | None:
        """The record of one, which is not plain any more; None if it is not here."""
        place = number - self._first
        if place < 0 or number >= self._next or self._columns["state"][place] == NONE:
            return None
        finished = self._columns["state"][place] == FINISHED
        self._columns["state"][place] = NONE
        (worker, version, finished_version, started, end, duration) = (
            self._columns[name][place].item()
            for name in ("worker", "version", "finished_version", "started", "finished", "duration")
        )
        record = EpisodeRecord(Start(started, worker, number, number, version, duration))
        record.opened = started
        record.begun = True
        if finished:
            record.finished = end
            record.finished_version = finished_version
        return record

    def oldest_version(self) -> int | None:
        """The oldest version that any was started under; None if there are none."""
        end = self._next - self._first
        here = self._columns["state"][:end] != NONE
        return int(self._columns["version"][:end][here].min()) if here.any() else None

    def _make_room(self, end: int) -> None:
        """Let the columns reach up to the number `end`, in half as much as they have if that is enough."""
        size = len(self._columns["state"])
        if end - self._first <= size:
            return
        here = np.flatnonzero(self._columns["state"][: self._next - self._first] != NONE)
        begin = int(here[0]) if len(here) else self._next - self._first
        kept = self._next - self._first - begin
        while 2 * (end - self._first - begin) > size:
            size *= 2
        for name, column in self._columns.items():
            self._columns[name] = np.zeros(size, column.dtype)
            self._columns[name][:kept] = column[begin : begin + kept]
        self._first += begin


class Made(dict[int, _T]):
    """Values by number; one that is asked for and not there is made."""

    def __init__(self, make: Callable[[int], None]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, number: int) -> _T:
        self._make(number)
        return super().__getitem__(number)
