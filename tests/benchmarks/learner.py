"""What an update of the built-in learner costs, and the speed of a run with it.

``python tests/benchmarks/learner.py`` from the project's folder. The run is the reference hour at 3600 times
the wall clock; ten updates are to cost less than a second.
"""

import time
from typing import Any

from numpy.random import SeedSequence

import emulator
from emulator.learner import Trajectory, TrajectoryGroup
from emulator.learner.tabular import TabularLearner
from emulator.scenario.learner import Learner as Settings

UPDATES = 100
MOST = 3.0
CASES: dict[str, tuple[int, int, dict[str, Any]]] = {
    "batch of 64": (64, 1, {}),
    "its durations tied to contexts": (64, 1, {"difficulty_correlation": 0.5}),
    "in groups of 8": (64, 8, {"difficulty_correlation": 0.5}),
    "each episode by 3 versions": (64, 1, {"versions": 3}),
    "batch of 1024": (1024, 1, {}),
    "4096 contexts": (64, 1, {"contexts": 4096}),
}


def milliseconds(batch: int, size: int, versions: int, settings: Settings) -> float:
    """CPU milliseconds of an update, the mean of many."""
    learner = TabularLearner(settings, SeedSequence(1))
    portions = [(version, 1.0) for version in range(versions)]
    for version in range(1, versions):
        learner.publish(version)
    batches = [
        [
            TrajectoryGroup(g, [(0.3, 0.3)] * size, [Trajectory(size * g + i, portions) for i in range(size)])
            for g in range(update * batch // size, (update + 1) * batch // size)
        ]
        for update in range(UPDATES)
    ]
    begun = time.process_time()
    for each in batches:
        learner.update(each)
    return (time.process_time() - begun) / UPDATES * 1e3


def paced(*overrides: str) -> str:
    """The reference hour at 3600 times the wall clock: the speed achieved, and what its learner cost."""
    scenario = emulator.load_scenario("stragglers", overrides=overrides)
    run = emulator.run(scenario, speed=3600)
    assert run.clock.achieved_speed is not None
    share = run.clock.achieved_speed / 3600
    return (
        f"{100 * share:.1f} % of 3600x achieved, {run.result['updates']} updates, "
        f"worst lag {run.clock.worst_lag_ms:.0f} ms"
    )


def ten_updates() -> float:
    """CPU seconds that the learner adds to ten updates of the reference hour, unpaced."""
    seconds = []
    for overrides in ([], ["learner={}"]):
        scenario = emulator.load_scenario("stragglers", overrides=overrides)
        emulator.run(scenario, speed="max")
        begun = time.process_time()
        run = emulator.run(scenario, speed="max")
        seconds.append(time.process_time() - begun)
    return (seconds[1] - seconds[0]) / run.result["updates"] * 10


def main() -> None:
    """Print all measurements."""
    for name, (batch, size, given) in CASES.items():
        settings = dict(given)
        versions = settings.pop("versions", 1)
        took = milliseconds(batch, size, versions, Settings(**settings))
        bound = f" (<= {MOST:g} ms)" if batch == 64 and not settings.get("contexts") else ""
        print(f"{name}: {took:.2f} ms an update{bound}")
    print(f"ten updates in a run: {ten_updates():.3f} s (<= 1 s)")
    print(f"without a learner: {paced()}")
    print(f"with a learner: {paced('learner={}')}")


if __name__ == "__main__":
    main()
