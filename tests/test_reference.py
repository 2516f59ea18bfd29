"""The reference calculation against cases worked by hand, and against what is known of the reference hour.

In the cases, `3-7 w0 e2` means that worker 0 generates episode 2 from 3 to 7.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import fsum, log
from typing import Any

import pytest

from . import reference

HAND = [4, 10, 3, 5, 2, 9, 8, 7, 20, 1, 6, 2, 3, 4]
"""The durations of most cases."""


def run(
    strategy: str | dict[str, Any],
    durations: Sequence[float],
    *,
    workers: int = 2,
    batch: int = 2,
    update: float = 6,
    until: float = 30,
    rollout: dict[str, Any] | None = None,
    trainer: dict[str, Any] | None = None,
    environment: dict[str, Any] | None = None,
    events: list[dict[str, Any]] | None = None,
    **draws: Callable[..., Any],
) -> dict[str, Any]:
    scenario = {
        "duration": until,
        "rollout": {"workers": workers, **(rollout or {})},
        "trainer": {"batch_size": batch, **(trainer or {})},
        "strategy": {"kind": strategy} if isinstance(strategy, str) else strategy,
        "environment": environment,
        "events": events,
    }
    return reference.run(
        scenario, durations=lambda k: durations[k % len(durations)], updates=lambda _: update, **draws
    )


def counts(result: dict[str, Any], *left_out: str) -> dict[str, int]:
    """The episodes that are not 0, `attempts` only where asked for."""
    return {name: n for name, n in result["episodes"].items() if n and name not in ("attempts", *left_out)}


def worker_seconds(result: dict[str, Any]) -> dict[str, float]:
    return {name: n for name, n in result["workers"]["seconds"].items() if n}


def trainer_seconds(result: dict[str, Any]) -> dict[str, float]:
    return {name: n for name, n in result["trainer"]["seconds"].items() if n}


def test_synchronous() -> None:
    # 0-4 w0 e0, 0-10 w1 e1, update 10-16; 16-19 w0 e2, 16-21 w1 e3, update 21-27; 27-29 w0 e4, 27- w1 e5.
    # In the queue: e0 for 6, e2 for 2, e4 for 1.
    result = run("synchronous", HAND)
    assert result["trained"] == [(10, [0, 1]), (21, [2, 3])]
    assert result["starts"] == [(0, 0, 0), (0, 1, 1), (16, 2, 0), (16, 3, 1), (27, 4, 0), (27, 5, 1)]
    assert (result["updates"], result["publications"], result["updates_per_hour"]) == (2, 2, 240.0)
    assert result["emulated_seconds"] == 30
    assert result["episodes"] == {
        "started": 6,
        "finished": 5,
        "trained": 4,
        "dropped": 0,
        "aborted": 0,
        "failed": 0,
        "queued": 1,
        "in_flight": 1,
        "paused": 0,
        "attempts": 6,
    }
    assert result["workers"] == {
        "utilisation": 27 / 60,
        "goodput": 27 / 60,
        "seconds": {
            "generating": 27,
            "overhead": 0,
            "waiting": 33,
            "gated": 0,
            "blocked": 0,
            "frozen": 0,
            "down": 0,
            "wasted": 0,
        },
    }
    assert result["trainer"] == {
        "utilisation": 12 / 30,
        "seconds": {"updating": 12, "pushing": 0, "waiting": 18, "stalled": 0},
        "batch_mean": 2.0,
        "longest_wait_seconds": 10,
    }
    assert result["staleness"] == {
        "mean": 0,
        "p50": 0,
        "p95": 0,
        "max": 0,
        "histogram": [4],
        "in_flight_mean": 0,
        "in_queue_mean": 0,
    }
    assert result["queue"] == {"mean": 9 / 30, "max": 1, "wait_mean": 8 / 4}
    assert result["first_update_seconds"] == 16
    assert result["episode_seconds"] == {"started_mean": 5.5, "trained_mean": 5.5, "length_bias": 1.0}


def test_nothing_trained_is_no_mean() -> None:
    result = run("synchronous", HAND, until=5)
    assert result["staleness"] == {
        "mean": None,
        "p50": None,
        "p95": None,
        "max": None,
        "histogram": [],
        "in_flight_mean": None,
        "in_queue_mean": None,
    }
    assert result["episode_seconds"] == {"started_mean": 7, "trained_mean": None, "length_bias": None}


def test_asynchronous() -> None:
    # 0-4 w0 e0, 0-10 w1 e1, 4-7 w0 e2, 7-12 w0 e3, 10-12 w1 e4, 12-21 w0 e5, 12-20 w1 e6, 20-27 w1 e7,
    # 21- w0 e8, 27-28 w1 e9, 28- w1 e10. Updates 7-13 v0 (e0 e2), 13-19 v1 (e1 e3), 20-26 v2 (e4 e6), 27-
    # v3 (e5 e7). Stamp, version at finish, at update: e0 e2 0 0 0, e1 e3 0 0 1, e4 0 0 2, e6 0 2 2, e5 0
    # 2 3, e7 2 3 3. In the queue: e0 3, e1 3, e3 1, e4 8, e5 6, e9 2; at 12 there are e1 e3 e4.
    result = run("asynchronous", HAND)
    assert result["trained"] == [(7, [0, 2]), (13, [1, 3]), (20, [4, 6]), (27, [5, 7])]
    assert result["updates"] == 3
    assert counts(result) == {"started": 11, "finished": 9, "trained": 8, "queued": 1, "in_flight": 2}
    assert worker_seconds(result) == {"generating": 60}
    assert trainer_seconds(result) == {"updating": 21, "waiting": 9}
    assert result["staleness"] == {
        "mean": 10 / 8,
        "p50": 1,
        "p95": 3,
        "max": 3,
        "histogram": [2, 3, 2, 1],
        "in_flight_mean": 5 / 8,
        "in_queue_mean": 5 / 8,
    }
    assert result["queue"] == {"mean": 23 / 30, "max": 3, "wait_mean": 21 / 8}
    assert (result["first_update_seconds"], result["trainer"]["longest_wait_seconds"]) == (13, 7)
    assert result["versions"] == {"span_mean": 0, "span_max": 0, "newest_mean": 1.25, "weighted_mean": 1.25}


def test_push_counts_at_its_end() -> None:
    # W 1, B 1: 0-2 e0, update 2-5, push 5-6; 6-8 e1, update 8-11, push 11-
    result = run(
        "synchronous", [2], workers=1, batch=1, update=3, until=11, trainer={"weight_sync_seconds": 1}
    )
    assert (result["updates"], result["publications"]) == (1, 1)
    assert trainer_seconds(result) == {"updating": 6, "pushing": 1, "waiting": 4}
    assert result["trainer"]["utilisation"] == 7 / 11


def test_publish_every_second_update() -> None:
    # 0-2 e0, update 2-5; 5-7 e1, update 7-10, push 10-11; 11-13 e2, update 13-16; 16-18 e3, update 18-
    result = run(
        "synchronous",
        [2],
        workers=1,
        batch=1,
        update=3,
        until=20,
        trainer={"weight_sync_seconds": 1, "publish_every": 2},
    )
    assert (result["updates"], result["publications"]) == (3, 1)
    assert result["trained"] == [(2, [0]), (7, [1]), (13, [2]), (18, [3])]
    assert trainer_seconds(result) == {"updating": 11, "pushing": 1, "waiting": 8}
    assert result["staleness"]["histogram"] == [4]


OVER = {"kind": "synchronous", "oversample": 1.5}
TAIL = [4, 10, 6, 3, 8, 5, 1]


def test_unfinished_abort() -> None:
    # 0-4 w0 e0, 0-6 w1 e1 aborted, 0-6 w2 e2, update 6-11; 11-14 w0 e3, 11-16 w1 e4 aborted, 11-16 w2 e5,
    # update 16-
    result = run({**OVER, "unfinished": "abort"}, TAIL, workers=3, update=5, until=20)
    assert result["trained"] == [(6, [0, 2]), (16, [3, 5])]
    assert counts(result) == {"started": 6, "finished": 4, "trained": 4, "aborted": 2}
    assert worker_seconds(result) == {"generating": 29, "waiting": 31, "wasted": 11}
    assert result["workers"]["goodput"] == 18 / 60
    assert result["episode_seconds"] == {"started_mean": 6, "trained_mean": 4.5, "length_bias": 0.75}


def test_unfinished_resume() -> None:
    # Round 1 as above, e1 paused with 4 left. Round 2 at 11, v1: w0 e1 (overhead 11-13, 13-17), 11-14 w1
    # e3, 11-17 w2 e4 paused. Update 17-. e1: 6 s of v0 and 4 s of v1.
    result = run({**OVER, "unfinished": "resume", "resume_overhead": 2}, TAIL, workers=3, update=5, until=20)
    assert result["trained"] == [(6, [0, 2]), (17, [3, 1])]
    assert counts(result) == {"started": 5, "finished": 4, "trained": 4, "paused": 1}
    assert worker_seconds(result) == {"generating": 29, "overhead": 2, "waiting": 29}
    assert result["staleness"]["histogram"] == [3, 1]
    assert result["staleness"]["in_flight_mean"] == 0.25
    assert result["versions"] == {
        "span_mean": 0.25,
        "span_max": 1,
        "newest_mean": 0,
        "weighted_mean": 0.6 / 4,
    }
    assert result["episodes"]["attempts"] == 5


def test_resume_in_overhead_and_on_another_speed() -> None:
    # Speeds w0 1, w1 2, w2 4, B 1, N 3. e0 12, e1 12, e2 4: 0-1 w2 e2. Left at 1: e0 11 of w0, e1 5 of
    # w1. Update 1-2. At 2 w0 e0 (overhead 2-5, due 16), w1 e1 (overhead 2-5, due 10), w2 e3 4: 2-3.
    # Paused at 3: overhead 2 left, then 11 and 5. Update 3-4. At 4 with w0 gone: w1 e0 (4-9, 11 s of w0
    # are 5.5), w2 e1 (4-9, 5 s of w1 are 2.5): 11.5 and e0 paused with 3.
    result = run(
        {"kind": "synchronous", "oversample": 3, "unfinished": "resume", "resume_overhead": 3},
        [12, 12, 4, 4],
        workers=3,
        batch=1,
        update=1,
        until=12,
        speeds=lambda w: [1.0, 2.0, 4.0][w],
        events=[{"at": 3.5, "remove_workers": {"ids": [0]}}],
    )
    assert result["trained"] == [(1, [2]), (3, [3]), (11.5, [1])]
    assert counts(result) == {"started": 4, "finished": 3, "trained": 3, "paused": 1}
    # generating: e0 1 + 2.5, e1 1 + 2.5, e2 1, e3 1
    assert worker_seconds(result) == {"generating": 9, "overhead": 12, "waiting": 27.5 - 21}
    assert result["service_seconds"] == 27.5


def test_unfinished_defer() -> None:
    # Round 1 and 2 as with abort: e1 (6 s) and e4 (5 s) wait. Round 3 at 21: 21-31 w0 e1, 21-29 w1 e4, w2
    # waits. Update 31-36, at 36 three new ones start.
    result = run({**OVER, "unfinished": "defer"}, TAIL, workers=3, update=5, until=36)
    assert result["trained"] == [(6, [0, 2]), (16, [3, 5]), (31, [4, 1])]
    assert counts(result) == {"started": 9, "finished": 6, "trained": 6, "in_flight": 3}
    assert result["episodes"]["attempts"] == 11
    assert worker_seconds(result) == {"generating": 47, "waiting": 61, "wasted": 11}
    assert result["staleness"]["histogram"] == [6]


def test_a_finish_at_the_close_is_unfinished() -> None:
    # B 1, N 2: e0 and e1 are both due at 4; e0's timer was set first.
    result = run(
        {"kind": "synchronous", "oversample": 2, "unfinished": "resume"},
        [4, 4, 9],
        batch=1,
        update=1,
        until=5,
    )
    # e1 resumes at 5 and finishes at 5.
    assert result["trained"] == [(4, [0]), (5, [1])]
    assert counts(result) == {"started": 3, "finished": 2, "trained": 2, "paused": 1}


def test_synchronous_groups_resume() -> None:
    # G 2, B 2, N 2 groups (oversample 2), W 3: 0-2 w0 e0, 0-9 w1 e1, 0-3 w2 e2, 2-4 w0 e3: group 1 closes
    # at 4; e1 paused with 5. Update 4-5. At 5: w0 e1 5-10, w1 e4 5-6, w2 e5 5-7: group 2 closes at 7, e1
    # paused with 3.
    result = run(
        {"kind": "synchronous", "oversample": 2, "unfinished": "resume"},
        [2, 9, 3, 2, 1, 2],
        workers=3,
        update=1,
        until=7,
        rollout={"group_size": 2},
    )
    assert result["trained"] == [(4, [2, 3]), (7, [4, 5])]
    assert counts(result) == {"started": 6, "finished": 5, "trained": 4, "queued": 1, "paused": 1}
    assert result["groups"] == {
        "completed": 2,
        "lost": 0,
        "sibling_wait_mean": 2 / 4,
        "completion_p50": 2,
        "completion_p95": 4,
    }


def test_synchronous_groups_abort() -> None:
    # As above until 4: e1 aborted, e0 dropped; then 5-6 w0 e4, 5- w1 e5, 5- w2 e6 (8), 6- w0 e7 (8)
    result = run(
        {"kind": "synchronous", "oversample": 2, "unfinished": "abort"},
        [2, 9, 3, 2, 1, 2, 8, 8],
        workers=3,
        update=1,
        until=6,
        rollout={"group_size": 2},
    )
    assert counts(result) == {
        "started": 8,
        "finished": 4,
        "trained": 2,
        "dropped": 1,
        "aborted": 1,
        "queued": 1,
        "in_flight": 3,
    }
    assert worker_seconds(result) == {"generating": 14, "waiting": 4, "wasted": 6}
    assert result["groups"]["lost"] == 1


def test_one_step_off() -> None:
    # 0-4 e0, 0-10 e1; update 10-16 v0 with 10-13 e2, 10-15 e3; update 16-22 v1 with 16-18 e4, 16-25 e5;
    # update 25- v2 with e6 e7.
    result = run("one_step_off", HAND)
    assert result["trained"] == [(10, [0, 1]), (16, [2, 3]), (25, [4, 5])]
    assert (result["updates"], result["publications"]) == (2, 2)
    assert result["staleness"]["histogram"] == [2, 4]
    assert worker_seconds(result) == {"generating": 43, "waiting": 17}
    assert trainer_seconds(result) == {"updating": 17, "waiting": 13}


def test_one_step_off_push() -> None:
    # Push 16-17; update 17-23 with 17-19 e4, 17-26 e5; push 26-27; update 27-
    result = run("one_step_off", HAND, trainer={"weight_sync_seconds": 1})
    assert result["trained"] == [(10, [0, 1]), (17, [2, 3]), (27, [4, 5])]
    assert result["updates"] == 2
    assert trainer_seconds(result) == {"updating": 15, "pushing": 2, "waiting": 13}


def test_one_step_off_publish_every_second_update() -> None:
    # No push after update 10-16; publication after update 16-22, when e5 ended at 25.
    result = run("one_step_off", HAND, trainer={"publish_every": 2})
    assert result["trained"] == [(10, [0, 1]), (16, [2, 3]), (25, [4, 5])]
    assert (result["updates"], result["publications"]) == (2, 1)
    assert result["staleness"]["histogram"] == [4, 2]


def test_gate_of_zero_is_synchronous() -> None:
    gate = run({"kind": "asynchronous", "max_staleness": 0}, HAND)
    rounds = run("synchronous", HAND)
    for result in (gate, rounds):
        seconds = result["workers"]["seconds"]
        seconds["idle"] = seconds.pop("gated") + seconds.pop("waiting")
    assert gate == rounds


def test_gate_of_a_half() -> None:
    # 3 may be out under v0, 5 under v1, 7 under v2. 0-4 w0 e0, 0-10 w1 e1, 4-7 w0 e2, then w0 gated;
    # update 7-13; w1 gated from 10. At 13: 13-18 w0 e3, 13-15 w1 e4; update 15-21; at 21 w1 (gated since
    # 15) e5, then w0 e6.
    result = run({"kind": "asynchronous", "max_staleness": 0.5}, HAND, until=24)
    assert result["trained"] == [(7, [0, 2]), (15, [1, 4])]
    assert result["starts"][3:] == [(13, 3, 0), (13, 4, 1), (21, 5, 1), (21, 6, 0)]
    assert worker_seconds(result) == {"generating": 30, "gated": 18}
    assert result["staleness"]["histogram"] == [3, 1]


def test_gate_counts_publications() -> None:
    # publish_every 2: B means 4. W 2, B 2, all of 1 s: e0..e3 at 0 and 1, gated from 2; updates 1-2, 2-3:
    # v1 at 3.
    result = run(
        {"kind": "asynchronous", "max_staleness": 0}, [1], update=1, until=3, trainer={"publish_every": 2}
    )
    assert [start[0] for start in result["starts"]] == [0, 0, 1, 1, 3, 3]
    assert (result["updates"], result["publications"]) == (2, 1)
    assert result["staleness"]["histogram"] == [4]


def test_gate_is_served_when_a_crash_frees_a_place() -> None:
    # W 3, B 2, η 0: e0 e1 start, w2 gated. At 1 w0 crashes: w2 takes e2 (3): 1-4. At 10 e1 ends: update
    # 10-.
    result = run(
        {"kind": "asynchronous", "max_staleness": 0},
        HAND,
        workers=3,
        until=12,
        events=[{"at": 1, "crash": {"workers": 1, "restart_seconds": 4}}],
    )
    assert result["starts"] == [(0, 0, 0), (0, 1, 1), (1, 2, 2)]
    assert result["trained"] == [(10, [2, 1])]
    # gated: w2 0-1, 4-12, w0 5-12, w1 10-12
    assert worker_seconds(result) == {"generating": 14, "gated": 18, "down": 4, "wasted": 1}
    assert counts(result) == {"started": 3, "finished": 2, "trained": 2, "failed": 1}


def test_drop() -> None:
    # As asynchronous until 19, v2: e4 dropped at 19, e6 at 20, e5 at 21. 20-27 w1 e7, 21- w0 e8, 27-28 w1
    # e9, update 28- (e7 e9), 28- w1 e10.
    result = run({"kind": "asynchronous", "max_staleness": 1, "enforce": "drop"}, HAND)
    assert result["trained"] == [(7, [0, 2]), (13, [1, 3]), (28, [7, 9])]
    assert counts(result) == {"started": 11, "finished": 9, "trained": 6, "dropped": 3, "in_flight": 2}
    assert worker_seconds(result) == {"generating": 60, "wasted": 19}
    assert result["workers"]["goodput"] == 41 / 60
    assert result["staleness"]["histogram"] == [4, 2]
    assert result["episode_seconds"]["length_bias"] == 5 / (75 / 11)


def test_cancel() -> None:
    # As asynchronous until 13, v1: e5 e6 aborted after 1 s, 13-20 w0 e7, 13- w1 e8; e1 e3 e4 dropped.
    # 20-21 w0 e9; update 21-27 (e7 e9); 21-27 w0 e10, which ends before the update does: e11 starts under
    # v1. 27, v2: e11 (0 s) and e8 (14 s) aborted, w0 e12, w1 e13; e10 dropped.
    result = run({"kind": "asynchronous", "max_staleness": 0, "enforce": "cancel"}, HAND, until=28)
    assert result["trained"] == [(7, [0, 2]), (21, [7, 9])]
    assert result["starts"][-3:] == [(27, 11, 0), (27, 12, 0), (27, 13, 1)]
    assert counts(result) == {
        "started": 14,
        "finished": 8,
        "trained": 4,
        "dropped": 4,
        "aborted": 4,
        "in_flight": 2,
    }
    assert worker_seconds(result) == {"generating": 56, "wasted": 39}
    assert result["staleness"]["histogram"] == [4]


def test_in_flight() -> None:
    # 0-2 e0, update 2-5; e1 2-5 v0, overhead 5-7, 7-14 v1; update 14-17; 14-16 e2; e3 16-17 v1, overhead
    # 17-19, 19-20 v2; update 17-20 (e2), v3 at 20.
    result = run(
        {"kind": "asynchronous", "weights": "in_flight", "refresh_overhead": 2},
        [2, 10],
        workers=1,
        batch=1,
        update=3,
        until=20,
    )
    assert result["trained"] == [(2, [0]), (14, [1]), (17, [2])]
    assert worker_seconds(result) == {"generating": 16, "overhead": 4}
    assert result["staleness"]["histogram"] == [1, 2]
    assert result["staleness"]["in_flight_mean"] == 1 / 3
    # newest 0 0 1, span 0 1 0, weighted 0 0.3 1
    assert result["versions"] == {
        "span_mean": 1 / 3,
        "span_max": 1,
        "newest_mean": 1 / 3,
        "weighted_mean": 1.3 / 3,
    }


def test_refresh_overheads_add() -> None:
    # W 2, B 1, overhead 4: 0-1 w0 e0; 0-1 w1 e1 of 9 s. Update 1-3 (e0), 3-5 (e2: 1-2), so w1 is
    # refreshed at 3 and 5: overhead 3-11, generating 0-3 and 11-17. w0: 1-2 e2, e3 (30) from 2.
    result = run(
        {"kind": "asynchronous", "weights": "in_flight", "refresh_overhead": 4},
        [1, 9, 1, 30],
        batch=1,
        update=2,
        until=17,
    )
    assert result["trained"] == [(1, [0]), (3, [2]), (17, [1])]
    assert worker_seconds(result) == {"generating": 18, "overhead": 16}


def test_pause() -> None:
    # 0-4 w0 e0, 0-10 w1 e1, 4-7 w0 e2; update 7-10. At 10 e1 ends before the update, w1 takes e4. Push
    # 10-12: w0 e3 7-10 12-14, w1 e4 12-14. 14- w0 e5, 14- w1 e6; update 14-17 (e1 e3), push 17-19.
    result = run(
        {"kind": "asynchronous", "weight_sync": "pause"},
        HAND,
        update=3,
        until=20,
        trainer={"weight_sync_seconds": 2},
    )
    assert result["trained"] == [(7, [0, 2]), (14, [1, 3])]
    assert worker_seconds(result) == {"generating": 32, "frozen": 8}
    assert trainer_seconds(result) == {"updating": 6, "pushing": 4, "waiting": 10}
    assert result["updates"] == 2
    assert result["staleness"]["histogram"] == [2, 2]


def test_pause_and_a_stall_in_the_push() -> None:
    # As above, but at 11 the trainer stalls for 3: push until 15, frozen 10-15, e3 and e4 end at 17;
    # update 17-.
    result = run(
        {"kind": "asynchronous", "weight_sync": "pause"},
        HAND,
        update=3,
        until=18,
        trainer={"weight_sync_seconds": 2},
        events=[{"at": 11, "stall_trainer": {"for": 3}}],
    )
    assert result["trained"] == [(7, [0, 2]), (17, [1, 3])]
    assert worker_seconds(result) == {"generating": 26, "frozen": 10}
    assert trainer_seconds(result) == {"updating": 4, "pushing": 2, "stalled": 3, "waiting": 9}


def test_background_push() -> None:
    # 0-4 w0 e0, 0-10 w1 e1, 4-7 w0 e2; update 7-10, push 10-12; e3 (7-12) ends before the publication.
    result = run("asynchronous", HAND, update=3, until=12, trainer={"weight_sync_seconds": 2})
    # e1's timer was set before the update's, so e4's (10-12) was set before the push's: it ends before,
    # too.
    assert result["starts"][-2:] == [(12, 5, 0), (12, 6, 1)]
    assert result["trained"] == [(7, [0, 2]), (12, [1, 3])]
    assert result["staleness"]["in_queue_mean"] == 0.5


def test_queue_capacity() -> None:
    # e0 at 1, e1 at 2: update 2-22; 1-6 w0 e3, 2-4 w1 e4, 3-13 w2 e5, 4-5 w1 e6. The queue: e2 at 3, e4
    # at 4. Holding: w1 e6 from 5, w0 e3 from 6, w2 e5 from 13. At 22 e6 and e3 enter, w1 takes e7, w0 e8.
    result = run(
        "asynchronous",
        [1, 2, 3, 5, 2, 10, 1, 3, 4],
        workers=3,
        update=20,
        until=24,
        rollout={"queue_capacity": 2},
    )
    assert result["trained"] == [(2, [0, 1]), (22, [2, 4])]
    assert result["starts"][-2:] == [(22, 7, 1), (22, 8, 0)]
    assert counts(result) == {"started": 9, "finished": 7, "trained": 4, "queued": 3, "in_flight": 2}
    assert worker_seconds(result) == {"generating": 28, "blocked": 44}
    assert result["queue"] == {"mean": 42 / 24, "max": 2, "wait_mean": 38 / 4}
    assert (result["first_update_seconds"], result["trainer"]["longest_wait_seconds"]) == (22, 2)
    assert result["pool_seconds"] == 0


def test_a_held_episode_survives_its_worker() -> None:
    # As above, but w1 leaves at 7 and w0 is down 8-30: e6 and e3 enter at 22 and nobody takes a next.
    result = run(
        "asynchronous",
        [1, 2, 3, 5, 2, 10, 1, 3, 4],
        workers=3,
        update=20,
        until=24,
        rollout={"queue_capacity": 2},
        events=[
            {"at": 7, "remove_workers": {"ids": [1]}},
            {"at": 8, "crash": {"workers": [0], "restart_seconds": 22}},
        ],
    )
    assert counts(result) == {"started": 7, "finished": 7, "trained": 4, "queued": 3}
    # blocked: w1 5-7, w0 6-8, w2 13-24
    assert worker_seconds(result) == {"generating": 24, "blocked": 15, "down": 16}
    assert result["queue"]["mean"] == 42 / 24


def test_groups() -> None:
    # 0-2 w0 e0, 0-8 w1 e1 | 0-3 w2 e2, 2-4 w0 e3 | 3-8 w2 e4, 4-7 w0 e5 | 7- w0 e6, 8- w1 e7 | 8- w2 e8.
    # Update 4-8 (e2 e3), 8-12 (e0 e1), 12- (e5 e4).
    result = run(
        "asynchronous",
        [2, 8, 3, 2, 5, 3, 6, 6, 7],
        workers=3,
        update=4,
        until=12,
        rollout={"group_size": 2},
    )
    assert result["trained"] == [(4, [2, 3]), (8, [0, 1]), (12, [5, 4])]
    assert result["staleness"]["histogram"] == [2, 2, 2]
    assert result["groups"] == {
        "completed": 3,
        "lost": 0,
        "sibling_wait_mean": 8 / 6,
        "completion_p50": 5,
        "completion_p95": 8,
    }


def test_group_redundancy() -> None:
    # e0 e1 e2 | e3 e4 e5 | ...: 0-2 w0 e0, 0-3 w1 e1 aborted, 0-3 w2 e2; 2-7 w0 e3, 3-7 w1 e4 aborted,
    # 3-4 w2 e5.
    result = run(
        "asynchronous",
        [2, 8, 3, 5, 4, 1, 9, 9, 9],
        workers=3,
        update=1,
        until=7,
        rollout={"group_size": 2, "group_redundancy": 1},
    )
    assert result["starts"][3:] == [(2, 3, 0), (3, 4, 1), (3, 5, 2), (4, 6, 2), (7, 7, 0), (7, 8, 1)]
    assert result["trained"] == [(3, [0, 2]), (7, [5, 3])]
    assert counts(result) == {"started": 9, "finished": 4, "trained": 4, "aborted": 2, "in_flight": 3}
    assert worker_seconds(result) == {"generating": 21, "wasted": 7}


def test_a_group_is_lost_with_a_member() -> None:
    # G 3, W 2, B 3: 0-2 w0 e0, 0-4 w1 e1, 2-4 w0 e2. w1 crashes at 4: e0 dropped, e2 aborted, w0 takes e3
    # of group 1.
    result = run(
        "asynchronous",
        [2, 9, 9, 1, 1, 1, 9],
        batch=3,
        until=8,
        rollout={"group_size": 3},
        events=[{"at": 4, "crash": {"workers": [1], "restart_seconds": 9}}],
    )
    assert result["trained"] == [(7, [3, 4, 5])]
    assert counts(result) == {
        "started": 7,
        "finished": 4,
        "trained": 3,
        "dropped": 1,
        "aborted": 1,
        "failed": 1,
        "in_flight": 1,
    }
    assert worker_seconds(result) == {"generating": 12, "down": 4, "wasted": 8}
    assert result["groups"]["lost"] == 1


def test_a_lost_group_leaves_its_numbers() -> None:
    # G 4 with one worker: e0 0-2, e1 from 2; at 3 w0 crashes, up at 3.5: the next start is e2, first of
    # group 1.
    result = run(
        "asynchronous",
        [2, 9, 4],
        workers=1,
        batch=4,
        until=4,
        rollout={"group_size": 4},
        events=[{"at": 3, "crash": {"workers": 1, "restart_seconds": 0.5}}],
    )
    assert result["starts"] == [(0, 0, 0), (2, 1, 0), (3.5, 2, 0)]
    assert result["groups"] == {
        "completed": 0,
        "lost": 1,
        "sibling_wait_mean": None,
        "completion_p50": None,
        "completion_p95": None,
    }


def test_cancel_loses_incomplete_groups() -> None:
    # G 2, W 3, η 0: 0-1 w0 e0, 0- w1 e1 (30) | 0-2 w2 e2, 1-3 w0 e3 | 2- w2 e4 (30), 3-4 w0 e5 | 4- w0 e6
    # (30). Update 3-5 (e2 e3). At 5, v1: groups 0, 2 and 3 are lost: e1 e4 e6 aborted after 5, 3 and 1,
    # e0 e5 dropped. Then w0 e7, w1 e8, w2 e9.
    result = run(
        {"kind": "asynchronous", "max_staleness": 0, "enforce": "cancel"},
        [1, 30, 2, 2, 30, 1, 30, 9, 9, 9],
        workers=3,
        update=2,
        until=5,
        rollout={"group_size": 2},
    )
    assert result["starts"][-3:] == [(5, 7, 0), (5, 8, 1), (5, 9, 2)]
    assert counts(result) == {
        "started": 10,
        "finished": 4,
        "trained": 2,
        "dropped": 2,
        "aborted": 3,
        "in_flight": 3,
    }
    assert worker_seconds(result) == {"generating": 15, "wasted": 11}
    assert result["groups"]["lost"] == 3
    assert result["queue"]["mean"] == (4 + 1 + 1) / 5


def test_gate_admits_whole_groups() -> None:
    # G 2, B 2, η 0.5: 3 may be out, so only one group. W 3: w2 gated. e0 0-4, w0 gated from 4, e1 0-10,
    # update 10-16.
    result = run(
        {"kind": "asynchronous", "max_staleness": 0.5}, HAND, workers=3, rollout={"group_size": 2}, until=16
    )
    assert result["starts"] == [(0, 0, 0), (0, 1, 1), (16, 2, 2), (16, 3, 0)]


def test_environment() -> None:
    # One sandbox, reset 2, timeout 8, one retry. w0 e0: reset 0-2, 2-5. w1 e1 (7): blocked 0-5, reset
    # 5-7, 7-13 timed out, reset 13-15, 15-21 timed out: failed. w0 e2 (4): blocked 5-21, reset 21-23,
    # 23-27. w1 e3: blocked 21-27, reset 27-; w0 e4 blocked 27-. Updates 5-6, 27-28.
    result = run(
        "asynchronous",
        [3, 7, 4, 1, 1],
        batch=1,
        update=1,
        until=28,
        environment={"sandboxes": 1, "reset_seconds": 2, "timeout_seconds": 8, "retries": 1},
    )
    assert result["trained"] == [(5, [0]), (27, [2])]
    assert counts(result) == {"started": 5, "finished": 2, "trained": 2, "failed": 1, "in_flight": 2}
    assert result["episodes"]["attempts"] == 5
    assert worker_seconds(result) == {"generating": 19, "overhead": 9, "blocked": 28, "wasted": 12}
    assert result["pool_seconds"] == 28
    assert result["staleness"]["histogram"] == [1, 1]
    assert result["staleness"]["in_flight_mean"] == 0.5
    assert result["updates"] == 2


def test_failed_attempts() -> None:
    # W 1, B 1, attempts 0, 1 and 3 of the worker fail, one retry; the n-th reset takes n quarters of a
    # second. e0 0-3 and (reset 3-3.25) 3.25-6.25: failed; e1 (reset to 6.75) 6.75-8.75; e2 (reset to 9.5)
    # 9.5-13.5 and (reset to 14.5) 14.5-18.5; e3 reset 18.5-19.75.
    result = run(
        "asynchronous",
        [3, 2, 4, 50],
        workers=1,
        batch=1,
        update=1,
        until=20,
        environment={"retries": 1},
        failures=lambda worker, nth: worker == 0 and nth in (0, 1, 3),
        resets=lambda _, nth: nth * 0.25,
    )
    assert result["trained"] == [(8.75, [1]), (18.5, [2])]
    assert worker_seconds(result) == {"generating": 16.25, "overhead": 3.75, "wasted": 10}
    assert counts(result) == {"started": 4, "finished": 2, "trained": 2, "failed": 1, "in_flight": 1}
    assert result["episodes"]["attempts"] == 6


def test_finishing_at_the_timeout_is_finishing() -> None:
    environment = {"timeout_seconds": 5, "reset_seconds": 1}
    result = run("asynchronous", [4, 4.5], workers=1, batch=1, until=11, environment=environment)
    assert counts(result) == {"started": 3, "finished": 1, "trained": 1, "failed": 1, "in_flight": 1}


def test_a_failed_episode_is_replaced() -> None:
    # Synchronous, W 2, B 2: e1 crashes at 5; w0, waiting since 4, takes e2 5-8. w1 is up at 8. Update
    # 8-10.
    result = run(
        "synchronous",
        HAND,
        update=2,
        until=10,
        events=[{"at": 5, "crash": {"workers": [1], "restart_seconds": 3}}],
    )
    assert result["trained"] == [(8, [0, 2])]
    assert result["starts"][2:] == [(5, 2, 0), (10, 3, 0), (10, 4, 1)]
    assert worker_seconds(result) == {"generating": 12, "waiting": 5, "down": 3, "wasted": 5}


def test_straggler() -> None:
    # e0 of 4 has factor 3 at 1: due 4 + 8 = 12. e1 of 2 has factor 2 in advance: 12-16.
    entries = [
        {"at": 1, "straggler": {"worker": 0, "factor": 3}},
        {"at": 1, "straggler": {"episode": 1, "factor": 2}},
        {"at": 13, "straggler": {"episode": 0, "factor": 9}},
    ]
    result = run("asynchronous", [4, 2, 9], workers=1, batch=1, update=1, until=16, events=entries)
    assert result["trained"] == [(12, [0]), (16, [1])]
    assert result["episode_seconds"]["trained_mean"] == 3


def test_straggler_paused() -> None:
    # As resume: e1 is paused at 6 with 4 left; factor 2 at 7 adds 10: overhead 11-13, 13-27.
    result = run(
        {**OVER, "unfinished": "resume", "resume_overhead": 2},
        [4, 10, 6, 3, 40, 50],
        workers=3,
        update=5,
        until=28,
        events=[{"at": 7, "straggler": {"episode": 1, "factor": 2}}],
    )
    assert result["trained"] == [(6, [0, 2]), (27, [3, 1])]


def test_slow() -> None:
    # e0 of 10 at half speed from 2 to 8: due 2 + 16 = 18, then 8 + 10 / 2 = 13.
    # w1 in its reset (0-3) at 2: e1 of 4, due 3 + 8 = 11; at 8 due 8 + 3 / 2 = 9.5.
    result = run(
        "asynchronous",
        [10, 4, 50, 50],
        batch=1,
        update=1,
        until=14,
        resets=lambda worker, nth: 3 if worker == 1 and nth == 0 else 0,
        events=[{"at": 2, "slow": {"workers": 2, "factor": 2, "for": 6}}],
    )
    assert result["trained"] == [(9.5, [1]), (13, [0])]


def test_slow_worker_starts_slowly() -> None:
    # Slow from 0 for 3: e0 of 2 takes 4 but for the end of it at 3: 3 + 1 / 2.
    result = run(
        "asynchronous",
        [2, 5],
        workers=1,
        batch=1,
        update=1,
        until=4,
        events=[{"at": 0, "slow": {"workers": [0], "factor": 2, "for": 3}}],
    )
    assert result["trained"] == [(3.5, [0])]


def test_stall() -> None:
    # W 1, B 1, all of 4 s, update 3. Update 4-7 stalls at 5 for 2: it ends at 9, then e1, 9-12, then e2,
    # 12-.
    result = run(
        "asynchronous",
        [4],
        workers=1,
        batch=1,
        update=3,
        until=13,
        events=[{"at": 5, "stall_trainer": {"for": 2}}],
    )
    assert result["trained"] == [(4, [0]), (9, [1]), (12, [2])]
    assert trainer_seconds(result) == {"updating": 7, "waiting": 4, "stalled": 2}


def test_stall_while_waiting() -> None:
    # The trainer stalls from 1 to 6: e0, there at 4, is taken at 6.
    result = run(
        "asynchronous",
        [4],
        workers=1,
        batch=1,
        update=3,
        until=7,
        events=[{"at": 1, "stall_trainer": {"for": 5}}],
    )
    assert result["trained"] == [(6, [0])]
    assert trainer_seconds(result) == {"updating": 1, "waiting": 1, "stalled": 5}


def test_joins_and_leaves() -> None:
    # 0-4 w0 e0; w1 (speed 2) joins at 2: 2-7 e1 (10 s of work); 4-6 w0 e2, aborted when w0 leaves; 7-9.5
    # w1 e3 (5 s of work), 9.5- w1 e4.
    result = run(
        "asynchronous",
        HAND,
        workers=1,
        batch=1,
        update=1,
        until=10,
        speeds=lambda w: w + 1,
        events=[{"at": 2, "add_workers": {"count": 1}}, {"at": 6, "remove_workers": {"count": 1}}],
    )
    assert result["starts"] == [(0, 0, 0), (2, 1, 1), (4, 2, 0), (7, 3, 1), (9.5, 4, 1)]
    assert counts(result) == {"started": 5, "finished": 3, "trained": 3, "aborted": 1, "in_flight": 1}
    assert result["service_seconds"] == 14
    assert worker_seconds(result) == {"generating": 14, "wasted": 2}
    assert result["workers"]["goodput"] == 12 / 14


def test_entries_at_zero_come_before_the_first_start() -> None:
    result = run(
        "asynchronous",
        HAND,
        until=3,
        events=[
            {"at": 0, "crash": {"workers": 1, "restart_seconds": 1}},
            {"at": 0, "straggler": {"episode": 0, "factor": 2}},
        ],
    )
    assert result["starts"] == [(0, 0, 1), (1, 1, 0)]
    assert worker_seconds(result) == {"generating": 5, "down": 1}


def test_members_never_started_are_carried() -> None:
    # G 2, B 2, N 2 groups, W 2: 0-5 w0 e0, 0-1 w1 e1 | 1-5 w1 e2, paused with 2 left, e3 not begun.
    # Update 5-6. 6-8 w0 e2, 6-9 w1 e3, then the one new group: 8- w0 e4.
    result = run(
        {"kind": "synchronous", "oversample": 2, "unfinished": "resume"},
        [5, 1, 6, 3, 4],
        update=1,
        until=9,
        rollout={"group_size": 2},
    )
    assert result["trained"] == [(5, [1, 0]), (9, [2, 3])]
    assert result["starts"] == [(0, 0, 0), (0, 1, 1), (1, 2, 1), (6, 3, 1), (8, 4, 0)]
    assert result["staleness"]["histogram"] == [3, 1]


def test_a_paused_sibling_is_lost_with_its_sandbox() -> None:
    # G 2, B 2, N 2 groups, W 4: e2 e3 end at 1, e0 (9 left) and e1 (11 left) are paused. Three leave at
    # 1.5. 2-3 w0 e0, crashed: e1 is aborted. Three join at 3.5 and find sandboxes: 3.5-5.5 e4, 3.5-6.5
    # e5, e6; 4- w0 e7.
    result = run(
        {"kind": "synchronous", "oversample": 2, "unfinished": "resume"},
        [10, 12, 1, 1, 2, 3, 50, 50],
        workers=4,
        update=1,
        until=7,
        rollout={"group_size": 2},
        environment={"sandboxes": 4},
        events=[
            {"at": 1.5, "remove_workers": {"ids": [1, 2, 3]}},
            {"at": 3, "crash": {"workers": 1, "restart_seconds": 1}},
            {"at": 3.5, "add_workers": {"count": 3}},
        ],
    )
    assert result["trained"] == [(1, [2, 3]), (6.5, [4, 5])]
    assert result["starts"][4:] == [(3.5, 4, 4), (3.5, 5, 5), (3.5, 6, 6), (4, 7, 0)]
    assert counts(result) == {
        "started": 8,
        "finished": 4,
        "trained": 4,
        "failed": 1,
        "aborted": 1,
        "paused": 2,
    }
    assert result["workers"]["seconds"]["wasted"] == 3
    assert result["workers"]["seconds"]["blocked"] == 0


def test_a_held_member_of_a_lost_group_is_dropped() -> None:
    # W 4, G 2, capacity 2: 0-1 w0 e0, 0- w1 e1 | 0-2 w2 e2, 0- w3 e3 | 1-4 w0 e4, 2-3 w2 e5, held. w0
    # crashes at 4: e5 is dropped, w2 takes e6; w0 takes e7 at 6.
    result = run(
        "asynchronous",
        [1, 20, 2, 30, 30, 1, 9, 9],
        workers=4,
        until=8,
        rollout={"group_size": 2, "queue_capacity": 2},
        events=[{"at": 4, "crash": {"workers": [0], "restart_seconds": 2}}],
    )
    assert result["starts"][-2:] == [(4, 6, 2), (6, 7, 0)]
    assert counts(result) == {
        "started": 8,
        "finished": 3,
        "dropped": 1,
        "failed": 1,
        "queued": 2,
        "in_flight": 4,
    }
    assert worker_seconds(result) == {"generating": 29, "blocked": 1, "down": 2, "wasted": 4}


def test_a_start_waits_for_the_end_of_a_freeze() -> None:
    # As pause, but w0 crashes in the push and is up at 11: frozen until 12, then e5. 12-14 w1 e4.
    result = run(
        {"kind": "asynchronous", "weight_sync": "pause"},
        HAND,
        update=3,
        until=14,
        trainer={"weight_sync_seconds": 2},
        events=[{"at": 10.5, "crash": {"workers": [0], "restart_seconds": 0.5}}],
    )
    assert result["trained"] == [(7, [0, 2]), (14, [1, 4])]
    assert result["starts"][-2:] == [(12, 5, 0), (14, 6, 1)]
    assert worker_seconds(result) == {"generating": 24, "frozen": 3.5, "down": 0.5, "wasted": 3}


def test_a_crash_while_waiting_for_a_sandbox() -> None:
    # 0-5 w0 e0; w1 waits with e1 until it crashes at 2, and from 3 with e2, which begins at 5; w0 waits
    # with e3.
    result = run(
        "asynchronous",
        [5],
        batch=1,
        until=5,
        environment={"sandboxes": 1},
        events=[{"at": 2, "crash": {"workers": [1], "restart_seconds": 1}}],
    )
    assert counts(result) == {"started": 4, "finished": 1, "trained": 1, "failed": 1, "in_flight": 2}
    assert result["episodes"]["attempts"] == 2
    assert worker_seconds(result) == {"generating": 5, "blocked": 4, "down": 1}


def test_deadlock() -> None:
    with pytest.raises(reference.Deadlock) as caught:
        run("asynchronous", HAND, events=[{"at": 2, "remove_workers": {"count": 2}}])
    assert caught.value.t == 2
    with pytest.raises(reference.Deadlock) as caught:
        run("asynchronous", HAND, batch=3, rollout={"queue_capacity": 2})
    assert caught.value.t == 12  # e0, e2 in the queue; w1 holds e1 from 10, w0 e3 from 12


def test_loop() -> None:
    with pytest.raises(reference.Loop) as caught:
        run("asynchronous", [3, *[0] * 20_000], workers=1, batch=1)
    assert caught.value.t == 3


def test_zero_durations_may_end() -> None:
    result = run("synchronous", [0], batch=2, update=1, until=3)
    assert result["updates"] == 3
    assert result["trained"][-1] == (3, [6, 7])


@pytest.mark.parametrize(
    ("kind", "sigma", "updates", "tolerance", "staleness"),
    [
        ("synchronous", 1.0, 14.2, 1.2, 0.0),  # the deviation of one hour is 1.8
        ("synchronous", 0.3, 64.0, 0.7, 0.0),
        ("asynchronous", 1.0, 108.2, 2.0, 1.43),  # and here 1.6
        ("asynchronous", 0.3, 170.4, 0.6, 1.69),
    ],
)
def test_reference_hour(kind: str, sigma: float, updates: float, tolerance: float, staleness: float) -> None:
    seeds = 20 if kind == "synchronous" and sigma == 1.0 else 5
    results = []
    for seed in range(seeds):
        draw = random.Random(seed)
        durations = [draw.lognormvariate(log(20), sigma) for _ in range(int(updates + 5) * 64)]
        results.append(run(kind, durations, workers=64, batch=64, update=15, until=3600))

    def mean(value: Callable[[dict[str, Any]], float]) -> float:
        return fsum(map(value, results)) / seeds

    assert mean(lambda r: r["updates"]) == pytest.approx(updates, abs=tolerance)
    assert mean(lambda r: r["staleness"]["mean"]) == pytest.approx(staleness, abs=0.04)
    if sigma == 1.0:
        busy = 0.14 if kind == "synchronous" else 1.0
        assert mean(lambda r: r["workers"]["utilisation"]) == pytest.approx(busy, abs=0.006)
    if kind == "asynchronous" and sigma == 1.0:
        assert mean(lambda r: r["staleness"]["in_flight_mean"]) == pytest.approx(0.98, abs=0.01)
        assert mean(lambda r: r["staleness"]["in_queue_mean"]) == pytest.approx(0.45, abs=0.02)


def some_strategy(draw: random.Random) -> dict[str, Any]:
    kind = draw.choice(["synchronous", "one_step_off", "asynchronous", "asynchronous"])
    strategy: dict[str, Any] = {"kind": kind}
    if kind == "synchronous":
        strategy["unfinished"] = draw.choice(["wait", "abort", "resume", "defer"])
        strategy["oversample"] = 1 if strategy["unfinished"] == "wait" else draw.choice([1.1, 1.5, 2])
        strategy["resume_overhead"] = draw.choice([0, 1.7])
    elif kind == "asynchronous":
        if draw.random() < 0.8:
            strategy["max_staleness"] = draw.choice([0, 0.5, 1, 2])
            strategy["enforce"] = draw.choice(["gate", "drop", "cancel"])
        strategy["weights"] = draw.choice(["next_episode", "in_flight"])
        strategy["refresh_overhead"] = draw.choice([0, 1.3])
        strategy["weight_sync"] = draw.choice(["background", "pause"])
    return strategy


def some_events(draw: random.Random, workers: int) -> list[dict[str, Any]]:
    actions: list[Callable[[], dict[str, Any]]] = [
        lambda: {"straggler": {"episode": draw.randrange(60), "factor": 4}},
        lambda: {"straggler": {"worker": draw.randrange(workers), "factor": 3}},
        lambda: {"slow": {"workers": draw.randrange(1, workers + 1), "factor": 3, "for": 37}},
        lambda: {
            "crash": {"workers": [draw.randrange(workers), 0], "restart_seconds": draw.choice([0, 23.5])}
        },
        lambda: {"stall_trainer": {"for": 11.5}},
        lambda: {"add_workers": {"count": 2}},
        lambda: {"remove_workers": {"count": 1}},
    ]
    return [
        {"at": draw.choice([0, 50, 77.7, draw.uniform(0, 400)]), **draw.choice(actions)()} for _ in range(6)
    ]


@pytest.mark.parametrize("seed", range(120))
def test_accounts_balance(seed: int) -> None:
    """With everything at once, and many finishes at one instant in every second case."""
    draw = random.Random(seed)
    workers, size = draw.randint(2, 9), draw.choice([1, 1, 2, 3])
    batch = size * draw.randint(1, 3)
    durations = [draw.randint(0, 20) if seed % 2 else draw.lognormvariate(2.3, 1) for _ in range(997)]
    rollout: dict[str, Any] = {"group_size": size, "group_redundancy": draw.choice([0, 0, 1])}
    if draw.random() < 0.3:
        rollout["queue_capacity"] = batch * draw.randint(1, 2) + workers * (size > 1)
    chance = draw.choice([0, 0.2])
    try:
        result = run(
            some_strategy(draw),
            durations,
            workers=workers,
            batch=batch,
            update=draw.choice([0.5, 6, 15.1]),
            until=500,
            rollout=rollout,
            trainer={"weight_sync_seconds": draw.choice([0, 2.5]), "publish_every": draw.choice([1, 1, 2])},
            environment=draw.choice(
                [None, {"sandboxes": draw.randint(1, workers), "retries": 1, "timeout_seconds": 41}]
            ),
            events=some_events(draw, workers) if seed % 3 else [],
            speeds=lambda w: 1 + 0.1 * (w % 3),
            resets=lambda w, n: (w + n) % 3,
            failures=lambda w, n: random.Random(w * 1000 + n).random() < chance,
        )
    except reference.Deadlock:
        return
    episodes, seconds = result["episodes"], result["workers"]["seconds"]
    out = ("finished", "aborted", "failed", "in_flight", "paused")
    assert episodes["started"] == sum(episodes[name] for name in out)
    assert episodes["finished"] == episodes["trained"] + episodes["dropped"] + episodes["queued"]
    total = fsum(n for name, n in seconds.items() if name != "wasted")
    assert total == pytest.approx(result["service_seconds"], abs=1e-9)
    assert min(seconds.values()) >= 0
    assert seconds["wasted"] <= seconds["generating"]
    assert fsum(result["trainer"]["seconds"].values()) == pytest.approx(500, abs=1e-9)
    assert sum(result["staleness"]["histogram"]) == episodes["trained"]
    assert sorted(k for _, k, _ in result["starts"]) == list(range(episodes["started"]))
    trained = [k for _, batch_of_it in result["trained"] for k in batch_of_it]
    assert len(set(trained)) == len(trained) == episodes["trained"]
