"""The scenario that frames are drawn of in tests: its durations need no function that machines differ in."""

from typing import Any

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
