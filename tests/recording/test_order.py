"""Which event may follow those before it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from emulator import events as ev
from emulator.recording.order import ALLOWED, Order
from emulator.recording.schema import MisfitError
from tests.recording.files import recorded, refusal, scenario

IN_GROUPS = {"rollout": {"workers": 4, "episode_seconds": 10, "group_size": 2, "group_redundancy": 1}}
LIMITED = {"rollout": {"workers": 2, "episode_seconds": 10, "queue_capacity": 2}}
SANDBOXES: dict[str, Any] = {"environment": {"sandboxes": 1, "retries": 1}}
HUGE = 10**18


def start(worker: int, episode: int, *, version: int = 0, group: int | None = None) -> ev.Start:
    return ev.Start(0.0, worker, episode, episode if group is None else group, version, 10.0)


BOTH = (start(0, 0), start(1, 1))
FINISHED = (*BOTH, ev.Finish(0.0, 0, 0), ev.Finish(0.0, 1, 1))
TRAINING = (*FINISHED, ev.Update(0.0, 0, [0, 1]))
TRAINED = (*TRAINING, ev.Updated(0.0, 0, pushes=False))
TO_PUSH = (*TRAINING, ev.Updated(0.0, 0, pushes=True))
JOINING = (ev.Inject(0.0, {"add_workers": {"count": 1}}),)
LEARN = ev.Learn(0.0, 0, *[1.0] * 8)

MISFITS: dict[str, tuple[dict[str, Any], Sequence[ev.Event], ev.Event, str]] = {
    "an episode left out": ({}, (), start(0, 1), "a start at 0 s, but episode 0 is the next to start"),
    "a huge episode": ({}, (), start(0, HUGE), "a start at 0 s, but episode 0 is the next to start"),
    "another version": ({}, (), start(0, 0, version=1), "a start at 0 s, but version 0 is the one published"),
    "a group of others": (
        {},
        (),
        start(0, 0, group=1),
        "a start at 0 s, but episode 0 is a group of its own",
    ),
    "a group left out": (
        IN_GROUPS,
        (),
        start(0, 0, group=1),
        "a start at 0 s, but group 1 has no room for it",
    ),
    "a full group": (
        IN_GROUPS,
        [start(n, n, group=0) for n in range(3)],
        start(3, 3, group=0),
        "a start at 0 s, but group 0 has no room for it",
    ),
    "no such worker": ({}, (), start(2, 0), "a start at 0 s, but worker 2 is not free"),
    "a negative worker": ({}, (), start(-1, 0), "a start at 0 s, but worker -1 is not free"),
    "a busy worker": ({}, (start(0, 0),), start(0, 1), "a start at 0 s, but worker 0 is not free"),
    "nothing paused": ({}, BOTH, ev.Resume(0.0, 0, 0, 0), "a resume at 0 s, but episode 0 is not paused"),
    "never blocked": (
        {},
        FINISHED,
        ev.Blocked(0.0, 1, "queue"),
        "a blocked at 0 s, but worker 1 has not just finished an episode",
    ),
    "no sandboxes": (
        {},
        BOTH,
        ev.Blocked(0.0, 1, "sandbox"),
        "a blocked at 0 s, but worker 1 has not just taken an episode",
    ),
    "busy and gated": ({}, BOTH, ev.Gated(0.0, 1), "a gated at 0 s, but worker 1 is not free"),
    "nothing to begin": ({}, (), ev.Overhead(0.0, 1), "an overhead at 0 s, but worker 1 has none to begin"),
    "generates already": (
        {},
        BOTH,
        ev.Generate(0.0, 1),
        "a generate at 0 s, but worker 1 has no reason to begin",
    ),
    "no retries": (
        {},
        BOTH,
        ev.Retry(0.0, 1, 1, "failure"),
        "a retry at 0 s, but no attempt of it is going on",
    ),
    "another's retry": (
        SANDBOXES,
        BOTH,
        ev.Retry(0.0, 1, 0, "failure"),
        "a retry at 0 s, but episode 0 is not at worker 1",
    ),
    "in line": (
        SANDBOXES,
        (*BOTH, ev.Blocked(0.0, 1, "sandbox")),
        ev.Finish(0.0, 1, 1),
        "a finish at 0 s, but worker 1 does not generate episode 1",
    ),
    "finished twice": (
        {},
        FINISHED,
        ev.Finish(0.0, 1, 1),
        "a finish at 0 s, but worker 1 does not generate episode 1",
    ),
    "a complete group": (
        IN_GROUPS,
        [*(start(n, n, group=0) for n in range(3)), ev.Finish(0.0, 0, 0), ev.Finish(0.0, 1, 1)],
        ev.Finish(0.0, 2, 2),
        "a finish at 0 s, but group 0 is complete",
    ),
    "nothing held": (
        LIMITED,
        FINISHED,
        ev.HandOver(0.0, 1, 1),
        "a handover at 0 s, but worker 1 does not hold episode 1",
    ),
    "paused by another": (
        {},
        BOTH,
        ev.Pause(0.0, 1, 0, "resume"),
        "a pause at 0 s, but episode 0 is not at worker 1",
    ),
    "aborted unpaused": (
        {},
        BOTH,
        ev.Abort(0.0, None, 0, "group"),
        "an abort at 0 s, but episode 0 is not paused",
    ),
    "lost twice": (
        {},
        (*BOTH, ev.Fail(0.0, 0, 0, "crash")),
        ev.Fail(0.0, 0, 0, "crash"),
        "a fail at 0 s, but episode 0 is not at worker 0",
    ),
    "dropped while it runs": (
        {},
        BOTH,
        ev.Drop(0.0, [0], "stale"),
        "a drop at 0 s, but episode 0 is not finished and untrained",
    ),
    "trained while it runs": (
        {},
        BOTH,
        ev.Update(0.0, 0, [0, 1]),
        "an update at 0 s, but episode 0 is not in the queue",
    ),
    "a small batch": (
        {},
        FINISHED,
        ev.Update(0.0, 0, [0]),
        "an update at 0 s, but a batch is 2 episodes, not 1",
    ),
    "an update left out": ({}, FINISHED, ev.Update(0.0, 1, [0, 1]), "an update at 0 s, but update 0 is next"),
    "two at a time": ({}, TRAINING, ev.Update(0.0, 1, [0, 1]), "an update at 0 s, but update 0 is going on"),
    "nothing computed": (
        {},
        FINISHED,
        ev.Updated(0.0, 0, pushes=False),
        "an updated at 0 s, but update 0 is not going on",
    ),
    "learned before": ({}, TRAINING, LEARN, "a learn at 0 s, but update 0 has not just been computed"),
    "learned twice": (
        {},
        (*TRAINED, LEARN),
        LEARN,
        "a learn at 0 s, but update 0 has not just been computed",
    ),
    "nothing to push": (
        {},
        TRAINED,
        ev.Push(0.0, freezes=True),
        "a push at 0 s, but no update is to be pushed",
    ),
    "published unpushed": (
        {},
        TO_PUSH,
        ev.Publish(0.0, 1),
        "a publish at 0 s, but no update is to be published",
    ),
    "a version left out": (
        {},
        TRAINED,
        ev.Publish(0.0, 3_000_000_000),
        "a publish at 0 s, but version 1 is next, not 3000000000",
    ),
    "published twice": (
        {},
        (*TRAINED, ev.Publish(0.0, 1)),
        ev.Publish(0.0, 2),
        "a publish at 0 s, but no update is to be published",
    ),
    "nothing to refresh": (
        {},
        BOTH,
        ev.Refresh(0.0, [0, 9]),
        "a refresh at 0 s, but worker 9 is at no episode",
    ),
    "stalled twice": (
        {},
        (ev.Stall(0.0),),
        ev.Stall(0.0),
        "a stall at 0 s, but the trainer stands still already",
    ),
    "never stalled": ({}, (), ev.Unstall(0.0), "an unstall at 0 s, but the trainer does not stand still"),
    "down at work": (
        {},
        BOTH,
        ev.Down(0.0, 0),
        "a down at 0 s, but worker 0 is not up and without an episode",
    ),
    "never down": ({}, (), ev.Up(0.0, 0), "an up at 0 s, but worker 0 neither was down nor joins"),
    "never added": ({}, (), ev.Up(0.0, 2), "an up at 0 s, but worker 2 neither was down nor joins"),
    "a number left out": (
        {},
        JOINING,
        ev.Up(0.0, HUGE),
        f"an up at 0 s, but worker {HUGE} neither was down nor joins",
    ),
    "more than were added": (
        {},
        (*JOINING, ev.Up(0.0, 2)),
        ev.Up(0.0, 3),
        "an up at 0 s, but worker 3 neither was down nor joins",
    ),
    "gone": ({}, (ev.Leave(0.0, 0),), ev.Up(0.0, 0), "an up at 0 s, but worker 0 neither was down nor joins"),
    "left at work": (
        {},
        BOTH,
        ev.Leave(0.0, 0),
        "a leave at 0 s, but worker 0 is not there without an episode",
    ),
    "no worker to hit": (
        {},
        (),
        ev.Inject(0.0, {"crash": {"workers": [0, 7], "restart_seconds": 1.0}}),
        "an inject at 0 s, but there is no worker 7",
    ),
}


@pytest.mark.parametrize("case", MISFITS)
def test_an_event_that_cannot_follow_is_refused_with_the_reason(case: str) -> None:
    changes, before, event, found = MISFITS[case]
    order = Order(scenario(**changes))
    for earlier in before:
        order.take(earlier)
    with pytest.raises(MisfitError) as error:
        order.take(event)
    assert (error.value.found, error.value.allowed) == (found, ALLOWED)


def test_a_worker_that_is_down_hands_over_what_it_holds() -> None:
    order = Order(scenario(**LIMITED))
    for event in (
        *BOTH,
        ev.Finish(0.0, 0, 0),
        ev.Blocked(0.0, 0, "queue"),
        ev.Down(0.0, 0),
        ev.HandOver(0.0, 0, 0),
        ev.Up(0.0, 0),
        start(0, 2),
    ):
        order.take(event)


def test_of_a_whole_recording_no_line_can_be_left_out_doubled_or_moved(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = recorded(path, trainer={"batch_size": 2, "update_seconds": 4, "weight_sync_seconds": 1})
    last = len(lines) - 12  # what nothing depends on any more can be missing
    for place in range(1, last):
        doubled = [*lines[: place + 1], *lines[place:]]
        assert ALLOWED in refusal(path, doubled) or "a time from" in refusal(path, doubled)
        without = [*lines[:place], *lines[place + 1 :]]
        assert ALLOWED in refusal(path, without) or "a time from" in refusal(path, without)
