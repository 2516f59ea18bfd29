"""Axes: ranges, lists of YAML values, and what is refused."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.errors import ScenarioError
from emulator.scenario.tree import parse
from emulator.sweeps.axes import make_axes, make_axis, parse_axis, yaml_text


def _message(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse_axis(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.1:1.5:15", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5)),
        ("16:128:8", (16, 32, 48, 64, 80, 96, 112, 128)),
        ("3:1:3", (3, 2, 1)),
        ("0:1:4", (0, 1 / 3, 2 / 3, 1)),
        ("7:7:1", (7,)),
        ("1m:1h:2", (60, 3600)),
        ("8,16:32:2,100", (8, 16, 32, 100)),
        ("1e3:2e3:2", (1000, 2000)),
        ("null,max,true,1.5,word", (None, "max", True, 1.5, "word")),
        ("'a,b',\"c,d\"", ("a,b", "c,d")),
        ("[1, 2],[]", ("[1 2]", "[]")),
    ],
)
def test_values_and_ranges_are_read(text: str, values: tuple[Any, ...]) -> None:
    axis = parse_axis(f"some.path={text}")
    assert axis.path == "some.path"
    assert axis.values == values
    assert [type(value) for value in axis.values] == [type(value) for value in values]


def test_a_strategy_is_a_kind_or_a_mapping_with_commas_inside() -> None:
    axis = parse_axis("strategy=synchronous,{kind: asynchronous, max_staleness: 2, enforce: gate}")
    assert axis.given == (
        {"kind": "synchronous"},
        {"kind": "asynchronous", "max_staleness": 2, "enforce": "gate"},
    )
    assert axis.values == ("synchronous", "asynchronous max_staleness=2 enforce=gate")


def test_a_mapping_inside_a_mapping_is_written_in_braces() -> None:
    axis = parse_axis("events=[{at: 10s, slow: {workers: [0, 1], factor: 5}}]")
    assert axis.values == ("[{at=10s slow={workers=[0 1] factor=5}}]",)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("rollout.workers", "found no PATH=VALUES"),
        ("=1,2", "found no PATH=VALUES"),
        ("a..b=1", "found no path"),
        ("a=", "found nothing"),
        ("a=1,,2", "found nothing"),
        ("a=1:2:0", "found 0; allowed: a whole number of values from 1"),
        ("a=1:2:2.5", "found 2.5; allowed: a whole number of values from 1"),
        ("a=1:2:1", "found 1 from 1 to 2; allowed: one value between equal ends"),
        ("a=2:2:3", "found 3 from 2 to 2; allowed: one value between equal ends"),
        ("a=8:1e999999999:3", "found 1e999999999; allowed: ends of a range from -1000000000000000000 to"),
        ("a=1:9e99999:2", "found 9e99999; allowed: ends of a range"),
        ("a=-Infinity:1:2", "found -Infinity; allowed: ends of a range"),
        (f"a=1:{'9' * 400}h:2", "…; allowed: ends of a range"),
        ("a=1,2,1.0", "found 1.0 again; allowed: each value once"),
        ("a=.inf", "allowed: texts, finite numbers"),
        ("a={b: 1", "--vary a:"),
        ("seed=1,2", "allowed: --seeds"),
        ("speed=1,2", "a sweep is not paced"),
        ("lanes.0.strategy=a", "allowed: a path outside lanes"),
    ],
)
def test_what_is_no_axis_is_refused_with_its_place(text: str, found: str) -> None:
    message = _message(text)
    assert found in message
    assert message.startswith("--vary")


def test_one_and_true_are_two_values() -> None:
    assert make_axis("a", [1, True]).values == (1, True)


def test_numbers_of_numpy_and_decimals_become_plain() -> None:
    axis = make_axis("a", [np.int64(2), np.float64(0.5), Decimal("1.5"), Decimal(3)])
    assert [type(value) for value in axis.given] == [int, float, float, int]


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(ScenarioError) as caught:
        make_axes(["a=1", "seed=1", "a=2", "b"])
    assert [problem.found for problem in caught.value.problems] == [
        "the path seed",
        "the same path again",
        "no PATH=VALUES",
    ]


def test_there_must_be_something_to_vary() -> None:
    with pytest.raises(ScenarioError, match="nothing to vary"):
        make_axes({})


@given(st.integers(-1000, 1000), st.integers(1, 2000), st.integers(2, 40))
def test_a_range_has_both_ends_and_even_steps(start: int, length: int, count: int) -> None:
    values = parse_axis(f"a={start}:{start + length}:{count}").values
    assert len(values) == count
    exact = [start + Fraction(length * step, count - 1) for step in range(count)]
    assert values == tuple(float(value) for value in exact)
    assert all(
        isinstance(value, int) == (whole.denominator == 1) for value, whole in zip(values, exact, strict=True)
    )


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.floats(-9, 9).map(lambda x: x + 0.0)
    | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(_JSON)
def test_a_value_written_as_yaml_is_read_as_the_same(value: Any) -> None:
    node, problems = parse(yaml_text(value), "")
    assert not problems
    assert node.data() == value


_TEXTS = st.text("ab1:,'\"{}[]# ", max_size=5)


@given(
    st.lists(
        st.tuples(_TEXTS) | st.dictionaries(_TEXTS, _TEXTS, max_size=2), min_size=1, max_size=4, unique_by=str
    )
)
def test_values_written_with_commas_between_them_are_read_as_the_same(values: list[Any]) -> None:
    plain = [list(value) if isinstance(value, tuple) else value for value in values]
    assert list(parse_axis("a=" + ",".join(map(yaml_text, plain))).given) == plain


@given(st.lists(_TEXTS, min_size=1, max_size=4, unique=True))
def test_texts_with_commas_between_them_are_read_as_the_same(texts: list[str]) -> None:
    assert list(parse_axis("a=" + ",".join(map(yaml_text, texts))).given) == texts
