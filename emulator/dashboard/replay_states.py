"""The lanes of a recording as they stood at any time, and its markers.

A state is folded from the events before it, and there may be a million of them. So the whole recording is
folded once, and the state kept every so many events: packed, because that is small and quick to undo, with
what never changes (the scenario, the columns of the past) shared. A large state is kept less often, so that
keeping takes no more than a few times as long as folding. If all of them grow too large together, every
second one is let go.
"""

import io
import pickle
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from emulator.dashboard.history import Hit
from emulator.dashboard.log import Entry
from emulator.dashboard.past import Column
from emulator.dashboard.scale import Scale, recorded_scale
from emulator.dashboard.state import ShownLane
from emulator.events import Inject, Publish
from emulator.figures.sums import ExactSum
from emulator.figures.text import clock_time
from emulator.recording import Recording
from emulator.scenario import Scenario

EVERY = 4096
"""Events from one checkpoint to the next, unless their memory is used up."""

_LARGE = 1_000_000  # bytes of a checkpoint, beyond which they are as much further apart as it is larger

MEMORY = 256_000_000
"""Bytes that all checkpoints may take, about."""

MINUTE = 60.0
"""Emulated seconds that an arrow goes."""

SCRUB_KEYS = frozenset({"left", "down", "right", "up", "home", "end", "[", "]"})

_SHARED = {Scenario, Scale, Column, Entry, Hit}
_when = attrgetter("t")


class _Checkpoint(NamedTuple):
    """All events until `t` are folded; `taken` says how many of each lane."""

    t: float
    taken: tuple[int, ...]
    packed: bytes
    shared: list[object]


class States:
    """Folds the lanes of a recording to any time.

    `times` are the moments at which something happens, the end included, and `markers` those of injections
    and publications, both in order. `finals` are the lanes at the end. Of a recording that was cut off, all
    lanes go on to where that was.
    """

    def __init__(self, recording: Recording, *, every: int = EVERY, memory: int = MEMORY) -> None:
        self.scenarios: Sequence[Scenario] = [lane.scenario for lane in recording.lanes]
        self.t_end = recording.t_end
        self._recording = recording
        self._ends = [self.t_end if recording.cut is not None else lane.t_end for lane in recording.lanes]
        self._events = [lane.events for lane in recording.lanes]
        self.times, order = _moments(recording)
        self.markers = sorted(
            {event.t for events in self._events for event in events if isinstance(event, Inject | Publish)}
        )
        common = recorded_scale(recording)
        self._lanes = [ShownLane.fresh(scenario, common) for scenario in self.scenarios]
        self._taken = [0] * len(self._lanes)
        self._t = 0.0
        self._advanced = 0.0
        self._checkpoints = [self._pack()]
        self._fold_all(order, every, memory)
        self.finals = self.at(self.t_end)
        self._restore(self._checkpoints[0])

    def at(self, t: float) -> list[ShownLane]:
        """The lanes as they stood at `t`; the next call changes them."""
        t = min(max(t, 0.0), self.t_end)
        last = self._checkpoints[bisect_right(self._checkpoints, t, key=_when) - 1]
        if t < self._advanced or last.t > self._t:
            self._restore(last)
        self._take_until(t)
        for lane, end in zip(self._lanes, self._ends, strict=True):
            lane.history.advance(min(t, end))
        self._advanced = t
        if t >= self.t_end:
            self._tell_cut()
        for lane, end, recorded in zip(self._lanes, self._ends, self._recording.lanes, strict=True):
            lane.error = recorded.error if t >= end else None
        return self._lanes

    def goal(self, key: str, now: float, here: float) -> float | None:
        """Where one of `SCRUB_KEYS` goes from `now`, markers being counted from `here`; None for nowhere."""
        match key:
            case "left" | "down":
                return now - MINUTE
            case "right" | "up":
                return now + MINUTE
            case "home":
                return 0.0
            case "[":
                return previous(self.markers, here)
            case "]":
                return following(self.markers, here)
        return self.t_end

    def _take_until(self, t: float) -> None:
        self._t = max(self._t, t)
        for number, (lane, events) in enumerate(zip(self._lanes, self._events, strict=True)):
            first = self._taken[number]
            last = bisect_right(events, t, first, key=_when)
            if last > first:
                lane.add(events[first:last])
                self._taken[number] = last

    def _tell_cut(self) -> None:
        if self._recording.cut is None:
            return
        for lane in self._lanes:
            entries = lane.history.log.entries
            if not entries or entries[-1].kind != "cut":
                lane.history.log.add(self.t_end, "cut", cut_text(self.t_end))

    # -- checkpoints ------------------------------------------------------------------------------

    def _fold_all(self, order: Sequence[float], every: int, memory: int) -> None:
        """Keep the state after every so many events, all of an instant taken together."""
        size, number = 0, every
        while number < len(order):
            if order[number] > self._t:
                self._take_until(order[number])
                self._checkpoints.append(self._pack())
                size += len(self._checkpoints[-1].packed)
            if size > memory and len(self._checkpoints) > 2:
                self._checkpoints[1:] = self._checkpoints[2::2]
                size = sum(len(checkpoint.packed) for checkpoint in self._checkpoints)
                every *= 2
            number += every * max(1, len(self._checkpoints[-1].packed) // _LARGE)

    def _pack(self) -> _Checkpoint:
        file = io.BytesIO()
        packer = _Packer(file)
        packer.dump(self._lanes)
        return _Checkpoint(self._t, tuple(self._taken), file.getvalue(), packer.shared)

    def _restore(self, checkpoint: _Checkpoint) -> None:
        self._lanes = _Unpacker(checkpoint).load()
        self._taken = list(checkpoint.taken)
        self._t = self._advanced = checkpoint.t


def cut_text(t: float) -> str:
    """What is said where a recording was cut off."""
    return f"the recording was cut off here, at {clock_time(t)}"


def previous(times: Sequence[float], t: float) -> float | None:
    """The last of some times before `t`."""
    place = bisect_left(times, t)
    return times[place - 1] if place else None


def following(times: Sequence[float], t: float) -> float | None:
    """The first of some times after `t`."""
    place = bisect_right(times, t)
    return times[place] if place < len(times) else None


def _moments(recording: Recording) -> tuple[list[float], list[float]]:
    """The moments at which something happens, each once, and those of all events, in order."""
    order = np.sort(np.fromiter((event.t for lane in recording.lanes for event in lane.events), np.float64))
    ends = [lane.t_end for lane in recording.lanes]
    return np.unique(np.append(order, ends)).tolist(), order.tolist()


class _Packer(pickle.Pickler):
    """Packs what changes; what does not is named by its place in `shared`."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.shared: list[object] = []

    def persistent_id(self, value: Any) -> int | None:
        if type(value) not in _SHARED:
            return None
        self.shared.append(value)
        return len(self.shared) - 1

    def reducer_override(self, value: Any) -> Any:
        if type(value) is not ExactSum:
            return NotImplemented
        value.condense()
        return _sum_of, (tuple(value.terms),)


class _Unpacker(pickle.Unpickler):
    def __init__(self, checkpoint: _Checkpoint) -> None:
        super().__init__(io.BytesIO(checkpoint.packed))
        self._shared = checkpoint.shared

    def persistent_load(self, place: int) -> object:
        return self._shared[place]


def _sum_of(terms: tuple[float, ...]) -> ExactSum:
    total = ExactSum()
    total.extend(terms)
    return total
