from pathlib import Path

from emulator.dashboard.still import main as still_command

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
