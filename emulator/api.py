"""The public functions: a scenario in, what came of it out."""

import os
from collections.abc import Sequence

from emulator.clock import Speed
from emulator.errors import Problem, ScenarioError
from emulator.learner import LearnerFactory, built_in
from emulator.recording import ScenarioSource, as_scenario
from emulator.recording.writing import Recorder
from emulator.runner import EventSink, Watcher, run_lanes, watch_nothing
from emulator.runs import Run
from emulator.scenario import Scenario


def run(
    scenario: ScenarioSource,
    *,
    speed: Speed | None = None,
    seed: int | None = None,
    watch: Watcher = watch_nothing,
    sinks: Sequence[EventSink] = (),
    record: str | os.PathLike[str] | None = None,
    force: bool = False,
    keep_events: bool = False,
    learner: LearnerFactory | None = None,
) -> Run:
    """Run one scenario, without its lanes, and block until it is over.

    `scenario` is a `Scenario`, the name of a bundled one, or the path of a file or a recording.
    `speed` (emulated seconds per wall second, or ``"max"``) and `seed` are the scenario's unless given.
    Each of `sinks` is given the events, block by block, as they happen. `record` is the file (``.jsonl`` or
    ``.jsonl.gz``) that a recording is written to as the run goes; `force` lets it replace an older file.
    `keep_events` is for `Run.events` and `Run.episodes`; a million events take about 200 MB. `learner` makes
    another learner than the built-in one that the scenario may ask for: it is given the scenario and a seed
    (`emulator.learner.LearnerFactory`).

    Raises ScenarioError if the name or the file is not a scenario, and RunError if the run cannot go on
    (DeadlockError if nothing can happen any more); its `run` has what happened until then. Raises
    RecordingError before the run if `record` cannot be written; if it could not be written to the end, after
    it, and its `runs` has what happened.

    Ctrl-C ends the run at once, with a whole recording. What happened until then is returned, `interrupted`,
    where a loop runs already, as in a notebook; else RunInterrupted, a KeyboardInterrupt, has it as `runs`.
    """
    base = _with_seed(as_scenario(scenario), seed)
    recorder = None if record is None else Recorder(record, base, force=force)
    (outcome,) = _run(
        [base], recorder, speed=speed, watch=watch, sinks=[sinks], keep_events=keep_events, learner=learner
    )
    if outcome.error is not None:
        outcome.error.run = outcome
        raise outcome.error
    return outcome


def race(
    scenario: ScenarioSource,
    *,
    speed: Speed | None = None,
    seed: int | None = None,
    watch: Watcher = watch_nothing,
    sinks: Sequence[Sequence[EventSink]] = (),
    record: str | os.PathLike[str] | None = None,
    force: bool = False,
    keep_events: bool = False,
    learner: LearnerFactory | None = None,
) -> list[Run]:
    """Run the lanes of a scenario side by side on one clock, on the same episodes; one `Run` a lane.

    A lane that cannot go on ends alone, with its `error` set. `scenario`, `record`, `force`, `keep_events`
    and `learner` are as in `run`; the latter is called for each lane.
    Raises ScenarioError if there are no lanes, and RecordingError as `run` does.
    """
    base = _with_seed(as_scenario(scenario), seed)
    lanes = base.lane_scenarios()
    if not lanes:
        raise ScenarioError(
            [
                Problem(
                    file=base.name,
                    line=None,
                    column=None,
                    key="lanes",
                    found="no lanes",
                    allowed="at least one lane, each with a name and what it changes",
                )
            ]
        )
    names = [lane.name for lane in base.lanes]
    recorder = None if record is None else Recorder(record, base, names, force=force)
    return _run(
        lanes, recorder, speed=speed, watch=watch, sinks=sinks, keep_events=keep_events, learner=learner
    )


def _run(
    lanes: Sequence[Scenario],
    recorder: Recorder | None,
    *,
    speed: Speed | None,
    watch: Watcher,
    sinks: Sequence[Sequence[EventSink]],
    keep_events: bool,
    learner: LearnerFactory | None,
) -> list[Run]:
    make = built_in if learner is None else learner
    if recorder is None:
        return run_lanes(lanes, speed=speed, watch=watch, sinks=sinks, keep_events=keep_events, learner=make)
    with recorder:
        runs = run_lanes(
            lanes,
            speed=speed,
            watch=[recorder.watch, watch],
            sinks=sinks,
            line_sinks=recorder.line_sinks,
            keep_events=keep_events,
            learner=make,
        )
    if recorder.error is not None:
        recorder.error.runs = tuple(runs)
        raise recorder.error
    return runs


def _with_seed(scenario: Scenario, seed: int | None) -> Scenario:
    if seed is None:
        return scenario
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise ValueError(f"the seed is {seed!r}; it must be a whole number from 0 to 2**64 - 1")
    return scenario.model_copy(update={"seed": seed})
