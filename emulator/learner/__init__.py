"""What learns in a run: a plug of three methods, and the figures that each update of it gives.

The emulated system knows nothing about policies, rewards or losses. A `Learner` hears three things from
it: that a version is published, that no version below a number is needed any more, and what a batch was made
of, in the order in which the trainer took it. What an episode was made of is the seconds that each version
spent generating it, so a refresh in flight or a resumed episode needs nothing of its own. A run without a
learner makes no such call.

A learner is asked in emulated order, and may keep nothing about an episode before it is trained: its
decisions can be sampled when its batch is, from random numbers that belong to the number of the episode.
Then what is aborted, dropped or failed costs nothing, and the order of finishing has no influence.

`emulator.learner.tabular` has the built-in one, which a scenario's `learner` section asks for. Any other is
plugged in by ``emulator.run(scenario, learner=make)``, or ``race``: `make` is a `LearnerFactory`, called once
for each lane before the run begins. So that a trace is the same every time, all that a learner draws must
come from the seed that it is given. To try the built-in one without a run::

    learner = TabularLearner(emulator.scenario.learner.Learner(), numpy.random.SeedSequence(1))
    batch = [TrajectoryGroup(k, [(0.5, 0.5)], [Trajectory(k, [(0, 20.0)])]) for k in range(64)]
    learner.update(batch).reward
"""

from numpy.random import SeedSequence

from emulator.learner.protocol import (
    TARGET_SHARE,
    Learner,
    LearnerFactory,
    LearningFigures,
    Rank,
    Trajectory,
    TrajectoryGroup,
)
from emulator.scenario import Scenario

__all__ = [
    "TARGET_SHARE",
    "Learner",
    "LearnerFactory",
    "LearningFigures",
    "Rank",
    "Trajectory",
    "TrajectoryGroup",
    "built_in",
]


def built_in(scenario: Scenario, seed: SeedSequence) -> Learner | None:
    """The learner that a scenario asks for; None if it asks for none."""
    if scenario.learner is None:
        return None
    from emulator.learner.tabular import TabularLearner  # noqa: PLC0415  (most runs do without it)

    return TabularLearner(scenario.learner, seed)
