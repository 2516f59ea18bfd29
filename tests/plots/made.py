"""Sweeps made up for tests: a real grid, whose runs are a function of the point and the seed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from emulator.scenario import Scenario
from emulator.sweeps import Sweep
from emulator.sweeps.grid import make_grid

SIGMA = "rollout.episode_seconds.sigma"
SYNCHRONOUS, ASYNCHRONOUS = {"kind": "synchronous"}, {"kind": "asynchronous"}
GATE = {"kind": "asynchronous", "max_staleness": 1, "enforce": "gate"}
DROP = {"kind": "asynchronous", "max_staleness": 1, "enforce": "drop"}

Outcome = Mapping[str, Any] | str
"""The figures of a run, or why it has none."""


def hour() -> Scenario:
    """The reference hour, under the name of a sweep."""
    return Scenario.model_validate(
        {
            "name": "made up",
            "duration": 3600,
            "rollout": {
                "workers": 64,
                "episode_seconds": {"kind": "lognormal", "median": 20, "sigma": 1.0},
            },
            "trainer": {"batch_size": 64, "update_seconds": 15},
            "strategy": {"kind": "asynchronous"},
        }
    )


def figures(
    updates: float | None,
    *,
    busy: float = 0.5,
    good: float | None = None,
    histogram: Sequence[int] = (1, 3),
    bias: float = 1.0,
) -> dict[str, Any]:
    """The figures that plots are made of."""
    total = sum(histogram)
    return {
        "updates_per_hour": updates,
        "workers.utilisation": busy,
        "workers.goodput": busy if good is None else good,
        "trainer.utilisation": busy / 2,
        "staleness.mean": sum(k * n for k, n in enumerate(histogram)) / total if total else None,
        "staleness.histogram": list(histogram),
        "episode_seconds.length_bias": bias,
    }


def made(
    vary: Mapping[str, Sequence[Any]],
    outcome: Callable[[dict[str, Any], int], Outcome],
    seeds: int | Sequence[int] = 3,
    done: int | None = None,
) -> Sweep:
    """A sweep in which the run of a seed at a point came to `outcome`; only `done` runs of it, if given."""
    grid = make_grid(hour(), vary, seeds)
    rows = []
    for place, point in enumerate(grid.points):
        for seed in grid.seeds:
            told = outcome(point.values, seed)
            came = {"error": told} if isinstance(told, str) else {"error": None, **told}
            rows.append(grid.row(place, seed, came))
    return Sweep(grid, rows[:done], interrupted=done is not None)
