"""The scenario that frames are drawn of in tests: its durations need no function that machines differ in."""

from collections.abc import Sequence
from typing import Any

from emulator.dashboard.scale import scale
from emulator.dashboard.state import ShownLane
from emulator.events import Event
from emulator.runner import EventSink, run_lanes
from emulator.scenario import Scenario

DURATIONS = {
    "kind": "mixture",
    "components": [
        {"weight": 0.9, "distribution": {"kind": "uniform", "low": 5, "high": 40}},
        {"weight": 0.1, "distribution": {"kind": "uniform", "low": 60, "high": 300}},
    ],
}


def long_tail(workers: int = 16, duration: float = 3600.0, **changes: Any) -> Scenario:
    """Workers with a long tail of episodes, and two lanes to race: synchronous and asynchronous."""
    return Scenario.model_validate(
        {
            "name": "long tail",
            "duration": duration,
            "rollout": {"workers": workers, "episode_seconds": DURATIONS},
            "trainer": {"batch_size": workers, "update_seconds": 15},
            "strategy": {"kind": "asynchronous"},
            "lanes": [
                {"name": "sync", "strategy": {"kind": "synchronous"}},
                {"name": "async", "strategy": {"kind": "asynchronous"}},
            ],
            **changes,
        }
    )


def lanes_at(scenarios: Sequence[Scenario], at: float) -> list[ShownLane]:
    """The lanes of scenarios that run side by side, as they stood at `at` seconds."""
    common = scale(scenarios)
    lanes = [ShownLane.fresh(scenario, common) for scenario in scenarios]

    def until(lane: ShownLane) -> EventSink:
        def take(events: Sequence[Event]) -> None:
            lane.add(event for event in events if event.t <= at)

        return take

    runs = run_lanes(scenarios, speed="max", sinks=[[until(lane)] for lane in lanes])
    for lane, run in zip(lanes, runs, strict=True):
        lane.history.advance(min(at, run.result["emulated_seconds"]))
    return lanes
