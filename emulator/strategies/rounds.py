"""Decisions of strategies that issue episodes in rounds."""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice

from emulator.strategies.decisions import Accounts, Admission, Decisions, PausedEpisode, Unfinished


@dataclass
class RoundDecisions(Decisions):
    """A round issues `round_groups` groups and closes with the completion of as many as a batch takes.

    At its `deadline`, so many seconds after it has opened, it closes with the groups that are complete, or
    else with the first to be. A round of deferred episodes has none, since they might never finish.
    """

    round_groups: int = 0
    resume_overhead: float = 0.0
    deadline: float | None = None
    open: bool = field(default=False, init=False)
    _to_begin: int = field(default=0, init=False)
    _to_resume: deque[int] = field(default_factory=deque, init=False)
    _whole_batch: int = field(default=0, init=False)
    _complete: int = field(default=0, init=False)

    has_rounds = True

    def __post_init__(self) -> None:
        self._whole_batch = self.batch_groups

    def open_round(
        self, now: float, paused: Sequence[PausedEpisode], incomplete_groups: Collection[int]
    ) -> None:
        """Issue a round: what is carried over first, then new groups."""
        self.open = True
        self.batch_groups = self._whole_batch
        self._complete = 0
        self.closes_at = None if self.deadline is None else now + self.deadline
        self.held_back = frozenset()
        if self.unfinished is Unfinished.DEFER:
            self._open_deferring(paused, incomplete_groups)
        else:
            self._to_resume.extend(episode.number for episode in paused)
            self._to_begin = max(0, self.round_groups - len(incomplete_groups))

    def _open_deferring(self, paused: Sequence[PausedEpisode], incomplete_groups: Collection[int]) -> None:
        """Tail batching: when a whole batch has been deferred, the round is that batch and nothing else."""
        tail: set[int] = set()
        self._to_begin = self.round_groups
        if len(incomplete_groups) >= self.batch_groups:
            tail.update(islice(incomplete_groups, self.batch_groups))
            self._to_begin = 0
            self.closes_at = None
        self._to_resume.extend(episode.number for episode in paused if episode.group in tail)
        self.held_back = frozenset(incomplete_groups) - tail

    def admit(self, accounts: Accounts, group_in_progress: int | None) -> Admission | None:
        """What this round still has to issue: paused episodes, begun groups, new ones."""
        if not self.open:
            return None
        if self._to_resume:
            return Admission.RESUME
        if group_in_progress is not None:
            return Admission.MEMBER
        if self._to_begin:
            self._to_begin -= 1
            return Admission.GROUP
        return None

    def resumed(self) -> int:
        """The oldest paused episode of the round."""
        return self._to_resume.popleft()

    def withdrawn(self, episode: int) -> None:
        """It is not to be resumed any more."""
        if episode in self._to_resume:
            self._to_resume.remove(episode)

    def group_completed(self) -> bool:
        """The round closes when a batch is complete."""
        self._complete += 1
        return self._closes()

    def time_is_up(self) -> bool:
        """It closes with what is complete; if nothing is, with the first group that will be."""
        self.batch_groups = max(1, self._complete)
        return self._closes()

    def _closes(self) -> bool:
        if self._complete < self.batch_groups:
            return False
        self.open = False
        self._to_resume.clear()
        self._to_begin = 0
        return True

    def group_lost(self) -> None:
        """A lost group is replaced by the next."""
        if self.open:
            self._to_begin += 1
