"""The fold of a journal's blocks: stretches of starts, finishes and gates at once, column by column.

It amounts to the fold of the same events one by one: what a stretch adds to a total does not depend on the
order of its terms, since totals are exact until they are read.
"""

from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from emulator import events as ev
from emulator.figures.fold import Fold
from emulator.figures.lane_state import HANDLERS
from emulator.figures.plain import Made, PlainEpisodes
from emulator.figures.records import GATED, GENERATING, WAITING
from emulator.figures.sums import few_terms
from emulator.journal import Block, Others
from emulator.scenario import Scenario

_SHORT = 24
"""Rows for which going one by one is the faster way."""

_STATES = (WAITING, GENERATING, GATED)
_WAITING, _GENERATING, _GATED = range(3)

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


class ColumnFold(Fold):
    """A fold that also takes in the blocks of a journal."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.plain = PlainEpisodes()
        self.running = Made(self._make_record)
        self.finished = Made(self._make_record)
        self.episodes = Made(self._make_record)
        self._in_stretch = False
        self._batches: list[tuple[ev.Update, int]] = []
        """Batches that were taken in a stretch, each with the version published then."""
        self._by_columns = not self._has_environment and scenario.engine is None and self._group_size == 1

    def add_block(self, block: Block) -> None:
        """Take in the next events of the lane."""
        if not self._by_columns:
            self.add(block.events())
            return
        first, begin = block.first_episode, 0
        place = 0
        for index, (until, event) in enumerate(block.others):
            if self._parts(event):
                others = block.others[begin:index]
                first += self._add_stretch(block.rows[place:until], _moved(others, place), first)
                self.add((event,))
                place, begin = until, index + 1
        self._add_stretch(block.rows[place:], _moved(block.others[begin:], place), first)
        self._condense()

    def _parts(self, event: ev.Event) -> bool:
        """Whether what comes before an event has to be folded before it."""
        kind = type(event)
        if isinstance(event, ev.Push):
            return event.freezes
        if kind is ev.Drop:
            return bool(self.holders)
        return kind not in _WITHIN_STRETCHES

    def _add_stretch(self, rows: _Floats, others: Others, first: int) -> int:
        """Fold the rows of a block with the others among them; returns how many are starts."""
        if len(rows) < _SHORT or self.frozen:
            self.add(Block(rows, others, first, self.version).events())
            return int(np.count_nonzero(rows[:, 2] >= 0))
        places = np.array([place for place, _ in others], np.int64)
        versions = self._versions(places, others, len(rows))
        t, value = rows[:, 0], rows[:, 2]
        workers = rows[:, 1].astype(np.int64)
        starts = value >= 0
        self._follow_depth(t, starts, places, others)
        self._start_all(first, workers[starts], t[starts], value[starts], versions[starts])
        self._finish_all((-1 - value[~starts]).astype(np.int64), t[~starts], versions[~starts])
        numbers = first + np.cumsum(starts) - 1
        states = np.where(starts, _GENERATING, _WAITING)
        self._move_workers(t, workers, states, numbers, _gates(places, others))
        self._in_stretch = True
        for _, event in others:
            if type(event) is not ev.Gated:
                HANDLERS[type(event)](self, event)
        self._in_stretch = False
        self._train_batches()
        self.t = max(float(t[-1]), others[-1][1].t if others else 0.0)
        return int(np.count_nonzero(starts))

    def _versions(self, places: _Ints, others: Others, count: int) -> _Ints:
        """The version published before each of `count` rows."""
        published = [
            place for place, (_, event) in zip(places, others, strict=True) if type(event) is ev.Publish
        ]
        return self.version + np.searchsorted(np.array(published, np.int64), np.arange(count), side="right")

    def _follow_depth(self, t: _Floats, starts: NDArray[np.bool_], places: _Ints, others: Others) -> None:
        """Follow the depth of the queue from one settled instant to the next, for its highest."""
        taken = [-len(e.episodes) if isinstance(e, ev.Update | ev.Drop) else 0 for _, e in others]
        changes = np.insert(np.where(starts, 0, 1), places, taken)
        times = np.insert(t, places, [event.t for _, event in others])
        before = self.depth + np.cumsum(changes) - changes
        settled = before[np.diff(times, prepend=self.t) > 0]
        if len(settled):
            self.max_depth = max(self.max_depth, int(settled.max()))

    def _start_all(self, first: int, workers: _Ints, t: _Floats, durations: _Floats, versions: _Ints) -> None:
        self.counts["started"] += len(workers)
        self.counts["attempts"] += len(workers)
        self._started_durations.extend_array(durations)
        self.plain.start(first, worker=workers, version=versions, started=t, duration=durations)

    def _finish_all(self, numbers: _Ints, t: _Floats, versions: _Ints) -> None:
        if not len(numbers):
            return
        self.counts["finished"] += len(numbers)
        self.last_finished = int(numbers[-1])
        self.depth += len(numbers)
        self._queue_seconds.extend_array(-t)
        plain = self.plain.has(numbers)
        self.plain.finish(numbers[plain], t[plain], versions[plain])
        if not plain.all():
            others = zip(numbers[~plain].tolist(), t[~plain].tolist(), versions[~plain].tolist(), strict=True)
            for number, end, version in others:
                self.finished[number] = self.running.pop(number)
                episode = self.episodes[number]
                episode.finished = end
                episode.finished_version = version

    def _move_workers(
        self, t: _Floats, workers: _Ints, states: _Ints, numbers: _Ints, gates: "_Gates"
    ) -> None:
        """Give the time between the moves of each worker to the account of the state that it was in.

        `numbers` are those of the episodes that start.
        """
        if len(gates.places):
            t = np.insert(t, gates.places, gates.t)
            workers = np.insert(workers, gates.places, gates.workers)
            states = np.insert(states, gates.places, _GATED)
            numbers = np.insert(numbers, gates.places, 0)
        order = np.argsort(workers.astype(np.uint16) if workers.max() < 2**16 else workers, kind="stable")
        t, workers, states, numbers = t[order], workers[order], states[order], numbers[order]
        is_first = np.diff(workers, prepend=-1) != 0
        is_last = np.roll(is_first, -1)
        # Stays of no length are left out, and then those that follow one another in the same state are one.
        stays = np.flatnonzero(~is_last)
        stays = stays[t[stays + 1] > t[stays]]
        begins, ends, state = t[stays], t[stays + 1], states[stays]
        begun = np.ones(len(stays), np.bool_)
        if len(stays):
            begun[1:] = (begins[1:] != ends[:-1]) | (state[1:] != state[:-1]) | (np.diff(workers[stays]) != 0)
        ended = np.append(begun[1:], True)[: len(stays)]
        for code, name in enumerate(_STATES):
            here = state == code
            seconds = self._seconds[name]
            seconds.extend_array(ends[here & ended])
            seconds.extend_array(-begins[here & begun])
            seconds.extend_array(-t[is_last & (states == code)])
        for worker, at in zip(workers[is_first].tolist(), t[is_first].tolist(), strict=True):
            self._seconds[self.workers[worker].account].add(at)
        lasts = zip(
            workers[is_last].tolist(), states[is_last].tolist(), numbers[is_last].tolist(), strict=True
        )
        for worker, code, number in lasts:
            record = self.workers[worker]
            record.state = record.account = _STATES[code]
            record.cause = ""
            record.episode = number if code == _GENERATING else None

    # -- episodes, plain or not ---------------------------------------------------------------------

    def _make_record(self, number: int) -> None:
        """An episode no longer fits the columns: it gets a record."""
        record = self.plain.take_out(number)
        if record is None:
            raise KeyError(number)
        self.episodes[number] = record
        (self.running if record.finished is None else self.finished)[number] = record.start

    def oldest_version(self) -> int | None:
        """The oldest version that runs, is paused or queued; None if there is no episode."""
        found = [v for v in (super().oldest_version(), self.plain.oldest_version()) if v is not None]
        return min(found, default=None)

    def _train(self, update: ev.Update) -> None:
        self._batches.append((update, self.version))
        if not self._in_stretch:
            self._train_batches()

    def _train_batches(self) -> None:
        """Account for the episodes of the batches that were taken, all at once."""
        batches, self._batches = self._batches, []
        if not batches:
            return
        numbers = np.array(list(chain.from_iterable(update.episodes for update, _ in batches)), np.int64)
        plain = self.plain.has(numbers)
        if not plain.all():
            now = self.version
            for update, version in batches:
                self.version = version
                rest = [number for number in update.episodes if number in self.episodes]
                super()._train(update._replace(episodes=rest))
            self.version = now
        sizes = [len(update.episodes) for update, _ in batches]
        versions = np.repeat([version for _, version in batches], sizes)[plain]
        numbers = numbers[plain]
        staleness = versions - self.plain.column("version", numbers)
        total = int(staleness.sum())
        in_queue = int((versions - self.plain.column("finished_version", numbers)).sum())
        self._in_flight_versions += total - in_queue
        self._in_queue_versions += in_queue
        self._newest_total += total
        self._weighted.add(float(total))
        for lag, count in enumerate(np.bincount(staleness).tolist()):
            if count:
                self.staleness[lag] += count
        self._trained_durations.extend_array(self.plain.column("duration", numbers))
        taken = few_terms(np.repeat([update.t for update, _ in batches], sizes)[plain])
        self._queue_seconds.extend(taken)
        self._trained_waits.extend(taken)
        self._trained_waits.extend_array(-self.plain.column("finished", numbers))
        self.depth -= len(numbers)
        self.plain.forget(numbers)


def _moved(others: Others, by: int) -> Others:
    """The same, where so many rows fewer come before."""
    return [(place - by, event) for place, event in others]


class _Gates(NamedTuple):
    """Gates of a stretch: the number of rows before each, its time and its worker."""

    places: list[int]
    t: list[float]
    workers: list[int]


def _gates(places: _Ints, others: Others) -> _Gates:
    found = [(p, e) for p, (_, e) in zip(places.tolist(), others, strict=True) if isinstance(e, ev.Gated)]
    return _Gates([p for p, _ in found], [e.t for _, e in found], [e.worker for _, e in found])


_WITHIN_STRETCHES = frozenset(
    {ev.Gated, ev.Update, ev.Updated, ev.Learn, ev.Push, ev.Publish, ev.Drop, ev.Stall, ev.Unstall, ev.Inject}
)
"""Events that may be folded after the starts and finishes around them."""
