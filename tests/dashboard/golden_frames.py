"""Golden frames: ``python -m tests.dashboard.golden_frames`` draws them anew, to be looked at and kept."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from emulator.dashboard.canvas import Canvas
from emulator.dashboard.frame import draw
from emulator.dashboard.state import ClockReading, Looking, ShownLane
from emulator.dashboard.theme import ASCII, UNICODE, Glyphs
from tests.dashboard.scenarios import lanes_at, long_tail

FOLDER = Path(__file__).parent / "golden"

SIZES = ((80, 24), (100, 30), (200, 50))

HAPPENINGS = [
    {"at": 600, "crash": {"workers": [7], "restart_seconds": 90}},
    {"at": 900, "straggler": {"worker": 25, "factor": 8}},
]

LANES = [
    {"name": "sync", "strategy": {"kind": "synchronous"}},
    {"name": "one step off", "strategy": {"kind": "one_step_off"}},
    {"name": "capped", "strategy": {"kind": "asynchronous", "max_staleness": 1, "enforce": "drop"}},
    {"name": "gated", "strategy": {"kind": "asynchronous", "max_staleness": 1}},
    {"name": "async", "strategy": {"kind": "asynchronous"}},
]


@cache
def run(workers: int = 64, at: float = 1000.0) -> list[ShownLane]:
    """An asynchronous run as it stands at `at`."""
    return lanes_at([long_tail(workers, at + 100, events=HAPPENINGS if at > 900 else [])], at)


@cache
def limited() -> list[ShownLane]:
    """A run with a limit of staleness, sandboxes that are too few, and pushes that freeze."""
    strategy = {"kind": "asynchronous", "max_staleness": 2, "weight_sync": "pause"}
    trainer = {"batch_size": 32, "update_seconds": 10, "weight_sync_seconds": 5}
    environment = {"sandboxes": 48, "reset_seconds": 10}
    scenario = long_tail(64, 1100, strategy=strategy, trainer=trainer, environment=environment)
    return lanes_at([scenario], 1000)


@cache
def race(lanes: int = 2) -> list[ShownLane]:
    """A race as it stands after 1000 seconds."""
    scenario = long_tail(64, 1800, events=HAPPENINGS)
    if lanes > 2:
        scenario = long_tail(64, 1800, lanes=LANES[:lanes])
    return lanes_at(scenario.lane_scenarios(), 1000)


@cache
def learning(lanes: int = 0) -> list[ShownLane]:
    """Lanes that learn, or a run that does, as they stand after 1000 seconds."""
    scenario = long_tail(64, 1800, learner={"learning_rate": 80}, lanes=LANES[-lanes:] if lanes else [])
    return lanes_at(scenario.lane_scenarios() or [scenario], 1000)


@cache
def engines(count: int = 4, at: float = 1000.0) -> list[ShownLane]:
    """A run whose episodes go through engines, as it stands at `at`: one has crashed, and one is slow."""
    uniform = {"kind": "uniform", "low": 20, "high": 400}
    scenario = long_tail(
        16 * count,
        at + 100,
        rollout={
            "workers": 16 * count,
            "turns": {
                "count": {"kind": "uniform", "low": 1, "high": 12},
                "output_tokens": uniform,
                "tool_seconds": {"kind": "uniform", "low": 0, "high": 12},
                "tool_tokens": uniform,
            },
            "prompt_tokens": 500,
        },
        engine={
            "count": count,
            "step_ms": {1: 7, 16: 12},
            "context_ms": 0.5,
            "prefill_ms": 20,
            "slots": 10,
            "kv_tokens": 40_000,
        },
        events=[
            {"at": 0.6 * at, "slow": {"engines": [2], "factor": 3, "for": 1000}},
            {"at": 0.9 * at, "crash": {"engines": [1], "restart_seconds": 300}},
        ],
        lanes=[],
    )
    return lanes_at([scenario], at)


def frame(
    lanes: Sequence[ShownLane],
    size: tuple[int, int],
    looking: Looking | None = None,
    glyphs: Glyphs = UNICODE,
) -> Canvas:
    """A frame of lanes at the time they stand at."""
    return draw(lanes, ClockReading(lanes[0].history.t, 60.0, 59.9), size, looking, glyphs)


def frames() -> Iterator[tuple[str, Callable[[], Canvas]]]:
    """All golden frames, by name."""
    for size in SIZES:
        at = f"{size[0]}x{size[1]}"
        yield f"run-{at}", lambda size=size: frame(run(), size)
        yield f"raster-{at}", lambda size=size: frame(race(), size, Looking(zoom=0, raster=True))
        yield f"race-{at}", lambda size=size: frame(race(), size)
        yield f"lanes-4-{at}", lambda size=size: frame(race(4), size)
        yield f"learning-run-{at}", lambda size=size: frame(learning(), size)
        yield f"learning-race-{at}", lambda size=size: frame(learning(4), size)
        yield f"engines-{at}", lambda size=size: frame(engines(), size)
    medium = (100, 30)
    yield "engines-raster-100x30", lambda: frame(engines(), medium, Looking(raster=True))
    yield "engines-ascii-100x30", lambda: frame(engines(), medium, glyphs=ASCII)
    yield "engines-64-100x30", lambda: frame(engines(64, 200.0), medium)
    yield "engines-60x12", lambda: frame(engines(), (60, 12))
    yield "race-60x12", lambda: frame(race(), (60, 12))
    yield "run-60x12", lambda: frame(run(), (60, 12))
    yield "run-20x5", lambda: frame(run(), (20, 5))
    yield "lanes-5-100x30", lambda: frame(race(5), medium)
    yield "limited-100x30", lambda: frame(limited(), medium)
    yield "workers-256-100x30", lambda: frame(run(256), medium)
    yield "workers-1024-200x50", lambda: frame(run(1024, 200.0), (200, 50))
    yield "workers-10000-100x30", lambda: frame(run(10_000, 20.0), medium)
    yield "help-80x24", lambda: frame(run(), (80, 24), Looking(help=True))
    yield "ascii-run-100x30", lambda: frame(run(), medium, glyphs=ASCII)
    yield "ascii-race-100x30", lambda: frame(race(), medium, glyphs=ASCII)
    yield "stopped-100x30", lambda: frame([replace(race()[0], error="nothing can happen"), race()[1]], medium)


def main() -> None:
    """Draw all of them into their files."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw_it in frames():
        (FOLDER / f"{name}.txt").write_text(draw_it().plain(), encoding="utf-8")


if __name__ == "__main__":
    main()
