"""The accounts of a lane at any moment, of which its figures are made."""

import math
from collections import Counter
from functools import cached_property
from itertools import chain, repeat
from typing import Any

from emulator.figures.columns import ColumnFold
from emulator.figures.engines import EngineReading
from emulator.figures.records import (
    ABSENT,
    BLOCKED,
    ENGINE,
    PUSHING,
    QUEUE,
    SANDBOX,
    UPDATING,
    WORKER_STATES,
)
from emulator.figures.sums import nearest_rank, nearest_rank_of, ratio
from emulator.scenario.engines import Cluster


class LaneAccounts(ColumnFold):
    """What the events of a lane add up to until any moment from the last of them on."""

    def worker_seconds(self, t: float) -> dict[str, float]:
        """Worker seconds up to `t` by state, and `wasted`, the part of `generating` that was wasted."""
        present = Counter(worker.account for worker in self.workers.values())
        terms = {
            account: chain(total.terms, repeat(t, present[account]))
            for account, total in self._seconds.items()
        }
        terms[BLOCKED] = chain(terms.pop(SANDBOX), terms.pop(QUEUE), terms.pop(ENGINE))
        seconds = {state: math.fsum(terms[state]) for state in WORKER_STATES}
        seconds["wasted"] = self._wasted.value()
        return seconds

    def service_seconds(self, t: float) -> float:
        """Worker seconds in service up to `t`."""
        return 0.0 - self._seconds[ABSENT].value(repeat(-t, len(self.workers)))

    def trainer_seconds(self, t: float) -> dict[str, float]:
        """Trainer seconds up to `t` by state."""
        return {
            state: total.value((t,) if state == self.trainer_account else ())
            for state, total in self._trainer_seconds.items()
        }

    def episode_counts(self) -> dict[str, int]:
        """The accounts of episodes."""
        counts = self.counts
        gone = counts["finished"] + counts["aborted"] + counts["failed"] + len(self.paused)
        return {
            "started": counts["started"],
            "finished": counts["finished"],
            "trained": counts["trained"],
            "dropped": counts["dropped"],
            "aborted": counts["aborted"],
            "failed": counts["failed"],
            "queued": counts["finished"] - counts["trained"] - counts["dropped"],
            "in_flight": counts["started"] - gone,
            "paused": len(self.paused),
            "attempts": counts["attempts"],
        }

    def staleness_figures(self) -> dict[str, Any]:
        """Staleness of trained episodes, in versions; None where nothing was trained."""
        n = self.counts["trained"]
        top = max(self.staleness, default=-1)
        histogram = [self.staleness[k] for k in range(top + 1)]
        return {
            "mean": ratio(self._in_flight_versions + self._in_queue_versions, n),
            "p50": nearest_rank_of(histogram, 50),
            "p95": nearest_rank_of(histogram, 95),
            "max": top if n else None,
            "histogram": histogram,
            "in_flight_mean": ratio(self._in_flight_versions, n),
            "in_queue_mean": ratio(self._in_queue_versions, n),
        }

    def length_figures(self) -> dict[str, float | None]:
        """Mean lengths as drawn, in seconds or tokens, and their ratio, the length bias."""
        started = ratio(self._started_durations.value(), self.counts["started"])
        trained = ratio(self._trained_durations.value(), self.counts["trained"])
        bias = ratio(trained, started) if started and trained is not None else None
        return {"started_mean": started, "trained_mean": trained, "length_bias": bias}

    def version_figures(self) -> dict[str, Any]:
        """The versions that trained episodes were generated under; None where nothing was trained."""
        n = self.counts["trained"]
        return {
            "span_mean": ratio(self._span_total, n),
            "span_max": self._span_max if n else None,
            "newest_mean": ratio(self._newest_total, n),
            "weighted_mean": ratio(self._weighted.value(), n),
        }

    def queue_mean(self, t: float) -> float | None:
        """Mean depth of the queue up to `t`, in episodes."""
        return ratio(self._queue_seconds.value(repeat(t, self.depth)), t)

    def queue_max(self) -> int:
        """The most episodes that the queue held."""
        return max(self.max_depth, self.depth)

    @property
    def has_groups(self) -> bool:
        """Whether episodes are grouped."""
        return self._group_size > 1

    def group_figures(self) -> dict[str, Any]:
        """What groups came to, and their times in seconds; None where none was complete."""
        ordered = sorted(self._group_seconds)
        return {
            "completed": self.counts["groups_completed"],
            "lost": self.counts["groups_lost"],
            "sibling_wait_mean": ratio(self._sibling_waits.value(), self._finished_in_groups),
            "completion_p50": nearest_rank(ordered, 50),
            "completion_p95": nearest_rank(ordered, 95),
        }

    def environment_figures(self, t: float) -> dict[str, Any]:
        """What the sandboxes did up to `t`, and failed attempts, of a lane with an environment."""
        environment = self.scenario.environment
        assert environment is not None
        holders = sum(episode.has_sandbox for episode in self.episodes.values())
        used = self._sandbox_seconds.value(repeat(t, holders))
        pool = environment.sandboxes
        return {
            "sandbox_seconds": used,
            "sandbox_utilisation": None if pool is None else ratio(used, pool * t),
            "sandbox_wait_seconds": self._waited(SANDBOX, t),
            "failures": self.counts["attempt_failure"],
            "timeouts": self.counts["attempt_timeout"],
            "retries": self.counts["retried"],
        }

    def _waited(self, cause: str, t: float) -> float:
        waiters = sum(worker.account == cause for worker in self.workers.values())
        return self._seconds[cause].value(repeat(t, waiters))

    def engine_figures(self, reading: EngineReading, t: float) -> dict[str, Any]:
        """What the engines did up to `t`, of a lane with engines."""
        return reading.engine(preempted=self.counts["preempted"], wait_seconds=self._waited(ENGINE, t))


class Reading:
    """The accounts of a lane from 0 to `t`, each added up once, however many figures are made of it."""

    def __init__(self, lane: LaneAccounts, t: float) -> None:
        self.lane = lane
        self.t = t

    @cached_property
    def workers_seconds(self) -> dict[str, float]:
        """See `LaneAccounts.worker_seconds`."""
        return self.lane.worker_seconds(self.t)

    @cached_property
    def service(self) -> float:
        """See `LaneAccounts.service_seconds`."""
        return self.lane.service_seconds(self.t)

    @cached_property
    def trainer_seconds(self) -> dict[str, float]:
        """See `LaneAccounts.trainer_seconds`."""
        return self.lane.trainer_seconds(self.t)

    @cached_property
    def episodes(self) -> dict[str, int]:
        """See `LaneAccounts.episode_counts`."""
        return self.lane.episode_counts()

    @cached_property
    def staleness(self) -> dict[str, Any]:
        """See `LaneAccounts.staleness_figures`."""
        return self.lane.staleness_figures()

    @cached_property
    def versions(self) -> dict[str, Any]:
        """See `LaneAccounts.version_figures`."""
        return self.lane.version_figures()

    @cached_property
    def _lengths(self) -> dict[str, float | None]:
        return self.lane.length_figures()

    @property
    def episode_seconds(self) -> dict[str, float | None]:
        """See `LaneAccounts.length_figures`; of lengths in tokens there is only the bias."""
        in_tokens = self.lane.scenario.rollout.episode_seconds is None
        return {**self._lengths, "started_mean": None, "trained_mean": None} if in_tokens else self._lengths

    @cached_property
    def groups(self) -> dict[str, Any]:
        """See `LaneAccounts.group_figures`."""
        return self.lane.group_figures()

    @cached_property
    def environment(self) -> dict[str, Any]:
        """See `LaneAccounts.environment_figures`."""
        return self.lane.environment_figures(self.t)

    @property
    def episode_tokens(self) -> dict[str, float | None]:
        """The same of lengths in tokens."""
        return self._lengths

    @cached_property
    def _engines(self) -> EngineReading:
        return EngineReading(self.lane.engine_sums, self.t)

    @cached_property
    def engine(self) -> dict[str, Any]:
        """See `EngineReading.engine`; of a lane with engines."""
        return self.lane.engine_figures(self._engines, self.t)

    @cached_property
    def cluster_gpu_seconds(self) -> dict[str, float]:
        """See `EngineReading.gpu_seconds`; of a lane with a cluster."""
        trainer = self.trainer_seconds
        return self._engines.gpu_seconds(self._cluster, trainer[UPDATING] + trainer[PUSHING])

    @property
    def _cluster(self) -> Cluster:
        cluster = self.lane.scenario.cluster
        assert cluster is not None
        return cluster

    @cached_property
    def cluster(self) -> dict[str, Any]:
        """What a cluster's GPUs gave, per GPU-hour."""
        total = self._cluster.gpus * self.t
        return {
            "updates_per_gpu_hour": ratio(self.lane.updates * 3600, total),
            "trained_tokens_per_gpu_hour": ratio(self._engines.trained_tokens() * 3600, total),
        }

    @cached_property
    def learning(self) -> dict[str, Any]:
        """See `LearningSums.figures`; of a lane that learns."""
        assert self.lane.learning is not None
        return self.lane.learning.figures()
