"""Reading a recording: its scenario, its events, and how it ended."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from pydantic_core import from_json

from emulator import events as ev
from emulator.episodes import episode_table
from emulator.figures import Figures
from emulator.recording import schema
from emulator.recording.durations import recorded
from emulator.recording.form import DAMAGE, END, complaint, opened, read_header
from emulator.recording.lines import bounded
from emulator.recording.order import Order
from emulator.recording.schema import MisfitError
from emulator.scenario import Scenario
from emulator.text import clean
from emulator.values.scalars import MAX_WORKERS

_LONGEST_SENTENCE = 500
_ALLOWED_LINE = "one event as a JSON object"


@dataclass(frozen=True)
class RecordedLane:
    """One lane of a recording: what it ran and what happened.

    `name` is None in the recording of a run. `events` are typed, in order, and each follows from those
    before it. What follows is None, or False, where the recording was cut off: `trace_sha256` and `clock`
    are what ``--json`` printed under these names; `error` says why the lane could not go on, `interrupted`
    that a person ended it, `ended` that it is known how it ended.
    """

    name: str | None
    scenario: Scenario
    events: tuple[ev.Event, ...]
    t_end: float
    """Emulated seconds: where the lane ended, or its last event where that is not known."""
    trace_sha256: str | None = None
    clock: dict[str, Any] | None = None
    error: str | None = None
    interrupted: bool = False
    ended: bool = False

    @cached_property
    def result(self) -> dict[str, Any] | None:
        """What ``--json`` printed under this name; None where the recording was cut off.

        The figures are those of the events. What the file says of them is for readers without the emulator:
        nothing is believed that does not follow from the events, and an older file lacks no figure.
        """
        return self.figures(self.t_end) if self.ended else None

    def figures(self, t: float) -> dict[str, Any]:
        """What the events came to until `t`, emulated seconds, under the names of the result."""
        figures = Figures(self.scenario)
        figures.add(self.events)
        return figures.result(t)

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
    line that is no event or does not follow from those before it.
    """
    path = Path(path)
    with opened(path) as file:
        header = read_header(file, path)
        scenario, lanes = recorded_scenarios(header, path)
        reader = _Reader(path, lanes)
        reader.read(file)
    return Recording(
        scenario=scenario,
        seed=scenario.seed,
        emulator=clean(header["emulator"]),
        lanes=tuple(reader.lane(name) for name in lanes),
        cut=reader.cut(),
    )


def recorded_scenarios(header: dict[str, Any], path: Path) -> tuple[Scenario, dict[str | None, Scenario]]:
    """The scenario of a header, and what each lane ran, by name; a run's one lane has the name None."""
    try:
        schema.checked(header, schema.HEADER, "header")
    except MisfitError as misfit:
        raise complaint(path, misfit.found, misfit.allowed, line=1) from None
    try:
        scenario = Scenario.model_validate(header.get("scenario"), context={"series": recorded(header, path)})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(["scenario", *map(str, first["loc"])])
        found = f"{clean(key)}: {clean(first['msg'], _LONGEST_SENTENCE)}"
        raise complaint(path, found, "a scenario", line=1) from None
    if (seed := header.get("seed", scenario.seed)) != scenario.seed:
        raise complaint(path, f"the seed {seed}", f"that of its scenario: {scenario.seed}", line=1)
    if "lanes" not in header:
        return scenario, {None: scenario}
    lanes: dict[str | None, Scenario] = {lane.lane: lane for lane in scenario.lane_scenarios()}
    if not lanes or header["lanes"] != list(lanes):
        found = f"the lanes {schema.shown(header['lanes'])}"
        raise complaint(path, found, f"those of its scenario: {json.dumps(list(lanes))}", line=1)
    workers = sum(lane.rollout.workers for lane in lanes.values())
    if workers > MAX_WORKERS:
        raise complaint(path, f"{workers:,} workers in its lanes", f"up to {MAX_WORKERS:,} in all", line=1)
    return scenario, lanes


class _Reader:
    """Takes a recording's lines after the header."""

    def __init__(self, path: Path, lanes: dict[str | None, Scenario]) -> None:
        self._path = path
        self._scenarios = lanes
        self._events: dict[str | None, list[ev.Event]] = {name: [] for name in lanes}
        self._orders = {name: Order(scenario) for name, scenario in lanes.items()}
        self._ends: dict[str | None, dict[str, Any]] | None = None
        self._more = 1 if None in lanes else 2  # keys of a line that are no fields
        self._duration = max(scenario.duration for scenario in lanes.values())
        self._line = 1
        self._t = 0.0

    def read(self, file: IO[bytes]) -> None:
        """Take all lines that follow; a last one that is no JSON was cut off."""
        try:
            self._take_all(bounded(file, self._numbers))
        except MisfitError as misfit:
            raise complaint(self._path, misfit.found, misfit.allowed, line=self._line + 1) from None

    def _take_all(self, lines: Iterator[bytes]) -> None:
        broken = False
        while (line := self._next(lines)) is not None:
            if broken:
                raise MisfitError("a line that is not JSON", _ALLOWED_LINE)
            if self._ends is not None:
                raise MisfitError("a line after the end", "nothing after it")
            try:
                recorded = from_json(line, allow_inf_nan=False)
            except ValueError:
                broken = True
                continue
            self._take(recorded)
            self._line += 1

    def _numbers(self) -> int:
        return sum(order.numbers for order in self._orders.values())

    def _next(self, lines: Iterator[bytes]) -> bytes | None:
        try:
            return next(lines, None)
        except DAMAGE:
            return None
        except OSError as error:
            raise complaint(self._path, f"a file that cannot be read ({error.strerror})") from None

    def _take(self, recorded: Any) -> None:
        if type(recorded) is not dict or type(name := recorded.get("event")) is not str:
            raise MisfitError("a line that is no event", _ALLOWED_LINE)
        if (form := schema.FORMS.get(name)) is None:
            if name == END:
                self._ends = self._read_end(recorded)
                return
            raise MisfitError(f"the unknown event {schema.shown(name)}", ", ".join([*ev.KINDS, END]))
        event = form.event(recorded, self._more)
        if not self._t <= event.t <= self._duration:
            found = f"{schema.named(form.kind)} at {event.t:g} s"
            raise MisfitError(found, f"a time from {self._t:g} s to {self._duration:g} s")
        lane = recorded.get("lane")
        if type(lane) not in (str, type(None)) or (order := self._orders.get(lane)) is None:
            names = [json.dumps(known) for known in self._events if known is not None]
            raise MisfitError(f"the lane {schema.shown(lane)}", ", ".join(names) or "no lane")
        order.take(event)
        self._t = event.t
        self._events[lane].append(event)

    def _read_end(self, recorded: dict[str, Any]) -> dict[str | None, dict[str, Any]]:
        # The lane of a race that was run alone has its name in the end, and is no race.
        ends: Any = [recorded | {"name": None}] if None in self._events else recorded.get("lanes")
        if (
            not isinstance(ends, list)
            or not all(isinstance(end, dict) and isinstance(end.get("result"), dict) for end in ends)
            or [end.get("name") for end in ends] != list(self._events)
        ):
            raise MisfitError("an end without its results", "the result of each lane")
        return {name: self._end(name, end) for name, end in zip(self._events, ends, strict=True)}

    def _end(self, name: str | None, recorded: dict[str, Any]) -> dict[str, Any]:
        """How a lane ended, in the terms of `RecordedLane`."""
        last = _last(self._events[name])
        until = f"a number from {last:g} to {self._duration:g}, the emulated seconds at its end"
        seconds = {"emulated_seconds": schema.number(last, self._duration, until)}
        result = schema.checked(recorded["result"], seconds, "result")
        end = schema.checked(recorded, schema.END, "end")
        clock = end.pop("clock", None)
        if clock is not None:
            clock = schema.checked(clock, schema.CLOCK, "clock")
        error = end.pop("error", None)
        return {
            **end,
            "ended": True,
            "t_end": float(result.get("emulated_seconds", last)),
            "clock": clock,
            "error": None if error is None else clean(error, schema.LONGEST_ERROR),
        }

    def lane(self, name: str | None) -> RecordedLane:
        """What was read of a lane."""
        events = tuple(self._events.pop(name))
        end = {"t_end": _last(events)} if self._ends is None else self._ends[name]
        return RecordedLane(name, self._scenarios[name], events, **end)

    def cut(self) -> str | None:
        """Where the recording was cut off, if it was."""
        if self._ends is not None:
            return None
        return f"{self._path} was cut off after line {self._line}, at {self._t:g} s"


def _last(events: Sequence[ev.Event]) -> float:
    return events[-1].t if events else 0.0
