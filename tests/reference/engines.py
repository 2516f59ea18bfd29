"""All engines of a run: who chooses which, pauses, slow-downs, crashes; and what episodes do at them.

Engines
- An attempt at an episode chooses when its reset is over, and keeps that engine to its end, through tools and
  pauses, in the hands of any worker (also with `by_worker`); a retry and a deferred episode choose again.
- `least_loaded`: fewest of running and waiting, the lowest number of equals. `round_robin`: the next after
  the one that was chosen last. `by_worker`, `by_group`: the worker's or group's number modulo `count`. Only
  engines that are up are chosen: from the wanted one upwards, around. With none up, all count as up: the
  request waits there for the restart.
- A pause of so many seconds: on each engine, V to now, `stopped_until = max(now, stopped_until) + seconds`,
  the alarm anew; no admission until the publication that ends it. A pause that is made longer (a stalled
  trainer) adds the same way.
- Publication: what runs is refreshed, what is stale cancelled, the workers that this freed and those at the
  gate go on, then the lines of all engines are served, by number.
- New weights `in_flight`: each engine that runs anything stops for the refresh overhead, then for the prefill
  of its K at that moment if `keep_cache` is false: `halt` twice. A running tool, a reset and a line are not
  delayed by it, but get the version. Weights that come with the next episode prefill nothing again, also
  where they pause the engines.
- A crash takes engines that are up (a number means the lowest of those); one that is down stays as it is.
  All go down first, each setting its restart, a timer also after 0 seconds. Then what they ran has failed, in
  worker order, and groups that cannot complete are lost; then what is left of their lines chooses again,
  engines by number, each in order, everything to be prefilled; only then do the workers that it freed go
  on. V = K = 0, `stopped_until` = now. Who was at a tool, or paused, finds at its next request that its
  engine crashed since: it chooses again, and prefills everything.
- A slow-down in force stays with an engine through its crash.

Episodes
- The worker's states: `overhead` until its reset (or the overhead of a resume) is over, then `blocked` in an
  engine's line, `generating` from the admission to the end of the turn (prefills, stops and refreshes
  included), `acting` while its tool runs, again `blocked`, and so on. A wait of no time is no state.
- A pause of weights freezes engines, not workers: resets, tools, timeouts and restarts run on and keep their
  due times, so it counts towards a timeout. `frozen` is what would be generating, blocked, waiting or gated.
- A reset, a tool, an overhead of a resume of 0 seconds sets no timer: the request is made at once.
- A timeout is a timer of its own, set when the attempt begins (or resumes), before that of the reset: at
  the instant at which the alarm is due as well, the order of setting decides, as everywhere.
- Paused in a tool: resumed, it acts until the tool is done (at once, if it is) after the overhead of the
  resume; in a line or running: the request is made again after that overhead, at the end of the line, with
  nothing to prefill if it ran and the cache is kept, with what it waited to prefill if it waited.
- Aborted, failed, timed out: out at once. Lines are served when the event has ended all that it ends and the
  workers that it freed have gone on: engines by number, those that somebody left.
- Deferred: from the start: all tokens, the reset, a new choice.
- A straggler multiplies the tokens of the request that is under way as far as they are still to come, the
  tokens of all later turns, and the seconds of tools that have not begun. A tool that runs ends as it was
  to. The speed of a worker divides its resets and tools, when they begin; a slow-down of workers that
  begins or ends meanwhile stretches what is left of them, `due = now + (due - now) * factor`, or `/ factor`.
- The work of `episode_seconds` is `seconds * 1000 / step(1)` steps, of an engine of speed 1: on a faster one
  it takes less. Its prompt and context are 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from .engine import Clock, Engine, Request, Shape


class Engines:
    """All engines, and which of them an episode chooses."""

    def __init__(
        self, clock: Clock, shape: Shape, speeds: Sequence[float], routing: str = "least_loaded"
    ) -> None:
        self.clock = clock
        self.all = [Engine(clock, shape, speed) for speed in speeds]
        self.routing = routing
        self.choices = 0

    def choose(self, worker: int, group: int) -> Engine:
        engines = self.all
        up = [engine for engine in engines if not engine.down] or engines
        if self.routing == "least_loaded":
            return min(up, key=Engine.load)  # the first of equals
        wanted = {"round_robin": self.choices, "by_worker": worker, "by_group": group}[self.routing]
        around = [engines[(wanted + i) % len(engines)] for i in range(len(engines))]
        chosen = next(engine for engine in around if engine in up)
        if self.routing == "round_robin":
            self.choices = engines.index(chosen) + 1
        return chosen

    def serve(self) -> None:
        """Let in who waits, where somebody left."""
        for engine in self.all:
            if engine.left:
                engine.serve()

    def freeze(self, seconds: float) -> None:
        """Pause all, or pause for so much longer."""
        for engine in self.all:
            engine.frozen = True
            engine.halt(seconds)

    def thaw(self) -> None:
        """Admissions are possible again, and made when the lines are served next."""
        for engine in self.all:
            engine.frozen = False
            engine.left = True

    def refresh(self, overhead: float) -> None:
        """New weights, in flight."""
        for engine in self.all:
            if engine.running:
                engine.halt(overhead)
                if not engine.shape.keep_cache:
                    engine.halt(engine.prefill(engine.context))

    def named(self, which: int | Iterable[int]) -> list[Engine]:
        """The lowest-numbered that are up, or those that are listed, by number."""
        if isinstance(which, int):
            return [engine for engine in self.all if not engine.down][:which]
        return [self.all[number] for number in sorted(set(which)) if number < len(self.all)]

    def slow(self, which: int | Iterable[int], factor: float, seconds: float | None) -> None:
        engines = self.named(which)
        mark = (object(), factor)
        for engine in engines:
            engine.set_slow([*engine.slow, mark])

        def end() -> None:
            for engine in engines:
                engine.set_slow([other for other in engine.slow if other is not mark])

        if seconds is not None:
            self.clock.agenda.set(self.clock.now + seconds, end, counts=False)

    def crash(
        self, which: int | Iterable[int], restart_seconds: float
    ) -> tuple[list[Request], list[Request]]:
        """Take engines down: what ran there, and what waited and has to choose again."""
        engines = [engine for engine in self.named(which) if not engine.down]
        lost: list[Request] = []
        waited: list[Request] = []
        for engine in engines:
            lost += engine.crash()
            self.clock.agenda.set(self.clock.now + restart_seconds, partial(self.restart, engine))
        for engine in engines:
            for request in list(engine.line):
                engine.take_out(request, cached=False)
                request.fresh = request.context
                waited.append(request)
        return lost, waited

    def restart(self, engine: Engine) -> None:
        engine.down = False
        engine.serve()
