"""The terminal: entered, drawn on row by row, and given back as it was."""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from rich.color import ColorSystem as RichColors

from emulator.dashboard.canvas import Canvas, Row, runs, written
from emulator.dashboard.theme import ColorSystem, Theme, styles
from emulator.modes import Keys, in_foreground

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
_LEAVE = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
_LONGEST_WRITE = 2.0  # wall seconds that leaving waits for a terminal that takes nothing

_RICH_COLORS = {
    "standard": RichColors.STANDARD,
    "256": RichColors.EIGHT_BIT,
    "truecolor": RichColors.TRUECOLOR,
}


class Terminal:
    """A terminal that is drawn on.

    `output` and `keys` are file descriptors; `keys` is None where there are none to be read. A frame is
    written by a thread, so that a terminal that takes it slowly holds nothing up but the next frame; and only
    the rows that have changed are.
    """

    def __init__(self, output: int, keys: int | None, colors: ColorSystem | None) -> None:
        self.keys = keys
        self.entered = False
        self._output = output
        self._colors = colors
        self._modes = None if keys is None else Keys(keys)
        self._shown: list[Row] = []
        self._shown_as: tuple[Theme, int, int] | None = None
        self._writer = ThreadPoolExecutor(1, "frames")
        self._written: Future[None] | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows now, as the terminal itself says."""
        try:
            columns, rows = os.get_terminal_size(self._output)
        except OSError:
            return 80, 24
        return (columns, rows) if columns and rows else (80, 24)

    @property
    def busy(self) -> bool:
        """Whether it still takes the last frame."""
        return self._written is not None and not self._written.done()

    @property
    def is_ours(self) -> bool:
        """Whether this process is in the foreground; the terminal is somebody else's while it is not."""
        return in_foreground(self._output if self.keys is None else self.keys)

    def enter(self) -> None:
        """Take the terminal over if it is ours: other screen, no cursor, keys as they are pressed."""
        if not self.is_ours:
            return
        if self._modes is not None:
            self._modes.take()
        self.forget()
        self.entered = True
        self._write(_ENTER)

    def leave(self) -> None:
        """Give the terminal back as it was. Harmless if repeated, or if the terminal has gone."""
        if not self.entered:
            return
        self.entered = False
        self._write(_LEAVE)
        with suppress(TimeoutError):
            assert self._written is not None
            self._written.result(_LONGEST_WRITE)
        if self._modes is not None and self.is_ours:  # else its modes are somebody else's already
            self._modes.give_back()

    def close(self) -> None:
        """Leave, for good."""
        self.leave()
        self._writer.shutdown(wait=False)

    def forget(self) -> None:
        """Draw the whole of the next frame, whatever is thought to be on the screen."""
        self._shown_as = None

    def read(self) -> bytes:
        """What was typed; nothing if the terminal has gone."""
        try:
            return b"" if self.keys is None else os.read(self.keys, 64)
        except OSError:
            return b""

    def draw(self, canvas: Canvas, theme: Theme) -> None:
        """Show a frame."""
        rows = canvas.rows()
        shown_as = (theme, canvas.width, canvas.height)
        whole = shown_as != self._shown_as
        if whole:
            self._shown = []
        changed = [y for y, row in enumerate(rows) if whole or row != self._shown[y]]
        self._shown, self._shown_as = rows, shown_as
        if changed:
            before, after = codes(theme, self._colors)
            text = ["\x1b[0m\x1b[2J"] if whole else []
            for y in changed:
                text.append(f"\x1b[{y + 1};1H")
                text += [before[role] + written(cells, x) + after[role] for x, cells, role in runs(rows[y])]
            self._write("".join(text))

    def _write(self, text: str) -> None:
        self._written = self._writer.submit(_write_all, self._output, text.encode())


def _write_all(output: int, data: bytes) -> None:
    # A terminal that has gone takes nothing; that it has is heard as a signal.
    with suppress(OSError):
        while data:
            data = data[os.write(output, data) :]


def codes(theme: Theme, colors: ColorSystem | None) -> tuple[list[str], list[str]]:
    """What to write before and after a text of each role."""
    parts = []
    for style in styles(theme, colors):
        # Bold and reverse are not colours; a terminal of no colours has them all the same.
        system = RichColors.STANDARD if colors is None else _RICH_COLORS[colors]
        parts.append(style.render("\0", color_system=system).partition("\0"))
    return [before for before, _, _ in parts], [after for _, _, after in parts]
