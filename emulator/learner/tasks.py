"""Which context an episode is in: a pass over all of them, tied to durations as closely as asked."""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from emulator.learner.draws import NumberedDraws
from emulator.learner.protocol import Rank

_NORMAL = NormalDist()
_LEAST, _MOST = 2.0**-53, 1.0 - 2.0**-53


class Tasks:
    """Gives every group of episodes its context, by a Gaussian copula of context and duration.

    ``context = floor(Phi(c * z + sqrt(1 - c²) * e) * contexts)``, with the correlation ``c``, the normal
    score ``z`` of the group's duration and a standard normal ``e`` of the group's own. For several members
    ``z`` is the sum of theirs over the root of their number, again standard normal. So each context is
    equally likely, and the higher its number the longer its episodes, if ``c`` is above 0.

    The ``e`` are dealt rather than drawn, as a shuffled data set is gone through: each run of ``contexts``
    consecutive groups has one in every quantile of that width. With ``c = 0`` it has each context once.
    """

    def __init__(self, contexts: int, correlation: float, passes: SeedSequence, ties: SeedSequence) -> None:
        self._contexts = contexts
        self._shared = correlation
        self._own = math.sqrt(1.0 - correlation**2)
        self._passes = NumberedDraws(passes)
        self._ties = NumberedDraws(ties)
        # Stragglers come from passes long gone, and each would shuffle its own again.
        self._quantiles = lru_cache(maxsize=256)(self._shuffled_quantiles)

    def context(self, group: int, ranks: Sequence[Rank]) -> int:
        """The context of the group of that number, from 0, by the ranks of its members' durations."""
        quantile = float(self._quantiles(group // self._contexts)[group % self._contexts])
        if self._shared > 0:
            score = self._shared * self._score(group, ranks) + self._own * _NORMAL.inv_cdf(_inside(quantile))
            quantile = _NORMAL.cdf(score)
        return min(int(quantile * self._contexts), self._contexts - 1)

    def _score(self, group: int, ranks: Sequence[Rank]) -> float:
        """The normal score of the durations; equal ones are put in a random order."""
        ties = self._ties.of(group).random(len(ranks)).tolist()
        scores = (
            _NORMAL.inv_cdf(_inside(below + tie * (upto - below)))
            for (below, upto), tie in zip(ranks, ties, strict=True)
        )
        return math.fsum(scores) / math.sqrt(len(ranks))

    def _shuffled_quantiles(self, number: int) -> NDArray[np.float64]:
        rng = self._passes.of(number)
        return (rng.permutation(self._contexts) + rng.random(self._contexts)) / self._contexts


def _inside(probability: float) -> float:
    """The probability, kept from the ends where the normal score is infinite."""
    return min(max(probability, _LEAST), _MOST)
