"""The built-in learner: a tabular softmax policy on a contextual bandit, updated for real."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.random import SeedSequence, default_rng

from emulator.learner.draws import NumberedDraws
from emulator.learner.losses import loss_of
from emulator.learner.policy import Indices, Policy, Table, Values
from emulator.learner.protocol import Learner, LearningFigures, Trajectory, TrajectoryGroup
from emulator.learner.tasks import Tasks
from emulator.scenario.learner import Learner as Settings


@dataclass(frozen=True)
class SampledDecisions:
    """The decisions of a batch, one after another, episodes in batch order.

    `cells` are ``context * actions + action``, `log_behaviour` the log-probabilities with which they were
    made and `advantages` their rewards less the baseline. The stretches of decisions that one version made in
    one context are `lengths` (in decisions), `contexts` and `behaviours` (a row of log-probabilities each).
    """

    cells: Indices
    log_behaviour: Values
    advantages: Values
    lengths: Indices
    contexts: Indices
    behaviours: Table


class TabularLearner(Learner):
    """Learns which action is right in each context, from the episodes that a run gives it.

    An episode is `steps` decisions in one context, each sampled from the version that generated it at that
    point of its duration. A reward is 1 for the right action and 0 for another, plus normal noise. The
    baseline is the mean reward of the batch, or with groups that of the group (GRPO; not divided by the
    standard deviation). An update takes `epochs` gradient steps on the mean loss of the whole batch.

    The best reward is 1. A policy that knows nothing has ``1 / actions``.
    """

    def __init__(self, settings: Settings, seed: SeedSequence) -> None:
        rights, passes, ties, episodes = _children(seed, 4)
        shape = (settings.contexts, settings.actions)
        self._settings = settings
        self._loss = loss_of(settings)
        self._right = default_rng(rights).integers(settings.actions, size=settings.contexts)
        self._tasks = Tasks(settings.contexts, settings.difficulty_correlation, passes, ties)
        self._episodes = NumberedDraws(episodes)
        self.policy = Policy(np.zeros(shape))
        """The present policy."""
        self._versions = {0: self.policy}

    @property
    def versions(self) -> list[int]:
        """The versions that are kept, oldest first."""
        return list(self._versions)

    def publish(self, version: int) -> None:
        """Keep the present policy as `version`."""
        self._versions[version] = self.policy

    def retire(self, needed: Collection[int]) -> None:
        """Forget all versions but the `needed` ones."""
        self._versions = {v: policy for v, policy in self._versions.items() if v in needed}

    def update(self, batch: Sequence[TrajectoryGroup]) -> LearningFigures:
        """Take `epochs` gradient steps on a batch; KeyError for a version that is not kept."""
        decisions = self.sample(batch)
        n = len(decisions.cells)
        began_with = self.policy
        first_ratios = np.exp(first_logs := _log_ratios(began_with, decisions))
        cut = 0
        for epoch in range(self._settings.epochs):
            ratios = np.exp(_log_ratios(self.policy, decisions)) if epoch else first_ratios
            weighed = self._loss(ratios, decisions.advantages)
            ascent = self.policy.gradient(decisions.cells, weighed.weights * decisions.advantages)
            self.policy = Policy(self.policy.logits + self._settings.learning_rate / n * ascent)
            cut += int(np.count_nonzero(weighed.cut))
        rewards = self.expected_rewards()
        return LearningFigures(
            reward=float(rewards.mean()),
            reward_slowest=float(rewards[-math.ceil(len(rewards) / 10) :].mean()),
            clip_fraction=cut / (n * self._settings.epochs),
            ratio_mean=float(first_ratios.sum()) / n,
            ratio_min=float(first_ratios.min()),
            ratio_max=float(first_ratios.max()),
            effective_sample_size=_effective_sample_size(first_logs),
            kl=_kl(decisions, began_with),
        )

    def expected_rewards(self) -> Values:
        """The expected reward of the present policy in each context, exact."""
        return self.policy.probabilities[np.arange(self._settings.contexts), self._right]

    def sample(self, batch: Sequence[TrajectoryGroup]) -> SampledDecisions:
        """Make the decisions of a batch; the same episodes always make the same."""
        steps, actions, noise = self._settings.steps, self._settings.actions, self._settings.reward_noise
        shape = (sum(len(group.trajectories) for group in batch), steps)
        cells = np.empty(shape, np.int64)
        log_behaviour, rewards, baselines = np.empty(shape), np.empty(shape), np.empty(shape)
        stretches: list[tuple[int, int, Values]] = []
        row = 0
        for group in batch:
            first = row
            context = self._tasks.context(group.group, group.ranks)
            for trajectory in group.trajectories:
                rng = self._episodes.of(trajectory.episode)
                quantiles = rng.random(steps)
                rewards[row] = noise * rng.standard_normal(steps)
                for version, begin, end in _stretches(trajectory, steps):
                    policy = self._versions[version]
                    behaviour = policy.log_probabilities[context]
                    chosen = policy.actions(context, quantiles[begin:end])
                    cells[row, begin:end] = chosen
                    log_behaviour[row, begin:end] = behaviour[chosen]
                    stretches.append((end - begin, context, behaviour))
                rewards[row] += cells[row] == self._right[context]
                cells[row] += context * actions
                row += 1
            baselines[first:row] = rewards[first:row].mean()
        if len(batch) == len(rewards):
            baselines[:] = rewards.mean()
        lengths, contexts, behaviours = zip(*stretches, strict=True)
        return SampledDecisions(
            cells.ravel(),
            log_behaviour.ravel(),
            (rewards - baselines).ravel(),
            np.array(lengths),
            np.array(contexts),
            np.array(behaviours),
        )


def _children(seed: SeedSequence, n: int) -> list[SeedSequence]:
    # Named rather than spawned, since spawning would change the seed it was given.
    return [SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, child)) for child in range(n)]


def _stretches(trajectory: Trajectory, steps: int) -> Iterator[tuple[int, int, int]]:
    """Version, first decision and end of each portion with decisions in it: those whose middles it spans."""
    ends = list(accumulate(seconds for _, seconds in trajectory.portions))
    total = ends[-1]
    if not total or len(ends) == 1:
        yield trajectory.portions[0][0], 0, steps
        return
    begin = 0
    for (version, _), until in zip(trajectory.portions, ends, strict=True):
        end = math.floor(until / total * steps + 0.5)
        if end > begin:
            yield version, begin, end
            begin = end


def _log_ratios(policy: Policy, decisions: SampledDecisions) -> Values:
    return policy.log_probabilities.ravel()[decisions.cells] - decisions.log_behaviour


def _effective_sample_size(log_ratios: Values) -> float:
    """It does not depend on a factor common to all ratios, and the largest may be too small for a float."""
    ratios = np.exp(log_ratios - log_ratios.max())
    share = float(ratios.sum()) ** 2 / (len(ratios) * float(np.square(ratios).sum()))
    return min(share, 1.0)  # which rounding may exceed


def _kl(decisions: SampledDecisions, policy: Policy) -> float:
    logs = decisions.behaviours
    each = (np.exp(logs) * (logs - policy.log_probabilities[decisions.contexts])).sum(axis=1)
    # It is never below 0, but for rounding.
    return max(float((each * decisions.lengths).sum() / decisions.lengths.sum()), 0.0)
