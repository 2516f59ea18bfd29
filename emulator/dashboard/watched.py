"""What can be watched: a session as it runs, or a recording as it is played."""

from collections.abc import Sequence
from typing import Protocol

from emulator.clock import EmulatedLoop
from emulator.dashboard.state import ShownLane
from emulator.scenario import Scenario


class Watched(Protocol):
    """Lanes on one clock, as the dashboard sees them and as keys act on them."""

    clock: EmulatedLoop
    scenarios: Sequence[Scenario]
    """Those of the lanes, in order."""
    replay: bool

    @property
    def now(self) -> float:
        """Emulated seconds: where it stands."""

    @property
    def ended(self) -> bool:
        """Whether it stands at its end."""

    @property
    def standing(self) -> str | None:
        """What there is to say of where it stands: at its end, or back in time."""

    @property
    def interrupted(self) -> bool:
        """Whether a person ended it before."""

    def lanes(self) -> list[ShownLane]:
        """The lanes, folded until now."""

    def stop(self) -> None:
        """End it here."""

    def scrub(self, key: str) -> bool:
        """Go to another time, if this is a key for that; returns whether it is one."""

    def inject(self, key: str) -> str:
        """Do to the lanes what a key of `INJECTIONS` says; returns what was done."""
