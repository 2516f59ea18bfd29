"""The system of workers, queue, trainer and strategies, whose episodes go through engines.

How an episode goes is written in `engines`, what is random of it in `plans`, what a result says in `whole`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from math import fsum, inf, prod

from .engine import Engine, Request, Shape
from .engines import Engines
from .heap import Timer
from .parts import RUNNING, Draws, Episode, Group, Settings, Worker
from .system import System
from .turns import Plan


class TurnRequest(Request):
    """A request that tells its worker's account before it moves."""

    __slots__ = ("account",)

    def __init__(
        self,
        tokens: float,
        context: float,
        fresh: float,
        done: Callable[[], None],
        account: Callable[[], None],
    ) -> None:
        super().__init__(tokens, context, fresh, done)
        self.account = account

    def become(self, state: str) -> None:
        self.account()
        super().become(state)


@dataclass
class Trip:
    """An episode on its way. `phase`: reset, resuming, engine, acting."""

    plan: Plan
    factor: float = 1.0
    phase: str = "reset"
    turn: int = 0
    context: float = 0.0
    engine: Engine | None = None
    crashes: int = 0  # of the engine, when it was chosen
    request: Request | None = None
    left_of_reset: float = 0.0  # these two while paused
    tool_until: float = -inf
    limit: Timer | None = None

    def times(self, value: float) -> float:
        return value * self.factor

    def start_over(self) -> None:
        self.phase = "reset"
        self.turn = 0
        self.context = 0.0
        self.engine = self.request = None
        self.left_of_reset = 0.0
        self.tool_until = -inf


@dataclass(frozen=True)
class Generation:
    """What a scenario says of its engines, and what there is random about them."""

    shape: Shape
    speeds: tuple[float, ...]
    routing: str
    plans: Callable[[int], Plan]
    lengths: Callable[[int], float]
    """Of which the length bias is made."""
    token_gpu_ms: float = 0.0
    gpus: float = 1.0
    shared: tuple[float, float] | None = None
    """Seconds of a switch, and the slow-down of an update."""


class GeneratingSystem(System):
    """A run with engines."""

    def __init__(self, settings: Settings, draws: Draws, generation: Generation) -> None:
        self.generation = generation
        self.drawn_updates = draws.updates
        self.batch_tokens = 0.0
        self.trained_tokens: list[float] = []
        super().__init__(settings, replace(draws, durations=generation.lengths, updates=self.update_seconds))
        self.engines = Engines(self, generation.shape, generation.speeds, generation.routing)
        self.trips: dict[int, Trip] = {}
        self.seconds["acting"] = []
        self.seconds["line"] = []

    def trip_of(self, worker: Worker) -> tuple[Episode, Trip]:
        episode = worker.episode
        assert episode is not None
        return episode, self.trips[episode.k]

    # Accounts

    def account(self, worker: Worker) -> None:
        if worker.state != RUNNING:
            super().account(worker)
            return
        now, mark = self.now, worker.mark
        if now == mark:
            return
        worker.mark = now
        episode, trip = self.trip_of(worker)
        if trip.phase == "acting":
            self.seconds["acting"] += (now, -mark)
        elif trip.phase != "engine":
            self.seconds["overhead"] += (now, -mark)
        elif self.frozen_until is not None:
            self.seconds["frozen"] += (now, -mark)
        elif trip.request is not None and trip.request.state == "running":
            self.seconds["generating"] += (now, -mark)
            episode.segments.append((episode.version, mark, now))
        else:
            self.seconds["blocked"] += (now, -mark)
            self.seconds["line"] += (now, -mark)

    def enter(self, worker: Worker, phase: str) -> None:
        self.account(worker)
        self.trip_of(worker)[1].phase = phase

    # The way of an episode

    def start(self, worker: Worker, group: Group) -> None:
        k = len(self.episodes)
        self.trips[k] = Trip(self.generation.plans(k), prod(self.coming_factors.pop(k, [])))
        super().start(worker, group)

    def begin_attempt(self, worker: Worker, episode: Episode) -> None:
        nth = worker.attempts
        worker.attempts += 1
        self.attempts += 1
        trip = self.trips[episode.k]
        self.account(worker)
        trip.start_over()
        self.set_state(worker, RUNNING)
        episode.begun = True
        episode.fails = self.draws.failures(worker.number, nth)
        self.set_limit(worker, trip, self.settings.timeout)
        self.wait(worker, self.draws.resets(worker.number, nth) / worker.speed, self.ask)

    def set_limit(self, worker: Worker, trip: Trip, seconds: float | None) -> None:
        if seconds is not None:
            trip.limit = self.agenda.set(
                self.now + seconds, partial(self.attempt_ends, worker, in_time=False)
            )

    def wait(self, worker: Worker, seconds: float, then: Callable[[Worker], None]) -> None:
        """The one timer of a worker: what is over at once sets none."""
        worker.timer = None
        if seconds > 0:
            worker.timer = self.agenda.set(self.now + seconds, partial(then, worker))
        else:
            then(worker)

    def ask(self, worker: Worker) -> None:
        """Make the request of this turn, or what is left of it."""
        worker.timer = None
        episode, trip = self.trip_of(worker)
        self.enter(worker, "engine")
        turn = trip.plan.turns[trip.turn]
        lost = trip.engine is not None and trip.engine.crashes != trip.crashes
        if trip.engine is None or lost:
            trip.engine = self.engines.choose(worker.number, episode.group.number)
            trip.crashes = trip.engine.crashes
        request = trip.request
        if request is None:
            new = trip.plan.turns[trip.turn - 1].tool_tokens if trip.turn else trip.plan.prompt
            context = trip.context + new
            cached = self.generation.shape.keep_cache and trip.turn > 0
            request = trip.request = TurnRequest(
                trip.times(turn.tokens),
                context,
                new if cached else context,
                partial(self.turn_ends, episode),
                partial(self.account_episode, episode),
            )
        if lost:
            request.fresh = request.context
        trip.engine.join(request)

    def account_episode(self, episode: Episode) -> None:
        if episode.worker is not None:
            self.account(episode.worker)

    def turn_ends(self, episode: Episode) -> None:
        worker, trip = episode.worker, self.trips[episode.k]
        assert worker is not None
        assert trip.request is not None
        trip.context = trip.request.context
        trip.request = None
        tool = trip.times(trip.plan.turns[trip.turn].tool_seconds) / worker.speed
        trip.turn += 1
        if trip.turn == len(trip.plan.turns):
            self.attempt_ends(worker, in_time=True)
        else:
            self.enter(worker, "acting")
            self.wait(worker, tool, self.ask)

    def attempt_ends(self, worker: Worker, *, in_time: bool) -> None:
        episode = worker.episode
        assert episode is not None
        self.account(worker)
        self.quit(worker, episode)
        if in_time and not episode.fails:
            self.finish(worker, episode)
            return
        episode.failed_attempts += 1
        if episode.failed_attempts <= self.settings.retries:
            self.waste(episode)
            self.begin_attempt(worker, episode)
            self.engines.serve()
            return
        freed: set[Worker] = set()
        self.end(episode, "failed", freed)
        self.judge([episode.group], freed)
        self.go_on(freed)

    def quit(self, worker: Worker, episode: Episode) -> None:
        """Leave engine and timers, with what is left of the request."""
        trip = self.trips[episode.k]
        self.agenda.cancel(worker.timer)
        self.agenda.cancel(trip.limit)
        if trip.request is not None and trip.engine is not None:
            trip.engine.take_out(trip.request, cached=self.generation.shape.keep_cache)

    def detach(self, worker: Worker, episode: Episode) -> None:
        self.quit(worker, episode)
        super().detach(worker, episode)

    def pause(self, worker: Worker, episode: Episode, keep: bool) -> None:
        if not (keep and episode.begun):
            super().pause(worker, episode, keep)
            return
        self.account(worker)
        trip = self.trips[episode.k]
        if trip.limit is not None:
            episode.limit_left = trip.limit.due - self.now
        if worker.timer is not None and trip.phase in ("reset", "resuming"):
            trip.left_of_reset = worker.timer.due - self.now
        if worker.timer is not None and trip.phase == "acting":
            trip.tool_until = worker.timer.due
        episode.state = "paused"
        self.detach(worker, episode)

    def resume(self, worker: Worker, episode: Episode) -> None:
        trip = self.trips[episode.k]
        self.account(worker)
        trip.phase = "resuming"
        self.set_state(worker, RUNNING)
        self.set_limit(worker, trip, None if trip.limit is None else episode.limit_left)
        overhead = self.settings.strategy.get("resume_overhead") or 0
        left, trip.left_of_reset = trip.left_of_reset, 0.0
        self.wait(worker, overhead + left, self.resumed)

    def resumed(self, worker: Worker) -> None:
        """Go on: in a tool that still runs, or with a request."""
        trip = self.trip_of(worker)[1]
        until, trip.tool_until = trip.tool_until, -inf
        if until > self.now:
            self.enter(worker, "acting")
            worker.timer = self.agenda.set(until, partial(self.ask, worker))
        else:
            self.ask(worker)

    def go_on(self, freed: Iterable[Worker] = ()) -> None:
        super().go_on(freed)
        self.engines.serve()

    # The trainer

    def train(self, batch: list[Group]) -> None:
        contexts = [self.trips[episode.k].context for group in batch for episode in group.finished]
        self.batch_tokens = fsum(contexts)
        self.trained_tokens += contexts
        super().train(batch)

    def update_seconds(self, number: int) -> float:
        generation = self.generation
        seconds = self.drawn_updates(number)
        seconds += self.batch_tokens / 1000 * generation.token_gpu_ms / 1000 / generation.gpus
        if generation.shared is None:
            return seconds
        switch, slowdown = generation.shared
        return switch + seconds * slowdown + switch

    # Freezes, refreshes, faults

    def freeze(self, until: float, seconds: float) -> None:
        for worker in self.workers:
            self.account(worker)
        self.frozen_until = until
        self.engines.freeze(seconds)

    def thaw(self) -> None:
        super().thaw()
        self.engines.thaw()

    def refresh(self, overhead: float) -> None:
        super().refresh(0.0)
        self.engines.refresh(overhead)

    def rescale(self, worker: Worker, change: Callable[[float], float]) -> None:
        """Stretch what is left of a reset or a tool."""
        timer = worker.timer
        if worker.state != RUNNING or timer is None or not timer.live:
            return
        if self.trip_of(worker)[1].phase in ("reset", "acting"):
            worker.timer = self.agenda.again(timer, self.now + change(timer.due - self.now))

    def straggle(self, episode: Episode, factor: float) -> None:
        if episode.state not in ("running", "paused"):
            return
        trip = self.trips[episode.k]
        trip.factor *= factor
        if trip.request is not None and trip.engine is not None:
            trip.engine.lengthen(trip.request, factor)

    def crash_engines(self, which: int | list[int], restart_seconds: float) -> None:
        lost, waited = self.engines.crash(which, restart_seconds)
        freed: set[Worker] = set()
        failed = [e for worker, e in self.running() if self.trips[e.k].request in lost]
        for episode in failed:
            self.end(episode, "failed", freed)
        self.judge([episode.group for episode in failed], freed)
        for request in waited:
            for worker, episode in self.running():
                if self.trips[episode.k].request is request:
                    self.ask(worker)
        self.go_on(freed)
