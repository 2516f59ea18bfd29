"""Where a length stands among all that could have been drawn."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from emulator.randomness import Draws, Streams
from emulator.scenario.parts import Rollout
from emulator.system.lengths import shares_of
from emulator.system.plans import plans_of

LOGNORMAL = {"kind": "lognormal", "median": 20, "sigma": 1.0}


def rollout(**length: Any) -> Rollout:
    return Rollout.model_validate({"workers": 1, **length})


def test_seconds_stand_where_their_distribution_has_them() -> None:
    below, upto = shares_of(rollout(episode_seconds=LOGNORMAL))(np.array([20.0, 20 * np.e]))
    assert below == pytest.approx([0.5, norm.cdf(1)])
    assert upto == pytest.approx(below)


def test_whole_tokens_are_those_that_are_rounded_to_them() -> None:
    below, upto = shares_of(rollout(episode_tokens=LOGNORMAL))(np.array([1.0, 20.0]))
    assert below == pytest.approx([0.0, norm.cdf(np.log(19.5 / 20))])
    assert upto == pytest.approx([norm.cdf(np.log(1.5 / 20)), norm.cdf(np.log(20.5 / 20))])


def test_turns_are_ranked_by_all_their_tokens() -> None:
    turns = {"count": {"kind": "lognormal", "median": 5, "sigma": 0.5}, "output_tokens": LOGNORMAL}
    of = rollout(turns=turns)
    drawn = Draws(lambda n: np.array([following().length for _ in range(n)]), 1)
    following = plans_of(of, Streams(7), 1.0)
    lengths = np.array([drawn.next() for _ in range(3000)])
    below, upto = shares_of(of)(lengths)
    assert np.all(below <= upto)
    # Of another seed than they are held against, and yet spread evenly.
    assert np.quantile((below + upto) / 2, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.03)


def test_constant_turns_are_all_the_same() -> None:
    below, upto = shares_of(rollout(turns={"count": 3, "output_tokens": 10}))(np.array([30.0]))
    assert (below.tolist(), upto.tolist()) == ([0.0], [1.0])
