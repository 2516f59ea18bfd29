"""One emulated system: workers, queue and trainer on a loop, from emulated time 0 to the end.

Workers and the trainer are tasks that sleep and call in. What happens to several of them at once happens
in plain calls that finish within the instant, in worker order: in the `Workforce`, the `Book` of episodes
and the `PolicyStore`. All that leaves is the events that are written in the `Journal`.
"""

import asyncio
from collections.abc import Coroutine
from contextvars import copy_context

from emulator import events as ev
from emulator.clock import EmulatedLoop, Phase, Timers
from emulator.errors import DeadlockError, EndlessInstantError, OutOfRangeError, RunError
from emulator.journal import Journal
from emulator.learner import Learner
from emulator.randomness import Draws, Streams
from emulator.scenario import Scenario
from emulator.system.book import Book
from emulator.system.deadlock import explain
from emulator.system.episodes import Source
from emulator.system.learning import Learning, LearningSource
from emulator.system.policy import PolicyStore
from emulator.system.queue import EpisodeQueue, LoneEpisodeQueue
from emulator.system.sandboxes import SandboxPool
from emulator.system.timeline import Timeline
from emulator.system.trainer import Trainer
from emulator.system.workforce import Workforce
from emulator.values.scalars import LEAST_FACTOR, MOST_FACTOR

EVENTS_PER_INSTANT = 10_000
EVENTS_PER_INSTANT_AND_SIZE = 20
"""An instant with more events than the first plus this many for each worker and batch place never ends.

Few enough that the episodes of such an instant, which all lie in the queue, take little more memory than the
workers do. What an injection brings about at its instant is counted by itself, since injections have an end.
"""

NO_TIME = 1e-6
"""Seconds that count as one instant here: durations of almost nothing come to no end either."""


class Lane:
    """The system of one scenario on a loop, with what learns in it, if anything does."""

    def __init__(
        self, scenario: Scenario, loop: EmulatedLoop, journal: Journal, learner: Learner | None = None
    ) -> None:
        rollout, trainer = scenario.rollout, scenario.trainer
        streams = Streams(scenario.seed)
        self.scenario = scenario
        self.loop = loop
        self.journal = journal
        self.environment = scenario.environment
        self.timers = Timers(loop, self._expect_deadlock)
        self.strategy = scenario.strategy.decisions(scenario.setting)
        self.alone = rollout.group_size + rollout.group_redundancy == 1
        """Whether episodes have no groups."""
        self.plain = (
            self.alone
            and self.environment is None
            and rollout.queue_capacity is None
            and self.strategy.admits_all
            and self.strategy.refresh_overhead == 0
            and not self.strategy.freezes_for_push
            and learner is None  # which asks its episodes what generated them
        )
        """Whether nothing can come between the finish of an episode and the start of its worker's next."""
        self.queue = (LoneEpisodeQueue if self.alone else EpisodeQueue)(rollout.queue_capacity or 0)
        self.sandboxes = SandboxPool(self.environment.sandboxes if self.environment else None)
        durations = Draws(rollout.episode_seconds.sampler(streams.durations))
        source = Source if learner is None else LearningSource
        self.book = Book(self, source(durations.next, rollout.group_size, rollout.group_redundancy))
        self.workforce = Workforce(self, streams)
        self.policy = PolicyStore(self)
        self.learning = None if learner is None else Learning(self, learner)
        self.trainer = Trainer(self, Draws(trainer.update_seconds.sampler(streams.updates)).next)
        self.timeline = Timeline(self)
        self._ended: asyncio.Future[None] = loop.create_future()
        self._tasks: list[asyncio.Task[None]] = []
        # What each of 100,000 tasks would else have of its own.
        self._context = copy_context()
        self._note_end = self._task_done
        self._check_requested = False
        self._instant = 0.0
        self._events_before_instant = 0

    @property
    def now(self) -> float:
        """Emulated seconds since the start."""
        return self.loop.time()

    async def run(self) -> None:
        """Run until the scenario's duration has passed.

        Raises DeadlockError when nothing can happen any more, and EndlessInstantError when no time passes.
        """
        try:
            self._start()
            await self._ended
        finally:
            self._end_journal()
            self.timers.ended = True
            for task in self._tasks:
                task.cancel()
            while not all(task.done() for task in self._tasks):
                await asyncio.sleep(0)
            # How each was cancelled has a traceback, and that keeps all that called it.
            self._tasks.clear()

    def _start(self) -> None:
        for _ in range(self.scenario.rollout.workers):
            self.workforce.add()
        self.spawn(self.trainer.run())
        self.loop.call_at(self.scenario.duration, self._settle_and_end)
        self.timeline.start()
        self.book.open_round()
        self.workforce.begin()
        if not self.timers.pending:
            self._expect_deadlock()

    def _settle_and_end(self) -> None:
        self.loop.call_when_settled(Phase.END, self._end)

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def _fail(self, error: BaseException) -> None:
        self._end_journal()
        if not self._ended.done():
            self._ended.set_exception(error)

    def _end_journal(self) -> None:
        """Let nothing more out."""
        self.journal.close()

    def spawn(self, coroutine: Coroutine[None, None, None]) -> None:
        """Run a task until the lane ends; the lane fails if the task does."""
        task = self.loop.create_task(coroutine, name=self.scenario.lane or "lane", context=self._context)
        task.add_done_callback(self._note_end)
        self._tasks.append(task)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            if not self.timers.ended:
                # A learner can do that to the task that it is called in.
                self._fail(RunError(f"one of the lane's tasks was cancelled from outside at {self.now:g} s"))
        elif (error := task.exception()) is not None:
            self._fail(error)

    def emit(self, event: ev.Event) -> None:
        """Let an event out."""
        self.journal.write(event)
        self.watch_instant(event)

    def emit_uncounted(self, event: ev.Event) -> None:
        """Let an event out that has no part in the limit of an instant."""
        self.journal.write(event)
        self._events_before_instant += 1

    def in_range(self, value: float, what: str) -> float:
        """A speed or a factor, `what` it is of; the lane fails if it is beyond what can be computed with.

        Every due time is made of a duration, times a factor, over a speed. Durations as drawn are finite: a
        Pareto of the heaviest tail has the longest, some 1e202 s. With the rest in range, so are due times.
        """
        if LEAST_FACTOR <= value <= MOST_FACTOR:
            return value
        self._fail(OutOfRangeError(self.now, what, value, LEAST_FACTOR, MOST_FACTOR))
        return min(max(value, LEAST_FACTOR), MOST_FACTOR)  # for the rest of the instant

    def watch_instant(self, event: ev.Event) -> None:
        """See to it that time passes; `event` is what has just been let out."""
        written = len(self.journal)
        if event.t > self._instant + NO_TIME:
            self._instant = event.t
            self._events_before_instant = written
        elif written - self._events_before_instant > (most := self._most_events_at_instant()):
            self._fail(EndlessInstantError(event.t, most, ev.encode(event)))
        self.journal.pass_on_if_long()

    def _most_events_at_instant(self) -> int:
        size = self.workforce.next_number + self.scenario.trainer.batch_size
        return EVENTS_PER_INSTANT + EVENTS_PER_INSTANT_AND_SIZE * size

    def count_anew(self) -> None:
        """Let what has happened at this instant so far have no part in its limit."""
        self._events_before_instant = len(self.journal)

    def _expect_deadlock(self) -> None:
        """Nothing is pending; see when the instant has settled whether that is still so."""
        if not self._check_requested:
            self._check_requested = True
            self.loop.call_when_settled(Phase.CHECK, self._check_deadlock)

    def _check_deadlock(self) -> None:
        self._check_requested = False
        if not self.timers.pending and self.now < self.scenario.duration:
            self._fail(DeadlockError(self.now, explain(self)))
