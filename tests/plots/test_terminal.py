import subprocess
import sys
from collections.abc import Callable, Sequence
from io import BytesIO, StringIO, TextIOWrapper
from typing import Any, Literal

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from emulator.plots.terminal import draw
from emulator.plots.terminal.scale import Ruler, fitted, round_step, ticks
from emulator.scenario import Scenario
from emulator.sweeps import Sweep
from tests.plots.made import ASYNCHRONOUS, GATE, SIGMA, SYNCHRONOUS, figures, made
from tests.plots.test_drawings import SWEEPS


def drawn(sweep: Sweep, width: int = 100) -> list[str]:
    console = Console(file=StringIO(), width=width)
    draw(sweep, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def chart(lines: list[str], title: str) -> list[str]:
    first = next(n for n, line in enumerate(lines) if line.startswith(title))
    return lines[first : lines.index("", first)]


def outcome(values: dict[str, Any], seed: int) -> dict[str, Any]:
    if values.get("strategy") == "synchronous":
        return figures(50.0 * seed - 50, histogram=[4])
    return figures(200.0, histogram=[1, 3], bias=0.62)


PAIR: dict[str, Sequence[Any]] = {SIGMA: [0.5, 1.0], "strategy": [SYNCHRONOUS, ASYNCHRONOUS]}


def test_the_reference_chart_has_points_intervals_and_theory(expect: Callable[[Any], None]) -> None:
    expect(lambda scenario: {"updates_per_hour": 100.0} if scenario.strategy.kind == "asynchronous" else {})
    lines = chart(drawn(made(PAIR, outcome), 60), "Updates per hour")
    assert lines[:3] == [
        "Updates per hour: synchronous and asynchronous",
        "■ synchronous   ● asynchronous   │ 95 % interval",
        "··· theory",
    ]
    plane = {line[:3]: line[5:] for line in lines[4:-2] if line[4:5] in "┤└"}
    # 0, 50 and 100: 50 ± 124.2.
    assert plane["200"] == "  ●" + " " * 49 + "●"
    assert plane[" 50"] == "  ■" + " " * 49 + "■"
    assert plane["100"] == "  │" + "·" * 49 + "│"
    assert lines[-2].split() == ["0.5", "1"]
    assert lines[-1].strip() == "spread of episode durations, σ"  # noqa: RUF001


def test_a_map_is_shaded_by_the_share_of_episodes() -> None:
    sweep = made(
        {SIGMA: [0.5, 1.0]},
        lambda v, _: figures(1, histogram=[500, 400, 90, 9, 1] if v[SIGMA] == 0.5 else [1]),
    )
    lines = chart(drawn(sweep), "Staleness")
    assert lines[1:-1] == [
        "4 " + "·" * 15,
        "3 " + "·" * 15,
        "2 " + "▒" * 15,
        "1 " + "▓" * 15,
        "0 " + "█" * 30,
        "        0.5             1",
        "       0.61           0.00",
        "  spread of episode durations, σ",  # noqa: RUF001
    ]


def test_no_dots_are_drawn_where_theory_is_unknown(expect: Callable[[Any], None]) -> None:
    known = {16: 50.0, 32: 50.0, 80: 50.0}

    def law(scenario: Scenario) -> dict[str, float]:
        workers = scenario.rollout.workers
        return {"updates_per_hour": known[workers]} if workers in known else {}

    expect(law)
    sweep = made({"rollout.workers": [16, 32, 48, 64, 80, 96]}, lambda *_: figures(100.0))
    (line,) = (
        line for line in chart(drawn(sweep, 80), "Updates per hour") if "··" in line and "theory" not in line
    )
    places = [x for x, character in enumerate(line) if character == "·"]
    (ticks,) = (
        line for line in chart(drawn(sweep, 80), "Updates per hour") if line.split()[:2] == ["16", "32"]
    )
    first, second, alone = (ticks.index(tick) for tick in ("16", "32", "80"))
    # From the first to the second without a gap, and one alone; a tick of two digits begins before its point.
    assert places == [*range(first + 1, second + 2), alone + 1]


def test_means_of_a_map_are_all_reported_however_large() -> None:
    sigmas = [n / 10 for n in range(1, 16)]
    sweep = made(
        {SIGMA: sigmas, "strategy": [SYNCHRONOUS, ASYNCHRONOUS]},
        lambda v, _: figures(1, histogram=[0] * 12 + [1] if v[SIGMA] > 0.8 else [1, 1]),
    )
    lines = chart(drawn(sweep, 80), "Staleness")
    means = [line.split() for line in lines if "12.0" in line]
    assert means == [["0.5"] * 8 + ["12.0"] * 7] * 2


def test_length_bias_stands_beside_the_points_of_the_frontier_that_have_it() -> None:
    lines = chart(drawn(made(PAIR, outcome)), "Throughput")
    assert sum(".62" in line for line in lines[3:]) == 1
    assert any("■" in line and "." not in line.partition("■")[2] for line in lines[3:])


def test_bars_have_their_numbers(expect: Callable[[Any], None]) -> None:
    expect(lambda scenario: {"updates_per_hour": 123.4} if scenario.strategy.kind == "synchronous" else {})
    sweep = made(
        {"strategy": [SYNCHRONOUS, GATE]},
        lambda v, s: figures(100.0 + s if "max" in v["strategy"] else 120.0),
    )
    lines = chart(drawn(sweep), "Updates per hour")
    # 101, 102 and 103: t(2) / sqrt(3) on either side.
    assert any(
        line.startswith("▲ asynchronous, gate 1  ██") and line.endswith("102.0 ± 2.5") for line in lines
    )
    assert any(
        line.startswith("■ synchronous") and line.endswith("120.0 ± 0.0  theory 123.4") for line in lines
    )


def test_a_difference_below_zero_goes_to_the_left() -> None:
    sweep = made(
        {"strategy": [SYNCHRONOUS, ASYNCHRONOUS]},
        lambda v, s: figures(10 if "async" in v["strategy"] else 40),
    )
    lines = chart(drawn(sweep), "Difference from synchronous")
    (bar,) = (line for line in lines if line.endswith("-30.0 ± 0.0"))
    assert "█████" in bar


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("width", [40, 80, 100, 200])
def test_no_line_is_wider_than_the_console_nor_than_120(name: str, width: int) -> None:
    lines = drawn(SWEEPS[name](), width)
    assert len(lines) > 20
    assert max(map(len, lines)) <= min(width, 120)


def test_a_console_that_is_too_narrow_gets_nothing() -> None:
    assert drawn(made(PAIR, outcome), 39) == []


def test_a_sweep_of_which_all_runs_failed_draws_nothing() -> None:
    assert drawn(made(PAIR, lambda *_: "deadlock")) == []


def test_markers_tell_series_apart_without_colour_at_the_same_point() -> None:
    sweep = made({SIGMA: [1, 2], "strategy": [SYNCHRONOUS, ASYNCHRONOUS, GATE]}, lambda *_: figures(5))
    lines = chart(drawn(sweep), "Updates per hour")
    assert any("▲■●" in line for line in lines)


def test_a_console_without_the_characters_gets_ascii() -> None:
    raw = BytesIO()
    console = Console(file=TextIOWrapper(raw, encoding="ascii", write_through=True), width=100)
    draw(SWEEPS["four"](), console)
    text = raw.getvalue().decode("ascii")
    assert "# synchronous   o asynchronous   ^ asynchronous, gate 1   * asynchronous, drop 1" in text
    assert "spread of episode durations, sigma" in text
    assert "?" not in text


@pytest.mark.parametrize("color", ["standard", "256", "truecolor"])
def test_a_terminal_shows_each_strategy_in_its_colour(color: Literal["standard", "256", "truecolor"]) -> None:
    file = StringIO()
    console = Console(file=file, width=100, force_terminal=True, color_system=color, no_color=False)
    draw(made(PAIR, outcome), console)
    screen = pyte.Screen(100, 200)
    pyte.Stream(screen).feed(file.getvalue().replace("\n", "\r\n"))
    found: dict[str, set[str]] = {"■": set(), "●": set()}
    for row in range(200):
        for column in range(100):
            cell = screen.buffer[row][column]
            if cell.data in found:
                found[cell.data].add(cell.fg)
    assert all(len(colors) == 1 for colors in found.values())
    assert found["■"] != found["●"]
    assert "\x1b[" not in "".join(drawn(made(PAIR, outcome)))


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    file = StringIO()
    draw(made(PAIR, outcome), Console(file=file, width=100, force_terminal=True))
    assert "■ synchronous" in file.getvalue()
    assert "\x1b[3" not in file.getvalue()
    assert "\x1b[38" not in file.getvalue()


def test_the_terminal_needs_no_matplotlib() -> None:
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from emulator.plots.terminal import draw; from emulator import plots\n"
        "print(callable(draw), callable(plots.save))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout == "True True\n"


@given(st.floats(1e-6, 1e9))
def test_a_round_step_is_the_nearest_above(least: float) -> None:
    step = round_step(least)
    assert least * (1 - 1e-6) <= step <= 2.5 * least
    assert any(f"{step:.6e}".startswith(digits) for digits in ("1.0", "2.0", "2.5", "5.0"))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5), st.integers(4, 60), st.booleans())
def test_all_values_are_on_a_scale_and_its_ticks_are_what_they_say(
    values: list[float], cells: int, from_zero: bool
) -> None:
    scale = fitted([abs(v) for v in values] if from_zero else values, cells, from_zero=from_zero)
    assert scale.low < scale.high
    slack = 1e-6 * (scale.high - scale.low)
    for value in map(abs, values) if from_zero else values:
        assert scale.low - slack <= value <= scale.high + slack
    found = ticks(scale, 6)
    assert 1 <= len(found) <= 7
    for value, text in found:
        assert float(text.replace(",", "")) == pytest.approx(
            value, rel=1e-6, abs=1e-9 * (scale.high - scale.low)
        )
        assert 0 <= scale.place(value) < cells


def test_a_logarithmic_scale_puts_doublings_at_equal_steps() -> None:
    scale = Ruler(8, 128, 41, log=True)
    assert [scale.place(v) for v in (8, 16, 32, 64, 128)] == [0, 10, 20, 30, 40]
