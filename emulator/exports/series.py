"""What a lane did over time, in columns of equal length: shares, means, and the timeline of its workers."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from emulator.exports.tracks import TRAINER, Tracks
from emulator.figures import GENERATING, TRAINER_STATES, WORKER_STATES

STRAGGLER = "straggler"
"""Generating for longer than is usual; an account of the timeline only."""

ACCOUNTS = (*WORKER_STATES, STRAGGLER)
_ALL = tuple(dict.fromkeys((*WORKER_STATES, *TRAINER_STATES)))

Floats = NDArray[np.float64]


class LaneSeries:
    """`count` columns of a lane; `starts` is when each begins, `width` how long it is (emulated seconds)."""

    def __init__(self, tracks: Tracks, count: int, t_end: float | None = None) -> None:
        self.t_end = tracks.lane.t_end if t_end is None else t_end
        self.count = count
        self.width = self.t_end / count or 1.0
        self.starts = [i * self.width for i in range(count)]
        self._tracks = tracks
        number = {account: i for i, account in enumerate(_ALL)}
        stretches = tracks.stretches
        self._who = np.array([s.who for s in stretches], np.int64)
        self._account = np.array([number[s.account] for s in stretches], np.int64)
        self._start = np.array([s.start for s in stretches], np.float64)
        self._end = np.array([s.end for s in stretches], np.float64)
        self._begun = np.array([s.begun for s in stretches], np.float64)

    def share(self, accounts: Iterable[str], *, trainer: bool) -> list[float | None]:
        """The share of the time in service that the trainer, or the workers, spent on some accounts."""
        of = (self._who == TRAINER) == trainer
        wanted = of & np.isin(self._account, [_ALL.index(account) for account in accounts])
        part, whole = self._sums(wanted), self._sums(of)
        return [float(a / b) if b > 1e-9 else None for a, b in zip(part, whole, strict=True)]

    def depth(self) -> list[float | None]:
        """The mean depth of the queue."""
        return self._means([self._tracks.depths])

    def running(self) -> list[float | None]:
        """The mean number of sequences that an engine runs."""
        return self._means([[(t, running) for t, running, _ in loads] for loads in self._tracks.loads])

    def _means(self, levels: Sequence[Sequence[tuple[float, int]]]) -> list[float | None]:
        """The mean of some numbers, each given by when it changed and to what."""
        grid = np.zeros((1, self.count))
        for level in levels:
            times = np.array([t for t, _ in level] + [self._tracks.lane.t_end])
            values = np.array([value for _, value in level], np.float64)
            self._deposit(grid, np.zeros(len(values), np.int64), times[:-1], times[1:], values)
        ended = int(np.ceil(self._tracks.lane.t_end / self.width - 1e-9))
        each = self.width * len(levels)
        return [float(v / each) if i < ended else None for i, v in enumerate(grid[0])]

    def timeline(self, rows: int, straggler: float) -> Floats:
        """Worker seconds by account of `ACCOUNTS`, row (a band of workers) and column.

        Time on an episode beyond `straggler` seconds counts as such.
        """
        band = max(1, -(-self._tracks.rows // rows))
        grids = np.zeros((len(ACCOUNTS), -(-self._tracks.rows // band), self.count))
        row = self._who // band
        late = self._begun + straggler
        for number, account in enumerate(WORKER_STATES):
            of = (self._who != TRAINER) & (self._account == number)
            start, end = self._start[of], self._end[of]
            if account == GENERATING:
                cut = np.clip(late[of], start, end)
                self._deposit(grids[-1], row[of], cut, end)
                end = cut
            self._deposit(grids[number], row[of], start, end)
        return grids

    def _sums(self, chosen: NDArray[np.bool_]) -> Floats:
        grid = np.zeros((1, self.count))
        rows = np.zeros(int(chosen.sum()), np.int64)
        self._deposit(grid, rows, self._start[chosen], self._end[chosen])
        sums: Floats = grid[0]
        return sums

    def _deposit(
        self, grid: Floats, rows: NDArray[np.int64], starts: Floats, ends: Floats, value: Floats | float = 1.0
    ) -> None:
        """Add to each cell of the grid how long (times `value`) stretches of its row were in its column."""
        a, b = starts / self.width, ends / self.width
        value = np.broadcast_to(np.asarray(value, np.float64), a.shape) * self.width
        first = np.minimum(a.astype(np.int64), self.count - 1)
        last = np.minimum(b.astype(np.int64), self.count - 1)
        # Whole columns from the first on, less what is before the start, and what the last has of it.
        change = np.zeros((grid.shape[0], grid.shape[1] + 1))
        np.add.at(change, (rows, first), value)
        np.add.at(change, (rows, last), -value)
        grid += np.cumsum(change, axis=1)[:, :-1]
        np.add.at(grid, (rows, first), -(a - first) * value)
        np.add.at(grid, (rows, last), (b - last) * value)
        np.maximum(grid, 0.0, out=grid)
