"""Figures: what the events of a lane amount to."""

from emulator.metrics.figures import Figures
from emulator.metrics.records import GENERATING, TRAINER_STATES, WORKER_STATES
from emulator.metrics.sums import ExactSum

__all__ = ["GENERATING", "TRAINER_STATES", "WORKER_STATES", "ExactSum", "Figures"]
