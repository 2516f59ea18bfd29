"""Replays: the frames of the live run, at any moment and in any order, and the keys that go there."""

import asyncio
import json
import random
import shutil
import sys
from collections.abc import Callable, Coroutine
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import emulator
from emulator.cli import main
from emulator.clock import EmulatedLoop, Wall
from emulator.dashboard.canvas import Canvas
from emulator.dashboard.frame import draw
from emulator.dashboard.live import Dashboard, Options, Show
from emulator.dashboard.replay import Replay
from emulator.dashboard.replay_states import States, following, previous
from emulator.dashboard.state import ClockReading, Looking, ShownLane
from emulator.dashboard.terminal import Terminal
from emulator.events import Inject, Publish
from emulator.recording import Recording, read_recording
from emulator.runner import Session
from tests.dashboard.scenarios import long_tail
from tests.dashboard.test_live import FakeTerminal, fake_terminal
from tests.dashboard.tmux import Tmux, watching
from tests.patience import eventually
from tests.wall import FakeWall

ROOT = Path(__file__).parents[2]
SIZES = ((80, 24), (100, 30), (200, 50), (60, 12))
LOOKS = (Looking(keys=False), Looking(keys=False, zoom=0, raster=True))
MOMENTS = (0.013, 61.7, 200.1, 333.3, 480.9, 599.9, 1000.0)
"""Those of the frames; at some of the others something is injected. The last is beyond the end."""

Frames = list[Canvas]


def frames(lanes: list[ShownLane], t: float) -> Frames:
    clock = ClockReading(t, 60.0)
    return [draw(lanes, clock, size, looking) for size in SIZES for looking in LOOKS]


def same(these: Frames, those: Frames) -> bool:
    return [frame.rows() for frame in these] == [frame.rows() for frame in those]


def record(path: Path, *, race: bool, stop: bool = False) -> dict[float, Frames]:
    """Record a run in which everything is injected; returns its live frames at `MOMENTS`."""
    scenario = long_tail(16, 600)
    lanes = scenario.lane_scenarios() if race else (scenario,)
    dashboard = Dashboard(lanes, Terminal(-1, None, None), Options())
    live: dict[float, Frames] = {}

    async def watch(session: Session) -> None:
        watched = dashboard.watched(session)
        for t in MOMENTS[:-1]:
            await asyncio.sleep(t - session.clock.time())
            live[t] = frames(watched.lanes(), watched.now)
            if t == MOMENTS[1]:
                session.clock.call_later(11.1, lambda: [watched.inject(key) for key in "skw"])
        if stop:
            session.stop()
        await session.ended.wait()
        live[MOMENTS[-1]] = frames(watched.lanes(), watched.now)

    make: Callable[..., Any] = emulator.race if race else emulator.run
    make(
        scenario, speed="max", watch=watch, sinks=dashboard.sinks if race else dashboard.sinks[0], record=path
    )
    return live


@pytest.fixture(scope="module", params=["run", "race"])
def recorded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Recording, dict[float, Frames]]:
    path = tmp_path_factory.mktemp("recorded") / "a.jsonl"
    live = record(path, race=request.param == "race", stop=request.param == "run")
    return read_recording(path), live


def test_a_replayed_frame_equals_the_live_one_in_whatever_order_they_are_asked_for(
    recorded: tuple[Recording, dict[float, Frames]],
) -> None:
    recording, live = recorded
    states = States(recording, every=100)
    order = [*MOMENTS, *reversed(MOMENTS), *random.Random(1).choices(MOMENTS, k=20)]
    for t in order:
        assert same(frames(states.at(t), min(t, recording.t_end)), live[t]), t
    told = [frame.plain() for frame in live[MOMENTS[-1]]]
    assert any("straggler" in frame for frame in told)


def test_scrubbing_leads_where_going_straight_there_leads(
    recorded: tuple[Recording, dict[float, Frames]],
) -> None:
    recording, _ = recorded
    scrubbed = States(recording, every=20)
    few = States(recording, every=20, memory=50_000)
    assert len(few._checkpoints) < len(scrubbed._checkpoints) / 2
    for t in random.Random(2).choices(range(600), k=12):
        scrubbed.at(t)
        few.at(t)
        back = max(t - 60, 0)
        direct = frames(States(recording, every=10**9).at(back), back)
        assert same(frames(scrubbed.at(back), back), direct)
        assert same(frames(few.at(back), back), direct)


def test_the_result_of_a_replay_is_the_recorded_one(recorded: tuple[Recording, dict[float, Frames]]) -> None:
    recording, _ = recorded
    states = States(recording, every=100)
    states.at(300)
    for finals in (states.finals, states.at(recording.t_end)):
        results = [
            lane.figures.result(told.t_end) for lane, told in zip(finals, recording.lanes, strict=True)
        ]
        assert results == [lane.result for lane in recording.lanes]


def test_markers_are_injections_and_publications_in_order(
    recorded: tuple[Recording, dict[float, Frames]],
) -> None:
    recording, _ = recorded
    markers = States(recording).markers
    assert all(a < b for a, b in pairwise(markers))
    assert set(markers) == {
        event.t for lane in recording.lanes for event in lane.events if isinstance(event, Inject | Publish)
    }
    assert previous(markers, markers[2]) == markers[1]
    assert following(markers, markers[2]) == markers[3]
    assert previous(markers, markers[0]) is following(markers, markers[-1]) is None


# -- on a clock -------------------------------------------------------------------------------------


def on_a_loop(
    recording: Recording,
    act: Callable[[Replay], Coroutine[Any, Any, None]],
    speed: Any = 60.0,
    wall: Wall | None = None,
) -> None:
    """Do something to a replay that goes on, by the real clock unless another `wall` is given."""

    async def go() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, EmulatedLoop)
        await act(Replay(recording, States(recording), loop))

    with asyncio.Runner(loop_factory=lambda: EmulatedLoop(speed, wall)) as runner:
        runner.run(go())


def test_a_replay_goes_at_its_speed_is_paused_stepped_and_scrubbed(
    recorded: tuple[Recording, dict[float, Frames]],
) -> None:
    recording, _ = recorded
    states = States(recording)

    async def act(replay: Replay) -> None:
        clock = replay.clock
        await clock.wall_sleep(0.1)
        assert replay.now == pytest.approx(6.0)
        clock.pause()
        stood = replay.now
        await clock.wall_sleep(0.02)
        assert replay.now == stood
        replay.jump(100.0)
        assert replay.now == 100.0
        for _ in range(3):
            coming = following(states.times, replay.now)
            clock.step()
            await clock.wall_sleep(0.01)
            assert replay.now == coming
        for key, to in (("home", 0.0), ("right", 60.0), ("up", 120.0), ("left", 60.0), ("left", 0.0)):
            assert replay.scrub(key)
            assert replay.now == to
        for marker in states.markers[:3]:
            replay.scrub("]")
            assert replay.now == marker
        replay.scrub("[")
        assert replay.now == states.markers[1]
        replay.scrub("end")
        assert replay.ended
        assert replay.now == recording.t_end
        replay.scrub("left")
        assert not replay.ended
        assert not replay.scrub("s")
        assert "nothing can be injected" in replay.inject("s")
        clock.speed = "max"
        clock.resume()
        await clock.wall_sleep(0.2)
        assert replay.ended

    on_a_loop(recording, act, wall=FakeWall())


def test_while_it_goes_the_previous_marker_is_gone_back_from_the_last(
    recorded: tuple[Recording, dict[float, Frames]],
) -> None:
    recording, _ = recorded
    markers = States(recording).markers

    async def act(replay: Replay) -> None:
        replay.jump(markers[4] + 1)
        for marker in (markers[4], markers[3], markers[2]):
            replay.scrub("[")
            assert replay.now == pytest.approx(marker, abs=1e-6)
            await replay.clock.wall_sleep(0.02)
            assert replay.now > marker

    on_a_loop(recording, act, wall=FakeWall())


def test_without_holding_a_replay_closes_at_the_end(recorded: tuple[Recording, dict[float, Frames]]) -> None:
    recording, _ = recorded

    async def show(replay: Replay, fake: FakeTerminal) -> None:
        terminal = Terminal(fake.theirs, fake.theirs, "truecolor")
        await Show(replay, terminal, Options(hold=False, frames_per_second=30)).run()
        assert replay.ended

    with fake_terminal() as fake:
        on_a_loop(recording, lambda replay: show(replay, fake), speed="max")
        eventually(lambda: fake.shown.endswith(b"\x1b[?1049l"), lambda: "the terminal is restored")


# -- cut off ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("race", [False, True])
def test_a_cut_recording_plays_to_the_cut_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, race: bool
) -> None:
    path = tmp_path / "a.jsonl"
    record(path, race=race)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    recording = read_recording(path)
    states = States(recording)
    for _ in range(2):
        for frame in frames(states.at(recording.t_end), recording.t_end):
            assert ("was cut off here, at 00:0" in frame.plain()) == (frame.height >= 24)
        for frame in frames(states.at(recording.t_end - 1), recording.t_end - 1):
            assert "cut off" not in frame.plain()

    async def act(replay: Replay) -> None:
        assert replay.standing is None
        replay.jump(recording.t_end)
        assert "cut off here" in (replay.standing or "")

    on_a_loop(recording, act)
    out = " ".join(command(capsys, "replay", str(path)).split())
    assert f"{path} was cut off after line" in out
    assert "Interrupted at 00:0" in out
    told = json.loads(command(capsys, "replay", str(path), "--json"))
    assert told["cut"] == recording.cut
    for lane in told["lanes"] if race else [told]:
        assert lane["result"]["emulated_seconds"] == recording.t_end
        assert lane["interrupted"]
    path.write_bytes(whole[: whole.index(b"\n") + 1])
    out = " ".join(command(capsys, "replay", str(path), "--quiet").split())
    assert "was cut off after line 1, at 0 s" in out
    assert States(read_recording(path)).at(0)[0].history.log.entries[-1].kind == "cut"


# -- the command ------------------------------------------------------------------------------------


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    outcome = capsys.readouterr()
    assert (ended.value.code or 0) == 0, outcome.err
    return outcome.out


@pytest.mark.parametrize("kind", ["run", "race"])
def test_without_a_terminal_the_summary_and_the_json_are_those_of_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    path = str(tmp_path / "a.jsonl.gz")
    scenario = tmp_path / "a.yaml"
    scenario.write_text(json.dumps(long_tail(16, 600).resolved()))
    run = [kind, str(scenario), "--speed", "max", "--record", path, "--force"]
    live = command(capsys, *run, "--quiet").splitlines()
    assert command(capsys, "replay", path).splitlines() == live
    assert command(capsys, "replay", path, "--quiet", "--speed", "30").splitlines() == live
    printed = json.loads(command(capsys, *run, "--json"))
    assert json.loads(command(capsys, "replay", path, "--json")) == printed


def test_what_is_no_recording_is_reported_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["replay", str(tmp_path / "none.jsonl")])
    assert ended.value.code == 2
    assert "found no such file" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_keys_scrub_step_and_quit_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    emulator.run(long_tail(16, 3600), speed="max", record=path)
    markers = States(read_recording(path)).markers
    tmux = Tmux(tmp_path)
    play = f"cd {ROOT}; {sys.executable} -m emulator replay {path} --speed 1"
    pane = tmux.start("replay", ["sh", "-c", f"{play}; {tmux.MODES}; exec sleep 1000"])
    try:
        watching(pane)
        pane.press("s")
        pane.shows("a recording: nothing can be injected")
        pane.press("Space")
        pane.shows("paused")
        pane.press("Home")
        pane.shows("00:00:00 / 01:00:00")
        for key, shown in (("Right", "00:01:00 /"), ("Right", "00:02:00 /"), ("Left", "00:01:00 /")):
            pane.press(key)
            pane.shows(shown)
        pane.press("Home", "]", "]", "]")
        pane.shows(f"{clock(markers[2])} /")
        pane.press("[")
        pane.shows(f"{clock(markers[1])} /")
        pane.press("?")
        pane.shows("previous, next marker: injections and publications")
        pane.press("Enter", "End")
        pane.shows("01:00:00 / 01:00:00")
        pane.shows("the end of the recording; arrows go back, q closes")
        pane.press("Home")
        pane.shows("00:00:00 / 01:00:00")
        pane.press("q")
        pane.is_restored()
        pane.shows("UPDATES PER HOUR")
    finally:
        tmux("kill-server")


def clock(t: float) -> str:
    return f"00:{int(t) // 60:02}:{int(t) % 60:02}"
