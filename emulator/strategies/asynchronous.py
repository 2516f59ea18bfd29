"""The asynchronous strategy: no worker waits for another, each update takes the next batch to finish.

`max_staleness` bounds how old the data gets, in one of three ways. A `gate` limits how many episodes are
out (AReaL's max_head_offpolicyness, SkyRL, verl's staleness_threshold): a straggler can still exceed it.
`drop` discards what is too old when the trainer looks (TRL's AsyncGRPO); `cancel` also gives up what is
still running (prime-rl's max_off_policy_steps). These two bound the age of every trained episode, and
throw the long ones away.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum

from emulator.strategies.base import Accounts, Admission, JudgedGroup, Strategy


class Enforce(Enum):
    """How a staleness limit is kept."""

    GATE = "gate"
    DROP = "drop"
    CANCEL = "cancel"


@dataclass
class Asynchronous(Strategy):
    """Start whenever a worker is free and the gate, if there is one, has room.

    `publication_episodes` is how many episodes are trained for each publication. A gate asks for room for the
    `group_size` episodes that a group needs, not for redundant ones: those are given up in the end, and
    with no staleness allowed there would be no room for them ever.
    """

    publication_episodes: int = 0
    group_size: int = 1
    max_staleness: Decimal | None = None
    enforce: Enforce = Enforce.GATE
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
        self.admits_all = not limited or self.enforce is not Enforce.GATE
        self.gates = limited and self.enforce is Enforce.GATE
        self.cancels_running = limited and self.enforce is Enforce.CANCEL
        self.judges_queue = limited and self.enforce is not Enforce.GATE

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
