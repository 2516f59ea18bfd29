"""What a scenario is: every part of it, its defaults and its limits, and the lanes that vary it."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from emulator.scenario import rules
from emulator.scenario.learner import Learner
from emulator.scenario.timeline import Event
from emulator.strategies import AnyStrategy, Setting
from emulator.values.distributions import Constant, Distribution, Trace, traces
from emulator.values.scalars import MAX_WORKERS, Number, Part, Seconds, Speed, Text, Whole, misfit
from emulator.values.traces import Source, read_trace

MAX_BATCH = 10_000_000
"""The most episodes in a batch, in a group or in a queue."""

MAX_EVENTS = 10_000
"""The most entries in a timeline."""

MAX_LANES = 8
"""The most lanes in a race."""

_MIXED = "note: order shuffle or resample makes the episodes of a group independent of each other"

Name = Annotated[str, Text(100)]
Description = Annotated[str, Text(2000, lines=True)]
Events = Annotated[tuple[Event, ...], Field(max_length=MAX_EVENTS)]


class Rollout(Part):
    """The workers that generate episodes."""

    workers: Annotated[int, Whole(1, MAX_WORKERS)] = Field(examples=[64])
    """How many workers, each generating one episode at a time."""
    episode_seconds: Distribution = Field(examples=[{"kind": "lognormal", "median": 20, "sigma": 1.0}])
    """How long an episode takes a worker of speed 1, in seconds: a number or a distribution."""
    group_size: Annotated[int, Whole(1, MAX_BATCH)] = 1
    """Episodes in a group (GRPO), trained together or not at all; must divide the batch."""
    group_redundancy: Annotated[int, Whole(0, MAX_BATCH)] = 0
    """Episodes begun in each group beyond its size; the last to finish are aborted."""
    queue_capacity: Annotated[int, Whole(1, MAX_BATCH)] | None = None
    """The most finished episodes that wait for the trainer; absent means unlimited."""
    speed: Distribution = Constant(kind="constant", value=1.0)
    """Each worker's speed, drawn once: a factor (2 is twice as fast), or a distribution of factors."""


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


class Scenario(Part):
    """A complete description of a run: who generates, who trains, by which strategy, and what goes wrong.

    All times are emulated seconds. Built from keywords or dicts it raises pydantic's ``ValidationError``
    where something is not allowed; ``load_scenario`` reads one from a file. Paths of traces are relative to
    the working directory.
    """

    name: Name = "scenario"
    """What the scenario is called."""
    description: Description = "No description."
    """What it shows, in a line."""
    seed: Annotated[int, Whole(0, 2**64 - 1)] = 1
    """The seed of all random numbers."""
    duration: Annotated[float, Seconds(above=True)] = Field(default=3600.0, examples=["1h"])
    """How long the run lasts, in emulated seconds."""
    speed: Annotated[float | Literal["max"], Speed()] = Field(default=60.0, examples=[60, "max"])
    """Emulated seconds per second of wall time, or ``max``."""
    rollout: Rollout
    """The workers, their episodes and their queue."""
    trainer: Trainer
    """The trainer, its batches and its publications."""
    strategy: AnyStrategy
    """How workers and trainer wait for each other."""
    environment: Environment | None = None
    """The sandboxes episodes run in, and how they fail; absent means neither waits nor failures."""
    learner: Learner | None = None
    """A policy that learns from the trained episodes; absent means that nothing is learned."""
    events: Events = ()
    """What happens to the system, and when."""
    lanes: Annotated[tuple[Lane, ...], Field(max_length=MAX_LANES)] = ()
    """Variations of the scenario, for a race."""

    _lane: str | None = PrivateAttr(default=None)

    @property
    def lane(self) -> str | None:
        """The name of the lane this scenario was made from, if it was."""
        return self._lane

    @property
    def setting(self) -> Setting:
        """What its strategy weighs its options against."""
        rollout, trainer = self.rollout, self.trainer
        return Setting(
            batch_size=trainer.batch_size,
            group_size=rollout.group_size,
            group_redundancy=rollout.group_redundancy,
            publish_every=trainer.publish_every,
            push_seconds=trainer.weight_sync_seconds,
            workers=rollout.workers,
            queue_capacity=rollout.queue_capacity,
        )

    def lane_scenarios(self) -> tuple["Scenario", ...]:
        """Return each lane as a scenario of its own, in order: without lanes, ``lane`` telling its name."""
        scenarios = []
        for lane in self.lanes:
            scenario = self.model_copy(update={**lane.changes, "lanes": ()})
            scenario._lane = lane.name
            scenarios.append(scenario)
        return tuple(scenarios)

    def traces(self) -> Iterator[Trace]:
        """Yield the traces among its distributions and those of its lanes."""
        parts: tuple[Scenario | Lane, ...] = (self, *self.lanes)
        for part in parts:
            if part.rollout is not None:
                yield from traces(part.rollout.episode_seconds)
                yield from traces(part.rollout.speed)
            if part.trainer is not None:
                yield from traces(part.trainer.update_seconds)
            if part.environment is not None:
                yield from traces(part.environment.reset_seconds)

    def notes(self) -> list[str]:
        """What is allowed and may surprise, in a sentence each."""
        taken = [self, *self.lane_scenarios()]
        mixed = any(
            one.rollout.group_size > 1
            and isinstance(one.rollout.episode_seconds, Trace)
            and one.rollout.episode_seconds.order != "sequential"
            for one in taken
        )
        return [_MIXED] if mixed else []

    def resolved(self) -> dict[str, Any]:
        """Return the scenario as a JSON-ready dict: defaults filled in, seconds as numbers, absolute paths.

        ``Scenario.model_validate`` of it, and a file that holds it, give an equal scenario. What is
        optional and unset is null.
        """
        return self.model_dump(mode="json", by_alias=True)

    @model_validator(mode="before")
    @classmethod
    def _merge_lanes(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not isinstance(data.get("lanes"), list | tuple):
            return data
        return {**data, "lanes": [_over(data, lane) for lane in data["lanes"]]}

    @model_validator(mode="after")
    def _obeys_rules(self) -> "Scenario":
        violations = rules.violations(self)
        if violations:
            text = "; ".join(str(violation) for violation in violations)
            raise PydanticCustomError("rules", "{text}", {"text": text, "violations": violations})
        return self


def held_by(scenario: Scenario, otherwise: Source = read_trace) -> Source:
    """The values of the traces that a scenario has, so that another made of it needs no file for them.

    It is the ``series`` of the context in which a scenario is validated.
    """
    held = {(trace.path, trace.column): trace.series for trace in scenario.traces()}
    return lambda path, column: held.get((path, column)) or otherwise(path, column)


def _over(base: Mapping[str, Any], lane: Any) -> Any:
    if not isinstance(lane, Mapping):
        return lane
    return {key: _merged(base.get(key), value) for key, value in lane.items()}


def _merged(base: Any, change: Any) -> Any:
    """Merge mapping over mapping, key by key; one that gives ``kind`` replaces the whole."""
    if isinstance(base, Part):
        base = base.model_dump(mode="json", by_alias=True)
    if not isinstance(base, Mapping) or not isinstance(change, Mapping) or "kind" in change:
        return change
    return {**base, **{key: _merged(base.get(key), value) for key, value in change.items()}}
