"""What a scenario may say: its parts, its distributions, and how a file of it is read."""

from emulator.scenario.loading import Bundled, bundled_scenarios, load_scenario
from emulator.scenario.models import Scenario
from emulator.scenario.schema import json_schema

__all__ = ["Bundled", "Scenario", "bundled_scenarios", "json_schema", "load_scenario"]
