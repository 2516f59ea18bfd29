"""Random numbers by number."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator, Philox, SeedSequence

from emulator.learner.draws import NumberedDraws

NUMBERS = st.integers(0, 2**64 - 1)


@given(st.lists(NUMBERS, min_size=1, max_size=5), NUMBERS)
def test_the_draws_of_a_number_do_not_depend_on_what_was_drawn_before(before: list[int], number: int):
    draws = NumberedDraws(SeedSequence(1))
    for other in before:
        draws.of(other).standard_normal(3)
        draws.of(other).integers(7, dtype=np.int32)
    alone = NumberedDraws(SeedSequence(1))
    assert draws.of(number).random(5).tolist() == alone.of(number).random(5).tolist()


def test_number_0_begins_where_the_generator_does():
    expected = Generator(Philox(SeedSequence(1))).random(5)
    assert NumberedDraws(SeedSequence(1)).of(0).random(5).tolist() == expected.tolist()


def test_numbers_have_unlike_draws_that_are_uniform_together():
    draws = NumberedDraws(SeedSequence(1))
    values = np.array([draws.of(number).random(4) for number in range(5000)])
    assert len(np.unique(values)) == values.size
    assert np.allclose(np.histogram(values, 10, (0, 1))[0] / values.size, 0.1, atol=0.01)
    assert np.abs(np.corrcoef(values, rowvar=False) - np.eye(4)).max() < 0.05
    assert abs(np.corrcoef(values[1:, 0], values[:-1, 0])[0, 1]) < 0.05
