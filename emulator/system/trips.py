"""An episode's way through turns: what it has yet to ask of its engine, and of its tools."""

from collections import deque
from collections.abc import Callable

from emulator.system.engine import Engine, Request
from emulator.system.plans import EpisodePlan


class Trip:
    """Where an episode is on its plan; with an attempt that begins anew it is at the beginning again.

    `turn` is that under way or next, `context` the tokens that the turns so far have left. `engine` was
    chosen when that had crashed `crashes` times, and `request` is what is to be done there. While the episode
    is paused, `overhead_left` are seconds of a reset, and the tool that it was at is done at `tool_until`.
    """

    __slots__ = (
        "context",
        "crashes",
        "engine",
        "overhead_left",
        "plan",
        "request",
        "tool_until",
        "turn",
    )

    def __init__(self, plan: EpisodePlan) -> None:
        self.plan = plan
        self.crashes = 0
        self.start_over()

    def start_over(self) -> None:
        """Be at the beginning, without an engine."""
        self.turn = 0
        self.context = 0.0
        self.engine: Engine | None = None
        self.request: Request | None = None
        self.overhead_left = 0.0
        self.tool_until = 0.0

    def lengthen(self, factor: float) -> None:
        """Make what is still to be generated of the present turn so many times as long."""
        if self.request is not None and self.engine is not None:
            self.engine.lengthen(self.request, factor)


class Trips:
    """The trips of a lane: the k-th episode to be started has the k-th plan."""

    def __init__(self, next_plan: Callable[[], EpisodePlan]) -> None:
        self._next_plan = next_plan
        self._begun: deque[EpisodePlan] = deque()

    def next_length(self) -> float:
        """Draw the next plan; returns how long its episode is, in tokens or seconds."""
        plan = self._next_plan()
        self._begun.append(plan)
        return plan.length

    def begin(self) -> Trip:
        """The trip of the first episode that has a length and has not begun."""
        return Trip(self._begun.popleft())
