"""Figures: what the events of one lane amount to at any moment.

They come from the scenario and the events alone: a replayed recording gives the figures of the live run.
"""

import math
from collections import Counter
from itertools import chain, repeat
from typing import Any

from emulator.figures.columns import ColumnFold
from emulator.figures.records import (
    ABSENT,
    BLOCKED,
    GENERATING,
    PUSHING,
    QUEUE,
    SANDBOX,
    UPDATING,
    WORKER_STATES,
)
from emulator.figures.sums import nearest_rank, nearest_rank_of, ratio


class Figures(ColumnFold):
    """The figures of one lane: give it its events with `add` or `add_block`, and read them at any time."""

    def worker_seconds(self, t: float) -> dict[str, float]:
        """Worker seconds up to `t` by state, and `wasted`, the part of `generating` that was in vain."""
        present = Counter(worker.account for worker in self.workers.values())
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
        gone = counts["finished"] + counts["aborted"] + counts["failed"] + counts["paused"]
        return {
            "started": counts["started"],
            "finished": counts["finished"],
            "trained": counts["trained"],
            "dropped": counts["dropped"],
            "aborted": counts["aborted"],
            "failed": counts["failed"],
            "queued": counts["finished"] - counts["trained"] - counts["dropped"],
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
            "mean": ratio(self._in_flight_versions + self._in_queue_versions, n),
            "p50": nearest_rank_of(histogram, 50),
            "p95": nearest_rank_of(histogram, 95),
            "max": top if n else None,
            "histogram": histogram,
            "in_flight_mean": ratio(self._in_flight_versions, n),
            "in_queue_mean": ratio(self._in_queue_versions, n),
        }

    def length_figures(self) -> dict[str, float | None]:
        """Mean durations as drawn, in seconds, and their ratio, the length bias."""
        started = ratio(self._started_durations.value(), self.counts["started"])
        trained = ratio(self._trained_durations.value(), self.counts["trained"])
        bias = ratio(trained, started) if started and trained is not None else None
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
            "updates_per_hour": ratio(self.updates * 3600, t),
            "episodes": self.episode_counts(),
            "workers": {
                "utilisation": ratio(workers[GENERATING], service),
                "goodput": ratio(workers[GENERATING] - workers["wasted"], service),
                "seconds": workers,
            },
            "trainer": {
                "utilisation": ratio(trainer[UPDATING] + trainer[PUSHING], t),
                "seconds": trainer,
            },
            "staleness": self.staleness_figures(),
            "versions": {
                "span_mean": ratio(self._span_total, n),
                "span_max": self._span_max if n else None,
                "newest_mean": ratio(self._newest_total, n),
                "weighted_mean": ratio(self._weighted.value(), n),
            },
            "queue": {
                "mean": ratio(self._queue_seconds.value(repeat(t, self.depth)), t),
                "max": max(self.max_depth, self.depth),
            },
            "episode_seconds": self.length_figures(),
        }
        if self._group_size > 1:
            result["groups"] = self._group_figures()
        if self._has_environment:
            result["environment"] = self._environment_figures(t)
        if self.learning is not None:
            result["learning"] = self.learning.figures()
        return result

    def _group_figures(self) -> dict[str, Any]:
        ordered = sorted(self._group_seconds)
        return {
            "completed": self.counts["groups_completed"],
            "lost": self.counts["groups_lost"],
            "sibling_wait_mean": ratio(self._sibling_waits.value(), self._finished_in_groups),
            "completion_p50": nearest_rank(ordered, 50),
            "completion_p95": nearest_rank(ordered, 95),
        }

    def _environment_figures(self, t: float) -> dict[str, Any]:
        environment = self.scenario.environment
        assert environment is not None
        holders = sum(episode.has_sandbox for episode in self.episodes.values())
        waiters = sum(worker.account == SANDBOX for worker in self.workers.values())
        used = self._sandbox_seconds.value(repeat(t, holders))
        pool = environment.sandboxes
        return {
            "sandbox_seconds": used,
            "sandbox_utilisation": None if pool is None else ratio(used, pool * t),
            "sandbox_wait_seconds": self._seconds[SANDBOX].value(repeat(t, waiters)),
            "failures": self.counts["attempt_failure"],
            "timeouts": self.counts["attempt_timeout"],
            "retries": self.counts["retried"],
        }
