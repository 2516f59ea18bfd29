"""Every episode of a lane in a table: when it started and ended, under which versions, and how it ended."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from emulator import events as ev
from emulator.figures.episode_state import EpisodeState
from emulator.figures.records import LOST, EpisodeRecord
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

_Row = tuple[float | str, ...]


def episode_table(scenario: Scenario, events: Sequence[ev.Event], t: float) -> NDArray[np.void]:
    """The episodes of a lane that ran until `t` (emulated seconds), by number; the columns are `EPISODE`."""
    table = _Table(scenario)
    table.add(events)
    return np.array(table.rows(t), EPISODE)


class _Table(EpisodeState):
    """Writes the row of each episode when nothing can happen to it any more."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self._rows: dict[int, _Row] = {}

    def rows(self, t: float) -> list[_Row]:
        """The rows of all episodes, in order, as they stand at `t`."""
        for outcome, numbers in (
            ("running", self.running),
            ("paused", self.paused),
            ("queued", self.finished),
        ):
            for number in numbers:
                self._close(self.episodes[number], outcome, t)
        return [self._rows[number] for number in sorted(self._rows)]

    def _on_episode_end(self, episode: EpisodeRecord, how: str, cause: str, t: float) -> None:
        if how in LOST:
            self._close(episode, how, t)

    def _on_trained(self, update: ev.Update, batch: Sequence[EpisodeRecord]) -> None:
        for episode in batch:
            self._close(episode, "trained", update.t)

    def _close(self, episode: EpisodeRecord, outcome: str, t: float) -> None:
        start, finished = episode.start, episode.finished
        trained = outcome == "trained"
        oldest = episode.versions(t)[0]
        self._rows[start.episode] = (
            start.episode,
            start.group,
            episode.worker,
            start.t,
            np.nan if finished is None else finished,
            t if trained else np.nan,
            start.version,
            oldest,
            -1 if finished is None else episode.finished_version,
            self.version if trained else -1,
            self.version - oldest if trained else -1,
            start.duration,
            outcome,
        )
