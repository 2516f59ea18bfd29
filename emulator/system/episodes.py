"""Episodes and their groups, and the source that numbers them.

The k-th episode to be started has the k-th duration of the scenario's stream, whatever strategy
starts it and whatever worker takes it.
"""

from collections.abc import Callable, Collection, Sequence

from emulator.system.trips import Trip

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

    # What most episodes never change stands here, once for all of them.
    number: int
    duration: float
    version: int
    factor = 1.0
    whole = False  # it has finished
    generating_since = PENDING
    attempts_left = 0
    fails = False
    has_sandbox = False
    resumed = False  # it was paused, and is taken up again
    longer: tuple[float, ...] = ()
    remaining: float | None = None
    paused_speed = 1.0
    overhead_left = 0.0
    time_left = PENDING
    trip: Trip | None = None  # its way through engines
    _oldest: int | None = None
    _taken_under: int | None = None  # if that is not the present version

    @property
    def group(self) -> "AnyGroup":
        """The group that it is a member of."""
        raise NotImplementedError

    def oldest_version(self) -> int:
        """The oldest version with generating seconds in it; without any, the one that is to generate it."""
        return self.version if self._oldest is None else self._oldest

    def finish(self, now: float) -> None:
        """It is whole; one without any generating seconds counts for the version it was taken under."""
        self.whole = True
        if self._oldest is None and not now > self.generating_since:
            self._oldest = self.version if self._taken_under is None else self._taken_under

    def stop_generating(self, now: float) -> None:
        """Nothing is generated from `now` on."""
        if self._oldest is None and now > self.generating_since:
            self._oldest = self.version
        self.generating_since = PENDING

    def change_version(self, version: int, now: float) -> None:
        """Go on under another version from `now` on."""
        generating = self.generating_since != PENDING
        self.stop_generating(now)
        if self._taken_under is None:
            self._taken_under = self.version
        self.version = version
        if generating:
            self.generating_since = now

    def multiply_duration(self, factor: float) -> float:
        """Make the whole take `factor` times as long; returns by how many seconds at speed 1."""
        longer = (factor - 1) * self.duration * self.factor
        self.factor *= factor
        return longer

    def lengthen_paused(self, factor: float) -> None:
        """Make the whole take `factor` times as long, while it is set aside."""
        longer = self.multiply_duration(factor)
        if self.trip is not None:
            self.trip.lengthen(factor)
        elif self.remaining is not None:
            self.longer += (longer,)

    def generating_left_at(self, speed: float) -> float:
        """Seconds that a paused episode has yet to be generated by a worker of `speed`."""
        assert self.remaining is not None
        return (self.remaining - self.overhead_left) * self.paused_speed / speed

    def forget_progress(self) -> None:
        """What was generated so far is not part of the episode any more."""
        self._oldest = None
        self.remaining = None
        self.longer = ()

    def restart_under(self, version: int) -> None:
        """Begin from the start as if taken for the first time."""
        self.forget_progress()
        self.version = version
        self._taken_under = None


class GroupedEpisode(Episode):
    """An episode that has siblings in a `group`."""

    __slots__ = (
        "duration",
        "factor",
        "generating_since",
        "group",
        "number",
        "remaining",
        "version",
        "whole",
    )
    group: Group

    def __init__(self, number: int, group: Group, duration: float, factor: float, version: int) -> None:
        self.number = number
        self.group = group
        self.duration = duration
        self.factor = factor
        self.version = version
        self.generating_since = PENDING
        self.whole = False
        self.remaining = None


class LoneEpisode(Episode):
    """An episode that has no siblings: it is its own group, of one, and complete when it has finished.

    So it needs no other object, and nothing has to be kept in step with it.
    """

    # What every episode is asked for; a class's attribute is found more slowly than an instance's.
    __slots__ = ("duration", "factor", "generating_since", "number", "remaining", "version", "whole")

    size = planned = started = 1
    queued = 0
    can_complete = True

    @property
    def group(self) -> "LoneEpisode":
        """Itself."""
        return self

    @property
    def complete(self) -> bool:
        """Whether it has finished."""
        return self.whole

    @property
    def members(self) -> Sequence[Episode]:
        """Itself, unless it is lost."""
        return (self,) if self.can_complete else ()

    @property
    def finished(self) -> Sequence[Episode]:
        """Itself, once it has finished."""
        return (self,) if self.whole else ()

    def lose(self, episode: Episode) -> None:
        """It will not finish."""
        self.can_complete = False

    def dissolve(self) -> None:
        """It refers to no other."""


AnyGroup = Group | LoneEpisode


class Source:
    """Numbers episodes from 0 in the order of their first starts, and forms them into groups.

    Members of one group start one after another; a group that is cut short, by loss or because enough
    members finished, leaves its numbers to the next.
    """

    def __init__(self, next_duration: Callable[[], float], group_size: int, redundancy: int) -> None:
        self._next_duration = next_duration
        self._group_size = group_size
        self._planned = group_size + redundancy
        self.alone = self._planned == 1
        """Whether episodes have no groups."""
        self._next_group = 0
        self.next_number = 0
        self._open: dict[int, Group] = {}
        self._factors: dict[int, float] = {}

    def group_in_progress(self, held_back: Collection[int]) -> int | None:
        """The oldest group that has members yet to start and is not held back, if there is one."""
        for number in self._open:
            if number not in held_back:
                return number
        return None

    def multiply_duration(self, number: int, factor: float) -> float:
        """Make an episode that has not started take `factor` times as long; returns how many times in all."""
        self._factors[number] = whole = self._factors.get(number, 1.0) * factor
        return whole

    def start_alone(self, version: int) -> LoneEpisode:
        """The next episode, where episodes have no groups."""
        number = self.next_number
        self.next_number = number + 1
        episode = LoneEpisode()
        episode.number = number
        episode.duration = self._next_duration()
        episode.version = version
        episode.generating_since = PENDING
        episode.whole = False
        episode.remaining = None
        episode.factor = self._factors.pop(number, 1.0) if self._factors else 1.0
        return episode

    def start_member(self, number: int, version: int) -> Episode:
        """The next member of a group in progress, by the group's number."""
        group, place = self._open[number], self.next_number
        self.next_number = place + 1
        factor = self._factors.pop(place, 1.0) if self._factors else 1.0
        episode = GroupedEpisode(place, group, self._next_duration(), factor, version)
        group.started += 1
        group.members.append(episode)
        if group.started == group.planned:
            del self._open[number]
        return episode

    def start_group(self, version: int) -> Episode:
        """The first member of a new group."""
        group = Group(self._next_group, self._group_size, self._planned)
        self._next_group += 1
        self._open[group.number] = group
        return self.start_member(group.number, version)

    def close(self, group: AnyGroup) -> None:
        """Start no more members of the group."""
        self._open.pop(group.number, None)
