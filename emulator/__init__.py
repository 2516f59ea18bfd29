"""Emulator of RL training infrastructure: rollout workers, a trainer, stragglers and staleness.

>>> import emulator
>>> scenario = emulator.load_scenario("stragglers")
>>> emulator.run(scenario, speed="max", seed=3).result["updates"]
"""

from emulator.api import race, run
from emulator.clock import ClockStatistics
from emulator.errors import DeadlockError, EmulatorError, RunError, ScenarioError
from emulator.runner import Run
from emulator.scenario import Scenario, load_scenario
from emulator.version import __version__

__all__ = [
    "ClockStatistics",
    "DeadlockError",
    "EmulatorError",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "__version__",
    "load_scenario",
    "race",
    "run",
]
