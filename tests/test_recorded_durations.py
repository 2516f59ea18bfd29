"""Recordings of runs whose durations came from files: they need none of them any more."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emulator
from emulator.cli import main
from emulator.exports import export
from emulator.recording import durations, read
from emulator.recording.outcome import outcomes
from emulator.scenario import Scenario
from emulator.theory import expected, limits


def traced(path: Path, **changes: Any) -> Scenario:
    trace = {"kind": "trace", "path": str(path)}
    document = {
        "duration": 300,
        "rollout": {"workers": 4, "episode_seconds": {**trace, "order": "resample"}},
        "trainer": {"batch_size": 4, "update_seconds": {**trace, "scale": 0.1}},
        "strategy": {"kind": "asynchronous"},
        "lanes": [{"name": "sync", "strategy": {"kind": "synchronous"}}, {"name": "async"}],
    }
    return Scenario.model_validate({**document, **changes})


@pytest.fixture
def values(tmp_path: Path) -> Path:
    path = tmp_path / "values.txt"
    path.write_text("".join(f"{n}\n" for n in np.random.default_rng(1).lognormal(3, 1, 500)))
    return path


def header_of(path: Path) -> dict[str, Any]:
    header = json.loads(path.read_text().split("\n", 1)[0])
    assert isinstance(header, dict)
    return header


def put_header(path: Path, header: dict[str, Any]) -> None:
    path.write_text(json.dumps(header) + "\n" + path.read_text().split("\n", 1)[1])


def told(path: Path) -> str:
    with pytest.raises(emulator.RecordingError) as error:
        read(path)
    return str(error.value)


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
@pytest.mark.parametrize("contents", [None, "1\n2\n", "no durations\n"])
def test_a_recording_runs_again_without_its_file_or_after_that_has_changed(
    tmp_path: Path, values: Path, suffix: str, contents: str | None
) -> None:
    path, again = tmp_path / f"a.{suffix}", tmp_path / f"again.{suffix}"
    first = emulator.race(traced(values), speed="max", record=path)
    values.unlink() if contents is None else values.write_text(contents)
    for recorded in (path, again):
        loaded = emulator.load_scenario(recorded)
        assert loaded.resolved() | {"lanes": []} == traced_resolved(first[0].scenario, loaded)
        runs = emulator.race(loaded, speed="max", record=again if recorded == path else None)
        assert [run.trace_sha256 for run in runs] == [run.trace_sha256 for run in first]


def traced_resolved(one: Scenario, loaded: Scenario) -> dict[str, Any]:
    return one.resolved() | {"lanes": [], "strategy": loaded.strategy.model_dump(mode="json")}


def test_a_recording_is_shown_without_its_file_as_it_was_with_it(tmp_path: Path, values: Path) -> None:
    path = tmp_path / "a.jsonl"
    emulator.race(traced(values), speed="max", record=path)
    shown = {}
    for time in ("with", "without"):
        for suffix in ("svg", "html", "cast", "json", "csv"):
            to = tmp_path / f"{time}.{suffix}"
            export(path, to)
            shown[time, suffix] = to.read_bytes()
        shown[time, "theory"] = repr([expected(run.scenario) for run in outcomes(read(path))]).encode()
        values.unlink(missing_ok=True)
    for suffix in ("svg", "html", "cast", "json", "csv", "theory"):
        assert shown["with", suffix] == shown["without", suffix]


def test_the_values_stand_once_in_the_header_with_their_hash(tmp_path: Path, values: Path) -> None:
    copy = tmp_path / "copy.csv"
    copy.write_text("seconds\n" + values.read_text())
    lane = {"rollout": {"episode_seconds": {"kind": "trace", "path": str(copy), "column": "seconds"}}}
    mixture = {
        "kind": "mixture",
        "components": [
            {"weight": 1, "distribution": {"kind": "trace", "path": str(values)}},
            {"weight": 1, "distribution": 3},
        ],
    }
    scenario = traced(
        values, lanes=[{"name": "a"}, {"name": "b", **lane}], environment={"reset_seconds": mixture}
    )
    path = tmp_path / "a.jsonl"
    emulator.race(scenario, speed="max", record=path)
    first, second = header_of(path)["traces"]
    assert (first["path"], first["column"], first["values"]) == (str(values), None, 500)
    assert (second["path"], second["column"], second["values"]) == (str(copy), "seconds", 500)
    assert first["sha256"] == second["sha256"]
    assert "data" not in second
    raw = zlib.decompress(base64.b64decode(first["data"]))
    assert np.frombuffer(raw, "<f8").tolist() == [float(line) for line in values.read_text().split()]
    assert read(path).scenario == scenario


def test_a_recording_without_files_has_no_traces(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    emulator.run(traced(tmp_path, rollout={"workers": 4, "episode_seconds": 9}, trainer=TRAINER), record=path)
    assert "traces" not in header_of(path)


TRAINER = {"batch_size": 4, "update_seconds": 1}


def test_values_that_are_not_those_that_were_written_are_refused(tmp_path: Path, values: Path) -> None:
    path = tmp_path / "a.jsonl"
    emulator.run(traced(values), speed="max", record=path)
    header = header_of(path)
    entry = header["traces"][0]

    def packed(numbers: list[float]) -> str:
        return base64.b64encode(zlib.compress(np.array(numbers, "<f8").tobytes())).decode()

    for change, found in [
        ({"values": 499}, "data of another length"),
        ({"values": 501}, "data of another length"),
        ({"values": 10**12}, "other values"),
        ({"values": True}, "other values"),
        ({"sha256": "0" * 64}, "values of another SHA-256"),
        ({"sha256": 7}, "other values"),
        ({"path": 7}, "other values"),
        ({"column": []}, "other values"),
        ({"data": "AAAA"}, "data that cannot be unpacked"),
        ({"data": "A"}, "data that cannot be unpacked"),
        ({"data": 99}, "other values"),
        ({"data": packed([1.0] * 500)}, "values of another SHA-256"),
        ({"data": packed([-1.0] * 500)}, "values that are not from 0 to 1000000000"),
        ({"data": packed([float("nan")] * 500)}, "values that are not from 0 to 1000000000"),
    ]:
        put_header(path, {**header, "traces": [{**entry, **change}]})
        assert told(path).startswith(f"{path}:1: found traces.0 with {found}; allowed: ")
    for traces in (7, "x", {}):
        put_header(path, {**header, "traces": traces})
        assert told(path).startswith(f"{path}:1: found traces that are no list; allowed: ")


def test_what_is_packed_small_does_not_become_large(tmp_path: Path, values: Path) -> None:
    path = tmp_path / "a.jsonl"
    emulator.run(traced(values), speed="max", record=path)
    header = header_of(path)
    bomb = base64.b64encode(zlib.compress(bytes(1 << 24))).decode()
    header["traces"][0]["data"] = bomb
    put_header(path, header)
    assert "data of another length" in told(path)


def test_more_values_than_a_recording_holds_are_refused_before_the_run(
    tmp_path: Path, values: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    emulator.run(traced(values), speed="max", record=path)
    monkeypatch.setattr(durations, "MAX_VALUES", 499)
    assert "traces.0 with other values" in told(path)
    with pytest.raises(emulator.RecordingError, match="found traces of more than 499 values in all"):
        emulator.run(traced(values), speed="max", record=tmp_path / "b.jsonl")
    assert not (tmp_path / "b.jsonl").exists()


# -- recordings that do not hold them ------------------------------------------------------------------


@pytest.fixture
def old(tmp_path: Path, values: Path) -> Path:
    """A recording of a version that did not keep the durations."""
    path = tmp_path / "folder" / "old.jsonl"
    path.parent.mkdir()
    emulator.race(traced(values), speed="max", record=path)
    header = header_of(path)
    del header["traces"]
    put_header(path, header)
    return path


def test_an_older_recording_is_replayed_without_its_file(old: Path, values: Path, tmp_path: Path) -> None:
    values.unlink()
    recording = read(old)
    for lane in recording.lanes:
        assert expected(lane.scenario) == limits(lane.scenario) == {}
        with pytest.raises(emulator.EmulatorError, match="does not hold the durations of"):
            emulator.run(lane.scenario, speed="max")
    for suffix in ("svg", "html", "cast", "json", "csv"):
        export(old, tmp_path / f"x.{suffix}")
        assert (tmp_path / f"x.{suffix}").stat().st_size
    with pytest.raises(SystemExit) as ended:
        main(["replay", str(old)])
    assert not ended.value.code


def test_what_a_recording_names_is_not_opened_to_show_it(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = old.read_text().replace("values.txt", "secret.txt")
    old.write_text(header)
    (tmp_path / "secret.txt").write_text("hunter2\n")
    with pytest.raises(SystemExit) as ended:
        main(["replay", str(old)])
    assert not ended.value.code
    assert "hunter2" not in "".join(capsys.readouterr())


def test_an_older_recording_runs_again_from_its_own_folder_or_where_that_is_allowed(
    old: Path, values: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(emulator.ScenarioError) as error:
        emulator.load_scenario(old)
    assert str(error.value).split("\n")[0] == (
        f"{old}: rollout.episode_seconds.path: found {values}, which only the recording names; "
        "allowed: a file below the recording's own folder, or run and race with --allow-files "
        "(allow_files=True in Python)"
    )
    recorded = [lane.trace_sha256 for lane in read(old).lanes]
    above = old.rename(tmp_path / "above.jsonl")
    for loaded in (emulator.load_scenario(above), emulator.load_scenario(above, allow_files=True)):
        assert [run.trace_sha256 for run in emulator.race(loaded, speed="max")] == recorded
    below = above.rename(old)
    for options, code in ([], 2), (["--allow-files"], 0):
        with pytest.raises(SystemExit) as ended:
            main(["race", str(below), "--speed", "max", "--quiet", *options])
        assert (ended.value.code or 0) == code
    capsys.readouterr()


def test_a_link_out_of_the_folder_is_not_below_it(old: Path, values: Path) -> None:
    link = old.parent / "link.txt"
    link.symlink_to(values)
    old.write_text(old.read_text().replace(str(values), str(link)))
    with pytest.raises(emulator.ScenarioError, match=r"link\.txt, which only the recording names"):
        emulator.load_scenario(old)


def test_a_file_that_an_option_names_may_be_anywhere(old: Path, values: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("7\n")
    trace = f"{{kind: trace, path: {other}}}"
    loaded = emulator.load_scenario(
        old,
        overrides=[f"rollout.episode_seconds={trace}", f"trainer.update_seconds={trace}", "lanes=[]"],
    )
    assert loaded.rollout.episode_seconds.mean() == 7
    with pytest.raises(emulator.ScenarioError, match="which only the recording names"):
        emulator.load_scenario(old, overrides=["rollout.episode_seconds.column=2"])


def test_a_recording_whose_lists_are_long_runs_again(tmp_path: Path) -> None:
    slow = {"slow": {"workers": 1000, "factor": 2, "for": 0.5}}
    scenario = Scenario.model_validate(
        {
            "duration": 60,
            "rollout": {"workers": 1000, "episode_seconds": 50},
            "trainer": {"batch_size": 1000, "update_seconds": 1},
            "strategy": {"kind": "asynchronous"},
            "events": [{"at": n, **slow} for n in range(55)],
            "lanes": [{"name": "a"}, {"name": "b", "trainer": {"update_seconds": 2}}],
        }
    )
    path = tmp_path / "a.jsonl"
    first = emulator.race(scenario, speed="max", record=path)
    again = emulator.load_scenario(path, overrides=["events.3.slow.factor=2", "name=again"])
    assert again.name == "again"
    assert [r.trace_sha256 for r in emulator.race(again, speed="max")] == [r.trace_sha256 for r in first]
    with pytest.raises(emulator.ScenarioError) as error:
        emulator.load_scenario(path, overrides=["rollout.wokers=1"])
    assert [(p.file, p.line, p.hint) for p in error.value.problems] == [
        ("--set rollout.wokers", None, 'did you mean "workers"?')
    ]


def test_a_sweep_of_a_recording_runs_what_that_holds(tmp_path: Path, values: Path) -> None:
    path = tmp_path / "a.jsonl"
    first = emulator.run(traced(values), speed="max", record=path)
    values.write_text("1\n")
    table = emulator.sweep(emulator.load_scenario(path), {"rollout.workers": [4, 5]}, seeds=1, jobs=1)
    assert table.rows[0]["trace_sha256"] == first.trace_sha256
