"""What a scenario may say, at its extremes: every picture of it can be drawn, and shows something."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import emulator
from emulator import events as ev
from emulator.dashboard.frame import draw
from emulator.dashboard.state import ClockReading, Looking
from emulator.dashboard.svg import svg
from emulator.dashboard.theme import ASCII, THEMES, UNICODE
from emulator.exports import FORMATS, Settings, export, plots
from emulator.exports.cast import Painter
from emulator.exports.frames import Film
from emulator.scenario import Scenario
from tests.dashboard.test_history import FOUR, History, four_workers

EXTREMES: dict[str, dict[str, Any]] = {
    "a trainer that stands still after a thousand short rounds": {
        "duration": 1800,
        "rollout": {"workers": 1, "episode_seconds": 0.005},
        "trainer": {"batch_size": 1, "update_seconds": 0},
        "strategy": {"kind": "synchronous"},
        "events": [{"at": 1, "stall_trainer": {"for": 1800}}],
    },
    "a trainer and workers that are back at one instant": {
        "events": [
            {"at": 60, "stall_trainer": {"for": 60}},
            {"at": 60, "crash": {"workers": [0, 2], "restart_seconds": 60}},
        ],
    },
    "episodes that take no time to speak of": {
        "duration": 60,
        "rollout": {"workers": 2, "episode_seconds": 1e-300},
        "trainer": {"batch_size": 1, "update_seconds": 5},
        "strategy": {"kind": "synchronous"},
    },
    "episodes that take no time until their worker is slow": {
        "rollout": {"workers": 4, "episode_seconds": 1e-300, "speed": 1e-9},
        "events": [{"at": 0, "straggler": {"episode": 3, "factor": 1000}}],
        "environment": {"reset_seconds": 100, "timeout_seconds": 400, "retries": 3},
    },
    "a run that is over as it begins": {"duration": 1e-300},
    "a run of thirty years": {
        "duration": 1e9,
        "rollout": {"workers": 2, "episode_seconds": 1e9},
        "trainer": {"batch_size": 1, "update_seconds": 1e6},
    },
    "very many workers that hardly do anything": {
        "duration": 30,
        "rollout": {"workers": 3000, "episode_seconds": 20},
        "trainer": {"batch_size": 1500, "update_seconds": 1},
    },
    "a thousand injections": {
        "events": [{"at": k / 4, "slow": {"workers": [k % 4], "factor": 2, "for": 10}} for k in range(1000)],
    },
    "eight lanes of long names": {
        "lanes": [
            {
                "name": f"{k}{'a long name ' * 8}".strip(),
                "strategy": {"kind": "asynchronous", "max_staleness": k},
            }
            for k in range(8)
        ],
    },
}


@pytest.mark.parametrize("name", EXTREMES)
def test_every_export_of_an_extreme_run_can_be_made(name: str, tmp_path: Path) -> None:
    scenario = Scenario.model_validate(
        {
            "name": "n" * 100,
            "duration": 600,
            "rollout": {"workers": 4, "episode_seconds": 20},
            "trainer": {"batch_size": 4, "update_seconds": 5},
            "strategy": {"kind": "asynchronous"},
            **EXTREMES[name],
        }
    )
    path = tmp_path / "a.jsonl"
    if scenario.lanes:
        emulator.race(scenario, speed="max", record=path)
    else:
        emulator.run(scenario, speed="max", record=path)
    recording = emulator.read_recording(path)
    for suffix in FORMATS:
        for at, size in ((None, (20, 5)), (recording.t_end / 3, (120, 40))):
            to = tmp_path / f"{size[0]}{suffix}"
            export(path, to, Settings(at=at, size=size, seconds=1))
            assert to.stat().st_size > 50
            if suffix == ".svg":
                ElementTree.fromstring(to.read_text(encoding="utf-8"))
            elif suffix == ".json":
                json.loads(to.read_text(encoding="utf-8"), parse_constant=pytest.fail)
            elif suffix == ".html":
                drawn = to.read_text(encoding="utf-8").partition("<h2>Scenario")[0]
                assert len(drawn) < 400_000 * len(recording.lanes)
    film, glyphs = Film(recording), (UNICODE, ASCII)
    for i, size in enumerate(((500, 200), (100, 30), (80, 24), (79, 24), (20, 5), (1, 1))):
        t = recording.t_end * (i + 1) / 6
        looking = Looking(zoom=i % 2 or None, raster=i % 3 == 0, help=i == 2, keys=False)
        if looking.zoom is not None and len(recording.lanes) < 2:
            looking = Looking(raster=True)
        canvas = draw(film.at(t), ClockReading(t, 60.0), size, looking, glyphs[i % 2])
        assert [len(roles) for _, roles in canvas.rows()] == [size[0]] * size[1]
        for theme in THEMES.values():
            ElementTree.fromstring(svg(canvas, theme))
        assert Painter().paint(canvas)


def test_an_age_of_very_many_medians_is_a_million_of_them() -> None:
    scale = FOUR.__class__(median=1e-300, tail=1e-300, straggler=3e-300, column=10.0)
    history = History(four_workers("asynchronous"), scale)
    history.add([ev.Start(0.0, 0, 0, 0, 0, 20.0)])
    history.advance(1e9)
    assert history.ages()[0] == pytest.approx(1e6)
    history.add([ev.Finish(1e9, 0, 0)])
    assert history.log.last(1)[0].text == "w000 finished a straggler after 277777h47m"


def test_marks_too_near_each_other_are_one_that_says_how_many_it_is() -> None:
    marks = [(k / 1000, f"slow <{k}>") for k in range(10_000)]
    drawing = plots.line("queue", [1.0, 2.0], 10.0, 2.0, kind="queue", marks=marks)
    assert 300 < drawing.count('class="mark"') <= plots.WIDTH
    assert "<title>00:00:00 slow &lt;0&gt; and 26 more</title>" in drawing
    few = plots.line("queue", [1.0, 2.0], 10.0, 2.0, kind="queue", marks=marks[::5000])
    assert few.count('class="mark"') == 2
    assert "more" not in few
