"""What `LaneState` passes on to whatever builds on it."""

from collections.abc import Sequence

from emulator import events as ev
from emulator.figures.records import GroupRecord, WorkerRecord


class Hooks:
    """Called in the order in which things happen; each does nothing here.

    `worker` is the one that is at the episode, or was until now; `start` is the event that started that,
    but for its version, which is that of the present attempt.
    """

    __slots__ = ()

    def _on_pass(self, t: float) -> None:
        """Time goes on to `t`: what has happened at `self.t` is all that happens then."""

    def _on_worker(self, worker: WorkerRecord, before: str, t: float) -> None:
        """A worker changed its state, its episode or its account, which was `before` (and may still be)."""

    def _on_take(self, worker: WorkerRecord, start: ev.Start, t: float) -> None:
        """A worker is about to take an episode, for the first time or after a pause."""

    def _on_attempt(self, worker: WorkerRecord, start: ev.Start, t: float) -> None:
        """An attempt begins at an episode that a worker has: after one that failed, or with a sandbox."""

    def _on_end(self, worker: WorkerRecord | None, start: ev.Start, how: str, cause: str, t: float) -> None:
        """An attempt ended (``finished``, ``retried``, ``paused``), or an episode was lost.

        The latter is ``aborted``, ``failed`` or ``dropped``. A paused or finished episode has no worker.
        """

    def _on_batch(self, update: ev.Update, starts: Sequence[ev.Start]) -> None:
        """The trainer takes a batch."""

    def _on_refresh(self, worker: WorkerRecord, t: float) -> None:
        """A worker goes on with its episode under the newest version."""

    def _on_admit(self, event: ev.Admit) -> None:
        """An engine is about to run a worker's request."""

    def _on_release(self, event: ev.Release) -> None:
        """A request is about to leave its engine."""

    def _on_lengthen(self, event: ev.Lengthen) -> None:
        """What is left of a request is about to be longer."""

    def _on_engine(self, event: ev.EngineChange) -> None:
        """Something is about to happen to an engine."""

    def _on_depth(self, change: int, t: float) -> None:
        """So many episodes entered the queue, or left it if fewer than 0."""

    def _on_group(self, group: GroupRecord, t: float) -> None:
        """All members that a group needs have finished."""

    def _on_trainer(self, before: str, t: float) -> None:
        """The trainer changed its state or its account, which was `before` (and may still be)."""

    def _on_publish(self, event: ev.Publish) -> None:
        """A version was published."""

    def _on_learn(self, event: ev.Learn) -> None:
        """A learner reported what an update came to; `lesson` is still the one before."""

    def _on_inject(self, event: ev.Inject) -> None:
        """A timeline entry took effect."""
