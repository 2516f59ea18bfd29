"""Barrier wait that the last arrival causes: the time in which everybody waited for one episode.

It is counted from events alone: one worker is at an episode, every other worker that is up waits (at a
barrier or at a staleness gate), and so does the trainer. Had that episode been no longer than the one before
it, this time would have been saved.
"""

from emulator.dashboard.log import Log, worker
from emulator.dashboard.text import span


class Barrier:
    """The waits for a last arrival in one lane; those from `notable` seconds on are told to the log."""

    def __init__(self, log: Log, notable: float) -> None:
        self.seconds = 0.0
        """In all."""
        self.by_episode: dict[int, float] = {}
        """For each of the episodes that are `watched`."""
        self._watched: set[int] = set()
        self._last: tuple[int, int] | None = None
        self._since = 0.0
        self._log = log
        self._notable = notable

    def watch(self, episodes: set[int]) -> None:
        """Count for these episodes apart; what was counted for others is forgotten."""
        self._watched = episodes
        self.by_episode = {k: waited for k, waited in self.by_episode.items() if k in episodes}

    def wait(self, number: int, episode: int, t: float, seconds: float) -> None:
        """From `t` on, for so many seconds, all waited for this worker and its episode."""
        if self._last != (number, episode):
            self.over(t)
            self._last, self._since = (number, episode), t
        self.seconds += seconds
        if episode in self._watched:
            self.by_episode[episode] = self.by_episode.get(episode, 0.0) + seconds

    def over(self, t: float) -> None:
        """At `t` nobody waits for a last arrival, or no longer."""
        if self._last is None:
            return
        number, episode = self._last
        self._last = None
        if t - self._since >= self._notable:
            self._log.add(
                t, "wait", f"all waited {span(t - self._since)} for {worker(number)} (episode {episode})"
            )
