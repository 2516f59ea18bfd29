"""Where the length of an episode stands among all that could have been drawn."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from emulator.randomness import Streams
from emulator.scenario.parts import Rollout
from emulator.system.plans import plans_of

_Floats = NDArray[np.float64]

Shares = Callable[[_Floats], tuple[_Floats, _Floats]]
"""Of each length the probability of a shorter one, and of one that is not longer."""

_PLANS = 2000


def shares_of(rollout: Rollout) -> Shares:
    """The shares of lengths as `Start.duration` has them.

    Whole tokens are those that were rounded to them. The tokens of all turns have no formula: they are held
    against those of 2,000 plans that are the same in every run.
    """
    if rollout.turns is not None:
        following = plans_of(rollout, Streams(0), 1.0)
        drawn = np.sort([following().length for _ in range(_PLANS)])
        return lambda lengths: (
            np.searchsorted(drawn, lengths, side="left") / _PLANS,
            np.searchsorted(drawn, lengths, side="right") / _PLANS,
        )
    cdf = rollout.length.cdf

    def shares(lengths: _Floats) -> tuple[_Floats, _Floats]:
        if rollout.episode_seconds is not None:
            below, upto = cdf(np.array([np.nextafter(lengths, -np.inf), lengths]))
        else:
            below, upto = cdf(np.array([np.where(lengths > 1, lengths - 0.5, 0.0), lengths + 0.5]))
        return below, upto

    return shares
