"""What is known of each worker, episode and group at a moment, and what time goes to."""

import math
from dataclasses import dataclass, field
from typing import Final

from emulator.events import Start

GENERATING: Final = "generating"
OVERHEAD: Final = "overhead"
ACTING: Final = "acting"
WAITING: Final = "waiting"
GATED: Final = "gated"
BLOCKED: Final = "blocked"
FROZEN: Final = "frozen"
DOWN: Final = "down"
ABSENT: Final = "absent"
SANDBOX: Final = "sandbox"
QUEUE: Final = "queue"
ENGINE: Final = "engine"
WORKER_STATES = (GENERATING, OVERHEAD, ACTING, WAITING, GATED, BLOCKED, FROZEN, DOWN)

UPDATING: Final = "updating"
PUSHING: Final = "pushing"
STALLED: Final = "stalled"
TRAINER_STATES = (UPDATING, PUSHING, WAITING, STALLED)

FINISHED: Final = "finished"
RETRIED: Final = "retried"
PAUSED: Final = "paused"
ABORTED: Final = "aborted"
FAILED: Final = "failed"
DROPPED: Final = "dropped"
LOST = (ABORTED, FAILED, DROPPED)


Segment = tuple[int, float, float]
"""A stretch of generating: the version, its start and its end."""

_NO_SEGMENTS: list[Segment] = []
"""Shared by the many episodes that nothing interrupts."""


@dataclass(slots=True, init=False)
class EpisodeRecord:
    """An episode that is in flight, paused, held by its worker or in the queue.

    `start` is the event with which it started; `worker` took it last, under `version` unless that was
    refreshed. `start_version` is the version that the present attempt was begun under, if one has (`begun`).
    `segments` are the closed stretches of generating, and `opened` is the start of the open one, None while
    nothing is generated; that in which the episode finished stays open. `attempt_segments` is where the
    present attempt begins in them. `finished_version` is the version published when the episode finished.
    `context` are the tokens that it had when it last left an engine.
    """

    start: Start
    worker: int
    version: int
    start_version: int
    segments: list[Segment]
    opened: float | None
    attempt_segments: int
    finished: float | None
    finished_version: int
    begun: bool
    has_sandbox: bool
    context: float

    def __init__(self, start: Start) -> None:
        self.start = start
        self.worker = start.worker
        self.version = self.start_version = start.version
        self.segments = _NO_SEGMENTS
        self.opened = None
        self.attempt_segments = 0
        self.finished = None
        self.finished_version = 0
        self.begun = False
        self.has_sandbox = False
        self.context = 0.0

    @property
    def number(self) -> int:
        """The episode's number."""
        return self.start.episode

    def close_segment(self, t: float) -> None:
        """Nothing is generated from `t` on."""
        if self.opened is not None:
            if not self.segments:
                self.segments = []
            self.segments.append((self.version, self.opened, t))
            self.opened = None

    def attempt(self, until: float | None = None) -> list[Segment]:
        """The segments of the present attempt that have ended, and the open one as if it ended at `until`."""
        segments = self.segments[self.attempt_segments :]
        end = until if self.finished is None else self.finished
        if self.opened is not None and end is not None:
            segments.append((self.version, self.opened, end))
        return segments

    def versions(self, until: float | None = None) -> list[int]:
        """The versions that generated any of it (until then), oldest first; at least one."""
        if not self.segments and self.opened is not None and self.finished is not None:  # as nearly all are
            return [self.version if self.finished > self.opened else self.start_version]
        found = [version for version, start, end in self.attempt(until) if end > start]
        return found or [self.start_version]

    def mean_version(self) -> float:
        """The mean of the versions, weighted by the seconds that each generated."""
        segments = self.attempt()
        seconds = math.fsum(end - start for _, start, end in segments)
        if not seconds:
            return float(self.start_version)
        return math.fsum(version * (end - start) for version, start, end in segments) / seconds


@dataclass(slots=True)
class WorkerRecord:
    """What a worker does, and on which episode (None: on none).

    `cause` says what a blocked one waits for: ``"sandbox"``, ``"engine"``, or ``"queue"`` while it holds the
    finished episode `held`. `account` is what its time goes to: its state, or `FROZEN` in a freeze, or the
    cause if it is blocked. The last engine that it had something to do with is `engine`.
    """

    number: int
    state: str = WAITING
    cause: str = ""
    account: str = WAITING
    episode: int | None = None
    held: int | None = None
    engine: int = 0


@dataclass(slots=True)
class GroupRecord:
    """A group: when it began, when members finished, and how many have started, are there and were lost."""

    first_start: float
    started: int = 0
    present: int = 0
    finishes: list[float] = field(default_factory=list)
    lost_members: int = 0
    lost: bool = False
