"""A Chrome trace, for Perfetto: a process a lane, a thread for the trainer and one for each worker.

On a thread, slices of accounts (``generating``, ``waiting``, ``updating`` …) lie in slices of what they were
spent on (``episode 12``, ``update 3``, ``push``), so the seconds of the result are the sums of the slices of
these names, to a microsecond a slice. Times are whole microseconds: of fractions a viewer may truncate both
the start and the length of a slice, or round them, and neighbours would overlap, which spoils a track. What
takes less has a slice of no length. An arrow leads from an episode's end to the update that it trained.
"""

import json
from collections.abc import Iterator
from typing import Any, TextIO

from emulator.exports.series import LaneSeries
from emulator.exports.settings import Settings
from emulator.exports.tracks import TRAINER, Batch, Stretch, Tracks
from emulator.figures import GENERATING
from emulator.figures.spec import TRAINER_BUSY, WORKERS_BUSY
from emulator.recording import RecordedLane, Recording
from emulator.summary.interventions import injection

_THREADS = 1_000_000  # numbers kept for the threads of a process, since viewers want them to differ
_FLOWS = 1_000_000_000
_POINTS = 600  # of a counter of shares
_Event = dict[str, Any]


def write(recording: Recording, settings: Settings, file: TextIO) -> None:
    """Write the trace of all lanes."""
    lead = '{"traceEvents":[\n'
    for pid, lane in enumerate(recording.lanes, 1):
        for event in _Process(pid, lane).events():
            file.write(lead + json.dumps(event, separators=(",", ":"), ensure_ascii=False))
            lead = ",\n"
    file.write('\n],"displayTimeUnit":"ms"}\n')


class _Process:
    """The events of one lane."""

    def __init__(self, pid: int, lane: RecordedLane) -> None:
        self._pid = pid
        self._lane = lane
        self._tracks = Tracks(lane)
        table = lane.episodes
        self._outcomes: list[str] = table["outcome"].tolist()
        self._last: dict[int, tuple[int, float, float]] = {}  # of each episode: worker, start and end
        self._starts = list(zip(table["worker"].tolist(), table["started"].tolist(), strict=True))

    def events(self) -> Iterator[_Event]:
        """All of them; slices after those that they lie in."""
        yield from self._names()
        yield from self._slices()
        for batch in self._tracks.batches:
            yield from self._arrows(batch)
        yield from self._counters()
        for inject in self._tracks.injections:
            name = injection(inject.action)
            more = {"s": "p", "args": inject.action}
            yield self._event("i", name, inject.t, TRAINER, cat="injection", **more)

    def _event(self, phase: str, name: str, t: float, who: int | None, **more: Any) -> _Event:
        event = {"ph": phase, "name": name, "pid": self._pid, "ts": _us(t)}
        if who is not None:
            event["tid"] = self._thread(who)
        return event | more

    def _thread(self, who: int) -> int:
        return self._pid * _THREADS + who + 1

    def _names(self) -> Iterator[_Event]:
        lane = self._lane
        name = f"{lane.name or lane.scenario.name} ({lane.scenario.strategy.label})"
        yield {"ph": "M", "name": "process_name", "pid": self._pid, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": self._pid, "args": {"sort_index": self._pid}}
        for who in range(TRAINER, self._tracks.rows):
            place = {"pid": self._pid, "tid": self._thread(who)}
            called = "trainer" if who == TRAINER else f"worker {who}"
            yield {"ph": "M", "name": "thread_name", **place, "args": {"name": called}}
            yield {"ph": "M", "name": "thread_sort_index", **place, "args": {"sort_index": who + 1}}

    def _slices(self) -> Iterator[_Event]:
        pending: dict[int, list[Stretch]] = {}
        for stretch in self._tracks.stretches:
            before = pending.get(stretch.who)
            if before and (before[0].task, before[0].begun) != (stretch.task, stretch.begun):
                yield from self._task(before)
                before = None
            if before:
                before.append(stretch)
            else:
                pending[stretch.who] = [stretch]
        for stretches in pending.values():
            yield from self._task(stretches)
        for number, (worker, started) in enumerate(self._starts):
            if number not in self._last:  # it took no time, or began with the last instant
                self._last[number] = worker, started, started
                yield self._slice(worker, f"episode {number}", started, started, args=self._episode(number))

    def _task(self, stretches: list[Stretch]) -> Iterator[_Event]:
        """The slice of a task, and the slices of what its time went to."""
        who, _, _, _, task, begun, _ = stretches[0]
        if task >= 0:
            name, args = f"episode {task}", None
            if who == TRAINER:
                name = "push" if task % 2 else f"update {task // 2}"
            else:
                args = self._episode(task)
                self._last[task] = who, begun, stretches[-1].end
            yield self._slice(who, name, begun, stretches[-1].end, args=args, cat="task")
        for stretch in stretches:
            cause = {"cause": stretch.cause} if stretch.cause else None
            yield self._slice(who, stretch.account, stretch.start, stretch.end, args=cause, cat="account")

    def _slice(
        self, who: int, name: str, start: float, end: float, *, args: _Event | None, cat: str = "task"
    ) -> _Event:
        event = self._event("X", name, start, who, dur=_us(end) - _us(start), cat=cat)
        if args:
            event["args"] = args
        return event

    def _episode(self, number: int) -> _Event:
        return {"episode": number, "outcome": self._outcomes[number]}

    def _arrows(self, batch: Batch) -> Iterator[_Event]:
        for number in batch.episodes:
            who, start, end = self._last[number]
            more = {"cat": "trained", "id": self._pid * _FLOWS + number}
            # A microsecond before the episode's end, where its slice still is.
            before = self._event("s", "trained", end, who, **more)
            before["ts"] = max(_us(start), _us(end) - 1)
            yield before
            yield self._event("f", "trained", batch.t, TRAINER, bp="e", **more)

    def _counters(self) -> Iterator[_Event]:
        tracks = self._tracks
        for t, depth in tracks.depths:
            yield self._event("C", "queue depth", t, None, args={"episodes": depth})
        for number, loads in enumerate(tracks.loads):
            for t, running, waiting in loads:
                load = {"running": running, "waiting": waiting}
                yield self._event("C", f"engine {number}", t, None, args=load)
        for batch in tracks.batches:
            mean = sum(batch.staleness) / len(batch.staleness)
            yield self._event("C", "staleness", batch.t, None, args={"mean": round(mean, 4)})
        for learn in tracks.lessons:
            yield self._event("C", "reward", learn.t, None, args={"reward": round(learn.reward, 4)})
        series = LaneSeries(tracks, _POINTS)
        generating = series.share((GENERATING,), trainer=False)
        training = series.share(("updating", "pushing"), trainer=True)
        for name, shares in ((f"{WORKERS_BUSY.label} %", generating), (f"{TRAINER_BUSY.label} %", training)):
            for t, share in zip(series.starts, shares, strict=True):
                if share is not None:
                    yield self._event("C", name, t, None, args={"percent": round(100 * share, 2)})


def _us(t: float) -> int:
    return round(t * 1e6)
