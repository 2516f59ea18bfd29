"""A recording's lanes as they stood at one moment after the other, for frames of the dashboard."""

from bisect import bisect_right
from operator import attrgetter

from emulator.dashboard.scale import recorded_scale
from emulator.dashboard.state import ShownLane
from emulator.recording import Recording

_when = attrgetter("t")


class Film:
    """Folds a recording as far as is asked for; moments come in order."""

    def __init__(self, recording: Recording) -> None:
        self._recorded = recording.lanes
        common = recorded_scale(recording)
        self._lanes = [ShownLane.fresh(lane.scenario, common) for lane in recording.lanes]
        self._taken = [0] * len(self._lanes)

    def at(self, t: float) -> list[ShownLane]:
        """The lanes as they stood at `t` emulated seconds, all events of that instant included."""
        for i, (lane, recorded) in enumerate(zip(self._lanes, self._recorded, strict=True)):
            until = bisect_right(recorded.events, t, lo=self._taken[i], key=_when)
            lane.add(recorded.events[self._taken[i] : until])
            self._taken[i] = until
            lane.history.advance(min(t, recorded.t_end))
            if t >= recorded.t_end:
                lane.error = recorded.error
        return self._lanes
