"""How many episodes a run is expected to come to, and what is said of very many."""

import math
from typing import Any

import pytest

import emulator
from emulator.cli.promise import warn_of_many
from emulator.scenario import Scenario
from emulator.theory import expected, limits, promised_episodes


def scenario(**changes: Any) -> Scenario:
    """Eight workers on episodes of 10 s, batches of 8, updates of 20 s, for 1,000 s."""
    parts: dict[str, Any] = {
        "duration": 1000,
        "rollout": {"workers": 8, "episode_seconds": 10},
        "trainer": {"batch_size": 8, "update_seconds": 20},
        "strategy": {"kind": "asynchronous"},
    }
    return Scenario.model_validate(parts | changes)


def rollout(seconds: Any, **more: Any) -> dict[str, Any]:
    return {"workers": 8, "episode_seconds": seconds, **more}


def test_workers_that_never_rest_make_as_many_as_fit_into_their_time() -> None:
    assert promised_episodes(scenario()) == pytest.approx(800)
    assert promised_episodes(scenario(rollout=rollout(10, speed=2))) == pytest.approx(1600)
    failing = {"reset_seconds": 10, "failure_probability": 0.5, "retries": 1000}
    assert promised_episodes(scenario(environment=failing)) == pytest.approx(400)
    assert promised_episodes(scenario(environment={"timeout_seconds": 1})) == pytest.approx(8000)


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({"strategy": {"kind": "synchronous"}}, 8 * 51),
        ({"strategy": {"kind": "one_step_off"}}, 8 * 51),
        ({"strategy": {"kind": "asynchronous", "max_staleness": 2}}, 8 * 53),
        ({"rollout": rollout(1e-6, queue_capacity=16)}, 8 * 51 + 24),
    ],
)
def test_a_trainer_that_holds_workers_back_bounds_how_many(changes: dict[str, Any], most: int) -> None:
    assert promised_episodes(scenario(**{"rollout": rollout(1e-6), **changes})) == pytest.approx(most)


@pytest.mark.parametrize(
    "seconds",
    [
        {"kind": "lognormal", "median": 10, "sigma": 1},
        {"kind": "pareto", "minimum": 3, "alpha": 1},
        {
            "kind": "mixture",
            "components": [{"weight": 1, "distribution": 1}, {"weight": 1, "distribution": 30}],
        },
    ],
)
def test_it_is_about_what_a_run_comes_to(seconds: Any) -> None:
    drawn = scenario(rollout=rollout(seconds))
    attempts = emulator.run(drawn, speed="max").result["episodes"]["attempts"]
    assert promised_episodes(drawn) == pytest.approx(attempts, rel=0.3)


def test_where_no_time_passes_it_is_infinite() -> None:
    assert promised_episodes(scenario(rollout=rollout(0))) == math.inf
    assert promised_episodes(scenario(rollout=rollout(5e-324))) == math.inf


def test_very_many_are_announced_with_how_long_they_take(
    capsys: pytest.CaptureFixture[str],
) -> None:
    many = scenario(rollout=rollout(1e-8))
    warn_of_many([many], quiet=False)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        "the run comes to about 800,000,000,000 episodes, which take about 800 hours of computing; "
        "Ctrl-C ends it with what there is until then\n"
    )
    warn_of_many([many, many], quiet=False, runs="the sweep", times=5)
    assert capsys.readouterr().err.startswith("the sweep comes to about 8,000,000,000,000 episodes, ")


def test_few_episodes_and_quiet_runs_get_no_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    warn_of_many([scenario(), scenario(rollout=rollout(0))], quiet=False)
    warn_of_many([scenario(rollout=rollout(1e-8))], quiet=True)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["synchronous", "asynchronous", "one_step_off"])
@pytest.mark.parametrize("duration", [5e-324, 1e-300, 60, 1e9])
@pytest.mark.parametrize(
    "seconds",
    [
        5e-324,
        {"kind": "gamma", "mean": 1e-310, "shape": 1},
        {"kind": "gamma", "mean": 5e-324, "shape": 1e6},
        {"kind": "exponential", "mean": 5e-324},
        {"kind": "lognormal", "median": 1e9, "sigma": 10},
        {"kind": "pareto", "minimum": 1e9, "alpha": 2.0000001},
        {"kind": "uniform", "low": 0, "high": 1e-310},
    ],
)
def test_laws_of_extreme_figures_are_finite_or_none(seconds: Any, duration: float, kind: str) -> None:
    extreme = scenario(duration=duration, rollout=rollout(seconds), strategy={"kind": kind})
    assert all(math.isfinite(found.mean) for found in expected(extreme).values())
    assert all(math.isfinite(found.value) for found in limits(extreme).values())
