"""One step off-policy: the next batch is generated while this one is trained.

As in Cleanba, StreamRL and verl's one-step-off recipe. Each batch after the first is one version old.
"""

from dataclasses import dataclass

from emulator.strategies.rounds import Rounds


@dataclass
class OneStepOff(Rounds):
    """Rounds that begin when the batch of the last one is taken."""

    generates_while_training = True

    def may_publish(self) -> bool:
        """Weights move only between rounds: when the next batch is complete too."""
        return not self.open
