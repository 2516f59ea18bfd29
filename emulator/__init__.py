"""Emulator of RL training infrastructure: rollout workers, a trainer, stragglers and staleness.

    >>> import emulator
    >>> scenario = emulator.load_scenario("stragglers")
    >>> emulator.run(scenario, speed="max", seed=3).result["updates"]

The names below are imported when they are first used: a command that needs few of them starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from emulator.version import __version__

if TYPE_CHECKING:
    from emulator.api import race, run
    from emulator.clock import ClockStatistics
    from emulator.errors import (
        DeadlockError,
        EmulatorError,
        MissingExtraError,
        RecordingError,
        RunError,
        ScenarioError,
        SweepError,
    )
    from emulator.exports import export
    from emulator.recording import RecordedLane, Recording, load_scenario, read_recording
    from emulator.runner import Run
    from emulator.scenario import Scenario
    from emulator.sweeps import Sweep, sweep

__all__ = [
    "ClockStatistics",
    "DeadlockError",
    "EmulatorError",
    "MissingExtraError",
    "RecordedLane",
    "Recording",
    "RecordingError",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "SweepError",
    "__version__",
    "export",
    "load_scenario",
    "race",
    "read_recording",
    "run",
    "sweep",
]

_HOMES = {
    "ClockStatistics": "clock",
    "DeadlockError": "errors",
    "EmulatorError": "errors",
    "MissingExtraError": "errors",
    "RecordedLane": "recording",
    "Recording": "recording",
    "RecordingError": "errors",
    "Run": "runner",
    "RunError": "errors",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "Sweep": "sweeps",
    "SweepError": "errors",
    "export": "exports",
    "load_scenario": "recording",
    "race": "api",
    "read_recording": "recording",
    "run": "api",
    "sweep": "sweeps",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
