"""The notable events of a lane as lines that people read."""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from emulator.figures.text import count, decimal, span, times

_KEPT = 64
_ROOMY = 3  # rows, from which on the longest wait stays
_COUNTLESS = 1e6  # medians, of which nobody wants to read a number


class Entry(NamedTuple):
    """One line: when, of which kind (the log's order of importance is by kind), and what happened.

    `counted` is how many a line that counts stands for; 0 for any other line.
    """

    t: float
    kind: str
    text: str
    counted: int = 0


class Log:
    """The last notable events, and apart from them the last publication, which would crowd them out.

    `longest` is the line of the longest wait, which stays while others go by.
    """

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque(maxlen=_KEPT)
        self.publication: Entry | None = None
        self.longest: Entry | None = None

    def add(self, t: float, kind: str, text: str) -> None:
        """Take a line."""
        self.entries.append(Entry(t, kind, text))

    def add_up(self, t: float, kind: str, n: int, noun: str, what: str) -> None:
        """Take a line that counts; counts of one kind at one instant are one line."""
        last = self.entries[-1] if self.entries else None
        if last is not None and last.t == t and last.kind == kind and last.counted:
            self.entries.pop()
            n += last.counted
        self.entries.append(Entry(t, kind, f"{count(n, noun)} {what}", n))

    def lost(self, t: float, kind: str, cause: str, n: int) -> None:
        """Episodes were dropped, aborted, failed or paused."""
        self.add_up(t, f"{kind} {cause}", n, "episode", _LOSSES.get((kind, cause), f"{kind} ({cause})"))

    def straggler(self, t: float, number: int, age: float, median: float) -> None:
        """A worker finished an episode that took very long."""
        beyond = f", {times(age / median)} the median" if age < _COUNTLESS * median else ""
        self.add(t, "straggler", f"{worker(number)} finished a straggler after {span(age)}{beyond}")

    def published(self, t: float, version: int, staleness: float) -> None:
        """A version was published."""
        text = f"policy v{version} published, trained on data {decimal(staleness)} versions stale"
        self.publication = Entry(t, "publish", text)

    def waited(self, t: float, text: str) -> None:
        """There was a wait longer than all before."""
        self.add(t, "wait", text)
        self.longest = self.entries[-1]

    def injected(self, t: float, action: dict[str, Any]) -> None:
        """Something was injected."""
        ((kind, given),) = action.items()
        self.add(t, "inject", _INJECTIONS[kind](given) if kind in _INJECTIONS else kind)

    def last(self, n: int) -> list[Entry]:
        """The lines to show in `n` rows, oldest first; those that stay are at their place in time."""
        staying = (self.longest if n >= _ROOMY else None, self.publication if n else None)
        pinned = [entry for entry in staying if entry is not None]
        others = [entry for entry in self.entries if entry not in pinned]
        kept = others[len(others) - min(n - len(pinned), len(others)) :]
        return sorted([*kept, *pinned], key=lambda entry: entry.t)


def workers(numbers: list[int]) -> str:
    """Workers by name if they are few, else by count."""
    if len(numbers) > 3:
        return f"{len(numbers)} workers"
    return ", ".join(worker(number) for number in numbers) or "no worker"


def hit(given: dict[str, Any]) -> str:
    """The workers or engines that an injection hits."""
    engines = given.get("engines")
    if engines is None:
        return workers(given["workers"])
    return f"engine {engines[0]}" if len(engines) == 1 else f"{len(engines)} engines"


def worker(number: int) -> str:
    """A worker's name."""
    return f"w{number:03}"


_LOSSES = {
    ("dropped", "stale"): "dropped: too stale",
    ("dropped", "group"): "dropped: their group is lost",
    ("aborted", "round"): "aborted: the round is closed",
    ("aborted", "stale"): "aborted: too stale",
    ("aborted", "group"): "aborted: their group is lost",
    ("aborted", "surplus"): "aborted: their group is complete",
    ("aborted", "leave"): "aborted: the worker left",
    ("failed", "failure"): "failed for good",
    ("failed", "timeout"): "timed out for good",
    ("failed", "crash"): "lost in a crash",
    ("paused", "resume"): "paused until the next round",
    ("paused", "defer"): "deferred, their progress lost",
}

_INJECTIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "straggler": lambda given: f"straggler: episode {given['episode']} takes x{given['factor']:g}",
    "slow": lambda given: f"{hit(given)} slower x{given['factor']:g} for {span(given['for'])}",
    "crash": lambda given: f"{hit(given)} crashed, back in {span(given['restart_seconds'])}",
    "stall_trainer": lambda given: f"trainer stalled for {span(given['for'])}",
    "add_workers": lambda given: f"{count(given['count'], 'worker')} joined",
    "remove_workers": lambda given: f"{workers(given['workers'])} left",
}
