"""The policy that learns from the episodes of a run, and the loss by which it does."""

from typing import Annotated, Literal

from pydantic import Field

from emulator.values.scalars import Number, Part, Whole

MAX_CONTEXTS = 4096
"""The most contexts of a policy."""

MAX_ACTIONS = 64
"""The most actions of a policy."""

MAX_STEPS = 1024
"""The most decisions in an episode."""

MAX_EPOCHS = 100
"""The most epochs of an update."""


class Learner(Part):
    """A small policy that really learns: in each context, one of its actions is right."""

    contexts: Annotated[int, Whole(1, MAX_CONTEXTS)] = 64
    """Different tasks, each with a right action of its own."""
    actions: Annotated[int, Whole(2, MAX_ACTIONS)] = 16
    """Actions to choose from; a policy that has learned nothing is right once in so many times."""
    steps: Annotated[int, Whole(1, MAX_STEPS)] = 32
    """Decisions in an episode, all in its one context, each with a reward."""
    loss: Literal["ppo", "importance", "vtrace", "none"] = "ppo"
    """How an update corrects for stale episodes: by a clipped, whole or truncated ratio, or not at all."""
    clip: Annotated[float, Number(0, 1, above=True)] = Field(default=0.2, examples=[0.2])
    """With ``ppo``, how far a ratio may move from 1, a pure number."""
    rho: Annotated[float, Number(0, 1e6, above=True)] = Field(default=1.0, examples=[1.0])
    """With ``vtrace``, where a ratio is truncated, a pure number."""
    epochs: Annotated[int, Whole(1, MAX_EPOCHS)] = 4
    """Gradient steps on each batch."""
    learning_rate: Annotated[float, Number(0, 1e6, above=True)] = Field(default=30.0, examples=[30])
    """The step along the gradient of the mean loss over all decisions of a batch, in logits."""
    reward_noise: Annotated[float, Number(0, 1000)] = 0.5
    """Standard deviation of the noise on each reward, which is 1 for the right action and 0 for others."""
    difficulty_correlation: Annotated[float, Number(0, 1)] = 0.0
    """How closely an episode's context follows the rank of its duration: 0 not at all, 1 entirely."""
