import re
from pathlib import Path
from typing import Any, get_args

import pytest

from emulator.cli import main
from emulator.scenario import loading
from emulator.strategies import STRATEGIES, strategy_of

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_picture_is_what_its_command_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = next(line for line in README.splitlines() if " --to scenarios/" in line)
    (picture,) = re.findall(r"\S+\.svg", commands)
    (tmp_path / picture).parent.mkdir()
    monkeypatch.chdir(tmp_path)
    for command in commands.strip("`.").split(" && "):
        with pytest.raises(SystemExit, match="0"):
            main(command.split()[1:])
    assert (tmp_path / picture).read_text() == (ROOT / picture).read_text()
    assert f"]({picture})" in README


def test_every_bundled_scenario_is_listed() -> None:
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


def _options(kind: str) -> dict[str, str]:
    """The options of a strategy by name, with their defaults, as the table of strategies has them."""
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in README.splitlines()]
    first = next(n for n, row in enumerate(rows) if row[0] == kind and len(row) == 5)
    last = next(n for n, row in enumerate(rows[first + 1 :], first + 1) if row[0] or len(row) < 5)
    return {row[1]: row[2] for row in rows[first:last] if row[1] != "none"}


@pytest.mark.parametrize("model", STRATEGIES)
def test_the_table_of_strategies_has_every_option_with_its_default(model: Any) -> None:
    fields = {name: field.default for name, field in model.model_fields.items() if name != "kind"}
    told = {
        name: "unlimited" if default is None else default if isinstance(default, str) else f"{default:g}"
        for name, default in fields.items()
    }
    (kind,) = get_args(model.model_fields["kind"].annotation)
    assert _options(kind) == told


def test_every_system_that_a_strategy_names_is_in_the_table_of_systems() -> None:
    table = README[README.index("## Find your system") :]
    table = table[: table.index("\n## ", 1)]
    named = {
        system.split()[0]
        for kind in STRATEGIES
        for options in kind.tried(None, [])
        if (strategy := strategy_of(options)) is not None
        for system in strategy.systems.split(", ")
    }
    assert "RollPacker" in named
    assert all(system in table for system in named), named


def test_its_whole_scenarios_are_valid(tmp_path: Path) -> None:
    blocks = [text for text in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL) if "strategy:" in text]
    assert len(blocks) == 2
    for text in blocks:
        path = tmp_path / "block.yaml"
        path.write_text(text)
        loading.load_scenario(path)
