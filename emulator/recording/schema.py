"""What a recording may hold: every value of it by type and range, in one place.

Nothing that fails here gets any further, so whoever folds or draws a recording meets possible values only.
What a value may be after those before it (the number of the next episode, who is free) is for `order`.
"""

import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from pydantic import ValidationError

from emulator import events as ev
from emulator.scenario.timeline import Action, Crash, RemoveWorkers, Slow, Straggler
from emulator.scenario.timeline import Event as Entry
from emulator.text import clean
from emulator.values.scalars import LEAST_FACTOR, MOST_FACTOR

MOST_SECONDS = 1e300
"""The longest duration of an episode: a million of them still have a finite sum."""

LONGEST_ERROR = 2000
"""Characters that are kept of why a lane could not go on."""


class MisfitError(Exception):
    """A value that is not allowed: what was found, and what is allowed there."""

    def __init__(self, found: str, allowed: str) -> None:
        super().__init__(found, allowed)
        self.found = found
        self.allowed = allowed


@dataclass(frozen=True)
class Value:
    """What one value may be: of one of some types (exactly: a bool is no number), and passing a test."""

    allowed: str
    types: tuple[type, ...]
    admits: Callable[[Any], bool] | None = None

    def fits(self, value: object) -> bool:
        """Whether a value is allowed."""
        return type(value) in self.types and (self.admits is None or self.admits(value))


def number(low: float, high: float, words: str) -> Value:
    """A number from `low` to `high`."""
    return Value(words, (float, int), lambda value: low <= value <= high)


def one_of(*words: str) -> Value:
    """One of some words."""
    return Value(" or ".join(json.dumps(word) for word in words), (str,), frozenset(words).__contains__)


def optional(value: Value) -> Value:
    """The same, or null."""
    return Value(
        f"{value.allowed}, or null", (*value.types, type(None)), lambda v: v is None or value.fits(v)
    )


def _are_numbers(values: list[Any]) -> bool:
    return bool(values) and set(map(type, values)) == {int} and len(set(values)) == len(values)


FLAG = Value("true or false", (bool,))
TEXT = Value("a text", (str,))
OBJECT = Value("an object", (dict,))
NON_NEGATIVE = number(0.0, sys.float_info.max, "a number from 0")
SPEED = Value(
    'a number above 0, or "max"',
    (float, int, str),
    lambda value: value == "max" if type(value) is str else 0 < value <= sys.float_info.max,
)
TRACE_HASH = Value(
    "64 hexadecimal digits", (str,), lambda text: len(text) == 64 and not text.strip("0123456789abcdef")
)
_WHOLE = Value("a whole number from 0", (int,), lambda value: value >= 0)
_TIME = Value("a number of seconds", (float, int))
_FIGURE = number(-MOST_SECONDS, MOST_SECONDS, "a finite number")
_COUNTED = number(0.0, MOST_SECONDS, "a finite number from 0")
_HELD = number(-1e-3, MOST_SECONDS, "a number of tokens")  # of which rounding may leave less than none
_BY_TYPE: dict[Any, Value] = {
    float: _FIGURE,
    int: _WHOLE,
    bool: FLAG,
    int | None: optional(_WHOLE),
    list[int]: Value("a list of different whole numbers", (list,), _are_numbers),
    dict[str, Any]: Value("one action as a scenario's timeline has it, with its numbers resolved", (dict,)),
}
_BY_NAME: dict[tuple[type[ev.Event], str], Value] = {
    (ev.Start, "duration"): number(0.0, MOST_SECONDS, "a finite number of seconds from 0"),
    (ev.Blocked, "cause"): one_of("sandbox", "queue"),
    **{(kind, "held"): _HELD for kind in (ev.Admit, ev.Release, ev.Lengthen, ev.EngineChange)},
    **{(kind, "steps"): _COUNTED for kind in (ev.Admit, ev.Release, ev.Lengthen, ev.EngineChange)},
    **{(kind, "prefill"): _COUNTED for kind in (ev.Admit, ev.EngineChange)},
    **{(kind, "tokens"): _COUNTED for kind in (ev.Admit, ev.Release)},
    (ev.Admit, "context"): _COUNTED,
    (ev.Lengthen, "left"): _COUNTED,
    (ev.EngineChange, "speed"): number(LEAST_FACTOR, MOST_FACTOR, "a speed that can be computed with"),
    (ev.EngineChange, "cause"): one_of("start", "pause", "refresh", "prefill", "slow", "crash", "restart"),
    (ev.Retry, "cause"): one_of("failure", "timeout"),
    (ev.Pause, "cause"): one_of("resume", "defer"),
    (ev.Abort, "cause"): one_of("round", "stale", "group", "surplus", "leave"),
    (ev.Fail, "cause"): one_of("failure", "timeout", "crash"),
    (ev.Drop, "cause"): one_of("stale", "group"),
}

CLOCK: Mapping[str, Value] = {
    "asked_speed": SPEED,
    "achieved_speed": optional(NON_NEGATIVE),
    "wall_seconds": NON_NEGATIVE,
    "paused_seconds": NON_NEGATIVE,
    "worst_lag_ms": optional(NON_NEGATIVE),
}
"""How the clock went, as the end of a recording has it; what is missing is not known."""

HEADER: Mapping[str, Value] = {
    "emulator": TEXT,
    "seed": Value("a whole number from 0", (int,), lambda value: 0 <= value < 2**64),
    "lanes": Value("a list of names", (list,), lambda names: all(type(name) is str for name in names)),
}
"""What the header says besides the scenario."""

END: Mapping[str, Value] = {
    "trace_sha256": TRACE_HASH,
    "clock": optional(OBJECT),
    "error": TEXT,
    "interrupted": FLAG,
}
"""What the end says of a lane besides its result; what is missing is not known."""


@dataclass(frozen=True)
class Form:
    """How one kind of event is recorded: its fields, each with what it may be."""

    kind: type[ev.Event]
    fields: dict[str, Value]
    _types: tuple[type, ...] = field(init=False)
    _get: Callable[[dict[str, Any]], tuple[Any, ...]] = field(init=False)
    _tests: tuple[tuple[int, Callable[[Any], bool]], ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_types", tuple(value.types[0] for value in self.fields.values()))
        object.__setattr__(self, "_get", _getter(list(self.fields)))
        # The whole numbers are for `order`, which knows what they are numbers of.
        tests = [(i, v.admits) for i, v in enumerate(self.fields.values()) if v.admits and v is not _WHOLE]
        object.__setattr__(self, "_tests", tuple(tests))

    def event(self, recorded: dict[str, Any], more: int) -> ev.Event:
        """The event of a line that has its name and `more` keys besides the fields, or MisfitError."""
        try:
            values = self._get(recorded)
        except KeyError:
            raise self._misfit(recorded) from None
        if len(recorded) != len(values) + more:
            raise self._misfit(recorded)
        if tuple(map(type, values)) != self._types:
            values = self._converted(values)
        for place, admits in self._tests:
            if not admits(values[place]):
                raise self._unfit(place, values[place])
        if self.kind is ev.Inject:
            values = (values[0], action(values[1]))
        event: ev.Event = tuple.__new__(self.kind, values)
        return event

    def _converted(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The values where their types are not the usual: whole numbers may stand for any, null for some."""
        found = []
        for place, (value, allowed) in enumerate(zip(values, self.fields.values(), strict=True)):
            if not allowed.fits(value):
                raise self._unfit(place, value)
            found.append(_as_float(value) if allowed.types[0] is float else value)
        return tuple(found)

    def _unfit(self, place: int, value: object) -> MisfitError:
        name, allowed = list(self.fields.items())[place]
        return MisfitError(f"{name} {shown(value)} in {named(self.kind)}", allowed.allowed)

    def _misfit(self, recorded: dict[str, Any]) -> MisfitError:
        missing = [name for name in self.fields if name not in recorded]
        others = [name for name in recorded if name not in self.fields and name != "event"]
        words = (
            f"without {missing[0]}" if missing else f"with {shown(others[0])}" if others else "without lane"
        )
        return MisfitError(f"{named(self.kind)} {words}", ", ".join(self.fields))


def _getter(names: list[str]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    if len(names) > 1:
        return itemgetter(*names)
    (name,) = names
    return lambda recorded: (recorded[name],)


def _form(kind: type[ev.Event]) -> Form:
    fields = {
        name: _TIME if name == "t" else _BY_NAME.get((kind, name)) or _BY_TYPE[annotation]
        for name, annotation in kind.__annotations__.items()
    }
    return Form(kind, fields)


FORMS: dict[str, Form] = {name: _form(kind) for name, kind in ev.KINDS.items()}
"""The forms of the events, by name."""


def action(recorded: dict[str, Any]) -> dict[str, Any]:
    """What was injected, as the timeline writes it, with all numbers resolved, or MisfitError."""
    try:
        entry = Entry.model_validate({**recorded, "at": 0.0})
    except (ValidationError, RecursionError):
        entry = None
    if entry is None or "at" in recorded or not _resolved(entry.action):
        raise MisfitError(f"the injection {shown(recorded)}", _BY_TYPE[dict[str, Any]].allowed)
    resolved = entry.model_dump(mode="json", by_alias=True)
    del resolved["at"]
    return resolved


def _resolved(given: Action) -> bool:
    """Whether it names the workers, engines or episode that it hits."""
    match given:
        case Straggler():
            return given.episode is not None
        case Slow() | Crash():
            return isinstance(given.workers if given.engines is None else given.engines, tuple)
        case RemoveWorkers():
            return isinstance(given.workers, tuple)
    return True


def checked(recorded: Mapping[str, Any], values: Mapping[str, Value], of: str) -> dict[str, Any]:
    """What stands under the names of some values, without other keys, or MisfitError."""
    for name, allowed in values.items():
        if name in recorded and not allowed.fits(recorded[name]):
            raise MisfitError(f"{of}.{name} {shown(recorded[name])}", allowed.allowed)
    return {name: recorded[name] for name in values if name in recorded}


def shown(value: object) -> str:
    """A value as JSON, on one line and not too long."""
    return clean(json.dumps(value, ensure_ascii=False))


def named(kind: type[ev.Event]) -> str:
    """An event of a kind, with its article."""
    name = ev.NAMES[kind]
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
