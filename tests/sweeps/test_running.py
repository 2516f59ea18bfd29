"""Sweeps in this process and in two: rows, order, failures, and going on after an interruption."""

import csv
import json
import os
import pickle
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emulator
from emulator.cli import main
from emulator.errors import SweepBrokenError, SweepError
from emulator.figures.result import flat
from emulator.sweeps import Sweep, SweepInterrupted, backends, resume, sweep
from emulator.sweeps.jobs import Job, make_jobs, run_job
from tests.sweeps.small import small

VARY = {"rollout.workers": [4, 6], "strategy": ["synchronous", "asynchronous"]}
FILES = ("sweep.json", "scenario.json", "runs.csv", "summary.csv")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sweep, Path]]:
    """A sweep of 12 runs, and its directory."""
    path = tmp_path_factory.mktemp("whole") / "out"
    yield sweep(small(), VARY, seeds=3, jobs=1, out=path), path


def _files(path: Path) -> dict[str, bytes]:
    return {name: (path / name).read_bytes() for name in FILES}


def test_a_row_is_what_the_run_alone_gives(whole: tuple[Sweep, Path]) -> None:
    table, _ = whole
    assert [row["run"] for row in table.rows] == list(range(12))
    row = table.rows[10]
    assert (row["rollout.workers"], row["strategy"], row["seed"]) == (6, "asynchronous", 2)
    scenario = table.points[3].scenario
    assert scenario is not None
    run = emulator.run(scenario, speed="max", seed=2)
    figures = dict(flat(run.result))
    assert figures["workers.seconds.generating"] == run.result["workers"]["seconds"]["generating"]
    assert row == {
        **{"run": 10, "rollout.workers": 6, "strategy": "asynchronous", "seed": 2, "error": None},
        **figures,
        "trace_sha256": run.trace_sha256,
    }


def test_two_processes_make_the_same_rows(whole: tuple[Sweep, Path], tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    table = sweep(
        small(), VARY, seeds=3, jobs=2, out=tmp_path / "out", progress=lambda *done: told.append(done)
    )
    assert table.rows == whole[0].rows
    assert _files(tmp_path / "out") == _files(whole[1])
    assert told[0] == (0, 12)
    assert told[-1] == (12, 12)
    assert told == sorted(told)


def test_seeds_may_be_named() -> None:
    table = sweep(small(), {"rollout.workers": [4]}, seeds=[9, 2], jobs=1)
    assert table.column("seed") == [9, 2]
    assert table.rows[1]["trace_sha256"] == emulator.run(small(), speed="max", seed=2).trace_sha256


def test_a_run_that_deadlocks_is_a_row_with_its_error() -> None:
    events = [[], [{"at": 10, "remove_workers": {"count": 4}}]]
    table = sweep(small(), {"events": events}, seeds=2, jobs=1)
    assert [row["error"] is None for row in table.rows] == [True, True, False, False]
    failed = table.rows[2]
    assert failed["error"].startswith("deadlock at 10 s: ")
    assert failed["updates"] is None
    assert failed["trace_sha256"] is None
    assert list(failed) == list(table.rows[0])


def test_a_point_whose_scenario_is_refused_is_a_row_with_its_error() -> None:
    table = sweep(small(), {"rollout.group_size": [1, 3]}, seeds=2, jobs=1)
    assert [row["error"] is None for row in table.rows] == [True, True, False, False]
    assert "--vary rollout.group_size: found 3" in table.rows[3]["error"]


def test_no_text_in_the_files_is_a_formula_and_all_is_read_back_as_it_was(tmp_path: Path) -> None:
    names = ["=1+1", "@x", "plain"]
    axes = {"name": names, "rollout.group_size": [1, 3]}
    table = sweep(small(), axes, seeds=1, jobs=1, out=tmp_path / "out")
    with (tmp_path / "out" / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["'=1+1", "'=1+1", "'@x", "'@x", "plain", "plain"]
    assert rows[1]["error"].startswith("'--vary rollout.group_size: ")
    with (tmp_path / "out" / "summary.csv").open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == [row["name"] for row in rows]
    assert resume(tmp_path / "out", jobs=1).rows == table.rows
    assert [row["name"] for row in table.rows] == [name for name in names for _ in range(2)]


def test_the_files_hold_every_figure_of_every_run(whole: tuple[Sweep, Path]) -> None:
    table, path = whole
    with (path / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["run"]) for row in rows] == list(range(12))
    for told, row in zip(rows, table.rows, strict=True):
        assert list(told) == list(row)
        assert json.loads(told["staleness.histogram"]) == row["staleness.histogram"]
        assert float(told["updates_per_hour"]) == row["updates_per_hour"]
        assert told["error"] == ""
        assert told["trace_sha256"] == row["trace_sha256"]
    with (path / "summary.csv").open(newline="") as file:
        points = list(csv.DictReader(file))
    means = [float(point["updates.mean"]) for point in points]
    assert means == [sum(row["updates"] for row in table.at(point)) / 3 for point in range(4)]


def test_rows_from_before_a_figure_was_kept_are_gone_on_with_and_lack_it(
    whole: tuple[Sweep, Path], tmp_path: Path
) -> None:
    table, path = whole
    older = tmp_path / "older"
    shutil.copytree(path, older)
    with (older / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (older / "runs.csv").open("w", newline="") as file:
        names = [name for name in rows[0] if name != "queue.max"]
        lines = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        lines.writeheader()
        lines.writerows(rows[:-1])
    again = resume(older, jobs=1)
    assert again.rows == [row | {"queue.max": None} for row in table.rows[:-1]] + table.rows[-1:]
    assert [point["queue.max.n"] for point in again.summary()] == [0, 0, 0, 1]


def test_the_scenario_that_is_kept_is_the_scenario(whole: tuple[Sweep, Path]) -> None:
    assert emulator.load_scenario(whole[1] / "scenario.json") == small(seed=1)


def test_the_command_that_is_kept_makes_the_same_files(
    whole: tuple[Sweep, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, path = whole
    words = shlex.split((path / "command.txt").read_text())
    assert words[:2] == ["emulator", "sweep"]
    assert words[-2:] == ["--out", str(path)]
    with pytest.raises(SystemExit) as ended:
        main([*words[1:-1], str(tmp_path / "again"), "--quiet", "--json", "--jobs", "1"])
    assert ended.value.code == 0
    assert _files(tmp_path / "again") == _files(path)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == whole[0].rows


def _interrupt_at(count: int) -> Any:
    def tell(done: int, runs: int) -> None:
        if done >= count:
            raise KeyboardInterrupt

    return tell


@pytest.mark.parametrize("count", [0, 1, 5, 11])
def test_an_interrupted_sweep_keeps_what_is_done_and_goes_on(
    whole: tuple[Sweep, Path], tmp_path: Path, count: int
) -> None:
    table, path = whole
    with pytest.raises(SweepInterrupted) as caught:
        sweep(small(), VARY, seeds=3, jobs=1, out=tmp_path / "out", progress=_interrupt_at(count))
    part = caught.value.sweep
    assert part.interrupted
    # The seeds of a job come together.
    kept = len(part.rows)
    assert count <= kept < count + 5
    assert part.rows == table.rows[:kept]
    assert len(part.summary()) == 4
    seen: list[int] = []
    again = resume(tmp_path / "out", jobs=1, progress=lambda done, runs: seen.append(done))
    assert seen[0] == kept
    assert again.rows == table.rows
    assert not again.interrupted
    assert _files(tmp_path / "out") == _files(path)


@settings(max_examples=20)
@given(st.data())
def test_a_table_cut_or_damaged_anywhere_is_made_whole(
    whole: tuple[Sweep, Path], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    _, path = whole
    text = (path / "runs.csv").read_bytes()
    out = tmp_path_factory.mktemp("cut")
    cut = data.draw(st.integers(0, len(text)))
    damage = data.draw(st.sampled_from([b"", b"\n", b"\x00\xff\n", b'"', b"7,4\n", text[:500]]))
    for name in ("sweep.json", "scenario.json", "command.txt"):
        (out / name).write_bytes((path / name).read_bytes())
    (out / "runs.csv").write_bytes(text[:cut] + damage)
    table = resume(out, jobs=1)
    assert table.rows == whole[0].rows
    assert _files(out) == _files(path)


def test_a_sweep_that_is_done_is_only_reported_again(whole: tuple[Sweep, Path]) -> None:
    table, path = whole
    before = _files(path)
    assert sweep(small(), VARY, seeds=3, jobs=1, out=path).rows == table.rows
    assert _files(path) == before


@pytest.mark.parametrize(
    ("scenario", "vary", "seeds"),
    [
        (small(), VARY, 4),
        (small(duration=61), VARY, 3),
        (small(), {"rollout.workers": [4, 7], "strategy": VARY["strategy"]}, 3),
        (small(), {"rollout.workers": [4, 6]}, 3),
    ],
)
def test_the_directory_of_another_sweep_is_refused(
    whole: tuple[Sweep, Path], scenario: emulator.Scenario, vary: dict[str, list[Any]], seeds: int
) -> None:
    before = _files(whole[1])
    with pytest.raises(SweepError, match="found another sweep; allowed: a new or an empty directory"):
        sweep(scenario, vary, seeds=seeds, jobs=1, out=whole[1])
    assert _files(whole[1]) == before


def test_a_directory_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine")
    with pytest.raises(SweepError, match=r"found other files and no sweep\.json"):
        sweep(small(), VARY, seeds=1, jobs=1, out=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_what_cannot_be_written_or_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SweepError, match="cannot be kept there"):
        sweep(small(), VARY, seeds=1, jobs=1, out=tmp_path / "file" / "out")
    with pytest.raises(SweepError, match="found no directory"):
        resume(tmp_path / "nowhere")


def test_too_little_memory_in_a_process_ends_a_sweep_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_little(work: object) -> None:
        raise MemoryError

    monkeypatch.setattr(backends, "_as_they_end", too_little)
    with pytest.raises(SweepBrokenError) as broken:
        sweep(small(), VARY, seeds=1, jobs=1)
    assert str(broken.value).startswith("a process of the sweep had too little memory: 0 of ")
    assert "and none is kept without --out DIR; begin again with it" in str(broken.value)
    assert str(pickle.loads(pickle.dumps(broken.value))) == str(broken.value)
    with pytest.raises(SweepBrokenError, match="are kept; go on with emulator sweep --resume"):
        sweep(small(), VARY, seeds=1, jobs=1, out=tmp_path / "out")
    monkeypatch.undo()
    assert len(resume(tmp_path / "out", jobs=1).rows) == broken.value.runs


def test_a_disk_that_is_full_is_reported_and_blocks_nothing_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patched:

        def full(path: Path, text: str) -> None:
            (out / ".sweep.json.new").write_text(text[:9])
            raise OSError(28, "No space left on device")

        patched.setattr("emulator.sweeps.files._replace", full)
        with pytest.raises(SweepError, match="cannot be kept there: No space left on device"):
            sweep(small(), VARY, seeds=1, jobs=1, out=out)
    assert [path.name for path in out.iterdir()] == [".sweep.json.new"]
    table = sweep(small(), VARY, seeds=1, jobs=1, out=out)
    assert resume(out, jobs=1).rows == table.rows


def test_two_sweeps_do_not_run_in_one_directory(tmp_path: Path) -> None:
    out = tmp_path / "out"
    told: list[str] = []

    def begin_another(done: int, runs: int) -> None:
        for begin in (lambda: sweep(small(), VARY, seeds=1, jobs=1, out=out), lambda: resume(out, jobs=1)):
            with pytest.raises(SweepError) as error:
                begin()
            told.append(str(error.value))

    table = sweep(small(), VARY, seeds=1, jobs=1, out=out, progress=begin_another)
    assert set(told) == {
        f"{out}: found a sweep that another process runs there; allowed: a directory of its own for each, or "
        "this one when that has ended"
    }
    assert resume(out, jobs=1).rows == table.rows


def _with(path: Path, out: Path, **changes: Any) -> Path:
    out.mkdir()
    document = json.loads((path / "sweep.json").read_text()) | changes
    (out / "sweep.json").write_text(json.dumps(document))
    return out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"emulator": "9.9"}, "found a sweep of emulator 9.9; allowed: one of this version"),
        ({"schema": 2}, "found a file of schema 2; allowed: schema 1, which this version"),
        ({"schema": None}, "found a file of schema null"),
        ({"traces": 3}, "is damaged: its traces are no mapping"),
        ({"scenario": "small"}, r"sweep\.json is damaged: scenario: found"),
        (
            {"scenario": {"trainer": 3}},
            r"sweep\.json is damaged: .*scenario\.trainer: found 3; allowed: a mapping",
        ),
        ({"vary": {"rollout.workers": [4, 5]}}, "found another grid than the sweep began with"),
        ({"sha256": None}, "found another grid than the sweep began with"),
        ({"seeds": None}, "is damaged"),
        ({"scenario": {}}, "is damaged"),
        ({"vary": {"rollout.workers": 3}}, "is damaged"),
    ],
)
def test_a_grid_of_another_version_or_damaged_is_refused(
    whole: tuple[Sweep, Path], tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(SweepError, match=message):
        resume(_with(whole[1], tmp_path / "out", **changes))


def test_a_grid_that_was_edited_is_refused_and_no_file_is_touched(
    whole: tuple[Sweep, Path], tmp_path: Path
) -> None:
    _, path = whole
    document = json.loads((path / "sweep.json").read_text())
    out = _with(path, tmp_path / "out", scenario=document["scenario"] | {"duration": 61})
    (out / "runs.csv").write_bytes((path / "runs.csv").read_bytes())
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    with pytest.raises(
        SweepError, match=r"out/sweep\.json: found another grid .*; undo the change, or begin"
    ):
        resume(out)
    with pytest.raises(SweepError, match="found another grid than"):
        sweep(small(duration=61), VARY, seeds=3, jobs=1, out=out)
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before


def test_a_grid_laid_out_anew_is_the_same(whole: tuple[Sweep, Path], tmp_path: Path) -> None:
    out = _with(whole[1], tmp_path / "out")  # without indentation
    (out / "runs.csv").write_bytes((whole[1] / "runs.csv").read_bytes())
    assert resume(out, jobs=1).rows == whole[0].rows


@pytest.mark.parametrize("depth", [2_000, 100_000])
def test_a_grid_that_is_nested_too_deeply_is_refused(tmp_path: Path, depth: int) -> None:
    (tmp_path / "sweep.json").write_text("[" * depth)
    with pytest.raises(SweepError, match=r"sweep\.json is damaged"):
        resume(tmp_path)


@pytest.mark.parametrize("change", ["2\n2\n", None])
@pytest.mark.parametrize("varied", [True, False])
def test_a_sweep_does_not_go_on_with_other_durations(
    tmp_path: Path, varied: bool, change: str | None
) -> None:
    trace = tmp_path / "a.txt"
    trace.write_text("1\n2\n")
    durations = {"kind": "trace", "path": str(trace)}
    scenario = small() if varied else small(rollout={"workers": 4, "episode_seconds": durations})
    vary = {"rollout.episode_seconds": [durations]} if varied else {"rollout.workers": [4]}
    out = tmp_path / "out"
    with pytest.raises(SweepInterrupted):
        sweep(scenario, vary, seeds=6, jobs=1, out=out, progress=_interrupt_at(1))
    kept = (out / "runs.csv").read_bytes()
    trace.unlink()
    if change is not None:
        trace.write_text(change)
        os.utime(trace, (0, 0))
    with pytest.raises(SweepError, match=r"a\.txt: found .*; restore that, or begin a new sweep") as refused:
        resume(out, jobs=1)
    # printf '1\n2\n' | sha256sum
    assert "(a6e2b7a040683432de03a18fd8a1939a2fdf82585b364bfc874bdd4095c4cae1)" in str(refused.value)
    assert (out / "runs.csv").read_bytes() == kept
    trace.write_text("1\n2\n")
    assert len(resume(out, jobs=1).rows) == 6


def test_no_name_is_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SweepError, match="found no name of a directory"):
        sweep(small(), VARY, seeds=1, jobs=1, out="")
    with pytest.raises(SweepError, match="found no name of a directory"):
        resume("")
    assert not list(tmp_path.iterdir())


def test_a_backend_or_a_number_of_jobs_that_is_none_is_refused() -> None:
    with pytest.raises(SweepError, match="found the backend cloud; allowed: local, dask, ray"):
        sweep(small(), VARY, seeds=1, backend="cloud")  # type: ignore[arg-type]
    with pytest.raises(SweepError, match="found 0 jobs"):
        sweep(small(), VARY, seeds=1, jobs=0)


def test_a_job_and_its_rows_can_be_sent_to_another_process() -> None:
    job = Job(0, small(), (1, 2))
    sent, rows = pickle.loads(pickle.dumps(run_job(pickle.loads(pickle.dumps(job)))))
    assert sent == job
    assert [row["trace_sha256"] for row in rows] == [
        emulator.run(small(), speed="max", seed=seed).trace_sha256 for seed in (1, 2)
    ]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.integers(1, 8))
def test_jobs_divide_the_seeds_and_are_many_enough_for_all_processes(
    counts: list[int], processes: int
) -> None:
    scenario = small()
    wanted = [(point, scenario, list(range(count))) for point, count in enumerate(counts)]
    jobs = make_jobs(wanted, processes)
    for point, count in enumerate(counts):
        assert [seed for job in jobs if job.point == point for seed in job.seeds] == list(range(count))
    assert all(1 <= len(job.seeds) <= 5 for job in jobs)
    assert len(jobs) >= min(sum(counts), 4 * processes)


def test_a_command_names_seeds_that_do_not_follow_each_other(tmp_path: Path) -> None:
    sweep(
        small(), ["strategy={kind: asynchronous, max_staleness: 1}"], seeds=[3, 1], jobs=1, out=tmp_path / "o"
    )
    words = shlex.split((tmp_path / "o" / "command.txt").read_text())
    assert words[3:7] == [
        "--vary",
        'strategy={"kind": "asynchronous", "max_staleness": 1}',
        "--seeds",
        "3,1",
    ]
    assert re.fullmatch(re.escape(os.fspath(tmp_path)) + "/o/scenario.json", words[2])


def test_a_command_names_traces_by_absolute_paths(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n")
    vary = {"rollout.episode_seconds": [{"kind": "trace", "path": "a.txt"}], "trainer.update_seconds": [1]}
    table = sweep(small(), vary, seeds=1, jobs=1, out=tmp_path / "o", folder=str(tmp_path))
    assert table.rows[0]["rollout.episode_seconds"] == "trace path=a.txt"
    assert resume(tmp_path / "o", jobs=1).rows == table.rows
    words = shlex.split((tmp_path / "o" / "command.txt").read_text())
    assert json.loads(words[4].partition("=")[2])["path"] == str(tmp_path / "a.txt")
