"""Episodes and their groups, and the source that numbers them.

The k-th episode to be started has the k-th duration of the scenario's stream, whatever strategy
starts it and whatever worker takes it.
"""

from collections.abc import Callable, Collection

PENDING = float("inf")


class Group:
    """Episodes of one prompt: complete when `size` of its `planned` members have finished.

    With redundancy more members are planned than needed. `members` are those started and not lost.
    """

    __slots__ = (
        "finished",
        "lost",
        "lost_members",
        "members",
        "number",
        "planned",
        "queued",
        "size",
        "started",
    )

    def __init__(self, number: int, size: int, planned: int) -> None:
        self.number = number
        self.size = size
        self.planned = planned
        self.started = 0
        self.members: list[Episode] = []
        self.finished: list[Episode] = []
        self.queued = 0
        self.lost_members = 0

    @property
    def complete(self) -> bool:
        """Whether enough members have finished."""
        return len(self.finished) >= self.size

    @property
    def can_complete(self) -> bool:
        """Whether enough members have finished or still can."""
        return self.planned - self.lost_members >= self.size

    def lose(self, episode: "Episode") -> None:
        """A member that has started will not finish."""
        self.lost_members += 1
        self.members.remove(episode)

    def dissolve(self) -> None:
        """Let go of the members: it is trained or lost.

        Else group and members would refer to each other, and only the cyclic garbage collector free them.
        """
        self.members.clear()
        self.finished.clear()

    def oldest_version(self) -> int:
        """The oldest version that generated any of what makes the group: what finished, once complete."""
        members = self.finished if self.complete else self.members
        return min(episode.oldest_version() for episode in members)


class Episode:
    """One episode, from its first start until it is trained or lost.

    `duration` is what a worker of speed 1 needs, in seconds; `factor` multiplies it (a straggler).
    `generating_since` is when the present `version` began to generate; `PENDING` while nothing does.
    A paused episode keeps in `remaining` the seconds left on a worker of `paused_speed`, of which
    `overhead_left` are overhead; `remaining` is None if it is to run from the start. `longer` are seconds at
    speed 1 that were added while it was paused.
    """

    __slots__ = (
        "_oldest",
        "_taken_under",
        "attempts_left",
        "duration",
        "factor",
        "fails",
        "generating_since",
        "group",
        "has_sandbox",
        "longer",
        "number",
        "overhead_left",
        "paused_speed",
        "remaining",
        "time_left",
        "version",
    )

    def __init__(self, number: int, group: Group, duration: float, factor: float, version: int) -> None:
        self.number = number
        self.group = group
        self.duration = duration
        self.factor = factor
        self.version = version
        self.generating_since = PENDING
        self._oldest: int | None = None
        self._taken_under = version
        self.attempts_left = 0
        self.fails = False
        self.has_sandbox = False
        self.longer: list[float] = []
        self.remaining: float | None = None
        self.paused_speed = 1.0
        self.overhead_left = 0.0
        self.time_left = PENDING

    def oldest_version(self) -> int:
        """The oldest version with generating seconds in it; without any, the one that is to generate it."""
        return self.version if self._oldest is None else self._oldest

    def finish(self, now: float) -> None:
        """It is whole; one without any generating seconds counts for the version it was taken under."""
        self.stop_generating(now)
        if self._oldest is None:
            self._oldest = self._taken_under

    def stop_generating(self, now: float) -> None:
        """Nothing is generated from `now` on."""
        if self._oldest is None and now > self.generating_since:
            self._oldest = self.version
        self.generating_since = PENDING

    def change_version(self, version: int, now: float) -> None:
        """Go on under another version from `now` on."""
        generating = self.generating_since != PENDING
        self.stop_generating(now)
        self.version = version
        if generating:
            self.generating_since = now

    def multiply_duration(self, factor: float) -> float:
        """Make the whole take `factor` times as long; returns by how many seconds at speed 1."""
        longer = (factor - 1) * self.duration * self.factor
        self.factor *= factor
        return longer

    def generating_left_at(self, speed: float) -> float:
        """Seconds that a paused episode has yet to be generated by a worker of `speed`."""
        assert self.remaining is not None
        return (self.remaining - self.overhead_left) * self.paused_speed / speed

    def forget_progress(self) -> None:
        """What was generated so far is not part of the episode any more."""
        self._oldest = None
        self.remaining = None
        self.longer = []

    def restart_under(self, version: int) -> None:
        """Begin from the start as if taken for the first time."""
        self.forget_progress()
        self.version = self._taken_under = version


class Source:
    """Numbers episodes from 0 in the order of their first starts, and forms them into groups.

    Members of one group start one after another; a group that is cut short, by loss or because enough
    members finished, leaves its numbers to the next.
    """

    def __init__(self, next_duration: Callable[[], float], group_size: int, redundancy: int) -> None:
        self._next_duration = next_duration
        self._group_size = group_size
        self._planned = group_size + redundancy
        self._next_group = 0
        self.next_number = 0
        self._open: dict[int, Group] = {}
        self._factors: dict[int, float] = {}

    def group_in_progress(self, held_back: Collection[int]) -> int | None:
        """The oldest group that has members yet to start and is not held back, if there is one."""
        return next((number for number in self._open if number not in held_back), None)

    def multiply_duration(self, number: int, factor: float) -> None:
        """Make an episode that has not started take `factor` times as long."""
        self._factors[number] = self._factors.get(number, 1.0) * factor

    def start_member(self, group: int, version: int) -> Episode:
        """The next member of a group in progress."""
        return self._start(self._open[group], version)

    def start_group(self, version: int) -> Episode:
        """The first member of a new group."""
        group = Group(self._next_group, self._group_size, self._planned)
        self._next_group += 1
        if self._planned > 1:
            self._open[group.number] = group
        return self._start(group, version)

    def close(self, group: Group) -> None:
        """Start no more members of the group."""
        self._open.pop(group.number, None)

    def _start(self, group: Group, version: int) -> Episode:
        number = self.next_number
        self.next_number += 1
        episode = Episode(number, group, self._next_duration(), self._factors.pop(number, 1.0), version)
        group.started += 1
        group.members.append(episode)
        if group.started == group.planned:
            self._open.pop(group.number, None)
        return episode
