"""What people watch: a live dashboard on a terminal, and the same of a recording.

>>> watch, sinks = watch_dashboard(scenario.lane_scenarios())
>>> run_lanes(scenario.lane_scenarios(), watch=watch, sinks=sinks)
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console

from emulator import modes
from emulator.clock import Speed
from emulator.dashboard.live import FRAMES_PER_SECOND, Dashboard, Options
from emulator.dashboard.replay import play
from emulator.dashboard.terminal import Terminal
from emulator.dashboard.theme import THEMES, UNICODE, ColorSystem
from emulator.recording import Recording
from emulator.runner import EventSink, Watcher
from emulator.scenario import Scenario
from emulator.text import encodable

__all__ = ["THEMES", "replay_dashboard", "watch_dashboard"]


def watch_dashboard(
    scenarios: Sequence[Scenario],
    *,
    output: TextIO | None = None,
    keys: TextIO | None = None,
    theme: str = "dark",
    ascii: bool = False,  # noqa: A002  (the name of the option)
    frames_per_second: float = FRAMES_PER_SECOND,
    hold: bool = True,
    folder: str | os.PathLike[str] = "",
    on_signal: Callable[[signal.Signals], None] | None = None,
) -> tuple[Watcher, list[list[EventSink]]]:
    """A watcher that shows the dashboard, and the sinks that each lane's events are to be given to.

    `scenarios` are those that will run, in their order; lanes of a scenario are shown as a race. `output` is
    a terminal (standard output), `keys` another or the same (standard input; if it is no terminal, there are
    no keys and nothing is held). `theme` is ``"dark"``, ``"light"`` or ``"plain"``; ``NO_COLOR`` makes it
    plain. `hold` keeps the last frame on the screen until a key. Pictures are saved in `folder`.

    While it watches it takes over the signals of the loop: those that end a process (`on_signal` is
    called with one that comes), those that stop and continue it, and that of a new size.

    Raises ValueError for an unknown theme, or an `output` that is not a terminal.
    """
    terminal = _terminal(output, keys, theme)
    options = Options(
        theme, ascii or not _draws_lines(output), frames_per_second, hold, Path(folder), on_signal
    )
    dashboard = Dashboard(scenarios, terminal, options)
    return dashboard.watch, dashboard.sinks


def replay_dashboard(
    recording: Recording,
    *,
    speed: Speed | None = None,
    output: TextIO | None = None,
    keys: TextIO | None = None,
    theme: str = "dark",
    ascii: bool = False,  # noqa: A002  (the name of the option)
    frames_per_second: float = FRAMES_PER_SECOND,
    hold: bool = True,
    folder: str | os.PathLike[str] = "",
    on_signal: Callable[[signal.Signals], None] | None = None,
) -> None:
    """Play a recording on the dashboard, and block until a person closes it, or it ends without `hold`.

    `speed` is in emulated seconds per wall second, or ``"max"``; None takes the scenario's. All else is as in
    `watch_dashboard`; there are keys to seek back and forth, and none to inject.
    """
    terminal = _terminal(output, keys, theme)
    options = Options(
        theme, ascii or not _draws_lines(output), frames_per_second, hold, Path(folder), on_signal
    )
    play(recording, recording.scenario.speed if speed is None else speed, terminal, options)


def _terminal(output: TextIO | None, keys: TextIO | None, theme: str) -> Terminal:
    output = sys.stdout if output is None else output
    keys = sys.stdin if keys is None else keys
    if theme not in THEMES:
        raise ValueError(f"the theme is {theme!r}; it must be one of {', '.join(THEMES)}")
    if not output.isatty() or not modes.AVAILABLE:
        raise ValueError("the dashboard needs a terminal to draw on, on a system that has termios")
    return Terminal(output.fileno(), _keys(keys), _colors(output))


def _draws_lines(output: TextIO | None) -> bool:
    """Whether the encoding of a stream has more than ASCII to draw with."""
    encoding = getattr(sys.stdout if output is None else output, "encoding", None)
    return encodable(UNICODE.across, encoding) == UNICODE.across


def _keys(keys: TextIO | None) -> int | None:
    try:
        return keys.fileno() if keys is not None and keys.isatty() else None
    except ValueError:  # closed
        return None


def _colors(output: TextIO) -> ColorSystem | None:
    console = Console(file=output)
    found = console.color_system
    if console.no_color or found is None:
        return None
    return "standard" if found in ("standard", "windows") else "256" if found == "256" else "truecolor"
