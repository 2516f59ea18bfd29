"""Stills: one frame of a scenario at a given moment, as a picture or as text.

``python -m emulator.dashboard.still stragglers --race --at 20m --size 100x30 --to race.svg``
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from emulator.dashboard.canvas import Canvas
from emulator.dashboard.frame import draw
from emulator.dashboard.scale import scale
from emulator.dashboard.state import ClockReading, LaneState, Looking
from emulator.dashboard.svg import save
from emulator.dashboard.theme import ASCII, THEMES, UNICODE, Glyphs
from emulator.errors import EmulatorError
from emulator.events import Event
from emulator.runner import EventSink, run_lanes
from emulator.scenario import Scenario, load_scenario
from emulator.values.scalars import parse_duration


def fold(scenarios: Sequence[Scenario], at: float) -> list[LaneState]:
    """Run scenarios side by side, as fast as can be, and return their lanes as they stood at `at` seconds."""
    common = scale(scenarios)
    lanes = [LaneState.fresh(scenario, common) for scenario in scenarios]

    def until(lane: LaneState) -> EventSink:
        def take(events: Sequence[Event]) -> None:
            lane.add(event for event in events if event.t <= at)

        return take

    runs = run_lanes(scenarios, speed="max", sinks=[[until(lane)] for lane in lanes])
    for lane, run in zip(lanes, runs, strict=True):
        ended = run.result["emulated_seconds"]
        lane.history.advance(min(at, ended))
        if run.error is not None and ended <= at:
            lane.error = str(run.error)
    return lanes


def still(
    scenarios: Sequence[Scenario],
    at: float,
    size: tuple[int, int],
    looking: Looking | None = None,
    glyphs: Glyphs = UNICODE,
) -> Canvas:
    """The frame of scenarios at the emulated time `at`, as it would be on a terminal of `size`."""
    at = min(at, max(scenario.duration for scenario in scenarios))
    clock = ClockReading(at, scenarios[0].speed)
    return draw(fold(scenarios, at), clock, size, looking or Looking(keys=False), glyphs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw a still as the arguments say; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m emulator.dashboard.still", description="Draw one frame.")
    parser.add_argument("scenario", help="a scenario file or the name of a bundled one")
    parser.add_argument(
        "--to", type=Path, metavar="FILE", help="an .svg or .txt file; the screen if not given"
    )
    parser.add_argument("--race", action="store_true", help="the scenario's lanes side by side")
    parser.add_argument("--at", default="20m", help="the emulated time, such as 90s or 20m")
    parser.add_argument("--size", default="100x30", help="columns and rows")
    parser.add_argument("--raster", action="store_true", help="workers by time, in the view of a run")
    parser.add_argument("--theme", choices=THEMES, default="dark")
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII characters only")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="override a value")
    given = parser.parse_args(arguments)
    try:
        scenario = load_scenario(given.scenario, overrides=given.set)
        at = parse_duration(given.at)
        columns, rows = (int(part) for part in given.size.split("x"))
    except (EmulatorError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    looking = Looking(raster=given.raster, keys=False)
    glyphs = ASCII if given.ascii else UNICODE
    canvas = still(
        scenario.lane_scenarios() if given.race else [scenario], at, (columns, rows), looking, glyphs
    )
    if given.to is None:
        sys.stdout.write(canvas.plain())
    else:
        save(canvas, THEMES[given.theme], given.to)
    return 0


if __name__ == "__main__":
    sys.exit(main())
