"""Every error the package raises, so that one ``except EmulatorError`` catches them all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emulator.text import clean

LONGEST = 1000
"""The most characters of a message, and of each part of a problem."""


class EmulatorError(Exception):
    """Something the user can act on went wrong; the message says what, where, and what to do.

    Whatever was put into it, the message is one printable line. Every kind can be copied and pickled, as
    between processes, with its message and all that it carries.
    """

    def __str__(self) -> str:
        return clean(super().__str__(), LONGEST)

    def __reduce__(self) -> tuple[Any, ...]:
        # What Python does by itself calls the class with the finished message, where most take its parts.
        return EmulatorError._restored, (type(self), self.args), self.__dict__

    @staticmethod
    def _restored(kind: "type[EmulatorError]", args: tuple[Any, ...]) -> "EmulatorError":
        error = kind.__new__(kind)
        super(EmulatorError, error).__init__(*args)
        return error


@dataclass(frozen=True)
class Problem:
    """One mistake in a scenario: where it stands, what was found there and what is allowed instead.

    ``line`` and ``column`` count from 1; they are None where the mistake stands in no file (``--set``).
    ``key`` is a dotted path such as ``rollout.workers``, empty for the file as a whole. All texts are
    cleaned, so that a problem is one printable line whatever the file has in it.
    """

    file: str
    line: int | None
    column: int | None
    key: str
    found: str
    allowed: str
    hint: str = ""

    def __post_init__(self) -> None:
        for name in ("file", "key", "found", "allowed", "hint"):
            object.__setattr__(self, name, clean(getattr(self, name), LONGEST))

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}:{self.column}"
        key = (
            ""
            if not self.key or self.file in {f"--set {self.key}", f"--vary {self.key}"}
            else f" {self.key}:"
        )
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}:{key} found {self.found}; allowed: {self.allowed}{hint}"


class ScenarioError(EmulatorError, ValueError):
    """A scenario cannot be used; ``problems`` has every mistake in it, the message a line for each."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class RecordingError(EmulatorError, ValueError):
    """A recording cannot be read or written.

    `runs` is what a run came to that could not be recorded (a tuple of `emulator.Run`).
    """

    runs: tuple[Any, ...] = ()


class UnknownDurationsError(EmulatorError, LookupError):
    """What a recording ran cannot be run as it was read: it did not keep the durations of a file."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"the recording does not hold the durations of {path}; emulator.load_scenario of the recording "
            "reads them from there"
        )


class SweepError(EmulatorError, ValueError):
    """A sweep cannot be started, continued or kept as it was asked for."""


class SweepBrokenError(SweepError):
    """A process of a sweep was lost, with its runs: `done` of `runs` had ended; `hint` says how to go on."""

    def __init__(self, what: str, done: int, runs: int, hint: str) -> None:
        self.what, self.done, self.runs, self.hint = what, done, runs, hint
        super().__init__(what, done, runs, hint)

    def __str__(self) -> str:
        return f"{self.what}: {self.done:,} of {self.runs:,} runs were done, and {self.hint}"


class MissingExtraError(EmulatorError, ImportError):
    """What was asked for needs an optional package; the message says which to install, and how."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package: pip install 'emulator[{extra}]'")


class EventsNotKeptError(EmulatorError, LookupError):
    """A run was not asked to keep its events."""

    def __init__(self) -> None:
        super().__init__("the events of this run were not kept; run it with keep_events=True")


class RunError(EmulatorError):
    """A run could not go on; `run` is what happened until then (an `emulator.Run`)."""

    run: Any = None


class DeadlockError(RunError):
    """Nothing in a lane can happen any more: `t` is when, in emulated seconds."""

    def __init__(self, t: float, waits: str) -> None:
        self.t = t
        super().__init__(f"deadlock at {t:g} s: {waits}")


class LearnerError(RunError):
    """A learner raised something, or returned no usable figures: `t` is when, in emulated seconds."""

    def __init__(self, t: float, reason: str) -> None:
        self.t = t
        super().__init__(f"the learner failed at {t:g} s: {reason}")


class OutOfRangeError(RunError):
    """Speeds or factors have multiplied beyond what can be computed with, at `t`, in emulated seconds.

    `what` came to `found`, where `low` to `high` is allowed.
    """

    def __init__(self, t: float, what: str, found: float, low: float, high: float) -> None:
        self.t, self.what, self.found, self.low, self.high = t, what, found, low, high
        super().__init__(
            f"{what} comes to {found:g} at {t:g} s, beyond what can be computed with ({low:g} to {high:g}); "
            "have fewer or milder slow and straggler entries at once, or a rollout.speed that varies less"
        )


class SequenceTooLargeError(RunError):
    """A sequence alone has more context than its engine can hold, at `t`, in emulated seconds.

    It is of engine `engine` and has come to `tokens`, where `most` are the limit.
    """

    def __init__(self, t: float, engine: int, tokens: float, most: float) -> None:
        self.t, self.engine, self.tokens, self.most = t, engine, tokens, most
        super().__init__(
            f"at {t:g} s a sequence that is alone in engine {engine} has {tokens:.0f} tokens of context and "
            f"has not ended, more than engine.kv_tokens ({most:.0f}); have a larger kv_tokens, or a cap on "
            "prompts, turns and tokens that keeps every episode below it"
        )


class EndlessInstantError(RunError):
    """No time passes any more at `t`: what happens there has no end."""

    def __init__(self, t: float, limit: int, last: str) -> None:
        self.t = t
        super().__init__(
            f"no time passes at {t:g} s: more than {limit} events at this one instant, the last {last}; "
            "some durations are 0, or too small for this duration of the run"
        )
