"""Terminals in tmux, for tests: keys pressed, the screen read, and whether all was restored."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.patience import eventually


class Pane:
    """A terminal in tmux, of 100 columns and 30 rows at first."""

    def __init__(self, tmux: "Tmux", name: str) -> None:
        self._tmux = tmux
        self._name = name
        self.pid_file = tmux.folder / f"{name}.pid"

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", "-t", self._name, *keys)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", self._name)

    def shows(self, text: str) -> None:
        eventually(lambda: text in self.screen(), lambda: f"{text!r} on\n{self.screen()}")

    def shows_no(self, text: str) -> None:
        eventually(lambda: text not in self.screen(), lambda: f"no {text!r} on\n{self.screen()}")

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-t", self._name, "-x", str(columns), "-y", str(rows))

    @property
    def state(self) -> str:
        """Whether it is on the other screen, and whether the cursor is shown."""
        return self._tmux("display", "-p", "-t", self._name, "#{alternate_on} #{cursor_flag}").strip()

    def signal(self, number: signal.Signals) -> None:
        os.kill(int(self.pid_file.read_text()), number)

    def is_restored(self) -> None:
        eventually(lambda: self.state == "0 1", lambda: "the terminal is restored")
        self.shows("tty icanon echo")


class Tmux:
    """A tmux server of our own."""

    MODES = "stty -a | grep -qE '(^| )-(icanon|echo)( |;|$)' || echo tty icanon echo"
    """A shell command that says so if the terminal was left as it should be."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self.folder / "socket"), "-f", os.devnull, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def start(self, name: str, command: Sequence[str]) -> Pane:
        """A new terminal that a command is started on."""
        self("new-session", "-d", "-s", name, "-x", "100", "-y", "30", "-c", str(self.folder), *command)
        return Pane(self, name)


def watching(pane: Pane) -> Pane:
    """The pane, once it shows frames in which time goes by."""
    eventually(lambda: pane.state == "1 0", lambda: "the dashboard is on the other screen")
    pane.shows("updates")
    return pane
