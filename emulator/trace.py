"""The trace of a lane: its events as lines, and the hash of them."""

import hashlib
from collections.abc import Iterable

from emulator.events import ENCODERS, Event, Finish, Publish, Start, template
from emulator.journal import Block

_START, _FINISH = str(template(Start)), str(template(Finish))

_MOST_WAITING = 6_000_000
"""Events whose hash is put off; compact as they wait, they take some 200 MB."""


def lines(events: Iterable[Event]) -> bytes:
    """The lines of the events, each with its newline."""
    encoders = ENCODERS
    encoded = [encoders[type(event)](event) for event in events]
    encoded.append("")
    return "\n".join(encoded).encode()


def lines_of(block: Block) -> bytes:
    """The same of a block, without its events being made."""
    found: list[str] = []
    episode, version, place = block.first_episode, block.version, 0
    rows = block.rows.tolist()
    for until, event in (*block.others, (len(rows), None)):
        for t, worker, value in rows[place:until]:
            if value < 0:
                found.append(_FINISH % (t, worker, -1 - value))
            else:
                found.append(_START % (t, worker, episode, episode, version, value))
                episode += 1
        place = until
        if event is not None:
            found.append(ENCODERS[type(event)](event))
            if type(event) is Start:
                episode += 1
            elif type(event) is Publish:
                version = event.version
    found.append("")
    return "\n".join(found).encode()


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
