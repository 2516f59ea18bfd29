"""What a lane with a learner has besides: which versions made what of an episode, and what is learned of it.

Lanes without a learner use none of it, and pay nothing for it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import cast

import numpy as np

from emulator import events as ev
from emulator.errors import LearnerError
from emulator.learner import Learner, LearningFigures, Rank, Trajectory, TrajectoryGroup
from emulator.system.chronicle import Chronicle
from emulator.system.episodes import AnyGroup, Episode, GroupedEpisode, LoneEpisode, Source
from emulator.system.lengths import Shares
from emulator.text import clean

_EPISODES_A_VERSION = 1024
"""For so many episodes that wait, old versions are kept a publication longer, to save looking."""


_LARGEST = 1e290
"""The largest figure of an update; of larger ones, sums over the updates would overflow."""


def _plain(figures: object) -> list[float]:
    """The figures of an update; TypeError or ValueError if they are none."""
    if not isinstance(figures, tuple | list):
        raise TypeError(f"a {type(figures).__name__} was returned")
    return [float(figure) for figure in LearningFigures(*figures)]


def _words(error: BaseException) -> str:
    """An error's kind and message, whatever it makes of being asked for it."""
    try:
        message = str(error)
    except Exception:
        message = ""
    return clean(f"{type(error).__name__}: {message}" if message else type(error).__name__, 200)


class _Portioned(Episode):
    """An episode that keeps which versions generated it, and for how many seconds each, in order of time."""

    portions: tuple[tuple[int, float], ...] = ()

    def stop_generating(self, now: float) -> None:
        self._add_portion(now)
        super().stop_generating(now)

    def finish(self, now: float) -> None:
        super().finish(now)
        self._add_portion(now)
        if not self.portions:
            self.portions = ((self.oldest_version(), 0.0),)

    def forget_progress(self) -> None:
        super().forget_progress()
        self.portions = ()

    def _add_portion(self, now: float) -> None:
        if now > self.generating_since:
            self.portions += ((self.version, now - self.generating_since),)

    def versions(self) -> set[int]:
        """The versions that have a part in it, or may get one."""
        taken_under = self.version if self._taken_under is None else self._taken_under
        return {taken_under, self.version, *(version for version, _ in self.portions)}


class LearningLoneEpisode(_Portioned, LoneEpisode):
    """One without siblings."""


class LearningGroupedEpisode(_Portioned, GroupedEpisode):
    """One that has siblings; `durations` are those of the first members, as many as the group needs.

    All members share the list. It has those of lost members too.
    """

    durations: list[float]


class LearningSource(Source):
    """A source of such episodes: each takes the place of the one that any source makes."""

    def __init__(self, next_duration: Callable[[], float], group_size: int, redundancy: int) -> None:
        super().__init__(next_duration, group_size, redundancy)
        self._durations: dict[int, list[float]] = {}

    def start_alone(self, version: int) -> LoneEpisode:
        """The next episode, where episodes have no groups."""
        made = super().start_alone(version)
        episode = LearningLoneEpisode()
        for name in LoneEpisode.__slots__:
            setattr(episode, name, getattr(made, name))
        return episode

    def close(self, group: AnyGroup) -> None:
        """Start no more members of the group."""
        super().close(group)
        self._durations.pop(group.number, None)

    def start_member(self, number: int, version: int) -> Episode:
        """The next member of a group in progress."""
        group = self._open[number]
        made = super().start_member(number, version)
        episode = LearningGroupedEpisode(made.number, group, made.duration, made.factor, version)
        group.members[-1] = episode
        episode.durations = self._durations.setdefault(group.number, [])
        if len(episode.durations) < group.size:
            episode.durations.append(made.duration)
        if group.started == group.planned:
            del self._durations[group.number]
        return episode


class Learning:
    """Tells the learner of one lane what it needs to know, and the journal what it makes of that."""

    def __init__(
        self,
        chronicle: Chronicle,
        learner: Learner,
        shares: Shares,
        untrained: Callable[[], Iterable[Episode]],
    ) -> None:
        self._chronicle = chronicle
        self._learner = learner
        self._shares = shares
        self._untrained = untrained
        self._batch: list[TrajectoryGroup] = []
        self._next_retirement = 0

    def take(self, groups: Iterable[AnyGroup]) -> None:
        """A batch is about to be taken: complete groups, as the update will have them."""
        self._batch = [self._trajectories(group) for group in groups]

    def update(self, update: int) -> None:
        """The update on that batch is computed; LearnerError for figures that are no finite numbers."""
        batch, self._batch = self._batch, []
        with self._blamed(f"update {update}"):
            figures = _plain(self._learner.update(batch))
        if not all(abs(figure) <= _LARGEST for figure in figures):
            values = ", ".join(f"{n} {f!r}" for n, f in zip(LearningFigures._fields, figures, strict=True))
            must = f"which must be finite and at most {_LARGEST:g}; the learning_rate may have to be smaller"
            raise LearnerError(self._chronicle.now, f"update {update} came to {values}, {must}")
        self._chronicle.emit_uncounted(ev.Learn(self._chronicle.now, update, *figures))

    @contextmanager
    def _blamed(self, what: str) -> Iterator[None]:
        """Whatever a learner raises ends its lane, and no other; but what ends the program does."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            # The program is to end, which is no fault of the learner.
            raise
        except BaseException as error:
            # Of asyncio's CancelledError too, which here is the learner's own: nothing is awaited.
            raise LearnerError(self._chronicle.now, f"{what} raised {_words(error)}") from error

    def publish(self, version: int) -> None:
        """A version is published; those that no episode has any part of are forgotten, sooner or later."""
        with self._blamed(f"the publication of version {version}"):
            self._learner.publish(version)
        if version < self._next_retirement:
            return
        episodes = [cast(_Portioned, episode) for episode in self._untrained()]
        needed = {version}.union(*(episode.versions() for episode in episodes))
        with self._blamed(f"the retirement of versions at version {version}"):
            self._learner.retire(needed)
        self._next_retirement = version + 1 + len(episodes) // _EPISODES_A_VERSION

    def _trajectories(self, group: AnyGroup) -> TrajectoryGroup:
        if isinstance(group, LoneEpisode):
            durations = [group.duration]
        else:
            durations = cast(LearningGroupedEpisode, group.finished[0]).durations
        members = [Trajectory(e.number, cast(_Portioned, e).portions) for e in group.finished]
        return TrajectoryGroup(group.number, self._ranks(durations), members)

    def _ranks(self, durations: list[float]) -> list[Rank]:
        # One group at a time: what a function of numpy gives may depend on the length of its argument, and an
        # episode has the same rank whatever else is in its batch.
        below, upto = self._shares(np.array(durations))
        # Rounding may have them the other way round.
        return list(zip(np.minimum(below, upto).tolist(), upto.tolist(), strict=True))
