"""Speeds and factors that multiply beyond all bounds, and instants of many events."""

from typing import Any

import pytest

import emulator
from emulator import events as ev
from emulator.errors import EndlessInstantError, OutOfRangeError
from emulator.runner import Session
from emulator.scenario import Scenario
from emulator.scenario.timeline import Event as Entry


def scenario(*entries: dict[str, Any], **changes: Any) -> Scenario:
    """Two workers on episodes of 5 s, batches of one, updates of 1 s, for a minute."""
    return Scenario.model_validate(
        {
            "duration": 60,
            "rollout": {"workers": 2, "episode_seconds": 5},
            "trainer": {"batch_size": 1, "update_seconds": 1},
            "strategy": {"kind": "asynchronous"},
            "events": list(entries),
            **changes,
        }
    )


def slow(at: float, seconds: float, factor: float = 1e6) -> dict[str, Any]:
    return {"at": at, "slow": {"workers": 2, "factor": factor, "for": seconds}}


def ended(of: Scenario) -> OutOfRangeError:
    with pytest.raises(OutOfRangeError) as caught:
        emulator.run(of, speed="max")
    assert caught.value.run is not None
    assert caught.value.run.result["emulated_seconds"] == caught.value.t
    assert caught.value.run.error is caught.value
    return caught.value


def test_slow_downs_that_multiply_end_the_lane_with_who_when_and_what_to_do() -> None:
    error = ended(scenario(*[slow(1, 10)] * 60))
    assert str(error) == (
        "the slow-down of worker 0 comes to 1e+42 at 1 s, beyond what can be computed with (1e-40 to 1e+40); "
        "have fewer or milder slow and straggler entries at once, or a rollout.speed that varies less"
    )


def test_slow_downs_within_bounds_are_computed_however_long_they_make_an_episode() -> None:
    events: list[ev.Event] = []
    emulator.run(scenario(*[slow(1, 10)] * 6), speed="max", sinks=[events.extend])
    first = [e.t for e in events if isinstance(e, ev.Finish)][:2]
    assert first == pytest.approx([15, 15])  # 1 s generated, 10 s of next to nothing, the other 4 s


def test_workers_that_get_faster_and_faster_end_the_lane_too() -> None:
    down = {"at": 0.5, "crash": {"workers": 2, "restart_seconds": 50}}
    error = ended(scenario(down, *[{"at": 1, "slow": {"workers": [0], "factor": 1e-6, "for": 10}}] * 7))
    assert (error.t, error.found) == (1, pytest.approx(1e-42))


def test_the_end_of_a_slow_down_can_leave_what_is_out_of_range() -> None:
    balanced = [slow(1, 30, 1e-6), slow(1, 20, 1e6)] * 8
    error = ended(scenario(*balanced))
    assert (error.t, error.found) == (21, pytest.approx(1e-42))


def test_a_straggler_made_longer_again_and_again_ends_the_lane() -> None:
    longer = {"at": 1, "straggler": {"episode": 0, "factor": 1e6}}
    assert str(ended(scenario(*[longer] * 60))).startswith("the factor of episode 0 comes to 1e+42 at 1 s,")
    unborn = {"at": 1, "straggler": {"episode": 1000, "factor": 1e6}}
    assert str(ended(scenario(*[unborn] * 7))).startswith("the factor of episode 1000 comes to 1e+42 at 1 s,")


@pytest.mark.parametrize(
    "speed", [{"kind": "gamma", "mean": 1, "shape": 0.001}, {"kind": "exponential", "mean": 5e-324}]
)
def test_speeds_that_nobody_can_compute_with_end_the_lane_before_it_begins(speed: dict[str, Any]) -> None:
    error = ended(scenario(rollout={"workers": 64, "episode_seconds": 5, "speed": speed}))
    assert error.what == "the speed of worker 0"
    assert (error.t, 0 <= error.found < 1e-40) == (0, True)


def test_a_distribution_that_gives_a_speed_of_0_now_and_then_is_refused_while_loading(tmp_path: Any) -> None:
    file = tmp_path / "speeds.txt"
    file.write_text("1\n1\n1e-300\n")
    trace = {"kind": "trace", "path": str(file)}
    with pytest.raises(ValueError, match="found a speed of 1e-300; allowed: speeds from 1e-40 on"):
        scenario(rollout={"workers": 2, "episode_seconds": 5, "speed": trace})
    parts = [{"weight": 1, "distribution": 1}, {"weight": 1e-9, "distribution": 0}]
    rare = {"kind": "mixture", "components": parts}
    with pytest.raises(ValueError, match="found a speed of 0; allowed: speeds above 0"):
        scenario(rollout={"workers": 2, "episode_seconds": 5, "speed": rare})


def test_a_lane_out_of_range_leaves_the_others_alone() -> None:
    dead, alive = emulator.race(
        scenario(lanes=[{"name": "dead", "events": [slow(1, 10)] * 7}, {"name": "alive"}]), speed="max"
    )
    assert isinstance(dead.error, OutOfRangeError)
    assert alive.error is None
    assert alive.trace_sha256 == emulator.run(scenario(), speed="max").trace_sha256


def test_a_person_s_keys_meet_the_same_bound() -> None:
    async def watch(session: Session) -> None:
        session.clock.pause()
        session.lanes[0].inject(
            Entry.model_validate({**slow(0, 10), "slow": {"workers": 2, "factor": 5e-324, "for": 9}})
        )
        session.clock.resume()

    with pytest.raises(OutOfRangeError, match=r"the slow-down of worker 0 comes to 4.94066e-324 at "):
        emulator.run(scenario(), speed="max", watch=watch)


def test_a_factor_that_no_slow_down_can_have_is_refused_while_loading() -> None:
    with pytest.raises(ValueError, match=r"slow\.factor: found 5e-324; allowed: a factor from 1e-40 on"):
        scenario(slow(1, 10, 5e-324))


# -- instants -------------------------------------------------------------------------------------------


def test_a_crowd_that_joins_or_leaves_at_once_is_no_instant_without_an_end() -> None:
    crowd = scenario({"at": 2, "add_workers": {"count": 8000}}, {"at": 4, "remove_workers": {"count": 8001}})
    run = emulator.run(crowd, speed="max")
    assert run.result["episodes"]["aborted"] == 8001


def test_many_entries_at_one_instant_are_no_instant_without_an_end() -> None:
    crash = {"at": 2, "crash": {"workers": 600, "restart_seconds": 0}}
    run = emulator.run(scenario(*[crash] * 20, rollout={"workers": 600, "episode_seconds": 5}), speed="max")
    assert run.result["episodes"]["failed"] == 12_000


def test_an_instant_without_an_end_stops_before_it_fills_the_memory() -> None:
    rollout, trainer = {"workers": 2000, "episode_seconds": 0}, {"batch_size": 2000, "update_seconds": 1}
    with pytest.raises(EndlessInstantError, match="more than 90000 events") as caught:
        emulator.run(scenario(rollout=rollout, trainer=trainer), speed="max")
    assert caught.value.run is not None
    assert caught.value.run.result["episodes"]["started"] < 50_000


def test_an_instant_may_discard_any_number_of_episodes_that_have_waited() -> None:
    run = emulator.run(
        scenario(
            rollout={"workers": 8, "episode_seconds": 0.01},
            trainer={"batch_size": 1, "update_seconds": 20},
            strategy={"kind": "asynchronous", "max_staleness": 0, "enforce": "drop"},
        ),
        speed="max",
    )
    assert run.result["episodes"]["dropped"] == 32_014
    assert run.result["updates"] == 2
