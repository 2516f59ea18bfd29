import re
from pathlib import Path
from typing import Any

import pytest

from emulator.dashboard.still import main as still_command
from emulator.scenario import loading

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_picture_is_what_its_command_draws(tmp_path: Path) -> None:
    command = next(line for line in README.splitlines() if "emulator.dashboard.still" in line)
    arguments = command.strip("`.").split()[3:]
    *arguments, _, picture = arguments
    assert still_command([*arguments, "--to", str(tmp_path / "picture.svg")]) == 0
    drawn = (tmp_path / "picture.svg").read_text()
    assert drawn == (ROOT / picture).read_text()
    assert f"]({picture})" in README


def test_every_bundled_scenario_is_told() -> None:
    for path in (ROOT / "scenarios").glob("*.yaml"):
        assert f"| `{path.stem}` |" in README


def test_the_python_of_readme_runs_from_the_first_line_to_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # The hour as it stands there, of which two minutes will do.
    scenarios = tmp_path / "scenarios"
    scenarios.mkdir()
    hour = (ROOT / "scenarios" / "stragglers.yaml").read_text()
    (scenarios / "stragglers.yaml").write_text(re.sub(r"^duration: 1h$", "duration: 2m", hour, flags=re.M))
    bundled = [loading.Bundled("stragglers", "", scenarios / "stragglers.yaml")]
    monkeypatch.setattr(loading, "bundled_scenarios", lambda: tuple(bundled))
    names: dict[str, Any] = {}
    for snippet in re.findall(r"^```python\n(.*?)^```$", README, flags=re.M | re.S):
        exec(compile(snippet, "README.md", "exec"), names)
    assert names["run"].scenario.duration == 120
    assert names["again"].trace_sha256 == names["run"].trace_sha256
    assert names["advice"].best
