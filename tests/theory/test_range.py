"""Laws for scenarios whose times are as far apart as floats go."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from emulator.scenario import Scenario
from emulator.theory import expected, limits
from emulator.theory.range import representable

EPISODES: list[Any] = [
    5e-324,
    1e9,
    {"kind": "exponential", "mean": 5e-324},
    {"kind": "uniform", "low": 0, "high": 5e-324},
    {"kind": "lognormal", "median": 1e-9, "sigma": 10},
    {"kind": "lognormal", "median": 1e9, "sigma": 10},
    {"kind": "gamma", "mean": 5e-324, "shape": 0.001},
    {"kind": "pareto", "minimum": 1e-300, "alpha": 1000},
]
STRATEGIES: list[Any] = [
    {"kind": "synchronous"},
    {"kind": "one_step_off"},
    {"kind": "asynchronous"},
    {"kind": "asynchronous", "max_staleness": 1, "enforce": "drop"},
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
@pytest.mark.parametrize("episode", EPISODES, ids=str)
def test_no_law_is_given_that_floats_cannot_hold(episode: Any, strategy: Any) -> None:
    for duration, speed, update in product((5e-324, 60.0, 1e9), (1e-9, 1.0, 1e9), (0, 1e9)):
        scenario = Scenario.model_validate(
            {
                "duration": duration,
                "rollout": {"workers": 4, "episode_seconds": episode, "speed": speed},
                "trainer": {"batch_size": 4, "update_seconds": update},
                "strategy": strategy,
            }
        )
        laws = expected(scenario)
        assert all(math.isfinite(law.mean) and math.isfinite(law.sd or 0) for law in laws.values())
        assert all(math.isfinite(limit.value) for limit in limits(scenario).values())


def test_what_was_found_before_an_overflow_holds() -> None:
    class Law:
        def __init__(self, value: float) -> None:
            self.value = value

    def laws() -> Any:
        yield "first", Law(1.0)
        yield "infinite", Law(math.inf)
        yield "overflowing", Law(float(np.float64(1e300) * np.float64(1e300)))
        yield "after it", Law(2.0)

    assert list(representable(laws())) == ["first"]
