"""The public functions: a scenario in, what came of it out."""

from collections.abc import Sequence

from emulator.clock import Speed
from emulator.errors import Problem, ScenarioError
from emulator.runner import EventSink, Run, Watcher, run_lanes, watch_nothing
from emulator.scenario import Scenario


def run(
    scenario: Scenario,
    *,
    speed: Speed | None = None,
    seed: int | None = None,
    watch: Watcher = watch_nothing,
    sinks: Sequence[EventSink] = (),
) -> Run:
    """Run one scenario, without its lanes, and block until it is over.

    `speed` (emulated seconds per wall second, or ``"max"``) and `seed` are the scenario's unless given.
    Each of `sinks` is given the events, block by block, as they happen.

    Raises RunError if the run cannot go on (DeadlockError if nothing can happen any more); its `run` has
    what happened until then.
    """
    outcome = run_lanes([_with_seed(scenario, seed)], speed=speed, watch=watch, sinks=[sinks])[0]
    if outcome.error is not None:
        outcome.error.run = outcome
        raise outcome.error
    return outcome


def race(
    scenario: Scenario,
    *,
    speed: Speed | None = None,
    seed: int | None = None,
    watch: Watcher = watch_nothing,
    sinks: Sequence[Sequence[EventSink]] = (),
) -> list[Run]:
    """Run the lanes of a scenario side by side on one clock, on the same episodes; one `Run` a lane.

    A lane that cannot go on ends alone, with its `error` set. Raises ScenarioError if there are no lanes.
    """
    lanes = _with_seed(scenario, seed).lane_scenarios()
    if not lanes:
        raise ScenarioError(
            [
                Problem(
                    file=scenario.name,
                    line=None,
                    column=None,
                    key="lanes",
                    found="no lanes",
                    allowed="at least one lane, each with a name and what it changes",
                )
            ]
        )
    return run_lanes(lanes, speed=speed, watch=watch, sinks=sinks)


def _with_seed(scenario: Scenario, seed: int | None) -> Scenario:
    return scenario if seed is None else scenario.model_copy(update={"seed": seed})
