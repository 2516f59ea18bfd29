"""The command line: in process where that will do, and as a real process for signals, pipes and terminals."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import emulator
from emulator import modes
from emulator.cli import main
from emulator.cli.output import can_be_drawn_on, write_list
from emulator.cli.watching import Display, Watching
from emulator.dashboard import watch_dashboard
from emulator.dashboard.live import Dashboard
from emulator.progress import ProgressLines
from emulator.scenario import bundled_scenarios, json_schema
from emulator.version import __version__
from tests.patience import PATIENCE

SMALL = """
name: small
description: Four workers.
duration: 600
rollout: {workers: 4, episode_seconds: 20}
trainer: {batch_size: 4, update_seconds: 15}
strategy: {kind: asynchronous}
lanes:
  - {name: sync, strategy: {kind: synchronous}}
  - {name: async}
"""
DEADLOCK = SMALL.replace("lanes:", "events: [{at: 10s, remove_workers: {count: 4}}]\nlanes:").replace(
    "{name: sync, strategy: {kind: synchronous}}", "{name: lives, events: []}"
)
COMMAND = [sys.executable, "-m", "emulator"]


@pytest.fixture
def small(tmp_path: Path) -> str:
    return _file(tmp_path, SMALL)


@pytest.fixture
def deadlock(tmp_path: Path) -> str:
    return _file(tmp_path, DEADLOCK)


def _file(folder: Path, text: str) -> str:
    path = folder / "file.yaml"
    path.write_text(text)
    return str(path)


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> Outcome:
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert isinstance(exit_.value.code, int)
        return Outcome(exit_.value.code, *capsys.readouterr())

    return call


# -- run and race -------------------------------------------------------------------------------------


def test_run_prints_progress_on_stderr_and_the_summary_on_stdout(call: Any, small: str) -> None:
    outcome = call("run", small, "--speed", "max")
    assert outcome.code == 0
    assert outcome.err.splitlines() == [
        "00:05:00  14 updates, 100% busy, staleness 0.93",
        "00:10:00  29 updates, 100% busy, staleness 0.97",
    ]
    assert outcome.out.splitlines()[2] == "UPDATES PER HOUR   174  29 updates, 120 episodes, theory 174.0"


def test_quiet_leaves_the_summary_alone(call: Any, small: str) -> None:
    outcome = call("run", small, "--speed", "max", "--quiet")
    assert outcome.err == ""
    assert "UPDATES PER HOUR   174" in outcome.out


def test_json_is_the_object_of_the_api_and_nothing_else(call: Any, small: str) -> None:
    outcome = call("run", small, "--speed", "max", "--seed", "7", "--json", "--quiet")
    told = json.loads(outcome.out, parse_constant=_refuse)
    expected = emulator.run(emulator.load_scenario(small, seed=7), speed="max").to_json()
    assert {**told, "clock": 0} == {**expected, "clock": 0}
    assert told["clock"]["asked_speed"] == "max"
    assert told["scenario"]["speed"] == 60
    assert outcome.err == ""


def test_very_many_episodes_are_announced_on_stderr_before_they_run_unless_quiet(
    call: Any, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emulator.cli.promise.MANY", 1)
    outcome = call("run", small, "--speed", "max", "--json")
    assert json.loads(outcome.out)
    assert outcome.err.startswith("the run comes to about ")
    assert call("run", small, "--speed", "max", "--json", "--quiet").err == ""
    swept = call("sweep", small, "--vary", "rollout.workers=2,4", "--seeds", "1", "--jobs", "1")
    assert swept.err.startswith("the sweep comes to about ")


def test_json_has_progress_on_stderr_unless_quiet(call: Any, small: str) -> None:
    outcome = call("run", small, "--speed", "max", "--json")
    assert json.loads(outcome.out)["result"]["updates"] == 29
    assert outcome.err.startswith("00:05:00  14 updates")


def test_figures_without_data_are_null_in_json(call: Any, small: str) -> None:
    outcome = call("run", small, "--speed", "max", "--set", "duration=1s", "--json")
    assert json.loads(outcome.out, parse_constant=_refuse)["result"]["staleness"]["mean"] is None


def test_race_reports_each_lane_by_name(call: Any, small: str) -> None:
    outcome = call("race", small, "--speed", "max", "--json")
    lanes = json.loads(outcome.out, parse_constant=_refuse)["lanes"]
    assert [(lane["name"], lane["result"]["updates"]) for lane in lanes] == [("sync", 17), ("async", 29)]
    assert outcome.err.splitlines()[0] == (
        "00:05:00  sync: 8 updates, 60% busy, staleness 0.00 | async: 14 updates, 100% busy, staleness 0.93"
    )


def test_race_ends_with_the_verdict_and_its_price(call: Any, small: str) -> None:
    outcome = call("race", small, "--speed", "max", "--headless")
    assert "async: 1.7x the updates of sync; price: staleness 0.97 (max 1), length bias 1.00" in outcome.out


def test_set_changes_the_scenario_and_speed_does_not(call: Any, small: str) -> None:
    outcome = call(
        "run",
        small,
        "--speed",
        "1e6",
        "--json",
        "--set",
        "rollout.workers=8",
        "--set",
        "trainer.batch_size=8",
    )
    told = json.loads(outcome.out)
    assert told["scenario"]["rollout"]["workers"] == 8
    assert told["scenario"]["trainer"]["batch_size"] == 8
    assert told["scenario"]["speed"] == 60
    assert told["clock"]["asked_speed"] == 1e6


# -- what goes wrong ----------------------------------------------------------------------------------


def test_a_deadlock_ends_with_1_the_summary_so_far_and_who_waits(call: Any, deadlock: str) -> None:
    outcome = call("run", deadlock, "--speed", "max", "--quiet")
    assert outcome.code == 1
    assert "Stopped by a deadlock at 00:00:10 of 00:10:00." in outcome.out
    assert outcome.err.startswith("small: deadlock at 10 s: the trainer waits for 4 finished episodes")


def test_a_deadlock_in_json_is_the_object_with_its_error(call: Any, deadlock: str) -> None:
    outcome = call("run", deadlock, "--speed", "max", "--json", "--quiet")
    told = json.loads(outcome.out)
    assert outcome.code == 1
    assert told["error"].startswith("deadlock at 10 s")
    assert told["result"]["emulated_seconds"] == 10


def test_a_race_goes_on_when_one_lane_deadlocks_and_ends_with_1(call: Any, deadlock: str) -> None:
    outcome = call("race", deadlock, "--speed", "max", "--json")
    lives, dies = json.loads(outcome.out)["lanes"]
    assert outcome.code == 1
    assert (lives["result"]["updates"], "error" in lives) == (29, False)
    assert dies["error"].startswith("deadlock at 10 s")
    assert outcome.err.splitlines()[-1].startswith("async: deadlock at 10 s")


def test_every_mistake_of_a_scenario_is_a_line_on_stderr(call: Any, small: str) -> None:
    outcome = call("run", small, "--set", "rollout.wrkers=3", "--set", "trainer.batch_size=-1")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines() == [
        "--set rollout.wrkers: found an unknown key; allowed: workers, episode_seconds, "
        "episode_tokens, turns, prompt_tokens, group_size, "
        'group_redundancy, group_correlation, queue_capacity, speed (did you mean "workers"?)',
        "--set trainer.batch_size: found -1; allowed: a whole number from 1 to 10000000",
    ]


@pytest.mark.parametrize("command", ["run", "race", "validate"])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "found no such file; allowed: a scenario file"),
        ("", "found an empty file"),
        ("a: [", "found text that is not YAML"),
        ("\udcff", "found the byte 0xff; allowed: text in UTF-8"),
    ],
)
def test_a_file_that_is_no_scenario_is_reported_in_a_sentence(
    call: Any, tmp_path: Path, command: str, content: str | None, sentence: str
) -> None:
    path = tmp_path / "file.yaml"
    if content is not None:
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
    outcome = call(command, str(path))
    assert (outcome.code, outcome.out) == (2, "")
    assert sentence in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_a_folder_is_reported_in_a_sentence(call: Any, tmp_path: Path) -> None:
    assert call("run", str(tmp_path)).err == f"{tmp_path}: found a directory; allowed: a scenario file\n"


def test_a_misspelt_name_gets_the_nearest(call: Any) -> None:
    outcome = call("race", "stragler")
    assert outcome.code == 2
    assert outcome.err.endswith('(did you mean "stragglers"?)\n')


def test_a_race_without_lanes_is_a_bad_scenario(call: Any, small: str) -> None:
    outcome = call("race", small, "--set", "lanes=[]")
    assert (outcome.code, outcome.out) == (2, "")
    assert "found no lanes; allowed: at least one lane" in outcome.err


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "inf", "fast", "2e9"])
def test_a_speed_that_is_none_is_bad_usage(call: Any, small: str, speed: str) -> None:
    outcome = call("run", small, f"--speed={speed}")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"found {speed}; allowed: a number above 0 and at most 1e+09, or max" in outcome.err


@pytest.mark.parametrize(
    "arguments", [["fly"], ["run"], ["run", "stragglers", "--sped", "1"], ["run", "a", "b"]]
)
def test_bad_usage_ends_with_2(call: Any, arguments: list[str]) -> None:
    outcome = call(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Usage: emulator" in outcome.err


# -- the other commands -------------------------------------------------------------------------------


def test_validate_names_every_lane_and_prints_yaml_that_loads_to_the_same(
    call: Any, tmp_path: Path, small: str
) -> None:
    outcome = call("validate", small, "--set", "name='1e3'", "--set", "lanes.0.name=no", "--seed", "9")
    assert outcome.code == 0
    assert outcome.out.startswith("# 1e3: valid\n# lane no: valid\n# lane async: valid\n")
    again = tmp_path / "again.yaml"
    again.write_text(outcome.out)
    loaded = emulator.load_scenario(again)
    assert loaded.resolved() == YAML(typ="safe").load(outcome.out)
    assert (loaded.name, loaded.seed, loaded.lanes[0].name) == ("1e3", 9, "no")


@pytest.mark.parametrize("name", [bundled.name for bundled in bundled_scenarios()])
def test_what_validate_prints_of_a_bundled_scenario_loads_to_the_same(
    call: Any, tmp_path: Path, name: str
) -> None:
    again = tmp_path / "again.yaml"
    again.write_text(call("validate", name).out)
    assert emulator.load_scenario(again) == emulator.load_scenario(name)


def test_schema_prints_the_json_schema(call: Any) -> None:
    assert json.loads(call("schema").out) == json_schema()


def test_scenarios_lists_each_on_a_line_of_at_most_80_columns(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = call("scenarios").out.splitlines()
    assert [line.split()[0] for line in lines] == [bundled.name for bundled in bundled_scenarios()]
    assert max(map(len, lines)) <= 80


def test_version_and_help_are_printed(call: Any) -> None:
    assert call("--version").out == f"{__version__}\n"
    told = call("--help").out
    assert all(f"  {command} " in told for command in ("run", "race", "validate", "schema", "scenarios"))
    told = call("race", "--help").out
    options = ("--speed", "--seed", "--set", "--headless", "--json", "--quiet")
    assert all(f"  {option}" in told or f", {option}" in told for option in options)


# -- who watches --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("terminal", "term", "live", "quiet", "view"),
    [
        (True, "xterm", True, False, Dashboard.watch),
        (True, "dumb", True, False, ProgressLines.watch),
        (True, "", True, False, ProgressLines.watch),
        (True, "xterm", False, False, ProgressLines.watch),
        (False, "xterm", True, False, ProgressLines.watch),
        (True, "xterm", True, True, None),
    ],
)
def test_the_view_is_chosen_by_where_the_output_goes(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool, term: str, live: bool, quiet: bool, view: object
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", term)
    display = Display(live=live, quiet=quiet, hold=True, ascii=False, theme="dark")
    chosen = Watching([emulator.load_scenario("stragglers")], display)._view
    assert getattr(chosen, "__func__", chosen) is view


def test_a_terminal_gets_lines_where_its_modes_cannot_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    display = Display(live=True, quiet=False, hold=True, ascii=False, theme="dark")
    monkeypatch.setattr(modes, "AVAILABLE", False)
    assert not display.on_terminal
    with pytest.raises(ValueError, match="on a system that has termios"):
        watch_dashboard([emulator.load_scenario("stragglers")])


def test_in_the_background_a_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(os, "tcgetpgrp", lambda terminal: os.getpgrp() + 1)
    with os.fdopen(theirs, "w") as terminal:
        assert not can_be_drawn_on(terminal)
        monkeypatch.undo()
        monkeypatch.setenv("TERM", "xterm")
        assert can_be_drawn_on(terminal)  # it controls nobody
    os.close(ours)


# What Windows lacks, taken away; then the command line.
WITHOUT = """
import asyncio, os, signal, sys
for name in ("termios", "fcntl", "tty", "pty", "resource", "pwd"):
    sys.modules[name] = None
for name in ("SIGHUP", "SIGQUIT", "SIGTSTP", "SIGCONT", "SIGWINCH", "SIGTTIN", "SIGTTOU", "SIGSTOP"):
    delattr(signal, name)
del signal.pthread_sigmask, signal.siginterrupt, os.tcgetpgrp, os.getpgrp
def refuse(*arguments):
    raise NotImplementedError
asyncio.SelectorEventLoop.add_signal_handler = refuse
from emulator.cli import main
from emulator.cli.output import write_list
main()
"""


def test_all_but_the_dashboard_works_without_what_windows_lacks(small: str, tmp_path: Path) -> None:
    recording = str(tmp_path / "r.jsonl.gz")
    commands = [
        ["run", small, "--speed", "max", "--record", recording],
        ["replay", recording],
        ["export", recording, "--to", str(tmp_path / "r.svg")],
    ]
    for command in commands:
        ended = subprocess.run([sys.executable, "-c", WITHOUT, *command], capture_output=True, check=False)
        assert (ended.returncode, b"Traceback" in ended.stderr) == (0, False)
    assert b"<svg" in (tmp_path / "r.svg").read_bytes()


def test_without_what_windows_lacks_ctrl_c_still_ends_a_run_with_its_summary(small: str) -> None:
    command = [sys.executable, "-c", WITHOUT, "run", small, *LONG]
    process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _started(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Interrupted at " in out
    assert "Traceback" not in err


# -- real processes -----------------------------------------------------------------------------------


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def _started(process: "subprocess.Popen[str]") -> None:
    """Wait until the run has told that it goes on."""
    assert process.stderr is not None
    assert process.stderr.readline().startswith("00:05:00")


# Fast enough to tell soon that it runs, and long enough never to end by itself.
LONG = ["--speed", "3000", "--set", "duration=10d"]


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)],
)
def test_a_signal_ends_the_run_with_what_happened_so_far(small: str, number: int, code: int) -> None:
    command = [*COMMAND, "race", small, *LONG, "--json"]
    process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _started(process)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    lanes = json.loads(out, parse_constant=_refuse)["lanes"]
    assert [lane["interrupted"] for lane in lanes] == [True, True]
    assert 300 <= lanes[0]["result"]["emulated_seconds"] < 864000
    assert "Traceback" not in err


def test_ctrl_c_again_and_again_leaves_no_traceback(small: str) -> None:
    command = [*COMMAND, "run", small, *LONG]
    process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _started(process)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        select.select([], [], [], 0.005)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in out + err


def test_a_closed_pipe_ends_in_silence(small: str) -> None:
    for command in (["schema"], ["run", small, "--speed", "max", "--json", "--quiet"]):
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.run(
            [*COMMAND, *command],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        os.close(writer)
        assert process.stderr == ""
        assert process.returncode == 141


def test_what_is_not_a_terminal_gets_no_control_codes_even_where_colour_is_forced(small: str) -> None:
    forced = {**os.environ, "FORCE_COLOR": "1", "TTY_COMPATIBLE": "1", "GITHUB_ACTIONS": "1"}
    told = subprocess.run(
        [*COMMAND, "race", small, "--speed", "max"],
        capture_output=True,
        check=True,
        env=forced,
        timeout=PATIENCE,
    )
    assert b"\x1b" not in told.stdout + told.stderr
    assert "█".encode() in told.stdout


class Terminal:
    """A process on a pseudo-terminal of 80x24, and all that it wrote there."""

    def __init__(self, *arguments: str) -> None:
        leader, follower = pty.openpty()
        self._leader = leader
        inherited = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLORTERM", "FORCE_COLOR")}
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env={**inherited, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"},
        )
        os.close(follower)
        self.text = ""

    def read_until(self, word: str) -> None:
        for text in self._chunks():
            self.text += text
            if word in self.text:
                return
        raise AssertionError(f"{word!r} did not come: {self.text!r}")

    def read_to_the_end(self) -> int:
        self.text += "".join(self._chunks())
        os.close(self._leader)
        return self.process.wait(20)

    def _chunks(self) -> Iterator[str]:
        while select.select([self._leader], [], [], 20)[0]:
            try:
                data = os.read(self._leader, 65536)
            except OSError:  # Linux tells the end of a terminal so
                return
            if not data:
                return
            yield data.decode(errors="replace")


def test_a_terminal_shows_how_the_run_goes_and_then_the_summary(small: str) -> None:
    terminal = Terminal("race", small, *LONG)
    terminal.read_until("quit")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.read_to_the_end() == 130
    _, _, summary = terminal.text.rpartition("race: small")
    assert "Interrupted at " in summary
    assert terminal.text.rindex("\x1b[?1049l") > terminal.text.rindex("\x1b[?1049h")
    assert terminal.text.rindex("\x1b[?25h") > terminal.text.rindex("\x1b[?25l")
    assert "Traceback" not in terminal.text


@pytest.mark.parametrize(("variable", "coloured"), [("NO_COLOR", False), ("UNRELATED", True)])
def test_no_color_leaves_a_terminal_without_colours(
    call: Any, small: str, monkeypatch: pytest.MonkeyPatch, variable: str, coloured: bool
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv(variable, "1")
    outcome = call("run", small, "--speed", "max", "--quiet")
    assert ("\x1b[38;" in outcome.out) is coloured
    assert "UPDATES PER HOUR" in outcome.out


@pytest.mark.parametrize(
    ("redirection", "code", "told"),
    [
        ("> /dev/full", 1, "the output cannot be written: No space left on device\n"),
        (">&-", 0, ""),
        ("2>&- > /dev/null", 0, ""),
        ("<&- >&- 2>&-", 0, ""),
        ("2> /dev/full > /dev/null", 0, ""),
    ],
)
def test_output_that_goes_nowhere_leaves_no_traceback(
    small: str, redirection: str, code: int, told: str
) -> None:
    command = " ".join([*COMMAND, "run", small, "--speed", "max", "--json", "--quiet", redirection])
    ended = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert (ended.returncode, ended.stderr) == (code, told)


@pytest.mark.parametrize("words", ["--help", "--version", "run --help"])
def test_help_that_cannot_be_written_leaves_no_traceback(words: str) -> None:
    command = " ".join([*COMMAND, words])
    full = subprocess.run(["sh", "-c", f"{command} > /dev/full"], capture_output=True, text=True, check=False)
    assert (full.returncode, full.stderr) == (1, "the output cannot be written: No space left on device\n")
    reader, writer = os.pipe()
    os.close(reader)
    closed = subprocess.run([*COMMAND, *words.split()], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (closed.returncode, closed.stderr) == (-signal.SIGPIPE, b"")


def test_a_closed_stderr_costs_neither_the_result_nor_the_code(small: str) -> None:
    for command, code in ((["run", small, "--speed", "max"], 0), (["run", "no such scenario"], 2)):
        reader, writer = os.pipe()
        os.close(reader)
        ended = subprocess.run([*COMMAND, *command], stdout=subprocess.PIPE, stderr=writer, check=False)
        os.close(writer)
        assert ended.returncode == code
        assert (b"UPDATES PER HOUR" in ended.stdout) is (code == 0)


def test_a_file_that_may_not_grow_ends_a_command_with_1(small: str, tmp_path: Path) -> None:
    recording, page = tmp_path / "r.jsonl", tmp_path / "r.html"
    run = [*COMMAND, "run", small, "--speed", "max", "--quiet", "--record", str(recording)]
    limited = ["sh", "-c", 'ulimit -f 4; exec "$@"', "sh"]
    subprocess.run(run, check=True, capture_output=True)
    export = [*COMMAND, "export", str(recording), "--to", str(page)]
    ended = subprocess.run([*limited, *export], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "File too large" in ended.stderr
    recording.unlink()
    ended = subprocess.run(
        [*limited, *run, "--set", "duration=10h"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "UPDATES PER HOUR" in ended.stdout
    assert emulator.read_recording(recording).lanes[0].events
    axis = ["--vary", "rollout.workers=2,4", "--seeds", "2", "--jobs", "1"]
    sweep = [*COMMAND, "sweep", small, *axis, "--quiet"]
    limited[2] = 'ulimit -f 40; exec "$@"'
    out = str(tmp_path / "out")
    ended = subprocess.run([*limited, *sweep, "--out", out], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, f"{out}: the plots cannot be kept there: File too large\n")
    subprocess.run([*COMMAND, "sweep", "--resume", out], check=True, capture_output=True)


# -- what comes from outside --------------------------------------------------------------------------

_HOSTILE = "\x1b[2J\x07\nError: x\u202e"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", _HOSTILE],
        ["run", f"./{_HOSTILE}.yaml"],
        ["run", "stragglers", f"--set={_HOSTILE}"],
        ["run", "stragglers", f"--set={_HOSTILE}=1"],
        ["run", "stragglers", f"--set=name={_HOSTILE}"],
        ["run", "stragglers", "--speed", _HOSTILE],
        ["run", "stragglers", "--seed", _HOSTILE],
        ["run", "stragglers", "--theme", _HOSTILE],
        ["run", "stragglers", f"--{_HOSTILE}"],
        ["run", "stragglers", _HOSTILE],
        ["run", "stragglers", "--record", f"{_HOSTILE}.txt"],
        [_HOSTILE],
        [f"--{_HOSTILE}"],
        ["sweep", "stragglers", "--vary", _HOSTILE],
        ["sweep", "stragglers", "--vary", f"{_HOSTILE}=1"],
        ["sweep", "stragglers", "--vary", f"strategy={_HOSTILE}"],
        ["sweep", "stragglers", "--vary", "rollout.workers=1", "--seeds", _HOSTILE],
        ["sweep", "--resume", _HOSTILE],
        ["replay", _HOSTILE],
        ["export", _HOSTILE, "--to", "x.svg"],
        ["export", "x.jsonl", "--to", f"x.{_HOSTILE}"],
        ["validate", "stragglers", f"--set=lanes.{_HOSTILE}=1"],
    ],
)
def test_no_argument_reaches_the_terminal_as_it_is(call: Any, arguments: list[str]) -> None:
    outcome = call(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert all(line.isprintable() for line in outcome.err.splitlines())
    assert "\nError: x" not in outcome.err


def test_a_stream_of_ascii_gets_names_that_can_be_read(tmp_path: Path) -> None:
    text = SMALL.replace("name: small", "name: 東京").replace("name: sync", "name: naïve")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    outputs = []
    for arguments in (["validate"], ["race", "--speed", "max"]):
        done = subprocess.run(
            [*COMMAND, *arguments, _file(tmp_path, text)], env=environment, capture_output=True, check=True
        )
        outputs.append(done.stdout.decode("ascii"))
        assert b"?" not in done.stdout + done.stderr
        assert done.stderr.isascii()
    assert r"# \u6771\u4eac: valid" in outputs[0]
    assert YAML(typ="safe").load(outputs[0])["name"] == "東京"
    assert r"race: \u6771\u4eac" in outputs[1]


def test_wide_names_of_a_list_keep_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    write_list([("東京", "a town"), ("a", "one"), ("x\x1b[2J", "\x1b]0;title\x07")])
    assert capsys.readouterr().out.splitlines() == [
        "東京      a town",
        "a         one",
        r"x\x1b[2J  \x1b]0;title\x07",
    ]
