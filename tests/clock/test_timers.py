"""Timers that can be moved and called off, and the count of what is pending."""

import asyncio
import math
from collections.abc import Coroutine

import pytest

from emulator.clock import Alarm, EmulatedLoop, Timers


class Bench:
    """A loop in emulated time, the timers of a lane on it, and what happened when."""

    def __init__(self) -> None:
        self.loop = EmulatedLoop("max")
        self.idle_at: list[float] = []
        self.log: list[tuple[float, str]] = []
        self.timers = Timers(self.loop, lambda: self.idle_at.append(self.loop.time()))

    def note(self, what: str) -> None:
        self.log.append((self.loop.time(), what))

    def run(self, main: Coroutine[None, None, None]) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.run(main)


def test_a_timer_is_pending_until_it_fires() -> None:
    bench = Bench()

    async def main() -> None:
        bench.timers.call_at(5, lambda: bench.note(f"{bench.timers.pending} pending"))
        bench.timers.call_at(7, lambda: bench.note(f"{bench.timers.pending} pending"))
        assert bench.timers.pending == 2
        await asyncio.sleep(10)

    bench.run(main())
    assert bench.log == [(5, "1 pending"), (7, "0 pending")]
    assert bench.idle_at == [7]


def test_a_timer_called_off_does_not_fire_and_is_not_pending() -> None:
    bench = Bench()

    async def main() -> None:
        bench.timers.call_off(bench.timers.call_at(5, lambda: bench.note("fired")))
        assert bench.timers.pending == 0
        await asyncio.sleep(10)

    bench.run(main())
    assert bench.log == []
    assert bench.idle_at == [0]


def test_an_alarm_wakes_its_task_when_it_is_due_again_and_again() -> None:
    bench = Bench()

    async def sleep(alarm: Alarm) -> None:
        for due in (3, 8):
            alarm.set(due)
            assert alarm.is_set
            await alarm
            bench.note("rang")
            assert not alarm.is_set

        assert bench.timers.pending == 1
        alarm.rest()
        assert bench.timers.pending == 0

    bench.run(sleep(Alarm(bench.timers)))
    assert bench.log == [(3, "rang"), (8, "rang")]


@pytest.mark.parametrize(("moved_to", "expected"), [(4, 4), (9, 9), (2, 2)])
def test_an_alarm_that_is_moved_rings_only_at_its_last_time(moved_to: float, expected: float) -> None:
    bench = Bench()

    async def main() -> None:
        alarm = Alarm(bench.timers)
        alarm.set(5)
        bench.loop.call_at(2, alarm.set, moved_to)
        await alarm
        bench.note("rang")
        await asyncio.sleep(10)

    bench.run(main())
    assert bench.log == [(expected, "rang")]


@pytest.mark.parametrize("is_set", [False, True])
def test_an_alarm_that_is_due_at_no_number_is_refused(is_set: bool) -> None:
    bench = Bench()

    async def main() -> None:
        alarm = Alarm(bench.timers)
        if is_set:
            alarm.set(5)
        with pytest.raises(ValueError, match="an alarm is due at nan"):
            alarm.set(math.nan)
        assert alarm.is_set is is_set

    bench.run(main())


def test_an_alarm_counts_once_however_often_it_is_moved() -> None:
    bench = Bench()

    async def main() -> None:
        alarm = Alarm(bench.timers)
        for due in (5, 6, 7):
            alarm.set(due)
            assert bench.timers.pending == 1
        alarm.clear()
        alarm.clear()
        assert not alarm.is_set
        assert bench.timers.pending == 0

    bench.run(main())
    assert bench.idle_at == [0]


def test_an_alarm_that_is_moved_counts_as_newly_set_among_those_due_together() -> None:
    bench = Bench()

    async def sleep(alarm: Alarm, name: str) -> None:
        await alarm
        bench.note(name)

    async def main() -> None:
        alarms = [Alarm(bench.timers) for _ in range(3)]
        for alarm in alarms:
            alarm.set(5)
        alarms[0].set(5)
        async with asyncio.TaskGroup() as tasks:
            for number, alarm in enumerate(alarms):
                tasks.create_task(sleep(alarm, f"alarm {number}"))

    bench.run(main())
    assert bench.log == [(5, "alarm 1"), (5, "alarm 2"), (5, "alarm 0")]
