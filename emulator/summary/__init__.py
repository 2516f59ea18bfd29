"""What came of a run or a race, to be read from the back of a room.

`RunSummary` and `RaceSummary` are rich renderables that fit 80 columns. Both show updates, staleness and
length bias together: these three are what a strategy trades against each other. Where a law holds, what
theory expects stands beside what was measured, with the standard deviation of one run; else what a figure
cannot exceed, or what it tends to in a long run.
"""

from emulator.summary.race import RaceSummary, verdict
from emulator.summary.run import RunSummary

__all__ = ["RaceSummary", "RunSummary", "verdict"]
