"""The public names: what they take, and that they are there."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import emulator
from tests.patience import PATIENCE


def test_a_scenario_may_be_given_by_the_name_or_the_path_that_finds_it(tmp_path: Path) -> None:
    bundled = emulator.load_scenario("stragglers")
    path = tmp_path / "own.yaml"
    path.write_text(json.dumps(bundled.resolved() | {"duration": 60}))
    by_path = emulator.run(path, speed="max")
    assert by_path.trace_sha256 == emulator.run(str(path), speed="max").trace_sha256
    assert by_path.trace_sha256 == emulator.run(emulator.load_scenario(path), speed="max").trace_sha256
    assert [lane.name for lane in emulator.race(path, speed="max")] == ["sync", "async"]
    assert emulator.sweep(path, {"rollout.workers": [8]}, seeds=1, jobs=1).rows[0]["error"] is None
    assert (
        emulator.run("stragglers", speed="max").trace_sha256
        == emulator.run(bundled, speed="max").trace_sha256
    )


def test_what_can_be_no_scenario_is_refused_in_a_sentence() -> None:
    with pytest.raises(emulator.ScenarioError, match='did you mean "stragglers"'):
        emulator.run("straglers")
    with pytest.raises(TypeError, match="found dict as a scenario; allowed: a Scenario, the name of"):
        emulator.run({"name": "stragglers"})  # type: ignore[arg-type]


IN_A_PROCESS_OF_ITS_OWN = """
import sys, emulator
assert not any(name.startswith("emulator.theory") for name in sys.modules)
for name in emulator.__all__:
    getattr(emulator, name)
assert emulator.theory.expected and emulator.events.Start and emulator.sweeps.paired_differences
assert set(dir(emulator)) == set(emulator.__all__)
"""


def test_public_modules_are_there_when_they_are_first_used() -> None:
    subprocess.run([sys.executable, "-c", IN_A_PROCESS_OF_ITS_OWN], check=True, timeout=PATIENCE)
    with pytest.raises(AttributeError, match="has no attribute 'teory'"):
        _ = emulator.teory
