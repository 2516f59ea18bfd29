"""The sections of a scenario, their defaults and their limits, and the lanes that vary them."""

from collections.abc import Iterator
from typing import Annotated, Any

from numpy.random import SeedSequence
from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from emulator.scenario.engines import Cluster, Engine, Gpus, Milliseconds, Turns
from emulator.scenario.learner import Learner
from emulator.scenario.timeline import Event
from emulator.strategies import AnyStrategy
from emulator.values.distributions import Constant, Distribution, Lognormal, Sampler
from emulator.values.scalars import MAX_WORKERS, Number, Part, Seconds, Text, Whole, misfit

MAX_BATCH = 10_000_000
"""The most episodes in a batch, in a group or in a queue."""

MAX_EVENTS = 10_000
"""The most entries in a timeline."""

Name = Annotated[str, Text(100)]
Description = Annotated[str, Text(2000, lines=True)]
Events = Annotated[tuple[Event, ...], Field(max_length=MAX_EVENTS)]


LENGTHS = ("episode_seconds", "episode_tokens", "turns")
"""Keys of which one says how long episodes are."""


def given(name: str) -> dict[str, Any]:
    """The JSON Schema of a mapping in which a key is given, and is not null."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


class Rollout(Part):
    """The workers that generate episodes."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [given(name) for name in LENGTHS]})

    workers: Annotated[int, Whole(1, MAX_WORKERS)] = Field(examples=[64])
    """How many workers, each generating one episode at a time."""
    episode_seconds: Distribution | None = Field(
        default=None, examples=[{"kind": "lognormal", "median": 20, "sigma": 1.0}]
    )
    """How long an episode takes a worker of speed 1, or alone in an engine, in seconds: a number or a
    distribution."""
    episode_tokens: Distribution | None = None
    """Tokens that an episode generates in one go, with an engine: a number or a distribution."""
    turns: Turns | None = None
    """The turns of an episode that alternates between generating, with an engine, and using a tool."""
    prompt_tokens: Distribution = Constant(kind="constant", value=0.0)
    """Tokens of an episode's prompt, with an engine, rounded: a number or a distribution."""
    group_size: Annotated[int, Whole(1, MAX_BATCH)] = 1
    """Episodes in a group (GRPO), trained together or not at all; must divide the batch."""
    group_redundancy: Annotated[int, Whole(0, MAX_BATCH)] = 0
    """Episodes begun in each group beyond its size; the last to finish are aborted."""
    group_correlation: Annotated[float, Number(0, 1)] = 0.0
    """Share of the log variance of log-normal durations that the episodes of a group have in common."""
    queue_capacity: Annotated[int, Whole(1, MAX_BATCH)] | None = None
    """The most finished episodes that wait for the trainer; absent means unlimited."""
    speed: Distribution = Constant(kind="constant", value=1.0)
    """Each worker's speed, drawn once: a factor (2 is twice as fast), or a distribution of factors."""

    @model_validator(mode="after")
    def _one_length(self) -> "Rollout":
        given = [name for name in LENGTHS if getattr(self, name) is not None]
        if len(given) != 1:
            raise misfit(f"exactly one of {', '.join(LENGTHS)}", " and ".join(given) or "none of them")
        return self

    @property
    def length(self) -> Distribution:
        """What decides how long an episode is: its seconds, its tokens, or the number of its turns."""
        counts = None if self.turns is None else self.turns.count
        given = (self.episode_seconds, self.episode_tokens, counts)
        return next(distribution for distribution in given if distribution is not None)

    def distributions(self) -> Iterator[Distribution]:
        """Yield every distribution that it has."""
        yield from (self.length, self.speed, self.prompt_tokens)
        if self.turns is not None:
            yield from (self.turns.output_tokens, self.turns.tool_seconds, self.turns.tool_tokens)

    @property
    def length_key(self) -> tuple[str, ...]:
        """The keys of `length`."""
        if self.turns is not None:
            return ("rollout", "turns", "count")
        return ("rollout", "episode_seconds" if self.episode_tokens is None else "episode_tokens")

    def durations(self, seed: SeedSequence, group_seed: SeedSequence) -> Sampler:
        """Start the sequence of durations: the k-th episode to be started has the k-th, in seconds."""
        episode = self.length
        if not self.group_correlation or not isinstance(episode, Lognormal):
            return episode.sampler(seed)
        size = self.group_size + self.group_redundancy
        return episode.sampler_in_groups(seed, group_seed, size, self.group_correlation)


class Trainer(Part):
    """The trainer, which takes batches of episodes and publishes policy versions."""

    batch_size: Annotated[int, Whole(1, MAX_BATCH)] = Field(examples=[64])
    """Episodes in a batch."""
    update_seconds: Distribution = Field(examples=[15])
    """How long an update takes, in seconds: a number or a distribution."""
    weight_sync_seconds: Annotated[float, Seconds()] = 0.0
    """How long a push of weights to the workers takes, in seconds."""
    publish_every: Annotated[int, Whole(1, 1_000_000)] = 1
    """Updates from one publication to the next."""
    token_gpu_ms: Milliseconds = 0.0
    """GPU-milliseconds that an update takes for each 1,000 tokens of its batch: prompts, output and tools."""
    gpus: Gpus | None = None
    """GPUs that an update runs on, 1 unless given; absent where a ``cluster`` says it."""


class Environment(Part):
    """The sandboxes episodes run in, and how they fail."""

    sandboxes: Annotated[int, Whole(1, MAX_WORKERS)] | None = None
    """Sandboxes in the pool all workers share; absent means one for each worker."""
    reset_seconds: Distribution = Constant(kind="constant", value=0.0)
    """How long a sandbox takes to get ready before each attempt, in seconds: a number or a distribution."""
    failure_probability: Annotated[float, Number(0, 1, below=True)] = 0.0
    """How likely an attempt is to fail at its end, from 0 to below 1."""
    timeout_seconds: Annotated[float, Seconds(above=True)] | None = None
    """When an attempt is abandoned, in seconds from its start, its reset included; absent means never."""
    retries: Annotated[int, Whole(0, 1000)] = 0
    """Further attempts after a failed one, by the same worker."""


class Lane(Part):
    """A variation of the scenario for a race, by name.

    A section given here holds what the lane changes merged over the scenario's own; a section not given is
    the scenario's.
    """

    name: Name
    """The lane's name, unlike any other lane's."""
    description: Description | None = None
    """What is different in this lane."""
    rollout: Rollout | None = None
    """Changes to the workers."""
    trainer: Trainer | None = None
    """Changes to the trainer."""
    strategy: AnyStrategy | None = None
    """Another strategy, or other options of the same."""
    environment: Environment | None = None
    """Changes to the environment."""
    learner: Learner | None = None
    """Changes to the learner."""
    engine: Engine | None = None
    """Changes to the engines."""
    cluster: Cluster | None = None
    """Changes to the cluster."""
    events: Events | None = None
    """Another timeline."""

    @property
    def changes(self) -> dict[str, Any]:
        """The sections that replace the scenario's own, by name."""
        given = (name for name in type(self).model_fields if name in self.model_fields_set and name != "name")
        return {name: getattr(self, name) for name in given}

    @model_validator(mode="after")
    def _needed(self) -> "Lane":
        # Like everywhere, an empty section is not "unchanged"; only an environment and a learner can go.
        for name in ("description", "rollout", "trainer", "strategy", "events"):
            if name in self.model_fields_set and getattr(self, name) is None:
                raise misfit("a value, or no such key", "nothing", key=name)
        return self

    @model_serializer(mode="wrap")
    def _only_given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if name in self.model_fields_set}
