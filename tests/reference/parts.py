"""The things that a run is made of, without behaviour of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Any

from .heap import Timer

RUNNING, WAITING, GATED, HOLDING, POOL, DOWN, GONE = range(7)
"""What a worker does. HOLDING: a finished episode, before a full queue. POOL: waits for a sandbox."""


class Group:
    """`need` of `size` consecutive episodes; a single episode is a group of one."""

    __slots__ = ("completed_at", "finished", "first_start", "members", "need", "number", "size", "state")

    def __init__(self, number: int, need: int, size: int, first_start: float) -> None:
        self.number = number
        self.need = need
        self.size = size
        self.first_start = first_start
        self.members: list[Episode] = []
        self.finished: list[Episode] = []
        self.state = "open"  # complete, lost
        self.completed_at = 0.0

    def unstarted(self) -> int:
        return self.size - len(self.members) if self.state == "open" else 0

    def can_finish(self) -> int:
        hopeful = sum(member.state in ("running", "paused", "finished") for member in self.members)
        return hopeful + self.size - len(self.members)


class Episode:
    """`state`: running (with a worker), paused, finished (queued), trained, dropped, aborted, failed."""

    __slots__ = (
        "begun",
        "due",
        "duration",
        "failed_attempts",
        "fails",
        "finish",
        "finish_version",
        "generation_from",
        "group",
        "has_sandbox",
        "in_queue",
        "k",
        "later_factors",
        "length",
        "limit",
        "limit_left",
        "overhead_left",
        "paused_speed",
        "remaining",
        "segments",
        "start_version",
        "state",
        "version",
        "worker",
    )

    def __init__(self, k: int, duration: float, group: Group) -> None:
        self.k = k
        self.duration = duration  # as drawn
        self.length = duration  # with straggler factors
        self.group = group
        self.state = "running"
        self.worker: Worker | None = None
        self.version = 0
        self.start_version = 0
        self.segments: list[tuple[int, float, float]] = []  # (version, from, to) of generating
        self.begun = False  # an attempt is under way (or paused)
        self.fails = False
        self.failed_attempts = 0
        self.has_sandbox = False
        self.generation_from = 0.0
        self.due = 0.0  # natural end of the attempt
        self.limit = inf  # its timeout
        self.remaining = 0.0  # these five while paused
        self.overhead_left = 0.0
        self.limit_left = inf
        self.paused_speed = 1.0
        self.later_factors: list[float] = []
        self.finish = 0.0
        self.finish_version = 0
        self.in_queue = False

    def oldest(self) -> int:
        """The oldest version that generated any of it."""
        if self.segments:
            return min(segment[0] for segment in self.segments)
        return self.start_version if self.state == "finished" else self.version


class Worker:
    """`speed` is the effective one: own speed divided by the slow-downs in force."""

    __slots__ = (
        "attempts",
        "episode",
        "held",
        "mark",
        "number",
        "own_speed",
        "slow",
        "speed",
        "state",
        "timer",
    )

    def __init__(self, number: int, speed: float, mark: float) -> None:
        self.number = number
        self.own_speed = self.speed = speed
        self.slow: list[tuple[int, float]] = []
        self.state = WAITING
        self.mark = mark  # accounted until here
        self.episode: Episode | None = None
        self.held: Episode | None = None
        self.timer: Timer | None = None
        self.attempts = 0

    def is_up(self) -> bool:
        return self.state not in (DOWN, GONE)

    def is_free(self) -> bool:
        return self.is_up() and self.episode is None and self.held is None

    def set_slow(self, slow: list[tuple[int, float]]) -> None:
        self.slow = slow
        self.speed = self.own_speed
        for _, factor in slow:
            self.speed /= factor


@dataclass
class Trainer:
    """Updates and pushes."""

    state: str = "waiting"  # updating, pushing
    mark: float = 0.0
    stalled_until: float = 0.0
    timer: Timer | None = None
    stall_timer: Timer | None = None
    begun: int = 0
    updates: int = 0
    publications: int = 0
    ended: bool = False  # one_step_off: an update ended that still has to be pushed


def exact(number: float) -> Fraction:
    """The decimal number that was written."""
    return Fraction(str(number))


@dataclass
class Settings:
    """A scenario in the resolved form, with the defaults of the contract."""

    duration: float
    workers: int
    batch: int
    strategy: dict[str, Any]
    group_size: int = 1
    redundancy: int = 0
    capacity: int | None = None
    push: float = 0.0
    publish_every: int = 1
    sandboxes: int | None = None
    timeout: float | None = None
    retries: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, scenario: dict[str, Any]) -> Settings:
        rollout, trainer = scenario["rollout"], scenario["trainer"]
        environment = scenario.get("environment") or {}
        retries = environment.get("retries")
        return cls(
            duration=float(scenario["duration"]),
            workers=rollout["workers"],
            batch=trainer["batch_size"],
            strategy=scenario["strategy"],
            group_size=rollout.get("group_size") or 1,
            redundancy=rollout.get("group_redundancy") or 0,
            capacity=rollout.get("queue_capacity"),
            push=float(trainer.get("weight_sync_seconds") or 0),
            publish_every=trainer.get("publish_every") or 1,
            sandboxes=environment.get("sandboxes"),
            timeout=environment.get("timeout_seconds"),
            retries=0 if retries is None else retries,
            events=list(scenario.get("events") or []),
        )


@dataclass
class Draws:
    """Everything that is random, as functions."""

    durations: Callable[[int], float]
    updates: Callable[[int], float]
    speeds: Callable[[int], float]
    resets: Callable[[int, int], float]
    failures: Callable[[int, int], bool]
