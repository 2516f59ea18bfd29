"""The sweep command: what it prints, its exit codes, and how signals end it."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import emulator
from emulator.cli import main
from emulator.sweeps.files import Directory, read_grid
from tests.patience import PATIENCE, eventually

SMALL = """
name: small
duration: 60
rollout: {workers: 4, episode_seconds: {kind: lognormal, median: 5, sigma: 0.5}}
trainer: {batch_size: 4, update_seconds: 2}
strategy: {kind: asynchronous}
"""
COMMAND = [sys.executable, "-m", "emulator", "sweep"]
ENDLESS = ["--vary", "duration=60,1e9", "--seeds", "2"]


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "file.yaml"
    path.write_text(SMALL)
    return str(path)


def _sweep(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["sweep", *words])
    told = capsys.readouterr()
    code = ended.value.code
    return int(code or 0), told.out, told.err


def test_a_table_and_charts_without_control_codes(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _sweep(
        capsys, small, "--vary", "rollout.workers=4:12:3", "--vary", "strategy=synchronous,asynchronous",
        "--seeds", "3", "--jobs", "1",
    )  # fmt: skip
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("sweep: small  6 points, 3 seeds (1 to 3)")
    assert sum("±" in line and line.split()[0] in ("4", "8", "12") for line in lines[:12]) == 6
    assert len(lines) > 30
    assert "\x1b" not in out + err
    assert "18 of 18 runs" in err


def test_json_is_a_line_for_each_run_and_nothing_else(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _sweep(
        capsys, small, "--vary", "rollout.workers=4,8", "--seed", "7", "--seeds", "2", "--json", "--quiet",
        "--jobs", "1", "--set", "trainer.update_seconds=1",
    )  # fmt: skip
    assert (code, err) == (0, "")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["rollout.workers"], row["seed"]) for row in rows] == [(4, 7), (4, 8), (8, 7), (8, 8)]
    scenario = emulator.load_scenario(
        small, overrides=["trainer.update_seconds=1", "rollout.workers=8"], seed=8
    )
    assert rows[3]["trace_sha256"] == emulator.run(scenario, speed="max").trace_sha256


def test_failed_runs_among_others_leave_the_code_0_and_alone_make_it_1(
    small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    leave = "[{at: 10s, remove_workers: {count: 4}}]"
    code, out, _ = _sweep(
        capsys, small, "--vary", f"events=[],{leave}", "--seeds", "1", "--quiet", "--jobs", "1"
    )
    assert code == 0
    assert "1 failed: deadlock at 10 s" in out
    code, out, err = _sweep(
        capsys, small, "--vary", f"events={leave}", "--seeds", "1", "--quiet", "--jobs", "1", "--json"
    )
    assert code == 1
    assert json.loads(out)["error"].startswith("deadlock at 10 s")
    assert "1 failed: deadlock at 10 s" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["FILE", "--vary", "rollout.wrkers=1"], 'did you mean "workers"?'),
        (["FILE"], "found nothing to vary"),
        (["FILE", "--vary", "rollout.workers=1:9:4"], "at every step of a range"),
        (["FILE", "--vary", "rollout.workers=1", "--vary", "rollout.workers=2"], "found the same path again"),
        (["FILE", "--vary", "rollout.workers=1", "--seeds", "many"], "found many; allowed: how many"),
        (["FILE", "--vary", "rollout.workers=1", "--seeds", "0"], "found 0 seeds"),
        (["FILE", "--vary", "rollout.workers=1", "--seed", "1", "--seeds", "1,2"], "names all seeds already"),
        (["FILE", "--vary", "rollout.workers=1", "--jobs", "0"], "found 0 jobs"),
        (["FILE", "--vary", "rollout.workers=1", "--address", "a:1"], "needs --backend dask or ray"),
        (["stragler", "--vary", "rollout.workers=1"], 'did you mean "stragglers"?'),
        ([], "a scenario, or --resume DIR"),
        (["FILE", "--resume", "there", "--seeds", "3"], "leave out SCENARIO, --seeds"),
        (
            ["FILE", "--vary", "rollout.workers=8:1e999999999:3"],
            "found 1e999999999; allowed: ends of a range",
        ),
        (["FILE", "--vary", "rollout.workers=1", "--out", ""], "found no name of a directory"),
        (["--resume", ""], "found no name of a directory"),
        (["--resume", "/nowhere"], "/nowhere: found no directory"),
        (["FILE", "--vary", "rollout.workers=1", "--out", "/dev/null/out"], "cannot be kept there"),
    ],
)
def test_bad_usage_is_reported_in_a_sentence_with_exit_code_2(
    small: str, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    code, out, err = _sweep(capsys, *(small if word == "FILE" else word for word in words))
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())


def test_without_matplotlib_all_but_the_plots_is_written(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    out = tmp_path / "out"
    code, _, err = _sweep(
        capsys,
        small,
        "--vary",
        "rollout.workers=4,8",
        "--seeds",
        "1",
        "--quiet",
        "--jobs",
        "1",
        "--out",
        str(out),
    )
    assert code == 0
    assert err.splitlines() == [
        "no plots: drawing plots needs an optional package: pip install 'emulator[plot]'"
    ]
    assert sorted(path.name for path in out.iterdir()) == [
        "command.txt", "runs.csv", "scenario.json", "summary.csv", "sweep.json",
    ]  # fmt: skip


def test_the_plots_and_the_command_are_kept(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    words = ["--vary", "strategy={kind: asynchronous, max_staleness: 1}", "--seeds", "1", "--out", "my out"]
    code, _, err = _sweep(capsys, "file.yaml", *words, "--quiet", "--jobs", "1")
    assert (code, err) == (0, "")
    suffixes = {path.suffix for path in (tmp_path / "my out").iterdir()}
    assert suffixes == {".csv", ".json", ".txt", ".svg", ".png"}
    assert (tmp_path / "my out" / "command.txt").read_text() == (
        f"emulator sweep {small} --vary 'strategy={{kind: asynchronous, max_staleness: 1}}' --seeds 1 "
        f"--out '{tmp_path}/my out'\n"
    )


def test_a_reader_that_has_seen_enough_costs_no_file(
    small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    read, write = os.pipe()
    os.close(read)
    out = tmp_path / "out"
    with os.fdopen(write, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        words = ["--vary", "rollout.workers=4,8", "--seeds", "1", "--quiet", "--jobs", "1", "--out", str(out)]
        with pytest.raises(SystemExit):
            main(["sweep", small, *words])
        monkeypatch.undo()
    names = {path.name for path in out.iterdir()}
    assert {"summary.csv", "updates.svg", "updates-dark.png", "frontier.png"} <= names


def _wait_for_rows(path: Path, rows: int) -> None:
    """Wait until so many runs are kept, and a moment on, so that the next ones run."""
    eventually(
        lambda: path.exists() and path.read_bytes().count(b"\n") >= 1 + rows, lambda: f"{rows} rows are kept"
    )


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)],
)
def test_a_signal_ends_a_sweep_with_the_table_so_far(
    small: str, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    out = tmp_path / "out"
    words = [*COMMAND, small, *ENDLESS, "--jobs", "2", "--out", str(out)]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    ) as process:
        _wait_for_rows(out / "runs.csv", 2)
        os.killpg(process.pid, number)  # as a terminal does: its processes are sent it, too
        told, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert "Interrupted: 2 of 4 runs are done." in told
    assert "Traceback" not in err
    assert err.splitlines()[-1] == f"go on with: emulator sweep --resume {out}"
    assert (out / "summary.csv").read_text().count("\n") == 3


def test_a_sweep_that_was_killed_has_kept_its_rows(small: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [*COMMAND, small, *ENDLESS, "--jobs", "2", "--quiet", "--out", str(out)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        _wait_for_rows(out / "runs.csv", 2)
        process.kill()
        # Its readers come to the end, long before joblib's five minutes: what ran for it is gone, too.
        told, _ = process.communicate(timeout=PATIENCE)
    assert told == b""
    with Directory(out, read_grid(out)).open("") as kept:
        pass
    assert {run: row["seed"] for run, row in kept.items()} == {0: 1, 1: 2}
    assert (
        kept[1]["trace_sha256"]
        == emulator.run(emulator.load_scenario(small), speed="max", seed=2).trace_sha256
    )


def _processes_of(parent: int) -> list[int]:
    """The processes in which a sweep's runs take place."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(stat[1]) == parent and b"popen_loky" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")
def test_a_process_that_is_killed_ends_a_sweep_in_a_sentence_that_says_how_to_go_on(
    small: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = [*COMMAND, small, *ENDLESS, "--jobs", "2", "--quiet", "--out", str(out)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        _wait_for_rows(out / "runs.csv", 2)
        ran = _processes_of(process.pid)
        os.kill(ran[0], signal.SIGKILL)
        told, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, told) == (1, "")
    assert err == (
        "a process of the sweep was killed, perhaps for want of memory: 2 of 4 runs were done, and are kept; "
        f"go on with emulator sweep --resume {out}, with fewer processes (--jobs) if memory is short\n"
    )
    assert (out / "summary.csv").read_text().count("\n") == 3
    assert not any(Path(f"/proc/{pid}").exists() for pid in ran)


def test_a_process_whose_parent_is_gone_before_it_is_ready_ends_too() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    prepare = f"from emulator.sweeps.backends import _prepare_local; _prepare_local({gone.pid})"
    code = f"{prepare}; import time; time.sleep(600)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=PATIENCE).returncode == 1


def test_on_a_terminal_a_bar_shows_how_long_it_takes(small: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ours, theirs = pty.openpty()
    words = [*COMMAND, small, *ENDLESS, "--jobs", "1", "--out", str(out)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen(
        words, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        while b"2/4" not in shown:
            assert select.select([ours], [], [], 60)[0]
            shown += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        told = process.stdout.read()
    os.close(ours)
    assert process.returncode == 130
    assert b"left" in shown
    assert b"\x1b[?25l" not in shown  # the cursor stays, so there is nothing to be repaired
    assert b"Interrupted: 2 of 4" in told
    assert b"\x1b" not in told
