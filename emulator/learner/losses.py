"""The losses: how much each decision of a batch weighs in the gradient, by its ratio.

A ratio ``r`` is the probability of a decision under the present policy over the one with which it was made,
``A`` its advantage. Every loss is a mean over the decisions of a batch. Its derivative by the log-probability
of a decision is ``-weight * A / n``, which is all that a step needs.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from emulator.learner.policy import Values
from emulator.scenario.learner import Learner


class Weights(NamedTuple):
    """The weight of each decision, and whether the loss clipped or truncated its ratio."""

    weights: Values
    cut: NDArray[np.bool_]


Loss = Callable[[Values, Values], Weights]
"""Gives the weights of decisions from their ratios and advantages."""


def ppo(clip: float) -> Loss:
    """The clipped surrogate, ``-min(r A, clip(r, 1 - clip, 1 + clip) A)`` (Schulman et al., PPO, 2017).

    A decision counts as clipped where the clipped term is the smaller one, which takes its gradient away.
    """

    def weigh(ratios: Values, advantages: Values) -> Weights:
        cut = np.where(advantages > 0, ratios > 1 + clip, (ratios < 1 - clip) & (advantages < 0))
        return Weights(np.where(cut, 0.0, ratios), cut)

    return weigh


def importance() -> Loss:
    """The whole ratio, ``-r A``: unbiased, at the price of a variance that grows with the staleness."""
    return lambda ratios, _: Weights(ratios, np.zeros(ratios.shape, np.bool_))


def vtrace(rho: float) -> Loss:
    """The truncated ratio as a constant, ``-min(r, rho) A log p`` (Espeholt et al., IMPALA, 2018).

    Every decision has its reward at once, so there are no values to be traced.
    """
    return lambda ratios, _: Weights(np.minimum(ratios, rho), ratios > rho)


def uncorrected() -> Loss:
    """No correction, ``-A log p``: as if the batch were the present policy's own."""
    return lambda ratios, _: Weights(np.ones(ratios.shape), np.zeros(ratios.shape, np.bool_))


def loss_of(settings: Learner) -> Loss:
    """The loss that a scenario asks for."""
    match settings.loss:
        case "ppo":
            return ppo(settings.clip)
        case "importance":
            return importance()
        case "vtrace":
            return vtrace(settings.rho)
        case "none":
            return uncorrected()
