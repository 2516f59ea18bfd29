"""Bytes from a terminal as keys."""

import re

_KEY = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O[@-~]|.)|[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*", re.DOTALL)
_CUT = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*|O)?\Z")

_NAMES = {
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1b[C": "right",
    b"\x1b[D": "left",
    b"\x1b[H": "home",
    b"\x1b[F": "end",
    b"\x1b[1~": "home",
    b"\x1b[4~": "end",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\x1bOC": "right",
    b"\x1bOD": "left",
    b"\x1bOH": "home",
    b"\x1bOF": "end",
    b" ": "space",
    b"\r": "enter",
    b"\n": "enter",
}


class KeyReader:
    """Makes keys of bytes as they come; a sequence may be cut anywhere, as it is over a network."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """The keys that `data` completes: characters, and names such as ``space``, ``up`` or ``home``."""
        data = self._rest + data
        cut = _CUT.search(data)
        self._rest = data[cut.start() :] if cut else b""
        pressed = _KEY.findall(data[: cut.start()] if cut else data)
        names = (_NAMES.get(key) or key.decode(errors="replace") for key in pressed)
        return [name for name in names if not name.startswith("\x1b")]
