"""What a run hands back, who may watch it and take its events, and how it can end."""

import asyncio
import gc
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import emulator
from emulator import DeadlockError, EmulatorError, Run, RunError, Scenario, ScenarioError, journal
from emulator.clock import EmulatedLoop
from emulator.errors import EndlessInstantError
from emulator.events import Event, Start
from emulator.runner import LaneView, Session, run_lanes
from emulator.scenario.timeline import Event as TimelineEntry
from emulator.trace import TraceHash
from tests.patience import PATIENCE
from tests.scenarios import any_scenarios, scenarios


def document(**changes: Any) -> dict[str, Any]:
    return {
        "name": "small",
        "duration": 1000,
        "rollout": {"workers": 4, "episode_seconds": {"kind": "uniform", "low": 10, "high": 30}},
        "trainer": {"batch_size": 4, "update_seconds": 15},
        "strategy": {"kind": "asynchronous"},
        **changes,
    }


def scenario(**changes: Any) -> Scenario:
    return Scenario.model_validate(document(**changes))


ALL_LEAVE = [{"at": 130, "remove_workers": {"count": 4}}]
TWO_LANES = [{"name": "dies", "events": ALL_LEAVE}, {"name": "lives"}]
NO_TIME = {"workers": 4, "episode_seconds": 0}


def all_but_the_clock(run: Run) -> dict[str, Any]:
    return {key: value for key, value in run.to_json().items() if key != "clock"}


# -- the form of a result -------------------------------------------------------------------------------

EPISODES = {
    *("started", "finished", "trained", "dropped", "aborted", "failed"),
    *("queued", "in_flight", "paused", "attempts"),
}
WORKER_SECONDS = {"generating", "overhead", "waiting", "gated", "blocked", "frozen", "down", "wasted"}
FORM: dict[str, Any] = {
    "schema": None,
    "emulator": None,
    "scenario": None,
    "seed": None,
    "result": {
        "emulated_seconds": None,
        "updates": None,
        "publications": None,
        "updates_per_hour": None,
        "first_update_seconds": None,
        "episodes": dict.fromkeys(EPISODES),
        "workers": {"utilisation": None, "goodput": None, "seconds": dict.fromkeys(WORKER_SECONDS)},
        "trainer": {
            "utilisation": None,
            "seconds": dict.fromkeys(["updating", "pushing", "waiting", "stalled"]),
            "batch_mean": None,
            "longest_wait_seconds": None,
        },
        "staleness": dict.fromkeys(
            ["mean", "p50", "p95", "max", "histogram", "in_flight_mean", "in_queue_mean"]
        ),
        "versions": dict.fromkeys(["span_mean", "span_max", "newest_mean", "weighted_mean"]),
        "queue": dict.fromkeys(["mean", "max", "wait_mean"]),
        "episode_seconds": dict.fromkeys(["started_mean", "trained_mean", "length_bias"]),
    },
    "interventions": None,
    "trace_sha256": None,
    "clock": dict.fromkeys(
        ["asked_speed", "achieved_speed", "wall_seconds", "paused_seconds", "worst_lag_ms"]
    ),
}
"""Every key of the JSON object of a plain run."""


def assert_form(found: Any, form: dict[str, Any]) -> None:
    assert set(found) == set(form)
    for key, inner in form.items():
        if inner is not None:
            assert_form(found[key], inner)


def test_a_run_as_json_has_every_key_and_no_other() -> None:
    told = emulator.run(scenario(), speed="max").to_json()
    assert_form(told, FORM)
    assert list(told) == list(FORM)
    assert (told["schema"], told["emulator"], told["seed"]) == (1, emulator.__version__, 1)
    assert len(told["trace_sha256"]) == 64
    assert told["result"]["emulated_seconds"] == 1000.0


def test_a_run_of_a_race_reports_its_name_too() -> None:
    race = scenario(lanes=[{"name": "sync", "strategy": {"kind": "synchronous"}}, {"name": "async"}])
    runs = emulator.race(race, speed="max")
    assert [run.name for run in runs] == ["sync", "async"]
    for run in runs:
        assert_form(run.to_json(), {"name": None, **FORM})
        assert run.to_json()["name"] == run.name


def test_a_run_that_went_well_reports_neither_an_error_nor_an_interruption() -> None:
    run = emulator.run(scenario(), speed="max")
    assert (run.name, run.error, run.interrupted) == (None, None, False)
    assert not {"name", "error", "interrupted"} & set(run.to_json())


def test_means_without_data_are_null() -> None:
    told = emulator.run(scenario(duration=5), speed="max").to_json()["result"]
    assert told["staleness"] == {
        **dict.fromkeys(["mean", "p50", "p95", "max", "in_flight_mean", "in_queue_mean"]),
        "histogram": [],
    }
    assert told["episode_seconds"]["trained_mean"] is None
    assert told["episode_seconds"]["length_bias"] is None


@settings(max_examples=25)
@given(any_scenarios() | scenarios(lanes=True))
def test_any_run_is_plain_json_with_a_scenario_that_runs_to_the_same_again(drawn: Scenario) -> None:
    def again(scenario: Scenario) -> Run:
        try:
            return emulator.run(scenario, speed="max")
        except RunError as error:
            assert error.run is not None
            return error.run

    told = again(drawn).to_json()
    text = json.dumps(told, allow_nan=False)
    assert json.loads(text) == told
    repeated = all_but_the_clock(again(Scenario.model_validate(json.loads(text)["scenario"])))
    assert repeated == {key: value for key, value in told.items() if key != "clock"}


# -- what may be asked for ------------------------------------------------------------------------------


def test_a_seed_that_is_given_stands_in_the_scenario_of_the_run() -> None:
    given = emulator.run(scenario(), speed="max", seed=7)
    written = emulator.run(scenario(seed=7), speed="max")
    assert given.scenario.seed == given.to_json()["seed"] == given.to_json()["scenario"]["seed"] == 7
    assert all_but_the_clock(given) == all_but_the_clock(written)
    assert given.trace_sha256 != emulator.run(scenario(), speed="max").trace_sha256


def test_a_seed_that_is_given_to_a_race_is_that_of_every_lane() -> None:
    race = scenario(lanes=[{"name": "a"}, {"name": "b"}])
    runs = emulator.race(race, speed="max", seed=7)
    assert [run.scenario.seed for run in runs] == [7, 7]
    assert {run.trace_sha256 for run in runs} == {emulator.run(scenario(seed=7), speed="max").trace_sha256}


@pytest.mark.parametrize("speed", [25_000, "max"])
def test_a_speed_that_is_given_is_reported_by_the_clock_and_not_in_the_scenario(speed: Any) -> None:
    run = emulator.run(scenario(speed=60), speed=speed)
    assert run.to_json()["clock"]["asked_speed"] == speed
    assert run.to_json()["scenario"]["speed"] == 60
    assert (run.clock.worst_lag_ms is None) == (speed == "max")


def test_the_speed_is_the_scenario_s_unless_given() -> None:
    assert emulator.run(scenario(speed="max")).clock.asked_speed == "max"
    assert emulator.run(scenario(speed=50_000)).clock.asked_speed == 50_000


def test_a_speed_that_is_none_is_refused_before_anything_runs() -> None:
    events: list[Event] = []
    with pytest.raises(ValueError, match="must be a number above 0"):
        emulator.run(scenario(), speed=0, sinks=[events.extend])
    assert events == []


def test_a_race_without_lanes_is_refused() -> None:
    with pytest.raises(ScenarioError, match="no lanes"):
        emulator.race(scenario(), speed="max")


def test_run_takes_the_base_of_a_race_alone() -> None:
    run = emulator.run(scenario(lanes=[{"name": "other", "strategy": {"kind": "synchronous"}}]), speed="max")
    assert run.name is None
    assert run.trace_sha256 == emulator.run(scenario(), speed="max").trace_sha256


# -- errors of a run ------------------------------------------------------------------------------------


def test_a_deadlock_is_raised_with_when_and_with_what_happened_until_then() -> None:
    with pytest.raises(DeadlockError, match=r"deadlock at .* s: .*no workers are left") as caught:
        emulator.run(scenario(events=ALL_LEAVE), speed="max")
    error = caught.value
    assert isinstance(error, EmulatorError)
    assert error.run is not None
    assert error.t == error.run.result["emulated_seconds"] >= 130
    assert error.run.result["updates"] > 0
    assert error.run.error is error
    assert error.run.interrupted is False
    assert_form(error.run.to_json(), {**FORM, "error": None})
    assert error.run.to_json()["error"] == str(error)


def test_a_lane_that_dies_leaves_the_others_alone() -> None:
    dead, alive = emulator.race(scenario(lanes=TWO_LANES), speed="max")
    assert isinstance(dead.error, DeadlockError)
    assert dead.error.t == dead.result["emulated_seconds"] < 200
    assert dead.to_json()["error"] == str(dead.error)
    assert alive.error is None
    assert alive.result["emulated_seconds"] == 1000.0
    assert alive.trace_sha256 == emulator.run(scenario(), speed="max").trace_sha256
    with pytest.raises(DeadlockError) as caught:
        emulator.run(scenario(events=ALL_LEAVE), speed="max")
    assert caught.value.run is not None
    assert dead.trace_sha256 == caught.value.run.trace_sha256
    assert dead.result == caught.value.run.result


def test_an_instant_without_an_end_is_an_error_that_says_when_and_who() -> None:
    with pytest.raises(EndlessInstantError, match=r"no time passes at 0 s: more than .* events") as caught:
        emulator.run(scenario(rollout=NO_TIME), speed="max")
    assert caught.value.t == 0.0
    assert caught.value.run is not None
    assert caught.value.run.result["episodes"]["started"] > 1000
    assert caught.value.run.error is caught.value


def test_an_instant_without_an_end_in_one_lane_leaves_the_others_alone() -> None:
    race = scenario(lanes=[{"name": "loops", "rollout": NO_TIME}, {"name": "lives"}])
    loops, lives = emulator.race(race, speed="max")
    assert isinstance(loops.error, EndlessInstantError)
    assert lives.error is None
    assert lives.trace_sha256 == emulator.run(scenario(), speed="max").trace_sha256


RACE_OF_A_DEAD_LANE = """
import json, sys, emulator
race = emulator.Scenario.model_validate(json.load(sys.stdin))
print([run.result["emulated_seconds"] for run in emulator.race(race, speed="max")])
"""


@pytest.mark.parametrize(
    "action", [{"add_workers": {"count": 2}}, {"crash": {"workers": 2, "restart_seconds": 5}}]
)
def test_the_timeline_of_a_lane_that_has_died_is_over(action: dict[str, Any]) -> None:
    loops = {"name": "loops", "rollout": NO_TIME, "events": [{"at": 100, **action}]}
    # A process of its own, so that an instant that never ends cannot hold up more than this test.
    ended = subprocess.run(
        [sys.executable, "-c", RACE_OF_A_DEAD_LANE],
        input=json.dumps(document(lanes=[loops, {"name": "lives"}])),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.stdout == "[0.0, 1000.0]\n"


# -- watching -------------------------------------------------------------------------------------------


def test_a_watcher_sees_the_session_from_before_the_first_event_to_after_the_last() -> None:
    seen: list[tuple[bool, float, int]] = []

    async def watch(session: Session) -> None:
        def look() -> None:
            (lane,) = session.lanes
            seen.append((session.ended.is_set(), lane.now, lane.figures.updates))

        look()
        assert session.duration == 1000.0
        await session.ended.wait()
        look()

    run = emulator.run(scenario(), speed="max", watch=watch)
    assert seen == [(False, 0.0, 0), (True, 1000.0, run.result["updates"])]


def test_a_run_waits_for_its_watcher_to_be_done() -> None:
    done: list[bool] = []

    async def watch(session: Session) -> None:
        await session.ended.wait()
        await session.clock.wall_sleep(0.001)
        done.append(True)

    emulator.run(scenario(), speed="max", watch=watch)
    assert done == [True]


async def stop_midway(session: Session) -> None:
    """Let ten instants happen, then end the run."""
    session.clock.pause()
    for _ in range(10):
        before = session.clock.time()
        session.clock.step()
        while session.clock.time() == before:
            await session.clock.wall_sleep(0)
    session.stop()


@pytest.mark.parametrize("speed", [600, "max"])
def test_a_run_that_is_stopped_midway_has_the_result_so_far(speed: Any) -> None:
    events: list[Event] = []
    run = emulator.run(scenario(), speed=speed, watch=stop_midway, sinks=[events.extend])
    assert run.interrupted is True
    assert run.error is None
    end = run.result["emulated_seconds"]
    assert 0 < end < 1000
    assert_form(run.to_json(), {**FORM, "interrupted": None})
    assert run.to_json()["interrupted"] is True
    # It is the beginning of the whole run, and its accounts balance.
    whole: list[Event] = []
    emulator.run(scenario(), speed="max", sinks=[whole.extend])
    assert events == whole[: len(events)]
    assert sum(run.result["trainer"]["seconds"].values()) == pytest.approx(end)
    episodes = run.result["episodes"]
    assert episodes["started"] == episodes["finished"] + episodes["in_flight"] > 4


def test_a_race_that_is_stopped_is_stopped_in_every_lane() -> None:
    race = scenario(lanes=[{"name": "a"}, {"name": "b", "strategy": {"kind": "synchronous"}}])
    runs = emulator.race(race, speed="max", watch=stop_midway)
    assert [run.interrupted for run in runs] == [True, True]
    assert len({run.result["emulated_seconds"] for run in runs}) == 1


def test_a_lane_that_died_before_the_stop_is_not_interrupted() -> None:
    async def watch(session: Session) -> None:
        session.clock.pause()
        while session.lanes[0].error is None:
            session.clock.step()
            await session.clock.wall_sleep(0)
        session.stop()

    dead, stopped = emulator.race(scenario(lanes=TWO_LANES), speed="max", watch=watch)
    assert isinstance(dead.error, DeadlockError)
    assert (dead.interrupted, stopped.interrupted) == (False, True)


def test_a_run_that_is_stopped_at_once_has_an_empty_result() -> None:
    async def stop(session: Session) -> None:
        session.stop()

    run = emulator.run(scenario(), speed="max", watch=stop)
    assert run.interrupted is True
    assert run.result["emulated_seconds"] == 0.0
    assert run.result["updates_per_hour"] is None


def test_a_stop_after_the_end_changes_nothing() -> None:
    async def watch(session: Session) -> None:
        await session.ended.wait()
        session.stop()

    run = emulator.run(scenario(), speed="max", watch=watch)
    assert run.interrupted is False
    assert run.result["emulated_seconds"] == 1000.0


def test_what_a_watcher_injects_is_reported_and_can_be_run_again() -> None:
    entry = {"at": 0, "crash": {"workers": 2, "restart_seconds": 50}}
    at: list[float] = []

    async def watch(session: Session) -> None:
        session.clock.pause()
        for _ in range(10):
            before = session.clock.time()
            session.clock.step()
            while session.clock.time() == before:
                await session.clock.wall_sleep(0)
        session.lanes[0].inject(TimelineEntry.model_validate(entry))
        at.append(session.clock.time())
        session.clock.resume()
        await session.ended.wait()
        session.lanes[0].inject(TimelineEntry.model_validate(entry))  # too late to do anything

    injected = emulator.run(scenario(), speed="max", watch=watch)
    again = emulator.run(scenario(events=[{**entry, "at": at[0]}]), speed="max")
    assert injected.result["episodes"]["failed"] == 2
    assert injected.trace_sha256 == again.trace_sha256


@pytest.mark.parametrize("waits", ["not", "on the wall", "for the end"])
@pytest.mark.parametrize("speed", [10_000, "max"])
def test_what_a_watcher_raises_ends_the_run_and_comes_out_as_it_is(waits: str, speed: Any) -> None:
    async def watch(session: Session) -> None:
        if waits == "on the wall":
            session.clock.pause()  # so that the run cannot be over first
            await session.clock.wall_sleep(0.001)
        elif waits == "for the end":
            await session.ended.wait()
        raise LookupError("the watcher")

    with pytest.raises(LookupError, match="the watcher"):
        emulator.run(scenario(), speed=speed, watch=watch)


# -- sinks ----------------------------------------------------------------------------------------------


def test_sinks_get_all_events_in_order_and_in_blocks() -> None:
    blocks: list[Sequence[Event]] = []
    counts: list[int] = []
    many = scenario(rollout={"workers": 64, "episode_seconds": {"kind": "exponential", "mean": 10}})
    run = emulator.run(many, speed="max", sinks=[blocks.append, lambda events: counts.append(len(events))])
    events = [event for block in blocks for event in block]
    digest = TraceHash()
    digest.add(events)
    assert digest.hexdigest() == run.trace_sha256
    assert [event.t for event in events] == sorted(event.t for event in events)
    assert sum(type(event) is Start for event in events) == run.result["episodes"]["started"] > 5000
    assert counts == [len(block) for block in blocks]
    # Looks at the length come with every 1024th start and every event that is neither a start nor a finish.
    assert all(4096 <= count < 4096 + 2 * 1024 for count in counts[:-1])
    assert len(counts) > 2


def test_each_lane_of_a_race_has_its_own_sinks() -> None:
    race = scenario(lanes=[{"name": "a"}, {"name": "b", "strategy": {"kind": "synchronous"}}, {"name": "c"}])
    taken: list[list[Event]] = [[], []]

    runs = emulator.race(race, speed="max", sinks=[[events.extend] for events in taken])
    for events, run in zip(taken, runs[:2], strict=True):
        digest = TraceHash()
        digest.add(events)
        assert digest.hexdigest() == run.trace_sha256
    assert runs[2].trace_sha256 == runs[0].trace_sha256


def test_a_look_at_the_figures_lets_the_sinks_have_all_until_now() -> None:
    events: list[Event] = []
    seen: list[tuple[int, int]] = []

    async def watch(session: Session) -> None:
        session.clock.pause()
        await session.clock.wall_sleep(0)
        before = len(events)
        started = session.lanes[0].figures.counts["started"]
        seen.append((before, started))
        assert sum(type(event) is Start for event in events) == started
        session.clock.resume()

    emulator.run(scenario(), speed="max", watch=watch, sinks=[events.extend])
    assert seen == [(0, 4)]


@pytest.mark.parametrize("block", [1, 50, 4096])
@pytest.mark.parametrize("speed", [10_000, "max"])
def test_what_a_sink_raises_ends_the_run_and_comes_out_as_it_is(
    monkeypatch: pytest.MonkeyPatch, speed: Any, block: int
) -> None:
    monkeypatch.setattr(journal, "_BLOCK", block)

    def refuse(events: Sequence[Event]) -> None:
        raise LookupError("the sink")

    with pytest.raises(LookupError, match="the sink"):
        emulator.run(scenario(), speed=speed, sinks=[refuse])


def test_an_error_in_a_callback_of_the_loop_ends_the_run_and_comes_out_as_it_is() -> None:
    def fail() -> None:
        raise LookupError("the callback")

    async def watch(session: Session) -> None:
        session.clock.call_wall_later(0, fail)
        session.clock.pause()

    with pytest.raises(LookupError, match="the callback"):
        emulator.run(scenario(), speed="max", watch=watch)


# -- where it runs --------------------------------------------------------------------------------------


def test_runs_in_threads_of_their_own_are_those_of_the_main_thread() -> None:
    hashes: dict[int, str] = {}

    def work(seed: int) -> None:
        hashes[seed] = emulator.run(scenario(), speed="max", seed=seed).trace_sha256

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert hashes == {seed: emulator.run(scenario(), speed="max", seed=seed).trace_sha256 for seed in (1, 2)}


async def test_a_program_on_asyncio_can_run_one_in_a_thread() -> None:
    run = await asyncio.to_thread(emulator.run, scenario(), speed="max")
    assert run.result["emulated_seconds"] == 1000.0


@pytest.fixture
def thresholds() -> Iterator[tuple[int, int, int]]:
    """Thresholds of the garbage collector that nobody else would choose."""
    before = gc.get_threshold()
    gc.set_threshold(777, 7, 7)
    yield (777, 7, 7)
    gc.set_threshold(*before)


def test_the_garbage_collector_is_left_as_it_was_found(thresholds: tuple[int, int, int]) -> None:
    during: list[tuple[int, int, int]] = []
    emulator.run(scenario(), speed="max", sinks=[lambda _: during.append(gc.get_threshold())])
    assert during[0] != thresholds
    with pytest.raises(DeadlockError):
        emulator.run(scenario(events=ALL_LEAVE), speed="max")
    assert gc.get_threshold() == thresholds


def test_the_garbage_collector_is_left_as_it_was_found_by_runs_that_overlap(
    thresholds: tuple[int, int, int],
) -> None:
    first_runs, second_runs = threading.Event(), threading.Event()

    async def until_the_second_runs(session: Session) -> None:
        first_runs.set()
        await asyncio.to_thread(second_runs.wait, 10)

    first = threading.Thread(
        target=emulator.run, args=(scenario(),), kwargs={"speed": "max", "watch": until_the_second_runs}
    )

    async def until_the_first_has_ended(session: Session) -> None:
        second_runs.set()
        await asyncio.to_thread(first.join, 10)

    first.start()
    assert first_runs.wait(10)
    emulator.run(scenario(), speed="max", watch=until_the_first_has_ended)
    assert not first.is_alive()
    assert gc.get_threshold() == thresholds


def test_lanes_can_be_run_without_being_named() -> None:
    runs = run_lanes([scenario(), scenario(seed=2)], speed="max")
    alone = [emulator.run(scenario(), speed="max", seed=seed) for seed in (1, 2)]
    assert [all_but_the_clock(run) for run in runs] == [all_but_the_clock(run) for run in alone]


def test_a_lane_view_reports_its_name_and_where_it_stands() -> None:
    loop = EmulatedLoop()
    try:
        (lane,) = scenario(lanes=[{"name": "only"}]).lane_scenarios()
        view = LaneView(lane, loop, ())
        assert (view.name, view.now, view.error) == ("only", 0.0, None)
    finally:
        loop.close()


def test_a_run_works_where_a_loop_runs_already_as_in_a_notebook() -> None:
    async def cell() -> Run:
        return emulator.run(scenario(), speed="max")

    assert asyncio.run(cell()).trace_sha256 == emulator.run(scenario(), speed="max").trace_sha256


PRESSED_AT_100 = """
import asyncio, json, os, signal, sys, emulator

async def press(session):
    while session.clock.time() < 100:
        await session.clock.wall_sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)
    await session.ended.wait()

def run():
    scenario = emulator.Scenario(**json.load(sys.stdin))
    return emulator.run(scenario, speed=2000, watch=press, record=sys.argv[2])

async def cell():
    return run()

before = signal.getsignal(signal.SIGINT)
if sys.argv[1] == "script":
    try:
        run()
    except emulator.RunInterrupted as interrupt:
        (got,) = interrupt.runs
        assert "emulated s; `runs` has" in str(interrupt)
else:
    got = asyncio.run(cell())
assert signal.getsignal(signal.SIGINT) is before
print(json.dumps(got.to_json()))
"""


@pytest.mark.parametrize("where", ["script", "notebook"])
def test_ctrl_c_ends_a_run_at_once_with_its_result_and_a_whole_recording(where: str, tmp_path: Path) -> None:
    recording = tmp_path / "run.jsonl"
    ended = subprocess.run(
        [sys.executable, "-c", PRESSED_AT_100, where, str(recording)],
        input=json.dumps(document(duration=1e6)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.stderr == ""
    got = json.loads(ended.stdout)
    assert got["interrupted"] is True
    assert 100 <= got["result"]["emulated_seconds"] < 1e6
    (lane,) = emulator.read_recording(recording).lanes
    assert lane.interrupted
    assert (lane.result, lane.trace_sha256) == (got["result"], got["trace_sha256"])


@pytest.mark.parametrize("seed", [-1, 2**64, True, "x", 1.0])
def test_a_seed_that_no_scenario_could_have_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match="it must be a whole number from 0 to"):
        emulator.run(scenario(), speed="max", seed=seed)


def test_durations_of_almost_nothing_are_an_instant_without_an_end_too() -> None:
    short = scenario(rollout={"workers": 2, "episode_seconds": 1e-300})
    with pytest.raises(EndlessInstantError, match="no time passes at"):
        emulator.run(short, speed="max")
