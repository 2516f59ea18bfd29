"""The scalar values a scenario may hold: what each allows, in words, for pydantic and for JSON Schema.

Each is an annotation, as in ``Annotated[int, Whole(1, 10)]``. One check does all the work of a value, so
that a mistake is reported in one plain sentence whether it comes from a file or from Python.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from numbers import Integral, Real
from operator import add
from typing import Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from emulator.text import clean, quoted

MAX_SECONDS = 1e9
"""The longest duration anywhere in a scenario, in seconds: thirty-two years."""

MAX_WORKERS = 1_000_000
"""The most workers a scenario may have, those that join later included."""

LEAST_FACTOR, MOST_FACTOR = 1e-40, 1e40
"""The range of a worker's speed, slow-downs included, and of what an episode's duration is multiplied by."""

_AMOUNT = r"[0-9]+(?:\.[0-9]+)?"
DURATION_PATTERN = rf"^(?=.)({_AMOUNT}d)? ?({_AMOUNT}h)? ?({_AMOUNT}m)? ?({_AMOUNT}s)?(?<! )$"
"""What a duration text looks like, in the dialect that Python and JSON Schema share."""

_UNITS = (86400.0, 3600.0, 60.0, 1.0)


class Part(BaseModel):
    """A part of a scenario: frozen, and without room for keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Aliased(Part):
    """A part that is always written under the keys it is read by, where fields have other names."""

    unset_left_out: ClassVar[frozenset[str]] = frozenset()
    """Keys that are not written while they are unset, which else would stand at every number."""

    @model_serializer(mode="wrap")
    def _under_aliases(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {
            (fields[name].alias or name) if name in fields else name: value
            for name, value in handler(self).items()
            if value is not None or name not in self.unset_left_out
        }


def misfit(allowed: str, found: str, *, key: str = "") -> PydanticCustomError:
    """The error of a part whose values do not go together; ``key`` is the one at fault."""
    context = {"allowed": allowed, "found": found, "key": key}
    return PydanticCustomError("misfit", "found {found}; allowed: {allowed}", context)


def shortest(number: float) -> str:
    """Write a number as a person would: without a fraction where it has none."""
    return str(int(number)) if number == int(number) else repr(number)


def parse_duration(text: str) -> float:
    """Seconds of a text such as ``90s``, ``20m``, ``1h30m`` or ``1d``; ValueError for any other text."""
    match = re.fullmatch(DURATION_PATTERN, text)
    if match is None:
        raise ValueError(text)
    parts = zip(match.groups(), _UNITS, strict=True)
    # `sum` rounds otherwise from Python 3.12 on, and a run must not depend on the version.
    return reduce(add, (float(part[:-1]) * unit for part, unit in parts if part))


def duration_text(seconds: float) -> str:
    """A duration as a person would write it in a file: ``90`` seconds are ``1m30s``."""
    whole, rest = divmod(seconds, 60)
    parts = [(int(whole // 1440), "d"), (int(whole // 60 % 24), "h"), (int(whole % 60), "m")]
    text = "".join(f"{number}{unit}" for number, unit in parts if number)
    return f"{text}{shortest(rest)}s" if rest or not text else text


class Check(ABC):
    """An annotation that checks and converts one value."""

    @property
    @abstractmethod
    def allowed(self) -> str:
        """What is allowed, in words."""

    @property
    def choices(self) -> Sequence[str]:
        """The texts that are allowed, where these are few."""
        return ()

    @abstractmethod
    def convert(self, value: object) -> Any:
        """Return the value to keep; ValueError, TypeError or OverflowError where it is not allowed."""

    @abstractmethod
    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the values allowed."""

    def dump(self, value: Any) -> Any:
        """Return the JSON-ready form of a kept value."""
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self._validated, serialization=core_schema.plain_serializer_function_ser_schema(self.dump)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return self.json_schema()

    def _validated(self, value: object) -> Any:
        try:
            return self.convert(value)
        except (ValueError, TypeError, OverflowError):
            found = quoted(value) if isinstance(value, str) else clean(value)
            context = {"allowed": self.allowed, "found": found}
            raise PydanticCustomError("not_allowed", "found {found}; allowed: {allowed}", context) from None


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise TypeError
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


@dataclass(frozen=True)
class Whole(Check):
    """A whole number from ``low`` to ``high``, both included."""

    low: int
    high: int

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        return f"a whole number from {self.low} to {self.high}"

    def convert(self, value: object) -> int:
        """Take an integer, or a float without a fraction."""
        number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else _finite(value)
        if number != int(number) or not self.low <= number <= self.high:
            raise ValueError
        return int(number)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the values allowed."""
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True)
class Number(Check):
    """A finite number from ``low`` to ``high``; ``above`` and ``below`` leave out the one or the other."""

    low: float
    high: float
    above: bool = False
    below: bool = False
    noun = "a number"

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        low = f"above {shortest(self.low)}," if self.above else f"from {shortest(self.low)}"
        high = (
            f"to below {shortest(self.high)}"
            if self.below
            else f"{'up ' if self.above else ''}to {shortest(self.high)}"
        )
        return f"{self.noun} {low} {high}"

    def convert(self, value: object) -> Any:
        """Take any finite number in the range."""
        number = _finite(value)
        if not self.low <= number <= self.high:
            raise ValueError
        if (self.above and number == self.low) or (self.below and number == self.high):
            raise ValueError
        return number

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the values allowed."""
        low, high = (
            "exclusiveMinimum" if self.above else "minimum",
            "exclusiveMaximum" if self.below else "maximum",
        )
        return {"type": "number", low: self.low, high: self.high}


@dataclass(frozen=True)
class Exact(Number):
    """A decimal number kept exactly as it is written, so that 0.1 is one tenth; None where ``optional``."""

    optional: bool = False

    def convert(self, value: object) -> Decimal | None:
        """Take any number in the range, by its shortest text."""
        if value is None and self.optional:
            return None
        if isinstance(value, Integral):
            return Decimal(int(super().convert(value)))
        return Decimal(repr(super().convert(value)))

    def dump(self, value: Decimal | None) -> int | float | None:
        """Return the plain number."""
        if value is None:
            return None
        return int(value) if value == int(value) else float(value)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the values allowed."""
        number = super().json_schema()
        return {"anyOf": [number, {"type": "null"}]} if self.optional else number


@dataclass(frozen=True)
class Seconds(Number):
    """A duration: a number of seconds, or a text such as ``90s``, ``20m``, ``1h30m`` or ``1d``."""

    low: float = 0.0
    high: float = MAX_SECONDS
    noun = "seconds"

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        return f"{super().allowed}, or a text like 90s, 20m or 1h30m"

    def convert(self, value: object) -> float:
        """Take a number of seconds or a text with units."""
        seconds: float = super().convert(parse_duration(value) if isinstance(value, str) else value)
        return seconds

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the values allowed."""
        return {"anyOf": [super().json_schema(), {"type": "string", "pattern": DURATION_PATTERN}]}


@dataclass(frozen=True)
class Speed(Number):
    """Emulated seconds per second of wall time, or ``max``: as fast as the machine can."""

    low: float = 0.0
    high: float = 1e9
    above: bool = True

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        return f"{super().allowed}, or max"

    def convert(self, value: object) -> Any:
        """Take a number or the word ``max``."""
        return value if value == "max" else super().convert(value)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the values allowed."""
        return {"anyOf": [super().json_schema(), {"const": "max"}]}


@dataclass(frozen=True)
class Text(Check):
    """A printable text of 1 to ``longest`` characters; several lines only where ``lines`` says so."""

    longest: int
    lines: bool = False

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        kind = "a printable text" if self.lines else "a printable text on one line"
        return f"{kind}, 1 to {self.longest} characters"

    def convert(self, value: object) -> str:
        """Take a text, without the white space around it."""
        if not isinstance(value, str):
            raise TypeError
        text = value.strip()
        if not 1 <= len(text) <= self.longest:
            raise ValueError
        if not (text.replace("\n", " ") if self.lines else text).isprintable():
            raise ValueError
        return text

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the values allowed."""
        return {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class NumberSet(Check):
    """Some workers (or engines): how many (the lowest-numbered that are up), or a list of numbers (from 0).

    ``counted`` False leaves only the list.
    """

    noun: str
    most: int
    counted: bool = True

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        ids = f"a list of different {self.noun} numbers from 0 to {self.most - 1}"
        return f"a number of {self.noun}s from 1 to {self.most}, or {ids}" if self.counted else ids

    def convert(self, value: object) -> int | tuple[int, ...]:
        """Take a number of them or a list of their numbers."""
        if isinstance(value, list | tuple):
            ids = tuple(Whole(0, self.most - 1).convert(item) for item in value)
            if not ids or len(set(ids)) < len(ids):
                raise ValueError
            return ids
        if not self.counted:
            raise TypeError
        return Whole(1, self.most).convert(value)

    def dump(self, value: int | tuple[int, ...]) -> int | list[int]:
        """Return the number, or the list."""
        return value if isinstance(value, int) else list(value)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the values allowed."""
        item = Whole(0, self.most - 1).json_schema()
        ids = {"type": "array", "items": item, "minItems": 1, "uniqueItems": True}
        return {"anyOf": [Whole(1, self.most).json_schema(), ids]} if self.counted else ids


@dataclass(frozen=True)
class ColumnKey(Check):
    """A column of a table, by name or counted from 1; or None."""

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        return "the name of a column, or its number from 1"

    def convert(self, value: object) -> str | int | None:
        """Take a name, a number or None."""
        if value is None:
            return None
        return Text(200).convert(value) if isinstance(value, str) else Whole(1, 10_000).convert(value)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the values allowed."""
        return {"anyOf": [Text(200).json_schema(), Whole(1, 10_000).json_schema(), {"type": "null"}]}
