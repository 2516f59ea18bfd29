"""The quoted laws, against formulas of their own and against long runs."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import SeedSequence
from pydantic import TypeAdapter

import emulator
from emulator.theory import (
    asynchronous_rate,
    discarded_share,
    expected_maximum,
    in_flight_limit,
    staleness_by_littles_law,
    synchronous_rate,
    synchronous_utilisation,
)
from emulator.values.distributions import Distribution
from tests.theory.scenarios import ASYNCHRONOUS, scenario

ADAPTER: TypeAdapter[Any] = TypeAdapter(Distribution)


def lognormal(sigma: float) -> Any:
    return ADAPTER.validate_python({"kind": "lognormal", "median": 20, "sigma": sigma})


# -- the longest of B ---------------------------------------------------------------------------------


@pytest.mark.parametrize("draws", [1, 2, 64, 1000])
def test_the_longest_of_exponentials_is_the_mean_by_the_harmonic_number(draws: int) -> None:
    exponential = ADAPTER.validate_python({"kind": "exponential", "mean": 20})
    harmonic = math.fsum(1 / k for k in range(1, draws + 1))
    assert expected_maximum(exponential, draws) == pytest.approx(20 * harmonic, rel=1e-7)


def test_the_longest_of_two_log_normals_has_a_closed_form() -> None:
    # E max(X, Y) = 2 E[X; X > Y] = 2 mean Phi(sigma / sqrt 2).
    for sigma in (0.1, 1.0, 3.0):
        expected = 20 * math.exp(sigma**2 / 2) * (1 + math.erf(sigma / 2))
        assert expected_maximum(lognormal(sigma), 2) == pytest.approx(expected, rel=1e-7)


def test_the_longest_of_the_reference_batch_is_known() -> None:
    # The mean of 20,000 batches of 64 is 233.6 with a standard error of 1.0.
    assert expected_maximum(lognormal(1.0), 64) == pytest.approx(233.23, abs=0.01)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (7, 7.0),
        ({"kind": "lognormal", "median": 20, "sigma": 0}, 20.0),
        ({"kind": "uniform", "low": 10, "high": 40}, 10 + 30 * 8 / 9),
        ({"kind": "uniform", "low": 10, "high": 10}, 10.0),
        # Pareto: the minimum's product of k / (k - 1 / alpha) for k to 8.
        (
            {"kind": "pareto", "minimum": 5, "alpha": 1.5},
            5 * math.prod(k / (k - 1 / 1.5) for k in range(1, 9)),
        ),
        ({"kind": "pareto", "minimum": 5, "alpha": 1}, math.inf),
        ({"kind": "gamma", "mean": 20, "shape": 1}, 20 * math.fsum(1 / k for k in range(1, 9))),
    ],
)
def test_the_longest_of_eight_of_every_kind(form: Any, expected: float) -> None:
    assert expected_maximum(ADAPTER.validate_python(form), 8) == pytest.approx(expected, rel=1e-7)


def test_a_mixture_with_jumps_is_cornered() -> None:
    components = [{"weight": 9, "distribution": 20}, {"weight": 1, "distribution": 60}]
    mixture = ADAPTER.validate_python({"kind": "mixture", "components": components})
    assert expected_maximum(mixture, 8) == pytest.approx(60 - 40 * 0.9**8, rel=1e-6)


@pytest.mark.parametrize("order", ["sequential", "shuffle", "resample"])
def test_the_longest_of_a_trace_is_drawn_with_replacement(order: str, tmp_path: Path) -> None:
    path = tmp_path / "durations.txt"
    path.write_text("1\n2\n2\n10\n")
    trace = ADAPTER.validate_python({"kind": "trace", "path": str(path), "order": order, "scale": 2})
    # Of two draws: 1 only with 1/16, up to 2 with 9/16.
    assert expected_maximum(trace, 2) == pytest.approx(2 * (1 / 16 + 2 * 8 / 16 + 10 * 7 / 16))


@settings(max_examples=25)
@given(st.floats(0.05, 2.0), st.integers(1, 200))
def test_one_more_draw_is_never_shorter_and_gains_ever_less(sigma: float, draws: int) -> None:
    one, two, three = (expected_maximum(lognormal(sigma), draws + k) for k in range(3))
    assert 0 < three - two < two - one


# -- rates --------------------------------------------------------------------------------------------


def test_the_rates_of_the_reference_hour() -> None:
    mean = 20 * math.exp(0.5)
    assert synchronous_rate(lognormal(1.0), 64, 15) == pytest.approx(1 / (233.23 + 15), rel=1e-4)
    assert synchronous_utilisation(lognormal(1.0), 64, 64, 15) == pytest.approx(mean / 248.23, rel=1e-4)
    assert asynchronous_rate(mean, 64, 64, 15) == pytest.approx(1 / mean)
    assert asynchronous_rate(mean, 256, 64, 15) == pytest.approx(1 / 15)
    assert asynchronous_rate(mean, 256, 64, 0) == pytest.approx(4 / mean)
    assert in_flight_limit(96, 64) == 1.5


def test_a_tail_without_a_mean_brings_rounds_to_a_stand() -> None:
    pareto = ADAPTER.validate_python({"kind": "pareto", "minimum": 5, "alpha": 0.9})
    assert synchronous_rate(pareto, 64, 15) == 0
    assert synchronous_utilisation(pareto, 64, 64, 15) == 0


def test_littles_law_gives_the_staleness_that_is_measured() -> None:
    result = emulator.run(scenario(ASYNCHRONOUS, duration=36_000), speed="max").result
    in_training = 64 * result["trainer"]["utilisation"]
    expected = staleness_by_littles_law(64, result["queue"]["mean"], in_training, 64)
    # What the beginning of ten hours leaves: two updates in 1,091, each of a mean of about 1.4.
    assert result["staleness"]["mean"] == pytest.approx(expected, abs=0.01)


# -- the share an age cap discards --------------------------------------------------------------------


@pytest.mark.parametrize(("sigma", "cap"), [(0.5, 1), (1.0, 1), (1.0, 2.5)])
def test_drop_discards_the_share_that_its_law_says(sigma: float, cap: float) -> None:
    drop = {"kind": "asynchronous", "max_staleness": cap, "enforce": "drop"}
    result = emulator.run(scenario(drop, sigma=sigma, duration=18_000), speed="max").result
    share = discarded_share(lognormal(sigma), 64, 64, 15, cap)
    assert share is not None
    # A share of 0.2 of 35,000 varies by 0.002; the law itself is good to 0.003 here.
    assert result["episodes"]["dropped"] / result["episodes"]["finished"] == pytest.approx(share, abs=0.006)
    # The mean of so many durations varies by a hundred-and-fiftieth, and the updates with it.
    rate = (1 - share) / lognormal(sigma).mean()
    assert result["updates"] == pytest.approx(rate * 18_000, rel=0.025)


def test_drop_discards_less_the_older_data_may_be_and_nothing_of_what_never_gets_old() -> None:
    shares = [discarded_share(lognormal(1.0), 64, 64, 15, cap) for cap in range(5)]
    assert all(a is not None and b is not None and a > b > 0 for a, b in pairwise(shares))
    # Constant episodes of 20 s see one publication, and are judged before the next.
    assert discarded_share(ADAPTER.validate_python(20), 64, 64, 5, 2) == 0


def test_where_the_trainer_sets_the_pace_the_law_of_drop_is_silent() -> None:
    assert discarded_share(lognormal(1.0), 640, 64, 15, 9) is None


def test_the_law_of_drop_agrees_with_a_simulation_of_its_own_assumption() -> None:
    # Publications every P, starts uniform between two, episodes judged as they finish or as the update ends.
    share = discarded_share(lognormal(1.0), 64, 64, 15, 1)
    assert share is not None
    period = 20 * math.exp(0.5) / (1 - share)
    start = np.random.default_rng(1).uniform(0, period, 200_000)
    finish = start + lognormal(1.0).sampler(SeedSequence(1))(200_000)
    published, phase = np.floor(finish / period), finish % period
    old = np.where(phase < period - 15, published, published + 1) > 1
    assert old.mean() == pytest.approx(share, abs=3 * 0.0009)
