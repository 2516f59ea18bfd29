"""The texts that summaries are compared with, and the results that they are drawn from.

``python -m tests.golden.make`` makes all of it anew: `runs.json` by running the cases, then the texts. The
tests only draw: what they compare does not depend on the machine.
"""

import io
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

import emulator
from emulator import ClockStatistics, Run, RunError, Scenario
from emulator.summary import RaceSummary, RunSummary

FOLDER = Path(__file__).parent
RUNS = FOLDER / "runs.json"
WIDTHS = (80, 120)
CLOCK = ClockStatistics(
    asked_speed=60.0, achieved_speed=59.987, wall_seconds=60.01, paused_seconds=0.0, worst_lag_ms=0.84
)

EVERYTHING = """
name: everything
description: What a plain hour does not show.
duration: 20m
rollout:
  workers: 64
  group_size: 8
  episode_seconds: {kind: lognormal, median: 40, sigma: 0.6}
trainer: {batch_size: 64, update_seconds: 15, weight_sync_seconds: 5, publish_every: 2}
strategy: {kind: asynchronous, max_staleness: 1.5, enforce: cancel, weights: in_flight, weight_sync: pause}
environment: {sandboxes: 48, reset_seconds: 4, failure_probability: 0.02, timeout_seconds: 4m, retries: 1}
events:
  - {at: 5m, crash: {workers: 8, restart_seconds: 60}}
  - {at: 8m, stall_trainer: {for: 2m}}
"""
DEADLOCK = """
name: deadlock
description: All workers leave in one lane.
duration: 10m
rollout: {workers: 8, episode_seconds: 20}
trainer: {batch_size: 8, update_seconds: 15}
strategy: {kind: asynchronous}
events: [{at: 130s, remove_workers: {count: 8}}]
lanes: [{name: dies}, {name: lives, events: []}]
"""


def summaries() -> Iterator[tuple[str, RenderableType]]:
    """Each case by name, as drawn from the kept results."""
    for name, lanes in json.loads(RUNS.read_text()).items():
        runs = [_load(lane) for lane in lanes]
        yield name, RunSummary(runs[0]) if runs[0].name is None else RaceSummary(runs)


def draw(what: RenderableType, width: int, **options: Any) -> str:
    """The text of what rich draws, without colours unless asked for."""
    page = io.StringIO()
    Console(file=page, width=width, **{"color_system": None, "force_terminal": False, **options}).print(what)
    return "\n".join(line.rstrip() for line in page.getvalue().split("\n"))


def golden(name: str, width: int) -> Path:
    """The file that keeps the text of a case."""
    return FOLDER / f"{name}-{width}.txt"


def _load(lane: dict[str, Any]) -> Run:
    return Run(
        scenario=Scenario.model_validate(lane["scenario"]),
        result=lane["result"],
        hash_trace=lambda: str(lane["trace_sha256"]),
        clock=CLOCK,
        name=lane.get("name"),
        error=RunError(lane["error"]) if "error" in lane else None,
        interventions=lane["interventions"],
    )


def _cases() -> Iterator[tuple[str, list[Run]]]:
    stragglers = emulator.load_scenario("stragglers")
    cancel = ["strategy.max_staleness=1", "strategy.enforce=cancel"]
    yield "run", [emulator.run(stragglers, speed="max")]
    yield "run-cancel", [emulator.run(emulator.load_scenario("stragglers", overrides=cancel), speed="max")]
    yield "run-old", [emulator.run(emulator.load_scenario("trainer-bound"), speed="max")]
    yield "race", emulator.race(stragglers, speed="max")
    yield "race-of-4", emulator.race(emulator.load_scenario("starved"), speed="max")
    yield "race-of-8", emulator.race(emulator.load_scenario("tradeoff"), speed="max")
    learning = emulator.load_scenario("learning")
    yield "run-learning", [emulator.run(learning, speed="max")]
    yield "race-learning", emulator.race(learning, speed="max")
    tradeoff = emulator.load_scenario("tradeoff", overrides=["learner={}", "lanes.0.learner=null"])
    yield "race-of-8-learning", emulator.race(tradeoff, speed="max")
    yield "race-even", emulator.race(emulator.load_scenario("trainer-bound"), speed="max")
    engines = emulator.load_scenario("tool-bound")
    yield "run-engines", [emulator.run(engines, speed="max")]
    yield "race-engines", emulator.race(engines, speed="max")
    yield "race-gpus", emulator.race(emulator.load_scenario("colocated"), speed="max")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.yaml"
        path.write_text(EVERYTHING)
        yield "run-everything", [emulator.run(emulator.load_scenario(path), speed="max")]
        path.write_text(DEADLOCK)
        yield "race-deadlock", emulator.race(emulator.load_scenario(path), speed="max")


def _make() -> None:
    kept = {name: [{**run.to_json(), "clock": asdict(CLOCK)} for run in runs] for name, runs in _cases()}
    for lanes in kept.values():
        for lane in lanes:
            lane["scenario"]["lanes"] = []
    RUNS.write_text(json.dumps(kept, allow_nan=False) + "\n")
    for name, summary in summaries():
        for width in WIDTHS:
            golden(name, width).write_text(draw(summary, width))


if __name__ == "__main__":
    _make()
