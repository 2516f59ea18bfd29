"""The losses against what their papers say, and their gradients against finite differences."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.learner.losses import loss_of
from emulator.learner.policy import Policy
from emulator.scenario.learner import Learner as Settings

CLIP, RHO = 0.2, 1.5

# Each loss of one decision, as in its paper: from log p now, log p when it was made, the advantage, and
# the ratio that counts as a constant.
LOSSES: dict[str, Callable[[float, float, float, float], float]] = {
    "ppo": lambda p, q, a, _: -min(math.exp(p - q) * a, max(1 - CLIP, min(1 + CLIP, math.exp(p - q))) * a),
    "importance": lambda p, q, a, _: -math.exp(p - q) * a,
    "vtrace": lambda p, q, a, ratio: -min(RHO, ratio) * a * p,
    "none": lambda p, q, a, _: -a * p,
}
STEP = 1e-6


def settings(name: str) -> Settings:
    data: dict[str, Any] = {"loss": name, "clip": CLIP, "rho": RHO}
    return Settings(**data)


@pytest.mark.parametrize("name", LOSSES)
@given(
    log_ratio=st.floats(-3, 3),
    log_behaviour=st.floats(-3, 0),
    advantage=st.floats(-2, 2),
)
def test_the_weight_of_a_decision_is_the_slope_of_its_loss(
    name: str, log_ratio: float, log_behaviour: float, advantage: float
):
    ratio = math.exp(log_ratio)
    if min(abs(ratio - edge) for edge in (1 - CLIP, 1 + CLIP)) < 1e-4:
        return
    now = log_behaviour + log_ratio
    up, down = (LOSSES[name](now + step, log_behaviour, advantage, ratio) for step in (STEP, -STEP))
    weights, _ = loss_of(settings(name))(np.array([ratio]), np.array([advantage]))
    assert -weights[0] * advantage == pytest.approx((up - down) / (2 * STEP), abs=1e-6)


def test_what_counts_as_clipped():
    ratios = np.array([0.5, 0.5, 1.0, 1.0, 2.0, 2.0])
    advantages = np.array([1.0, -1.0] * 3)
    assert loss_of(settings("ppo"))(ratios, advantages).cut.tolist() == [0, 1, 0, 0, 1, 0]
    assert not loss_of(settings("ppo"))(ratios, np.zeros(6)).cut.any()
    assert loss_of(settings("vtrace"))(ratios, advantages).cut.tolist() == [0, 0, 0, 0, 1, 1]
    assert not loss_of(settings("importance"))(ratios, advantages).cut.any()
    assert not loss_of(settings("none"))(ratios, advantages).cut.any()


def test_an_action_without_a_probability_is_never_chosen():
    policy = Policy(np.array([[-2000.0, 0.0, -2000.0], [-2000.0, -2000.0, 0.0], [0.0, -2000.0, -2000.0]]))
    ends = np.array([0.0, 0.5, 1 - 2.0**-53])
    assert [policy.actions(context, ends).tolist() for context in range(3)] == [[1] * 3, [2] * 3, [0] * 3]


def test_the_last_quantile_has_an_action_however_the_probabilities_are_rounded():
    for actions in range(2, 65):
        policy = Policy(np.random.default_rng(actions).normal(size=(20, actions)))
        last = [policy.actions(context, np.array([1 - 2.0**-53])).item() for context in range(20)]
        assert last == [actions - 1] * 20


def test_actions_are_chosen_by_their_probabilities():
    policy = Policy(np.log(np.array([[0.1, 0.2, 0.3, 0.4]])))
    chosen = policy.actions(0, (np.arange(1000) + 0.5) / 1000)
    assert np.bincount(chosen).tolist() == [100, 200, 300, 400]


def test_probabilities_stay_finite_and_sum_to_one_for_logits_far_apart():
    policy = Policy(np.array([[1e6, 0.0, -1e6], [0.0, 0.0, 0.0]]))
    assert policy.probabilities.sum(axis=1).tolist() == pytest.approx([1.0, 1.0])
    assert np.isfinite(policy.log_probabilities).all()
