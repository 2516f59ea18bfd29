"""The synchronous strategy: generate a batch, train on it, generate the next.

Plain, it is a barrier: a round lasts as long as its slowest episode. With `oversample` the round issues
more than a batch and closes when a batch is complete; `unfinished` says what becomes of the rest: `abort`
(slime's dynamic sampling), `resume` (partial rollouts as in Kimi k1.5 and APRIL) or `defer` (tail
batching as in RollPacker).
"""

import math
from dataclasses import dataclass
from decimal import Decimal

from emulator.strategies.base import Unfinished
from emulator.strategies.rounds import Rounds


@dataclass
class Synchronous(Rounds):
    """Rounds that begin when the update on the last one is over."""

    resume_overhead: float = 0.0


def synchronous(
    *,
    batch_size: int,
    group_size: int,
    oversample: Decimal,
    unfinished: Unfinished,
    resume_overhead: float,
) -> Synchronous:
    """Rounds of ``ceil(oversample * batch_size)`` episodes, in whole groups."""
    issued = math.ceil(oversample * batch_size)
    strategy = Synchronous(
        batch_groups=batch_size // group_size,
        round_groups=-(-issued // group_size),
        resume_overhead=resume_overhead,
    )
    strategy.unfinished = unfinished
    return strategy
