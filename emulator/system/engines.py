"""All engines of a lane: which of them an episode goes to, and what happens to several at once."""

from collections.abc import Iterable
from functools import partial
from operator import attrgetter

from emulator.fluid import StepTable
from emulator.randomness import Draws, Streams
from emulator.scenario import Scenario
from emulator.system.chronicle import Chronicle
from emulator.system.engine import Engine, Request


class Engines:
    """The engines of one lane, by number; none where workers generate by themselves."""

    def __init__(self, scenario: Scenario, chronicle: Chronicle, streams: Streams) -> None:
        self.left: set[int] = set()
        """The numbers of those that somebody left, and whose lines are to be served."""
        self.down: set[int] = set()
        """The numbers of those that are down."""
        self._chronicle = chronicle
        self._choices = 0
        shape = scenario.engine
        if shape is None:
            self.all: tuple[Engine, ...] = ()
            return
        step = StepTable(shape.step_ms)
        self.step_of_one = step(1)
        """Milliseconds of a step of a single sequence without context."""
        speeds = Draws(shape.speed.sampler(streams.engine_speeds))
        self.all = tuple(
            Engine(n, shape, step, speed=speeds.next(), chronicle=chronicle, left=self.left)
            for n in range(scenario.engines)
        )
        self.keeps_cache = shape.keep_cache
        self._routing = shape.routing

    # -- requests -----------------------------------------------------------------------------------

    def choose(self, worker: int, group: int) -> Engine:
        """The engine for an episode, of those that are up; of all if none is."""
        up = self.all
        if self.down:
            up = tuple(engine for engine in up if not engine.down) or up
        if self._routing == "least_loaded":
            return min(up, key=_LOAD)
        wanted = {"round_robin": self._choices, "by_worker": worker, "by_group": group}[self._routing]
        around = (self.all[(wanted + place) % len(self.all)] for place in range(len(self.all)))
        chosen = next(engine for engine in around if len(up) == len(self.all) or not engine.down)
        self._choices = chosen.number + 1
        return chosen

    def serve(self) -> None:
        """Admit who waits where somebody left."""
        for number in sorted(self.left):
            self.all[number].serve()

    # -- what happens to several of them ------------------------------------------------------------

    def freeze(self, seconds: float) -> None:
        """Let all stand still for `seconds`, or for so much longer, and admit nobody until `thaw`."""
        for engine in self.all:
            engine.frozen = True
            engine.halt(seconds, "pause")

    def thaw(self) -> None:
        """Let lines be served again when they are served next."""
        for engine in self.all:
            engine.frozen = False
            self.left.add(engine.number)

    def refresh(self, overhead: float) -> None:
        """New weights arrive while requests run."""
        for engine in self.all:
            if engine.running:
                engine.halt(overhead, "refresh")
                if not self.keeps_cache:
                    engine.prefill_again()

    def resolve(self, wanted: int | tuple[int, ...]) -> list[int]:
        """A number of engines means the lowest-numbered that are up; of a list, those that are there."""
        if isinstance(wanted, int):
            return [engine.number for engine in self.all if not engine.down][:wanted]
        return sorted(number for number in wanted if number < len(self.all))

    def slow(self, numbers: Iterable[int], factor: float, seconds: float) -> None:
        """Let some take `factor` times as long for everything, for `seconds`."""
        slowed = [self.all[number] for number in numbers]
        for engine in slowed:
            engine.slow_down(factor)

        def recover() -> None:
            for engine in slowed:
                engine.speed_up(factor)

        # Not counted as pending: its end starts nothing that was not going on.
        self._chronicle.loop.call_at(self._chronicle.now + seconds, recover)

    def crash(self, numbers: Iterable[int], restart_seconds: float) -> tuple[list[Request], list[Request]]:
        """Take engines down for `restart_seconds`; returns what they ran, and what waited there."""
        engines = [self.all[number] for number in numbers if not self.all[number].down]
        lost: list[Request] = []
        waited: list[Request] = []
        for engine in engines:
            lost += engine.crash()
            self.down.add(engine.number)
            self._chronicle.timers.call_at(
                self._chronicle.now + restart_seconds, partial(self._restart, engine)
            )
        for engine in engines:
            for request in list(engine.line):
                engine.take_out(request, cached=False)
                waited.append(request)
        return lost, waited

    def _restart(self, engine: Engine) -> None:
        self.down.discard(engine.number)
        engine.restart()


_LOAD = attrgetter("load")
