"""Looking back in a run that is going on: its events are kept, and folded again to an earlier time."""

from collections.abc import Sequence

from emulator.dashboard.replay_states import States
from emulator.events import Event
from emulator.recording import RecordedLane, Recording
from emulator.runner import EventSink, LaneView
from emulator.version import __version__

MOST_KEPT = 1_000_000
"""Events beyond which a run is too long to be looked back on; about 200 MB."""


class Kept:
    """The events of the lanes of a run, as long as there are not too many."""

    def __init__(self, lanes: int) -> None:
        self._events: list[list[Event]] = [[] for _ in range(lanes)]
        self._count = 0

    def sink(self, lane: int) -> EventSink:
        """Keeps the events of a lane."""
        kept = self._events[lane]

        def keep(events: Sequence[Event]) -> None:
            self._count += len(events)
            if self._count <= MOST_KEPT:
                kept.extend(events)
            else:
                for all_of_lane in self._events:
                    all_of_lane.clear()

        return keep

    def states(self, lanes: Sequence[LaneView]) -> States | None:
        """What the lanes were at any time until now; None if they have run for too long."""
        for lane in lanes:
            _ = lane.figures  # asking for them lets all events out
        if self._count > MOST_KEPT:
            return None
        recorded = tuple(
            RecordedLane(
                name=lane.name,
                scenario=lane.scenario,
                events=tuple(events),
                t_end=lane.now,
                error=str(lane.error) if lane.error else None,
            )
            for lane, events in zip(lanes, self._events, strict=True)
        )
        scenario = lanes[0].scenario
        return States(Recording(scenario, scenario.seed, __version__, recorded, cut=None))
