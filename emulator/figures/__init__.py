"""Figures: what the events of a lane amount to."""

from emulator.figures.figures import Figures
from emulator.figures.records import GENERATING, TRAINER_STATES, WORKER_STATES
from emulator.figures.result import Result
from emulator.figures.sums import ExactSum

__all__ = ["GENERATING", "TRAINER_STATES", "WORKER_STATES", "ExactSum", "Figures", "Result"]
