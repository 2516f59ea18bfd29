"""What the updates of a learner come to."""

from collections.abc import Iterator
from typing import Any

from emulator.events import Learn
from emulator.figures.sums import ExactSum, ratio
from emulator.learner import TARGET_SHARE

BEST_REWARD = 1.0
"""The expected reward of a policy that is always right."""

_TARGET = TARGET_SHARE * BEST_REWARD
_MEANS = ("clip_fraction", "ratio_mean", "effective_sample_size", "kl")


class LearningSums:
    """Learn events, folded; `last` is the last of them, `reached` the first with 80 % of the best reward."""

    def __init__(self) -> None:
        self.last: Learn | None = None
        self.reached: Learn | None = None
        self._first: Learn | None = None
        self._count = 0
        self._ratio_min: float | None = None
        self._ratio_max: float | None = None
        self._totals = {name: ExactSum() for name in _MEANS}

    def add(self, event: Learn) -> None:
        """Take in the next update."""
        self._count += 1
        self._first = self._first or event
        self.last = event
        if self.reached is None and event.reward >= _TARGET:
            self.reached = event
        self._ratio_min = min(
            event.ratio_min, event.ratio_min if self._ratio_min is None else self._ratio_min
        )
        self._ratio_max = max(event.ratio_max, self._ratio_max or event.ratio_max)
        for name, total in self._totals.items():
            total.add(getattr(event, name))

    def sums(self) -> Iterator[ExactSum]:
        """The totals, which may have grown long."""
        yield from self._totals.values()

    def figures(self) -> dict[str, Any]:
        """What `Run.result` has as ``learning``; None where no update has ended, or 80 % are not reached.

        ``updates`` have learned, of which ``updates_to_80`` brought the reward to 80 % of the best, in
        ``minutes_to_80`` emulated minutes. ``reward`` is the policy's expected reward over all tasks after
        the last update, ``reward_first`` after the first, ``reward_slowest_tenth`` after the last over the
        tenth of the tasks with the longest episodes, and ``best_reward`` the best there is. How far batches
        were off the policy that they update: ``clip_fraction`` (share of decisions whose ratio the loss clips
        or truncates), ``ratio_mean`` (1 on policy), ``effective_sample_size`` (share of a batch, 1 on policy)
        and ``kl`` (nats a decision, 0 on policy) are means over the updates, ``ratio_min`` and
        ``ratio_max`` the extreme ratios. An update counts here as soon as it is computed, before its push.
        """
        first, last, reached = self._first, self.last, self.reached
        return {
            "updates": self._count,
            "reward": None if last is None else last.reward,
            "reward_first": None if first is None else first.reward,
            "reward_slowest_tenth": None if last is None else last.reward_slowest,
            "best_reward": BEST_REWARD,
            "updates_to_80": None if reached is None else reached.update + 1,
            "minutes_to_80": None if reached is None else reached.t / 60,
            **{name: ratio(total.value(), self._count) for name, total in self._totals.items()},
            "ratio_min": self._ratio_min,
            "ratio_max": self._ratio_max,
        }
