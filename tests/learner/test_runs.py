"""A run that learns: its figures, its recording, and what is made of them."""

import json
import math
import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import emulator
from emulator import events as ev
from emulator.dashboard.replay_states import States
from emulator.exports import export
from emulator.figures import Figures
from emulator.scenario import Scenario
from tests.dashboard.scenarios import long_tail


def learns(duration: float = 900, **changes: Any) -> Scenario:
    return long_tail(16, duration, **{"learner": {"learning_rate": 300, "contexts": 16}, **changes})


def lessons_of(run: emulator.Run) -> list[ev.Learn]:
    return [event for event in run.events if isinstance(event, ev.Learn)]


def test_the_figures_are_those_of_the_learn_events() -> None:
    run = emulator.run(learns(), speed="max", keep_events=True)
    lessons = lessons_of(run)
    assert len(lessons) > 20
    reached = next(place for place, lesson in enumerate(lessons) if lesson.reward >= 0.8)
    assert reached > 2
    assert run.result["learning"] == {
        "updates": len(lessons),
        "reward": lessons[-1].reward,
        "reward_first": lessons[0].reward,
        "reward_slowest_tenth": lessons[-1].reward_slowest,
        "best_reward": 1.0,
        "updates_to_80": reached + 1,
        "minutes_to_80": lessons[reached].t / 60,
        "clip_fraction": pytest.approx(fmean(lesson.clip_fraction for lesson in lessons), rel=1e-12),
        "ratio_mean": pytest.approx(fmean(lesson.ratio_mean for lesson in lessons), rel=1e-12),
        "effective_sample_size": pytest.approx(
            fmean(lesson.effective_sample_size for lesson in lessons), rel=1e-12
        ),
        "kl": pytest.approx(fmean(lesson.kl for lesson in lessons), rel=1e-12),
        "ratio_min": min(lesson.ratio_min for lesson in lessons),
        "ratio_max": max(lesson.ratio_max for lesson in lessons),
    }


def test_the_figures_do_not_depend_on_how_events_come_in_blocks() -> None:
    run = emulator.run(learns(), speed="max", keep_events=True)
    one_by_one = Figures(run.scenario)
    for event in run.events:
        one_by_one.add((event,))
    assert one_by_one.result(900.0) == run.result


def test_before_the_first_update_there_is_nothing_to_report() -> None:
    told = emulator.run(learns(duration=5), speed="max").result["learning"]
    assert told.pop("updates") == 0
    assert told.pop("best_reward") == 1.0
    assert set(told.values()) == {None}


def test_without_a_learner_there_are_no_figures_of_one() -> None:
    assert "learning" not in emulator.run(long_tail(8, 60), speed="max").result


def test_on_policy_batches_have_the_ratios_of_one_policy() -> None:
    run = emulator.run(learns(strategy={"kind": "synchronous"}), speed="max")
    told = run.result["learning"]
    assert told["updates"] > 2
    assert (told["ratio_mean"], told["ratio_max"], told["effective_sample_size"], told["kl"]) == (1, 1, 1, 0)


def test_trace_and_figures_are_the_same_at_every_speed() -> None:
    paced = emulator.run(learns(), speed=9000)
    unpaced = emulator.run(learns(), speed="max")
    assert paced.trace_sha256 == unpaced.trace_sha256
    assert paced.result == unpaced.result


def test_another_seed_learns_otherwise() -> None:
    rewards = {emulator.run(learns(), speed="max", seed=s).result["learning"]["reward"] for s in (1, 2, 3)}
    assert len(rewards) == 3


def test_a_recording_replays_to_the_same_figures_and_runs_again_to_the_same_trace(tmp_path: Path) -> None:
    file = tmp_path / "race.jsonl"
    runs = emulator.race(learns(), speed="max", record=file)
    recording = emulator.read_recording(file)
    assert [lane.result for lane in recording.lanes] == [run.result for run in runs]
    folded = [
        state.figures.result(lane.t_end)
        for state, lane in zip(States(recording).finals, recording.lanes, strict=True)
    ]
    assert folded == [run.result for run in runs]
    again = emulator.race(emulator.load_scenario(file), speed="max")
    assert [run.trace_sha256 for run in again] == [run.trace_sha256 for run in runs]


def test_a_replay_that_goes_back_has_what_was_learned_until_then(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    run = emulator.run(learns(), speed="max", record=file, keep_events=True)
    lessons = lessons_of(run)
    states = States(emulator.read_recording(file), every=64)
    for at in (600.0, 200.0, 850.0):
        until = [lesson.reward for lesson in lessons if lesson.t <= at]
        (lane,) = states.at(at)
        assert lane.figures.result(at)["learning"]["updates"] == len(until)
        assert lane.history.totals().reward == until[-1]


def test_the_reward_is_a_counter_of_the_trace_and_a_plot_of_the_page(tmp_path: Path) -> None:
    run = emulator.run(learns(), speed="max", record=tmp_path / "run.jsonl", keep_events=True)
    export(tmp_path / "run.jsonl", tmp_path / "trace.json")
    counted = [
        (event["ts"], event["args"]["reward"])
        for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        if event["ph"] == "C" and event["name"] == "reward"
    ]
    assert counted == [
        (pytest.approx(lesson.t * 1e6, abs=1), round(lesson.reward, 4)) for lesson in lessons_of(run)
    ]
    export(tmp_path / "run.jsonl", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert f"Reward (small model) <small>{run.result['learning']['reward']:.2f}</small>" in page


def test_a_table_of_episodes_is_the_same_with_a_learner(tmp_path: Path) -> None:
    tables = []
    for name, scenario in (("with", learns()), ("without", long_tail(16, 900))):
        emulator.run(scenario, speed="max", record=tmp_path / f"{name}.jsonl")
        export(tmp_path / f"{name}.jsonl", tmp_path / f"{name}.csv")
        tables.append((tmp_path / f"{name}.csv").read_bytes())
    assert tables[0] == tables[1]


def test_a_sweep_has_what_was_learned_in_columns() -> None:
    sweep = emulator.sweep(learns(), {"learner.loss": ["ppo", "none"]}, seeds=2, jobs=1)
    assert "learning.reward" in sweep.figures
    expected = [
        emulator.run(
            learns(learner={"learning_rate": 300, "contexts": 16, "loss": loss}), speed="max", seed=s
        )
        for loss in ("ppo", "none")
        for s in (1, 2)
    ]
    assert sweep.column("learning.reward") == [run.result["learning"]["reward"] for run in expected]
    assert sweep.column("learning.minutes_to_80") == [r.result["learning"]["minutes_to_80"] for r in expected]


def test_a_learner_of_ones_own_is_recorded_and_replayed_without_a_section(tmp_path: Path) -> None:
    from tests.system.test_learning import Listening  # noqa: PLC0415

    run = emulator.run(
        long_tail(8, 300), speed="max", record=tmp_path / "own.jsonl", learner=lambda *_: Listening()
    )
    (lane,) = emulator.read_recording(tmp_path / "own.jsonl").lanes
    assert lane.result == run.result
    assert run.result["learning"]["reward"] == run.result["updates"] / 100
    assert math.isclose(run.result["learning"]["reward_first"], 0.01)


def test_the_readme_lists_every_figure() -> None:
    readme = (Path(emulator.__file__).parents[1] / "README.md").read_text()
    told = emulator.run(learns(duration=5), speed="max").result["learning"]
    missing = [name for name in told if not re.search(rf"`{name}`", readme)]
    assert missing == []
