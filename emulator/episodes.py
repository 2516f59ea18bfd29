"""Every episode of a lane in a table: when it started and ended, under which versions, and how it ended."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from emulator import events as ev
from emulator.figures import Figures
from emulator.figures.records import EpisodeRecord
from emulator.scenario import Scenario

EPISODE = np.dtype(
    [
        ("episode", np.int64),
        ("group", np.int64),
        ("worker", np.int64),
        ("started", np.float64),
        ("finished", np.float64),
        ("trained", np.float64),
        ("version_started", np.int64),
        ("version_oldest", np.int64),
        ("version_finished", np.int64),
        ("version_trained", np.int64),
        ("staleness", np.int64),
        ("duration", np.float64),
        ("outcome", "U8"),
    ]
)
"""One row of the table.

`worker` is the one that took the episode last. `started`, `finished` and `trained` (when its update began)
are emulated seconds, nan where it was not. `version_started` is the version it was first taken under,
`version_oldest` the oldest that generated any of it, `version_finished` and `version_trained` those published
when it finished and when its update began; `staleness` is the last less the oldest. They are -1 where it
was not. `duration` is in seconds, as drawn. `outcome` is ``trained``, ``queued``, ``dropped``, ``aborted``,
``failed``, ``running`` or ``paused``.
"""

_ENDS: dict[type[ev.Event], str] = {
    ev.Update: "trained",
    ev.Drop: "dropped",
    ev.Abort: "aborted",
    ev.Fail: "failed",
}


def episode_table(scenario: Scenario, events: Sequence[ev.Event], t: float) -> NDArray[np.void]:
    """The episodes of a lane that ran until `t` (emulated seconds), by number; the columns are `EPISODE`."""
    figures = Figures(scenario)
    first_versions = {e.episode: e.version for e in events if isinstance(e, ev.Start)}
    rows = np.empty(len(first_versions), EPISODE)

    def close(number: int, outcome: str, until: float) -> None:
        record = figures.episodes[number]
        trained = outcome == "trained"
        oldest = _oldest(record, until)
        rows[number] = (
            number,
            record.start.group,
            record.worker,
            record.start.t,
            np.nan if record.finished is None else record.finished,
            until if trained else np.nan,
            first_versions[number],
            oldest,
            -1 if record.finished is None else record.finished_version,
            figures.version if trained else -1,
            figures.version - oldest if trained else -1,
            record.start.duration,
            outcome,
        )

    # Just before an event takes episodes out of the fold, it knows all about them.
    begin = 0
    for place, event in enumerate(events):
        if (outcome := _ENDS.get(type(event))) is not None:
            figures.add(events[begin:place])
            begin = place
            for number in _numbers(event):
                close(number, outcome, event.t)
    figures.add(events[begin:])
    running = {worker.episode for worker in figures.workers.values()}
    for number, record in figures.episodes.items():
        unfinished = "running" if number in running else "paused"
        close(number, "queued" if record.finished is not None else unfinished, t)
    return rows


def _numbers(event: ev.Event) -> Iterable[int]:
    if isinstance(event, ev.Update | ev.Drop):
        return event.episodes
    assert isinstance(event, ev.Abort | ev.Fail)
    return (event.episode,)


def _oldest(record: EpisodeRecord, until: float) -> int:
    """The oldest version that generated any of it, be it in the stretch that is still open."""
    return next(chain(_versions(record, until), [record.start_version]))


def _versions(record: EpisodeRecord, until: float) -> Iterator[int]:
    for version, start, end in record.segments[record.attempt_segments :]:
        if end > start:
            yield version
    if record.opened is not None and until > record.opened:
        yield record.version
