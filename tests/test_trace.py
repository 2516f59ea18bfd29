"""For one scenario and one seed the trace is the same, byte for byte, whatever the speed and the machine."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import emulator
from emulator import Run, Scenario, journal
from emulator.clock import EmulatedLoop, Speed
from emulator.errors import RunError
from emulator.events import Event, Finish
from emulator.runner import Session
from emulator.trace import TraceHash
from tests.scenarios import any_scenarios

ROOT = Path(emulator.__file__).parents[1]

STRATEGIES: dict[str, dict[str, Any]] = {
    "wait": {"kind": "synchronous"},
    "resume": {"kind": "synchronous", "oversample": 1.5, "unfinished": "resume", "resume_overhead": 1},
    "defer": {"kind": "synchronous", "oversample": 1.5, "unfinished": "defer"},
    "abort": {"kind": "synchronous", "oversample": 1.5, "unfinished": "abort"},
    "one step off": {"kind": "one_step_off"},
    "unlimited": {"kind": "asynchronous"},
    "gate": {"kind": "asynchronous", "max_staleness": 1},
    "drop": {"kind": "asynchronous", "max_staleness": 1, "enforce": "drop"},
    "cancel": {
        "kind": "asynchronous",
        "max_staleness": 0.5,
        "enforce": "cancel",
        "weights": "in_flight",
        "refresh_overhead": 0.5,
        "weight_sync": "pause",
    },
}
"""Every strategy, by what tells it from the others."""


def document(strategy: dict[str, Any], duration: float = 600, **changes: Any) -> dict[str, Any]:
    """A small system with all that can happen to one, in the form of a file."""
    return {
        "name": "small",
        "duration": duration,
        "rollout": {"workers": 8, "episode_seconds": {"kind": "lognormal", "median": 20, "sigma": 1}},
        "trainer": {"batch_size": 8, "update_seconds": 15, "weight_sync_seconds": 2},
        "strategy": strategy,
        "environment": {"sandboxes": 7, "reset_seconds": 1, "failure_probability": 0.05, "retries": 1},
        "events": [
            {"at": duration / 4, "crash": {"workers": 2, "restart_seconds": 20}},
            {"at": duration / 3, "slow": {"workers": [1, 3], "factor": 4, "for": duration / 5}},
            {"at": duration / 2, "stall_trainer": {"for": 30}},
        ],
        **changes,
    }


def scenario(strategy: dict[str, Any], duration: float = 600, **changes: Any) -> Scenario:
    return Scenario.model_validate(document(strategy, duration, **changes))


CANCEL = STRATEGIES["cancel"]


def all_but_the_clock(run: Run) -> dict[str, Any]:
    return {key: value for key, value in run.to_json().items() if key != "clock"}


@cache
def at_max(strategy: str, duration: float) -> dict[str, Any]:
    return all_but_the_clock(emulator.run(scenario(STRATEGIES[strategy], duration), speed="max"))


# -- speeds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["wait", "resume", "drop", "cancel"])
@pytest.mark.parametrize(
    ("speed", "duration"), [(600, 60.0), (3600, 360.0), (36_000, 1800.0), ("max", 1800.0)]
)
def test_trace_and_result_are_the_same_at_every_speed(speed: Speed, duration: float, strategy: str) -> None:
    run = emulator.run(scenario(STRATEGIES[strategy], duration), speed=speed)
    assert run.clock.asked_speed == speed
    assert run.result["episodes"]["finished"] > 0
    assert all_but_the_clock(run) == at_max(strategy, duration)


def test_another_seed_gives_another_trace() -> None:
    hashes = {
        emulator.run(scenario(CANCEL), speed="max", seed=seed).trace_sha256 for seed in (1, 2, 3, 2**64 - 1)
    }
    assert len(hashes) == 4


@settings(max_examples=40)
@given(any_scenarios())
def test_any_scenario_has_one_trace(drawn: Scenario) -> None:
    def end(speed: Speed) -> tuple[dict[str, Any], str | None]:
        try:
            return all_but_the_clock(emulator.run(drawn, speed=speed)), None
        except RunError as error:
            assert error.run is not None
            return all_but_the_clock(error.run), str(error)

    assert end(1e5) == end("max")


# -- a person, and a machine with other things to do ----------------------------------------------------


async def step_through(clock: EmulatedLoop, instants: int) -> None:
    """Let some instants happen one by one, in a pause."""
    for _ in range(instants):
        before = clock.time()
        clock.step()
        while clock.time() == before:
            await clock.wall_sleep(0)


def test_pauses_steps_and_new_speeds_midway_change_nothing() -> None:
    stood: list[float] = []

    async def play(session: Session) -> None:
        clock = session.clock
        clock.pause()
        for speed in (6000.0, 60_000.0, "max", 12_000.0):
            await step_through(clock, 15)
            stood.append(clock.time())
            clock.speed = speed if isinstance(speed, float) else "max"
            if speed != "max":
                clock.resume()
                await clock.wall_sleep(0.002)
                clock.pause()
        stood.append(clock.time())
        clock.resume()
        clock.speed = "max"

    run = emulator.run(scenario(CANCEL), speed=600, watch=play)
    assert all_but_the_clock(run) == at_max("cancel", 600)
    assert stood == sorted(stood)
    assert 0 < stood[0] < 600
    assert run.clock.asked_speed == "max"


def test_a_new_speed_set_by_who_takes_the_events_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_BLOCK", 1)
    clocks: list[EmulatedLoop] = []

    async def watch(session: Session) -> None:
        clocks.append(session.clock)

    def meddle(events: Sequence[Event]) -> None:
        if clocks and any(type(event) is Finish for event in events):
            clocks[0].pause()
            clocks[0].speed = 30_000 if clocks[0].speed == 60_000 else 60_000
            clocks[0].resume()

    run = emulator.run(scenario(CANCEL), speed=6000, watch=watch, sinks=[meddle])
    assert run.clock.asked_speed in (30_000, 60_000)
    assert all_but_the_clock(run) == at_max("cancel", 600)


def test_looking_at_the_figures_all_the_time_changes_nothing() -> None:
    looks: list[int] = []

    async def look(session: Session) -> None:
        while not session.ended.is_set():
            looks.append(session.lanes[0].figures.updates)
            await session.clock.wall_sleep(0.001)

    run = emulator.run(scenario(CANCEL), speed=12_000, watch=look)
    assert looks[0] == 0
    assert all_but_the_clock(run) == at_max("cancel", 600)


@pytest.mark.parametrize("speed", [3600, "max"])
def test_a_callback_that_jams_the_loop_changes_nothing(monkeypatch: pytest.MonkeyPatch, speed: Speed) -> None:
    monkeypatch.setattr(journal, "_BLOCK", 1)
    jams = 0

    def jam(events: Sequence[Event]) -> None:
        nonlocal jams
        finished = sum(type(event) is Finish for event in events)
        jams += finished
        time.sleep(0.002 * finished)

    run = emulator.run(scenario(CANCEL, 60), speed=speed, sinks=[jam])
    assert jams == run.result["episodes"]["finished"] > 5
    assert all_but_the_clock(run) == at_max("cancel", 60)


@contextmanager
def load() -> Iterator[None]:
    """Keep every processor of the machine busy with other things."""
    command = [sys.executable, "-S", "-c", "while True: pass"]
    busy = [subprocess.Popen(command) for _ in range(min(os.cpu_count() or 1, 8))]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_a_busy_machine_changes_nothing() -> None:
    with load():
        runs = [emulator.run(scenario(CANCEL), speed=speed) for speed in (6000, "max")]
    for run in runs:
        assert all_but_the_clock(run) == at_max("cancel", 600)


# -- lanes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [6000, "max"])
def test_each_lane_of_a_race_has_the_trace_that_it_has_alone(speed: Speed) -> None:
    lanes = [{"name": name, "strategy": strategy} for name, strategy in STRATEGIES.items()][1:]
    race = scenario(STRATEGIES["wait"], lanes=lanes)
    together = {run.name: run for run in emulator.race(race, speed=speed)}
    for lane in race.lane_scenarios():
        alone = emulator.run(Scenario.model_validate(lane.resolved()), speed="max")
        assert together[lane.lane].trace_sha256 == alone.trace_sha256
        assert together[lane.lane].result == alone.result
    assert len({run.trace_sha256 for run in together.values()}) == len(lanes)


def test_the_order_of_lanes_does_not_matter() -> None:
    lanes = [{"name": name, "strategy": STRATEGIES[name]} for name in ("wait", "gate", "cancel")]

    def hashes(lanes: list[dict[str, Any]]) -> dict[str | None, str]:
        runs = emulator.race(scenario(STRATEGIES["wait"], lanes=lanes), speed="max")
        return {run.name: run.trace_sha256 for run in runs}

    assert hashes(lanes) == hashes(lanes[::-1])


def test_the_hash_is_that_of_the_events_however_they_are_cut() -> None:
    events: list[Event] = []
    run = emulator.run(scenario(CANCEL), speed="max", sinks=[events.extend])
    for size in (1, 7, len(events)):
        digest = TraceHash()
        for start in range(0, len(events), size):
            digest.add(events[start : start + size])
        assert digest.hexdigest() == run.trace_sha256


# -- processes -------------------------------------------------------------------------------------------

HASH_ALL = """
import json, sys, emulator
for document in json.load(sys.stdin):
    print(emulator.run(emulator.Scenario.model_validate(document), speed="max").trace_sha256)
"""


def hashes_of(documents: list[dict[str, Any]], **environment: str) -> list[str]:
    """The trace hashes of scenarios as a process of its own finds them."""
    ended = subprocess.run(
        [sys.executable, "-c", HASH_ALL],
        input=json.dumps(documents),
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return ended.stdout.split()


def test_processes_that_hash_differently_agree() -> None:
    documents = [document(strategy) for strategy in STRATEGIES.values()]
    expected = [emulator.run(Scenario.model_validate(d), speed="max").trace_sha256 for d in documents]
    assert hashes_of(documents, PYTHONHASHSEED="1") == expected
    assert hashes_of(documents, PYTHONHASHSEED="2") == expected


# Without an environment, which is where nothing can come between a finish and the next start.
PLAIN = {
    "plain": {"kind": "asynchronous"},
    "plain in flight": {"kind": "asynchronous", "weights": "in_flight"},
    "plain drop": {"kind": "asynchronous", "max_staleness": 1, "enforce": "drop"},
    "plain gate": {"kind": "asynchronous", "max_staleness": 1},
    "plain wait": {"kind": "synchronous"},
}

# What is read from a file and only added and compared is the same on every processor.
DURATIONS = [12, 20.5, 7.25, 31, 20.5, 3, 64, 18.75, 20, 0.5, 110.25, 16, 9, 41.5, 20, 27, 5.5, 240, 14.25]

GOLDEN = {
    "wait": "e3c928a59ed25a42c6c0920bbabb0682afd988290d8be7e07c60ef8bb8b28fab",
    "resume": "afbf2a706560d4a529ff0e1597109d2de43c7f56bcc831f8eeba6827aa54fa61",
    "defer": "6642082b2b4958aaaf02ebbb9e83f00e851ee1e2f24fcc576ebbeea120d8e760",
    "abort": "45ed948778e535f6e588f7722bb6ed3cd3b31a28e5630aa97838b6a54edb7eb5",
    "one step off": "4fa654576ba1bf668f11a13abb6037c7833a86cbe2828b4498bf92034a3fffd7",
    "unlimited": "07eec695c77581d7be9482baec707112d737512710b9ecfb94f7f7ff4cc77d58",
    "gate": "abda7f54401ce610f02115f3d550907b43e39aa62f2e264d05d34eb1aac57b1b",
    "drop": "2b942a834c722ef2690a7dd818d6223a563b465292bfa1744d5740ff9ef32784",
    "cancel": "bfd95dbdae67b86c55135325225f49311dd8118da890cbc4b89630bd0bc660ba",
    "plain": "df075a19f617eac8a3d851590c045c23a38b53162a3a476035a2949156ceb702",
    "plain in flight": "adfe88a751437bbbdb98b1490c0ba9262345e455932cdd8f62142e82a9c3e1a2",
    "plain drop": "03248f91f540b65bb11fe4dea41a066a14b516af3f5430af8dcbb7662875c3a0",
    "plain gate": "f1067a64570c87ae07b13504b294b2489a2cc312ce6e9654c168de86af5f8903",
    "plain wait": "80dfa42327ff06cdfccb36b73bdc33c6930e57bda02e1a3a5d7dc039840a5217",
}


@pytest.fixture
def documents(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """Each strategy on recorded durations."""
    path = tmp_path / "durations.txt"
    path.write_text("\n".join(map(str, DURATIONS)))
    rollout = {
        "workers": 8,
        "episode_seconds": {"kind": "trace", "path": str(path), "order": "sequential"},
    }
    environment = {"sandboxes": 7, "reset_seconds": 1}
    found = {
        name: document(strategy, 900, rollout=rollout, environment=environment)
        for name, strategy in STRATEGIES.items()
    }
    for name, strategy in PLAIN.items():
        found[name] = document(strategy, 9000, rollout=rollout, environment=None)
    return found


def test_recorded_durations_give_the_traces_that_they_always_gave(
    documents: dict[str, dict[str, Any]],
) -> None:
    found = {
        name: emulator.run(Scenario.model_validate(case), speed="max").trace_sha256
        for name, case in documents.items()
    }
    assert found == GOLDEN
