"""Renewal theory on a grid, where the answer is known in closed form."""

import math
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from emulator.theory.renewal import FEWEST_CELLS, MOST_CELLS, Durations, Renewals, TimeGrid, grid_for
from emulator.values.distributions import Distribution

ADAPTER: TypeAdapter[Any] = TypeAdapter(Distribution)
GRID = TimeGrid(1000.0, 1 << 13)
TIMES = np.array([0.0, 3.0, 50.0, 400.0, 999.0])


def renewals(form: Any, speed: float = 1.0) -> Renewals:
    return Renewals(Durations(ADAPTER.validate_python(form), speed), GRID)


@pytest.mark.parametrize("speed", [1.0, 4.0])
def test_exponential_episodes_finish_as_a_poisson_process(speed: float) -> None:
    poisson = renewals({"kind": "exponential", "mean": 20}, speed)
    assert poisson.finished(TIMES) == pytest.approx(TIMES * speed / 20, abs=0.002 * speed)
    assert np.interp(TIMES, GRID.times, poisson.variance) == pytest.approx(
        TIMES * speed / 20, abs=0.01 * speed
    )
    assert poisson.steady_variance(TIMES) == pytest.approx(TIMES * speed / 20, abs=0.03 * speed)


def test_two_stages_finish_a_quarter_less_than_one_would_think() -> None:
    # Gamma of shape 2 and stages of 10 s: m(t) = t/20 - 1/4 + exp(-t/5)/4 (Cox, section 4.2).
    gamma = renewals({"kind": "gamma", "mean": 20, "shape": 2})
    assert gamma.finished(TIMES) == pytest.approx(TIMES / 20 - (1 - np.exp(-TIMES / 5)) / 4, abs=0.002)


def test_what_still_runs_is_what_has_no_memory() -> None:
    poisson = renewals({"kind": "exponential", "mean": 20})
    times = np.array([0.0, 100.0, 480.0, 499.0])
    assert poisson.still_running(times, 500.0) == pytest.approx(np.exp((times - 500) / 20), abs=0.004)


def test_a_constant_keeps_its_mean_on_the_grid() -> None:
    masses = GRID.coefficients(GRID.constant(33.333))
    assert masses.sum() == pytest.approx(1)
    assert masses @ np.arange(len(masses)) * GRID.step == pytest.approx(33.333, abs=1e-6)


def test_a_grid_is_as_fine_as_the_durations_ask_for() -> None:
    assert grid_for(3600, 33.0, 43.0).cells == FEWEST_CELLS
    assert grid_for(3600, 20.0, 0.5).cells == 1 << 16
    assert grid_for(1e9, 20.0, 20.0).cells == MOST_CELLS
    assert math.isclose(GRID.times[-1], 1000.0)
