"""Rounds that close at their deadline, as a run has them."""

from pathlib import Path
from typing import Any

import pytest

import emulator
from emulator import events as ev
from emulator.figures import Figures
from emulator.recording import read
from emulator.runs import Run
from emulator.scenario import Scenario


def run(durations: str, folder: Path, *, duration: float = 40.0, group: int = 1, **strategy: Any) -> Run:
    """Four workers, batches of four, updates of 5 s and a deadline of 10 s."""
    (folder / "durations.txt").write_text("\n".join(durations.split()))
    episodes = {"kind": "trace", "path": str(folder / "durations.txt")}
    scenario = Scenario.model_validate(
        {
            "duration": duration,
            "rollout": {"workers": 4, "episode_seconds": episodes, "group_size": group},
            "trainer": {"batch_size": 4, "update_seconds": 5},
            "strategy": {"kind": "synchronous", "deadline": 10, **strategy},
        }
    )
    return emulator.run(scenario, speed="max", keep_events=True, record=folder / "run.jsonl", force=True)


def batches(done: Run) -> list[tuple[float, list[int]]]:
    return [(event.t, list(event.episodes)) for event in done.events if isinstance(event, ev.Update)]


def test_a_round_closes_at_its_deadline_with_what_it_has(tmp_path: Path) -> None:
    done = run("2 4 6 100", tmp_path, unfinished="abort")
    # Rounds open at 0, 15 and 30; the fourth episode of each never gets to its end.
    assert batches(done) == [(10.0, [0, 1, 2]), (25.0, [4, 5, 6]), (40.0, [8, 9, 10])]
    assert done.result["updates"] == 2
    assert done.result["episodes"]["aborted"] == 3
    assert done.result["trainer"]["seconds"]["updating"] == 10.0


def test_a_finish_due_at_the_deadline_is_later_than_the_deadline(tmp_path: Path) -> None:
    done = run("2 4 10 10", tmp_path, duration=14, unfinished="resume")
    assert batches(done) == [(10.0, [0, 1])]
    assert done.result["episodes"]["paused"] == 2


def test_with_nothing_complete_a_round_waits_for_the_first_group(tmp_path: Path) -> None:
    done = run("12 13 20 14", tmp_path, duration=20, group=2, unfinished="abort")
    assert batches(done) == [(13.0, [0, 1])]


def test_what_is_resumed_counts_from_the_opening_of_its_new_round(tmp_path: Path) -> None:
    done = run("3 3 3 28 3 3 3", tmp_path, duration=44, unfinished="resume")
    # Of episode 3 there are 10 s by each deadline, so that 8 are left for the third round, opened at 30.
    assert batches(done) == [(10.0, [0, 1, 2]), (25.0, [4, 5, 6]), (38.0, [7, 8, 9, 3])]


def test_a_batch_before_the_deadline_closes_the_round_and_the_deadline_is_off(tmp_path: Path) -> None:
    done = run("1 2 3 4", tmp_path, duration=19, unfinished="defer")
    assert batches(done) == [(4.0, [0, 1, 2, 3]), (13.0, [4, 5, 6, 7])]


def test_deferred_episodes_have_a_round_without_a_deadline(tmp_path: Path) -> None:
    done = run("2 50 2 50", tmp_path, duration=90, unfinished="defer")
    # Two are deferred by each of the first rounds; then the four run to their end, 50 s after 30.
    assert batches(done)[:3] == [(10.0, [0, 2]), (25.0, [4, 6]), (80.0, [1, 3, 5, 7])]


@pytest.mark.parametrize("unfinished", ["abort", "resume", "defer"])
def test_short_batches_are_counted_as_they_are_and_recorded(tmp_path: Path, unfinished: str) -> None:
    done = run("2 4 6 100", tmp_path, duration=34, unfinished=unfinished)
    figures = Figures(done.scenario)
    figures.add(done.events)
    assert (figures.updates, figures.learned_from) == (2, 6)
    (lane,) = read(tmp_path / "run.jsonl").lanes
    assert lane.trace_sha256 == done.trace_sha256
    assert lane.result == done.result
    assert lane.result["trainer"]["batch_mean"] == 3.0
