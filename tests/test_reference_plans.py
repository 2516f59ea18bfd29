"""Plans of episodes: what is drawn when, and the law of what groups have in common."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from math import log

import numpy as np
import pytest

from .reference.plans import Parts, Plans, correlated, group_values, one_turn, whole
from .reference.turns import Plan, Turn


def normals(seed: int) -> Iterator[float]:
    rng = np.random.default_rng(seed)
    while True:
        yield from rng.standard_normal(1000).tolist()


def test_whole_numbers_are_rounded_half_to_even_and_not_below_their_least() -> None:
    assert [whole(x, 1) for x in (0.2, 0.5, 1.5, 2.5, 2.6, 1e6)] == [1, 1, 2, 2, 3, 1_000_000]
    assert [whole(x, 0) for x in (0.2, 0.5, 0.6)] == [0, 0, 1]


def test_a_plan_takes_its_parts_whole_before_the_next_does() -> None:
    plans = Plans(
        Parts(
            counts=iter([3.0, 0.4, 2.0]),
            outputs=iter([10.0, 20, 30, 40, 50, 60]),
            tool_seconds=iter([1.5, 2.5, 3.5]),
            tool_tokens=iter([100.0, 200, 300]),
            prompts=iter([7.0, 8, 9]),
        ).next_plan
    )
    assert plans(1) == Plan(8, (Turn(40),))
    assert plans(0) == Plan(7, (Turn(10, 1.5, 100), Turn(20, 2.5, 200), Turn(30)))
    assert plans(2) == Plan(9, (Turn(50, 3.5, 300), Turn(60)))


def test_other_tools_leave_all_other_parts_as_they_are() -> None:
    def plans(tool: float) -> list[Plan]:
        draw = Parts(
            counts=(1 + abs(z) * 3 for z in normals(1)),
            outputs=(100 * abs(z) for z in normals(2)),
            tool_seconds=repeat(tool),
        ).next_plan
        return [draw() for _ in range(50)]

    for one, other in zip(plans(1), plans(2), strict=True):
        assert [turn.tokens for turn in one.turns] == [turn.tokens for turn in other.turns]


def test_tokens_of_an_episode_are_one_turn() -> None:
    draw = one_turn(iter([0.1, 99.6]), prompts=iter([5.0, 6.0]))
    assert [draw(), draw()] == [Plan(5, (Turn(1),)), Plan(6, (Turn(100),))]


def test_without_correlation_a_value_is_what_it_was() -> None:
    assert correlated(20, 0.9, 0, 1.7, -0.3) == 20 * np.exp(0.9 * -0.3)
    assert correlated(20, 0.9, 1, 1.7, -0.3) == 20 * np.exp(0.9 * 1.7)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8, 1.0])
def test_logs_of_two_of_a_group_correlate_by_rho_and_of_two_groups_not(rho: float) -> None:
    size, groups = 4, 20_000
    values = group_values(20, 0.9, rho, size=size, of_groups=normals(3), of_episodes=normals(4))
    logs = np.array([log(next(values)) for _ in range(size * groups)]).reshape(groups, size)
    assert logs.mean() == pytest.approx(log(20), abs=0.02)
    assert logs.std() == pytest.approx(0.9, rel=0.02)  # the spread of all is as it was
    inside = np.corrcoef(logs, rowvar=False)[np.triu_indices(size, 1)]
    assert inside == pytest.approx(rho, abs=0.02)
    assert np.corrcoef(logs[:-1, -1], logs[1:, 0])[0, 1] == pytest.approx(0, abs=0.03)


def test_a_cap_gathers_at_itself_all_that_is_above() -> None:
    values = group_values(20, 0.9, 0.3, size=2, of_groups=normals(3), of_episodes=normals(4), cap=20.0)
    drawn = np.array([next(values) for _ in range(20_000)])
    assert drawn.max() == 20
    assert (drawn == 20).mean() == pytest.approx(0.5, abs=0.02)
