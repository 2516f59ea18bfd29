"""The asynchronous strategy: no worker waits for another, each update takes the next batch to finish.

`max_staleness` bounds how old the data gets, in one of three ways. A `gate` limits how many episodes are
out (AReaL's max_head_offpolicyness, SkyRL, verl's staleness_threshold): a straggler can still exceed it.
`drop` discards what is too old when the trainer looks (TRL's AsyncGRPO); `cancel` also aborts what is
still running (prime-rl's max_off_policy_steps). These two bound the age of every trained episode, and
throw the long ones away.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from emulator.strategies.contract import Setting, Strategy
from emulator.strategies.decisions import Accounts, Admission, Decisions, JudgedGroup
from emulator.strategies.processes import BusyWorkers, IndependentRounds, Pace, Process, StalenessBound
from emulator.values.scalars import Exact, Seconds, shortest
from emulator.values.violation import Violation

Enforce = Literal["gate", "drop", "cancel"]
"""How a staleness limit is kept."""

_GATES = (0.5, 1.0, 2.0, 4.0)
_AGES = (1.0, 2.0, 4.0)
_UNLIMITED = "no cap"
_SYSTEMS = {
    _UNLIMITED: "IMPALA, RLlib APPO",
    "gate": "AReaL max_head_offpolicyness, SkyRL max_staleness_steps",
    "drop": "TRL AsyncGRPO max_staleness",
    "cancel": "prime-rl max_off_policy_steps",
}
_COLORS = {_UNLIMITED: 0, "gate": 2, "drop": 3, "cancel": 4}
_KEPT = ("weights", "refresh_overhead", "weight_sync")


class Asynchronous(Strategy):
    """Workers never wait for each other; each update takes the next batch to finish."""

    kind: Literal["asynchronous"]
    max_staleness: Annotated[Decimal | None, Exact(0, 1_000_000, optional=True)] = Field(
        default=None, examples=[1, 0.5]
    )
    """The most versions of lag, an exact decimal; absent means unlimited."""
    enforce: Enforce = "gate"
    """How ``max_staleness`` is kept: hold back starts, discard stale episodes, or abort running ones too."""
    weights: Literal["next_episode", "in_flight"] = "next_episode"
    """When a worker takes new weights: with its next episode, or at once in the middle of one."""
    refresh_overhead: Annotated[float, Seconds()] = 0.0
    """What moving a running episode to new weights costs it, in seconds."""
    weight_sync: Literal["background", "pause"] = "background"
    """Whether workers run on during a push of weights or freeze for it."""

    may_limit: ClassVar[bool] = True

    def decisions(self, setting: Setting) -> "AsynchronousDecisions":
        """With a gate, if there is one, in episodes of a publication."""
        return AsynchronousDecisions(
            batch_groups=setting.batch_groups,
            publication_episodes=setting.batch_size * setting.publish_every,
            group_size=setting.group_size,
            max_staleness=self.max_staleness,
            enforce=self.enforce,
            refreshes_in_flight=self.weights == "in_flight",
            refresh_overhead=self.refresh_overhead,
            freezes_for_push=self.weight_sync == "pause",
        )

    def violations(self, setting: Setting) -> Iterator[Violation]:
        """Options that need another."""
        if self.max_staleness is None and self.enforce != "gate":
            allowed = "a max_staleness beside it: there is no bound to enforce"
            yield Violation(("strategy", "enforce"), self.enforce, allowed, (("strategy", "max_staleness"),))
        if self.refresh_overhead and self.weights != "in_flight":
            allowed = "0 with weights: next_episode; it belongs to weights: in_flight"
            others = (("strategy", "weights"),)
            yield Violation(
                ("strategy", "refresh_overhead"), shortest(self.refresh_overhead), allowed, others
            )

    @property
    def limit(self) -> float | None:
        """That of `max_staleness`."""
        return None if self.max_staleness is None else float(self.max_staleness)

    def _words(self, options: dict[str, Any]) -> Iterator[str]:
        if (limit := options.pop("max_staleness", None)) is not None:
            yield f"{options.pop('enforce', 'gate')} {limit}"
        if options.pop("weights", None) is not None:
            yield "in-flight weights"

    @property
    def family(self) -> str:
        """By how it bounds staleness."""
        return _UNLIMITED if self.max_staleness is None else self.enforce

    @property
    def whole_batches(self) -> bool:
        """Always."""
        return True

    @property
    def systems(self) -> str:
        """By how it bounds staleness."""
        return _SYSTEMS[self.family]

    @property
    def color(self) -> int:
        """By how it bounds staleness."""
        return _COLORS[self.family]

    def process(self, setting: Setting) -> Process | None:
        """Workers that never stop, without a gate; with one that admits a batch a version, rounds."""
        if self.max_staleness is not None and self.enforce == "gate":
            batch_by_batch = self.max_staleness * setting.batch_size < 1 and setting.publish_every == 1
            return IndependentRounds(setting.batch_size) if batch_by_batch else None
        pauses = self.weight_sync == "pause" and setting.push_seconds > 0
        if setting.queue_capacity is not None or self.refresh_overhead or pauses:
            return None
        return BusyWorkers(
            self.limit, cancels=self.enforce == "cancel", refreshes=self.weights == "in_flight"
        )

    def bounds(self, setting: Setting) -> Iterator[StalenessBound]:
        """A gate bounds the mean, drop and cancel every episode's."""
        if self.limit is None:
            return
        if self.enforce != "gate":
            law, holds = "⌊η⌋: what is older is discarded", "drop and cancel"
            yield StalenessBound("mean", math.floor(self.limit), law, holds)
            yield StalenessBound("max", math.floor(self.limit), law, holds)
        elif not setting.group_redundancy:
            # When a version is published, at most eta B episodes are out and not in training; each version
            # makes those, and no others, one older; and it comes with a batch.
            law = "η: at most η B episodes are out as a version comes, and age by it"
            yield StalenessBound("mean", self.limit, law, "a gate without redundant episodes")

    def pace(self, setting: Setting) -> Pace:
        """A full queue and a gate hold workers back."""
        capacity, batch = setting.queue_capacity, setting.batch_size
        ahead = math.inf if capacity is None else float(capacity + setting.workers)
        if self.limit is not None and self.enforce == "gate":
            ahead = min(ahead, self.limit * batch * setting.publish_every)
        return Pace(batch, ahead)

    @classmethod
    def tried(cls, own: Self | None, caps: Sequence[float]) -> Iterator[dict[str, Any]]:
        """No bound, and bounds of each kind.

        What the scenario says of pushes and refreshes is of its engine and kept. In-flight weights are
        otherwise not tried: staleness counts from the oldest version that generated an episode, which they
        leave as it is, and they make no episode shorter.
        """
        kept = {} if own is None else {key: getattr(own, key) for key in _KEPT}
        yield {"kind": "asynchronous", **kept}
        for enforce, bounds in (("gate", _GATES), ("drop", _AGES), ("cancel", _AGES)):
            for bound in sorted({*bounds, *caps}):
                yield {"kind": "asynchronous", "max_staleness": bound, "enforce": enforce, **kept}


@dataclass
class AsynchronousDecisions(Decisions):
    """Start whenever a worker is free and the gate, if there is one, has room.

    `publication_episodes` is how many episodes are trained for each publication. A gate asks for room for the
    `group_size` episodes that a group needs, not for redundant ones: those are given up in the end, and
    with no staleness allowed there would be no room for them ever.
    """

    publication_episodes: int = 0
    group_size: int = 1
    max_staleness: Decimal | None = None
    enforce: Enforce = "gate"
    refreshes_in_flight: bool = False
    refresh_overhead: float = 0.0
    freezes_for_push: bool = False
    in_worker_order = False
    gates: bool = field(default=False, init=False)
    cancels_running: bool = field(default=False, init=False)
    admits_all: bool = field(default=True, init=False)
    judges_queue: bool = field(default=False, init=False)
    _room_for: tuple[int, int] = field(default=(-1, 0), init=False)
    """A version, and how many episodes may be out under it."""

    def __post_init__(self) -> None:
        limited = self.max_staleness is not None
        self.admits_all = not limited or self.enforce != "gate"
        self.gates = limited and self.enforce == "gate"
        self.cancels_running = limited and self.enforce == "cancel"
        self.judges_queue = limited and self.enforce != "gate"

    def admit(self, accounts: Accounts, group_in_progress: int | None) -> Admission | None:
        """Members of a begun group always; a new group if all of it fits under the gate."""
        if group_in_progress is not None:
            return Admission.MEMBER
        if self.gates and accounts.out + self.group_size > self._room(accounts.version):
            return None
        return Admission.GROUP

    def _room(self, version: int) -> int:
        """How many episodes may be out: ``(max_staleness + version + 1)`` publications' worth."""
        if self._room_for[0] != version:
            assert self.max_staleness is not None
            room = math.floor((self.max_staleness + version + 1) * self.publication_episodes)
            self._room_for = (version, room)
        return self._room_for[1]

    def stale(self, complete: Iterable[JudgedGroup], accounts: Accounts) -> list[int]:
        """Under `drop` and `cancel`, what is beyond the limit."""
        if not self.judges_queue:
            return []
        return [group.number for group in complete if self._beyond(group.oldest_version(), accounts.version)]

    def cancels(self, oldest_version: int, version: int) -> bool:
        """Under `cancel`, what is already beyond the limit."""
        return self.cancels_running and self._beyond(oldest_version, version)

    def _beyond(self, oldest_version: int, version: int) -> bool:
        return self.max_staleness is not None and version - oldest_version > self.max_staleness
