"""The fluid engine of the reference against logs of a real server, step tables against published curves."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from .reference.engine import Shape
from .reference.fit_server import Log, Numbers, errors, fit
from .reference.turns import Arrivals

FITTED = {
    "llama-8b": Numbers(alone=11.88, more=0.0678, context=0.0518, prefill=43.70),
    "qwen-32b": Numbers(alone=39.32, more=0.0, context=0.1303, prefill=181.02),
}
"""By `tests/reference/fit_server.py`, to the first half of each log."""


@pytest.mark.parametrize("name", FITTED)
def test_an_engine_fitted_to_the_first_half_of_a_log_gives_the_request_times_of_the_second(name: str) -> None:
    mean, median = errors(Log.read(name), FITTED[name])
    assert abs(mean) < 0.03
    assert median < 0.05


@pytest.mark.parametrize("name", FITTED)
def test_the_fit_gives_the_numbers_that_are_written_here(name: str) -> None:
    log = Log.read(name)
    found, written = fit(log), FITTED[name]
    assert found.alone == pytest.approx(written.alone, rel=0.02)
    assert found.prefill == pytest.approx(written.prefill, rel=0.02)
    assert errors(log, found) == pytest.approx(errors(log, written), abs=0.002)


@pytest.mark.parametrize("name", FITTED)
def test_a_log_shows_that_its_server_runs_128_at_once(name: str) -> None:
    log = Log.read(name)
    at_once = [int(np.sum((log.first <= t) & (log.last > t))) for t in log.first]
    assert max(at_once) == 128


def step_ms(shape: Shape, running: int) -> float:
    """What an engine makes of it: so many requests of 100 tokens at once."""
    run = Arrivals(shape, [(0.0, 0, 100)] * running)
    run.run()
    assert len(set(run.last)) == 1
    return run.last[0] * 1000 / 100


MEASURED = {1: 6.86, 16: 7.5, 32: 8.1, 64: 9.5, 128: 12.0, 256: 18.1}
"""vLLM, Qwen3-8B, H100: milliseconds a step, by running sequences."""

LINES = {
    "Llama-8B, H100": (6.7, 0.076),
    "Qwen3-14B, H100": (11.7, 0.112),
    "Qwen3-32B, 2 H100": (14.2, 0.120),
    "Llama-70B, 4 H100": (16.3, 0.092),
}
"""Milliseconds alone, and more for each further sequence."""

POWERS = [1, 2, 4, 8, 16, 32, 64, 128, 256]


def test_a_measured_curve_as_a_table_gives_its_points() -> None:
    shape = Shape.of(MEASURED)
    assert [step_ms(shape, running) for running in MEASURED] == pytest.approx(list(MEASURED.values()))


@pytest.mark.parametrize("model", LINES)
def test_a_line_as_a_table_of_two_points_gives_every_point_also_beyond(model: str) -> None:
    alone, more = LINES[model]
    shape = Shape.of({1: alone, 64: alone + 63 * more})
    for running in (1, 7, 64, 100, 256):
        assert step_ms(shape, running) == pytest.approx(alone + (running - 1) * more)


def test_a_curve_of_a_mixture_of_experts_as_a_table_of_powers_is_within_four_percent_between_them() -> None:
    def root(b: int) -> float:  # Qwen3-30B-A3B on 2 H100
        return 3.2 - 0.020 * b + 2.28 * sqrt(b)

    def saturating(b: int) -> float:  # the same on one H100
        return 3.5 + 19.8 * b / (b + 16) + 0.023 * b

    for curve in (root, saturating):
        shape = Shape.of({b: curve(b) for b in POWERS})
        assert [step_ms(shape, b) for b in POWERS] == pytest.approx([curve(b) for b in POWERS])
        for b in range(1, 257):
            assert shape.step(b) == pytest.approx(curve(b), rel=0.04)
