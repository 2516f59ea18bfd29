"""What `LaneState` tells those who build on it."""

from collections.abc import Sequence

from emulator import events as ev
from emulator.figures.records import EpisodeRecord, GroupRecord, WorkerRecord


class Hooks:
    """Called in the order in which things happen, when the state is as it is after the change.

    Only what an episode's attempt generated is still in its record when it ends. None does anything here.
    """

    def _on_pass(self, t: float) -> None:
        """Time goes on to `t`: what has happened at `self.t` is all that happens then."""

    def _on_worker(self, worker: WorkerRecord, before: str, t: float) -> None:
        """A worker changed its state, its episode or its account, which was `before` (and may still be)."""

    def _on_start(self, episode: EpisodeRecord) -> None:
        """An episode is taken for the first time."""

    def _on_attempt(self, worker: WorkerRecord, episode: EpisodeRecord, t: float) -> None:
        """A worker took an episode, or begins an attempt at it (again, or after it waited for a sandbox)."""

    def _on_end(self, episode: EpisodeRecord, how: str, cause: str, t: float) -> None:
        """An attempt ended (``finished``, ``retried``, ``paused``), or an episode was lost.

        The latter is ``aborted``, ``failed`` or ``dropped``.
        """

    def _on_batch(self, update: ev.Update, batch: Sequence[EpisodeRecord]) -> None:
        """The trainer takes a batch."""

    def _on_depth(self, change: int, t: float) -> None:
        """So many episodes entered the queue, or left it if fewer than 0."""

    def _on_sandbox(self, episode: EpisodeRecord, t: float) -> None:
        """An episode took a sandbox, or gave it back."""

    def _on_group(self, group: GroupRecord, t: float) -> None:
        """All members that a group needs have finished."""

    def _on_trainer(self, before: str, t: float) -> None:
        """The trainer changed its state or its account, which was `before` (and may still be)."""

    def _on_publish(self, event: ev.Publish) -> None:
        """A version was published."""

    def _on_learn(self, event: ev.Learn) -> None:
        """A learner told what an update came to."""

    def _on_inject(self, event: ev.Inject) -> None:
        """A timeline entry took effect."""
