"""The trace of a lane: its events as lines, and the hash of them."""

import hashlib
from collections.abc import Iterable

from emulator.events import Event, Finish, Start, encode, template
from emulator.journal import Block

_START, _FINISH = str(template(Start)), str(template(Finish))

_MOST_WAITING = 6_000_000
"""Events whose hash is put off; compact as they wait, they take some 200 MB."""


def lines(events: Iterable[Event]) -> bytes:
    """The lines of the events, each with its newline."""
    encoded = [encode(event) for event in events]
    encoded.append("")
    return "\n".join(encoded).encode()


def lines_of(block: Block) -> bytes:
    """The same of a block, without its events being made."""
    encoded = block.rendered(_start, _finish, encode)
    encoded.append("")
    return "\n".join(encoded).encode()


def _start(t: float, worker: int, episode: int, version: int, duration: float) -> str:
    return _START % (t, worker, episode, episode, version, duration)


def _finish(t: float, worker: int, episode: int) -> str:
    return _FINISH % (t, worker, episode)


def trace_of(events: Iterable[Event]) -> str:
    """The trace hash of all events of a lane."""
    return hashlib.sha256(lines(events)).hexdigest()


class TraceHash:
    """SHA-256 over the trace lines of one lane.

    Encoding an event takes longer than emulating it; blocks wait until the hash is asked for, or the lines.
    """

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._waiting: list[Block] = []
        self._events_waiting = 0

    def add(self, events: Iterable[Event]) -> bytes:
        """Take the next events in; returns their lines, each with its newline."""
        self._catch_up()
        text = lines(events)
        self._digest.update(text)
        return text

    def add_lines(self, block: Block) -> bytes:
        """Take the events of a block in, now; returns their lines, each with its newline."""
        self._catch_up()
        text = lines_of(block)
        self._digest.update(text)
        return text

    def add_block(self, block: Block) -> None:
        """Take the events of a block in, some time."""
        self._waiting.append(block)
        self._events_waiting += len(block)
        if self._events_waiting > _MOST_WAITING:
            self._catch_up()

    def _catch_up(self) -> None:
        for block in self._waiting:
            self._digest.update(lines_of(block))
        self._waiting.clear()
        self._events_waiting = 0

    def hexdigest(self) -> str:
        """The hash of all events so far, in hex."""
        self._catch_up()
        return self._digest.hexdigest()
