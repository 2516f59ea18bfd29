"""A scenario that runs in a few milliseconds, and sweeps of it."""

from typing import Any

from emulator.scenario import Scenario


def small(**changes: Any) -> Scenario:
    """Four workers for a minute, on episodes of random length."""
    parts: dict[str, Any] = {
        "name": "small",
        "duration": 60,
        "rollout": {"workers": 4, "episode_seconds": {"kind": "lognormal", "median": 5, "sigma": 0.5}},
        "trainer": {"batch_size": 4, "update_seconds": 2},
        "strategy": {"kind": "asynchronous"},
    }
    return Scenario.model_validate(parts | changes)
