"""What timeline entries do, and how they are told."""

from typing import Any

import emulator
from emulator import events as ev
from emulator.runner import Session
from emulator.scenario import Scenario
from emulator.scenario.timeline import Event as Entry


def scenario(*entries: dict[str, Any], **changes: Any) -> Scenario:
    """Three workers on episodes of 10 s, batches of 3, updates of 5 s, for 50 s."""
    return Scenario.model_validate(
        {
            "duration": 50,
            "rollout": {"workers": 3, "episode_seconds": 10},
            "trainer": {"batch_size": 3, "update_seconds": 5},
            "strategy": {"kind": "asynchronous"},
            "events": list(entries),
            **changes,
        }
    )


def events(of: Scenario) -> list[ev.Event]:
    found: list[ev.Event] = []
    emulator.run(of, speed="max", sinks=[found.extend])
    return found


def told(*entries: dict[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    return [(e.t, e.action) for e in events(scenario(*entries)) if isinstance(e, ev.Inject)]


def finishes(of: Scenario, worker: int) -> list[float]:
    return [e.t for e in events(of) if isinstance(e, ev.Finish) and e.worker == worker]


def test_a_count_is_recorded_as_the_lowest_numbered_workers_that_are_up() -> None:
    assert told(
        {"at": 3, "crash": {"workers": 1, "restart_seconds": 20}},
        {"at": 4, "slow": {"workers": 1, "factor": 2, "for": 5}},
        {"at": 5, "remove_workers": {"count": 1}},
    ) == [
        (3, {"crash": {"workers": [0], "restart_seconds": 20}}),
        (4, {"slow": {"workers": [1], "factor": 2, "for": 5}}),
        (5, {"remove_workers": {"workers": [1]}}),
    ]


def test_a_list_is_recorded_without_those_that_are_gone() -> None:
    assert told(
        {"at": 1, "remove_workers": {"workers": [1]}},
        {"at": 2, "slow": {"workers": [2, 1], "factor": 2, "for": 5}},
    )[1] == (2, {"slow": {"workers": [2], "factor": 2, "for": 5}})


def test_what_hits_nobody_is_not_recorded() -> None:
    gone = {"at": 1, "remove_workers": {"workers": [1]}}
    for entry in (
        {"slow": {"workers": [1], "factor": 2, "for": 5}},
        {"crash": {"workers": [1], "restart_seconds": 5}},
        {"remove_workers": {"workers": [1]}},
        {"straggler": {"worker": 1, "factor": 5}},
    ):
        assert len(told(gone, {"at": 2, **entry})) == 1


def test_a_straggler_by_worker_is_recorded_by_its_episode() -> None:
    assert told({"at": 12, "straggler": {"worker": 1, "factor": 3}}) == [
        (12, {"straggler": {"episode": 4, "factor": 3}})
    ]


def test_a_straggler_multiplies_the_whole_duration_while_running_or_yet_to_come() -> None:
    running = scenario({"at": 4, "straggler": {"episode": 1, "factor": 3}})
    coming = scenario({"at": 4, "straggler": {"episode": 4, "factor": 3}})
    finished = scenario({"at": 14, "straggler": {"episode": 1, "factor": 3}})
    assert finishes(running, 1) == [30, 40, 50]
    assert finishes(coming, 1) == [10, 40, 50]
    assert finishes(finished, 1) == [10, 20, 30, 40, 50]


def test_a_slow_down_stretches_what_is_left_and_then_ends() -> None:
    slow = scenario({"at": 6, "slow": {"workers": [1], "factor": 3, "for": 18}})
    # 6-18 the last 4 s of the first episode, 18-24 the first 2 s of the second, 24-32 its other 8 s.
    assert finishes(slow, 1) == [18, 32, 42]
    assert finishes(slow, 0) == [10, 20, 30, 40, 50]


def test_slow_downs_multiply() -> None:
    one = {"at": 0, "slow": {"workers": [0], "factor": 2, "for": 50}}
    assert finishes(scenario(one, one), 0) == [40]


def test_a_crash_loses_the_episode_and_the_worker_comes_back() -> None:
    crashed = events(scenario({"at": 4, "crash": {"workers": [1], "restart_seconds": 7}}))
    mine = [e for e in crashed if getattr(e, "worker", None) == 1][:5]
    assert mine[:5] == [
        ev.Start(0, 1, 1, 1, 0, 10),
        ev.Fail(4, 1, 1, "crash"),
        ev.Down(4, 1),
        ev.Up(11, 1),
        ev.Start(11, 1, 5, 5, 0, 10),
    ]


def test_workers_that_join_are_numbered_on_and_those_that_leave_abort() -> None:
    found = events(
        scenario({"at": 4, "remove_workers": {"workers": [2]}}, {"at": 5, "add_workers": {"count": 2}})
    )
    at_4 = [e for e in found if e.t == 4]
    assert at_4 == [
        ev.Inject(4, {"remove_workers": {"workers": [2]}}),
        ev.Abort(4, 2, 2, "leave"),
        ev.Leave(4, 2),
    ]
    assert [e for e in found if e.t == 5] == [
        ev.Inject(5, {"add_workers": {"count": 2}}),
        ev.Up(5, 3),
        ev.Up(5, 4),
        ev.Start(5, 3, 3, 3, 0, 10),
        ev.Start(5, 4, 4, 4, 0, 10),
    ]


def test_a_stall_delays_the_update_that_is_going_on() -> None:
    found = events(scenario({"at": 12, "stall_trainer": {"for": 9}}))
    assert [e.t for e in found if isinstance(e, ev.Updated)][:2] == [24, 29]
    assert [e.t for e in found if isinstance(e, ev.Stall | ev.Unstall)] == [12, 21]


def test_stalls_follow_one_another() -> None:
    stall = {"stall_trainer": {"for": 9}}
    found = events(scenario({"at": 12, **stall}, {"at": 15, **stall}))
    assert [e for e in found if isinstance(e, ev.Stall | ev.Unstall)] == [ev.Stall(12), ev.Unstall(30)]
    assert next(e.t for e in found if isinstance(e, ev.Updated)) == 33


def test_entries_of_one_instant_take_effect_after_it_in_file_order() -> None:
    found = events(
        scenario(
            {"at": 10, "stall_trainer": {"for": 1}},
            {"at": 10, "crash": {"workers": [0], "restart_seconds": 1}},
        )
    )
    names = [type(e).__name__ for e in found if e.t == 10]
    # The finishes and the batch come first; the entries then, in their order.
    assert names[:7] == ["Finish", "Start"] * 3 + ["Update"]
    assert names[7:] == ["Inject", "Stall", "Inject", "Fail", "Down"]


def test_entries_at_0_precede_the_first_start() -> None:
    found = events(scenario({"at": 0, "remove_workers": {"workers": [0]}}))
    assert found[:3] == [
        ev.Inject(0, {"remove_workers": {"workers": [0]}}),
        ev.Leave(0, 0),
        ev.Start(0, 1, 0, 0, 0, 10),
    ]


def test_an_injection_by_hand_is_recorded_at_its_time_whatever_it_says() -> None:
    found: list[ev.Event] = []

    async def watch(session: Session) -> None:
        lane = session.lanes[0]
        session.clock.call_at(
            17.0, lane.inject, Entry.model_validate({"at": 0, "straggler": {"worker": 0, "factor": 2}})
        )
        await session.ended.wait()

    run = emulator.run(scenario(), speed="max", watch=watch, sinks=[found.extend])
    inject = next(e for e in found if isinstance(e, ev.Inject))
    assert inject == ev.Inject(17, {"straggler": {"episode": 3, "factor": 2}})
    again = emulator.run(scenario({"at": inject.t, **inject.action}), speed="max")
    assert again.trace_sha256 == run.trace_sha256
