"""The engines that generate, the turns of an episode, and how a cluster's GPUs are split."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ModelWrapValidatorHandler, model_validator

from emulator.scenario.presets import PresetName, presets
from emulator.values.distributions import Constant, Distribution
from emulator.values.scalars import MAX_SECONDS, MAX_WORKERS, Check, Number, Part, Seconds, Whole

MAX_ENGINES = 100_000
"""The most engines."""

MAX_GPUS = 1_000_000
"""The most GPUs of a cluster."""

MAX_TOKENS = 10**12
"""The most tokens that an engine can be said to hold."""

Milliseconds = Annotated[float, Number(0, 1e9)]
Gpus = Annotated[int, Whole(1, MAX_GPUS)]


@dataclass(frozen=True)
class StepTimes(Check):
    """Milliseconds of a decode step: one number, or a mapping from running sequences to milliseconds."""

    most: int = 32

    @property
    def allowed(self) -> str:
        """What is allowed, in words."""
        return (
            "milliseconds above 0, or a mapping of 1 to "
            f"{self.most} numbers of running sequences (from 1) to milliseconds above 0, "
            "which do not fall to 0 beyond the last"
        )

    def convert(self, value: object) -> dict[int, float]:
        """Take a number, which is that of one sequence, or a mapping, whose keys may be texts."""
        points = value if isinstance(value, Mapping) else {1: value}
        step = Number(0, MAX_SECONDS, above=True)
        found = {_sequences(key): float(step.convert(ms)) for key, ms in points.items()}
        if not 1 <= len(found) <= self.most or len(found) < len(points):
            raise ValueError
        ordered = sorted(found.items())
        if len(ordered) > 1 and ordered[-1][1] < ordered[-2][1]:
            raise ValueError
        return dict(ordered)

    def dump(self, value: dict[int, float]) -> float | dict[str, float]:
        """Return the number of a constant, or the mapping with keys as JSON has them."""
        if list(value) == [1]:
            return value[1]
        return {str(sequences): ms for sequences, ms in value.items()}

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the values allowed."""
        number = Number(0, MAX_SECONDS, above=True).json_schema()
        table = {
            "type": "object",
            "propertyNames": {"pattern": "^[1-9][0-9]*$"},
            "additionalProperties": number,
            "minProperties": 1,
            "maxProperties": self.most,
        }
        return {"anyOf": [number, table]}


def _sequences(key: object) -> int:
    number = int(key) if isinstance(key, str) and key.isascii() and key.isdecimal() else key
    return Whole(1, MAX_WORKERS).convert(number)


class Turns(Part):
    """An episode that alternates between generating and using a tool."""

    count: Distribution = Field(examples=[{"kind": "lognormal", "median": 30, "sigma": 0.45}])
    """Turns of an episode, rounded, at least 1: a number or a distribution."""
    output_tokens: Distribution = Field(examples=[220])
    """Tokens generated in each turn, rounded, at least 1: a number or a distribution."""
    tool_seconds: Distribution = Constant(kind="constant", value=0.0)
    """How long the tool takes after each turn but the last, in seconds: a number or a distribution."""
    tool_tokens: Distribution = Constant(kind="constant", value=0.0)
    """Tokens that each use of the tool adds to the context, rounded: a number or a distribution."""


def _step_or_preset(schema: dict[str, Any]) -> None:
    schema.pop("required", None)
    schema["anyOf"] = [{"required": ["step_ms"]}, {"required": ["preset"]}]


class Engine(Part):
    """What every inference engine is like; workers send it their requests."""

    model_config = ConfigDict(json_schema_extra=_step_or_preset)

    preset: Annotated[str | None, PresetName()] = None
    """The name of an engine whose keys are taken where they are not given here."""
    count: Annotated[int, Whole(1, MAX_ENGINES)] | None = None
    """How many engines there are; absent where a ``cluster`` says it."""
    step_ms: Annotated[dict[int, float], StepTimes()] = Field(examples=[{1: 6.6, 64: 7.1, 256: 8.4}])
    """Milliseconds of a decode step, by running sequences, linear between; a bare number is constant."""
    context_ms: Milliseconds = 0.0
    """Milliseconds added to a step for each 1,000 tokens of context of all that run."""
    prefill_ms: Milliseconds = 0.0
    """Milliseconds to prefill 1,000 tokens that are not in the cache; decoding stands still meanwhile."""
    slots: Annotated[int, Whole(1, 1_000_000)] | None = None
    """The most sequences that an engine runs; absent means no limit."""
    kv_tokens: Annotated[int, Whole(1, MAX_TOKENS)] | None = None
    """The most tokens of context that an engine holds; absent means no limit."""
    keep_cache: bool = True
    """Whether caches are kept through tools, pauses and publications; else all is prefilled anew."""
    routing: Literal["least_loaded", "round_robin", "by_worker", "by_group"] = "least_loaded"
    """Which engine an episode is sent to."""
    speed: Distribution = Constant(kind="constant", value=1.0)
    """Each engine's speed, drawn once: a factor (2 is twice as fast), or a distribution of factors."""

    @model_validator(mode="wrap")
    @classmethod
    def _over_preset(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        named = data.get("preset") if isinstance(data, Mapping) else None
        if named is None:
            return handler(data)
        known = presets()
        # Beside a name that there is not, what the preset would have said is no further mistake.
        found = known.get(named if isinstance(named, str) else "", next(iter(known.values())))
        engine = handler({**found, **data})
        # What the preset says was not given, so that another preset in its place says it.
        engine.__pydantic_fields_set__.intersection_update(data)
        return engine


class Cluster(Part):
    """GPUs, split between generating and training or shared by both in turn."""

    gpus: Gpus = Field(examples=[64])
    """All GPUs."""
    engine_gpus: Gpus = Field(examples=[2])
    """GPUs of one engine."""
    trainer_gpus: Gpus | Literal["shared"] = Field(examples=[16])
    """GPUs of the trainer, the rest being the engines'; or ``shared``: all for both in turn."""
    switch_seconds: Annotated[float, Seconds()] = 0.0
    """How long shared GPUs take to change from generating to training, and to change back, in seconds."""
    shared_slowdown: Annotated[float, Number(0, 1e6, above=True)] = 1.0
    """How many times as long an update takes on shared GPUs."""

    @property
    def is_shared(self) -> bool:
        """Whether the same GPUs generate and train."""
        return self.trainer_gpus == "shared"

    @property
    def training_gpus(self) -> int:
        """The GPUs that an update runs on."""
        return self.gpus if self.trainer_gpus == "shared" else self.trainer_gpus

    @property
    def generating_gpus(self) -> int:
        """The GPUs that engines run on."""
        return self.gpus if self.trainer_gpus == "shared" else self.gpus - self.trainer_gpus

    @property
    def engines(self) -> int:
        """How many engines there are."""
        return self.generating_gpus // self.engine_gpus
