"""What came of a run: its result, its trace, its events and its episodes."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.clock import ClockStatistics
from emulator.episodes import episode_table
from emulator.errors import EventsNotKeptError, RunError
from emulator.events import Event
from emulator.scenario import Scenario
from emulator.version import __version__

SCHEMA = 1
"""The version of the result's form."""


@dataclass(frozen=True)
class Run:
    """What came of one lane.

    `result` holds what the JSON output calls ``result``, until the end or until where the run was cut short.
    `error` says why it could not go on; `interrupted` that a person ended it. `name` is a lane's, in a race.
    `interventions` are what took effect of the timeline and of a person's keys, in order, as entries of a
    timeline with all numbers resolved. `events` and `episodes` are there if the run was asked to keep its
    events. `hash_trace` and `recall` are where `trace_sha256` and `events` come from.
    """

    scenario: Scenario
    result: dict[str, Any]
    hash_trace: Callable[[], str] = field(repr=False, compare=False)
    clock: ClockStatistics
    name: str | None = None
    error: RunError | None = None
    interrupted: bool = False
    interventions: Sequence[dict[str, Any]] = ()
    recall: Callable[[], Sequence[Event]] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        # For another process: what hash and events come from cannot leave this one, so they go themselves.
        state = {**self.__dict__, "hash_trace": partial(str, self.trace_sha256)}
        if self.recall is not None:
            state["recall"] = partial(list, self.events)
        return state

    @cached_property
    def trace_sha256(self) -> str:
        """SHA-256 of the trace, in hex; computed when it is first asked for."""
        return self.hash_trace()

    @cached_property
    def events(self) -> Sequence[Event]:
        """All events, typed, in order; EventsNotKeptError unless run with ``keep_events=True``."""
        if self.recall is None:
            raise EventsNotKeptError
        return self.recall()

    @cached_property
    def episodes(self) -> NDArray[np.void]:
        """One row an episode, by number; the columns are those of `emulator.episodes.EPISODE`.

        Raises EventsNotKeptError unless run with ``keep_events=True``.
        """
        return episode_table(self.scenario, self.events, self.result["emulated_seconds"])

    def to_json(self) -> dict[str, Any]:
        """The object that ``--json`` prints, of plain JSON values."""
        lines: dict[str, Any] = {} if self.name is None else {"name": self.name}
        lines |= {
            "schema": SCHEMA,
            "emulator": __version__,
            "scenario": self.scenario.resolved(),
            "seed": self.scenario.seed,
            "result": self.result,
            "interventions": list(self.interventions),
            "trace_sha256": self.trace_sha256,
            "clock": asdict(self.clock),
        }
        if self.error is not None:
            lines["error"] = str(self.error)
        if self.interrupted:
            lines["interrupted"] = True
        return lines


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a run or a race in a program; `runs` is what came of each lane until then."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = tuple(runs)
        super().__init__(self.runs)

    def __str__(self) -> str:
        return f"after {self.runs[0].result['emulated_seconds']:g} emulated s; `runs` has what came of them"
