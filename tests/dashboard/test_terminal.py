"""The dashboard on a real terminal: driven with keys in tmux, and the terminal restored however it ends."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dashboard.tmux import Pane, Tmux, watching
from tests.patience import eventually

if shutil.which("tmux") is None:
    pytest.skip("tmux is not installed", allow_module_level=True)

ROOT = Path(__file__).parents[2]
PROGRAM = f"{sys.executable} -m tests.dashboard.program"

# One terminal for each test, all started at once: starting Python takes most of the time.
STARTED = {
    "drive": "race 60",
    "keep": "run 60",
    "quit": "run 60",
    "int": "run 60",
    "backslash": "run 60",
    "term": "race max",
    "hup": "run 60",
    "crash": "run 60 crash",
    "end": "run max short",
    "stop": "run 60",
    "background": "run 60",
}
IN_A_SHELL = ("stop", "background")


@pytest.fixture(scope="module")
def panes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Pane]]:
    folder = tmp_path_factory.mktemp("tmux")
    tmux = Tmux(folder)
    panes = {}
    for name, arguments in STARTED.items():
        pid_file = Pane(tmux, name).pid_file
        run = f"cd {ROOT}; trap : INT QUIT; sh -c 'echo $$ > {pid_file}; exec {PROGRAM} {arguments}'"
        shell = ["sh", "-c", f"{run}; {tmux.MODES}; exec sleep 1000"]
        if name in IN_A_SHELL:
            shell = ["env", f"HISTFILE={os.devnull}", "PS1=ready> ", "bash", "--norc"]
        pane = panes[name] = tmux.start(name, shell)
        if name in IN_A_SHELL:
            pane.shows("ready>")
            pane.press(f"cd {ROOT}; {PROGRAM} {arguments}", "Enter")
    yield panes
    tmux("kill-server")


def test_keys_pause_change_the_speed_inject_zoom_and_export(panes: dict[str, Pane], tmp_path: Path) -> None:
    pane = watching(panes["drive"])
    pane.press("Space")
    pane.shows("paused")
    pane.press("Space")
    pane.shows_no("paused")
    pane.press("+")
    pane.shows("▶ 120x")
    pane.press("s")
    pane.shows("straggler: episode")
    pane.shows("SYNC lost")
    pane.press("1")
    pane.shows("workers: fill = episode age / p50")
    pane.press("g")
    pane.shows("rows = workers, time")
    pane.press("?")
    pane.shows("any key goes on")
    pane.shows("paused")
    pane.press("q")
    pane.shows_no("any key goes on")
    pane.shows_no("paused")
    pane.press("q")
    pane.is_restored()


def test_resizing_redraws_the_whole_screen(panes: dict[str, Pane]) -> None:
    pane = watching(panes["keep"])
    for columns, rows in ((200, 50), (80, 24), (60, 12)):
        pane.resize(columns, rows)
        time_at = f"/ 27:46:40\n{'━' * columns}" if rows >= 24 else "/ 27:46:40\n workers"
        pane.shows(time_at)
        pane.shows("q quit")
        assert len(pane.screen().splitlines()) <= rows
    pane.signal(signal.SIGTERM)
    pane.is_restored()


def test_quitting_ends_with_the_summary_on_the_normal_screen(panes: dict[str, Pane]) -> None:
    pane = watching(panes["quit"])
    pane.press("q")
    pane.is_restored()
    pane.shows("interrupted: True")


@pytest.mark.parametrize(("name", "key"), [("int", "C-c"), ("backslash", "C-\\")])
def test_ctrl_c_and_ctrl_backslash_restore_the_terminal(panes: dict[str, Pane], name: str, key: str) -> None:
    pane = watching(panes[name])
    pane.press(key)
    pane.is_restored()
    pane.shows("interrupted: True")


@pytest.mark.parametrize("name", ["term", "hup"])
def test_a_signal_that_ends_it_restores_the_terminal(panes: dict[str, Pane], name: str) -> None:
    pane = watching(panes[name])
    pane.signal(signal.Signals[f"SIG{name.upper()}"])
    pane.is_restored()
    pane.shows("interrupted: True")


def test_a_frame_that_fails_shows_its_traceback_on_the_normal_screen(panes: dict[str, Pane]) -> None:
    pane = panes["crash"]
    pane.shows("ZeroDivisionError: the third frame fails")
    pane.is_restored()


def test_the_last_frame_stays_until_a_key(panes: dict[str, Pane]) -> None:
    pane = watching(panes["end"])
    pane.shows("the run is over: any key for the summary")
    pane.shows("00:05:00 / 00:05:00")
    pane.press("g")
    pane.shows("rows = workers, time")
    pane.press("Enter")
    pane.is_restored()
    pane.shows("ended after 300 s, interrupted: False")


def test_a_stopped_run_gives_the_terminal_back_and_takes_it_again(panes: dict[str, Pane]) -> None:
    pane = watching(panes["stop"])
    pane.press("C-z")
    eventually(lambda: pane.state == "0 1", lambda: "the terminal is restored")
    pane.shows("Stopped")
    pane.press("stty -a | grep -oE '(^| )-?(icanon)'", "Enter")
    pane.shows("\n icanon")
    pane.press("fg", "Enter")
    watching(pane)
    pane.press("q")
    eventually(lambda: pane.state == "0 1", lambda: "the terminal is restored")
    pane.shows("interrupted: True")


def test_in_the_background_a_run_goes_on_unseen_and_takes_the_terminal_again_with_fg(
    panes: dict[str, Pane],
) -> None:
    pane = watching(panes["background"])
    pane.press("C-z")
    pane.shows("Stopped")
    pane.press("bg; clear", "Enter")
    pane.press("jobs", "Enter")
    pane.shows("Running")
    pane.press("echo a key  # that is the shell's", "Enter")
    pane.shows("\na key")
    assert pane.state == "0 1"
    pane.press("fg", "Enter")
    watching(pane)
    pane.press("C-c")
    eventually(lambda: pane.state == "0 1", lambda: "the terminal is restored")
    pane.shows("interrupted: True")
