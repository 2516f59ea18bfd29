"""Emulator of RL training infrastructure: rollout workers, a trainer, stragglers and staleness.

    >>> import emulator
    >>> run = emulator.run("stragglers", speed="max", seed=3)
    >>> run.result["updates"], run.trace_sha256

The names below, functions, classes and modules, are imported when they are first used: a command that needs
few of them starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from emulator.version import __version__

if TYPE_CHECKING:
    from emulator import errors, events, learner, sweeps, theory
    from emulator.advice import Advice, advise
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
    from emulator.runs import Run, RunInterrupted
    from emulator.scenario import Scenario
    from emulator.sweeps import Sweep, sweep

__all__ = [
    "Advice",
    "ClockStatistics",
    "DeadlockError",
    "EmulatorError",
    "MissingExtraError",
    "RecordedLane",
    "Recording",
    "RecordingError",
    "Run",
    "RunError",
    "RunInterrupted",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "SweepError",
    "__version__",
    "advise",
    "errors",
    "events",
    "export",
    "learner",
    "load_scenario",
    "race",
    "read_recording",
    "run",
    "sweep",
    "sweeps",
    "theory",
]

_MODULES = {"errors", "events", "learner", "sweeps", "theory"}

_HOMES = {
    "Advice": "advice",
    "ClockStatistics": "clock",
    "DeadlockError": "errors",
    "EmulatorError": "errors",
    "MissingExtraError": "errors",
    "RecordedLane": "recording",
    "Recording": "recording",
    "RecordingError": "errors",
    "Run": "runs",
    "RunError": "errors",
    "RunInterrupted": "runs",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "Sweep": "sweeps",
    "SweepError": "errors",
    "advise": "advice",
    "export": "exports",
    "load_scenario": "recording",
    "race": "api",
    "read_recording": "recording",
    "run": "api",
    "sweep": "sweeps",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
