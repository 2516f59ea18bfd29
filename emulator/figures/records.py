"""What the fold knows of each worker, episode and group at a moment, and the accounts that time goes to."""

import math
from dataclasses import dataclass, field
from typing import Final

GENERATING: Final = "generating"
OVERHEAD: Final = "overhead"
WAITING: Final = "waiting"
GATED: Final = "gated"
BLOCKED: Final = "blocked"
FROZEN: Final = "frozen"
DOWN: Final = "down"
LEFT: Final = "left"
SANDBOX: Final = "sandbox"
QUEUE: Final = "queue"
WORKER_STATES = (GENERATING, OVERHEAD, WAITING, GATED, BLOCKED, FROZEN, DOWN)

UPDATING: Final = "updating"
PUSHING: Final = "pushing"
STALLED: Final = "stalled"
TRAINER_STATES = (UPDATING, PUSHING, WAITING, STALLED)


@dataclass(slots=True)
class EpisodeRecord:
    """An episode that is in flight, paused or in the queue.

    `segments` are the closed stretches of generating: (version, start, end); `opened` is the start of
    the open one, None while nothing is generated. `attempt_segments` is where the present attempt begins
    in them. `finished_version` is the version that was published when the episode finished.
    """

    worker: int
    group: int
    version: int
    start_version: int
    started: float
    duration: float
    segments: list[tuple[int, float, float]] = field(default_factory=list)
    opened: float | None = None
    attempt_segments: int = 0
    finished: float | None = None
    finished_version: int = 0
    begun: bool = True
    has_sandbox: bool = False

    def versions(self) -> list[int]:
        """The versions that generated any of it, oldest first; at least one."""
        found = [version for version, start, end in self.segments[self.attempt_segments :] if end > start]
        return found or [self.start_version]

    def mean_version(self) -> float:
        """The mean of the versions, weighted by the seconds that each generated."""
        segments = self.segments[self.attempt_segments :]
        seconds = math.fsum(end - start for _, start, end in segments)
        if not seconds:
            return float(self.start_version)
        return math.fsum(version * (end - start) for version, start, end in segments) / seconds


@dataclass(slots=True)
class WorkerRecord:
    """What a worker does, and on which episode (None: on none).

    `held` is a finished episode that the queue has no room for.
    """

    state: str = WAITING
    episode: int | None = None
    cause: str = ""
    held: int | None = None


@dataclass(slots=True)
class GroupRecord:
    """A group: when it began, when members finished, and how many were lost."""

    first_start: float
    finishes: list[float] = field(default_factory=list)
    lost_members: int = 0
    lost: bool = False
