"""Seeded streams of random numbers, one for each purpose, so that no purpose ever disturbs another."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray


@dataclass(frozen=True)
class Streams:
    """The streams of one run, each the seed of a generator of its own.

    Every stream depends on ``seed`` (a whole number from 0) and on its purpose only: not on which others
    were asked for, nor how often, nor in what order. They equal the children of those numbers that
    ``SeedSequence(seed).spawn`` would give.
    """

    seed: int

    @property
    def durations(self) -> SeedSequence:
        """Durations of episodes."""
        return self._child(0)

    @property
    def updates(self) -> SeedSequence:
        """Durations of the trainer's updates."""
        return self._child(1)

    @property
    def worker_speeds(self) -> SeedSequence:
        """Speeds of workers, one drawn for each."""
        return self._child(2)

    def environment(self, worker: int) -> SeedSequence:
        """Resets and failures met by the worker of that number (from 0)."""
        return self._child(3, worker)

    @property
    def learner(self) -> SeedSequence:
        """Whatever the learner draws."""
        return self._child(4)

    @property
    def plans(self) -> SeedSequence:
        """What episodes do in their turns."""
        return self._child(5)

    @property
    def engine_speeds(self) -> SeedSequence:
        """Speeds of engines, one drawn for each."""
        return self._child(7)

    @property
    def groups(self) -> SeedSequence:
        """What the episodes of a group have in common."""
        return self._child(6)

    def _child(self, *key: int) -> SeedSequence:
        return SeedSequence(self.seed, spawn_key=key)


class Draws:
    """The values of an endless sequence one by one, fetched from its sampler in blocks.

    ``sampler(n)`` gives the next ``n`` values; drawing them singly costs seven times as much.
    """

    def __init__(self, sampler: Callable[[int], NDArray[np.float64]], block: int = 1024) -> None:
        def blocks() -> Iterator[list[float]]:
            while True:
                yield sampler(block).tolist()

        self.next: Callable[[], float] = chain.from_iterable(blocks()).__next__
        """Returns the next value, a plain ``float``."""
