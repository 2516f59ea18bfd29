"""The environment: a pool of sandboxes, how long they take to reset, and which attempts fail."""

from collections.abc import Callable

import numpy as np

from emulator.randomness import Draws, Streams
from emulator.scenario.parts import Environment
from emulator.system.episodes import Episode


class SandboxPool:
    """Sandboxes handed out first come, first served; a size of None has one for everybody."""

    def __init__(self, size: int | None) -> None:
        self._free = size
        self._line: dict[int, Callable[[], None]] = {}

    def acquire(self, worker: int, begin: Callable[[], None]) -> bool:
        """Take a sandbox now, or stand in line and have `begin` called when one is handed over."""
        if self._free is None:
            return True
        if self._free and not self._line:
            self._free -= 1
            return True
        self._line[worker] = begin
        return False

    def leave_line(self, worker: int) -> None:
        """Stop waiting."""
        del self._line[worker]

    def take_back(self, episode: Episode) -> None:
        """An episode needs its sandbox, if it has one, no longer; it is free until `serve`."""
        if episode.has_sandbox:
            episode.has_sandbox = False
            if self._free is not None:
                self._free += 1

    def serve(self) -> None:
        """Hand free sandboxes to those in line."""
        while self._free and self._line:
            self._free -= 1
            self._line.pop(next(iter(self._line)))()


class Attempts:
    """What one worker meets in its attempts: the seconds of each reset, and whether the attempt fails."""

    def __init__(self, environment: Environment, streams: Streams, worker: int) -> None:
        resets, failures = streams.environment(worker).spawn(2)
        self._resets = Draws(environment.reset_seconds.sampler(resets), block=64)
        self._chances = Draws(np.random.default_rng(failures).random, block=64)
        self._failure_probability = environment.failure_probability

    def next_reset(self) -> float:
        """Seconds of the next reset."""
        return self._resets.next()

    def next_fails(self) -> bool:
        """Whether the next attempt fails at its end."""
        return self._chances.next() < self._failure_probability
