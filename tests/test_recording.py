"""Recordings: what is written, what is read back, and what runs again from it."""

import gzip
import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import emulator
from emulator import events as ev
from emulator.cli import main
from emulator.errors import EventsNotKeptError, RecordingError
from emulator.figures import Figures
from emulator.recording import read
from emulator.recording.writing import Recorder
from emulator.runner import Session
from emulator.scenario import Scenario
from emulator.scenario.timeline import Event as Entry
from emulator.trace import TraceHash
from tests.patience import PATIENCE, eventually
from tests.scenarios import any_scenarios, scenarios

SUFFIXES = ["jsonl", "jsonl.gz"]
DOCUMENT: dict[str, Any] = {
    "name": "small — ½",
    "duration": 600,
    "rollout": {"workers": 6, "episode_seconds": {"kind": "lognormal", "median": 20, "sigma": 1}},
    "trainer": {"batch_size": 4, "update_seconds": 15},
    "strategy": {"kind": "asynchronous"},
    "lanes": [{"name": 'sync "1"', "strategy": {"kind": "synchronous"}}, {"name": "async é"}],
}
ENTRIES: list[dict[str, Any]] = [
    {"straggler": {"worker": 2, "factor": 3}},
    {"straggler": {"episode": 40, "factor": 8}},
    {"slow": {"workers": 2, "factor": 5, "for": 60}},
    {"crash": {"workers": [1, 3], "restart_seconds": 30}},
    {"stall_trainer": {"for": 45}},
    {"add_workers": {"count": 2}},
    {"remove_workers": {"count": 1}},
]
COMMAND = [sys.executable, "-m", "emulator"]


def small(**changes: Any) -> Scenario:
    return Scenario.model_validate({**DOCUMENT, **changes})


async def person(session: Session) -> None:
    """Does everything that a person can: at 0 in a pause, while it runs, and in a pause later."""
    clock = session.clock

    def inject(*entries: dict[str, Any]) -> None:
        for entry in entries:
            for lane in session.lanes:
                lane.inject(Entry.model_validate({"at": 1, **entry}))

    async def until(t: float) -> None:
        while clock.time() < t:
            await clock.wall_sleep(0.001)

    clock.pause()
    await clock.wall_sleep(0.001)
    inject(*ENTRIES[:3])
    clock.resume()
    await until(100)
    for entry in ENTRIES:
        inject(entry)
        await clock.wall_sleep(0.002)
    await until(300)
    clock.pause()
    await clock.wall_sleep(0.001)
    inject(*ENTRIES)
    clock.resume()
    clock.speed = "max"


def injections(events: Any) -> list[str]:
    return [next(iter(event.action)) for event in events if isinstance(event, ev.Inject)]


def text_of(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        assert isinstance(exit_.value.code, int)
        return exit_.value.code, *capsys.readouterr()

    return call


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(DOCUMENT))
    return path


# -- run again ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_live_run_with_all_that_a_person_did_runs_again_to_the_same_trace(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"live.{suffix}"
    live = emulator.run(small(), speed=5000, watch=person, record=path, keep_events=True)
    assert len(injections(live.events)) >= len(ENTRIES) * 2
    assert {event.t for event in live.events if isinstance(event, ev.Inject)} >= {5e-324}
    again = emulator.run(emulator.load_scenario(path), speed="max", record=tmp_path / "again.jsonl")
    assert again.trace_sha256 == live.trace_sha256
    assert again.result == live.result
    third = emulator.run(emulator.load_scenario(tmp_path / "again.jsonl"), speed="max")
    assert third.trace_sha256 == live.trace_sha256


def test_a_live_race_runs_again_with_what_happened_in_each_lane(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    live = emulator.race(small(), speed=5000, watch=person, record=path)
    again = emulator.race(emulator.load_scenario(path), speed="max")
    assert [run.trace_sha256 for run in again] == [run.trace_sha256 for run in live]
    first, second = emulator.load_scenario(path).lane_scenarios()
    assert first.events != second.events


def test_the_commands_run_a_recording_again_whatever_its_file_is_called(
    call: Any, tmp_path: Path, scenario_file: Path
) -> None:
    for command in ("run", "race"):
        path = tmp_path / f"{command}.jsonl.gz"
        entries = ["--set", f"events={json.dumps([{'at': 60, **ENTRIES[2]}, {'at': 60, **ENTRIES[6]}])}"]
        first = call(
            command, scenario_file, "--speed", "max", "--json", "--quiet", "--record", path, *entries
        )
        renamed = path.rename(tmp_path / f"{command} renamed")
        again = call(command, renamed, "--speed", "max", "--json", "--quiet")
        assert (first[0], again[0], again[2]) == (0, 0, "")
        assert hashes(json.loads(again[1])) == hashes(json.loads(first[1]))


def hashes(told: dict[str, Any]) -> list[str]:
    return [lane["trace_sha256"] for lane in told.get("lanes", [told])]


def test_a_recording_is_a_scenario_to_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    emulator.run(small(events=[{"at": 5, **ENTRIES[0]}]), speed="max", record=path)
    changed = emulator.load_scenario(path, overrides=["rollout.workers=7"], seed=4)
    assert (changed.rollout.workers, changed.seed, changed.name) == (7, 4, DOCUMENT["name"])
    assert [entry.kind for entry in changed.events] == ["straggler"]


# -- what is written ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_run_is_a_header_its_trace_and_its_end(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    run = emulator.run(small(), speed="max", seed=9, record=path, keep_events=True)
    header, *lines, end = text_of(path).decode().splitlines()
    told = run.to_json()
    assert json.loads(header) == {key: told[key] for key in ("schema", "emulator", "scenario", "seed")}
    assert json.loads(header)["seed"] == json.loads(header)["scenario"]["seed"] == 9
    assert lines == [ev.encode(event) for event in run.events]
    assert json.loads(end) == {
        "event": "end",
        **{key: told[key] for key in ("result", "trace_sha256", "clock")},
    }


def test_a_race_is_in_order_of_time_with_the_lane_last(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    runs = emulator.race(small(duration=20000), speed="max", record=path, keep_events=True)
    header, *lines, end = path.read_text().splitlines()
    assert sum(len(run.events) for run in runs) == len(lines) > 8192
    assert json.loads(header)["lanes"] == [run.name for run in runs]
    times = [json.loads(line)["t"] for line in lines]
    assert times == sorted(times)
    for run in runs:
        tail = f',"lane":{json.dumps(run.name)}}}'
        own = [line.removesuffix(tail) + "}" for line in lines if line.endswith(tail)]
        assert own == [ev.encode(event) for event in run.events]
    assert [lane["name"] for lane in json.loads(end)["lanes"]] == [run.name for run in runs]


@pytest.mark.parametrize("speed", [20000, "max"])
def test_recording_changes_nothing(tmp_path: Path, speed: Any) -> None:
    alone = emulator.run(small(), speed="max")
    recorded = emulator.run(small(), speed=speed, record=tmp_path / "a.jsonl.gz")
    assert (recorded.result, recorded.trace_sha256) == (alone.result, alone.trace_sha256)


def test_a_recording_through_a_link_does_not_replace_what_is_named_as_none(tmp_path: Path) -> None:
    scenario, link = tmp_path / "mine.yaml", tmp_path / "r.jsonl"
    scenario.write_text("name: mine")
    link.symlink_to(scenario)
    with pytest.raises(RecordingError, match=r"r\.jsonl: found a link to mine\.yaml; allowed: one to a file"):
        emulator.run(small(duration=5), speed="max", record=link, force=True)
    assert scenario.read_text() == "name: mine"


def test_a_recording_takes_the_place_of_an_older_one_only_by_force(
    call: Any, tmp_path: Path, scenario_file: Path
) -> None:
    path = tmp_path / "a.jsonl"
    emulator.run(small(), speed="max", record=path)
    before = path.read_bytes()
    allowed = "a new file, or --force (force=True in Python) to replace it"
    exists = f"{path}: found a file that exists; allowed: {allowed}"
    for record in (emulator.run, emulator.race):
        with pytest.raises(emulator.RecordingError) as error:
            record(small(duration=5), speed="max", record=path)
        assert str(error.value) == exists
    command = ["run", scenario_file, "--speed", "max", "--quiet", "--json", "--record", path]
    assert call(*command) == (2, "", f"{exists}\n")
    assert path.read_bytes() == before
    emulator.run(small(duration=5), speed="max", record=path, force=True)
    assert read(path).scenario.duration == 5
    assert call(*command, "--force")[0] == 0
    assert read(path).scenario.duration == 600
    assert [file.name for file in tmp_path.iterdir() if file.suffix != ".json"] == ["a.jsonl"]


def test_a_recording_can_be_run_again_onto_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    first = emulator.run(small(), speed="max", record=path)
    again = emulator.run(emulator.load_scenario(path), speed="max", record=path, force=True)
    assert again.result == first.result
    assert read(path).cut is None


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_two_runs_do_not_record_to_one_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    told: list[str] = []

    async def begin_another(session: Session) -> None:
        for force in (False, True):
            with pytest.raises(emulator.RecordingError) as error:
                Recorder(path, small(), force=force)
            told.append(str(error.value))

    for force in (False, True):
        first = emulator.run(small(), speed="max", watch=begin_another, record=path, force=force)
        assert read(path).lanes[0].trace_sha256 == first.trace_sha256
    busy = f"{path}: found a file that another run records to; allowed: a file of its own for each run"
    assert told == [busy] * 4


def test_a_recording_that_cannot_begin_leaves_the_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, new = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    emulator.run(small(), speed="max", record=path)
    before = path.read_bytes()

    def full(recorder: Recorder, data: bytes, *, flush: bool = False) -> None:
        recorder.error = emulator.RecordingError("full")

    monkeypatch.setattr(Recorder, "_attempt", full)
    for file in (path, new):
        with pytest.raises(emulator.RecordingError, match="full"):
            emulator.run(small(), speed="max", record=file, force=True)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_recording_reports_the_same_interventions_as_the_run_and_holds_them_as_events_alone(
    call: Any, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    entries = [{"at": 5, **ENTRIES[0]}, {"at": 300, "crash": {"workers": 2, "restart_seconds": 5}}]
    live = emulator.run(small(events=entries), speed="max", record=path)
    crash = {"at": 300.0, "crash": {"workers": [0, 1], "restart_seconds": 5.0}}
    assert live.interventions[-1] == crash
    code, out, _ = call("replay", path, "--json")
    assert (code, json.loads(out)) == (0, json.loads(json.dumps(live.to_json())))
    assert b"interventions" not in path.read_bytes()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("a.json", "found the suffix .json; allowed: .jsonl or .jsonl.gz"),
        ("a", "found no suffix; allowed: .jsonl or .jsonl.gz"),
        (
            "none/a.jsonl",
            "found a file that cannot be written (No such file or directory); "
            "allowed: a path where a file can be",
        ),
        (
            "folder.jsonl",
            "found a file that cannot be written (Is a directory); allowed: a path where a file can be",
        ),
        (
            "values.jsonl",
            "found a file that exists; allowed: a new file, or --force (force=True in Python) to replace it",
        ),
    ],
)
def test_what_cannot_be_recorded_to_is_reported_before_the_run(
    call: Any, tmp_path: Path, scenario_file: Path, name: str, sentence: str
) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "values.jsonl").write_text("1\n2\n")
    path = tmp_path / name
    for command in ("run", "race"):
        assert call(command, scenario_file, "--speed", "max", "--record", path) == (
            2,
            "",
            f"{path}: {sentence}\n",
        )
    assert (tmp_path / "values.jsonl").read_text() == "1\n2\n"


def test_a_full_disk_is_reported_when_the_run_is_over(tmp_path: Path, scenario_file: Path) -> None:
    path = tmp_path / "a.jsonl"
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000));"
        "from emulator.cli import main; main()"
    )
    command = [sys.executable, "-c", limited, "run", scenario_file, "--speed", "max", "--quiet"]
    done = subprocess.run(
        [*command, "--record", path], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 1
    assert "UPDATES PER HOUR" in done.stdout
    assert done.stderr == (
        f"{path}: found no way to write on (File too large); allowed: room for the whole recording\n"
    )
    assert read(path).lanes[0].events


# -- how it ends --------------------------------------------------------------------------------------


def time_reached(path: Path) -> float:
    try:
        return read(path).t_end
    except emulator.RecordingError:
        return 0.0


def started(path: Path, *command: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [str(word) for word in (*command, "--speed", "2000", "--set", "duration=10d", "--record", path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(("command", "suffix"), [("run", "jsonl"), ("race", "jsonl.gz")])
def test_kill_9_leaves_a_recording_until_about_then(
    tmp_path: Path, scenario_file: Path, command: str, suffix: str
) -> None:
    path = tmp_path / f"a.{suffix}"
    process = started(path, *COMMAND, command, scenario_file, "--quiet")
    seen = eventually(lambda: time_reached(path))
    process.kill()
    process.communicate(timeout=PATIENCE)
    recording = read(path)
    assert recording.t_end >= seen
    assert recording.cut is not None
    assert recording.cut.startswith(f"{path} was cut off after line ")
    assert [lane.result for lane in recording.lanes] == [None] * len(recording.lanes)
    assert all(lane.events for lane in recording.lanes)
    again = emulator.load_scenario(path, overrides=["duration=60"])
    assert again.duration == 60


def test_a_signal_leaves_a_whole_recording_that_says_so(tmp_path: Path, scenario_file: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    process = started(path, *COMMAND, "race", scenario_file, "--json", "--quiet")
    eventually(lambda: time_reached(path))
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    recording = read(path)
    assert recording.cut is None
    for lane, told in zip(recording.lanes, json.loads(out)["lanes"], strict=True):
        assert lane.interrupted
        assert (lane.result, lane.trace_sha256, lane.clock) == (
            told["result"],
            told["trace_sha256"],
            told["clock"],
        )


def test_ctrl_c_in_a_script_leaves_a_whole_recording_too(tmp_path: Path, scenario_file: Path) -> None:
    path = tmp_path / "a.jsonl"
    script = (
        f"import emulator; s = emulator.load_scenario({str(scenario_file)!r}, overrides=['duration=10d'])\n"
        f"try: emulator.run(s, speed=2000, record={str(path)!r})\n"
        "except KeyboardInterrupt: print('ended')"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    eventually(lambda: time_reached(path))
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=PATIENCE)[0] == "ended\n"
    lane = read(path).lanes[0]
    assert lane.interrupted
    assert lane.result == folded(lane)


def test_a_deadlock_is_reported_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    stuck = small(events=[{"at": 10, "remove_workers": {"count": 6}}])
    with pytest.raises(emulator.DeadlockError) as error:
        emulator.run(stuck, speed="max", record=path)
    (lane,) = read(path).lanes
    assert lane.error == str(error.value)
    assert lane.error.startswith("deadlock at ")
    assert error.value.run is not None
    assert (lane.t_end, lane.result) == (error.value.t, error.value.run.result)


# -- what is read -------------------------------------------------------------------------------------


def folded(lane: emulator.RecordedLane) -> dict[str, Any]:
    figures = Figures(lane.scenario)
    figures.add(lane.events)
    return figures.result(lane.t_end)


def outcomes(scenario: Scenario, path: Path, *, race: bool) -> list[emulator.Run]:
    if race:
        return emulator.race(scenario, speed="max", record=path, force=True, keep_events=True)
    try:
        return [emulator.run(scenario, speed="max", record=path, force=True, keep_events=True)]
    except emulator.RunError as error:
        assert error.run is not None
        return [error.run]


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(any_scenarios() | scenarios(lanes=True))
def test_what_is_read_is_what_happened(tmp_path: Path, scenario: Scenario) -> None:
    path = tmp_path / "a.jsonl.gz"
    runs = outcomes(scenario, path, race=bool(scenario.lanes))
    recording = read(path)
    assert (recording.scenario, recording.seed, recording.cut) == (scenario, scenario.seed, None)
    assert recording.is_race == bool(scenario.lanes)
    for lane, run in zip(recording.lanes, runs, strict=True):
        assert (lane.name, lane.scenario) == (run.name, run.scenario)
        assert list(lane.events) == run.events
        assert [type(event) for event in lane.events] == [type(event) for event in run.events]
        trace = TraceHash()
        trace.add(lane.events)
        assert trace.hexdigest() == lane.trace_sha256 == run.trace_sha256
        assert folded(lane) == lane.result == run.result
        assert lane.error == (None if run.error is None else str(run.error))
        check_episodes(lane, run)
    again = outcomes(emulator.load_scenario(path), path, race=bool(scenario.lanes))
    assert [run.trace_sha256 for run in again] == [run.trace_sha256 for run in runs]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_cut_anywhere_is_read_until_there(tmp_path: Path, suffix: str) -> None:
    whole, part = tmp_path / f"whole.{suffix}", tmp_path / f"part.{suffix}"
    run = emulator.run(small(duration=40), speed="max", record=whole, keep_events=True)
    data = whole.read_bytes()
    header = len(text_of(whole).split(b"\n")[0]) + 1 if suffix == "jsonl" else 700
    counts = set()
    for size in range(header, len(data) - 10, 7):
        part.write_bytes(data[:size])
        recording = read(part)
        (lane,) = recording.lanes
        n = len(lane.events)
        assert list(lane.events) == run.events[:n]
        assert recording.t_end == (run.events[n - 1].t if n else 0)
        assert recording.cut == f"{part} was cut off after line {n + 1}, at {recording.t_end:g} s"
        assert lane.result is None
        counts.add(n)
    assert len(counts) > (20 if suffix == "jsonl" else 1)


def recorded_lines(tmp_path: Path) -> list[str]:
    path = tmp_path / "good.jsonl"
    emulator.run(small(duration=60), speed="max", record=path)
    return path.read_text().splitlines()


KINDS = ", ".join([*ev.KINDS, "end"])
BROKEN: dict[str, tuple[int, str, str]] = {
    "no JSON": (4, "{]", "found a line that is not JSON; allowed: one event as a JSON object"),
    "no number": (
        4,
        '{"t":NaN,"event":"gated","worker":1}',
        "found a line that is not JSON; allowed: one event as a JSON object",
    ),
    "no object": (4, "[1]", "found a line that is no event; allowed: one event as a JSON object"),
    "blank": (4, "", "found a line that is not JSON; allowed: one event as a JSON object"),
    "unknown": (
        4,
        '{"t":0.0,"event":"nap"}',
        f'found the unknown event "nap"; allowed: {KINDS}',
    ),
    "fields": (
        4,
        '{"t":0.0,"event":"gated"}',
        "found a gated without worker; allowed: t, worker",
    ),
    "types": (
        4,
        '{"t":0.0,"event":"gated","worker":"1"}',
        'found worker "1" in a gated; allowed: a whole number from 0',
    ),
    "time": (
        -2,
        '{"t":1.5,"event":"up","worker":1}',
        "found an up at 1.5 s; allowed: a time from {t:g} s to 60 s",
    ),
    "lane": (
        4,
        '{"t":0.0,"event":"gated","worker":1,"lane":"x"}',
        'found a gated with "lane"; allowed: t, worker',
    ),
    "end": (
        4,
        '{"event":"end"}',
        "found an end without its results; allowed: the result of each lane",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_line_that_is_no_event_is_reported_with_its_number(tmp_path: Path, case: str, suffix: str) -> None:
    place, line, sentence = BROKEN[case]
    lines = recorded_lines(tmp_path)
    number = place if place > 0 else len(lines) + place + 1
    lines[number - 1] = line
    path = tmp_path / f"broken.{suffix}"
    data = "".join(f"{text}\n" for text in lines).encode()
    path.write_bytes(gzip.compress(data) if suffix == "jsonl.gz" else data)
    before = json.loads(lines[number - 2])["t"] if place < 0 else 0
    with pytest.raises(emulator.RecordingError) as error:
        read(path)
    assert str(error.value) == f"{path}:{number}: {sentence.replace('{t:g}', f'{before:g}')}"


HEADER = '{"schema":1,"emulator":"0.1.0","scenario":%s,"seed":1%s}\n'
FOREIGN: dict[str, tuple[bytes | None, str]] = {
    "missing": (None, ": found no such file; allowed: a recording (.jsonl or .jsonl.gz)"),
    "empty": (b"", ": found an empty file; allowed: a recording (.jsonl or .jsonl.gz)"),
    "values": (
        b"1.5\n2\n",
        ": found a first line that is no header of a recording; allowed: a recording (.jsonl or .jsonl.gz)",
    ),
    "binary": (
        b"\x1f\x8b\x00\x00 nothing packed",
        ": found a first line that is no header of a recording; allowed: a recording (.jsonl or .jsonl.gz)",
    ),
    "newer": (
        b'{"schema":2,"emulator":"9.1","runs":[]}\n',
        ": found schema 2, written by emulator 9.1; "
        f"allowed: up to schema 1, the newest that emulator {emulator.__version__} knows",
    ),
    "scenario": (
        (HEADER % ('{"duration":-1}', "")).encode(),
        ":1: found scenario.duration: found -1; "
        "allowed: seconds above 0, up to 1000000000, or a text like 90s, 20m or 1h30m; allowed: a scenario",
    ),
    "lanes": (
        (HEADER % (json.dumps(DOCUMENT), ',"lanes":["x"]')).encode(),
        ':1: found the lanes ["x"]; allowed: those of its scenario: ["sync \\"1\\"", "async \\u00e9"]',
    ),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_what_is_no_recording_is_reported_in_a_sentence(call: Any, tmp_path: Path, case: str) -> None:
    content, sentence = FOREIGN[case]
    path = tmp_path / "a.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(emulator.RecordingError) as error:
        read(path)
    assert str(error.value) == f"{path}{sentence}"
    assert call("run", path) == (2, "", f"{path}{sentence}\n")


def test_a_folder_is_no_recording(call: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.mkdir()
    sentence = f"{path}: found a directory; allowed: a recording (.jsonl or .jsonl.gz)"
    with pytest.raises(emulator.RecordingError, match="found a directory"):
        read(path)
    assert call("race", path) == (2, "", f"{sentence}\n")


def test_nothing_comes_after_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = recorded_lines(tmp_path)
    path.write_text("\n".join([*lines, lines[-2]]) + "\n")
    with pytest.raises(emulator.RecordingError) as error:
        read(path)
    assert str(error.value) == (
        f"{path}:{len(lines) + 1}: found a line after the end; allowed: nothing after it"
    )


# -- events and episodes in Python --------------------------------------------------------------------


def test_events_are_kept_only_where_asked_for() -> None:
    run = emulator.run(small(duration=30), speed="max")
    for name in ("events", "episodes"):
        with pytest.raises(EventsNotKeptError) as error:
            getattr(run, name)
        assert str(error.value) == "the events of this run were not kept; run it with keep_events=True"


def test_episodes_are_a_table_of_what_became_of_each() -> None:
    run = emulator.run(
        Scenario.model_validate(
            {
                "duration": 30,
                "rollout": {"workers": 2, "episode_seconds": 10},
                "trainer": {"batch_size": 2, "update_seconds": 4},
                "strategy": {"kind": "asynchronous"},
                "events": [{"at": 22, "crash": {"workers": [1], "restart_seconds": 60}}],
            }
        ),
        speed="max",
        keep_events=True,
    )
    nan = np.nan
    rows: list[tuple[Any, ...]] = [
        (0, 0, 0, 0, 10, 10, 0, 0, 0, 0, 0, 10, "trained"),
        (1, 1, 1, 0, 10, 10, 0, 0, 0, 0, 0, 10, "trained"),
        (2, 2, 0, 10, 20, 20, 0, 0, 1, 1, 1, 10, "trained"),
        (3, 3, 1, 10, 20, 20, 0, 0, 1, 1, 1, 10, "trained"),
        (4, 4, 0, 20, 30, nan, 1, 1, 2, -1, -1, 10, "queued"),
        (5, 5, 1, 20, nan, nan, 1, 1, -1, -1, -1, 10, "failed"),
        (6, 6, 0, 30, nan, nan, 2, 2, -1, -1, -1, 10, "running"),
    ]
    assert run.episodes.dtype.names is not None
    for found, expected in zip(run.episodes.tolist(), rows, strict=True):
        assert found == pytest.approx(expected, nan_ok=True)
    trained = run.episodes[run.episodes["outcome"] == "trained"]
    assert trained["staleness"].mean() == run.result["staleness"]["mean"] == 0.5


def check_episodes(lane: emulator.RecordedLane, run: emulator.Run) -> None:
    """The table amounts to the result."""
    table, counts, result = run.episodes, run.result["episodes"], run.result
    assert table.tobytes() == lane.episodes.tobytes()
    assert table["episode"].tolist() == list(range(counts["started"]))
    found = Counter(table["outcome"].tolist())
    names = {"running": "in_flight"}
    assert {names.get(name, name): n for name, n in found.items()} == {
        name: counts[name]
        for name in ("trained", "queued", "dropped", "aborted", "failed", "in_flight", "paused")
        if counts[name]
    }
    trained = table[table["outcome"] == "trained"]
    histogram = result["staleness"]["histogram"]
    assert np.bincount(trained["staleness"], minlength=len(histogram)).tolist() == histogram
    assert np.isnan(table["finished"]).sum() == counts["started"] - counts["finished"]
    in_flight = (trained["version_finished"] - trained["version_oldest"]).tolist()
    if in_flight:
        assert sum(in_flight) / len(in_flight) == result["staleness"]["in_flight_mean"]


def test_a_recording_in_which_a_line_is_missing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "whole.jsonl"
    scenario = emulator.load_scenario("stragglers", overrides=["duration=2m"])
    emulator.run(scenario, speed="max", record=path)
    lines = path.read_text().splitlines(keepends=True)
    start = next(n for n, line in enumerate(lines) if '"event":"start"' in line and '"episode":70,' in line)
    at = json.loads(lines[start + 1])["t"]
    broken = tmp_path / "broken.jsonl"
    broken.write_text("".join(lines[:start] + lines[start + 1 :]))
    with pytest.raises(emulator.RecordingError) as caught:
        emulator.read_recording(broken)
    assert str(caught.value) == (
        f"{broken}:{start + 2}: found a start at {at:g} s, but episode 70 is the next to start; "
        "allowed: what can follow the events before it, none of them missing or changed"
    )
    with pytest.raises(emulator.RecordingError, match="episode 70 is the next to start"):
        emulator.load_scenario(broken)


def test_a_lane_of_a_race_that_is_run_alone_can_be_read_and_run_again(tmp_path: Path) -> None:
    race = emulator.load_scenario("stragglers", overrides=["duration=120"])
    path = tmp_path / "lane.jsonl"
    run = emulator.run(race.lane_scenarios()[1], speed="max", record=path)
    (lane,) = read(path).lanes
    assert (lane.name, lane.result, lane.trace_sha256) == (None, run.result, run.trace_sha256)
    again = emulator.run(emulator.load_scenario(path), speed="max")
    assert again.trace_sha256 == run.trace_sha256
