import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from emulator import plots
from emulator.errors import EmulatorError, MissingExtraError
from emulator.plots.fonts import drawable
from emulator.plots.layout import apart
from emulator.plots.look import THEMES
from emulator.sweeps import Sweep
from tests.plots.made import ASYNCHRONOUS, DROP, GATE, SIGMA, SYNCHRONOUS, figures, made

SIGMAS = [0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5]
EIGHT: list[dict[str, Any]] = [
    SYNCHRONOUS,
    ASYNCHRONOUS,
    GATE,
    DROP,
    {"kind": "one_step_off"},
    {"kind": "synchronous", "oversample": 1.25, "unfinished": "resume"},
    {"kind": "synchronous", "oversample": 1.25, "unfinished": "abort"},
    {"kind": "asynchronous", "max_staleness": 1, "enforce": "cancel", "weights": "in_flight"},
]


def outcome(values: dict[str, Any], seed: int) -> dict[str, Any]:
    sigma, kind = values.get(SIGMA, 1.0), str(values.get("strategy", ""))
    k = 1 + sum(map(ord, kind)) % 5
    histogram = [int(50 / k), 50, int(30 * sigma), int(9 * sigma), 1, 1, 1]
    return figures(
        200 / (1 + sigma * k) + seed,
        busy=0.15 * k,
        good=0.13 * k,
        histogram=histogram,
        bias=1 - 0.1 * k * sigma,
    )


SWEEPS: dict[str, Callable[[], Sweep]] = {
    "two": lambda: made({SIGMA: SIGMAS, "strategy": [SYNCHRONOUS, ASYNCHRONOUS]}, outcome),
    "four": lambda: made({SIGMA: SIGMAS, "strategy": EIGHT[:4]}, outcome),
    "eight": lambda: made({SIGMA: [n / 20 for n in range(1, 31)], "strategy": EIGHT}, outcome, seeds=2),
    "strategies": lambda: made({"strategy": EIGHT[:4]}, outcome),
    "workers": lambda: made({"rollout.workers": [8, 16, 32, 64, 128, 1024]}, outcome),
    "durations": lambda: made(
        {
            "strategy": EIGHT[:3],
            "rollout.episode_seconds": [
                {"kind": "lognormal", "median": 20, "sigma": 1.0},
                {"kind": "exponential", "mean": 33},
            ],
        },
        outcome,
    ),
    "wordy": lambda: made(
        {
            SIGMA: SIGMAS,
            "strategy": [{**EIGHT[7], "refresh_overhead": 2.5, "weight_sync": "pause"}, EIGHT[5]],
        },
        outcome,
    ),
    "nothing": lambda: made(
        {SIGMA: SIGMAS, "strategy": EIGHT[:2]}, lambda *_: figures(0, busy=0, histogram=[5])
    ),
    "point": lambda: made({SIGMA: [1.0]}, outcome),
}


def texts(figure: Figure) -> Iterator[tuple[Text, Any]]:
    """Every text that is seen, with its box in pixels."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]
    hidden: set[Text] = set()
    for axes in figure.findobj(Axes):
        assert isinstance(axes, Axes)
        for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            low, high = sorted(ends)
            ticks = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
            hidden |= {label for place, label in ticks if not low <= place <= high}
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if text.get_text() and text.get_visible() and text not in hidden:
            yield text, text.get_window_extent(renderer)


@pytest.mark.parametrize("name", SWEEPS)
def test_no_word_touches_another_or_leaves_the_slide(name: str) -> None:
    for chart, figure in plots.figures(SWEEPS[name]()).items():
        # What is written into a frontier stands where its points are.
        found = [
            (text, box)
            for text, box in texts(figure)
            if text not in figure.axes[0].texts or chart == "updates"
        ]
        assert len(found) > 8
        for text, box in found:
            inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= 1920 and box.y1 <= 1080
            assert inside, f"{chart}: {text.get_text()!r} leaves the slide"
        for (one, a), (other, b) in combinations(found, 2):
            assert not a.overlaps(b), f"{chart}: {one.get_text()!r} touches {other.get_text()!r}"


def test_the_reference_chart_draws_means_intervals_and_theory(expect: Callable[[Any], None]) -> None:
    expect(lambda scenario: {"updates_per_hour": 100.0} if scenario.strategy.kind == "synchronous" else {})
    sweep = made(
        {SIGMA: [0.5, 1.0], "strategy": [SYNCHRONOUS, ASYNCHRONOUS]}, lambda v, seed: figures(10.0 * seed)
    )
    axes = plots.figures(sweep)["updates"].axes[0]
    law = next(line for line in axes.lines if np.ravel(line.get_ydata()).tolist() == [100.0, 100.0])
    measured = [line for line in axes.lines if np.ravel(line.get_ydata()).tolist() == [20.0, 20.0]]
    assert len(measured) == 2
    assert all(line.get_zorder() > law.get_zorder() for line in measured)
    assert {to_hex(line.get_color()) for line in measured} == {"#c23b00", "#1f6fae"}
    # 10, 20 and 30: t(2) · 10 / sqrt(3) above and below.
    (segment, *_) = axes.containers[0][2][0].get_segments()
    assert [y for _, y in segment] == pytest.approx([20 - 24.8414, 20 + 24.8414], abs=1e-3)
    assert [label.get_text() for label in axes.texts] == ["synchronous", "asynchronous"]


def test_a_map_has_a_cell_for_each_share_and_none_where_there_is_no_episode() -> None:
    sweep = made({SIGMA: [0.5, 1.0]}, lambda *_: figures(1, histogram=[1, 0, 3]))
    mesh = plots.figures(sweep)["staleness"].axes[0].collections[0]
    shares = mesh.get_array()
    assert shares is not None
    assert shares[:, 0].tolist() == [0.25, None, 0.75]


def test_the_face_of_a_point_on_the_frontier_is_its_length_bias() -> None:
    sweep = made({SIGMA: [1, 2]}, lambda v, seed: figures(seed, bias=1.0 if v[SIGMA] == 1 else 0.5))
    axes = plots.figures(sweep)["frontier"].axes[0]
    faces = [to_hex(line.get_markerfacecolor()) for line in axes.lines if line.get_marker() == "o"]
    assert faces == [THEMES["light"].bias[-1], THEMES["light"].bias[0]]


def test_a_letter_that_no_font_has_is_a_box_and_dollar_signs_are_signs(tmp_path: Path) -> None:
    name = "$\\frac$ \U0001f680 \u65e5\u672c caf\u00e9 \U0010fffd"
    sweep = made({SIGMA: [0.3, 1.0]}, outcome)
    named = sweep.grid.scenario.model_copy(update={"name": name})
    sweep = replace(sweep, grid=replace(sweep.grid, scenario=named))
    assert plots.save(sweep, tmp_path, theme="light")  # a warning would be an error
    assert drawable((name[-1], "caf\u00e9\n", 3)) == ("\u25a1", "caf\u00e9\n", 3)


def test_files_of_both_themes_are_slides_of_1920_by_1080(tmp_path: Path) -> None:
    paths = plots.save(made({SIGMA: [1, 2]}, outcome), tmp_path / "new" / "plots")
    names = ("updates", "utilisation", "staleness", "frontier")
    assert [path.name for path in paths] == [
        f"{name}{theme}.{suffix}" for theme in ("", "-dark") for name in names for suffix in ("svg", "png")
    ]
    for path in paths:
        if path.suffix == ".png":
            with Image.open(path) as image:
                assert image.size == (1920, 1080)
                ground = "#14161b" if "dark" in path.name else "#ffffff"
                assert to_hex([c / 255 for c in image.convert("RGB").getpixel((1, 1))]) == ground  # type: ignore[union-attr, arg-type]
                assert "Software" not in image.info
        else:
            assert "<dc:date>" not in path.read_text(encoding="utf-8")


def test_one_theme_can_be_asked_for(tmp_path: Path) -> None:
    paths = plots.save(made({SIGMA: [1, 2]}, outcome), tmp_path, theme="dark")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths)
    assert all("-dark." in path.name for path in paths)


def test_a_sweep_of_which_all_runs_failed_gives_no_files(tmp_path: Path) -> None:
    assert plots.save(made({SIGMA: [1, 2]}, lambda *_: "deadlock"), tmp_path) == []


PROGRAM = """
import sys, hashlib, pathlib
from tests.plots.made import made, figures, SIGMA, SYNCHRONOUS, ASYNCHRONOUS
from emulator import theory
theory.expected = lambda scenario: {"updates_per_hour": theory.Expectation(7.0, None, "", "")}
from emulator import plots
import matplotlib
before = dict(dict.items(matplotlib.rcParams))
sweep = made({SIGMA: [0.5, 1.0], "strategy": [SYNCHRONOUS, ASYNCHRONOUS]},
             lambda v, seed: figures(v[SIGMA] * seed, histogram=[3, 2, seed], bias=1 / seed))
for path in plots.save(sweep, sys.argv[1], theme="light"):
    print(path.name, hashlib.sha256(path.read_bytes()).hexdigest())
assert dict(dict.items(matplotlib.rcParams)) == before
assert "matplotlib.pyplot" not in sys.modules
"""


def test_two_processes_give_the_same_bytes_whatever_their_settings(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text(
        "font.size: 30\naxes.grid: False\nlines.linewidth: 9\nsvg.fonttype: none\n"
    )
    runs = []
    for name, extra in (
        ("a", {"PYTHONHASHSEED": "1"}),
        ("b", {"PYTHONHASHSEED": "2", "MATPLOTLIBRC": str(tmp_path / "matplotlibrc"), "MPLBACKEND": "svg"}),
    ):
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / name)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | extra
        runs.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    first, second = (run.communicate()[0] for run in runs)
    assert [run.returncode for run in runs] == [0, 0]
    assert first == second
    assert len(first.splitlines()) == 10
    some = tmp_path / "a" / "updates.svg"
    assert hashlib.sha256(some.read_bytes()).hexdigest() in first


def test_without_matplotlib_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'emulator\[plot\]'") as caught:
        plots.save(made({SIGMA: [1, 2]}, outcome), tmp_path / "plots")
    assert isinstance(caught.value, EmulatorError)
    assert isinstance(caught.value, ImportError)
    assert not (tmp_path / "plots").exists()


@given(st.lists(st.floats(-1, 2), max_size=8))
def test_words_beside_lines_keep_their_order_and_their_distance(wanted: list[float]) -> None:
    found = apart(wanted, 0.1, 0.0, 1.0)
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in found)
    for (a, x), (b, y) in combinations(zip(wanted, found, strict=True), 2):
        assert abs(x - y) >= 0.1 - 1e-9
        assert a == b or (a < b) == (x < y)


def test_words_stay_beside_their_lines_where_there_is_room() -> None:
    assert apart([0.5, 0.2, 0.9], 0.1, 0.0, 1.0) == [0.5, 0.2, 0.9]
    assert apart([0.5, 0.5], 0.1, 0.0, 1.0) == pytest.approx([0.5, 0.6])


def _lines_of(axis: Axes) -> list[tuple[str, list[float]]]:
    """Colour and places of every line with its points, as drawn with their intervals."""
    return [
        (to_hex(container[0].get_color()), list(map(float, container[0].get_xdata())))
        for container in axis.containers
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_series_of_one_strategy_are_told_apart_by_shade_and_place(theme: Any) -> None:
    sweep = made(
        {SIGMA: SIGMAS, "strategy": [SYNCHRONOUS, ASYNCHRONOUS], "trainer.batch_size": [32, 64]}, outcome
    )
    (axis, *_) = plots.figures(sweep, theme)["differences"].axes
    (first, at_first), (second, at_second) = _lines_of(axis)
    assert first == THEMES[theme].series[0]
    assert sum(abs(int(first[i : i + 2], 16) - int(second[i : i + 2], 16)) for i in (1, 3, 5)) > 100
    # 1.2 % of the width of three panels, each from 0.1 to 1.5; half to either side.
    assert np.subtract(at_second, at_first) == pytest.approx(3 * 0.012 * 1.4)
    assert np.add(at_second, at_first) / 2 == pytest.approx(SIGMAS)


def test_one_series_of_a_strategy_stands_at_its_places_in_its_colour() -> None:
    (axis,) = plots.figures(SWEEPS["two"](), "light")["updates"].axes
    assert _lines_of(axis) == [(THEMES["light"].series[n], SIGMAS) for n in (1, 0)]


def test_theory_known_at_one_place_alone_is_drawn_there(expect: Callable[[Any], None]) -> None:
    expect(lambda s: {"updates_per_hour": 50.0} if s.rollout.workers in (8, 32, 64) else {})
    (axis,) = plots.figures(made({"rollout.workers": [8, 16, 32, 64]}, outcome), "light")["updates"].axes
    (dots,) = (line for line in axis.lines if line.get_marker() == "o" and line.get_alpha())
    assert (list(dots.get_xdata()), list(dots.get_ydata())) == ([8], [50])
