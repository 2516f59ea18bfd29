"""What may happen to the system at a given time: entries of a scenario's ``events``."""

from typing import Annotated, Any

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from emulator.scenario.engines import MAX_ENGINES
from emulator.values.scalars import MAX_WORKERS, Aliased, Number, NumberSet, Part, Seconds, Whole, misfit

MAX_EPISODE = 10**12
"""The highest number an episode may be named by."""

Workers = Annotated[int | tuple[int, ...], NumberSet("worker", MAX_WORKERS)]
Engines = Annotated[int | tuple[int, ...], NumberSet("engine", MAX_ENGINES)]
Factor = Annotated[float, Number(0, 1e6, above=True)]


class _OneOf(Aliased):
    """A part in which exactly one of several keys is given; the others are not written out."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.unset_left_out = frozenset(cls._choices())

    @classmethod
    def _choices(cls) -> list[str]:
        return [name for name, field in cls.model_fields.items() if field.default is None]

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        found = handler.resolve_ref_schema(handler(schema))
        found["oneOf"] = [{"required": [name]} for name in cls._choices()]
        return found

    @model_validator(mode="after")
    def _exactly_one(self) -> "_OneOf":
        choices = self._choices()
        given = [name for name in choices if getattr(self, name) is not None]
        if len(given) != 1:
            raise misfit(f"exactly one of {', '.join(choices)}", " and ".join(given) or "none of them")
        return self


class Straggler(_OneOf):
    """One episode takes much longer than drawn."""

    episode: Annotated[int, Whole(0, MAX_EPISODE)] | None = None
    """The episode, by number from 0."""
    worker: Annotated[int, Whole(0, MAX_WORKERS - 1)] | None = None
    """The worker whose running episode is meant, by number from 0."""
    factor: Annotated[float, Number(1, 1e6)] = Field(examples=[8])
    """What the whole duration of the episode is multiplied by."""


class Slow(_OneOf):
    """Some workers, or engines, slow down for a while."""

    workers: Workers | None = Field(default=None, examples=[[0, 1]])
    """How many (the lowest-numbered that are up), or a list of worker numbers from 0."""
    engines: Engines | None = None
    """How many engines (the lowest-numbered that are up), or a list of engine numbers from 0."""
    factor: Factor = Field(examples=[5])
    """How many times as long everything takes them; below 1 they are faster."""
    for_seconds: Annotated[float, Seconds(above=True)] = Field(alias="for", examples=["10m"])
    """For how long, in seconds."""


class Crash(_OneOf):
    """Some workers, or engines, crash, lose their running episodes and come back."""

    workers: Workers | None = Field(default=None, examples=[[0, 1]])
    """How many (the lowest-numbered that are up), or a list of worker numbers from 0."""
    engines: Engines | None = None
    """How many engines (the lowest-numbered that are up), or a list of engine numbers from 0."""
    restart_seconds: Annotated[float, Seconds()] = Field(examples=[60])
    """How long they are down, in seconds."""


class StallTrainer(Aliased):
    """The trainer does nothing for a while."""

    for_seconds: Annotated[float, Seconds(above=True)] = Field(alias="for", examples=["2m"])
    """For how long, in seconds."""


class AddWorkers(Part):
    """Workers join, numbered on from the highest so far."""

    count: Annotated[int, Whole(1, MAX_WORKERS)] = Field(examples=[16])
    """How many."""


class RemoveWorkers(_OneOf):
    """Workers leave for good, aborting what they run."""

    count: Annotated[int, Whole(1, MAX_WORKERS)] | None = None
    """How many: the lowest-numbered that are up."""
    workers: Annotated[tuple[int, ...], NumberSet("worker", MAX_WORKERS, counted=False)] | None = None
    """Which, by number from 0."""


Action = Straggler | Slow | Crash | StallTrainer | AddWorkers | RemoveWorkers


_ACTIONS = ("straggler", "slow", "crash", "stall_trainer", "add_workers", "remove_workers")


class Event(_OneOf):
    """One entry of the timeline: a time and exactly one action."""

    at: Annotated[float, Seconds()] = Field(examples=["20m"])
    """When, in seconds from the start."""
    straggler: Straggler | None = None
    """One episode takes much longer than drawn."""
    slow: Slow | None = None
    """Some workers, or engines, slow down for a while."""
    crash: Crash | None = None
    """Some workers, or engines, crash and come back."""
    stall_trainer: StallTrainer | None = None
    """The trainer does nothing for a while."""
    add_workers: AddWorkers | None = None
    """Workers join."""
    remove_workers: RemoveWorkers | None = None
    """Workers leave for good."""

    @property
    def action(self) -> Action:
        """The one action of this entry."""
        action: Action = getattr(self, self.kind)
        return action

    @property
    def kind(self) -> str:
        """The key of the one action, such as ``slow``."""
        return next(name for name in _ACTIONS if getattr(self, name) is not None)
