"""What a scenario is: its sections together, the rules between them, and the lanes that vary it."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    PrivateAttr,
    model_validator,
)
from pydantic_core import PydanticCustomError

from emulator.scenario import engine_rules, rules
from emulator.scenario.engines import Cluster, Engine
from emulator.scenario.learner import Learner
from emulator.scenario.parts import LENGTHS, Description, Environment, Events, Lane, Name, Rollout, Trainer
from emulator.scenario.presets import NOTE
from emulator.strategies import AnyStrategy, Setting
from emulator.values.distributions import Trace, traces
from emulator.values.scalars import Part, Seconds, Speed, Whole
from emulator.values.series import Source, read_trace
from emulator.values.violation import Path, Violation

MAX_LANES = 8
"""The most lanes in a race."""

_MIXED = "note: order shuffle or resample makes the episodes of a group independent of each other"


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
    engine: Engine | None = None
    """The engines that generate; absent means that each worker generates by itself."""
    cluster: Cluster | None = None
    """The GPUs of engines and trainer, in place of ``engine.count`` and ``trainer.gpus``."""
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

    @property
    def engines(self) -> int:
        """How many engines there are; 0 where workers generate by themselves."""
        if self.engine is None:
            return 0
        return self.engine.count or 1 if self.cluster is None else self.cluster.engines

    @property
    def training_gpus(self) -> int:
        """The GPUs that an update runs on."""
        return self.trainer.gpus or 1 if self.cluster is None else self.cluster.training_gpus

    def lane_scenarios(self) -> tuple["Scenario", ...]:
        """Return each lane as a scenario of its own, in order: without lanes, and ``lane`` is its name."""
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
                for distribution in part.rollout.distributions():
                    yield from traces(distribution)
            if part.engine is not None:
                yield from traces(part.engine.speed)
            if part.trainer is not None:
                yield from traces(part.trainer.update_seconds)
            if part.environment is not None:
                yield from traces(part.environment.reset_seconds)

    def notes(self) -> list[str]:
        """What is allowed and may surprise, in a sentence each."""
        taken = [self, *self.lane_scenarios()]
        mixed = any(
            one.rollout.group_size > 1
            and isinstance(one.rollout.length, Trace)
            and one.rollout.length.order != "sequential"
            for one in taken
        )
        named = (one.engine.preset for one in taken if one.engine is not None)
        named_presets = dict.fromkeys(name for name in named if name is not None)
        return [*([_MIXED] if mixed else []), *map(NOTE.format, named_presets)]

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
        broken = violations(self)
        if broken:
            text = "; ".join(str(violation) for violation in broken)
            raise PydanticCustomError("rules", "{text}", {"text": text, "violations": broken})
        return self


def violations(scenario: Scenario) -> list[Violation]:
    """Return every rule that the scenario or one of its lanes breaks, in the order of the keys."""
    found = list(_own_violations(scenario))
    seen: dict[str, int] = {}
    for index, (lane, variant) in enumerate(zip(scenario.lanes, scenario.lane_scenarios(), strict=True)):
        where: Path = ("lanes", index)
        if lane.name in seen:
            first: Path = ("lanes", seen[lane.name], "name")
            allowed = f"a name unlike that of lanes.{seen[lane.name]}"
            found.append(Violation((*where, "name"), f'"{lane.name}"', allowed, (first,)))
        seen.setdefault(lane.name, index)
        for violation in _own_violations(variant):
            if violation not in found:
                others = (
                    *violation.others,
                    *((*where, *other) for other in (violation.path, *violation.others)),
                )
                found.append(Violation((*where, *violation.path), violation.found, violation.allowed, others))
    return found


def _own_violations(scenario: Scenario) -> Iterator[Violation]:
    rollout, trainer = scenario.rollout, scenario.trainer
    yield from rules.groups(rollout, trainer)
    yield from rules.queue(rollout, trainer)
    yield from rules.speed(rollout)
    yield from scenario.strategy.violations(scenario.setting)
    yield from rules.attempts(scenario.environment)
    yield from rules.learning(scenario.learner, trainer)
    yield from engine_rules.tokens(rollout, trainer, scenario.engine)
    yield from engine_rules.engines(rollout, scenario.engine)
    yield from engine_rules.cluster(trainer, scenario.engine, scenario.cluster, scenario.strategy)
    yield from rules.timeline(scenario.events, rollout, scenario.engines, scenario.duration)


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
    """Merge mapping over mapping, key by key; one that gives ``kind`` replaces the whole.

    Of the keys that say how long episodes are, one replaces the others.
    """
    if isinstance(base, Part):
        base = base.model_dump(mode="json", by_alias=True)
    if not isinstance(base, Mapping) or not isinstance(change, Mapping) or "kind" in change:
        return change
    if any(change.get(name) is not None for name in LENGTHS):
        base = {key: value for key, value in base.items() if key not in LENGTHS or key in change}
    return {**base, **{key: _merged(base.get(key), value) for key, value in change.items()}}
