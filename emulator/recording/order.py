"""Which event may follow those before it in a lane: a check of it against the state that they have left.

It is as strict as the figures and the views need it: numbers go on one by one, so that a recording is not
larger in memory than on disk, and what ends had begun. Whether a strategy would have decided so it does
not ask.
"""

from collections.abc import Callable
from typing import Any, Final

from emulator import events as ev
from emulator.figures.lane_state import HANDLERS, LaneState
from emulator.figures.records import (
    ACTING,
    BLOCKED,
    DOWN,
    ENGINE,
    GATED,
    GENERATING,
    OVERHEAD,
    PUSHING,
    QUEUE,
    SANDBOX,
    UPDATING,
    WAITING,
    WorkerRecord,
)
from emulator.recording.schema import MisfitError, named
from emulator.scenario import Scenario
from emulator.text import clean

ALLOWED = "what can follow the events before it, none of them missing or changed"

# States of a worker; one that is blocked is named by its cause.
_FREE: Final = (WAITING, GATED)
_WAITS: Final = (WAITING,)
_GENERATES: Final = (GENERATING,)
_HAS_BEGUN: Final = (GENERATING, SANDBOX)
_ASKS: Final = (GENERATING, OVERHEAD, ACTING, SANDBOX, ENGINE)
_MAY_ACT: Final = (GENERATING, OVERHEAD)
_ACTS: Final = (ACTING,)
_MAY_GENERATE: Final = (OVERHEAD, SANDBOX)
_WITHOUT_EPISODE: Final = (WAITING, GATED, QUEUE)
_IS_DOWN: Final = (DOWN,)


class Order:
    """What has happened in one lane, as far as it decides what can happen next."""

    def __init__(self, scenario: Scenario) -> None:
        rollout = scenario.rollout
        self._state = LaneState(scenario)
        self._joining = 0
        self._taken = (-1, -1.0)  # the worker that last took an episode, and when
        self._finisher = -1  # the worker that last finished one
        self._engines = scenario.engines
        self._limited = rollout.queue_capacity is not None
        self._has_environment = scenario.environment is not None
        self._group_size = rollout.group_size
        self._planned = rollout.group_size + rollout.group_redundancy
        self._batch = scenario.trainer.batch_size
        self._least_batch = self._batch if scenario.strategy.whole_batches else rollout.group_size

    @property
    def numbers(self) -> int:
        """How many numbers a list can have, of workers, episodes or versions."""
        state = self._state
        return max(state.ever_in_service, state.counts["started"], state.version + 1)

    def take(self, event: ev.Event) -> None:
        """Let an event happen; MisfitError if it cannot follow those before it."""
        kind = type(event)
        _CHECKS[kind](self, event)
        HANDLERS[kind](self._state, event)

    # -- workers and episodes -----------------------------------------------------------------------

    def _start(self, e: ev.Start) -> None:
        state, number, group = self._state, e.episode, e.group
        if number != (started := state.counts["started"]):
            raise _misfit(e, f"episode {started} is the next to start")
        if e.version != state.version:
            raise _misfit(e, f"version {state.version} is the one published")
        if self._planned == 1:
            if group != number:
                raise _misfit(e, f"episode {number} is a group of its own")
        elif group != state.groups_begun and (
            group not in state.groups or state.groups[group].started == self._planned
        ):
            raise _misfit(e, f"group {_named(group)} has no room for it")
        worker = state.workers.get(e.worker)
        if worker is None or worker.state not in _FREE:
            raise _misfit(e, f"worker {_named(e.worker)} is not free")
        self._taken = (e.worker, e.t)

    def _resume(self, e: ev.Resume) -> None:
        if e.episode not in self._state.paused:
            raise _misfit(e, f"episode {_named(e.episode)} is not paused")
        if e.version != self._state.version:
            raise _misfit(e, f"version {self._state.version} is the one published")
        self._demand(e, e.worker, _FREE, "is not free")
        self._taken = (e.worker, e.t)

    def _blocked(self, e: ev.Blocked) -> None:
        if e.cause == QUEUE:
            last = self._state.last_finished
            if not self._limited or e.worker != self._finisher or not self._is_queued(last):
                raise _misfit(e, f"worker {_named(e.worker)} has not just finished an episode")
            self._demand(e, e.worker, _WAITS, "is not free")
        else:
            if not self._has_environment or self._taken != (e.worker, e.t):
                raise _misfit(e, f"worker {_named(e.worker)} has not just taken an episode")
            self._demand(e, e.worker, _GENERATES, "is at no episode")

    def _gated(self, e: ev.Gated) -> None:
        self._demand(e, e.worker, _WAITS, "is not free")

    def _overhead(self, e: ev.Overhead) -> None:
        self._demand(e, e.worker, _HAS_BEGUN, "has none to begin")
        self._demand_unserved(e, e.worker)

    def _generate(self, e: ev.Generate) -> None:
        self._demand(e, e.worker, _MAY_GENERATE, "has no reason to begin")

    def _enqueue(self, e: ev.Enqueue) -> None:
        self._demand_request(e, e.worker, e.engine)

    def _admit(self, e: ev.Admit) -> None:
        self._demand_request(e, e.worker, e.engine)

    def _release(self, e: ev.Release) -> None:
        self._demand_served(e, e.worker, e.engine)

    def _lengthen(self, e: ev.Lengthen) -> None:
        self._demand_served(e, e.worker, e.engine)

    def _act(self, e: ev.Act) -> None:
        self._demand_engine(e, 0)
        self._demand(e, e.worker, _MAY_ACT, "uses no tool")
        self._demand_unserved(e, e.worker)

    def _preempt(self, e: ev.Preempt) -> None:
        self._demand_engine(e, e.engine)
        self._demand(e, e.worker, _ACTS, "has not just left an engine")

    def _enginechange(self, e: ev.EngineChange) -> None:
        self._demand_engine(e, e.engine)

    def _demand_engine(self, e: ev.Event, number: int) -> None:
        if number >= self._engines:
            raise _misfit(e, f"there is no engine {_named(number)}")

    def _demand_request(self, e: ev.Event, number: int, engine: int) -> None:
        """MisfitError unless a worker can ask an engine for something."""
        self._demand_engine(e, engine)
        self._demand(e, number, _ASKS, "asks no engine for anything")
        self._demand_unserved(e, number)

    def _demand_unserved(self, e: ev.Event, number: int) -> None:
        if self._is_served(number):
            raise _misfit(e, f"worker {_named(number)} is served by an engine")

    def _demand_served(self, e: ev.Event, number: int, engine: int) -> None:
        self._demand_engine(e, engine)
        self._demand(e, number, _GENERATES, "generates nothing")
        if number not in self._state.engines[engine].running:
            raise _misfit(e, f"engine {engine} does not serve worker {_named(number)}")

    def _is_served(self, number: int) -> bool:
        """Whether an engine runs a request of a worker."""
        engines = self._state.engines
        return bool(engines) and number in engines[self._state.workers[number].engine].running

    def _retry(self, e: ev.Retry) -> None:
        worker = self._demand_at(e, e.worker, e.episode)
        if not self._has_environment or worker.cause == SANDBOX:
            raise _misfit(e, "no attempt of it is going on")

    def _finish(self, e: ev.Finish) -> None:
        worker = self._state.workers.get(e.worker)
        if worker is None or worker.episode != e.episode or worker.cause == SANDBOX:
            raise _misfit(e, f"worker {_named(e.worker)} does not generate episode {_named(e.episode)}")
        self._demand_unserved(e, e.worker)
        if self._planned > 1:
            number = self._state.running[e.episode].group
            if len(self._state.groups[number].finishes) == self._group_size:
                raise _misfit(e, f"group {number} is complete")
        self._finisher = e.worker

    def _handover(self, e: ev.HandOver) -> None:
        holder = self._state.holders.get(e.episode)
        if holder is None or holder.number != e.worker:
            raise _misfit(e, f"worker {_named(e.worker)} does not hold episode {_named(e.episode)}")

    def _pause(self, e: ev.Pause) -> None:
        self._demand_at(e, e.worker, e.episode)

    def _abort(self, e: ev.Abort) -> None:
        if e.worker is not None:
            self._demand_at(e, e.worker, e.episode)
        elif e.episode not in self._state.paused:
            raise _misfit(e, f"episode {_named(e.episode)} is not paused")

    def _fail(self, e: ev.Fail) -> None:
        self._demand_at(e, e.worker, e.episode)

    def _drop(self, e: ev.Drop) -> None:
        for episode in e.episodes:
            if episode not in self._state.finished:
                raise _misfit(e, f"episode {_named(episode)} is not finished and untrained")

    def _down(self, e: ev.Down) -> None:
        self._demand(e, e.worker, _WITHOUT_EPISODE, "is not up and without an episode")

    def _up(self, e: ev.Up) -> None:
        if e.worker == self._state.ever_in_service and self._joining:
            self._joining -= 1
        else:
            self._demand(e, e.worker, _IS_DOWN, "neither was down nor joins")

    def _leave(self, e: ev.Leave) -> None:
        self._demand(e, e.worker, (*_WITHOUT_EPISODE, DOWN), "is not there without an episode")

    def _inject(self, e: ev.Inject) -> None:
        ((_, given),) = e.action.items()
        workers = self._state.ever_in_service
        if unknown := [worker for worker in given.get("workers", ()) if worker >= workers]:
            raise _misfit(e, f"there is no worker {unknown[0]}")
        if unknown := [engine for engine in given.get("engines", ()) if engine >= self._engines]:
            raise _misfit(e, f"there is no engine {unknown[0]}")
        self._joining += given.get("count", 0)

    # -- the trainer --------------------------------------------------------------------------------

    def _update(self, e: ev.Update) -> None:
        state = self._state
        is_idle = state.trainer_state == WAITING and state.computed is None
        is_free = is_idle or self._is_computed(pushes=False)
        number = state.update + (state.trainer_state != UPDATING)
        if e.update != number or not is_free:
            raise _misfit(e, f"update {number} is {'next' if is_idle else 'going on'}")
        if not self._least_batch <= len(e.episodes) <= self._batch or len(e.episodes) % self._least_batch:
            raise _misfit(e, f"a batch is {self._batch} episodes, not {len(e.episodes)}")
        for episode in e.episodes:
            if not self._is_queued(episode):
                raise _misfit(e, f"episode {_named(episode)} is not in the queue")

    def _updated(self, e: ev.Updated) -> None:
        if e.update != self._state.update or self._state.trainer_state != UPDATING:
            raise _misfit(e, f"update {_named(e.update)} is not going on")

    def _learn(self, e: ev.Learn) -> None:
        state = self._state
        learned = state.lesson is not None and state.lesson.update == e.update
        if e.update != state.update or learned or not (self._is_computed(pushes=False) or self._is_to_push()):
            raise _misfit(e, f"update {_named(e.update)} has not just been computed")

    def _push(self, e: ev.Push) -> None:
        if not self._is_to_push():
            raise _misfit(e, "no update is to be pushed")

    def _publish(self, e: ev.Publish) -> None:
        state = self._state
        if state.trainer_state != PUSHING and not self._is_computed(pushes=False):
            raise _misfit(e, "no update is to be published")
        if e.version != state.version + 1:
            raise _misfit(e, f"version {state.version + 1} is next, not {_named(e.version)}")

    def _refresh(self, e: ev.Refresh) -> None:
        for number in e.workers:
            worker = self._state.workers.get(number)
            if worker is None or worker.episode is None:
                raise _misfit(e, f"worker {_named(number)} is at no episode")

    def _stall(self, e: ev.Stall) -> None:
        if self._state.stalled:
            raise _misfit(e, "the trainer stands still already")

    def _unstall(self, e: ev.Unstall) -> None:
        if not self._state.stalled:
            raise _misfit(e, "the trainer does not stand still")

    # -- what is demanded ---------------------------------------------------------------------------

    def _demand(self, e: ev.Event, number: int, states: tuple[str, ...], what: str) -> None:
        """MisfitError unless a worker is in one of some states; if blocked, for one of some causes."""
        worker = self._state.workers.get(number)
        if worker is None or (worker.cause if worker.state == BLOCKED else worker.state) not in states:
            raise _misfit(e, f"worker {_named(number)} {what}")

    def _demand_at(self, e: ev.Event, number: int, episode: int) -> WorkerRecord:
        """MisfitError unless a worker is at an episode."""
        worker = self._state.workers.get(number)
        if worker is None or worker.episode != episode:
            raise _misfit(e, f"episode {_named(episode)} is not at worker {_named(number)}")
        self._demand_unserved(e, number)
        return worker

    def _is_queued(self, episode: int) -> bool:
        return episode in self._state.finished and episode not in self._state.holders

    def _is_computed(self, *, pushes: bool) -> bool:
        """Whether the last update is computed, and its weights are to be pushed or not."""
        state = self._state
        found = state.computed
        return found is not None and found.pushes == pushes and state.trainer_state == WAITING

    def _is_to_push(self) -> bool:
        return self._is_computed(pushes=True)


def _named(number: int) -> str:
    """A number that may be of any size."""
    return clean(number, 20)


def _misfit(event: ev.Event, reason: str) -> MisfitError:
    return MisfitError(f"{named(type(event))} at {event.t:g} s, but {reason}", ALLOWED)


_CHECKS: dict[type[ev.Event], Callable[[Order, Any], None]] = {
    kind: getattr(Order, f"_{name}") for kind, name in ev.NAMES.items()
}
"""What is asked of each event: the method of its name."""
