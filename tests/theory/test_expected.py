"""What theory expects of runs of finite length: against exact numbers, and against real runs.

A point agrees if the mean over its seeds is within `SE` standard errors. The standard error is that of the
seeds or of theory, whichever is the larger: a count that hardly varies may not have varied at all. Where
nothing varies, a millionth is left to arithmetic.
"""

import math
from collections.abc import Callable
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammainc, pdtrc

import emulator
from emulator.scenario import Scenario
from emulator.theory import expected, limits
from emulator.theory.conditions import durations_of, rounds_of
from tests.scenarios import documents
from tests.theory.scenarios import ASYNCHRONOUS, SYNCHRONOUS, scenario

SE = 3
SEEDS = 10
ARITHMETIC = 1e-6
FIGURES = {
    "updates",
    "updates_per_hour",
    "workers.utilisation",
    "workers.goodput",
    "trainer.utilisation",
    "staleness.mean",
    "staleness.in_flight_mean",
    "staleness.in_queue_mean",
}


def figure(result: dict[str, Any], name: str) -> float:
    for part in name.split("."):
        result = result[part]
    return float(result)  # type: ignore[arg-type]


def check(case: Scenario, names: set[str] = FIGURES, seeds: int = SEEDS) -> None:
    """Run it with several seeds, and compare every figure."""
    laws = expected(case)
    assert set(laws) == names
    results = [emulator.run(case, speed="max", seed=seed).result for seed in range(1, seeds + 1)]
    for name, law in laws.items():
        measured = [figure(result, name) for result in results]
        error = max(stdev(measured), law.sd or 0.0) / math.sqrt(seeds)
        tolerance = SE * error + ARITHMETIC * abs(law.mean)
        assert fmean(measured) == pytest.approx(law.mean, abs=tolerance), name


# -- the reference chart ------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.1, 0.3, 1.0, 1.5])
@pytest.mark.parametrize("strategy", [SYNCHRONOUS, ASYNCHRONOUS], ids=["synchronous", "asynchronous"])
def test_the_reference_chart_agrees_with_theory(strategy: dict[str, Any], sigma: float) -> None:
    check(scenario(strategy, sigma=sigma))


def test_the_reference_hour_is_what_an_independent_calculation_says() -> None:
    synchronous, asynchronous = expected(scenario(SYNCHRONOUS)), expected(scenario(ASYNCHRONOUS))
    # 4,000 simulated hours of each, in numpy: 14.146 (0.032) and 108.66 (0.05).
    assert synchronous["updates"].mean == pytest.approx(14.146, abs=SE * 0.032)
    assert asynchronous["updates"].mean == pytest.approx(108.66, abs=SE * 0.05)
    # Known to two places.
    assert synchronous["updates"].sd == pytest.approx(2.0, abs=0.05)
    assert asynchronous["updates"].sd == pytest.approx(1.7, abs=0.05)
    assert asynchronous["staleness.in_flight_mean"].mean == pytest.approx(0.98, abs=0.005)
    assert asynchronous["staleness.mean"].mean == pytest.approx(1.43, abs=0.005)


# -- exact numbers ------------------------------------------------------------------------------------


def one_exponential(strategy: dict[str, Any], *, workers: int, batch: int, update: float) -> Scenario:
    return scenario(
        strategy,
        rollout={"workers": workers, "episode_seconds": {"kind": "exponential", "mean": 20}},
        trainer={"batch_size": batch, "update_seconds": update},
    )


def test_rounds_of_one_exponential_episode_are_counted_exactly() -> None:
    law = expected(one_exponential(SYNCHRONOUS, workers=1, batch=1, update=15))["updates"]
    n = np.arange(1, 241)
    chances = gammainc(n, (3600 - 15 * n) / 20)
    assert law.mean == pytest.approx(chances.sum(), abs=0.002)
    assert law.sd == pytest.approx(math.sqrt(((2 * n - 1) * chances).sum() - chances.sum() ** 2), abs=0.01)


def test_batches_of_a_poisson_process_are_counted_exactly() -> None:
    law = expected(one_exponential(ASYNCHRONOUS, workers=8, batch=16, update=15))["updates"]
    # The number finished by T - U is Poisson, and an update is each sixteenth.
    n = np.arange(1, 200)
    chances = pdtrc(16 * n - 1, 8 * (3600 - 15) / 20)
    assert law.mean == pytest.approx(chances.sum(), abs=0.02)
    assert law.sd == pytest.approx(math.sqrt(((2 * n - 1) * chances).sum() - chances.sum() ** 2), abs=0.02)


CONSTANT: list[tuple[dict[str, Any], float, float, float]] = [
    (SYNCHRONOUS, 20, 15, 0),
    (SYNCHRONOUS, 20, 16, 0),  # a hundred rounds to the second
    (SYNCHRONOUS, 20, 10, 5.5),
    ({"kind": "one_step_off"}, 20, 15, 0),
    ({"kind": "one_step_off"}, 20, 24, 0),
    ({"kind": "one_step_off"}, 20, 24, 7),
    ({"kind": "asynchronous", "max_staleness": 0}, 20, 15, 3),
    (ASYNCHRONOUS, 20, 15, 0),
    (ASYNCHRONOUS, 9, 15, 0),
]


@pytest.mark.parametrize(("strategy", "episode", "update", "push"), CONSTANT)
def test_where_nothing_is_left_to_chance_theory_is_exact(
    strategy: dict[str, Any], episode: float, update: float, push: float
) -> None:
    case = scenario(
        strategy,
        rollout={"episode_seconds": episode},
        trainer={"update_seconds": update, "weight_sync_seconds": push},
    )
    result = emulator.run(case, speed="max").result
    laws = expected(case)
    assert {"updates", "workers.utilisation", "trainer.utilisation"} <= set(laws)
    for name, law in laws.items():
        assert figure(result, name) == pytest.approx(law.mean, rel=1e-9), name
        assert law.sd == pytest.approx(0, abs=1e-9) or law.sd is None


def test_a_worker_of_constant_episodes_is_followed_wave_by_wave() -> None:
    # Waves of 3 end at each tenth of a second, also the one at 359.9 s: 3,599 of them, 5,398 batches of 2.
    case = scenario(
        ASYNCHRONOUS,
        rollout={"workers": 3, "episode_seconds": 0.1},
        trainer={"batch_size": 2, "update_seconds": 0.02},
        duration=360,
    )
    laws = expected(case)
    assert (laws["updates"].mean, laws["updates"].sd) == (5398, 0)
    result = emulator.run(case, speed="max").result
    assert figure(result, "trainer.utilisation") == pytest.approx(laws["trainer.utilisation"].mean, rel=1e-9)


# -- durations that are often equal, so that many episodes or rounds end together ------------------------

OFTEN_TEN = {
    "kind": "mixture",
    "components": [
        {"weight": 9, "distribution": 10},
        {"weight": 1, "distribution": {"kind": "lognormal", "median": 100, "sigma": 0.5}},
    ],
}
GATE_0 = {"kind": "asynchronous", "max_staleness": 0}


@pytest.mark.parametrize("strategy", [SYNCHRONOUS, {"kind": "one_step_off"}, GATE_0])
def test_of_rounds_of_episodes_that_often_last_equally_long_nothing_is_said(
    strategy: dict[str, Any],
) -> None:
    assert expected(scenario(strategy, rollout={"episode_seconds": OFTEN_TEN})) == {}


def test_of_a_resampled_trace_of_two_values_nothing_is_said(tmp_path: Any) -> None:
    path = tmp_path / "durations.txt"
    path.write_text("5\n" * 9 + "60\n")
    trace = {"kind": "trace", "path": str(path), "order": "resample"}
    assert expected(scenario(SYNCHRONOUS, rollout={"episode_seconds": trace})) == {}


def test_one_step_off_whose_rounds_mostly_last_a_constant_update_is_not_counted() -> None:
    one_step_off = {"kind": "one_step_off"}
    assert expected(scenario(one_step_off, sigma=0.3, trainer={"update_seconds": 60})) == {}
    assert expected(scenario(one_step_off, sigma=0.3, trainer={"update_seconds": 25}))


# -- short runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("duration", [0.001, 1, 5, 30])
@pytest.mark.parametrize("strategy", [SYNCHRONOUS, {"kind": "one_step_off"}, ASYNCHRONOUS, GATE_0])
def test_a_run_too_short_for_a_round_has_no_updates_and_no_staleness(
    strategy: dict[str, Any], duration: float
) -> None:
    push = {"batch_size": 3, "update_seconds": 30, "weight_sync_seconds": 3}
    episode = {"kind": "lognormal", "median": 20, "sigma": 0.05}
    case = scenario(strategy, rollout={"episode_seconds": episode}, trainer=push, duration=duration)
    laws = expected(case)
    assert laws.get("updates") is None or laws["updates"].mean == pytest.approx(0, abs=1e-9)
    if duration < 10:
        assert not any(name.startswith("staleness") for name in laws)


@settings(max_examples=60)
@given(
    documents(environment=False, timeline=False),
    st.sampled_from([0.001, 1.0, 5.0, 64.0, 3600.0, 1e5]),
    st.none() | st.sampled_from([OFTEN_TEN, {"kind": "pareto", "minimum": 5, "alpha": 1}]),
)
def test_theory_has_no_trouble_with_any_scenario(
    document: dict[str, Any], duration: float, episode: dict[str, Any] | None
) -> None:
    document["duration"] = duration
    document["rollout"]["workers"] += 8  # so that rounds fit
    document["rollout"]["speed"] = 1
    if episode is not None:
        document["rollout"]["episode_seconds"] = episode
    case = Scenario.model_validate(document)
    limits(case)
    for law in expected(case).values():
        assert 0 <= law.mean < math.inf
        assert law.sd is None or 0 <= law.sd < math.inf


# -- other systems ------------------------------------------------------------------------------------

OTHERS: dict[str, Callable[[], Scenario]] = {
    "one step off": lambda: scenario({"kind": "one_step_off"}),
    "one step off, trainer-bound, with a push": lambda: scenario(
        {"kind": "one_step_off"}, sigma=0.2, trainer={"update_seconds": 25, "weight_sync_seconds": 10}
    ),
    "few workers": lambda: scenario(ASYNCHRONOUS, rollout={"workers": 16}),
    "waves of two batches": lambda: scenario(
        ASYNCHRONOUS, sigma=0.2, rollout={"workers": 128}, trainer={"update_seconds": 5}, duration=1200
    ),
    "every fourth published": lambda: scenario(ASYNCHRONOUS, trainer={"publish_every": 4}),
    "the trainer sets the pace": lambda: scenario(
        ASYNCHRONOUS, sigma=0.5, rollout={"speed": 4}, duration=900
    ),
    "ten minutes": lambda: scenario(ASYNCHRONOUS, sigma=0.5, duration=600),
    "gamma": lambda: scenario(
        ASYNCHRONOUS, rollout={"episode_seconds": {"kind": "gamma", "mean": 30, "shape": 0.5}}
    ),
    "a push in the background": lambda: scenario(
        ASYNCHRONOUS, trainer={"update_seconds": 10, "weight_sync_seconds": 5}
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_systems_agree_with_theory(name: str) -> None:
    case = OTHERS[name]()
    check(case, FIGURES, seeds=8)


def test_abort_closes_a_round_at_an_order_statistic() -> None:
    abort = {"kind": "synchronous", "oversample": 1.25, "unfinished": "abort"}
    check(scenario(abort, rollout={"workers": 80}), FIGURES - {"workers.goodput"}, seeds=8)


@pytest.mark.parametrize(("oversample", "issued"), [(1.3, 7), (1.2, 6), (1.5, 8)])
def test_a_round_issues_what_oversampling_asks_for_rounded_up(oversample: float, issued: int) -> None:
    abort = {"kind": "synchronous", "oversample": oversample, "unfinished": "abort"}
    case = scenario(abort, rollout={"workers": issued}, trainer={"batch_size": 5})
    durations = durations_of(case)
    assert durations is not None
    rounds = rounds_of(case, durations)
    assert rounds is not None
    assert rounds.issued == issued
    check(case, FIGURES - {"workers.goodput"}, seeds=5)


def test_an_update_time_may_vary_in_rounds() -> None:
    update = {"kind": "uniform", "low": 5, "high": 25}
    check(scenario(SYNCHRONOUS, sigma=0.5, trainer={"update_seconds": update}), seeds=8)


# -- where no law holds, nothing is said --------------------------------------------------------------

GATE = {"kind": "asynchronous", "max_staleness": 1}
SILENT: dict[str, Callable[[], Scenario]] = {
    "gate": lambda: scenario(GATE),
    "resume": lambda: scenario({"kind": "synchronous", "oversample": 1.25, "unfinished": "resume"}),
    "defer": lambda: scenario({"kind": "synchronous", "oversample": 1.25, "unfinished": "defer"}),
    "fewer workers than a batch": lambda: scenario(SYNCHRONOUS, rollout={"workers": 63}),
    "too few for what is issued": lambda: scenario(
        {"kind": "synchronous", "oversample": 1.25, "unfinished": "abort"}, rollout={"workers": 79}
    ),
    "redundant groups": lambda: scenario(
        SYNCHRONOUS, rollout={"workers": 96, "group_size": 8, "group_redundancy": 1}
    ),
    "a timeline": lambda: scenario(SYNCHRONOUS, events=[{"at": 60, "stall_trainer": {"for": 60}}]),
    "failures": lambda: scenario(SYNCHRONOUS, environment={"failure_probability": 0.01}),
    "timeouts": lambda: scenario(SYNCHRONOUS, environment={"timeout_seconds": 600}),
    "resets": lambda: scenario(ASYNCHRONOUS, environment={"reset_seconds": 1}),
    "too few sandboxes": lambda: scenario(ASYNCHRONOUS, environment={"sandboxes": 63}),
    "various speeds": lambda: scenario(
        SYNCHRONOUS, rollout={"speed": {"kind": "uniform", "low": 1, "high": 2}}
    ),
    "a queue that may be full": lambda: scenario(ASYNCHRONOUS, rollout={"queue_capacity": 64}),
    "freezes": lambda: scenario(
        {"kind": "asynchronous", "weight_sync": "pause"}, trainer={"weight_sync_seconds": 1}
    ),
    "refreshes that cost": lambda: scenario(
        {"kind": "asynchronous", "weights": "in_flight", "refresh_overhead": 1}
    ),
    "pushes now and then": lambda: scenario(
        SYNCHRONOUS, trainer={"weight_sync_seconds": 1, "publish_every": 2}
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_where_no_law_holds_nothing_is_said(name: str) -> None:
    assert expected(SILENT[name]()) == {}


BUSY = {"workers.utilisation"}
UNAGED = {name for name in FIGURES if not name.startswith("staleness")}
PARTLY: dict[str, tuple[Callable[[], Scenario], set[str]]] = {
    "drop": (lambda: scenario({**GATE, "enforce": "drop"}), BUSY),
    "cancel": (lambda: scenario({**GATE, "enforce": "cancel"}), BUSY),
    "groups": (lambda: scenario(ASYNCHRONOUS, rollout={"group_size": 8}), BUSY),
    "neither sets the pace": (
        lambda: scenario(ASYNCHRONOUS, trainer={"update_seconds": 32}),
        {*BUSY, "workers.goodput"},
    ),
    "varying updates": (
        lambda: scenario(ASYNCHRONOUS, trainer={"update_seconds": {"kind": "exponential", "mean": 15}}),
        {*BUSY, "workers.goodput"},
    ),
    "hardly any spread": (lambda: scenario(ASYNCHRONOUS, sigma=0.001), {*BUSY, "workers.goodput"}),
    "few workers": (lambda: scenario(ASYNCHRONOUS, rollout={"workers": 8}), UNAGED),
    "small batches": (
        lambda: scenario(ASYNCHRONOUS, trainer={"batch_size": 8, "update_seconds": 1}, duration=600),
        UNAGED,
    ),
    "little spread": (lambda: scenario(ASYNCHRONOUS, sigma=0.04), UNAGED),
    "moved before they begin": (
        lambda: scenario(
            {"kind": "asynchronous", "weights": "in_flight"}, trainer={"batch_size": 16, "update_seconds": 0}
        ),
        UNAGED,
    ),
    "finishing together": (
        lambda: scenario(
            ASYNCHRONOUS,
            rollout={
                "episode_seconds": {
                    "kind": "mixture",
                    "components": [{"weight": 9, "distribution": 20}, {"weight": 1, "distribution": 90}],
                }
            },
        ),
        {*BUSY, "workers.goodput"},
    ),
}


@pytest.mark.parametrize("name", PARTLY)
def test_where_some_laws_hold_the_others_are_not_said(name: str) -> None:
    make, said = PARTLY[name]
    assert set(expected(make())) == said


def test_a_trace_is_independent_only_if_it_is_resampled(tmp_path: Any) -> None:
    path = tmp_path / "durations.txt"
    path.write_text("\n".join(str(10 + k * 0.37) for k in range(100)))
    for order, said in (("sequential", set()), ("shuffle", set()), ("resample", FIGURES)):
        trace = {"kind": "trace", "path": str(path), "order": order}
        assert set(expected(scenario(ASYNCHRONOUS, rollout={"episode_seconds": trace}))) == said


def test_what_changes_nothing_changes_no_law() -> None:
    plain = expected(scenario(ASYNCHRONOUS))
    idle = scenario(
        {"kind": "asynchronous", "weights": "in_flight", "weight_sync": "pause"},
        environment={"sandboxes": 64},
    )
    assert expected(idle) == plain


def test_of_a_very_long_run_what_it_tends_to_is_said() -> None:
    case = scenario(ASYNCHRONOUS, duration=1e6)
    assert set(expected(case)) == {*BUSY, "workers.goodput"}
    assert limits(case)["updates_per_hour"].value == pytest.approx(3600 / (20 * math.exp(0.5)))


def test_the_trainer_is_busy_for_updates_of_varying_lengths() -> None:
    update = {"kind": "gamma", "mean": 15, "shape": 4}
    laws = expected(scenario(SYNCHRONOUS, sigma=0.5, trainer={"update_seconds": update}))
    # 6,000 simulated hours, in numpy: 0.18289 (0.00016).
    assert laws["trainer.utilisation"].mean == pytest.approx(0.18289, abs=SE * 0.00016)


def test_every_law_says_what_it_is_and_where_it_holds() -> None:
    for strategy in (SYNCHRONOUS, {"kind": "one_step_off"}, ASYNCHRONOUS):
        laws = expected(scenario(strategy))
        assert all(law.law and law.holds for law in laws.values())
