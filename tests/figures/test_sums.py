"""Sums of columns are exact."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from emulator.figures.sums import ExactSum, ratio

floats = (
    st.floats(-1e12, 1e12) | st.floats(-1e-6, 1e-6) | st.sampled_from([0.0, 0.1, -0.1, 1e300, -1e300, 5e-324])
)


@given(st.lists(floats, max_size=200), st.integers(1, 5))
def test_a_column_has_the_exact_sum_of_its_terms(terms: list[float], times: int) -> None:
    column = np.array(terms * times)
    total = ExactSum()
    total.extend_array(column)
    assert sum(map(Fraction, total.terms)) == sum(map(Fraction, column.tolist()))
    assert total.value() == float(sum(map(Fraction, column.tolist())))


def test_a_long_column_becomes_a_few_terms() -> None:
    column = np.random.default_rng(3).lognormal(3, 1, 100_000)
    total = ExactSum()
    total.extend_array(column)
    total.extend_array(-column[::-1])
    assert len(total.terms) < 100
    assert total.value() == 0


def test_a_quotient_that_no_float_can_hold_is_none() -> None:
    assert ratio(3.0, 2.0) == 1.5
    assert ratio(1.0, 0.0) is None
    assert ratio(109 * 3600, 5e-324) is None
