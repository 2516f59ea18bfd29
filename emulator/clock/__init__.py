"""Emulated time: an asyncio event loop whose ``time()`` is the time of the emulated system.

Code that emulates something says ``await asyncio.sleep(20)`` and means 20 emulated seconds.
Nothing else in the package multiplies or divides by a speed.

**Pacing.** The loop never computes the time from the wall clock; it *steps* from timer to timer
and, before it steps to a timer due at ``t``, really waits until the wall clock reads
``anchor_wall + (t - anchor_time) / speed``. So emulated time never overtakes a timer that has not
run, and what happens does not depend on the speed or on the machine: only when it happens does.
A machine that cannot keep up makes emulated time *dilate*. A lag of up to ``CATCH_UP`` wall
seconds is caught up; what exceeds it is forgiven by moving the anchor, so that a run never races
after a stall. Pausing, a new speed and a process that was stopped move the anchor too.

**Order.** At one instant timers run one at a time, first set first run, each followed by all that
it makes ready: how many turns of the loop a wake-up takes makes no difference. When nothing is
ready and no timer is due any more, the instant has *settled*, and callbacks given to
`call_when_settled` run, lowest phase first, one at a time; anything that one of them makes ready
or due runs before the next.

**Real events.** A key, a socket or the end of a subprocess is polled for as on any loop. It takes
the emulated time that the wall clock maps to, though never later than the next timer; under
``max`` and in a pause it takes the time that the loop stands at. Timers of the wall clock
(`call_wall_later`, `wall_sleep`) are such events: views are paced by them and so never set a
timer in emulated time.

**Where what is.** `internals` has the turn of the loop and its heap of timers; no other module names private
parts of asyncio. `public` does without them what can be done without, slower and to the same trace, where
`probe` finds at import that they fail, or where the environment says ``EMULATOR_ASYNCIO=public``. `pacing` is
the loop against the wall clock; `timers` counts what is pending.
"""

import os
from typing import TYPE_CHECKING

from emulator.clock.internals import Phase
from emulator.clock.pacing import CATCH_UP, ClockStatistics, EmulatedLoop, MonotonicWall, Speed, Wall
from emulator.clock.probe import private_parts_work
from emulator.clock.timers import Timers

if TYPE_CHECKING or (os.environ.get("EMULATOR_ASYNCIO") != "public" and private_parts_work()):
    from emulator.clock.internals import Alarm, KeyedQueue
else:
    from emulator.clock.public import Alarm, KeyedQueue

__all__ = [
    "CATCH_UP",
    "Alarm",
    "ClockStatistics",
    "EmulatedLoop",
    "KeyedQueue",
    "MonotonicWall",
    "Phase",
    "Speed",
    "Timers",
    "Wall",
]
