"""A recording as it is played: the same dashboard, at any speed, with seeking back and forth.

Emulated time passes on the loop as in a run, so pacing, pauses and steps are the clock's; where the
recording stands is that time since the last jump, and where the jump went to. A timer for the next moment
at which something happens keeps it from being overtaken, and is what a step and the highest speed go to.
"""

import asyncio
import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import anyio

from emulator.clock import EmulatedLoop, Speed
from emulator.dashboard.live import Options, Show
from emulator.dashboard.replay_states import SCRUB_KEYS, States, cut_text, following
from emulator.dashboard.state import ShownLane
from emulator.dashboard.terminal import Terminal
from emulator.recording import Recording
from emulator.scenario import Scenario

_GRACE = 1.0  # wall seconds after a jump in which the next one goes on from where that went to


class Replay:
    """A recording on a loop, from the start; it is a `Watched`.

    `now` never goes beyond the end; there it stands until a jump back.
    """

    replay = True

    def __init__(self, recording: Recording, states: States, loop: EmulatedLoop) -> None:
        self.clock = loop
        self.scenarios: Sequence[Scenario] = states.scenarios
        self.interrupted = False
        self._states = states
        end = "the end of the recording" if recording.cut is None else cut_text(states.t_end)
        self._at_the_end = f"{end}; arrows go back, q closes"
        self._jumped_at = -_GRACE
        self._jumped_to = 0.0
        self._stand(0.0)

    @property
    def now(self) -> float:
        """Emulated seconds: where the recording stands."""
        return min(self._from + (self.clock.time() - self._from_loop), self._next)

    @property
    def ended(self) -> bool:
        """Whether it stands at its end."""
        return self._from >= self._states.t_end

    @property
    def standing(self) -> str | None:
        """That it is at its end, if it is."""
        return self._at_the_end if self.ended else None

    def lanes(self) -> list[ShownLane]:
        """The lanes as they stood at `now`."""
        return self._states.at(self.now)

    def stop(self) -> None:
        """Close the recording."""
        self.interrupted = True

    def jump(self, t: float) -> None:
        """Go to the emulated time `t`, or as near as the recording has it."""
        self._timer.cancel()
        self._stand(min(max(t, 0.0), self._states.t_end))

    def scrub(self, key: str) -> bool:
        """Jump, if that is what a key is for; returns whether it is."""
        if key not in SCRUB_KEYS:
            return False
        wall = self._wall()
        here = self._jumped_to if wall - self._jumped_at < _GRACE else self.now
        to = self._states.goal(key, self.now, here)
        if to is not None:
            self.jump(to)
            self._jumped_at, self._jumped_to = wall, self._from
        return True

    def inject(self, key: str) -> str:
        """Refuse to change what has happened."""
        return "a recording: nothing can be injected"

    def _stand(self, t: float) -> None:
        """Stand at `t` now, and go on from there to the next moment at which something happens."""
        self._from, self._from_loop = t, self.clock.time()
        coming = following(self._states.times, t)
        self._next = t if coming is None else coming
        wait = self._next - t if coming is not None else float("inf")
        self._timer = self.clock.call_later(wait, self._arrive)

    def _arrive(self) -> None:
        self._stand(self._next)

    def _wall(self) -> float:
        statistics = self.clock.statistics()
        return statistics.wall_seconds + statistics.paused_seconds


def play(recording: Recording, speed: Speed, terminal: Terminal, options: Options) -> None:
    """Play a recording on a terminal until a person has seen enough of it."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, EmulatedLoop)
        await Show(Replay(recording, states, loop), terminal, options).run()

    with _nothing_collected():
        states = States(recording)
        anyio.run(main, backend_options={"loop_factory": partial(EmulatedLoop, speed)})


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Spare the events of the recording the garbage collector, which would go through them at every jump."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
