"""The engines as they are drawn: how full, what is the matter with them, and what is said of them."""

import pytest

from emulator import events as ev
from emulator.dashboard.canvas import Area, Canvas
from emulator.dashboard.crew import DOWN, IDLE, RUN
from emulator.dashboard.engines import draw_engines, engine_states, words
from emulator.dashboard.theme import Role
from emulator.figures.engine_state import EngineRecord
from emulator.fluid import StepTable
from tests.dashboard.golden_frames import engines

STEP = StepTable({1: 10, 11: 20})


def record(number: int, running: int, waiting: int = 0) -> EngineRecord:
    """An engine that runs some sequences of 100 tokens of context, as of 5 s."""
    engine = EngineRecord(number, 1.0, 10_000.0, STEP)
    engine.change(ev.EngineChange(0.0, number, "start", 1.0, 0.0, 0.0, 0.0, 0.0))
    for worker in range(running):
        engine.admit(ev.Admit(5.0, worker, number, 1000.0, 100.0, 0.0, 0.0, 100.0 * (worker + 1)))
    engine.waiting = dict.fromkeys(range(waiting))
    return engine


def drawn(engines: list[EngineRecord], width: int, full: int = 8, t: float = 5.0) -> tuple[str, bytes]:
    """The row of bars, and its roles."""
    canvas = Canvas(width, 3)
    draw_engines(canvas, Area(0, 0, width, 3), engines, full=full, t=t, kv_tokens=None)
    characters, roles = canvas.rows()[1]
    return "".join(characters)[1:-1], roles[1:-1]


def test_a_bar_is_as_long_as_what_runs_of_all_that_can() -> None:
    text, roles = drawn([record(0, 0), record(1, 4), record(2, 8)], 32)
    assert [text[10 * n : 10 * n + 10].count("█") for n in range(3)] == [0, 4, 7]
    assert (roles[11], roles[21]) == (RUN + 2, RUN + 4)


def test_signs_say_what_is_the_matter_and_who_waits() -> None:
    down, slow, stopped = record(0, 0), record(1, 1), record(2, 1, waiting=3)
    down.change(ev.EngineChange(5.0, 0, "crash", 1.0, 5.0, 0.0, 0.0, 0.0))
    slow.change(ev.EngineChange(5.0, 1, "slow", 0.25, 0.0, 0.0, 0.0, 100.0))
    stopped.change(ev.EngineChange(5.0, 2, "pause", 1.0, 9.0, 0.0, 0.0, 100.0))
    text, roles = drawn([down, slow, stopped], 32)
    assert [text[n] for n in (0, 10, 20, 28)] == ["-", "s", "~", "x"]
    assert [roles[n] for n in (0, 10, 20, 28)] == [Role.DOWN, Role.STALE, Role.WEIGHTS, Role.BLOCKED]
    assert drawn([stopped], 12, t=9.0)[0][0] == " "


def test_more_engines_than_cells_share_them_and_narrow_ones_are_heights() -> None:
    text, _ = drawn([record(n, 8 if n < 6 else 0, waiting=n == 0) for n in range(12)], 14)
    assert text[::2] == "███   "
    assert text[1] == "x"


def test_states_are_shades_of_load() -> None:
    down = record(3, 2)
    down.down = True
    some = [record(0, 0), record(1, 1), record(2, 8), down]
    assert engine_states(some, 8).tolist() == [IDLE, RUN, RUN + 4, DOWN]


def test_words_have_the_step_of_the_busiest_and_how_full_caches_are() -> None:
    some = [record(0, 1), record(1, 6, waiting=2)]
    # Six sequences of 100 tokens: 15 + 0.6 ms; 700 tokens are held, of 2 x 1000.
    assert words(some, 5.0, 1000) == "2 engines: 7 running, 2 waiting  step 15.6ms  KV 35%"
    assert words([record(0, 0)], 5.0, None) == "1 engine: 0 running"


def test_the_step_falls_as_an_engine_empties() -> None:
    engine = record(0, 6)
    before = engine.step_ms_at(5.0)
    for worker in range(1, 6):
        engine.release(ev.Release(5.0, worker, 0, 0.0, 0.0, engine.held))
    assert (before, engine.step_ms_at(5.0)) == (pytest.approx(15.6), pytest.approx(10.1))


def test_a_run_says_who_is_in_tools_and_what_befell_engines() -> None:
    (lane,) = engines()
    texts = [entry.text for entry in lane.history.log.entries]
    assert "engine 1 crashed, back in 5m" in texts
    assert "engine 2 slower x3 for 16m40s" in texts
    seconds = lane.history.seconds()
    accounts = lane.figures.worker_seconds(lane.history.t)
    assert seconds[Role.ACTING] == pytest.approx(accounts["acting"])
    assert seconds[Role.RUN] == pytest.approx(accounts["generating"])
    assert seconds[Role.BLOCKED] == pytest.approx(accounts["blocked"])
    assert lane.history.full_engine == 10
