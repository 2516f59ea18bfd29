"""The workers of a lane as views see them: what each does, and since when it has been at its episode."""

from array import array
from typing import Final

import numpy as np
from numpy.typing import NDArray

from emulator.dashboard.scale import Scale
from emulator.dashboard.theme import AGES, Role

# Plain numbers: the fold compares and counts them some hundred thousand times per second.
ABSENT: Final = int(Role.ABSENT)
IDLE: Final = int(Role.IDLE)
RUN: Final = int(Role.RUN)
ACTING: Final = int(Role.ACTING)
GATED: Final = int(Role.GATED)
WEIGHTS: Final = int(Role.WEIGHTS)
BLOCKED: Final = int(Role.BLOCKED)
DOWN: Final = int(Role.DOWN)
STRAGGLER: Final = int(Role.STRAGGLER)

_AT_IT = (RUN, ACTING, WEIGHTS)
"""Of a worker that is at an episode."""

_NEVER_FROZEN = (ABSENT, DOWN, ACTING)
_FEW = 20  # one in so many that still run are waited for by all
_OLDEST = 1e6  # medians; beyond it, nobody can tell one age from another


class Crew:
    """The state of every worker, by number: one of the roles from `ABSENT` to `DOWN`."""

    def __init__(self, workers: int, scale: Scale) -> None:
        self.state = bytearray([IDLE]) * workers
        self.begun = array("d", [0.0]) * workers
        """When each began its last attempt."""
        self.since = array("d", [0.0]) * workers
        """Since when each has been in its state."""
        self.spent = [0.0] * (STRAGGLER + 1)
        """Seconds of all workers by state, until each entered its present one."""
        self.episode = [-1] * workers
        """The last episode of each."""
        self.count = [0] * (STRAGGLER + 1)
        self.count[IDLE] = workers
        self.flagged: set[int] = set()
        """Workers whose running episode was made a straggler."""
        self._scale = scale
        # A second's; so that the product with the longest age is a number, however short the median.
        self._shades = min((AGES - 1) / (scale.median or 1.0), 1e290)

    def join(self, number: int, t: float) -> None:
        """Make room for a worker; one that was there before keeps its place."""
        while number >= len(self.state):
            self.state.append(ABSENT)
            self.begun.append(t)
            self.since.append(t)
            self.episode.append(-1)
            self.count[ABSENT] += 1

    def seconds(self, t: float, *, frozen: bool) -> list[float]:
        """Seconds of all workers up to `t` by state; none for those that are absent."""
        states = np.frombuffer(self.state, np.uint8)
        if frozen:
            states = np.where(np.isin(states, _NEVER_FROZEN), states, WEIGHTS)
        present = np.bincount(states, t - np.frombuffer(self.since), minlength=len(self.spent))
        seconds: list[float] = (present + self.spent).tolist()
        seconds[ABSENT] = 0.0
        return seconds

    @property
    def up(self) -> int:
        """How many are in service and not down."""
        return len(self.state) - self.count[ABSENT] - self.count[DOWN]

    @property
    def alone(self) -> int | None:
        """The worker that is at an episode while all others wait, if there is such a one."""
        count = self.count
        others = len(self.state) - count[ABSENT] - count[DOWN] - 1
        at_it = [state for state in _AT_IT if count[state]]
        if len(at_it) != 1 or count[at_it[0]] != 1 or not others or count[IDLE] + count[GATED] != others:
            return None
        return self.state.find(at_it[0])

    def running(self) -> list[int]:
        """Workers that generate, in order."""
        return [number for number, state in enumerate(self.state) if state == RUN]

    def present(self) -> list[int]:
        """Workers that are up, in order."""
        return [number for number, state in enumerate(self.state) if state not in (ABSENT, DOWN)]

    def on(self, episode: int) -> list[int]:
        """Workers that are at an episode."""
        found, number = [], -1
        for _ in range(self.episode.count(episode)):
            number = self.episode.index(episode, number + 1)
            if self.state[number] in _AT_IT:
                found.append(number)
        return found

    def ages(self, t: float) -> NDArray[np.float64]:
        """Seconds that each has been at its last attempt."""
        return t - np.frombuffer(self.begun)

    def medians(self, t: float) -> NDArray[np.float64]:
        """The ages as multiples of an episode's median, at most `_OLDEST`; in seconds if that is 0."""
        median = self._scale.median or 1.0
        return np.minimum(self.ages(t), _OLDEST * median) / median

    def states(self, t: float, *, frozen: bool) -> NDArray[np.uint8]:
        """What each is shown as: running ones by age, and stragglers.

        A straggler is older than the scale says, was made one, or is one of the few for whom all others wait.
        Who stands still in a freeze waits for weights.
        """
        states = np.frombuffer(self.state, np.uint8).copy()
        running = (states == RUN) | (states == ACTING)
        if self._few_are_waited_for():
            states[running] = STRAGGLER
        else:
            ages = self.ages(t)[running]
            shown = RUN + np.minimum(ages * self._shades, AGES - 1).astype(np.uint8)
            shown[states[running] == ACTING] = ACTING
            shown[ages >= self._scale.straggler] = STRAGGLER
            states[running] = shown
        if self.flagged:
            states[[number for number in self.flagged if running[number]]] = STRAGGLER
        if frozen:
            states[~np.isin(states, _NEVER_FROZEN)] = WEIGHTS
        return states

    def _few_are_waited_for(self) -> bool:
        run, waiting, up = self.count[RUN] + self.count[ACTING], self.count[IDLE] + self.count[GATED], self.up
        return 0 < run <= max(1, up // _FEW) and waiting > 0 and run + waiting == up
