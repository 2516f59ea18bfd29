"""Every value of a recording is checked by type and range when it is read."""

from pathlib import Path
from typing import Any

import pytest

import emulator
from emulator import events as ev
from emulator.recording.outcome import outcomes, outcomes_json
from emulator.recording.schema import CLOCK, FORMS, MisfitError, action
from tests.recording.files import Line, header, recorded, refusal, with_change, written

LEARN = dict.fromkeys(ev.Learn.__annotations__, 1.0) | {"event": "learn", "update": 0}

VALUES: dict[str, tuple[str, dict[str, Any], str]] = {
    "bool for a number": (
        "start",
        {"worker": True},
        "worker true in a start; allowed: a whole number from 0",
    ),
    "fraction": ("finish", {"episode": 0.5}, "episode 0.5 in a finish; allowed: a whole number from 0"),
    "text": (
        "start",
        {"duration": "1"},
        'duration "1" in a start; allowed: a finite number of seconds from 0',
    ),
    "null": ("updated", {"pushes": None}, "pushes null in an updated; allowed: true or false"),
    "negative": (
        "start",
        {"duration": -1.0},
        "duration -1.0 in a start; allowed: a finite number of seconds from 0",
    ),
    "no sum": (
        "start",
        {"duration": 1e301},
        "duration 1e+301 in a start; allowed: a finite number of seconds from 0",
    ),
    "twice": (
        "update",
        {"episodes": [0, 0]},
        "episodes [0, 0] in an update; allowed: a list of different whole numbers",
    ),
    "none": (
        "update",
        {"episodes": []},
        "episodes [] in an update; allowed: a list of different whole numbers",
    ),
    "bools in a list": (
        "update",
        {"episodes": [False, True]},
        "episodes [false, true] in an update; allowed: a list of different whole numbers",
    ),
    "time as text": ("publish", {"t": "now"}, 't "now" in a publish; allowed: a number of seconds'),
    "time beyond the end": ("publish", {"t": 61}, "a publish at 61 s; allowed: a time from 14 s to 60 s"),
    "time beyond floats": (
        "publish",
        {"t": 10**400},
        "a publish at inf s; allowed: a time from 14 s to 60 s",
    ),
    "another key": ("publish", {"x\x1b": 1}, r'a publish with "x\u001b"; allowed: t, version'),
}


@pytest.mark.parametrize("case", VALUES)
def test_a_value_of_an_event_that_cannot_be_is_named(tmp_path: Path, case: str) -> None:
    event, change, sentence = VALUES[case]
    path = tmp_path / "a.jsonl"
    said = refusal(path, with_change(recorded(path), event, lambda line: line.update(change)))
    assert said.partition(" found ")[2] == sentence


def test_causes_are_of_those_that_there_are(tmp_path: Path) -> None:
    for kind in (ev.Blocked, ev.Retry, ev.Pause, ev.Abort, ev.Fail, ev.Drop):
        form = FORMS[ev.NAMES[kind]]
        line: Line = dict.fromkeys(kind.__annotations__, 0) | {"event": ev.NAMES[kind], "cause": "<b>"}
        if kind is ev.Drop:
            line["episodes"] = [1]
        with pytest.raises(MisfitError) as error:
            form.event(line, 1)
        assert error.value.found == f'cause "<b>" in {"an" if kind is ev.Abort else "a"} {ev.NAMES[kind]}'


@pytest.mark.parametrize("name", [name for name in ev.Learn.__annotations__ if name not in ("t", "update")])
def test_what_was_learned_is_finite(name: str) -> None:
    assert FORMS["learn"].event(dict(LEARN), 1) == ev.Learn(1.0, 0, *[1.0] * 8)
    with pytest.raises(MisfitError, match=f"{name} Infinity in a learn"):
        FORMS["learn"].event({**LEARN, name: float("inf")}, 1)


def test_whole_numbers_may_stand_for_any() -> None:
    event = FORMS["start"].event(
        {"t": 1, "event": "start", "worker": 0, "episode": 0, "group": 0, "version": 0, "duration": 2}, 1
    )
    assert [type(value) for value in event] == [float, int, int, int, int, float]


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"nap": {}},
        {"<script>": {"factor": 2}},
        {"straggler": {"worker": 1, "factor": 2}},
        {"straggler": {"episode": 1, "factor": "2"}},
        {"slow": {"workers": 2, "factor": 5, "for": 60}},
        {"crash": {"workers": [1], "restart_seconds": 10**400}},
        {"remove_workers": {"count": 1}},
        {"stall_trainer": {"for": 1}, "add_workers": {"count": 1}},
        {"at": 3, "stall_trainer": {"for": 1}},
    ],
)
def test_an_injection_is_one_action_of_the_timeline_with_its_numbers_resolved(told: dict[str, Any]) -> None:
    with pytest.raises(MisfitError) as error:
        action(told)
    assert error.value.found.startswith("the injection {")


def test_an_injection_has_the_form_in_which_the_timeline_writes_it() -> None:
    told = {"slow": {"factor": 5, "workers": [1.0], "for": "1m"}}
    assert action(told) == {"slow": {"workers": [1], "factor": 5.0, "for": 60.0}}


HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "emulator": ({"emulator": 1}, "1: found header.emulator 1; allowed: a text"),
    "seed": ({"seed": True}, "1: found header.seed true; allowed: a whole number from 0"),
    "another seed": ({"seed": 2}, "1: found the seed 2; allowed: that of its scenario: 1"),
    "lanes": ({"lanes": "x"}, '1: found header.lanes "x"; allowed: a list of names'),
}


@pytest.mark.parametrize("case", HEADERS)
def test_a_header_that_cannot_be_is_refused(tmp_path: Path, case: str) -> None:
    change, sentence = HEADERS[case]
    assert refusal(tmp_path / "a.jsonl", [{**header(), **change}]) == sentence


ENDS: dict[str, tuple[dict[str, Any], str]] = {
    "clock": ({"clock": [1]}, "end.clock [1]; allowed: an object, or null"),
    "clock's values": (
        {"clock": {"worst_lag_ms": "1"}},
        'clock.worst_lag_ms "1"; allowed: a number from 0, or null',
    ),
    "speed": ({"clock": {"asked_speed": 0}}, 'clock.asked_speed 0; allowed: a number above 0, or "max"'),
    "error": ({"error": 1}, "end.error 1; allowed: a text"),
    "interrupted": ({"interrupted": 1}, "end.interrupted 1; allowed: true or false"),
    "hash": ({"trace_sha256": "x" * 64}, f'end.trace_sha256 "{"x" * 58}…; allowed: 64 hexadecimal digits'),
    "no result": ({"result": "x"}, "an end without its results; allowed: the result of each lane"),
    "no time": (
        {"result": {"emulated_seconds": None}},
        "result.emulated_seconds null; allowed: a number from 60 to 60, the emulated seconds at its end",
    ),
    "a time before its events": (
        {"result": {"emulated_seconds": 1}},
        "result.emulated_seconds 1; allowed: a number from 60 to 60, the emulated seconds at its end",
    ),
}


@pytest.mark.parametrize("case", ENDS)
def test_an_end_that_cannot_be_is_refused(tmp_path: Path, case: str) -> None:
    change, sentence = ENDS[case]
    path = tmp_path / "a.jsonl"
    lines = recorded(path)
    said = refusal(path, with_change(lines, "end", lambda line: line.update(change)))
    assert said == f"{len(lines)}: found {sentence}"


@pytest.mark.parametrize("result", [{}, {"updates": "<script>"}, {"emulated_seconds": 60, "episodes": None}])
def test_the_figures_are_those_of_the_events_whatever_the_end_says_of_them(
    tmp_path: Path, result: dict[str, Any]
) -> None:
    path = tmp_path / "a.jsonl"
    lines = recorded(path)
    whole = lines[-1]["result"]
    told = with_change(lines, "end", lambda line: line.update(result=result))
    recording = emulator.read_recording(written(path, told))
    assert recording.lanes[0].result == whole
    assert outcomes_json(recording)["result"] == whole


def test_an_end_may_lack_what_an_older_emulator_did_not_write(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = with_change(recorded(path), "end", lambda line: (line.pop("trace_sha256"), line.pop("clock")))
    (run,) = outcomes(emulator.read_recording(written(path, lines)))
    assert (run.clock.achieved_speed, run.clock.wall_seconds) == (None, 0.0)
    again = emulator.run(emulator.load_scenario(path), speed="max")
    assert run.trace_sha256 == again.trace_sha256
    assert set(CLOCK) == set(vars(run.clock))


def test_an_error_is_one_printable_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = with_change(recorded(path), "end", lambda line: line.update(error="\x1b[2J\n" + "x" * 5000))
    (lane,) = emulator.read_recording(written(path, lines)).lanes
    assert lane.error is not None
    assert lane.error.startswith(r"\x1b[2J\nxxx")
    assert len(lane.error) == 2000
