"""What a strategy decides.

A strategy is plain synchronous code over a small state: it is asked, it answers, and it acts on nothing.
The lane asks it and does what it says; so a strategy is tested without a loop. Its own state is only what
its decisions need to remember. Everything is counted in groups (a group of one, without GRPO).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol


class Admission(Enum):
    """What a free worker is to take."""

    RESUME = "the oldest paused episode of the round"
    MEMBER = "the next member of the group in progress"
    GROUP = "the first member of a new group"


class Unfinished(Enum):
    """What becomes of episodes that run when a round closes."""

    WAIT = "wait"
    ABORT = "abort"
    RESUME = "resume"
    DEFER = "defer"


@dataclass(slots=True)
class Accounts:
    """The counts of episodes and the published version, on which decisions depend."""

    started: int = 0
    finished: int = 0
    aborted: int = 0
    failed: int = 0
    dropped: int = 0
    trained: int = 0
    version: int = 0

    @property
    def out(self) -> int:
        """Episodes started and not lost, trained ones included: what a gate counts."""
        return self.started - self.aborted - self.failed - self.dropped


class JudgedGroup(Protocol):
    """A complete group as the trainer sees it."""

    @property
    def number(self) -> int:
        """Its number."""

    def oldest_version(self) -> int:
        """The oldest version that generated any of it."""


@dataclass(frozen=True, slots=True)
class PausedEpisode:
    """An episode that waits to be resumed or run again."""

    number: int
    group: int


@dataclass
class Decisions:
    """The decisions, with the answers of a strategy that needs none of them changed.

    `batch_groups` is the number of groups in the next batch, from the moment on when a round has closed.
    """

    batch_groups: int
    unfinished: Unfinished = field(default=Unfinished.WAIT, kw_only=True)

    closes_at: float | None = field(default=None, init=False)
    """When `time_is_up` is asked, in emulated seconds, unless the round closes before."""

    held_back: frozenset[int] = field(default=frozenset(), init=False)
    """Groups in progress of which no more members are started for now."""

    gates = False
    """Whether a worker that may not start is `gated`; else it is `waiting` at a barrier."""
    in_worker_order = True
    """Whether waiting workers are served in worker order; else first come first served."""
    generates_while_training = False
    """Whether the next round is issued when a batch is taken, rather than after its update."""
    resume_overhead = 0.0
    """Seconds of overhead of each resumption."""
    refreshes_in_flight = False
    """Whether running episodes move to a new version at its publication."""
    refresh_overhead = 0.0
    """Seconds of overhead of each such move."""
    freezes_for_push = False
    """Whether every worker stands still during a push."""
    admits_all = False
    """Whether a free worker may always begin a new group if none is in progress; `admit` is not asked."""
    has_rounds = False
    """Whether a complete group may close a round: else `group_completed` is not asked."""
    judges_queue = False
    """Whether `stale` is asked what is to be discarded of the queue."""
    cancels_running = False
    """Whether running episodes are judged by `cancels` at each publication."""

    def open_round(
        self, now: float, paused: Sequence[PausedEpisode], incomplete_groups: Collection[int]
    ) -> None:
        """A round begins, with these episodes paused and these groups begun and incomplete, oldest first."""

    def time_is_up(self) -> bool:
        """Whether the round closes now, at `closes_at`, with the groups that it has."""
        return False

    def admit(self, accounts: Accounts, group_in_progress: int | None) -> Admission | None:
        """What a free worker takes; None if it has to wait.

        `group_in_progress` has members yet to start.
        """
        raise NotImplementedError

    def resumed(self) -> int:
        """The number of the paused episode that `Admission.RESUME` means; it is then no longer due."""
        raise NotImplementedError

    def withdrawn(self, episode: int) -> None:
        """A paused episode was given up."""

    def group_completed(self) -> bool:
        """Whether the group that has just been completed closes the round."""
        return False

    def group_lost(self) -> None:
        """A group of this round was lost, and can be replaced."""

    def stale(self, complete: Iterable[JudgedGroup], accounts: Accounts) -> list[int]:
        """The complete groups in the queue that are discarded before the trainer takes a batch."""
        return []

    def may_publish(self) -> bool:
        """Whether a finished update can be followed by its push at once, or by the next update."""
        return True

    def cancels(self, oldest_version: int, version: int) -> bool:
        """Whether what was generated by `oldest_version` is given up when `version` is published."""
        return False
