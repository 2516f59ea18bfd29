"""Barrier wait that the last arrival causes: the time in which everybody waited for one episode.

It is counted from events alone: one worker is at an episode, every other worker that is up waits (at a
barrier or at a staleness gate), and so does the trainer. Had that episode been no longer than the one before
it, this time would have been saved.

Apart from them it has the longest time that the trainer waited for a batch, and why the last episode of that
came so late: it was restarted after a failure, or begun at all because others had been lost.
"""

from typing import NamedTuple

from emulator import events as ev
from emulator.dashboard.log import Log, worker
from emulator.figures.text import span


class _Loss(NamedTuple):
    """Since the last update, this episode was the first to be lost for a cause, perhaps with its group."""

    t: float
    episode: int
    cause: str
    group: bool = False


class Barrier:
    """The waits for a last arrival in one lane; those from `notable` seconds on go to the log."""

    def __init__(self, log: Log, notable: float) -> None:
        self.seconds = 0.0
        """In all."""
        self.by_episode: dict[int, float] = {}
        """For each of the episodes that are `watched`."""
        self._watched: set[int] = set()
        self._last: tuple[int, int] | None = None
        self._since = 0.0
        self._retries: dict[int, tuple[int, str]] = {}
        self._loss: _Loss | None = None
        self.longest = 0.0
        """Seconds that the trainer has waited for a batch at most."""
        self._longest = 0.0
        self._explained = -1
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
        if t - self._since >= self._notable and episode != self._explained:
            self._log.add(
                t, "wait", f"all waited {span(t - self._since)} for {worker(number)} (episode {episode})"
            )

    def retried(self, episode: int, cause: str) -> None:
        """An attempt at an episode failed, and the next begins."""
        times, _ = self._retries.get(episode, (0, ""))
        self._retries[episode] = times + 1, cause

    def lost(self, t: float, episode: int, cause: str) -> None:
        """An episode was lost for good, or for the cause ``"group"`` since one of its group was."""
        self._retries.pop(episode, None)
        if self._loss is None and cause in _LOSSES:
            self._loss = _Loss(t, episode, cause)
        elif self._loss is not None and cause == "group":
            self._loss = self._loss._replace(group=True)

    def trained(self, update: ev.Update, waited: float, last: ev.Finish | None, begun: float) -> None:
        """An update begins for which the trainer waited so many seconds.

        `last` is the last finish until now, and `begun` when its worker last began an attempt at an episode.
        """
        self.longest = max(self.longest, waited)
        longest = waited >= self._notable and waited > self._longest
        if longest and last is not None and last.t == update.t and last.episode in update.episodes:
            self._longest = waited
            self._explain(update.t, waited, last, begun)
        self._loss = None
        if self._retries:
            for episode in update.episodes:
                self._retries.pop(episode, None)

    def _explain(self, t: float, waited: float, last: ev.Finish, begun: float) -> None:
        """Log the longest wait, once there has been one with a cause to name."""
        times, failure = self._retries.get(last.episode, (0, ""))
        what = f"episode {last.episode}"
        if times:
            what = f"retry{f' {times}' if times > 1 else ''} of {what} after a {failure}"
        elif (loss := self._loss) is not None and loss.t <= begun < t:
            of = f"the group of episode {loss.episode}" if loss.group else f"episode {loss.episode}"
            what += f", begun after {of} was {_LOSSES[loss.cause]}"
        elif self._log.longest is None:
            return
        self._explained = last.episode
        self._log.waited(t, f"longest wait {span(waited)}: {worker(last.worker)}, {what}")


_LOSSES = {"failure": "lost to a failure", "timeout": "lost to a timeout", "crash": "lost in a crash"}
