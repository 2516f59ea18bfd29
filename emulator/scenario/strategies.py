"""The strategies a scenario may choose between, each with the options that belong to it alone."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from emulator.values.scalars import Exact, Part, Seconds


class Synchronous(Part):
    """Rounds: generate a batch, update, push the weights, and only then the next round."""

    kind: Literal["synchronous"]
    oversample: Annotated[Decimal, Exact(1, 1000)] = Field(default=Decimal(1), examples=[1.25])
    """Episodes issued in a round, as a multiple of the batch (exact decimal)."""
    unfinished: Literal["wait", "abort", "resume", "defer"] = "wait"
    """What becomes of episodes unfinished when the round closes."""
    resume_overhead: Annotated[float, Seconds()] = 0.0
    """What each resumed episode costs on top, in seconds."""


class OneStepOff(Part):
    """The next batch is generated while this one trains: one version of lag, always."""

    kind: Literal["one_step_off"]


class Asynchronous(Part):
    """Workers never wait for each other; each update takes the next batch to finish."""

    kind: Literal["asynchronous"]
    max_staleness: Annotated[Decimal | None, Exact(0, 1_000_000, optional=True)] = Field(
        default=None, examples=[1, 0.5]
    )
    """The most versions of lag, an exact decimal; absent means unlimited."""
    enforce: Literal["gate", "drop", "cancel"] = "gate"
    """How ``max_staleness`` is kept: hold back starts, discard stale episodes, or abort running ones too."""
    weights: Literal["next_episode", "in_flight"] = "next_episode"
    """When a worker takes new weights: with its next episode, or at once in the middle of one."""
    refresh_overhead: Annotated[float, Seconds()] = 0.0
    """What moving a running episode to new weights costs it, in seconds."""
    weight_sync: Literal["background", "pause"] = "background"
    """Whether workers run on during a push of weights or freeze for it."""


Strategy = Annotated[Synchronous | OneStepOff | Asynchronous, Field(discriminator="kind")]
"""Any of the strategies."""
