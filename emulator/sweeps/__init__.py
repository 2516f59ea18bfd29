"""Sweeps: grids of unpaced runs, in parallel, to a table with intervals.

All points run the same seeds. The rows are the same, and in the same order, however many processes ran them
and where.
"""

from emulator.sweeps.axes import Axis
from emulator.sweeps.grid import Grid, Point
from emulator.sweeps.paired import Difference, paired_differences
from emulator.sweeps.running import SweepInterrupted, resume, sweep
from emulator.sweeps.table import Sweep

__all__ = [
    "Axis",
    "Difference",
    "Grid",
    "Point",
    "Sweep",
    "SweepInterrupted",
    "paired_differences",
    "resume",
    "sweep",
]
