"""What a recording came to, in the form of what a run came to."""

import dataclasses
from typing import Any

from emulator.clock import ClockStatistics
from emulator.errors import RunError
from emulator.events import Inject
from emulator.recording.reading import RecordedLane, Recording
from emulator.runs import Run
from emulator.trace import trace_of


def outcomes(recording: Recording) -> list[Run]:
    """What came of each lane, as recorded; if it was cut off, as of its events, interrupted there."""
    return [_outcome(recording, lane) for lane in recording.lanes]


def outcomes_json(recording: Recording) -> dict[str, Any]:
    """What ``--json`` prints of a recording: as of the run or the race, and ``cut`` where it was cut off."""
    lanes = []
    for run in outcomes(recording):
        result = run.to_json() | {"emulator": recording.emulator}
        if recording.cut is not None:
            result["clock"] = None
        lanes.append(result)
    result = {"lanes": lanes} if recording.is_race else lanes[0]
    return result if recording.cut is None else {**result, "cut": recording.cut}


def _outcome(recording: Recording, lane: RecordedLane) -> Run:
    trace = lane.trace_sha256
    return Run(
        scenario=lane.scenario,
        result=lane.figures(recording.t_end) if lane.result is None else lane.result,
        hash_trace=lambda: trace_of(lane.events) if trace is None else trace,
        clock=_clock(lane),
        name=lane.name,
        error=None if lane.error is None else RunError(lane.error),
        interrupted=lane.interrupted or recording.cut is not None,
        interventions=tuple(event.entry for event in lane.events if isinstance(event, Inject)),
        recall=lambda: lane.events,
    )


def _clock(lane: RecordedLane) -> ClockStatistics:
    """How the clock went; what is not known of it is None or 0."""
    unknown = ClockStatistics(lane.scenario.speed, None, 0.0, 0.0, None)
    known = {field.name for field in dataclasses.fields(ClockStatistics)}
    return dataclasses.replace(unknown, **{k: v for k, v in (lane.clock or {}).items() if k in known})
