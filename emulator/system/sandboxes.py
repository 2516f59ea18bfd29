"""The environment: a pool of sandboxes, how long they take to reset, and which attempts fail."""

from collections.abc import Callable
from itertools import repeat
from math import inf

import numpy as np

from emulator.randomness import Draws, Streams
from emulator.scenario.parts import Environment
from emulator.system.episodes import Episode


class SandboxPool:
    """Sandboxes handed out first come, first served; a size of None has one for everybody."""

    def __init__(self, size: int | None) -> None:
        self._free = size
        self.line: dict[int, Callable[[], None]] = {}
        """Who waits for one, in order, and what is called when it is there."""

    def acquire(self, worker: int, begin: Callable[[], None]) -> bool:
        """Take a sandbox now, or stand in line and have `begin` called when one is handed over."""
        if self._free is None:
            return True
        if self._free and not self.line:
            self._free -= 1
            return True
        self.line[worker] = begin
        return False

    def leave_line(self, worker: int) -> None:
        """Stop waiting."""
        del self.line[worker]

    def take_back(self, episode: Episode) -> None:
        """An episode needs its sandbox, if it has one, no longer; it is free until `serve`."""
        if episode.has_sandbox:
            episode.has_sandbox = False
            if self._free is not None:
                self._free += 1

    def serve(self) -> None:
        """Hand free sandboxes to those in line."""
        while self._free and self.line:
            self._free -= 1
            self.line.pop(next(iter(self.line)))()


class Attempts:
    """What one worker meets in its attempts.

    `next_reset` gives the seconds of the next reset, `next_fails` whether the next attempt fails at its end;
    one is abandoned after `timeout_seconds`.
    """

    def __init__(self, environment: Environment, streams: Streams, worker: int) -> None:
        resets, failures = streams.environment(worker).spawn(2)
        probability = environment.failure_probability
        self.next_reset: Callable[[], float] = Draws(environment.reset_seconds.sampler(resets), block=64).next
        self._next_chance = Draws(np.random.default_rng(failures).random, block=64).next
        self._probability = probability
        self.next_fails: Callable[[], bool] = self._draw_fails if probability else repeat(False).__next__
        timeout = environment.timeout_seconds
        self.timeout_seconds = inf if timeout is None else timeout

    def _draw_fails(self) -> bool:
        return self._next_chance() < self._probability
