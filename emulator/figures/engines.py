"""What the engines of a lane, and the GPUs of its cluster, come to."""

from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from math import fsum
from typing import Any

from emulator import events as ev
from emulator.figures.engine_state import EngineRecord
from emulator.figures.sums import ExactSum, ratio
from emulator.scenario.engines import Cluster


class EngineSums:
    """Events of engines, folded; each is to be given before the state of the `engines` changes by it."""

    def __init__(self, engines: list[EngineRecord]) -> None:
        self.engines = engines
        self.running_max = 0
        self.peak = 0.0
        """The most tokens of context that an engine held at an event."""
        self.stays = ExactSum()
        """Seconds of requests running, by their ends."""
        self.busy = [ExactSum() for _ in engines]
        """Seconds in which each engine ran anything, by their ends."""
        self.generated = ExactSum()
        """Tokens of what has left."""
        self.prefills = ExactSum()
        """Seconds of prefill, of all that has begun."""
        self.trained = ExactSum()
        """Tokens of trained episodes: prompts, output and tools."""

    def sums(self) -> Iterator[ExactSum]:
        """The totals, which may have grown long."""
        yield from (self.stays, *self.busy, self.generated, self.prefills, self.trained)

    def admit(self, e: ev.Admit) -> None:
        """A request begins to run."""
        t, number = e.t, e.engine
        running = len(self.engines[number].running) + 1
        self.stays.add(-t)
        if running == 1:
            self.busy[number].add(-t)
        self.running_max = max(self.running_max, running)
        self.peak = max(self.peak, e.held)
        if e.prefill:
            self.prefills.add(e.prefill)

    def release(self, e: ev.Release) -> None:
        """A request leaves."""
        self.stays.add(e.t)
        if len(self.engines[e.engine].running) == 1:
            self.busy[e.engine].add(e.t)
        self.peak = max(self.peak, e.held)
        self.generated.add(e.tokens)

    def lengthen(self, e: ev.Lengthen) -> None:
        """What is left of a request is longer."""
        self.peak = max(self.peak, e.held)

    def change(self, e: ev.EngineChange) -> None:
        """Something happened to the whole of an engine."""
        self.peak = max(self.peak, e.held)
        self.prefills.add(e.prefill)


class EngineReading:
    """What it all comes to from 0 to `t`, each added up once."""

    def __init__(self, sums: EngineSums, t: float) -> None:
        self._sums = sums
        self._t = t

    @cached_property
    def busy(self) -> list[float]:
        """The seconds in which each engine ran anything."""
        engines, t = self._sums.engines, self._t
        pairs = zip(self._sums.busy, engines, strict=True)
        return [total.value((t,) if engine.running else ()) for total, engine in pairs]

    @cached_property
    def tokens(self) -> float:
        """Tokens generated, of what runs too, lost or not."""
        return self._sums.generated.value(chain.from_iterable(map(self._parts, self._sums.engines)))

    def _parts(self, engine: EngineRecord) -> Iterator[float]:
        steps = engine.steps_at(self._t)
        return (steps - stay.begun for stay in engine.running.values())

    def engine(self, *, preempted: int, wait_seconds: float) -> dict[str, Any]:
        """What `Run.result` has as ``engine``; None where no time has passed.

        ``tokens`` were generated, lost or not, ``tokens_per_second`` by all engines. ``running_mean`` are the
        requests that an engine ran, idle or not, ``running_max`` the most of any. ``prefilling`` is the share
        of the time in which engines ran anything, ``idle`` the time of each in which it ran nothing.
        ``kv_peak`` is the most context of one, in tokens. ``preempted`` requests made room for others, and
        workers waited ``wait_seconds`` in lines of engines.
        """
        sums, t, engines = self._sums, self._t, self._sums.engines
        ran = sums.stays.value(t for engine in engines for _ in engine.running)
        busy = fsum(self.busy)
        return {
            "tokens": self.tokens,
            "tokens_per_second": ratio(self.tokens, t),
            "running_mean": ran / t / len(engines) if t else None,
            "running_max": sums.running_max,
            "prefilling": ratio(sums.prefills.value(), busy) if busy else 0.0,
            "kv_peak": max(sums.peak, *(engine.held_at(t) for engine in engines)),
            "preempted": preempted,
            "idle": [1 - seconds / t for seconds in self.busy] if t else [None for _ in engines],
            "wait_seconds": wait_seconds,
        }

    def gpu_seconds(self, cluster: Cluster, trainer_seconds: float) -> dict[str, float]:
        """What the seconds of all GPUs went to; the trainer was at work for so many seconds."""
        generating = cluster.engine_gpus * fsum(self.busy)
        training = cluster.training_gpus * trainer_seconds
        return {
            "generating": generating,
            "training": training,
            "idle": cluster.gpus * self._t - generating - training,
        }

    def trained_tokens(self) -> float:
        """Tokens of trained episodes: prompts, output and tools."""
        return self._sums.trained.value()
