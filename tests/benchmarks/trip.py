"""How far an episode's finish is from its worker's next start: ``python tests/benchmarks/trip.py``.

Between the timer that wakes a worker and the moment at which it sleeps again, the Python calls that are made,
and how many of them lead into another file: the most frequent trip of four kinds of lanes, and the mean. Then
the episodes per second of CPU time of the same lanes, of which the best of a few rounds counts.
"""

import statistics
import sys
import time
from collections import Counter
from types import FrameType
from typing import Any

import emulator
from emulator.scenario import Scenario
from emulator.system.worker import Worker

LANES: dict[str, dict[str, Any]] = {
    "plain": {},
    "synchronous": {"strategy": {"kind": "synchronous"}},
    "groups": {
        "rollout": {"group_size": 8},
        "strategy": {"kind": "asynchronous", "max_staleness": 2, "enforce": "gate"},
    },
    "sandboxes": {"environment": {"sandboxes": 48, "reset_seconds": 2}},
}


def scenario(sections: dict[str, Any], seconds: float) -> Scenario:
    """Sixty-four workers with long-tailed episodes."""
    rollout = {"workers": 64, "episode_seconds": {"kind": "lognormal", "median": 20, "sigma": 1.0}}
    return Scenario.model_validate(
        {
            "duration": seconds,
            "trainer": {"batch_size": 64, "update_seconds": 15},
            "strategy": {"kind": "asynchronous"},
            **sections,
            "rollout": {**rollout, **sections.get("rollout", {})},
        }
    )


def trips(lane: Scenario) -> list[tuple[int, int]]:
    """The calls and the changes of file of each trip, in order; the waking itself is not counted."""
    found: list[tuple[int, int]] = []
    worker = Worker.run.__code__
    calls = changes = 0
    inside: FrameType | None = None

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls, changes, inside
        if inside is None:
            if event == "call" and frame.f_code is worker:
                inside, calls, changes = frame, 0, 0
        elif event == "call":
            calls += 1
            caller = frame.f_back
            changes += caller is not None and caller.f_code.co_filename != frame.f_code.co_filename
        elif event == "return" and frame is inside:
            found.append((calls, changes))
            inside = None

    sys.setprofile(profile)
    try:
        emulator.run(lane, speed="max")
    finally:
        sys.setprofile(None)
    return found[lane.rollout.workers :]  # without those that begin to sleep


def rate(lane: Scenario) -> float:
    """Episodes per second of CPU time."""
    begun = time.process_time()
    finished = emulator.run(lane, speed="max").result["episodes"]["finished"]
    return float(finished) / (time.process_time() - begun)


def main() -> None:
    """Print the table."""
    print(f"{'lane':<14}{'calls':>8}{'files':>8}{'mean':>14}{'episodes/s':>14}")
    for name, sections in LANES.items():
        found = trips(scenario(sections, 2000))
        calls, changes = Counter(found).most_common(1)[0][0]
        mean = "/".join(f"{statistics.mean(column):.1f}" for column in zip(*found, strict=True))
        best = max(rate(scenario(sections, 20_000)) for _ in range(5))
        print(f"{name:<14}{calls:>8}{changes:>8}{mean:>14}{best:>14,.0f}")


if __name__ == "__main__":
    main()
