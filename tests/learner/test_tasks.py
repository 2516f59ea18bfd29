"""Contexts of episodes, and how they follow durations."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import SeedSequence, default_rng

from emulator.learner.tasks import Tasks

CONTEXTS = 64
RANKS = st.floats(0, 1)


def tasks(correlation: float, contexts: int = CONTEXTS) -> Tasks:
    passes, ties = SeedSequence(1).spawn(2)
    return Tasks(contexts, correlation, passes, ties)


def scores(ranks: np.ndarray) -> np.ndarray:
    return np.array([NormalDist().inv_cdf(rank) for rank in ranks])


def test_without_correlation_each_pass_has_every_context_once_in_an_order_of_its_own():
    drawn = tasks(0.0)
    passes = [[drawn.context(CONTEXTS * n + k, [(0.5, 0.5)]) for k in range(CONTEXTS)] for n in range(3)]
    for one in passes:
        assert sorted(one) == list(range(CONTEXTS))
    assert passes[0] != passes[1] != passes[2] != list(range(CONTEXTS))


@given(st.integers(0, 10**6), RANKS, RANKS)
def test_without_correlation_the_duration_has_no_influence(group: int, rank: float, other: float):
    drawn = tasks(0.0)
    assert drawn.context(group, [(rank, rank)]) == drawn.context(group, [(other, other)])


@given(st.integers(0, 10**6), st.floats(0.001, 0.999))
def test_with_full_correlation_the_context_is_the_rank(group: int, rank: float):
    context = tasks(1.0).context(group, [(rank, rank)])
    # The way through the normal scores may round over the edge between two contexts.
    assert context in {math.floor(rank * CONTEXTS + error) for error in (-1e-9, 1e-9)}


@given(st.integers(0, 10**6), st.lists(RANKS, min_size=1, max_size=4), st.floats(0, 1), st.integers(1, 100))
def test_a_context_is_one_of_them_even_at_the_ends(
    group: int, ranks: list[float], correlation: float, contexts: int
):
    assert 0 <= tasks(correlation, contexts).context(group, [(r, r) for r in ranks]) < contexts
    assert 0 <= tasks(correlation, contexts).context(group, [(0.0, 0.0), (0.0, 1.0)]) < contexts


@pytest.mark.parametrize("correlation", [0.3, 0.8])
@pytest.mark.parametrize("members", [1, 4])
def test_contexts_are_equally_likely_and_follow_the_durations_as_asked(correlation: float, members: int):
    n = 6400
    ranks = default_rng(3).random((n, members))
    drawn = tasks(correlation)
    contexts = np.array([drawn.context(g, [(r, r) for r in row]) for g, row in enumerate(ranks.tolist())])
    assert np.allclose(np.histogram(contexts, 8, (0, CONTEXTS))[0] / n, 1 / 8, atol=0.015)
    of_contexts = scores((contexts + 0.5) / CONTEXTS)
    of_durations = scores(ranks.ravel()).reshape(n, members)
    together = np.corrcoef(of_contexts, of_durations.sum(axis=1))[0, 1]
    assert together == pytest.approx(correlation, abs=0.03)
    each = np.corrcoef(of_contexts, of_durations[:, 0])[0, 1]
    assert each == pytest.approx(correlation / math.sqrt(members), abs=0.04)


def test_equal_durations_are_spread_over_the_contexts_that_share_them():
    drawn = tasks(1.0)
    short = [drawn.context(group, [(0.0, 0.75)]) for group in range(4000)]
    long = [drawn.context(group, [(0.75, 1.0)]) for group in range(4000)]
    assert set(short) == set(range(48))
    assert set(long) == set(range(48, 64))
    assert np.allclose(np.bincount(long)[48:] / 4000, 1 / 16, atol=0.015)
