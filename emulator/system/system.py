"""One emulated system: workers, queue and trainer on a loop, from emulated time 0 to the end.

Workers and the trainer are tasks that sleep and call in. What happens to several of them at once happens
in plain calls that finish within the instant, in worker order: the `Book` decides, the `Workforce` carries
out. All that leaves is the events that are written in the `Journal`.
"""

import asyncio
from collections.abc import Coroutine
from contextvars import copy_context
from functools import partial

from emulator.clock import EmulatedLoop, Phase, Timers
from emulator.errors import DeadlockError, RunError
from emulator.journal import Journal
from emulator.learner import Learner
from emulator.randomness import Draws, Streams
from emulator.scenario import Scenario
from emulator.system.book import Book
from emulator.system.chronicle import Chronicle
from emulator.system.deadlock import explain
from emulator.system.engine_worker import EngineWorker
from emulator.system.engines import Engines
from emulator.system.episodes import Source
from emulator.system.learning import Learning, LearningSource
from emulator.system.lengths import shares_of
from emulator.system.plans import plans_of
from emulator.system.queue import EpisodeQueue, LoneEpisodeQueue
from emulator.system.sandboxes import Attempts, SandboxPool
from emulator.system.summons import Summons
from emulator.system.timeline import Timeline
from emulator.system.trainer import TrainerTask
from emulator.system.trips import Trips
from emulator.system.updates import UpdateTimes
from emulator.system.worker import Worker
from emulator.system.workforce import Workforce


class System:
    """The system of one scenario on a loop, with what learns in it, if anything does.

    It makes the parts, each with just what it needs, and lets them run; none of them knows it.
    """

    def __init__(
        self, scenario: Scenario, loop: EmulatedLoop, journal: Journal, learner: Learner | None = None
    ) -> None:
        rollout, trainer, environment = scenario.rollout, scenario.trainer, scenario.environment
        streams = Streams(scenario.seed)
        timers = Timers(loop, self._expect_deadlock)
        chronicle = Chronicle(loop, journal, timers, trainer.batch_size)
        decisions = scenario.strategy.decisions(scenario.setting)
        engines = Engines(scenario, chronicle, streams)
        trips: Trips | None = None
        if scenario.engine is None:
            next_length = Draws(rollout.durations(streams.durations, streams.groups)).next
        else:
            trips = Trips(plans_of(rollout, streams, engines.step_of_one))
            next_length = trips.next_length
        speeds = Draws(rollout.speed.sampler(streams.worker_speeds))
        updates = Draws(trainer.update_seconds.sampler(streams.updates))
        make_source = Source if learner is None else LearningSource
        source = make_source(next_length, rollout.group_size, rollout.group_redundancy)
        queue = (LoneEpisodeQueue if source.alone else EpisodeQueue)(rollout.queue_capacity or 0)
        sandboxes = SandboxPool(environment.sandboxes if environment else None)
        summons = Summons(loop)
        workers: dict[int, Worker] = {}
        book = Book(decisions, source, workers, environment.retries if environment else 0)

        def make_worker(number: int) -> Worker:
            attempts = None if environment is None else Attempts(environment, streams, number)
            make = Worker if trips is None else partial(EngineWorker, engines=engines, trips=trips)
            return make(
                number,
                chronicle=chronicle,
                sandboxes=sandboxes,
                speed=speeds.next(),
                attempts=attempts,
                resume_overhead=decisions.resume_overhead,
            )

        workforce = Workforce(
            chronicle=chronicle,
            decisions=decisions,
            book=book,
            queue=queue,
            sandboxes=sandboxes,
            engines=engines,
            summons=summons,
            workers=workers,
            make=make_worker,
            spawn=self._spawn,
            plain=source.alone
            and environment is None
            and rollout.queue_capacity is None
            and decisions.admits_all
            and decisions.refresh_overhead == 0
            and not decisions.freezes_for_push
            and learner is None,  # which asks its episodes what generated them
        )
        learning = None
        if learner is not None:
            learning = Learning(chronicle, learner, shares_of(rollout), workforce.untrained)
        self._trainer = TrainerTask(
            chronicle=chronicle,
            decisions=decisions,
            book=book,
            queue=queue,
            workforce=workforce,
            summons=summons,
            learning=learning,
            times=UpdateTimes(scenario, updates.next),
            push_seconds=trainer.weight_sync_seconds,
            publish_every=trainer.publish_every,
        )
        self.timeline = Timeline(
            chronicle=chronicle,
            entries=scenario.events,
            workforce=workforce,
            engines=engines,
            book=book,
            trainer=self._trainer,
        )
        self._scenario = scenario
        self._chronicle = chronicle
        self._decisions = decisions
        self._queue = queue
        self._summons = summons
        self._workforce = workforce
        self._engines = engines
        self._tasks: list[asyncio.Task[None]] = []
        # What each of 100,000 tasks would else have of its own.
        self._context = copy_context()
        self._note_end = self._task_done
        self._check_requested = False

    async def run(self) -> None:
        """Run until the scenario's duration has passed.

        Raises DeadlockError when nothing can happen any more, and EndlessInstantError when no time passes.
        """
        try:
            self._start()
            await self._chronicle.ended
        finally:
            self._chronicle.close()
            for task in self._tasks:
                task.cancel()
            while not all(task.done() for task in self._tasks):
                await asyncio.sleep(0)
            # How each was cancelled has a traceback, and that keeps all that called it.
            self._tasks.clear()

    def _start(self) -> None:
        for _ in range(self._scenario.rollout.workers):
            self._workforce.add()
        self._spawn(self._trainer.run())
        for engine in self._engines.all:
            self._spawn(engine.run())
            engine.start()
        loop = self._chronicle.loop
        loop.call_at(self._scenario.duration, loop.call_when_settled, Phase.END, self._chronicle.end)
        self.timeline.start()
        self._workforce.begin()
        if not self._chronicle.timers.pending:
            self._expect_deadlock()

    def _spawn(self, coroutine: Coroutine[None, None, None]) -> None:
        """Run a task until the lane ends; the lane fails if the task does."""
        name = self._scenario.lane or "lane"
        task = self._chronicle.loop.create_task(coroutine, name=name, context=self._context)
        task.add_done_callback(self._note_end)
        self._tasks.append(task)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        chronicle = self._chronicle
        if task.cancelled():
            if not chronicle.timers.ended:
                # A learner can do that to the task that it is called in.
                message = f"one of the lane's tasks was cancelled from outside at {chronicle.now:g} s"
                chronicle.fail(RunError(message))
        elif (error := task.exception()) is not None:
            chronicle.fail(error)

    def _expect_deadlock(self) -> None:
        """Nothing is pending; see when the instant has settled whether that is still so."""
        if not self._check_requested:
            self._check_requested = True
            self._chronicle.loop.call_when_settled(Phase.CHECK, self._check_deadlock)

    def _check_deadlock(self) -> None:
        self._check_requested = False
        now = self._chronicle.now
        if not self._chronicle.timers.pending and now < self._scenario.duration:
            waits = explain(
                self._scenario,
                self._decisions.batch_groups,
                self._queue,
                self._workforce.workers.values(),
                trainer_free=self._summons.awaited,
            )
            self._chronicle.fail(DeadlockError(now, waits))
