"""One step off-policy: the next batch is generated while this one is trained.

As in Cleanba, StreamRL and verl's one-step-off recipe. Each batch after the first is one version old.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from emulator.strategies.contract import Setting, Strategy
from emulator.strategies.processes import IndependentRounds, Pace
from emulator.strategies.rounds import RoundDecisions


class OneStepOff(Strategy):
    """The next batch is generated while this one trains: one version of lag, always."""

    kind: Literal["one_step_off"]

    def decisions(self, setting: Setting) -> "OverlappedRounds":
        """Rounds of a batch each."""
        return OverlappedRounds(batch_groups=setting.batch_groups, round_groups=setting.batch_groups)

    @property
    def whole_batches(self) -> bool:
        """Always."""
        return True

    @property
    def systems(self) -> str:
        """Systems that overlap one round with one update."""
        return "Cleanba, StreamRL, verl one_step_off"

    @property
    def color(self) -> int:
        """That of rounds which do not wait for the update."""
        return 5

    def process(self, setting: Setting) -> IndependentRounds | None:
        """Independent rounds, if each is followed by a publication."""
        if setting.publish_every > 1:
            return None
        return IndependentRounds(setting.batch_size, overlapping=True)

    def pace(self, setting: Setting) -> Pace:
        """A round for each update."""
        return Pace(setting.batch_size, 0.0)

    @classmethod
    def tried(cls, own: Self | None, caps: Sequence[float]) -> Iterator[dict[str, Any]]:
        """It has no options."""
        yield {"kind": "one_step_off"}


@dataclass
class OverlappedRounds(RoundDecisions):
    """Rounds that begin when the batch of the last one is taken."""

    generates_while_training = True

    def may_publish(self) -> bool:
        """Weights move only between rounds: when the next batch is complete too."""
        return not self.open
