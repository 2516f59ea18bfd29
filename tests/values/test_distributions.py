"""Distributions: their sequences, their means, and that blocks never matter."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import SeedSequence
from pydantic import TypeAdapter, ValidationError

from emulator.text import clean
from emulator.values.distributions import Distribution
from emulator.values.scalars import duration_text, parse_duration

ADAPTER: TypeAdapter[Any] = TypeAdapter(Distribution)

FORMS: dict[str, Any] = {
    "constant": 3,
    "lognormal": {"kind": "lognormal", "median": 20, "sigma": 1.0},
    "uniform": {"kind": "uniform", "low": 1, "high": 9},
    "exponential": {"kind": "exponential", "mean": 20},
    "gamma": {"kind": "gamma", "mean": 20, "shape": 0.5},
    "pareto": {"kind": "pareto", "minimum": 5, "alpha": 2.5},
    "mixture": {
        "kind": "mixture",
        "components": [
            {"weight": 9, "distribution": {"kind": "gamma", "mean": 10, "shape": 3}},
            {"weight": 0.5, "distribution": "2m"},
            {"weight": 0.5, "distribution": {"kind": "exponential", "mean": 4}},
        ],
    },
}


@pytest.fixture(scope="module")
def trace_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "durations.txt"
    path.write_text("# recorded\n5\n1\n\n4 # slow\n2\n3\n")
    return path


def make(form: Any) -> Any:
    return ADAPTER.validate_python(form)


def trace(path: Path, order: str = "sequential", scale: float = 1) -> Any:
    return ADAPTER.validate_python({"kind": "trace", "path": str(path), "order": order, "scale": scale})


def in_blocks(distribution: Any, sizes: list[int], seed: int = 3) -> list[float]:
    sampler = distribution.sampler(SeedSequence(seed))
    return np.concatenate([sampler(size) for size in sizes]).tolist()


@pytest.mark.parametrize("kind", [*FORMS, "trace sequential", "trace shuffle", "trace resample"])
def test_how_the_sequence_is_cut_into_blocks_never_changes_it(kind: str, trace_file: Path):
    order = kind.removeprefix("trace ")
    distribution = (
        trace(trace_file, order) if kind.startswith("trace") else ADAPTER.validate_python(FORMS[kind])
    )
    whole = in_blocks(distribution, [1000])
    assert in_blocks(distribution, [1] * 1000) == whole
    assert in_blocks(distribution, [7] * 142 + [6]) == whole
    assert in_blocks(distribution, [0, 999, 1]) == whole


@settings(max_examples=30)
@given(st.lists(st.integers(0, 50), max_size=20), st.integers(0, 2**64 - 1))
def test_any_cut_of_a_nested_mixture_gives_the_same_sequence(sizes: list[int], seed: int):
    inner = {"weight": 1, "distribution": FORMS["mixture"]}
    mixture = ADAPTER.validate_python(
        {"kind": "mixture", "components": [inner, {"weight": 1, "distribution": FORMS["lognormal"]}]}
    )
    cut = np.concatenate([[], *(block for block in map(mixture.sampler(SeedSequence(seed)), sizes))])
    assert cut.tolist() == mixture.sampler(SeedSequence(seed))(sum(sizes)).tolist()


@pytest.mark.parametrize(
    ("kind", "mean", "median"),
    [
        ("constant", 3.0, 3.0),
        ("lognormal", 20 * math.exp(0.5), 20.0),
        ("uniform", 5.0, 5.0),
        ("exponential", 20.0, 20 * math.log(2)),
        ("gamma", 20.0, 9.0987),
        ("pareto", 25 / 3, 5 * 2**0.4),
    ],
)
def test_mean_and_median_are_those_of_the_formula_and_of_the_draws(kind: str, mean: float, median: float):
    distribution = ADAPTER.validate_python(FORMS[kind])
    assert distribution.mean() == pytest.approx(mean)
    assert distribution.median() == pytest.approx(median, rel=0.02)
    draws = distribution.sampler(SeedSequence(1))(200_000)
    assert draws.mean() == pytest.approx(mean, rel=0.03)
    assert np.median(draws) == pytest.approx(median, rel=0.03)


@pytest.mark.parametrize("kind", [*FORMS, "trace"])
def test_variance_and_survival_are_those_of_the_draws(kind: str, trace_file: Path):
    distribution = (
        trace(trace_file, "resample", 2) if kind == "trace" else ADAPTER.validate_python(FORMS[kind])
    )
    draws = distribution.sampler(SeedSequence(1))(200_000)
    # The fourth moment of the Pareto is infinite: its variance is met in trend only.
    rel = 0.5 if kind == "pareto" else 0.05
    assert draws.var() == pytest.approx(distribution.variance(), rel=rel)
    points = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 8.0, 9.0, 20.0, 119.0, 120.0, 1000.0])
    above = (draws[:, None] > points).mean(axis=0)
    assert distribution.survival(points) == pytest.approx(above, abs=3 * 0.0012)
    assert distribution.cdf(points) == pytest.approx(1 - above, abs=3 * 0.0012)


@pytest.mark.parametrize(
    ("kind", "x", "survival"),
    [
        ("lognormal", 20 * math.exp(10.0), 7.61985302416e-24),
        ("exponential", 2000.0, math.exp(-100)),
        ("pareto", 5e8, 1e-20),
        ("gamma", 0.0, 1.0),
        ("uniform", -1.0, 1.0),
        ("constant", 3.0, 0.0),
    ],
)
def test_survival_is_exact_in_the_tail(kind: str, x: float, survival: float):
    distribution = ADAPTER.validate_python(FORMS[kind])
    assert float(distribution.survival(np.array([x]))[0]) == pytest.approx(survival, rel=1e-9)


def test_what_has_no_spread_has_no_variance_and_what_has_no_second_moment_an_infinite_one():
    for form in (
        3,
        {"kind": "lognormal", "median": 20, "sigma": 0},
        {"kind": "uniform", "low": 3, "high": 3},
    ):
        distribution = ADAPTER.validate_python(form)
        assert distribution.variance() == 0
        value = distribution.mean()
        assert distribution.survival(np.array([value - 1e-9, value])).tolist() == [1, 0]
    heavy = {"kind": "pareto", "minimum": 5, "alpha": 1.5}
    assert ADAPTER.validate_python(heavy).variance() == math.inf
    mixture = {"kind": "mixture", "components": [{"weight": 1, "distribution": heavy}]}
    assert ADAPTER.validate_python(mixture).variance() == math.inf


def test_survival_of_a_trace_leaves_it_equal_to_itself(trace_file: Path):
    one, other = trace(trace_file), trace(trace_file)
    assert one.survival(np.array([0.0, 1.0, 3.5, 5.0])).tolist() == pytest.approx([1, 0.8, 0.4, 0])
    assert one == other


def test_a_mixture_weighs_its_components():
    mixture = ADAPTER.validate_python(FORMS["mixture"])
    assert mixture.mean() == pytest.approx(0.9 * 10 + 0.05 * 120 + 0.05 * 4)
    draws = mixture.sampler(SeedSequence(1))(100_000)
    assert (draws == 120).mean() == pytest.approx(0.05, abs=0.003)


def test_a_component_of_a_mixture_keeps_its_values_whatever_the_weights():
    def first_exponentials(weight: float) -> list[float]:
        mixture = ADAPTER.validate_python(
            {
                "kind": "mixture",
                "components": [
                    {"weight": weight, "distribution": {"kind": "exponential", "mean": 1}},
                    {"weight": 1, "distribution": 1e6},
                ],
            }
        )
        draws = mixture.sampler(SeedSequence(5))(500)
        return draws[draws < 1e6][:20].tolist()

    assert first_exponentials(1) == first_exponentials(3)


def test_pareto_has_no_mean_for_an_alpha_of_one():
    assert ADAPTER.validate_python({"kind": "pareto", "minimum": 1, "alpha": 1}).mean() == math.inf


def test_lognormal_without_spread_is_exactly_its_median():
    distribution = ADAPTER.validate_python({"kind": "lognormal", "median": 0.1, "sigma": 0})
    assert in_blocks(distribution, [3]) == [0.1, 0.1, 0.1]


def test_a_sequential_trace_cycles_in_file_order_whatever_the_seed(trace_file: Path):
    expected = [5.0, 1.0, 4.0, 2.0, 3.0, 5.0, 1.0]
    assert in_blocks(trace(trace_file), [7], seed=1) == expected
    assert in_blocks(trace(trace_file), [7], seed=2) == expected


def test_a_shuffled_trace_uses_each_value_once_a_cycle_in_a_fresh_order(trace_file: Path):
    draws = in_blocks(trace(trace_file, "shuffle"), [50])
    cycles = [tuple(draws[i : i + 5]) for i in range(0, 50, 5)]
    assert all(sorted(cycle) == [1, 2, 3, 4, 5] for cycle in cycles)
    assert len(set(cycles)) > 5


def test_a_resampled_trace_draws_with_replacement(trace_file: Path):
    draws = in_blocks(trace(trace_file, "resample"), [1000])
    assert {value: draws.count(value) > 150 for value in draws} == dict.fromkeys([1, 2, 3, 4, 5], True)


def test_scale_multiplies_the_values_of_a_trace(trace_file: Path):
    scaled = trace(trace_file, scale=0.5)
    assert in_blocks(scaled, [3]) == [2.5, 0.5, 2.0]
    assert (scaled.mean(), scaled.median()) == (1.5, 1.5)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("20m", 1200),
        ("1h", 3600),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("1.5h", 5400),
        ("1d", 86400),
        ("2.2h6.9m2.8s", 8336.8),  # rounded at each addition, whatever the version of Python
    ],
)
def test_a_duration_text_is_a_constant(text: str, seconds: float):
    assert ADAPTER.validate_python(text).value == seconds


@pytest.mark.parametrize(
    "value", [True, "", " ", "s", "20", "20 s", "1m1h", "-5s", -1, math.nan, math.inf, 10**400, 1e10]
)
def test_what_is_no_duration_is_refused_in_plain_words(value: object):
    with pytest.raises(ValidationError) as error:
        ADAPTER.validate_python(value)
    (detail,) = error.value.errors()
    found = f'"{value}"' if isinstance(value, str) else clean(value)
    assert detail["msg"] == (
        f"found {found}; allowed: seconds from 0 to 1000000000, or a text like 90s, 20m or 1h30m"
    )


CAPPED: dict[str, dict[str, Any]] = {
    "constant above": {"kind": "constant", "value": 20, "cap": 15},
    "constant below": {"kind": "constant", "value": 20, "cap": 25},
    "lognormal": {"kind": "lognormal", "median": 20, "sigma": 1.0, "cap": 60},
    "wide lognormal": {"kind": "lognormal", "median": 5, "sigma": 3, "cap": 2000},
    "uniform": {"kind": "uniform", "low": 10, "high": 30, "cap": 25},
    "exponential": {"kind": "exponential", "mean": 20, "cap": 30},
    "gamma": {"kind": "gamma", "mean": 20, "shape": 0.5, "cap": 30},
    "pareto": {"kind": "pareto", "minimum": 5, "alpha": 0.9, "cap": 100},
    "mixture": {
        "kind": "mixture",
        "components": [
            {"weight": 3, "distribution": {"kind": "lognormal", "median": 20, "sigma": 1, "cap": 30}},
            {"weight": 1, "distribution": {"kind": "exponential", "mean": 100}},
        ],
        "cap": 120,
    },
}


@pytest.mark.parametrize("name", CAPPED)
def test_what_is_above_the_cap_is_the_cap(name: str) -> None:
    form = CAPPED[name]
    cap = float(form["cap"])
    capped, free = make(form), make({key: value for key, value in form.items() if key != "cap"})
    values = capped.sampler(SeedSequence(3))(200_000)
    assert np.array_equal(values, np.minimum(free.sampler(SeedSequence(3))(200_000), cap))
    deviation = max(values.std() / 200_000**0.5, 1e-9)
    assert abs(capped.mean() - values.mean()) < 5 * deviation
    assert capped.variance() == pytest.approx(values.var(), rel=0.05, abs=1e-9)
    assert capped.median() == pytest.approx(np.median(values), rel=0.02)
    assert capped.share_at_cap() == pytest.approx((values == cap).mean(), abs=0.005)
    grid = np.linspace(0, cap, 11)
    measured = (values[:, None] > grid).mean(axis=0)
    assert np.abs(capped.survival(grid) - measured).max() < 0.005
    assert capped.survival(np.array([cap])) == 0.0


def test_moments_below_a_cap_are_those_of_the_closed_forms() -> None:
    exponential = make({"kind": "exponential", "mean": 20, "cap": 30})
    assert exponential.mean() == pytest.approx(20 * (1 - math.exp(-1.5)), rel=1e-12)
    pareto = make({"kind": "pareto", "minimum": 5, "alpha": 1.0, "cap": 100})
    assert pareto.mean() == pytest.approx(5 * (1 + math.log(20)), rel=1e-12)
    uniform = make({"kind": "uniform", "low": 10, "high": 30, "cap": 20})
    assert uniform.mean() == pytest.approx(17.5, rel=1e-12)
    # Half of it is even from 10 to 20, the other half is 20.
    assert uniform.variance() == pytest.approx((700 / 3 + 400) / 2 - 17.5**2, rel=1e-12)


def test_a_cap_that_holds_back_everything_leaves_a_constant() -> None:
    constant = make({"kind": "uniform", "low": 10, "high": 30, "cap": 5})
    assert (constant.mean(), constant.variance(), constant.median()) == (pytest.approx(5), 0.0, 5)


def test_a_cap_may_be_a_duration_and_is_written_only_where_there_is_one() -> None:
    capped = make({"kind": "exponential", "mean": 20, "cap": "2m"})
    assert capped.model_dump(mode="json") == {"kind": "exponential", "mean": 20.0, "cap": 120.0}
    assert make({"kind": "exponential", "mean": 20}).model_dump() == {"kind": "exponential", "mean": 20.0}


def test_a_cap_of_a_trace_holds_its_values(trace_file: Path) -> None:
    free = make({"kind": "trace", "path": str(trace_file)})
    cap = float(np.median(free.values))
    capped = make({"kind": "trace", "path": str(trace_file), "cap": cap})
    kept = np.minimum(free.values, cap)
    assert np.array_equal(capped.sampler(SeedSequence(0))(len(kept)), kept)
    assert (capped.mean(), capped.variance()) == (pytest.approx(kept.mean()), pytest.approx(kept.var()))


def test_members_of_a_group_share_their_part_of_the_log_variance() -> None:
    lognormal = make({"kind": "lognormal", "median": 20, "sigma": 0.8})
    sampler = lognormal.sampler_in_groups(SeedSequence(1), SeedSequence(2), 4, 0.3)
    logs = np.log(sampler(200_000) / 20).reshape(-1, 4) / 0.8
    assert np.abs(np.corrcoef(logs.T) - 0.3 - 0.7 * np.eye(4)).max() < 0.02
    assert (logs.mean(), logs.std()) == (pytest.approx(0, abs=0.01), pytest.approx(1, abs=0.01))


def test_the_own_part_is_what_makes_a_duration_without_groups() -> None:
    lognormal = make({"kind": "lognormal", "median": 20, "sigma": 0.8})
    free = lognormal.sampler(SeedSequence(1))(1000)
    nearly = lognormal.sampler_in_groups(SeedSequence(1), SeedSequence(2), 4, 1e-12)(1000)
    assert nearly == pytest.approx(free, rel=1e-5)


@settings(max_examples=30)
@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=6), group=st.integers(1, 5))
def test_any_cut_of_a_sequence_in_groups_gives_the_same(sizes: list[int], group: int) -> None:
    lognormal = make({"kind": "lognormal", "median": 20, "sigma": 1, "cap": 30})
    whole = lognormal.sampler_in_groups(SeedSequence(1), SeedSequence(2), group, 0.5)(sum(sizes))
    sampler = lognormal.sampler_in_groups(SeedSequence(1), SeedSequence(2), group, 0.5)
    assert np.concatenate([sampler(size) for size in sizes]).tolist() == whole.tolist()
    assert whole.max(initial=0) <= 30


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (45, "45s"), (90, "1m30s"), (300, "5m"), (5400.5, "1h30m0.5s"), (90000, "1d1h"), (60, "1m")],
)
def test_a_duration_is_written_as_it_is_read(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
    assert parse_duration(text) == seconds
