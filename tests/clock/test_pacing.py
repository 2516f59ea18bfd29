"""Emulated time on a fake wall clock: nothing here sleeps, and every time is exact."""

import asyncio
import gc
import math
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.clock import CATCH_UP, Alarm, EmulatedLoop, MonotonicWall, Phase, Speed, Timers
from tests.wall import FakeWall, emulated

SPEEDS: list[float] = [0.5, 1, 60, 3600, 36_000]


def run_until(loop: EmulatedLoop, when: float) -> None:
    """Run until an emulated time, with all that was due at it before."""
    loop.call_at(when, loop.call_when_settled, Phase.END, loop.stop)
    loop.run_forever()


def log_at(loop: EmulatedLoop, wall: FakeWall, *times: float) -> list[tuple[float, float]]:
    """Set a timer at each time; returns where they will tell (emulated time, wall time)."""
    log: list[tuple[float, float]] = []
    for when in times:
        loop.call_at(when, lambda: log.append((loop.time(), wall.now())))
    return log


def nearly(log: list[tuple[float, float]]) -> Any:
    """Exact in emulated time, and to a nanosecond on the wall."""
    return [(when, pytest.approx(seconds, abs=1e-9)) for when, seconds in log]


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    """A real pipe: the ends to read and to write."""
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


# -- time and order -------------------------------------------------------------------------------------


def test_time_starts_at_zero_whatever_the_wall_clock_says() -> None:
    with emulated(60, start=1e6) as (loop, _):
        assert loop.time() == 0.0


def test_time_stands_still_while_callbacks_run() -> None:
    with emulated(60) as (loop, wall):
        times = []

        def callback() -> None:
            wall.jam(5)
            times.append(loop.time())

        loop.call_at(7.3, callback)
        run_until(loop, 7.3)
        assert times == [7.3]


@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.1 + 0.2, 0.3, 1e-9, 7.25, 1e6]) | st.floats(0, 1e9), max_size=30)
)
def test_timers_run_in_the_order_of_their_due_times_and_then_of_setting_at_exactly_those_times(
    times: list[float],
) -> None:
    ran: list[tuple[float, int, float]] = []
    with emulated() as (loop, _):
        for number, when in enumerate(times):
            loop.call_at(when, lambda n, w: ran.append((w, n, loop.time())), number, when)
        run_until(loop, 1e9)
    assert ran == [
        (when, number, when) for when, number in sorted((when, number) for number, when in enumerate(times))
    ]


def test_hundreds_of_timers_at_one_instant_run_first_set_first() -> None:
    ran: list[int] = []
    with emulated() as (loop, _):
        for number in range(700):
            loop.call_at(5.0, ran.append, number)
        run_until(loop, 5.0)
    assert ran == list(range(700))


def test_timers_set_at_their_own_instant_run_after_all_that_were_set_before() -> None:
    ran: list[str] = []
    with emulated() as (loop, _):

        def first(name: str) -> None:
            ran.append(name)
            loop.call_later(0, ran.append, f"{name} child")

        for name in "abc":
            loop.call_at(5.0, first, name)
        run_until(loop, 5.0)
    assert ran == ["a", "b", "c", "a child", "b child", "c child"]


def test_sleepers_due_at_one_instant_wake_in_the_order_in_which_they_fell_asleep() -> None:
    woken: list[int] = []

    async def sleeper(number: int, first: float) -> None:
        await asyncio.sleep(first)
        await asyncio.sleep(10 - first)
        woken.append(number)

    async def main() -> None:
        await asyncio.gather(*(sleeper(n, first) for n, first in enumerate([4.0, 2.0, 3.0, 1.0])))

    with emulated() as (loop, _):
        loop.run_until_complete(main())
        assert loop.time() == 10.0
    assert woken == [3, 1, 2, 0]


def test_all_consequences_of_a_timer_come_before_the_next_timer_of_that_instant() -> None:
    log: list[str] = []

    async def waits_for(future: asyncio.Future[str], queue: asyncio.Queue[str]) -> None:
        name = await future
        log.append(f"{name} woken")
        for _ in range(5):
            await asyncio.sleep(0)
        log.append(f"{name} after five turns")
        await queue.put(name)

    async def takes(queue: asyncio.Queue[str]) -> None:
        while True:
            name = await queue.get()

            async def part(number: int, name: str = name) -> str:
                await asyncio.sleep(0)
                return f"{name}{number}"

            log.append(f"gathered {await asyncio.gather(part(1), part(2))}")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str] = asyncio.Queue(1)
        taker = loop.create_task(takes(queue))
        waiters = []
        for name in "ab":
            future = loop.create_future()
            waiters.append(loop.create_task(waits_for(future, queue)))
            loop.call_at(5.0, future.set_result, name)
        await asyncio.sleep(6)
        await asyncio.gather(*waiters)
        taker.cancel()

    with emulated() as (loop, _):
        loop.run_until_complete(main())
    assert log == [
        "a woken",
        "a after five turns",
        "gathered ['a1', 'a2']",
        "b woken",
        "b after five turns",
        "gathered ['b1', 'b2']",
    ]


def test_the_number_of_turns_a_wake_up_takes_does_not_change_the_order() -> None:
    def order(turns: dict[str, int]) -> list[str]:
        log: list[str] = []

        async def worker(name: str) -> None:
            await asyncio.sleep(3)
            for _ in range(turns[name]):
                await asyncio.sleep(0)
            log.append(name)

        async def main() -> None:
            await asyncio.gather(*map(worker, turns))

        with emulated() as (loop, _):
            loop.run_until_complete(main())
        return log

    assert order({"a": 200, "b": 0, "c": 7}) == order({"a": 0, "b": 50, "c": 0}) == ["a", "b", "c"]


def test_a_timer_in_the_past_runs_at_once_and_time_does_not_go_back() -> None:
    with emulated(60) as (loop, wall):
        log: list[tuple[str, float, float]] = []

        def late() -> None:
            for when in (3.0, -1.0, -math.inf):
                loop.call_at(when, lambda: log.append(("past", loop.time(), wall.now())))
            loop.call_later(-2, lambda: log.append(("before", loop.time(), wall.now())))

        loop.call_at(60.0, late)
        run_until(loop, 61.0)
        assert [(loop_time, seconds) for _, loop_time, seconds in log] == [(60.0, 1.0)] * 4


@pytest.mark.parametrize("speed", [60, "max"])
def test_a_due_time_that_is_not_a_number_is_refused(speed: Speed) -> None:
    with emulated(speed) as (loop, _):
        with pytest.raises(ValueError, match="due at nan"):
            loop.call_at(math.nan, print)
        with pytest.raises(ValueError, match="due at nan"):
            loop.call_later(math.nan, print)
        with pytest.raises(ValueError, match="due at nan"):
            Alarm(Timers(loop, lambda: None)).set(math.nan)
        run_until(loop, 1.0)
        assert loop.time() == 1.0


@pytest.mark.parametrize("speed", [60, "max"])
def test_a_timer_at_infinity_never_runs_and_holds_nothing_up(speed: Speed) -> None:
    ran: list[str] = []
    with emulated(speed) as (loop, wall):
        loop.call_at(math.inf, ran.append, "never")
        loop.call_later(math.inf, ran.append, "never")
        loop.call_at(60, ran.append, "sixty")
        wall.at(5.0, lambda: loop.call_soon_threadsafe(loop.stop))
        loop.run_forever()
        assert ran == ["sixty"]
        assert wall.now() == 5.0


# -- settling -------------------------------------------------------------------------------------------


def test_settled_callbacks_run_by_phase_and_then_first_asked_first() -> None:
    ran: list[tuple[int, int]] = []
    asked = [(phase, n) for n in range(20) for phase in Phase]
    random.Random(1).shuffle(asked)
    with emulated() as (loop, _):
        for phase, n in asked:
            loop.call_when_settled(phase, ran.append, (phase, n))
        loop.call_soon(ran.append, (-2, 0))
        loop.call_at(0, ran.append, (-1, 0))
        loop.call_at(1, loop.stop)
        loop.run_forever()
    assert ran == [(-2, 0), (-1, 0), *sorted(asked, key=lambda entry: entry[0])]


def test_what_a_settled_callback_makes_ready_or_due_runs_before_the_next_one() -> None:
    log: list[tuple[str, float]] = []
    with emulated() as (loop, _):

        def note(name: str) -> None:
            log.append((name, loop.time()))

        async def several_turns() -> None:
            for _ in range(4):
                await asyncio.sleep(0)
            note("task")

        tasks: list[asyncio.Task[None]] = []

        def first() -> None:
            note("first")
            loop.call_later(0, note, "due")
            tasks.append(loop.create_task(several_turns()))
            loop.call_when_settled(Phase.TIMELINE, note, "third")
            loop.call_when_settled(Phase.TRAINER, note, "second")

        loop.call_at(5, loop.call_when_settled, Phase.TRAINER, first)
        loop.call_at(5, loop.call_when_settled, Phase.CHECK, note, "fourth")
        loop.call_at(5.5, note, "later")
        run_until(loop, 6)
    names = ["first", "task", "due", "second", "third", "fourth"]
    assert log == [*((name, 5.0) for name in names), ("later", 5.5)]


def test_an_instant_settles_in_a_pause_too() -> None:
    ran: list[float] = []
    with emulated(60) as (loop, wall):
        loop.call_at(60, loop.pause)
        loop.call_at(60, loop.call_when_settled, Phase.TRAINER, lambda: ran.append(loop.time()))
        wall.at(9.0, lambda: loop.call_soon_threadsafe(loop.stop))
        loop.run_forever()
        assert ran == [60.0]


def test_a_settled_callback_that_is_cancelled_does_not_run() -> None:
    ran: list[str] = []
    with emulated() as (loop, _):
        loop.call_when_settled(Phase.TRAINER, ran.append, "cancelled").cancel()
        loop.call_when_settled(Phase.END, ran.append, "kept")
        run_until(loop, 1)
    assert ran == ["kept"]


# -- pacing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", SPEEDS)
def test_a_timer_fires_when_the_wall_clock_reaches_its_share_of_the_speed(speed: float) -> None:
    times = [0.0, 1.5, 3.0, 3.0, 90.0, 7200.0]
    with emulated(speed, start=1000.0) as (loop, wall):
        log = log_at(loop, wall, *times)
        run_until(loop, 7200.0)
        assert log == nearly([(when, 1000.0 + when / speed) for when in times])
        statistics = loop.statistics()
    assert statistics.asked_speed == speed
    assert statistics.achieved_speed == pytest.approx(speed)
    assert statistics.wall_seconds == pytest.approx(7200.0 / speed)
    assert statistics.paused_seconds == 0
    assert statistics.worst_lag_ms == pytest.approx(0, abs=1e-6)


def test_pacing_begins_when_time_first_moves_so_that_setting_up_costs_no_lag() -> None:
    with emulated(60) as (loop, wall):
        log = log_at(loop, wall, 60.0)
        loop.call_soon(wall.jam, 3.0)
        run_until(loop, 60.0)
        assert log == [(60.0, 4.0)]
        assert loop.statistics().worst_lag_ms == 0


def test_max_never_waits() -> None:
    with emulated("max") as (loop, wall):
        log = log_at(loop, wall, 1.0, 1e9)
        run_until(loop, 1e9)
        assert log == [(1.0, 0.0), (1e9, 0.0)]
        assert wall.waits == []
        statistics = loop.statistics()
    assert statistics.asked_speed == "max"
    assert statistics.worst_lag_ms is None
    assert statistics.achieved_speed is None  # no wall time has passed


@pytest.mark.parametrize(
    ("speed", "walls"),
    [
        (120, [0.75, 1.25, 1.75]),
        (15, [2.5, 6.5, 10.5]),
        (60, [1.0, 2.0, 3.0]),
        ("max", [0.5, 0.5, 0.5]),
    ],
)
def test_a_new_speed_holds_from_the_moment_and_the_time_at_which_it_is_set(
    speed: Speed, walls: list[float]
) -> None:
    with emulated(60) as (loop, wall):
        log = log_at(loop, wall, 60.0, 120.0, 180.0)
        times: list[float] = []

        def change() -> None:
            loop.speed = speed
            times.append(loop.time())

        loop.call_wall_later(0.5, change)
        run_until(loop, 180.0)
        assert times == [30.0]
        assert log == nearly(list(zip([60.0, 120.0, 180.0], walls, strict=True)))
        assert loop.speed == loop.statistics().asked_speed == speed


def test_a_run_at_max_that_is_given_a_speed_is_paced_from_there() -> None:
    with emulated("max") as (loop, wall):
        log = log_at(loop, wall, 60.0, 120.0, 180.0)
        loop.call_at(60.0, setattr, loop, "speed", 60)
        run_until(loop, 180.0)
        assert log == nearly([(60.0, 0.0), (120.0, 1.0), (180.0, 2.0)])


def test_a_new_speed_in_the_middle_of_an_instant_does_not_move_the_time_of_that_instant() -> None:
    with emulated(60) as (loop, wall):
        times: list[float] = []

        def callback() -> None:
            wall.jam(0.01)
            loop.speed = 120
            times.append(loop.time())
            loop.call_later(60, lambda: times.append(loop.time()))

        loop.call_at(60.0, callback)
        loop.call_at(150.0, loop.stop)
        loop.run_forever()
        assert times == [60.0, 120.0]


def test_a_pause_in_the_middle_of_an_instant_does_not_move_the_time_of_that_instant() -> None:
    with emulated(60) as (loop, wall):
        times: list[float] = []

        def callback() -> None:
            wall.jam(0.01)
            loop.pause()
            times.append(loop.time())
            loop.resume()
            times.append(loop.time())

        loop.call_at(60.0, callback)
        loop.call_at(150.0, loop.stop)
        loop.run_forever()
        assert times == [60.0, 60.0]


@pytest.mark.parametrize("speed", [0, -1, math.nan, math.inf, "fast"])
def test_a_speed_that_is_none_is_refused_and_changes_nothing(speed: Any) -> None:
    with emulated(60) as (loop, _):
        with pytest.raises(ValueError, match="must be a number above 0, or 'max'"):
            loop.speed = speed
        assert loop.speed == 60


def test_a_loop_that_is_refused_for_its_speed_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    with pytest.raises(ValueError, match="must be a number above 0, or 'max'"):
        EmulatedLoop(0, FakeWall())
    gc.collect()
    assert [str(complaint.exc_value) for complaint in complaints] == []


def test_a_pause_holds_the_time_and_resume_goes_on_from_where_it_stands() -> None:
    with emulated(60) as (loop, wall):
        log = log_at(loop, wall, 60.0, 120.0)
        seen: list[tuple[float, bool]] = []

        def see() -> None:
            seen.append((loop.time(), loop.paused))

        loop.call_wall_later(0.5, loop.pause)
        loop.call_wall_later(5.0, see)
        loop.call_wall_later(10.5, loop.resume)
        loop.call_wall_later(10.75, see)
        run_until(loop, 120.0)
        assert seen == [(30.0, True), (45.0, False)]
        assert log == nearly([(60.0, 11.0), (120.0, 12.0)])
        statistics = loop.statistics()
    assert statistics.paused_seconds == 10.0
    assert statistics.wall_seconds == pytest.approx(2.0)
    assert statistics.achieved_speed == pytest.approx(60.0)
    assert statistics.worst_lag_ms == pytest.approx(0, abs=1e-6)


def test_a_pause_that_is_going_on_counts_as_paused_already() -> None:
    with emulated(60) as (loop, wall):
        loop.call_wall_later(0.5, loop.pause)
        wall.at(4.5, lambda: loop.call_soon_threadsafe(loop.stop))
        loop.call_at(60.0, loop.stop)
        loop.run_forever()
        statistics = loop.statistics()
        assert (statistics.paused_seconds, statistics.wall_seconds) == (4.0, 0.5)
        assert statistics.achieved_speed == 60.0


def test_pausing_and_resuming_twice_does_what_once_does() -> None:
    with emulated(60) as (loop, wall):
        log = log_at(loop, wall, 60.0)
        for seconds in (0.25, 0.5):
            loop.call_wall_later(seconds, loop.pause)
        for seconds in (1.25, 1.5):
            loop.call_wall_later(seconds, loop.resume)
        run_until(loop, 60.0)
        assert log == nearly([(60.0, 2.0)])
        assert loop.statistics().paused_seconds == 1.0


def test_a_run_may_begin_paused_which_costs_it_nothing() -> None:
    with emulated(60) as (loop, wall):
        loop.pause()
        wall.jam(3.0)
        log = log_at(loop, wall, 0.0, 60.0)
        loop.call_wall_later(2.0, loop.resume)
        run_until(loop, 60.0)
        assert log == nearly([(0.0, 3.0), (60.0, 6.0)])
        assert loop.statistics().paused_seconds == 2.0
        assert loop.statistics().achieved_speed == pytest.approx(60.0)


def test_max_is_held_by_a_pause() -> None:
    with emulated("max") as (loop, wall):
        log = log_at(loop, wall, 60.0, 120.0)
        loop.call_at(60.0, loop.pause)
        loop.call_wall_later(4.0, loop.resume)
        run_until(loop, 120.0)
        assert log == [(60.0, 0.0), (120.0, 4.0)]


@pytest.mark.parametrize("speed", [60, "max"])
def test_a_step_in_a_pause_lets_one_instant_happen_whole(speed: Speed) -> None:
    with emulated(speed) as (loop, wall):
        log = log_at(loop, wall, 60.0, 60.0, 75.0, 120.0)
        loop.call_at(60.0, loop.call_later, 0, log.append, (60.0, -1.0))
        loop.pause()
        loop.call_wall_later(1.0, loop.step)
        loop.call_wall_later(2.0, loop.step)
        loop.call_wall_later(5.0, loop.resume)
        run_until(loop, 120.0)
        last = 5.0 if speed == "max" else 5.0 + 45 / 60
        assert log == nearly([(60.0, 1.0), (60.0, 1.0), (60.0, -1.0), (75.0, 2.0), (120.0, last)])


def test_several_steps_asked_for_at_once_are_each_done() -> None:
    with emulated(60) as (loop, wall):
        log = log_at(loop, wall, 1.0, 2.0, 3.0, 4.0)
        loop.pause()
        for _ in range(3):
            loop.step()
        wall.at(7.0, lambda: loop.call_soon_threadsafe(loop.stop))
        loop.run_forever()
        assert log == [(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]


def test_a_step_outside_a_pause_does_nothing() -> None:
    with emulated(60) as (loop, wall):
        log = log_at(loop, wall, 60.0)
        loop.step()
        loop.call_wall_later(0.25, loop.pause)
        loop.call_wall_later(1.25, loop.resume)
        run_until(loop, 60.0)
        assert log == nearly([(60.0, 2.0)])


# -- a machine that cannot keep up ----------------------------------------------------------------------


def test_a_lag_of_up_to_fifty_milliseconds_is_caught_up() -> None:
    with emulated(60) as (loop, wall):
        loop.call_at(60.0, wall.jam, 0.03)
        log = log_at(loop, wall, 61.0, 61.5, 63.0, 120.0)
        run_until(loop, 120.0)
        assert log == nearly([(61.0, 1.03), (61.5, 1.03), (63.0, 1.05), (120.0, 2.0)])
        assert loop.statistics().worst_lag_ms == pytest.approx(30 - 1000 / 60)


def test_what_exceeds_fifty_milliseconds_of_lag_is_forgiven() -> None:
    with emulated(60) as (loop, wall):
        loop.call_at(60.0, wall.jam, 0.5)
        log = log_at(loop, wall, 61.0, 62.0, 64.0, 70.0, 120.0)
        run_until(loop, 120.0)
        late = 0.5 - 1 / 60  # of the timer at 61
        forgiven = late - CATCH_UP
        assert log == nearly(
            [(61.0, 1.5), (62.0, 1.5), (64.0, 1.5), (70.0, 7 / 6 + forgiven), (120.0, 2.0 + forgiven)]
        )
        assert log[2][1] >= 64 / 60 + forgiven  # it was due by then, and not made early
        assert loop.statistics().worst_lag_ms == pytest.approx(late * 1000)


def test_a_long_overload_dilates_time_and_skips_and_reorders_nothing() -> None:
    with emulated(100) as (loop, wall):
        ran: list[float] = []

        def slow() -> None:  # takes twice its slot of 10 ms
            ran.append(loop.time())
            wall.jam(0.02)

        for second in range(1, 501):
            loop.call_at(float(second), slow)
        log = log_at(loop, wall, 501.0, 510.0, 600.0)
        run_until(loop, 600.0)
        assert ran == [float(second) for second in range(1, 501)]
        end = 0.01 + 500 * 0.02
        # Of the lag, 60 ms at the end, 50 may be caught up; then it goes at the speed asked for.
        forgiven = end - 5.01 - CATCH_UP
        assert log == nearly([(501.0, end), (510.0, 5.1 + forgiven), (600.0, 6.0 + forgiven)])
        statistics = loop.statistics()
    assert statistics.worst_lag_ms == pytest.approx(60)
    assert statistics.achieved_speed is not None
    assert statistics.achieved_speed == pytest.approx(600 / (6.0 + forgiven))
    assert 50 < statistics.achieved_speed < 100


@pytest.mark.parametrize("seen_in_a_wait", [True, False])
def test_a_process_that_was_stopped_goes_on_from_where_it_was(*, seen_in_a_wait: bool) -> None:
    with emulated(60) as (loop, wall), pipe() as (reader, writer):
        log = log_at(loop, wall, 60.0, 61.0, 120.0)

        def stopped_for_ten_seconds() -> None:
            wall.jam(10)
            os.write(writer, b"continued")

        def continued() -> None:
            os.read(reader, 100)
            loop.forgive_stop()

        loop.add_reader(reader, continued)
        if seen_in_a_wait:
            wall.at(0.5, stopped_for_ten_seconds)
            expected = [(60.0, 10.5), (61.0, 10.5 + 1 / 60), (120.0, 11.5)]
        else:
            loop.call_at(60.0, stopped_for_ten_seconds)
            expected = [(60.0, 1.0), (61.0, 11.0), (120.0, 11.0 + 59 / 60)]
        run_until(loop, 120.0)
        loop.remove_reader(reader)
        assert log == nearly(expected)
        statistics = loop.statistics()
    assert statistics.worst_lag_ms == pytest.approx(0, abs=1e-6)
    assert statistics.paused_seconds + statistics.wall_seconds == pytest.approx(expected[-1][1])
    assert statistics.achieved_speed == pytest.approx(60)


def test_a_stop_through_which_a_wait_slept_is_heard_of_before_it_counts_as_lag() -> None:
    class Sleeper(FakeWall):
        """Its first wait comes back late and empty-handed, though a byte has come meanwhile."""

        def select(
            self, selector: selectors.BaseSelector, timeout: float | None
        ) -> list[tuple[selectors.SelectorKey, int]]:
            if timeout and not self.waits:
                self.waits.append(timeout)
                self.jam(timeout + 10)
                os.write(writer, b"continued")
                return []
            return super().select(selector, timeout)

    with pipe() as (reader, writer):
        wall = Sleeper()
        loop = EmulatedLoop(60, wall)

        def continued() -> None:
            os.read(reader, 100)
            loop.forgive_stop()

        loop.add_reader(reader, continued)
        log = log_at(loop, wall, 60.0, 120.0)
        run_until(loop, 120.0)
        loop.remove_reader(reader)
        statistics = loop.statistics()
        loop.close()
    assert log == nearly([(60.0, 11.0), (120.0, 12.0)])
    assert statistics.paused_seconds == pytest.approx(10)
    assert statistics.worst_lag_ms == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("state", ["not begun", "in time", "paused", "max"])
def test_there_is_nothing_to_forgive_where_time_is_not_behind(state: str) -> None:
    with emulated("max" if state == "max" else 60) as (loop, wall):
        log = log_at(loop, wall, 60.0)
        if state == "not begun":
            wall.jam(2.0)
            loop.forgive_stop()
        elif state == "paused":
            loop.call_wall_later(0.5, loop.pause)
            loop.call_wall_later(1.5, loop.forgive_stop)
            loop.call_wall_later(2.5, loop.resume)
        elif state == "in time":
            loop.call_wall_later(0.5, loop.forgive_stop)
        else:
            loop.call_at(30.0, loop.forgive_stop)
        run_until(loop, 60.0)
        expected = {"not begun": 3.0, "in time": 1.0, "paused": 3.0, "max": 0.0}[state]
        assert log == nearly([(60.0, expected)])
        assert loop.statistics().paused_seconds == (2.0 if state == "paused" else 0.0)


# -- real events ----------------------------------------------------------------------------------------


def press(loop: EmulatedLoop, wall: FakeWall, seconds: float, jam: float = 0.0) -> list[tuple[float, float]]:
    """Have a real event at a time of the wall; returns where it will tell (emulated time, wall time)."""
    log: list[tuple[float, float]] = []
    ours, theirs = socket.socketpair()

    def come() -> None:
        ours.recv(1)
        loop.remove_reader(ours)
        ours.close()
        theirs.close()
        log.append((loop.time(), wall.now()))

    def happen() -> None:
        wall.jam(jam)
        theirs.send(b"x")

    loop.add_reader(ours, come)
    wall.at(seconds, happen)
    return log


def test_a_real_event_takes_the_time_that_the_wall_maps_to() -> None:
    with emulated(60) as (loop, wall):
        first, second = press(loop, wall, 0.25), press(loop, wall, 1.75)
        log = log_at(loop, wall, 60.0, 120.0)
        run_until(loop, 120.0)
        assert (first, second) == ([(15.0, 0.25)], [(105.0, 1.75)])
        assert log == nearly([(60.0, 1.0), (120.0, 2.0)])


def test_a_real_event_takes_no_later_time_than_the_next_timer() -> None:
    with emulated(60) as (loop, wall):
        event = press(loop, wall, 0.5, jam=2.0)
        log = log_at(loop, wall, 60.0)
        run_until(loop, 60.0)
        assert event == [(60.0, 2.5)]
        assert log == [(60.0, 2.5)]


def test_a_real_event_with_no_timer_to_come_takes_the_mapped_time() -> None:
    with emulated(60) as (loop, wall):
        event = press(loop, wall, 7.0)
        wall.at(8.0, lambda: loop.call_soon_threadsafe(loop.stop))
        loop.run_forever()
        assert event == [(420.0, 7.0)]


def test_a_timer_set_by_a_real_event_counts_from_the_time_of_that_event() -> None:
    with emulated(60) as (loop, wall):
        log: list[tuple[float, float]] = []
        wall.at(
            0.25,
            lambda: loop.call_soon_threadsafe(
                lambda: loop.call_later(6, lambda: log.append((loop.time(), wall.now())))
            ),
        )
        run_until(loop, 60.0)
        assert log == nearly([(21.0, 0.35)])


def test_a_real_event_in_a_pause_takes_the_time_at_which_it_was_paused() -> None:
    with emulated(60) as (loop, wall):
        event = press(loop, wall, 20.0)
        loop.call_wall_later(0.5, loop.pause)
        loop.call_wall_later(30.5, loop.resume)
        log = log_at(loop, wall, 60.0)
        run_until(loop, 60.0)
        assert event == [(30.0, 20.0)]
        assert log == nearly([(60.0, 31.0)])


def test_a_real_event_under_max_takes_the_time_that_the_loop_stands_at() -> None:
    with emulated("max") as (loop, wall):
        event = press(loop, wall, 20.0)
        loop.call_at(42.0, int)
        wall.at(21.0, lambda: loop.call_soon_threadsafe(loop.stop))
        loop.run_forever()
        assert event == [(42.0, 20.0)]


def test_a_loop_that_is_never_idle_still_hears_real_events() -> None:
    with emulated("max") as (loop, wall), pipe() as (reader, writer):
        os.write(writer, b"x")
        turns = 0

        def turn() -> None:
            nonlocal turns
            turns += 1
            wall.jam(0.001)
            loop.call_soon(turn)

        loop.add_reader(reader, loop.stop)
        loop.call_soon(turn)
        loop.run_forever()
        loop.remove_reader(reader)
        assert loop.time() == 0.0
        assert 0 < turns < 1000


def test_wall_timers_fire_in_a_pause_and_set_no_emulated_timer() -> None:
    with emulated(60) as (loop, wall):
        log: list[tuple[float, float]] = []

        async def main() -> None:
            await asyncio.sleep(30)
            loop.pause()
            for _ in range(3):
                await loop.wall_sleep(2.0)
                assert not loop.timers
                log.append((loop.time(), wall.now()))

        loop.run_until_complete(main())
        assert log == [(30.0, 2.5), (30.0, 4.5), (30.0, 6.5)]


def test_wall_timers_fire_under_max_between_timers() -> None:
    with emulated("max") as (loop, wall):
        log: list[float] = []
        for seconds in range(1, 2001):
            loop.call_at(seconds, wall.jam, 0.001)
        loop.call_wall_later(1.0, lambda: log.append(wall.now()))
        run_until(loop, 2000)
        assert len(log) == 1
        assert 1.0 <= log[0] < 1.1  # the system is not asked on every turn


def test_wall_timers_run_in_the_order_of_the_wall_and_then_of_setting() -> None:
    ran: list[int] = []
    with emulated(60) as (loop, wall):
        for number, seconds in enumerate([2.0, 1.0, 2.0, 1.0, 2.0]):
            loop.call_wall_later(seconds, ran.append, number)
        loop.call_wall_later(1.5, ran.append, -1).cancel()
        wall.at(3.0, lambda: loop.call_soon_threadsafe(loop.stop))
        loop.run_forever()
    assert ran == [1, 3, 0, 2, 4]


def test_a_wall_sleep_can_be_cancelled() -> None:
    with emulated(60) as (loop, wall):

        async def main() -> float:
            task = loop.create_task(loop.wall_sleep(3600))
            await asyncio.sleep(6)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(6)
            return loop.time()

        assert loop.run_until_complete(main()) == 12.0
        assert wall.now() == pytest.approx(0.2)


# -- the law --------------------------------------------------------------------------------------------

Change = tuple[float, str, float]

changes = st.lists(
    st.tuples(
        st.integers(0, 40).map(lambda eighths: eighths / 8),
        st.sampled_from(["speed", "max", "pause", "resume", "step", "forgive", "event", "stall"]),
        st.sampled_from([0.25, 4.0, 64.0]),
    ),
    max_size=8,
)
plans = st.lists(
    st.tuples(
        st.integers(0, 40).map(lambda quarters: quarters / 4),
        st.integers(0, 8).map(lambda quarters: quarters / 4),
        st.integers(0, 3),
        st.sampled_from([0.0, 0.0, 0.03, 0.5]),
    ),
    max_size=8,
)


def happen(plan: list[tuple[float, float, int, float]], speed: Speed, changes: list[Change]) -> list[Any]:
    """Let timers set timers while somebody plays with the clock; returns what ran when."""
    ran: list[Any] = []
    with emulated(speed) as (loop, wall):
        seen: list[tuple[float, float]] = []

        def callback(number: int, period: float, left: int, jam: float) -> None:
            seen.append((loop.time(), wall.now()))
            ran.append((number, left, loop.time()))
            wall.jam(jam)
            loop.call_when_settled(Phase.TRAINER, lambda: ran.append((number, "settled", loop.time())))
            if left:
                loop.call_later(period, callback, number, period, left - 1, jam)

        def change(kind: str, value: float) -> None:
            seen.append((loop.time(), wall.now()))
            if kind in ("speed", "max"):
                loop.speed = value if kind == "speed" else "max"
            elif kind == "stall":
                wall.jam(value)
            elif kind != "event":
                getattr(loop, "forgive_stop" if kind == "forgive" else kind)()
            seen.append((loop.time(), wall.now()))

        for number, (when, period, left, jam) in enumerate(plan):
            loop.call_at(when, callback, number, period, left, jam)
        for seconds, kind, value in changes:
            loop.call_wall_later(seconds, change, kind, value)
        loop.call_wall_later(300, loop.resume)
        run_until(loop, 100.0)
        assert seen == sorted(seen), "time went back"
        assert loop.time() == 100.0
    return ran


@given(plans, st.sampled_from([0.5, 8.0, 512.0]), changes)
def test_what_happens_and_when_is_the_same_whatever_is_done_to_the_clock(
    plan: list[tuple[float, float, int, float]], speed: float, changes: list[Change]
) -> None:
    assert happen(plan, speed, changes) == happen(plan, "max", [])


@given(
    st.lists(st.integers(0, 400).map(lambda quarters: quarters / 4), min_size=1, max_size=20),
    st.sampled_from([0.5, 4.0, 64.0]),
    st.lists(
        st.tuples(st.integers(0, 64), st.sampled_from([0.5, 4.0, 64.0])), max_size=4, unique_by=lambda c: c[0]
    ),
)
def test_timers_fire_at_the_integral_of_the_speed(
    times: list[float], speed: float, changes: list[tuple[int, float]]
) -> None:
    with emulated(speed) as (loop, wall):
        log = log_at(loop, wall, *times)
        for eighths, new in changes:
            loop.call_wall_later(eighths / 8, setattr, loop, "speed", new)
        run_until(loop, 100.0)
    pieces = [(0.0, speed), *sorted((eighths / 8, new) for eighths, new in changes)]

    def wall_of(when: float) -> float:
        reached = 0.0
        for (start, pace), (end, _) in pairwise([*pieces, (math.inf, 0.0)]):
            if reached + (end - start) * pace >= when:
                return start + (when - reached) / pace
            reached += (end - start) * pace
        raise AssertionError(when)

    assert log == nearly([(when, wall_of(when)) for when in sorted(times)])


# -- cancelled timers -----------------------------------------------------------------------------------


def test_forgotten_never_run_and_are_swept() -> None:
    ran: list[int] = []
    with emulated() as (loop, _):
        kept = [loop.call_at(100 + n, ran.append, n) for n in range(10)]
        longest = 0
        for n in range(20_000):
            loop.call_at(50 + n % 7, ran.append, -1).cancel()
            longest = max(longest, len(loop.timers))
        kept[3].cancel()
        kept[3].cancel()
        run_until(loop, 200)
        assert longest < 300
    assert ran == [0, 1, 2, 4, 5, 6, 7, 8, 9]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=600), st.randoms(use_true_random=False))
def test_cancelling_in_any_order_leaves_the_others_in_theirs(
    timers: list[tuple[int, bool]], shuffled: random.Random
) -> None:
    ran: list[int] = []
    with emulated() as (loop, _):
        handles = [loop.call_at(when, ran.append, number) for number, (when, _) in enumerate(timers)]
        cancelled = [handle for handle, (_, cancel) in zip(handles, timers, strict=True) if cancel]
        shuffled.shuffle(cancelled)
        for handle in cancelled:
            handle.cancel()
        run_until(loop, 6)
        assert loop._forgotten == 0
    kept = [(when, number) for number, (when, cancel) in enumerate(timers) if not cancel]
    assert ran == [number for _, number in sorted(kept)]


def test_a_timer_may_be_cancelled_by_an_earlier_one_of_its_instant() -> None:
    ran: list[str] = []
    with emulated(60) as (loop, wall):
        doomed: list[asyncio.TimerHandle] = []

        def cancel() -> None:
            doomed[0].cancel()

        loop.call_at(5, cancel)
        doomed.append(loop.call_at(5, ran.append, "cancelled"))
        loop.call_at(5, ran.append, "kept")
        run_until(loop, 5)
        assert ran == ["kept"]
        assert wall.now() == pytest.approx(5 / 60)


def test_the_time_of_a_cancelled_timer_is_not_waited_for() -> None:
    with emulated(60) as (loop, wall):
        loop.call_at(30, print).cancel()
        log = log_at(loop, wall, 60.0)
        run_until(loop, 60.0)
        assert len(wall.waits) == 1
        assert log == [(60.0, 1.0)]


def test_timeouts_that_do_not_come_leave_no_timers_behind() -> None:
    async def main(loop: EmulatedLoop) -> int:
        longest = 0
        for _ in range(1000):
            async with asyncio.timeout(1000):
                await asyncio.sleep(0.001)
            longest = max(longest, len(loop.timers))
        return longest

    with emulated() as (loop, _):
        assert loop.run_until_complete(main(loop)) < 300


# -- starting and stopping ------------------------------------------------------------------------------


def test_stop_leaves_what_was_not_due_and_the_loop_goes_on_from_there() -> None:
    ran: list[tuple[str, float]] = []
    with emulated(60) as (loop, wall):

        def note(name: str) -> None:
            ran.append((name, loop.time()))

        loop.call_at(5, loop.stop)
        loop.call_at(5, note, "same instant")
        loop.call_at(6, note, "later")
        loop.run_forever()
        assert ran == []
        loop.call_at(7, loop.stop)
        loop.run_forever()
        assert ran == [("same instant", 5.0), ("later", 6.0)]
        assert wall.now() == pytest.approx(7 / 60)


def test_stop_lets_run_what_is_ready() -> None:
    ran: list[str] = []
    with emulated() as (loop, _):

        def callback() -> None:
            loop.stop()
            loop.call_soon(ran.append, "ready")
            loop.call_later(0, ran.append, "due")

        loop.call_at(5, callback)
        loop.run_forever()
        assert ran == ["ready"]


@pytest.mark.parametrize("speed", [60, "max"])
def test_one_loop_runs_several_coroutines_one_after_the_other_in_one_time(speed: Speed) -> None:
    async def sleep(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return asyncio.get_running_loop().time()

    with emulated(speed) as (loop, _):
        assert [loop.run_until_complete(sleep(seconds)) for seconds in (5, 0, 2.5)] == [5.0, 5.0, 7.5]


def test_what_a_coroutine_raises_comes_out_and_the_loop_can_go_on() -> None:
    async def fail() -> None:
        await asyncio.sleep(3)
        raise LookupError("three")

    with emulated() as (loop, _):
        with pytest.raises(LookupError, match="three"):
            loop.run_until_complete(fail())
        loop.run_until_complete(asyncio.sleep(1))
        assert loop.time() == 4.0


def test_a_closed_loop_takes_no_timers() -> None:
    with emulated() as (loop, _):
        loop.call_at(5, print)
    for set_one in (loop.call_at, loop.call_later):
        with pytest.raises(RuntimeError, match="closed"):
            set_one(1, print)


def test_a_keyboard_interrupt_in_a_callback_comes_out() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with emulated() as (loop, _):
        loop.call_at(5, interrupt)
        with pytest.raises(KeyboardInterrupt):
            loop.run_forever()
        assert loop.time() == 5.0


# -- asyncio as people use it ---------------------------------------------------------------------------

either_speed = pytest.mark.parametrize("speed", [60, "max"])


@either_speed
def test_a_timeout_comes_at_its_emulated_time(speed: Speed) -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        times = []
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(12.5):
                await asyncio.sleep(100)
        times.append(loop.time())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 7.5)
        times.append(loop.time())
        assert await asyncio.wait_for(asyncio.sleep(1, "done"), 10) == "done"
        times.append(loop.time())
        with anyio.move_on_after(4) as scope:
            await anyio.sleep(100)
        assert scope.cancelled_caught
        times.append(loop.time())
        return times

    with emulated(speed) as (loop, _):
        assert loop.run_until_complete(main()) == [12.5, 20.0, 21.0, 25.0]


@either_speed
def test_sleeping_for_no_time_takes_none(speed: Speed) -> None:
    async def main() -> float:
        for _ in range(500):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    with emulated(speed) as (loop, wall):
        assert loop.run_until_complete(main()) == 0.0
        assert wall.waits == []


@either_speed
def test_threads_of_an_executor_hand_their_results_over(speed: Speed) -> None:
    async def main() -> tuple[int, int, float]:
        loop = asyncio.get_running_loop()
        one = await asyncio.to_thread(pow, 2, 10)
        two = await loop.run_in_executor(None, pow, 3, 2)
        await asyncio.sleep(5)
        return one, two, loop.time()

    with emulated(speed) as (loop, _):
        one, two, when = loop.run_until_complete(main())
        assert (one, two) == (1024, 9)
        assert when == 5.0  # the fake wall stands still for a thread


@either_speed
def test_another_thread_may_call_in(speed: Speed) -> None:
    async def main() -> str:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[str] = loop.create_future()
        thread = threading.Thread(target=loop.call_soon_threadsafe, args=(told.set_result, "called"))
        thread.start()
        try:
            return await told
        finally:
            thread.join()

    with emulated(speed) as (loop, _):
        assert loop.run_until_complete(main()) == "called"


@either_speed
def test_a_subprocess_runs_to_its_end(speed: Speed) -> None:
    async def main() -> tuple[bytes, int | None]:
        process = await asyncio.create_subprocess_exec(
            "cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate(b"through a real process")
        return out, process.returncode

    with emulated(speed) as (loop, _):
        assert loop.run_until_complete(main()) == (b"through a real process", 0)


@either_speed
def test_streams_over_a_socket_pair(speed: Speed) -> None:
    async def echo(connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection)
        while line := await reader.readline():
            await asyncio.sleep(2)
            writer.write(line.upper())
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def main() -> tuple[list[bytes], float]:
        ours, theirs = socket.socketpair()
        server = asyncio.create_task(echo(theirs))
        reader, writer = await asyncio.open_connection(sock=ours)
        lines = []
        for line in (b"one\n", b"two\n"):
            writer.write(line)
            lines.append(await reader.readline())
        writer.close()
        await writer.wait_closed()
        await server
        return lines, asyncio.get_running_loop().time()

    with emulated(speed) as (loop, _):
        assert loop.run_until_complete(main()) == ([b"ONE\n", b"TWO\n"], 4.0)


@either_speed
def test_a_signal_reaches_its_receiver(speed: Speed) -> None:
    async def main() -> signal.Signals | None:
        with anyio.open_signal_receiver(signal.SIGUSR1) as signals:
            os.kill(os.getpid(), signal.SIGUSR1)
            async for number in signals:
                return number
        return None

    with emulated(speed) as (loop, _):
        assert loop.run_until_complete(main()) is signal.SIGUSR1


@either_speed
def test_an_exception_in_a_callback_reaches_the_handler_and_the_loop_goes_on(speed: Speed) -> None:
    def fail(what: str) -> None:
        raise LookupError(what)

    with emulated(speed) as (loop, _):
        seen: list[str] = []
        loop.set_exception_handler(lambda _, context: seen.append(str(context["exception"])))
        loop.call_soon(fail, "ready")
        loop.call_at(5, fail, "timer")
        loop.call_at(5, loop.call_when_settled, Phase.TRAINER, fail, "settled")
        loop.call_wall_later(0, fail, "wall")
        run_until(loop, 10)
        assert loop.time() == 10.0
    wall_is_heard = [] if speed == "max" else ["wall"]  # max does not ask the system for so few turns
    assert seen == ["ready", *wall_is_heard, "timer", "settled"]


@either_speed
def test_callbacks_run_in_the_context_in_which_they_were_set(speed: Speed) -> None:
    with emulated(speed) as (loop, _):
        seen = []
        name: ContextVar[str] = ContextVar("name")

        async def main(value: str) -> None:
            name.set(value)
            loop.call_later(1, lambda: seen.append(name.get()))
            await asyncio.sleep(2)

        async def both() -> None:
            await asyncio.gather(main("a"), main("b"))

        loop.run_until_complete(both())
    assert seen == ["a", "b"]


@either_speed
def test_debug_mode_changes_nothing(speed: Speed) -> None:
    async def main() -> float:
        async with asyncio.timeout(100):
            await asyncio.gather(asyncio.sleep(3), asyncio.to_thread(int), asyncio.sleep(4))
        handle = asyncio.get_running_loop().call_later(5, print)
        assert "when=9.0" in repr(handle)
        handle.cancel()
        return asyncio.get_running_loop().time()

    with emulated(speed) as (loop, _):
        loop.set_debug(True)
        assert loop.run_until_complete(main()) == 4.0


@pytest.mark.parametrize("speed", [2.0**20, "max"])
def test_large_times_and_tiny_steps_work(speed: Speed) -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        times = []
        for seconds in (2.0**30, 2.0**-20, 1e-12, 2.0**60, 1e-3):
            for _ in range(3):
                await asyncio.sleep(seconds)
                times.append(loop.time())
        return times

    expected, now = [], 0.0
    for seconds in (2.0**30, 2.0**-20, 1e-12, 2.0**60, 1e-3):
        for _ in range(3):
            now += seconds
            expected.append(now)
    with emulated(speed) as (loop, _):
        if speed != "max":
            loop.call_wall_later(4000, setattr, loop, "speed", "max")
        assert loop.run_until_complete(main()) == expected


def test_a_wait_is_never_longer_than_the_system_allows() -> None:
    with emulated(1.0) as (loop, wall):
        log = log_at(loop, wall, 2.0**21)
        run_until(loop, 2.0**21)
        assert log == nearly([(2.0**21, 2.0**21)])
        assert max(wall.waits) == 86_400


def test_the_real_wall_clock_never_goes_back_and_asks_without_waiting() -> None:
    wall = MonotonicWall()
    before = wall.now()
    with emulated() as (loop, _):
        assert wall.select(loop._selector, 0) == []
    assert wall.now() >= before


CLEAN = """
import asyncio
from emulator.clock import EmulatedLoop

async def main():
    await asyncio.to_thread(int)
    process = await asyncio.create_subprocess_exec("true")
    await process.wait()
    left = asyncio.create_task(asyncio.sleep(1e6))
    asyncio.get_running_loop().call_wall_later(1e6, print)
    await asyncio.sleep(3600)
    return asyncio.get_running_loop().time()

with asyncio.Runner(loop_factory=EmulatedLoop) as runner:
    print(runner.run(main()))
with asyncio.Runner(loop_factory=lambda: EmulatedLoop(1e9), debug=True) as runner:
    print(runner.run(asyncio.sleep(1, "again")))
"""


def test_a_runner_closes_the_loop_without_a_warning() -> None:
    command = [sys.executable, "-W", "error", "-c", CLEAN]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "3600.0\nagain\n", "")


def test_a_loop_that_is_closed_can_be_collected() -> None:
    with emulated() as (loop, _):
        loop.call_at(5, print)
        loop.call_wall_later(5, print)
        run_until(loop, 1)
    found = weakref.ref(loop)
    del loop
    gc.collect()
    assert found() is None


# -- alarms ---------------------------------------------------------------------------------------------


def running() -> EmulatedLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, EmulatedLoop)
    return loop


def run_unpaced(main: Callable[[], Coroutine[None, None, None]]) -> None:
    with asyncio.Runner(loop_factory=lambda: EmulatedLoop("max")) as runner:
        runner.run(main())


def test_an_alarm_wakes_its_task_at_each_time_that_it_is_set_to() -> None:
    async def main() -> None:
        loop = running()
        alarm, woken = Alarm(Timers(loop, lambda: None)), []
        for due in (3.0, 3.0, 10.5):
            alarm.set(due)
            assert alarm.is_set
            await alarm
            assert not alarm.is_set
            woken.append(loop.time())
        assert woken == [3.0, 3.0, 10.5]

    run_unpaced(main)


def test_alarms_and_timers_of_one_instant_come_in_the_order_of_setting() -> None:
    async def main() -> None:
        loop = running()
        order: list[str] = []

        async def sleep(name: str, alarm: Alarm) -> None:
            await alarm
            order.append(name)

        alarms = {name: Alarm(Timers(loop, lambda: None)) for name in "abc"}
        tasks = [loop.create_task(sleep(name, alarm)) for name, alarm in alarms.items()]
        alarms["b"].set(5)
        loop.call_at(5, order.append, "timer")
        alarms["a"].set(5)
        alarms["c"].set(5)
        alarms["b"].set(5)
        await asyncio.sleep(6)
        assert order == ["timer", "a", "c", "b"]
        assert all(task.done() for task in tasks)

    run_unpaced(main)


def test_a_cleared_alarm_does_not_ring_and_can_be_set_again() -> None:
    async def main() -> None:
        loop = running()
        alarm = Alarm(Timers(loop, lambda: None))
        alarm.set(2)
        alarm.clear()
        assert not alarm.is_set
        loop.call_at(4, alarm.set, 7)
        await alarm
        assert loop.time() == 7

    run_unpaced(main)


def test_a_task_that_is_cancelled_on_its_alarm_ends_at_once_and_the_alarm_is_off() -> None:
    async def main() -> None:
        loop = running()
        alarm = Alarm(Timers(loop, lambda: None))

        async def sleep() -> None:
            await alarm

        task = loop.create_task(sleep())
        alarm.set(100)
        await asyncio.sleep(1)
        task.cancel()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert loop.time() == 1
        assert not alarm.is_set
        alarm.set(2)  # in vain
        await asyncio.sleep(3)
        assert loop.time() == 4

    run_unpaced(main)


def test_a_task_may_outlive_a_cancellation_and_sleep_on_the_alarm_again() -> None:
    async def main() -> None:
        loop = running()
        alarm, seen = Alarm(Timers(loop, lambda: None)), []

        async def sleep() -> None:
            try:
                await alarm
            except asyncio.CancelledError:
                seen.append(loop.time())
            alarm.set(9)
            await alarm
            seen.append(loop.time())

        task = loop.create_task(sleep())
        alarm.set(100)
        loop.call_at(5, task.cancel)
        await task
        assert seen == [5, 9]

    run_unpaced(main)


def test_an_alarm_that_rings_while_nobody_sleeps_on_it_wakes_nobody_later() -> None:
    async def main() -> None:
        loop = running()
        alarm = Alarm(Timers(loop, lambda: None))
        alarm.set(1)
        await asyncio.sleep(2)
        assert not alarm.is_set
        alarm.set(5)
        await alarm
        assert loop.time() == 5

    run_unpaced(main)


def test_alarms_that_are_moved_again_and_again_leave_the_heap_small() -> None:
    async def main() -> None:
        loop = running()
        alarms = [Alarm(Timers(loop, lambda: None)) for _ in range(10)]
        for n in range(20_000):
            alarms[n % 10].set(1000 + n)
            assert len(loop.timers) <= 10 + 2 * 128
        await asyncio.sleep(100_000)

    run_unpaced(main)


def test_what_a_task_on_an_alarm_raises_is_its_own() -> None:
    async def main() -> None:
        loop = running()
        alarm = Alarm(Timers(loop, lambda: None))

        async def fail() -> None:
            await alarm
            raise LookupError("here")

        task = loop.create_task(fail())
        alarm.set(3)
        with pytest.raises(LookupError, match="here"):
            await task
        assert loop.time() == 3

    run_unpaced(main)
