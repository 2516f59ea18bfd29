"""The reference hour, and what is changed in it."""

from typing import Any

from emulator.scenario import Scenario

ASYNCHRONOUS = {"kind": "asynchronous"}
SYNCHRONOUS = {"kind": "synchronous"}


def scenario(strategy: dict[str, Any], *, sigma: float = 1.0, seed: int = 1, **sections: Any) -> Scenario:
    """64 workers, batches of 64, log-normal episodes of median 20 s, an update of 15 s, one hour."""
    rollout = {"workers": 64, "episode_seconds": {"kind": "lognormal", "median": 20, "sigma": sigma}}
    trainer = {"batch_size": 64, "update_seconds": 15}
    rest = {name: value for name, value in sections.items() if name not in ("rollout", "trainer")}
    return Scenario.model_validate(
        {
            "seed": seed,
            "strategy": strategy,
            "rollout": {**rollout, **sections.get("rollout", {})},
            "trainer": {**trainer, **sections.get("trainer", {})},
            **rest,
        }
    )
