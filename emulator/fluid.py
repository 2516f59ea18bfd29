"""How fast an engine decodes: step times, and the steps that fit into a time while the context grows.

An engine that runs ``B`` sequences with ``K`` tokens of context makes a decode step, one token of each, in
``(step(B) + context_ms * K / 1000) / speed`` milliseconds. ``K`` grows by ``B`` each step. As a fluid the
time of ``n`` more steps is ``x * n + y * n * n`` milliseconds, with the step as it is now, ``x``, and
``y = context_ms * B / 2000 / speed``. Only ``+ - * /`` and the square root are used, in one order, so that
every processor gives the same.
"""

from bisect import bisect_right
from collections.abc import Mapping
from math import sqrt


class StepTable:
    """Milliseconds of a decode step by running sequences: linear between points, the last slope goes on.

    Below the first point it has that one's value. `points` are (sequences, milliseconds), by sequences.
    """

    def __init__(self, points: Mapping[int, float]) -> None:
        self.points = tuple(sorted(points.items()))
        self._known: list[float] = []

    def __call__(self, running: int) -> float:
        """Milliseconds of a step of so many sequences, without what their context adds."""
        known = self._known
        while len(known) <= running:
            known.append(self._compute(len(known)))
        return known[running]

    def _compute(self, running: int) -> float:
        points = self.points
        at = bisect_right(points, running, key=_sequences)
        if at == 0 or len(points) == 1:
            return points[0][1]
        begin, ms = points[at - 1]
        (left, low), (right, high) = points[at - 1 : at + 1] if at < len(points) else points[-2:]
        return ms + (running - begin) * (high - low) / (right - left)


def _sequences(point: tuple[int, float]) -> int:
    return point[0]


def steps_in(ms: float, x: float, y: float) -> float:
    """The steps made in so many milliseconds."""
    return 2 * ms / (x + sqrt(x * x + 4 * y * ms))


def ms_of(steps: float, x: float, y: float) -> float:
    """The milliseconds that so many steps take."""
    return x * steps + y * steps * steps
