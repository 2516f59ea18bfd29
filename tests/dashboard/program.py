"""A program that watches a run on the terminal it is started on, for tests: ``program.py KIND SPEED [HOOK]``.

It prints the runs' traces when the dashboard has gone. The hook ``crash`` makes the third frame fail.
"""

import sys

from emulator.dashboard import live, watch_dashboard
from emulator.runner import run_lanes
from tests.dashboard.scenarios import long_tail


def main(kind: str, speed: str, hook: str = "") -> None:
    """Run and watch."""
    scenario = long_tail(duration=300.0 if hook == "short" else 1e8 if speed == "max" else 1e5)
    scenarios = scenario.lane_scenarios() if kind == "race" else (scenario,)
    if hook == "crash":
        draw, frames = live.draw, iter(range(10))

        def failing(*arguments: object) -> object:
            if next(frames) == 2:
                raise ZeroDivisionError("the third frame fails")
            return draw(*arguments)  # type: ignore[arg-type]

        live.draw = failing  # type: ignore[assignment]
    watch, sinks = watch_dashboard(scenarios, frames_per_second=30)
    asked = "max" if speed == "max" else float(speed)
    for run in run_lanes(scenarios, speed=asked, watch=watch, sinks=sinks):
        print(f"ended after {run.result['emulated_seconds']:.0f} s, interrupted: {run.interrupted}")


if __name__ == "__main__":
    main(*sys.argv[1:])
