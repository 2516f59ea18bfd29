"""What a lane says when nothing in it can happen any more."""

from typing import Any

import pytest

import emulator
from emulator.errors import DeadlockError
from emulator.scenario import Scenario

END = "; nothing that is running can change that"
ALL_LEAVE = {"remove_workers": {"workers": [0, 1, 2]}}


def scenario(
    strategy: str | dict[str, Any] = "asynchronous",
    rollout: dict[str, Any] | None = None,
    batch: int = 2,
    **sections: Any,
) -> Scenario:
    """Three workers, episodes of 5 s and updates of 4 s."""
    return Scenario.model_validate(
        {
            "duration": 100,
            "rollout": {"workers": 3, "episode_seconds": 5, **(rollout or {})},
            "trainer": {"batch_size": batch, "update_seconds": 4},
            "strategy": {"kind": strategy} if isinstance(strategy, str) else strategy,
            **sections,
        }
    )


def deadlock(*args: Any, **sections: Any) -> DeadlockError:
    """The error of a run of such a scenario."""
    with pytest.raises(DeadlockError) as caught:
        emulator.run(scenario(*args, **sections), speed="max")
    return caught.value


def test_all_workers_are_removed() -> None:
    error = deadlock(events=[{"at": 12, **ALL_LEAVE}])
    # Six episodes finish, three at 5 and three at 10; updates on them from 5 to 9, 10 to 14 and 14 to 18.
    assert str(error) == (
        "deadlock at 18 s: the trainer waits for 2 finished episodes, the queue holds 0 episodes; "
        f"no workers are left{END}"
    )
    assert error.run is not None
    assert error.run.result["updates"] == 3


def test_all_workers_are_removed_before_the_first_start() -> None:
    error = deadlock("synchronous", events=[{"at": 0, **ALL_LEAVE}])
    assert str(error) == (
        "deadlock at 0 s: the trainer waits for 2 finished episodes, the queue holds 0 episodes; "
        f"no workers are left{END}"
    )


def test_after_a_deadline_one_episode_would_do() -> None:
    hasty = {"kind": "synchronous", "unfinished": "abort", "deadline": 20}
    error = deadlock(hasty, events=[{"at": 3, **ALL_LEAVE}])
    assert str(error) == (
        "deadlock at 20 s: the trainer waits for 1 finished episode, the queue holds 0 episodes; "
        f"no workers are left{END}"
    )


def test_all_workers_are_removed_while_the_next_round_is_generated() -> None:
    # Two episodes each close the first round at 10; its update is over at 14.
    error = deadlock("one_step_off", batch=6, events=[{"at": 12, **ALL_LEAVE}])
    assert str(error) == (
        f"deadlock at 14 s: the trainer waits for the round that is generated; no workers are left{END}"
    )


def test_a_queue_too_small_for_groups_that_come_in_pieces() -> None:
    # Episodes 0, 2 and 4 are ten times as long: one member of each of three groups is finished at 5, and
    # three more at 10; four fill the queue, and no group is whole in it.
    slow = [{"at": 0, "straggler": {"episode": number, "factor": 10}} for number in (0, 2, 4)]
    error = deadlock(rollout={"workers": 6, "group_size": 2, "queue_capacity": 4}, batch=4, events=slow)
    assert str(error) == (
        "deadlock at 50 s: the trainer waits for 2 complete groups of 2, the queue holds 4 episodes, "
        "0 complete groups among them; 6 workers with a finished episode for which the queue has no room"
        f"{END}"
    )


def test_workers_wait_at_a_gate_for_a_publication_that_never_comes() -> None:
    # The gate lets two groups of four out. With a straggler in each, four of the other six fill the queue.
    error = deadlock(
        {"kind": "asynchronous", "max_staleness": 1},
        rollout={"workers": 10, "group_size": 4, "queue_capacity": 4},
        batch=4,
        events=[{"at": 0, "straggler": {"episode": number, "factor": 2}} for number in (0, 4)],
    )
    assert str(error) == (
        "deadlock at 10 s: the trainer waits for 1 complete group of 4, the queue holds 4 episodes, "
        "0 complete groups among them; 4 workers with a finished episode for which the queue has no room; "
        f"6 workers at the staleness gate until a publication{END}"
    )


def test_other_lanes_finish() -> None:
    lanes = [{"name": "dies", "events": [{"at": 12, **ALL_LEAVE}]}, {"name": "lives"}]
    dies, lives = emulator.race(scenario(lanes=lanes), speed="max")
    assert isinstance(dies.error, DeadlockError)
    assert lives.error is None
    assert (dies.result["emulated_seconds"], lives.result["emulated_seconds"]) == (dies.error.t, 100)


def test_an_entry_still_to_come_is_no_deadlock_until_it_has_come() -> None:
    without_effect = {"at": 99, "straggler": {"episode": 0, "factor": 2}}
    assert deadlock(events=[{"at": 12, **ALL_LEAVE}, without_effect]).t == 99


def test_workers_still_to_join_are_no_deadlock() -> None:
    entries = [{"at": 12, **ALL_LEAVE}, {"at": 98, "add_workers": {"count": 1}}]
    run = emulator.run(scenario(events=entries), speed="max")
    assert (run.error, run.result["episodes"]["in_flight"]) == (None, 1)
