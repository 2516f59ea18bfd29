"""What staleness costs, by the loss: updates to 80 % of the best reward."""

from itertools import pairwise

import pytest

from tests.learner.forced import tabular, updates_to_target

STALENESS = (0, 1, 2, 4, 8, 16)
INDEPENDENT = (17, 26, 36, 54, 87, 143)
"""An independent calculation of the same problem, with one seed."""


@pytest.mark.parametrize("seed", [0, 1])
def test_every_step_of_staleness_costs_ppo_updates_as_many_as_calculated_independently(seed: int):
    counts = [updates_to_target(staleness, tabular(seed))[0] for staleness in STALENESS]
    assert counts == pytest.approx(INDEPENDENT, abs=1.5)
    assert all(fresher < staler for fresher, staler in pairwise(counts))


def test_staleness_makes_ppo_clip_more():
    fractions = []
    for staleness in STALENESS:
        _, seen = updates_to_target(staleness, tabular())
        fractions.append(sum(figures.clip_fraction for figures in seen) / len(seen))
    assert fractions == sorted(fractions)
    assert fractions[0] < 0.15
    assert fractions[-1] > 0.3


def test_importance_needs_no_more_updates_but_pays_in_effective_sample_size():
    fresh, fresh_seen = updates_to_target(0, tabular(loss="importance"))
    stale, stale_seen = updates_to_target(8, tabular(loss="importance"))
    assert abs(stale - fresh) <= 2
    assert min(figures.effective_sample_size for figures in fresh_seen) == 1.0
    assert min(figures.effective_sample_size for figures in stale_seen) < 0.4
    assert all(figures.clip_fraction == 0 for figures in stale_seen)


def test_truncation_and_no_correction_lie_between_importance_and_ppo():
    counts = {loss: updates_to_target(8, tabular(loss=loss))[0] for loss in ("importance", "vtrace", "ppo")}
    assert counts["importance"] < counts["vtrace"] < counts["ppo"]
    assert counts["importance"] < updates_to_target(8, tabular(loss="none"))[0] < counts["ppo"]


def test_without_staleness_the_first_ratios_are_exactly_one():
    for figures in updates_to_target(0, tabular())[1]:
        assert (figures.ratio_min, figures.ratio_mean, figures.ratio_max) == (1.0, 1.0, 1.0)
        assert figures.effective_sample_size == 1.0
        assert figures.kl == 0.0


def test_only_versions_that_are_referred_to_are_kept():
    learner = tabular()
    updates_to_target(4, learner)
    assert len(learner.versions) <= 5
    learner.retire(learner.versions[-1:])
    with pytest.raises(KeyError):
        updates_to_target(0, learner)
