from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.plots.plan import MOST_LINES, MOST_PAGES, Plan, Swept, plans, swept
from emulator.plots.words import Value


def plan_of(*axes: tuple[str, list[Any]]) -> list[Plan]:
    return plans(tuple(Swept(path, tuple(values)) for path, values in axes))


def across(plan: Plan) -> str | None:
    return None if plan.across is None else plan.axes[plan.across].path


STRATEGIES = ["synchronous", "asynchronous", "asynchronous max_staleness=1 enforce=gate"]


def test_the_first_numeric_axis_goes_across_and_the_others_make_the_lines() -> None:
    (plan,) = plan_of(("strategy", STRATEGIES), ("sigma", [0.1, 0.5]), ("rollout.workers", [8, 16]))
    assert across(plan) == "sigma"
    assert [line.label for line in plan.series()] == [
        "synchronous, workers 8",
        "synchronous, workers 16",
        "asynchronous, workers 8",
        "asynchronous, workers 16",
        "asynchronous, gate 1, workers 8",
        "asynchronous, gate 1, workers 16",
    ]
    assert [line.points for line in plan.series()][1] == (("synchronous", 0.1, 16), ("synchronous", 0.5, 16))


def test_lines_of_one_strategy_share_its_colour_and_differ_by_marker() -> None:
    (plan,) = plan_of(("sigma", [1, 2]), ("strategy", STRATEGIES[:2]), ("rollout.workers", [8, 16]))
    styles = [line.style for line in plan.series()]
    assert [style.color for style in styles] == [1, 1, 0, 0]
    assert len({style.marker for style in styles}) == 4


def test_a_strategy_has_its_colour_whatever_stands_beside_it() -> None:
    def color(strategies: list[str]) -> dict[str, int]:
        (plan,) = plan_of(("sigma", [1, 2]), ("strategy", strategies))
        return {line.label: line.style.color for line in plan.series()}

    every = color(STRATEGIES)
    assert color(STRATEGIES[::-1]) == every
    assert color(STRATEGIES[1:]) == {
        label: every[label] for label in ("asynchronous", "asynchronous, gate 1")
    }


def test_two_gates_have_two_colours() -> None:
    gates = [f"asynchronous max_staleness={eta} enforce=gate" for eta in range(4)]
    (plan,) = plan_of(("sigma", [1, 2]), ("strategy", gates))
    assert len({line.style.color for line in plan.series()}) == 4


def test_an_axis_of_one_value_is_in_no_label_and_goes_nowhere() -> None:
    (plan,) = plan_of(("sigma", [1.0]), ("strategy", STRATEGIES[:2]))
    assert across(plan) is None
    assert [line.label for line in plan.series()] == ["synchronous", "asynchronous"]
    assert [line.points for line in plan.series()] == [((1.0, "synchronous"),), ((1.0, "asynchronous"),)]


def test_without_a_number_the_categories_beside_the_strategy_go_across() -> None:
    (plan,) = plan_of(("strategy", STRATEGIES[:2]), ("strategy.weights", ["next_episode", "in_flight"]))
    assert across(plan) == "strategy.weights"
    assert [line.label for line in plan.series()] == ["synchronous", "asynchronous"]


def test_a_limit_that_may_be_absent_is_a_category() -> None:
    axis = swept(["strategy.max_staleness"], [{"strategy.max_staleness": value} for value in (2, None, 0)])
    assert axis == (Swept("strategy.max_staleness", (0, 2, None)),)
    assert not axis[0].numeric


def test_numbers_are_in_order_and_words_as_given() -> None:
    rows: list[dict[str, Value]] = [{"a": 3, "b": "y"}, {"a": 1, "b": "x"}, {"a": 3, "b": "x"}]
    assert swept(["a", "b"], rows) == (Swept("a", (1, 3)), Swept("b", ("y", "x")))


def test_lines_too_many_are_spread_over_pages_by_the_numeric_axis() -> None:
    pages = plan_of(("sigma", [1, 2]), ("rollout.workers", [8, 16, 32]), ("strategy", STRATEGIES))
    assert [page.suffix for page in pages] == ["-workers-8", "-workers-16", "-workers-32"]
    assert [page.page for page in pages] == ["workers 8", "workers 16", "workers 32"]
    assert next(pages[1].series()).points == ((1, 16, "synchronous"), (2, 16, "synchronous"))
    assert all(not page.notes for page in pages)


def test_a_selection_is_drawn_of_what_no_picture_can_hold_and_said_so() -> None:
    (plan,) = plan_of(("sigma", [1, 2]), ("rollout.workers", list(range(1, 23))))
    assert [line.label for line in plan.series()] == [f"workers {n}" for n in (1, 4, 7, 10, 13, 16, 19, 22)]
    assert plan.notes == ("8 of 22 values of rollout.workers",)


@pytest.mark.parametrize(
    ("values", "log"), [([8, 16, 32, 64], True), ([1, 2, 3, 4, 5, 6, 7, 8, 9], False), ([0, 8, 64], False)]
)
def test_doublings_stand_on_a_logarithmic_axis(values: list[int], log: bool) -> None:
    (plan,) = plan_of(("rollout.workers", values))
    assert plan.horizontal().log is log
    assert plan.horizontal().ticks == tuple(map(str, values))


@given(
    st.lists(
        st.tuples(st.sampled_from(["strategy", "a", "b", "c"]), st.integers(1, 12), st.booleans()),
        unique_by=lambda axis: axis[0],
        max_size=4,
    )
)
def test_pages_and_lines_are_never_more_than_can_be_drawn(sizes: list[tuple[str, int, bool]]) -> None:
    axes = tuple(
        Swept(path, tuple(n if numeric and path != "strategy" else f"kind{n}" for n in range(count)))
        for path, count, numeric in sizes
    )
    pages = plans(axes)
    assert 1 <= len(pages) <= MOST_PAGES
    for page in pages:
        lines = list(page.series())
        assert 1 <= len(lines) <= MOST_LINES
        assert len({line.style for line in lines}) == len({line.label for line in lines}) == len(lines)
        points = [point for line in lines for point in line.points]
        assert len(set(points)) == len(points)
        for point in points:
            assert all(value in axis.values for value, axis in zip(point, axes, strict=True))
