"""Every episode of a lane in a table: when it started and ended, under which versions, and how it ended."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from emulator import events as ev
from emulator.figures.episode_state import EpisodeState
from emulator.figures.records import ACTING, ENGINE, GENERATING, LOST, EpisodeRecord, WorkerRecord
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
was not. `duration` is as drawn: in seconds, or the tokens to generate where lengths are tokens. `outcome` is
``trained``, ``queued``, ``dropped``, ``aborted``, ``failed``, ``running`` or ``paused``.
"""

ENGINE_COLUMNS = np.dtype(
    [
        ("engine", np.int64),
        ("tokens", np.float64),
        ("generating_seconds", np.float64),
        ("acting_seconds", np.float64),
        ("line_seconds", np.float64),
    ]
)
"""Further columns of a lane with engines.

`engine` ran it last, -1 if none did. `tokens` were generated, in all its attempts, and its worker spent so
many emulated seconds on it generating, in tools and in lines of engines.
"""

_COLUMN_OF = {GENERATING: 2, ACTING: 3, ENGINE: 4}

_Row = tuple[float | str, ...]


def episode_table(scenario: Scenario, events: Sequence[ev.Event], t: float) -> NDArray[np.void]:
    """The episodes of a lane that ran until `t` (emulated seconds), by number.

    The columns are `EPISODE`, and `ENGINE_COLUMNS` in a lane with engines.
    """
    if scenario.engine is None:
        table = _Table(scenario)
        table.add(events)
        return np.array(table.rows(t), EPISODE)
    with_engines = _EngineTable(scenario)
    with_engines.add(events)
    return np.array(with_engines.rows(t), np.dtype([*EPISODE.descr, *ENGINE_COLUMNS.descr]))


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


class _EngineTable(_Table):
    """The same with what engines and tools made of each."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self._made: dict[int, list[float]] = {}
        self._at: dict[int, tuple[int, str, float]] = {}
        """Of each worker that is at an episode: which, what its time goes to, and since when."""

    def rows(self, t: float) -> list[_Row]:
        """The rows of all episodes, in order, as they stand at `t`."""
        for worker in self.workers.values():
            self._on_worker(worker, worker.account, t)
        for engine in self.engines:
            steps = engine.steps_at(t)
            for number, stay in engine.running.items():
                self._made_by(number)[1] += steps - stay.begun
        rows, made = super().rows(t), sorted(self._made.items())
        return [(*row, int(of[0]), *of[1:]) for row, (_, of) in zip(rows, made, strict=True)]

    def _made_by(self, worker: int) -> list[float]:
        """What there is of the episode that a worker is at."""
        episode = self.workers[worker].episode
        assert episode is not None
        return self._made[episode]

    def _on_take(self, worker: WorkerRecord, start: ev.Start, t: float) -> None:
        self._made.setdefault(start.episode, [-1, 0.0, 0.0, 0.0, 0.0])
        super()._on_take(worker, start, t)

    def _on_worker(self, worker: WorkerRecord, before: str, t: float) -> None:
        super()._on_worker(worker, before, t)
        if (at := self._at.pop(worker.number, None)) is not None:
            episode, account, since = at
            if (column := _COLUMN_OF.get(account)) is not None:
                self._made[episode][column] += t - since
        if worker.episode is not None:
            self._at[worker.number] = worker.episode, worker.account, t

    def _on_admit(self, event: ev.Admit) -> None:
        self._made_by(event.worker)[0] = event.engine

    def _on_release(self, event: ev.Release) -> None:
        self._made_by(event.worker)[1] += event.tokens
