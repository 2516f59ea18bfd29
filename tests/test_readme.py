from pathlib import Path

from tests.golden.make import golden

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_picture_is_what_the_command_prints() -> None:
    picture, _, _ = golden("race", 80).read_text().partition("\nclock:")
    assert picture.rstrip() in README


def test_every_bundled_scenario_is_told() -> None:
    for path in (Path(__file__).parents[1] / "scenarios").glob("*.yaml"):
        assert f"| `{path.stem}` |" in README
