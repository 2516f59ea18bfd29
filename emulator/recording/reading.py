"""Reading a recording: its scenario, its events, and how it ended."""

import json
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from emulator import events as ev
from emulator.episodes import episode_table
from emulator.errors import RecordingError
from emulator.metrics import Figures
from emulator.recording.form import DAMAGE, END, complaint, opened, read_header
from emulator.scenario import Scenario

_ALLOWED_LINE = "one event as a JSON object"
_TYPES: dict[Any, tuple[type, ...]] = {
    float: (float, int),
    int: (int,),
    bool: (bool,),
    str: (str,),
    list[int]: (list,),
    dict[str, Any]: (dict,),
    int | None: (int, NoneType),
}
_FIELD_TYPES = {kind: [_TYPES[a] for a in kind.__annotations__.values()] for kind in ev.NAMES}
_TEXTS = {
    kind: [name for name, annotation in kind.__annotations__.items() if annotation is str]
    for kind in ev.NAMES
}


@dataclass(frozen=True)
class RecordedLane:
    """One lane of a recording: what it ran and what happened.

    `name` is None in the recording of a run. `events` are typed and in order. What follows is None, or False,
    where the recording was cut off: `result`, `trace_sha256` and `clock` are what ``--json`` printed under
    these names; `error` says why the lane could not go on, `interrupted` that a person ended it.
    """

    name: str | None
    scenario: Scenario
    events: tuple[ev.Event, ...]
    t_end: float
    """Emulated seconds: where the lane ended, or its last event where that is not known."""
    result: dict[str, Any] | None = None
    trace_sha256: str | None = None
    clock: dict[str, Any] | None = None
    error: str | None = None
    interrupted: bool = False

    @cached_property
    def episodes(self) -> NDArray[np.void]:
        """One row an episode, by number; the columns are those of `emulator.episodes.EPISODE`."""
        return episode_table(self.scenario, self.events, self.t_end)


@dataclass(frozen=True)
class Recording:
    """A recording of a run, with one lane, or of a race.

    `scenario` is as it was run, with its lanes if it had any; `emulator` the version that wrote the file.
    `cut` is None, or a sentence that says where the recording was cut off.
    """

    scenario: Scenario
    seed: int
    emulator: str
    lanes: tuple[RecordedLane, ...]
    cut: str | None

    @property
    def is_race(self) -> bool:
        """Whether it is of a race."""
        return self.lanes[0].name is not None

    @property
    def t_end(self) -> float:
        """Emulated seconds: where the last lane ended."""
        return max(lane.t_end for lane in self.lanes)


def read(path: str | os.PathLike[str]) -> Recording:
    """Read a recording, compressed or not.

    A file that was cut off, in its last line or in the middle of a compressed block, is read until there, and
    `Recording.cut` says so. Raises RecordingError for what is no recording, is of a newer schema, or has a
    line that is no event.
    """
    path = Path(path)
    with opened(path) as file:
        header = read_header(file, path)
        scenario, lanes = recorded_scenarios(header, path)
        reader = _Reader(path, list(lanes))
        reader.read(iter(file))
    for name, lane in lanes.items():
        reader.check(name, lane)
    return Recording(
        scenario=scenario,
        seed=scenario.seed,
        emulator=str(header["emulator"]),
        lanes=tuple(reader.lane(name, lanes[name]) for name in lanes),
        cut=reader.cut(),
    )


def recorded_scenarios(header: dict[str, Any], path: Path) -> tuple[Scenario, dict[str | None, Scenario]]:
    """The scenario of a header, and what each lane ran, by name; a run's one lane has the name None."""
    try:
        scenario = Scenario.model_validate(header.get("scenario"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(["scenario", *map(str, first["loc"])])
        raise complaint(path, f"{key}: {first['msg']}", "a scenario", line=1) from None
    if "lanes" not in header:
        return scenario, {None: scenario}
    lanes: dict[str | None, Scenario] = {lane.lane: lane for lane in scenario.lane_scenarios()}
    if not lanes or header["lanes"] != list(lanes):
        found = f"the lanes {json.dumps(header['lanes'])}"
        raise complaint(path, found, f"those of its scenario: {json.dumps(list(lanes))}", line=1)
    return scenario, lanes


class _Reader:
    """Takes a recording's lines after the header."""

    def __init__(self, path: Path, names: list[str | None]) -> None:
        self._path = path
        self._events: dict[str | None, list[ev.Event]] = {name: [] for name in names}
        self._ends: dict[str | None, dict[str, Any]] | None = None
        self._line = 1
        self._t = 0.0

    def check(self, name: str | None, scenario: Scenario) -> None:
        """Refuse events that do not follow from those before, as where a line is missing."""
        figures = Figures(scenario)
        for number, event in enumerate(self._events[name], 1):
            try:
                figures.add((event,))
            except (KeyError, AssertionError, AttributeError):
                of = "" if name is None else f" of the lane {name}"
                found = (
                    f"event {number}{of}, {ev.NAMES[type(event)]} at {event.t:g} s, without what led to it"
                )
                raise complaint(self._path, found, "events none of which is missing") from None

    def read(self, lines: Iterator[bytes]) -> None:
        """Take all lines; a last one that is no JSON was cut off."""
        broken = False
        while (line := self._next(lines)) is not None:
            if broken:
                raise complaint(self._path, "a line that is not JSON", _ALLOWED_LINE, line=self._line + 1)
            if self._ends is not None:
                raise self._complaint("a line after the end", "nothing after it")
            try:
                told = json.loads(line.decode(), parse_constant=_refuse)
            except (ValueError, RecursionError):
                broken = True
                continue
            if not isinstance(told, dict) or not isinstance(told.get("event"), str):
                raise self._complaint("a line that is no event", _ALLOWED_LINE)
            if told["event"] == END:
                self._ends = self._read_end(told)
            else:
                self._take(told)
            self._line += 1

    def _next(self, lines: Iterator[bytes]) -> bytes | None:
        try:
            return next(lines, None)
        except DAMAGE:
            return None
        except OSError as error:
            raise complaint(self._path, f"a file that cannot be read ({error.strerror})") from None

    def _complaint(self, found: str, allowed: str) -> RecordingError:
        return complaint(self._path, found, allowed, line=self._line + 1)

    def _take(self, told: dict[str, Any]) -> None:
        name = told["event"]
        if (kind := ev.KINDS.get(name)) is None:
            raise self._complaint(f"the unknown event {json.dumps(name)}", ", ".join([*ev.KINDS, END]))
        for text in _TEXTS[kind]:
            if isinstance(told.get(text), str):
                told[text] = sys.intern(told[text])
        try:
            event = ev.decode(told)
        except TypeError:
            event = None
        types = _FIELD_TYPES[kind]
        if event is None or not all(type(v) in allowed for v, allowed in zip(event, types, strict=True)):
            raise self._complaint(f"{_article(name)} with other values", _form(kind))
        if not self._t <= event.t < math.inf:
            raise self._complaint(f"{_article(name)} at {event.t:g} s", f"a time from {self._t:g} s on")
        lane = told.get("lane")
        if not isinstance(lane, str | None) or lane not in self._events:
            names = [json.dumps(known) for known in self._events if known is not None]
            raise self._complaint(f"the lane {json.dumps(lane)}", ", ".join(names) or "no lane")
        self._t = event.t
        self._events[lane].append(event)

    def _read_end(self, told: dict[str, Any]) -> dict[str | None, dict[str, Any]]:
        ends: Any = [told] if None in self._events else told.get("lanes")
        if (
            not isinstance(ends, list)
            or not all(isinstance(end, dict) and isinstance(end.get("result"), dict) for end in ends)
            or [end.get("name") for end in ends] != list(self._events)
        ):
            raise self._complaint("an end without its results", "the result of each lane")
        return {end.get("name"): end for end in ends}

    def lane(self, name: str | None, scenario: Scenario) -> RecordedLane:
        """What was read of a lane."""
        events = tuple(self._events.pop(name))
        if self._ends is None:
            return RecordedLane(name, scenario, events, t_end=events[-1].t if events else 0.0)
        end = self._ends[name]
        return RecordedLane(
            name,
            scenario,
            events,
            t_end=float(end["result"].get("emulated_seconds", self._t)),
            result=end["result"],
            trace_sha256=end.get("trace_sha256"),
            clock=end.get("clock"),
            error=end.get("error"),
            interrupted=bool(end.get("interrupted", False)),
        )

    def cut(self) -> str | None:
        """Where the recording was cut off, if it was."""
        if self._ends is not None:
            return None
        return f"{self._path} was cut off after line {self._line}, at {self._t:g} s"


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _form(kind: type[ev.Event]) -> str:
    fields = kind.__annotations__.items()
    return ", ".join(f"{name} ({getattr(kind_of, '__name__', kind_of)})" for name, kind_of in fields)
