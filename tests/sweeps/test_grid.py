"""The grid: its order, its scenarios, and which mistakes refuse it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.errors import ScenarioError
from emulator.scenario import Scenario, bundled_scenarios, load_scenario
from emulator.sweeps.axes import yaml_text
from emulator.sweeps.grid import MAX_RUNS, from_json, make_grid
from emulator.sweeps.grid import given as given_of
from tests.sweeps.small import small

SIGMA = "rollout.episode_seconds.sigma"


def _message(*vary: str, scenario: Scenario | None = None) -> str:
    with pytest.raises(ScenarioError) as caught:
        make_grid(scenario or small(), vary, 1)
    return str(caught.value)


def test_the_first_axis_is_outermost_and_seeds_are_innermost() -> None:
    grid = make_grid(small(seed=5), ["rollout.workers=4,8", "strategy=synchronous,asynchronous"], 2)
    assert [tuple(point.values.values()) for point in grid.points] == [
        (4, "synchronous"),
        (4, "asynchronous"),
        (8, "synchronous"),
        (8, "asynchronous"),
    ]
    assert grid.seeds == (5, 6)
    assert grid.runs == 8
    assert grid.row(3, 6, {"error": None})["run"] == 7


def test_each_point_has_the_scenario_of_its_values() -> None:
    grid = make_grid(small(), {SIGMA: [0.1, 0.2], "strategy": ["synchronous"]}, 1)
    scenarios = [point.scenario for point in grid.points]
    assert scenarios == [
        small(
            rollout={"workers": 4, "episode_seconds": {"kind": "lognormal", "median": 5, "sigma": sigma}},
            strategy={"kind": "synchronous"},
        )
        for sigma in (0.1, 0.2)
    ]


def test_a_path_inside_a_strategy_is_put_into_the_strategy_of_the_point() -> None:
    vary = ["strategy.max_staleness=null,2", "strategy=asynchronous"]
    grid = make_grid(small(), vary, 1)
    staleness = [
        getattr(point.scenario and point.scenario.strategy, "max_staleness", "-") for point in grid.points
    ]
    assert staleness == [None, 2]


def test_a_section_that_is_absent_comes_into_being() -> None:
    (point,) = make_grid(small(), ["environment.retries=3"], 1).points
    assert point.scenario is not None
    assert point.scenario.environment is not None
    assert point.scenario.environment.retries == 3


def test_an_entry_of_a_list_is_named_by_its_number() -> None:
    scenario = small(events=[{"at": 1, "stall_trainer": {"for": 2}}])
    grid = make_grid(scenario, ["events.0.at=5s,6s"], 1)
    assert [point.scenario.events[0].at for point in grid.points if point.scenario] == [5, 6]
    assert "no entry 1 in the list" in _message("events.1.at=5", scenario=scenario)
    assert "no entry -1 in the list" in _message("events.-1.at=5", scenario=scenario)


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        (["rollout.episode_seconds.sgima=1,2"], "--vary rollout.episode_seconds.sgima: found an unknown key"),
        (["rollout.episode_seconds.sgima=1,2"], 'did you mean "sigma"?'),
        (["rolout.workers=1"], 'did you mean "rollout"?'),
        (["rollout.workers.more=1"], "found 4 at rollout.workers"),
        (["strategy=asynchronos"], 'did you mean "asynchronous"?'),
        (["trainer.batch_size=0", "rollout.workers=0"], "--vary trainer.batch_size: found 0"),
        (["trainer.batch_size=0", "rollout.workers=0"], "--vary rollout.workers: found 0"),
    ],
)
def test_a_grid_without_a_good_point_is_refused_with_each_mistake(vary: list[str], message: str) -> None:
    assert message in _message(*vary)


def test_the_same_mistake_at_many_points_is_reported_once() -> None:
    assert len(_message("rollout.wrkers=1,2,3", f"{SIGMA}=0.1:1:5").splitlines()) == 1


def test_a_range_that_leaves_the_whole_numbers_is_refused_where_they_are_needed() -> None:
    message = _message("rollout.workers=1:4:3")
    assert message == (
        "--vary rollout.workers: found 2.5; "
        "allowed: a whole number from 1 to 1000000, at every step of a range"
    )


def test_a_single_bad_point_is_kept_with_its_error() -> None:
    grid = make_grid(small(), ["rollout.group_size=1,2,3"], 1)
    assert [point.error for point in grid.points][:2] == [None, None]
    assert grid.points[2].scenario is None
    assert str(grid.points[2].error).startswith(
        "--vary rollout.group_size: found 3; allowed: a number that divides"
    )


def test_a_path_that_only_some_strategies_have_is_an_error_at_the_others() -> None:
    grid = make_grid(small(), ["strategy=synchronous,asynchronous", "strategy.max_staleness=1"], 1)
    assert "max_staleness belongs to asynchronous" in str(grid.points[0].error)
    assert grid.points[1].error is None


def test_a_grid_may_have_so_many_runs_and_no_more() -> None:
    assert make_grid(small(), ["rollout.workers=4"], MAX_RUNS).runs == MAX_RUNS
    with pytest.raises(ScenarioError, match="2000000 runs in all"):
        make_grid(small(), ["rollout.workers=4,5"], MAX_RUNS)


def test_a_grid_of_more_points_than_can_be_held_is_refused_at_once() -> None:
    vary = ["rollout.workers=1:1000:1000", "trainer.update_seconds=1:1000:1000"]
    with pytest.raises(ScenarioError, match="found 1000000 points in all; allowed: at most 100000"):
        make_grid(small(), vary, 1)


def test_the_traces_of_a_grid_are_those_of_its_scenario_and_of_its_axes(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("1\n")
    base = small(trainer={"batch_size": 4, "update_seconds": {"kind": "trace", "path": f"{tmp_path}/a"}})
    vary = ["rollout.episode_seconds={kind: trace, path: b},{kind: trace, path: none},3"]
    grid = make_grid(base, vary, 1, folder=str(tmp_path))
    assert grid.traces() == [str(tmp_path / name) for name in ("a", "b", "none")]
    assert make_grid(small(), ["rollout.workers=4"], 1).traces() == []


@pytest.mark.parametrize("seeds", [0, -1, 2**40, 10**30, [], [1, 1], [-1], [2**64], [1.5]])
def test_seeds_are_different_numbers_that_a_scenario_takes(seeds: int | list[int]) -> None:
    with pytest.raises(ScenarioError, match="--seeds"):
        make_grid(small(), ["rollout.workers=4"], seeds)


def test_a_figure_called_like_an_axis_gives_way_to_it() -> None:
    grid = make_grid(small(), ["environment.retries=0,1"], 1)
    assert grid.figures["environment.retries"] == "result.environment.retries"
    assert len(set(grid.columns)) == len(grid.columns)


def test_figures_are_those_of_all_points_together() -> None:
    grid = make_grid(small(), ["rollout.group_size=1,2"], 1)
    assert "groups.completed" in grid.figures
    assert grid.row(0, 1, {"error": None})["groups.completed"] is None


def test_traces_are_looked_for_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n")
    grid = make_grid(
        small(), ["rollout.episode_seconds={kind: trace, path: a.txt},3"], 1, folder=str(tmp_path)
    )
    assert [point.error for point in grid.points] == [None, None]
    assert from_json(grid.to_json()) == grid


@pytest.mark.parametrize("name", [bundled.name for bundled in bundled_scenarios()])
def test_what_a_scenario_was_given_makes_an_equal_one(name: str) -> None:
    scenario = load_scenario(name)
    assert Scenario.model_validate(given_of(scenario)) == scenario


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=3, unique=True),
    st.lists(st.sampled_from(["synchronous", "asynchronous", "one_step_off"]), min_size=1, unique=True),
    st.integers(1, 9),
)
def test_a_grid_written_as_json_or_as_a_command_is_the_same_grid(
    workers: list[int], strategies: list[str], seeds: int
) -> None:
    grid = make_grid(small(), {"rollout.workers": workers, "strategy": strategies}, seeds)
    texts = [f"{axis.path}={','.join(map(yaml_text, axis.given))}" for axis in grid.axes]
    assert from_json(grid.to_json()) == grid
    assert make_grid(small(), texts, seeds) == grid
