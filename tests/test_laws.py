"""Laws of the emulated systems: the reference hour over many seeds, and closed forms.

Seeds are fixed, so nothing here is left to chance; a tolerance is three standard errors of the mean over the
seeds (``SE``), or what a stated transient or a stated rounding leaves.
"""

import math
from functools import cache
from itertools import pairwise
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest

import emulator
from emulator import events as ev
from emulator.scenario import Scenario

SE = 3
"""Standard errors that a mean may be off."""


def scenario(
    kind: str,
    *,
    workers: int = 64,
    batch: int = 64,
    sigma: float = 1.0,
    update: float = 15,
    seed: int = 1,
    duration: float = 3600,
    **options: Any,
) -> Scenario:
    """The reference hour, unless told: log-normal episodes with a median of 20 s."""
    return Scenario.model_validate(
        {
            "seed": seed,
            "duration": duration,
            "rollout": {
                "workers": workers,
                "episode_seconds": {"kind": "lognormal", "median": 20, "sigma": sigma},
            },
            "trainer": {"batch_size": batch, "update_seconds": update},
            "strategy": {"kind": kind, **options},
        }
    )


@cache
def hours(kind: str, sigma: float, seeds: int) -> list[dict[str, Any]]:
    """The results of the reference hour for seeds from 1."""
    return [
        emulator.run(scenario(kind, sigma=sigma, seed=seed), speed="max").result
        for seed in range(1, seeds + 1)
    ]


def updates(results: list[dict[str, Any]]) -> float:
    return fmean(result["updates"] for result in results)


# -- the reference hour -------------------------------------------------------------------------------


def test_synchronous_manages_14_updates_with_the_workers_14_percent_busy() -> None:
    results = hours("synchronous", 1.0, 20)
    # One run varies by 1.8 updates, the mean of 20 by 0.4; the utilisation by 0.013 and 0.003.
    assert updates(results) == pytest.approx(14.2, abs=SE * 0.4)
    assert fmean(r["workers"]["utilisation"] for r in results) == pytest.approx(0.140, abs=SE * 0.003)
    assert all(result["staleness"]["max"] == 0 for result in results)


def test_asynchronous_manages_108_updates_with_every_worker_busy() -> None:
    results = hours("asynchronous", 1.0, 20)
    # One run varies by 1.6 updates, the mean of 20 by 0.36.
    assert updates(results) == pytest.approx(108.2, abs=SE * 0.36)
    assert all(result["workers"]["utilisation"] == 1 for result in results)


def test_asynchronous_episodes_age_by_one_update_in_flight_and_half_of_one_in_the_queue() -> None:
    staleness = [result["staleness"] for result in hours("asynchronous", 1.0, 20)]
    # Standard errors are 0.0004, 0.002 and 0.0023; the numbers to compare with are given to 0.01.
    assert fmean(s["in_flight_mean"] for s in staleness) == pytest.approx(0.98, abs=0.01)
    assert fmean(s["in_queue_mean"] for s in staleness) == pytest.approx(0.45, abs=0.01)
    assert fmean(s["mean"] for s in staleness) == pytest.approx(1.43, abs=0.01)


def test_with_a_narrow_spread_asynchronous_gains_two_and_two_thirds() -> None:
    narrow = updates(hours("asynchronous", 0.3, 4)), updates(hours("synchronous", 0.3, 8))
    # 170.4 (of 4 runs: 0.3) by 64.0 (of 8 runs: 0.42) is 2.66 with a standard error of 0.018.
    assert narrow[0] == pytest.approx(170.4, abs=SE * 0.3)
    assert narrow[1] == pytest.approx(64.0, abs=SE * 0.42)
    assert narrow[0] / narrow[1] == pytest.approx(2.66, abs=SE * 0.018)


@pytest.mark.parametrize(
    ("enforce", "low", "high"), [("drop", 0.45, 0.65), ("cancel", 0.4, 0.6), ("gate", 0.94, 1.03)]
)
def test_discarding_what_is_stale_halves_the_length_of_what_is_trained_and_a_gate_does_not(
    enforce: str, low: float, high: float
) -> None:
    run = emulator.run(scenario("asynchronous", max_staleness=1, enforce=enforce), speed="max")
    # Seeds differ by 0.006; the gate falls short of 1 by the long ones that are still running at the end.
    assert low < run.result["episode_seconds"]["length_bias"] < high


# -- closed forms -------------------------------------------------------------------------------------

SYSTEMS = [(8, 8, 1.0), (16, 4, 0.5), (4, 16, 0.3), (24, 8, 1.0)]
"""Workers, batch and spread."""


@cache
def long_run(workers: int, batch: int, sigma: float) -> dict[str, Any]:
    """Twenty thousand episodes or so of an asynchronous system in which the workers set the pace."""
    duration = 400_000 / workers
    one = scenario(
        "asynchronous", workers=workers, batch=batch, sigma=sigma, update=1, duration=duration, seed=2
    )
    return emulator.run(one, speed="max").result


@pytest.mark.parametrize(("workers", "batch", "sigma"), SYSTEMS)
def test_the_age_in_flight_tends_to_workers_by_batch_whatever_the_spread(
    workers: int, batch: int, sigma: float
) -> None:
    result = long_run(workers, batch, sigma)
    assert result["updates"] > 800
    # Only the beginning is off: about W/B updates on episodes that are younger by up to W/B.
    transient = 2 * (workers / batch) ** 2 / result["updates"]
    assert result["staleness"]["in_flight_mean"] == pytest.approx(workers / batch, abs=transient + 0.005)


@pytest.mark.parametrize(("workers", "batch", "sigma"), SYSTEMS)
def test_staleness_obeys_littles_law(workers: int, batch: int, sigma: float) -> None:
    result = long_run(workers, batch, sigma)
    training = batch * result["trainer"]["utilisation"]
    there = workers + result["queue"]["mean"] + training
    expected = there / batch - (batch - 1) / (2 * batch)
    transient = 2 * (workers / batch) ** 2 / result["updates"]
    assert result["staleness"]["mean"] == pytest.approx(expected, abs=transient + 0.015)


def expected_maximum(draws: int, sigma: float) -> float:
    """The mean of the longest of so many episodes, by integrating over the density of their maximum.

    The standard normal z of the longest has the density ``n phi(z) Phi(z)^(n-1)``.
    """
    step = 0.001
    z = np.arange(-9, 12, step)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    below = np.cumsum(density) * step
    return float(np.sum(20 * np.exp(sigma * z) * draws * density * below ** (draws - 1)) * step)


@pytest.mark.parametrize(("batch", "sigma"), [(1, 1.0), (8, 1.0), (64, 1.0), (16, 0.3)])
def test_a_synchronous_round_lasts_as_long_as_its_longest_episode(batch: int, sigma: float) -> None:
    events: list[ev.Event] = []
    one = scenario("synchronous", workers=batch, batch=batch, sigma=sigma, duration=40_000)
    emulator.run(one, speed="max", sinks=[events.extend])
    begins = [-15.0, *(event.t for event in events if isinstance(event, ev.Update))]
    rounds = [after - before - 15 for before, after in pairwise(begins)]
    error = stdev(rounds) / math.sqrt(len(rounds))
    assert len(rounds) > 150
    assert fmean(rounds) == pytest.approx(expected_maximum(batch, sigma), abs=SE * error)


def test_the_expected_maximum_of_one_is_the_mean() -> None:
    assert expected_maximum(1, 1.0) == pytest.approx(20 * math.exp(0.5), rel=1e-3)
    assert expected_maximum(1, 0.3) == pytest.approx(20 * math.exp(0.045), rel=1e-3)
