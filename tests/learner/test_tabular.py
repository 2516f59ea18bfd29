"""The tabular learner: what it samples, how it updates and what it tells of it."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import SeedSequence, default_rng

import emulator
from emulator import Scenario
from emulator.learner import Trajectory, TrajectoryGroup
from emulator.learner.tabular import TabularLearner, _effective_sample_size
from emulator.scenario.learner import Learner as Settings
from tests.learner.forced import forced, single, singles, tabular
from tests.learner.test_losses import LOSSES
from tests.learner.test_losses import settings as loss_settings

ACTIONS = 3
SMALL: dict[str, Any] = {"contexts": 4, "actions": ACTIONS, "steps": 5}


def groups_of(size: int, numbers: range, *portions: tuple[int, float]) -> list[TrajectoryGroup]:
    """Groups of consecutive episodes."""
    return [
        TrajectoryGroup(
            g, [(0.5, 0.5)] * size, [Trajectory(g * size + i, portions or [(0, 1.0)]) for i in range(size)]
        )
        for g in numbers
    ]


def small(loss: str, epochs: int) -> TabularLearner:
    """A learner of few cells that has some versions behind it."""
    learner = TabularLearner(
        loss_settings(loss).model_copy(update={**SMALL, "epochs": epochs, "learning_rate": 3.0}),
        SeedSequence(5),
    )
    for version in (1, 2):
        learner.update([single(100 * version + k) for k in range(8)])
        learner.publish(version)
    learner.update([single(300 + k) for k in range(8)])
    return learner


def mean_loss(name: str, logits: np.ndarray, decisions: Any, constant: np.ndarray) -> float:
    """The loss of a batch, decision by decision, as in the papers."""
    total = []
    for cell, log_behaviour, advantage, ratio in zip(
        decisions.cells, decisions.log_behaviour, decisions.advantages, constant, strict=True
    ):
        row = logits[cell // ACTIONS]
        now = row[cell % ACTIONS] - math.log(math.fsum(math.exp(value) for value in row))
        total.append(LOSSES[name](now, log_behaviour, advantage, ratio))
    return math.fsum(total) / len(total)


def ratios_of(logits: np.ndarray, decisions: Any) -> np.ndarray:
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return probabilities.ravel()[decisions.cells] / np.exp(decisions.log_behaviour)


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("name", LOSSES)
def test_each_epoch_steps_down_the_finite_difference_of_the_loss(name: str, size: int):
    learner = small(name, epochs=2)
    batch = groups_of(size, range(6), (0, 1.0), (2, 2.0))
    decisions = learner.sample(batch)
    logits = learner.policy.logits.copy()
    for _ in range(2):
        constant = ratios_of(logits, decisions)
        slope = np.empty_like(logits)
        for place in np.ndindex(*logits.shape):
            step = np.zeros_like(logits)
            step[place] = 1e-5
            up, down = (mean_loss(name, logits + s, decisions, constant) for s in (step, -step))
            slope[place] = (up - down) / 2e-5
        assert np.abs(slope).max() > 1e-3
        logits = logits - 3.0 * slope
    learner.update(batch)
    assert np.allclose(learner.policy.logits, logits, rtol=0, atol=1e-8)


def test_the_figures_are_those_of_their_definitions():
    learner = small("ppo", epochs=1)
    batch = [single(k, (0, 1.0), (1, 1.5)) for k in range(8)]
    decisions = learner.sample(batch)
    before = learner.policy
    figures = learner.update(batch)
    ratios = ratios_of(before.logits, decisions).tolist()
    n = len(ratios)
    assert figures.ratio_mean == pytest.approx(math.fsum(ratios) / n)
    assert (figures.ratio_min, figures.ratio_max) == pytest.approx((min(ratios), max(ratios)))
    assert figures.effective_sample_size == pytest.approx(
        math.fsum(ratios) ** 2 / (n * math.fsum(r * r for r in ratios))
    )
    clipped = [
        (a > 0 and r > 1.2) or (a < 0 and r < 0.8)
        for r, a in zip(ratios, decisions.advantages.tolist(), strict=True)
    ]
    assert 0 < figures.clip_fraction == pytest.approx(sum(clipped) / n)
    # Two of five decisions are version 0's, which is uniform, and three are version 1's.
    divergences = []
    for row in range(8):
        context = decisions.cells[row * 5] // ACTIONS
        now = before.probabilities[context]
        divergences += [sum(1 / 3 * math.log(1 / 3 / p) for p in now)] * 2
        first = np.exp(decisions.behaviours[2 * row + 1])
        divergences += [sum(q * math.log(q / p) for q, p in zip(first, now, strict=True))] * 3
    assert 0 < figures.kl == pytest.approx(math.fsum(divergences) / n)


def test_the_reward_is_the_share_of_right_decisions_that_the_policy_makes():
    learner = tabular(reward_noise=0)
    figures = [figures for _, figures in zip(range(9), forced(0, learner), strict=False)][-1]
    now = [learner.sample(singles(update, (9, 1.0))) for update in range(20, 70)]
    share = np.mean([one.advantages > 0 for one in now])
    # 102,400 decisions, each context as often as any other.
    assert figures.reward == pytest.approx(share, abs=4 * 0.5 / math.sqrt(102_400))
    assert 0.2 < figures.reward < 0.8


def test_it_learns_everything_in_the_end():
    reached = forced(0, tabular())
    figures = [next(reached) for _ in range(60)]
    assert figures[0].reward == pytest.approx(1 / 16, abs=0.05)
    assert figures[-1].reward > 0.97
    assert figures[-1].reward_slowest > 0.95


def test_what_is_never_trained_is_never_learned():
    learner = tabular(difficulty_correlation=1.0)
    ranks = default_rng(1)
    for update in range(40):
        batch = [single(64 * update + k, (update, 1.0), rank=0.8 * ranks.random()) for k in range(64)]
        figures = learner.update(batch)
        learner.publish(update + 1)
    # Contexts up to 51 of 64 are learned, the slowest 7 are among the others.
    assert figures.reward_slowest == pytest.approx(1 / 16)
    assert 0.7 < figures.reward < 52 / 64 + 12 / 64 / 16


def test_the_baseline_is_the_mean_of_the_batch_or_of_the_group():
    learner = tabular()
    whole = learner.sample(singles(0)).advantages
    assert whole.mean() == pytest.approx(0, abs=1e-12)
    assert np.abs(whole.reshape(64, 32).mean(axis=1)).max() > 0.05
    grouped = learner.sample(groups_of(8, range(8))).advantages.reshape(8, 8 * 32)
    assert np.abs(grouped.mean(axis=1)).max() < 1e-12


def test_the_members_of_a_group_have_one_context_and_decide_each_for_itself():
    decisions = tabular().sample(groups_of(4, range(6)))
    contexts = decisions.cells.reshape(6, 4 * 32) // 16
    assert (contexts == contexts[:, :1]).all()
    assert len(np.unique(contexts[:, 0])) == 6
    members = decisions.cells.reshape(6, 4, 32)
    assert (members[:, 0] != members[:, 1]).any(axis=1).all()


def test_rewards_are_one_for_the_right_action_with_the_noise_asked_for():
    batch = [group for update in range(8) for group in singles(update)]
    exact = tabular(reward_noise=0).sample(batch)
    noisy = tabular(reward_noise=0.5).sample(batch)
    assert np.array_equal(exact.cells, noisy.cells)
    right = exact.advantages > 0
    assert exact.advantages[right].min() - exact.advantages[~right].max() == pytest.approx(1.0)
    assert len(np.unique(exact.advantages)) == 2
    assert len(np.unique(exact.cells[right])) == 64
    noise = noisy.advantages - exact.advantages
    assert noise.std() == pytest.approx(0.5, abs=0.015)
    assert len(np.unique(noise[right])) == right.sum()


@settings(max_examples=40)
@given(st.permutations(range(8)), st.sets(st.integers(8, 20)))
def test_an_episode_decides_the_same_whatever_else_is_trained(order: list[int], others: set[int]):
    batch = [single(k, rank=0.1 * k) for k in range(8)]
    alone = tabular(difficulty_correlation=0.5).sample(batch).cells.reshape(8, 32)
    learner = tabular(difficulty_correlation=0.5)
    learner.update([single(k) for k in (0, *others)])
    after = learner.sample([batch[k] for k in order]).cells.reshape(8, 32)
    assert np.array_equal(after, alone[order])


@pytest.mark.parametrize(
    ("portions", "decisions"),
    [
        ([(0, 10.0), (1, 30.0)], [8, 24]),
        ([(0, 0.1), (1, 0.0), (2, 0.3)], [8, 0, 24]),
        ([(0, 1.0), (1, 1000.0), (2, 1.0)], [0, 32, 0]),
        ([(1, 5.0)], [0, 32, 0]),
        ([(1, 0.0)], [0, 32, 0]),
        ([(0, 3.0), (2, 1.0)], [24, 0, 8]),
    ],
)
def test_the_decisions_of_an_episode_are_shared_out_by_seconds(
    portions: list[tuple[int, float]], decisions: list[int]
):
    learner = tabular()
    reached = forced(8, learner)
    for _ in range(2):
        next(reached)
    sampled = learner.sample([single(7, *portions)])
    assert sampled.lengths.tolist() == [n for n in decisions if n]
    whole = [learner.sample([single(7, (version, 1.0))]) for version in range(3)]
    version = np.repeat(np.arange(len(decisions)), decisions)
    for name in ("cells", "log_behaviour"):
        expected = [getattr(whole[v], name)[place] for place, v in enumerate(version)]
        assert getattr(sampled, name).tolist() == expected


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=6), st.integers(1, 40))
def test_every_decision_has_one_version(seconds: list[float], steps: int):
    learner = tabular(steps=steps)
    for version in range(len(seconds)):
        learner.publish(version)
    decisions = learner.sample([single(3, *enumerate(seconds))])
    assert decisions.lengths.sum() == steps
    assert decisions.lengths.min() > 0


def test_figures_are_plain_floats_and_finite_even_where_nothing_fits():
    harsh = tabular(learning_rate=1e6, reward_noise=1000, epochs=20, loss="importance")
    for figures, _ in zip(forced(3, harsh), range(8), strict=False):
        assert {type(value) for value in figures} == {float}
        assert all(math.isfinite(value) for value in figures)
        assert json.loads(json.dumps(figures)) == list(figures)
        assert 1 / 2048 <= figures.effective_sample_size <= 1


def test_seeds_differ_and_neither_the_seed_nor_global_state_is_touched():
    seed = SeedSequence(1, spawn_key=(4,))
    state = np.random.get_state()[1].copy()
    runs = [TabularLearner(Settings(), seed).update(singles(0)) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0] != TabularLearner(Settings(), SeedSequence(2, spawn_key=(4,))).update(singles(0))
    assert seed.n_children_spawned == 0
    assert np.array_equal(state, np.random.get_state()[1])


def test_a_batch_that_is_ever_so_far_off_the_policy_has_an_effective_sample_size() -> None:
    assert _effective_sample_size(np.array([-800.0, -800.0, -800.0])) == 1.0
    assert _effective_sample_size(np.array([-800.0, -2000.0])) == 0.5
    assert _effective_sample_size(np.array([800.0, 800.0, -5000.0])) == pytest.approx(2 / 3)


def test_a_learning_rate_that_runs_wild_still_gives_figures() -> None:
    scenario = Scenario.model_validate(
        {
            "name": "wild",
            "duration": 300,
            "rollout": {"workers": 16, "episode_seconds": {"kind": "lognormal", "median": 10, "sigma": 1}},
            "trainer": {"batch_size": 1, "update_seconds": 0.5},
            "strategy": {"kind": "asynchronous"},
            "learner": {"loss": "none", "contexts": 1, "learning_rate": 300},
        }
    )
    learning = emulator.run(scenario, speed="max").result["learning"]
    assert learning["updates"] > 100
    assert 0 < learning["effective_sample_size"] <= 1
