"""Events folded into figures.

`Figures` takes the events of one lane, in order, and holds at any moment what they amount to.
It knows the scenario and the events, and nothing of the system that made them: a replayed
recording gives the same figures as the live run.

Every total of seconds is the correctly rounded value of the exact sum. The fold keeps the signed
end points of the intervals (``+end``, ``-start``) and adds them with `math.fsum`, so a total does not
depend on how many pieces an interval was cut into, nor on the order in which they came.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, Final

from emulator import events as ev
from emulator.scenario import Scenario

GENERATING: Final = "generating"
OVERHEAD: Final = "overhead"
WAITING: Final = "waiting"
GATED: Final = "gated"
BLOCKED: Final = "blocked"
FROZEN: Final = "frozen"
DOWN: Final = "down"
LEFT: Final = "left"
SANDBOX: Final = "sandbox"
QUEUE: Final = "queue"
WORKER_STATES = (GENERATING, OVERHEAD, WAITING, GATED, BLOCKED, FROZEN, DOWN)

UPDATING: Final = "updating"
PUSHING: Final = "pushing"
STALLED: Final = "stalled"
TRAINER_STATES = (UPDATING, PUSHING, WAITING, STALLED)

GROUP_CAUSES = ("group", "stale", "round")
"""Why whole groups are given up."""

_CONDENSE_AT = 50_000


class ExactSum:
    """A sum of floats, rounded only when it is read."""

    __slots__ = ("_terms", "add")

    def __init__(self) -> None:
        self._terms: list[float] = []
        self.add: Callable[[float], None] = self._terms.append

    def __deepcopy__(self, memo: dict[int, Any]) -> "ExactSum":
        copy = ExactSum()
        copy.extend(self._terms)
        return copy

    @property
    def terms(self) -> Sequence[float]:
        """Terms whose exact sum it is."""
        return self._terms

    def extend(self, terms: Iterable[float]) -> None:
        """Add several terms."""
        self._terms.extend(terms)

    def value(self, further: Iterable[float] = ()) -> float:
        """The sum so far (and of `further` terms), correctly rounded."""
        if len(self._terms) > _CONDENSE_AT:
            self._condense()
        return math.fsum(chain(self._terms, further))

    def _condense(self) -> None:
        """Keep a few terms of the same exact sum: what rounding loses becomes a term of its own."""
        few = []
        while total := math.fsum(self._terms):
            few.append(total)
            self._terms.append(-total)
        self._terms[:] = few

    def condense_if_long(self) -> None:
        """Bound the memory that the terms take."""
        if len(self._terms) > _CONDENSE_AT:
            self._condense()


@dataclass(slots=True)
class EpisodeRecord:
    """An episode that is in flight, paused or in the queue.

    `segments` are the closed stretches of generating: (version, start, end); `opened` is the start of
    the open one, None while nothing is generated. `attempt_segments` is where the present attempt begins
    in them. `finished_version` is the version that was published when the episode finished.
    """

    worker: int
    group: int
    version: int
    start_version: int
    started: float
    duration: float
    segments: list[tuple[int, float, float]] = field(default_factory=list)
    opened: float | None = None
    attempt_segments: int = 0
    finished: float | None = None
    finished_version: int = 0
    begun: bool = True
    has_sandbox: bool = False

    def versions(self) -> list[int]:
        """The versions that generated any of it, oldest first; at least one."""
        found = [version for version, start, end in self.segments[self.attempt_segments :] if end > start]
        return found or [self.start_version]

    def mean_version(self) -> float:
        """The mean of the versions, weighted by the seconds that each generated."""
        segments = self.segments[self.attempt_segments :]
        seconds = math.fsum(end - start for _, start, end in segments)
        if not seconds:
            return float(self.start_version)
        return math.fsum(version * (end - start) for version, start, end in segments) / seconds


@dataclass(slots=True)
class WorkerRecord:
    """What a worker does, since when, and on which episode (None: on none).

    `held` is a finished episode that the queue has no room for.
    """

    state: str = WAITING
    since: float = 0.0
    episode: int | None = None
    cause: str = ""
    held: int | None = None


@dataclass(slots=True)
class _GroupRecord:
    first_start: float
    finishes: list[float] = field(default_factory=list)
    lost_members: int = 0
    lost: bool = False


class Figures:
    """The figures of one lane, from its scenario and its events."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.t = 0.0
        self.version = 0
        self.updates = 0
        self.publications = 0
        self.frozen = False
        self.workers: dict[int, WorkerRecord] = {w: WorkerRecord() for w in range(scenario.rollout.workers)}
        self.episodes: dict[int, EpisodeRecord] = {}
        self.counts: Counter[str] = Counter()
        self.depth = 0
        self.max_depth = 0
        self.trainer_state: str = WAITING
        self.stalled = False
        self._push_counts = False
        self.staleness: Counter[int] = Counter()
        self._seconds = {account: ExactSum() for account in (*WORKER_STATES, SANDBOX, QUEUE)}
        self._service = ExactSum()
        self._wasted = ExactSum()
        self._trainer_seconds = {state: ExactSum() for state in TRAINER_STATES}
        self._queue_seconds = ExactSum()
        self._sandbox_seconds = ExactSum()
        self._started_durations = ExactSum()
        self._trained_durations = ExactSum()
        self._in_flight_versions = 0
        self._in_queue_versions = 0
        self._span_total = 0
        self._span_max = 0
        self._newest_total = 0
        self._weighted = ExactSum()
        self._last_finished = -1
        self._holders: dict[int, WorkerRecord] = {}
        self._groups: dict[int, _GroupRecord] = {}
        self._group_seconds: list[float] = []
        self._sibling_waits = ExactSum()
        self._finished_in_groups = 0
        self._has_environment = scenario.environment is not None
        self._group_size = scenario.rollout.group_size

    # -- the fold ---------------------------------------------------------------------------------

    def add(self, events: Iterable[ev.Event]) -> None:
        """Take in the next events of the lane, in their order."""
        handlers = _HANDLERS
        for event in events:
            if event.t > self.t:
                self._settle()
                self.t = event.t
            handlers[type(event)](self, event)
        for total in self._sums():
            total.condense_if_long()

    def _settle(self) -> None:
        self.max_depth = max(self.max_depth, self.depth)

    def _sums(self) -> Iterator[ExactSum]:
        yield from self._seconds.values()
        yield from self._trainer_seconds.values()
        yield from (self._wasted, self._queue_seconds, self._started_durations, self._trained_durations)
        yield from (self._sandbox_seconds, self._weighted, self._sibling_waits)

    def _enter(self, worker: WorkerRecord, state: str, t: float, cause: str = "") -> None:
        """Let a worker change its state; time in a freeze counts as frozen, whatever the state."""
        old = self._account(worker)
        worker.state = state
        worker.since = t
        worker.cause = cause
        new = self._account(worker)
        if old != new:
            self._seconds[old].add(t)
            self._seconds[new].add(-t)
            if old == GENERATING:
                self._close_segment(worker, t)
            if new == GENERATING:
                self._open_segment(worker, t)

    def _account(self, worker: WorkerRecord) -> str:
        """The account that a worker's time goes to; `BLOCKED` has one for each cause."""
        if self.frozen and worker.state != DOWN:
            return FROZEN
        return worker.cause if worker.state == BLOCKED else worker.state

    def _open_segment(self, worker: WorkerRecord, t: float) -> None:
        if worker.episode is not None:
            self.episodes[worker.episode].opened = t

    def _close_segment(self, worker: WorkerRecord, t: float) -> None:
        if worker.episode is not None:
            episode = self.episodes[worker.episode]
            if episode.opened is not None:
                episode.segments.append((episode.version, episode.opened, t))
                episode.opened = None

    def _set_frozen(self, t: float, *, frozen: bool) -> None:
        workers = [worker for worker in self.workers.values() if worker.state != DOWN]
        for worker in workers:
            old = self._account(worker)
            if old == GENERATING:
                self._close_segment(worker, t)
            self._seconds[old].add(t)
        self.frozen = frozen
        for worker in workers:
            new = self._account(worker)
            if new == GENERATING:
                self._open_segment(worker, t)
            self._seconds[new].add(-t)

    def _take(self, worker: WorkerRecord, episode: int, t: float) -> None:
        worker.episode = episode
        self._enter(worker, GENERATING, t)
        if self._has_environment:
            self._hold_sandbox(self.episodes[episode], t, holds=True)

    def _hold_sandbox(self, episode: EpisodeRecord, t: float, *, holds: bool) -> None:
        if episode.has_sandbox != holds:
            episode.has_sandbox = holds
            self._sandbox_seconds.add(-t if holds else t)

    def _release(self, worker_id: int, t: float, state: str = WAITING) -> None:
        """Let a worker go of its episode."""
        worker = self.workers[worker_id]
        self._enter(worker, state, t)
        worker.episode = None

    def _waste(self, episode: EpisodeRecord) -> None:
        """Count what the present attempt generated as wasted; what earlier ones did already is."""
        for _, start, end in episode.segments[episode.attempt_segments :]:
            self._wasted.add(end)
            self._wasted.add(-start)
        episode.attempt_segments = len(episode.segments)

    def _enter_trainer(self, state: str, t: float) -> None:
        if not self.stalled:
            self._trainer_seconds[self.trainer_state].add(t)
            self._trainer_seconds[state].add(-t)
        self.trainer_state = state

    def _enqueue(self, t: float, change: int) -> None:
        self.depth += change
        self._queue_seconds.add(-t if change > 0 else t)

    def _start(self, e: ev.Start) -> None:
        self.counts["started"] += 1
        self.counts["attempts"] += 1
        self._started_durations.add(e.duration)
        self.episodes[e.episode] = EpisodeRecord(e.worker, e.group, e.version, e.version, e.t, e.duration)
        if self._group_size > 1:
            self._groups.setdefault(e.group, _GroupRecord(e.t))
        self._take(self.workers[e.worker], e.episode, e.t)

    def _resume(self, e: ev.Resume) -> None:
        episode = self.episodes[e.episode]
        if not episode.begun:
            self.counts["attempts"] += 1
            episode.begun = True
            episode.start_version = e.version
        self.counts["paused"] -= 1
        episode.worker = e.worker
        episode.version = e.version
        self._take(self.workers[e.worker], e.episode, e.t)

    def _blocked(self, e: ev.Blocked) -> None:
        worker = self.workers[e.worker]
        if e.cause == SANDBOX:
            self._count_attempt(worker, e.t, holds=False)
        else:
            self._enqueue(e.t, -1)
            worker.held = self._last_finished
            self._holders[self._last_finished] = worker
        self._enter(worker, BLOCKED, e.t, e.cause)

    def _begin_attempt_if_blocked(self, worker: WorkerRecord, t: float) -> None:
        if worker.state == BLOCKED and worker.cause == SANDBOX:
            self._count_attempt(worker, t, holds=True)

    def _count_attempt(self, worker: WorkerRecord, t: float, *, holds: bool) -> None:
        """An attempt begins when there is a sandbox for it."""
        assert worker.episode is not None
        episode = self.episodes[worker.episode]
        self._hold_sandbox(episode, t, holds=holds)
        self.counts["attempts"] += 1 if holds else -1
        episode.begun = holds

    def _overhead(self, e: ev.Overhead) -> None:
        worker = self.workers[e.worker]
        self._begin_attempt_if_blocked(worker, e.t)
        self._enter(worker, OVERHEAD, e.t)

    def _generate(self, e: ev.Generate) -> None:
        worker = self.workers[e.worker]
        self._begin_attempt_if_blocked(worker, e.t)
        self._enter(worker, GENERATING, e.t)

    def _gated(self, e: ev.Gated) -> None:
        self._enter(self.workers[e.worker], GATED, e.t)

    def _retry(self, e: ev.Retry) -> None:
        worker = self.workers[e.worker]
        self._close_segment(worker, e.t)
        self._waste(self.episodes[e.episode])
        self.counts["attempts"] += 1
        self.counts["retried"] += 1
        self.counts[f"attempt_{e.cause}"] += 1
        if worker.state == GENERATING:
            self._open_segment(worker, e.t)
        else:
            self._enter(worker, GENERATING, e.t)

    def _finish(self, e: ev.Finish) -> None:
        self.counts["finished"] += 1
        self.counts["queued"] += 1
        self._release(e.worker, e.t)
        self._last_finished = e.episode
        episode = self.episodes[e.episode]
        self._hold_sandbox(episode, e.t, holds=False)
        episode.finished = e.t
        episode.finished_version = self.version
        self._enqueue(e.t, 1)
        if self._group_size > 1:
            self._finish_in_group(episode.group, e.t)

    def _finish_in_group(self, number: int, t: float) -> None:
        group = self._groups[number]
        group.finishes.append(t)
        if len(group.finishes) == self._group_size:
            self.counts["groups_completed"] += 1
            self._group_seconds.append(t - group.first_start)
            for finish in group.finishes:
                self._sibling_waits.add(t)
                self._sibling_waits.add(-finish)
            self._finished_in_groups += self._group_size

    def _hand_over(self, e: ev.HandOver) -> None:
        self._enqueue(e.t, 1)
        self._relieve(self._holders.pop(e.episode), e.t)

    def _relieve(self, worker: WorkerRecord, t: float) -> None:
        """A worker holds its finished episode no longer; one that is down or has left stays so."""
        worker.held = None
        if worker.state == BLOCKED:
            self._enter(worker, WAITING, t)

    def _pause(self, e: ev.Pause) -> None:
        self._release(e.worker, e.t)
        self.counts["paused"] += 1
        if e.cause == "defer":
            episode = self.episodes[e.episode]
            self._waste(episode)
            self._hold_sandbox(episode, e.t, holds=False)
            episode.begun = False

    def _abort(self, e: ev.Abort) -> None:
        if e.worker is None:
            self.counts["paused"] -= 1
        else:
            self._release(e.worker, e.t)
        self._lose(e.episode, "aborted", e.t, e.cause)

    def _fail(self, e: ev.Fail) -> None:
        self._release(e.worker, e.t)
        if e.cause != "crash":
            self.counts[f"attempt_{e.cause}"] += 1
        self._lose(e.episode, "failed", e.t, e.cause)

    def _lose(self, number: int, account: str, t: float, cause: str) -> None:
        episode = self.episodes.pop(number)
        self._hold_sandbox(episode, t, holds=False)
        self.counts[account] += 1
        self._waste(episode)
        if self._group_size > 1 and cause != "surplus":
            self._lose_member(episode.group, whole=cause in GROUP_CAUSES)

    def _lose_member(self, number: int, *, whole: bool) -> None:
        """A group lost a member; it is lost `whole` if that was the reason, or if too few are left."""
        group = self._groups[number]
        group.lost_members += 1
        whole = whole or group.lost_members > self.scenario.rollout.group_redundancy
        if whole and not group.lost:
            group.lost = True
            self.counts["groups_lost"] += 1

    def _drop(self, e: ev.Drop) -> None:
        for number in e.episodes:
            episode = self.episodes.pop(number)
            self.counts["dropped"] += 1
            self.counts["queued"] -= 1
            self._waste(episode)
            if e.cause == "group" and self._group_size > 1:
                self._lose_member(episode.group, whole=True)
            if (holder := self._holders.pop(number, None)) is None:
                self._enqueue(e.t, -1)
            else:
                self._relieve(holder, e.t)

    def _update(self, e: ev.Update) -> None:
        self._enter_trainer(UPDATING, e.t)
        self.counts["trained"] += len(e.episodes)
        self.counts["queued"] -= len(e.episodes)
        for number in e.episodes:
            episode = self.episodes.pop(number)
            self._enqueue(e.t, -1)
            self._trained_durations.add(episode.duration)
            self._count_staleness(episode)

    def _count_staleness(self, episode: EpisodeRecord) -> None:
        versions = episode.versions()
        oldest, newest = versions[0], versions[-1]
        self._in_flight_versions += episode.finished_version - oldest
        self._in_queue_versions += self.version - episode.finished_version
        self.staleness[self.version - oldest] += 1
        self._span_total += newest - oldest
        self._span_max = max(self._span_max, newest - oldest)
        self._newest_total += self.version - newest
        mean = float(oldest) if oldest == newest else episode.mean_version()
        self._weighted.add(self.version - mean)

    def _updated(self, e: ev.Updated) -> None:
        if not e.pushes:
            self.updates += 1
        self._push_counts = e.pushes
        self._enter_trainer(WAITING, e.t)

    def _push(self, e: ev.Push) -> None:
        self._enter_trainer(PUSHING, e.t)
        if e.freezes:
            self._set_frozen(e.t, frozen=True)

    def _publish(self, e: ev.Publish) -> None:
        self.version = e.version
        self.publications += 1
        self.updates += self._push_counts
        self._enter_trainer(WAITING, e.t)
        if self.frozen:
            self._set_frozen(e.t, frozen=False)

    def _refresh(self, e: ev.Refresh) -> None:
        for number in e.workers:
            worker = self.workers[number]
            if worker.episode is None:
                continue
            episode = self.episodes[worker.episode]
            open_segment = episode.opened is not None
            self._close_segment(worker, e.t)
            episode.version = self.version
            if open_segment:
                self._open_segment(worker, e.t)

    def _stall(self, e: ev.Stall) -> None:
        self._trainer_seconds[self.trainer_state].add(e.t)
        self._trainer_seconds[STALLED].add(-e.t)
        self.stalled = True

    def _unstall(self, e: ev.Unstall) -> None:
        self._trainer_seconds[STALLED].add(e.t)
        self._trainer_seconds[self.trainer_state].add(-e.t)
        self.stalled = False

    def _down(self, e: ev.Down) -> None:
        self._enter(self.workers[e.worker], DOWN, e.t)

    def _up(self, e: ev.Up) -> None:
        worker = self.workers.get(e.worker)
        if worker is None:
            self.workers[e.worker] = WorkerRecord(since=e.t)
            self._service.add(-e.t)
            self._seconds[self._account(self.workers[e.worker])].add(-e.t)
        elif worker.held is None:
            self._enter(worker, WAITING, e.t)
        else:
            self._enter(worker, BLOCKED, e.t, QUEUE)

    def _leave(self, e: ev.Leave) -> None:
        worker = self.workers.pop(e.worker)
        self._seconds[self._account(worker)].add(e.t)
        self._service.add(e.t)
        worker.state = LEFT

    def _inject(self, e: ev.Inject) -> None:
        pass

    # -- what they amount to ------------------------------------------------------------------------

    def worker_seconds(self, t: float) -> dict[str, float]:
        """Worker seconds up to `t` by state, and `wasted`, the part of `generating` that was in vain."""
        present = Counter(self._account(worker) for worker in self.workers.values())
        terms = {
            account: chain(total.terms, repeat(t, present[account]))
            for account, total in self._seconds.items()
        }
        terms[BLOCKED] = chain(terms.pop(SANDBOX), terms.pop(QUEUE))
        seconds = {state: math.fsum(terms[state]) for state in WORKER_STATES}
        seconds["wasted"] = self._wasted.value()
        return seconds

    def service_seconds(self, t: float) -> float:
        """Worker seconds in service up to `t`."""
        return self._service.value(repeat(t, len(self.workers)))

    def trainer_seconds(self, t: float) -> dict[str, float]:
        """Trainer seconds up to `t` by state."""
        present = STALLED if self.stalled else self.trainer_state
        return {
            state: total.value((t,) if state == present else ())
            for state, total in self._trainer_seconds.items()
        }

    def episode_counts(self) -> dict[str, int]:
        """The accounts of episodes."""
        counts = self.counts
        gone = counts["finished"] + counts["aborted"] + counts["failed"] + counts["paused"]
        return {
            "started": counts["started"],
            "finished": counts["finished"],
            "trained": counts["trained"],
            "dropped": counts["dropped"],
            "aborted": counts["aborted"],
            "failed": counts["failed"],
            "queued": counts["queued"],
            "in_flight": counts["started"] - gone,
            "paused": counts["paused"],
            "attempts": counts["attempts"],
        }

    def staleness_figures(self) -> dict[str, Any]:
        """Staleness of trained episodes, in versions; None where nothing was trained."""
        n = self.counts["trained"]
        top = max(self.staleness, default=-1)
        histogram = [self.staleness[k] for k in range(top + 1)]
        return {
            "mean": _ratio(self._in_flight_versions + self._in_queue_versions, n),
            "p50": _nearest_rank_of(histogram, 50),
            "p95": _nearest_rank_of(histogram, 95),
            "max": top if n else None,
            "histogram": histogram,
            "in_flight_mean": _ratio(self._in_flight_versions, n),
            "in_queue_mean": _ratio(self._in_queue_versions, n),
        }

    def length_figures(self) -> dict[str, float | None]:
        """Mean durations as drawn, in seconds, and their ratio, the length bias."""
        started = _ratio(self._started_durations.value(), self.counts["started"])
        trained = _ratio(self._trained_durations.value(), self.counts["trained"])
        bias = trained / started if started and trained is not None else None
        return {"started_mean": started, "trained_mean": trained, "length_bias": bias}

    def result(self, t: float) -> dict[str, Any]:
        """All figures of the run from 0 to `t`, under the names of the result JSON."""
        workers = self.worker_seconds(t)
        trainer = self.trainer_seconds(t)
        service = self.service_seconds(t)
        n = self.counts["trained"]
        result: dict[str, Any] = {
            "emulated_seconds": t,
            "updates": self.updates,
            "publications": self.publications,
            "updates_per_hour": _ratio(self.updates * 3600, t),
            "episodes": self.episode_counts(),
            "workers": {
                "utilisation": _ratio(workers[GENERATING], service),
                "goodput": _ratio(workers[GENERATING] - workers["wasted"], service),
                "seconds": workers,
            },
            "trainer": {
                "utilisation": _ratio(trainer[UPDATING] + trainer[PUSHING], t),
                "seconds": trainer,
            },
            "staleness": self.staleness_figures(),
            "versions": {
                "span_mean": _ratio(self._span_total, n),
                "span_max": self._span_max if n else None,
                "newest_mean": _ratio(self._newest_total, n),
                "weighted_mean": _ratio(self._weighted.value(), n),
            },
            "queue": {
                "mean": _ratio(self._queue_seconds.value(repeat(t, self.depth)), t),
                "max": max(self.max_depth, self.depth),
            },
            "episode_seconds": self.length_figures(),
        }
        if self._group_size > 1:
            result["groups"] = self._group_figures()
        if self._has_environment:
            result["environment"] = self._environment_figures(t)
        return result

    def _group_figures(self) -> dict[str, Any]:
        ordered = sorted(self._group_seconds)
        return {
            "completed": self.counts["groups_completed"],
            "lost": self.counts["groups_lost"],
            "sibling_wait_mean": _ratio(self._sibling_waits.value(), self._finished_in_groups),
            "completion_p50": _nearest_rank(ordered, 50),
            "completion_p95": _nearest_rank(ordered, 95),
        }

    def _environment_figures(self, t: float) -> dict[str, Any]:
        environment = self.scenario.environment
        assert environment is not None
        holders = sum(episode.has_sandbox for episode in self.episodes.values())
        waiters = sum(self._account(worker) == SANDBOX for worker in self.workers.values())
        used = self._sandbox_seconds.value(repeat(t, holders))
        pool = environment.sandboxes
        return {
            "sandbox_seconds": used,
            "sandbox_utilisation": None if pool is None else _ratio(used, pool * t),
            "sandbox_wait_seconds": self._seconds[SANDBOX].value(repeat(t, waiters)),
            "failures": self.counts["attempt_failure"],
            "timeouts": self.counts["attempt_timeout"],
            "retries": self.counts["retried"],
        }


def _ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None


def _nearest_rank(ordered: list[float], percent: int) -> float | None:
    """The smallest value that at least `percent` of the values do not exceed."""
    return ordered[-(-len(ordered) * percent // 100) - 1] if ordered else None


def _nearest_rank_of(histogram: list[int], percent: int) -> int | None:
    """`_nearest_rank` of whole numbers that are given by their counts from 0."""
    rank = -(-sum(histogram) * percent // 100)
    seen = 0
    for value, count in enumerate(histogram):
        seen += count
        if count and seen >= rank:
            return value
    return None


_HANDLERS: dict[type[ev.Event], Callable[[Figures, Any], None]] = {
    ev.Start: Figures._start,
    ev.Resume: Figures._resume,
    ev.Blocked: Figures._blocked,
    ev.Gated: Figures._gated,
    ev.Overhead: Figures._overhead,
    ev.Generate: Figures._generate,
    ev.Retry: Figures._retry,
    ev.Finish: Figures._finish,
    ev.HandOver: Figures._hand_over,
    ev.Pause: Figures._pause,
    ev.Abort: Figures._abort,
    ev.Fail: Figures._fail,
    ev.Drop: Figures._drop,
    ev.Update: Figures._update,
    ev.Updated: Figures._updated,
    ev.Push: Figures._push,
    ev.Publish: Figures._publish,
    ev.Refresh: Figures._refresh,
    ev.Stall: Figures._stall,
    ev.Unstall: Figures._unstall,
    ev.Down: Figures._down,
    ev.Up: Figures._up,
    ev.Leave: Figures._leave,
    ev.Inject: Figures._inject,
}
