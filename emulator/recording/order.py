"""Which event may follow those before it in a lane: the state that each leaves, and what that allows.

It is as strict as the figures and the views need it: numbers go on one by one, so that a recording is not
larger in memory than on disk, and what ends had begun. Whether a strategy would have decided so it does
not ask.
"""

from collections.abc import Callable
from typing import Any, Final

from emulator import events as ev
from emulator.recording.schema import MisfitError, named
from emulator.scenario import Scenario
from emulator.text import clean

ALLOWED = "what can follow the events before it, none of them missing or changed"

# Plain numbers, in the order that makes them quick to compare.
_FREE: Final = 0
_GATED: Final = 1
_HOLDING: Final = 2
_DOWN: Final = 3
_GONE: Final = 4
_IN_LINE: Final = 5
_RUNNING: Final = 6
_OVERHEAD: Final = 7

_IDLE: Final = "idle"
_UPDATING: Final = "updating"
_COMPUTED: Final = "computed"
_TO_PUSH: Final = "to push"
_PUSHING: Final = "pushing"


class Order:
    """What has happened in one lane, as far as it decides what can happen next."""

    def __init__(self, scenario: Scenario) -> None:
        rollout = scenario.rollout
        self._states = bytearray(rollout.workers)
        self._joining = 0
        self._at: dict[int, int] = {}  # the episode of each worker that has one
        self._holders: dict[int, int] = {}  # who holds a finished episode for want of room
        self._held: dict[int, int] = {}  # and which
        self._paused: set[int] = set()
        self._queued: set[int] = set()
        self._episodes = 0
        self._begun = (-1, -1.0)  # the worker that last took an episode, and when
        self._last_finish = (-1, -1)  # the worker and the episode
        self._limited = rollout.queue_capacity is not None
        self._has_environment = scenario.environment is not None
        self._group_size = rollout.group_size
        self._planned = rollout.group_size + rollout.group_redundancy
        self._group_of: dict[int, int] = {}
        self._started: list[int] = []  # members of each group
        self._finished: list[int] = []
        self._batch = scenario.trainer.batch_size
        self._least_batch = rollout.group_size if scenario.strategy.may_shorten_batches else self._batch
        self._version = 0
        self._update = 0
        self._trainer = _IDLE
        self._learned = False
        self._stalled = False

    @property
    def numbers(self) -> int:
        """How many numbers a list can have, of workers, episodes or versions."""
        return max(len(self._states), self._episodes, self._version + 1)

    def take(self, event: ev.Event) -> None:
        """Let an event happen; MisfitError if it cannot follow those before it."""
        _HANDLERS[type(event)](self, event)

    # -- workers and episodes -----------------------------------------------------------------------

    def _start(self, e: ev.Start) -> None:
        number, worker = e.episode, e.worker
        if number != self._episodes:
            raise _misfit(e, f"episode {self._episodes} is the next to start")
        if e.version != self._version:
            raise _misfit(e, f"version {self._version} is the one published")
        if self._planned == 1:
            if e.group != number:
                raise _misfit(e, f"episode {number} is a group of its own")
        else:
            self._start_in_group(e)
        if not 0 <= worker < len(self._states) or self._states[worker] > _GATED:
            raise _misfit(e, f"worker {_named(worker)} is not free")
        self._states[worker] = _RUNNING
        self._at[worker] = number
        self._episodes += 1
        self._begun = (worker, e.t)

    def _start_in_group(self, e: ev.Start) -> None:
        if e.group == len(self._started):
            self._started.append(0)
            self._finished.append(0)
        elif not 0 <= e.group < len(self._started) or self._started[e.group] == self._planned:
            raise _misfit(e, f"group {_named(e.group)} has no room for it")
        self._started[e.group] += 1
        self._group_of[e.episode] = e.group

    def _resume(self, e: ev.Resume) -> None:
        if e.episode not in self._paused:
            raise _misfit(e, f"episode {_named(e.episode)} is not paused")
        if e.version != self._version:
            raise _misfit(e, f"version {self._version} is the one published")
        self._demand(e, e.worker, _FREE, _GATED, what="is not free")
        self._paused.remove(e.episode)
        self._states[e.worker] = _RUNNING
        self._at[e.worker] = e.episode
        self._begun = (e.worker, e.t)

    def _blocked(self, e: ev.Blocked) -> None:
        if e.cause == "queue":
            worker, episode = self._last_finish
            if not self._limited or e.worker != worker or episode not in self._queued:
                raise _misfit(e, f"worker {_named(e.worker)} has not just finished an episode")
            self._demand(e, worker, _FREE, what="is not free")
            self._queued.remove(episode)
            self._holders[episode] = worker
            self._held[worker] = episode
            self._states[worker] = _HOLDING
        else:
            if not self._has_environment or self._begun != (e.worker, e.t):
                raise _misfit(e, f"worker {_named(e.worker)} has not just taken an episode")
            self._demand(e, e.worker, _RUNNING, what="is at no episode")
            self._states[e.worker] = _IN_LINE

    def _gated(self, e: ev.Gated) -> None:
        self._demand(e, e.worker, _FREE, what="is not free")
        self._states[e.worker] = _GATED

    def _overhead(self, e: ev.Overhead) -> None:
        self._demand(e, e.worker, _RUNNING, _IN_LINE, what="has none to begin")
        self._states[e.worker] = _OVERHEAD

    def _generate(self, e: ev.Generate) -> None:
        self._demand(e, e.worker, _OVERHEAD, _IN_LINE, what="has no reason to begin")
        self._states[e.worker] = _RUNNING

    def _retry(self, e: ev.Retry) -> None:
        self._demand_at(e, e.worker, e.episode)
        if not self._has_environment or self._states[e.worker] == _IN_LINE:
            raise _misfit(e, "no attempt of it is going on")
        self._states[e.worker] = _RUNNING

    def _finish(self, e: ev.Finish) -> None:
        worker, episode = e.worker, e.episode
        if self._at.get(worker) != episode or self._states[worker] == _IN_LINE:
            raise _misfit(e, f"worker {_named(worker)} does not generate episode {_named(episode)}")
        del self._at[worker]
        self._states[worker] = _FREE
        self._queued.add(episode)
        self._last_finish = (worker, episode)
        if self._planned > 1:
            group = self._group_of[episode]
            if self._finished[group] == self._group_size:
                raise _misfit(e, f"group {group} is complete")
            self._finished[group] += 1

    def _hand_over(self, e: ev.HandOver) -> None:
        if self._holders.get(e.episode) != e.worker:
            raise _misfit(e, f"worker {_named(e.worker)} does not hold episode {_named(e.episode)}")
        self._relieve(e.episode)
        self._queued.add(e.episode)

    def _relieve(self, episode: int) -> None:
        worker = self._holders.pop(episode)
        del self._held[worker]
        if self._states[worker] == _HOLDING:
            self._states[worker] = _FREE

    def _pause(self, e: ev.Pause) -> None:
        self._let_go(e, e.worker, e.episode)
        self._paused.add(e.episode)

    def _abort(self, e: ev.Abort) -> None:
        if e.worker is not None:
            self._let_go(e, e.worker, e.episode)
        elif e.episode in self._paused:
            self._paused.remove(e.episode)
        else:
            raise _misfit(e, f"episode {_named(e.episode)} is not paused")
        self._group_of.pop(e.episode, None)

    def _fail(self, e: ev.Fail) -> None:
        self._let_go(e, e.worker, e.episode)
        self._group_of.pop(e.episode, None)

    def _let_go(self, e: ev.Pause | ev.Abort | ev.Fail, worker: int, episode: int) -> None:
        self._demand_at(e, worker, episode)
        del self._at[worker]
        self._states[worker] = _FREE

    def _drop(self, e: ev.Drop) -> None:
        for episode in e.episodes:
            if episode in self._holders:
                self._relieve(episode)
            elif episode in self._queued:
                self._queued.remove(episode)
            else:
                raise _misfit(e, f"episode {_named(episode)} is not finished and untrained")
            self._group_of.pop(episode, None)

    def _down(self, e: ev.Down) -> None:
        self._demand(e, e.worker, _FREE, _GATED, _HOLDING, what="is not up and without an episode")
        self._states[e.worker] = _DOWN

    def _up(self, e: ev.Up) -> None:
        if e.worker == len(self._states) and self._joining:
            self._joining -= 1
            self._states.append(_FREE)
        else:
            self._demand(e, e.worker, _DOWN, what="neither was down nor joins")
            self._states[e.worker] = _HOLDING if e.worker in self._held else _FREE

    def _leave(self, e: ev.Leave) -> None:
        self._demand(e, e.worker, _FREE, _GATED, _HOLDING, _DOWN, what="is not there without an episode")
        self._states[e.worker] = _GONE

    def _inject(self, e: ev.Inject) -> None:
        ((_, given),) = e.action.items()
        if unknown := [worker for worker in given.get("workers", ()) if worker >= len(self._states)]:
            raise _misfit(e, f"there is no worker {unknown[0]}")
        self._joining += given.get("count", 0)

    # -- the trainer --------------------------------------------------------------------------------

    def _begin_update(self, e: ev.Update) -> None:
        if e.update != self._update or self._trainer not in (_IDLE, _COMPUTED):
            raise _misfit(e, f"update {self._update} is {'next' if self._trainer == _IDLE else 'going on'}")
        if not self._least_batch <= len(e.episodes) <= self._batch or len(e.episodes) % self._least_batch:
            raise _misfit(e, f"a batch is {self._batch} episodes, not {len(e.episodes)}")
        for episode in e.episodes:
            if episode not in self._queued:
                raise _misfit(e, f"episode {_named(episode)} is not in the queue")
        self._queued.difference_update(e.episodes)
        for episode in e.episodes if self._planned > 1 else ():
            del self._group_of[episode]
        self._trainer = _UPDATING
        self._learned = False

    def _updated(self, e: ev.Updated) -> None:
        if e.update != self._update or self._trainer != _UPDATING:
            raise _misfit(e, f"update {_named(e.update)} is not going on")
        self._update += 1
        self._trainer = _TO_PUSH if e.pushes else _COMPUTED

    def _learn(self, e: ev.Learn) -> None:
        if e.update != self._update - 1 or self._learned or self._trainer not in (_COMPUTED, _TO_PUSH):
            raise _misfit(e, f"update {_named(e.update)} has not just been computed")
        self._learned = True

    def _push(self, e: ev.Push) -> None:
        if self._trainer != _TO_PUSH:
            raise _misfit(e, "no update is to be pushed")
        self._trainer = _PUSHING

    def _publish(self, e: ev.Publish) -> None:
        if self._trainer not in (_COMPUTED, _PUSHING):
            raise _misfit(e, "no update is to be published")
        if e.version != self._version + 1:
            raise _misfit(e, f"version {self._version + 1} is next, not {_named(e.version)}")
        self._version = e.version
        self._trainer = _IDLE

    def _refresh(self, e: ev.Refresh) -> None:
        for worker in e.workers:
            if worker not in self._at:
                raise _misfit(e, f"worker {_named(worker)} is at no episode")

    def _stall(self, e: ev.Stall) -> None:
        if self._stalled:
            raise _misfit(e, "the trainer stands still already")
        self._stalled = True

    def _unstall(self, e: ev.Unstall) -> None:
        if not self._stalled:
            raise _misfit(e, "the trainer does not stand still")
        self._stalled = False

    # -- what is demanded ---------------------------------------------------------------------------

    def _demand(self, e: ev.Event, worker: int, *states: int, what: str) -> None:
        """MisfitError unless a worker is in one of some states."""
        if not 0 <= worker < len(self._states) or self._states[worker] not in states:
            raise _misfit(e, f"worker {_named(worker)} {what}")

    def _demand_at(self, e: ev.Event, worker: int, episode: int) -> None:
        """MisfitError unless a worker is at an episode."""
        if self._at.get(worker) != episode:
            raise _misfit(e, f"episode {_named(episode)} is not at worker {_named(worker)}")


def _named(number: int) -> str:
    """A number that may be of any size."""
    return clean(number, 20)


def _misfit(event: ev.Event, reason: str) -> MisfitError:
    return MisfitError(f"{named(type(event))} at {event.t:g} s, but {reason}", ALLOWED)


_HANDLERS: dict[type[ev.Event], Callable[[Order, Any], None]] = {
    ev.Start: Order._start,
    ev.Resume: Order._resume,
    ev.Blocked: Order._blocked,
    ev.Gated: Order._gated,
    ev.Overhead: Order._overhead,
    ev.Generate: Order._generate,
    ev.Retry: Order._retry,
    ev.Finish: Order._finish,
    ev.HandOver: Order._hand_over,
    ev.Pause: Order._pause,
    ev.Abort: Order._abort,
    ev.Fail: Order._fail,
    ev.Drop: Order._drop,
    ev.Update: Order._begin_update,
    ev.Updated: Order._updated,
    ev.Learn: Order._learn,
    ev.Push: Order._push,
    ev.Publish: Order._publish,
    ev.Refresh: Order._refresh,
    ev.Stall: Order._stall,
    ev.Unstall: Order._unstall,
    ev.Down: Order._down,
    ev.Up: Order._up,
    ev.Leave: Order._leave,
    ev.Inject: Order._inject,
}
