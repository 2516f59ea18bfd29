"""How workers and trainer wait for each other: one file a strategy, with all that is particular to it."""

from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import Field, TypeAdapter, ValidationError

from emulator.strategies.asynchronous import Asynchronous
from emulator.strategies.contract import Setting, Strategy
from emulator.strategies.one_step_off import OneStepOff
from emulator.strategies.synchronous import Synchronous

AnyStrategy = Annotated[Synchronous | OneStepOff | Asynchronous, Field(discriminator="kind")]
"""What a scenario may choose between."""

STRATEGIES: tuple[type[Strategy], ...] = get_args(get_args(AnyStrategy)[0])
"""The same as types, simplest first."""

_ADAPTER: TypeAdapter[AnyStrategy] = TypeAdapter(AnyStrategy)


def strategy_of(options: Mapping[str, Any]) -> AnyStrategy | None:
    """The strategy of options as a file gives them; None if they are not allowed."""
    try:
        return _ADAPTER.validate_python(dict(options))
    except ValidationError:
        return None


__all__ = ["STRATEGIES", "AnyStrategy", "Setting", "Strategy", "strategy_of"]
