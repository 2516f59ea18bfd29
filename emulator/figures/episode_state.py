"""Who does what in a lane, with what each episode has been through: which versions generated it, and when."""

from collections.abc import Sequence

from emulator import events as ev
from emulator.figures.lane_state import LaneState
from emulator.figures.records import (
    FINISHED,
    GENERATING,
    LOST,
    RETRIED,
    SANDBOX,
    EpisodeRecord,
    WorkerRecord,
)
from emulator.scenario import Scenario


class EpisodeState(LaneState):
    """A state with records of the `episodes` that are running, paused, or finished and not yet trained."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.episodes: dict[int, EpisodeRecord] = {}
        self._has_environment = scenario.environment is not None

    def oldest_version(self) -> int | None:
        """The oldest version that runs, is paused or queued; None if there is no episode."""
        return min((episode.version for episode in self.episodes.values()), default=None)

    # -- what else is reported ---------------------------------------------------------------------

    def _on_episode_end(self, episode: EpisodeRecord, how: str, cause: str, t: float) -> None:
        """As `_on_end`, but for one that finished; what its attempt generated is known, then forgotten."""

    def _on_trained(self, update: ev.Update, batch: Sequence[EpisodeRecord]) -> None:
        """The trainer takes a batch, whose records are gone afterwards.

        Of a batch that is folded by column only the episodes that are not come here, which may be none.
        """

    def _on_sandbox(self, t: float, *, holds: bool) -> None:
        """An episode took a sandbox, or gave it back."""

    # -- what happens -------------------------------------------------------------------------------

    def _hold_sandbox(self, episode: EpisodeRecord, t: float, *, holds: bool) -> None:
        if episode.has_sandbox != holds:
            episode.has_sandbox = holds
            self._on_sandbox(t, holds=holds)

    def _begin(self, episode: EpisodeRecord, t: float) -> None:
        """An attempt begins, when there is a sandbox for it."""
        if not episode.begun:
            self.counts["attempts"] += 1
            episode.begun = True
        if self._has_environment:
            self._hold_sandbox(episode, t, holds=True)

    def _on_take(self, worker: WorkerRecord, start: ev.Start, t: float) -> None:
        number = start.episode
        if (episode := self.episodes.get(number)) is None:
            episode = self.episodes[number] = EpisodeRecord(start)
        else:
            episode.worker = worker.number
            episode.version = self.version
            episode.start_version = start.version
        self._begin(episode, t)

    def _on_attempt(self, worker: WorkerRecord, start: ev.Start, t: float) -> None:
        self._begin(self.episodes[start.episode], t)

    def _on_worker(self, worker: WorkerRecord, before: str, t: float) -> None:
        if worker.episode is None:
            return
        episode = self.episodes[worker.episode]
        if before == GENERATING:
            episode.close_segment(t)
        if worker.account == GENERATING:
            episode.opened = t
        elif worker.cause == SANDBOX and episode.begun:
            self.counts["attempts"] -= 1
            episode.begun = False
            self._hold_sandbox(episode, t, holds=False)

    def _on_end(self, worker: WorkerRecord | None, start: ev.Start, how: str, cause: str, t: float) -> None:
        episode = self.episodes[start.episode]
        if how == FINISHED:
            episode.finished = t
            episode.finished_version = self.version
            if episode.has_sandbox:
                self._hold_sandbox(episode, t, holds=False)
            return
        if episode.finished is None:
            episode.close_segment(t)
        self._on_episode_end(episode, how, cause, t)
        if how in LOST:
            del self.episodes[start.episode]
        if how == RETRIED or cause == "defer":
            episode.attempt_segments = len(episode.segments)
            episode.begun = False
        if how in LOST or cause == "defer":
            self._hold_sandbox(episode, t, holds=False)

    def _on_batch(self, update: ev.Update, starts: Sequence[ev.Start]) -> None:
        self._on_trained(update, [self.episodes.pop(start.episode) for start in starts])

    def _on_refresh(self, worker: WorkerRecord, t: float) -> None:
        assert worker.episode is not None
        episode = self.episodes[worker.episode]
        was_open = episode.opened is not None
        episode.close_segment(t)
        episode.version = self.version
        if was_open:
            episode.opened = t
