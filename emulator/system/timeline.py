"""The timeline: what a scenario's ``events`` or a person's keys do to a running lane.

Both come through `Timeline.inject`, and both are recorded resolved: with the numbers of the workers or the
episode that were hit, in the form in which a scenario takes them. So a recorded live run can be run again.
What hits nobody is not recorded.
"""

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

from emulator import events as ev
from emulator.clock import Phase
from emulator.scenario import timeline as entries
from emulator.system.book import Book
from emulator.system.chronicle import Chronicle
from emulator.system.engines import Engines
from emulator.system.trainer import TrainerTask
from emulator.system.workforce import Workforce


class Timeline:
    """The injections of one lane, each applied when its instant has settled, in order."""

    def __init__(
        self,
        *,
        chronicle: Chronicle,
        entries: Iterable[entries.Event],
        workforce: Workforce,
        engines: Engines,
        book: Book,
        trainer: TrainerTask,
    ) -> None:
        self._chronicle = chronicle
        self._entries = tuple(entries)
        self._workforce = workforce
        self._engines = engines
        self._book = book
        self._trainer = trainer

    def start(self) -> None:
        """Apply the entries at 0 and set timers for the rest."""
        for entry in self._entries:
            if entry.at == 0:
                self._apply(entry)
            else:
                self._chronicle.timers.call_at(entry.at, partial(self.inject, entry))

    def inject(self, entry: entries.Event) -> None:
        """Apply an entry when the present instant has settled, whatever its `at`.

        Of several, each waits until what the one before brought about has settled too. So it makes no
        difference whether they stand in a file or come from a person, one after the other.
        """
        if self._chronicle.now == 0:
            # What a file says of 0 precedes the first start; a person comes after it.
            self._chronicle.timers.call_at(math.nextafter(0, 1), partial(self.inject, entry))
        else:
            self._chronicle.loop.call_when_settled(Phase.TIMELINE, self._apply, entry)

    def _apply(self, entry: entries.Event) -> None:
        self._chronicle.count_anew()
        match entry.action:
            case entries.Straggler() as action:
                self._straggle(action)
            case entries.StallTrainer() as action:
                self._tell("stall_trainer", **{"for": action.for_seconds})
                self._trainer.stall(action.for_seconds)
            case entries.AddWorkers() as action:
                self._tell("add_workers", count=action.count)
                self._workforce.join(action.count)
            case entries.RemoveWorkers() as action:
                wanted = action.count if action.workers is None else action.workers
                assert wanted is not None
                if numbers := self._resolve(wanted):
                    self._tell("remove_workers", workers=numbers)
                    self._workforce.leave(numbers)
            case entries.Slow(engines=wanted) | entries.Crash(engines=wanted) as action if wanted is not None:
                if numbers := self._engines.resolve(wanted):
                    self._hit_engines(action, numbers)
            case entries.Slow() | entries.Crash() as action:
                assert action.workers is not None
                if numbers := self._resolve(action.workers):
                    self._hit(action, numbers)

    def _hit(self, action: entries.Slow | entries.Crash, numbers: list[int]) -> None:
        if isinstance(action, entries.Slow):
            self._tell("slow", workers=numbers, factor=action.factor, **{"for": action.for_seconds})
            self._slow(numbers, action.factor, action.for_seconds)
        else:
            self._tell("crash", workers=numbers, restart_seconds=action.restart_seconds)
            self._workforce.crash(numbers, action.restart_seconds)

    def _hit_engines(self, action: entries.Slow | entries.Crash, numbers: list[int]) -> None:
        if isinstance(action, entries.Slow):
            self._tell("slow", engines=numbers, factor=action.factor, **{"for": action.for_seconds})
            self._engines.slow(numbers, action.factor, action.for_seconds)
        else:
            self._tell("crash", engines=numbers, restart_seconds=action.restart_seconds)
            self._workforce.crash_engines(numbers, action.restart_seconds)

    def _tell(self, kind: str, **action: Any) -> None:
        self._chronicle.emit(ev.Inject(self._chronicle.now, {kind: action}))

    def _resolve(self, wanted: int | tuple[int, ...]) -> list[int]:
        """A number of workers means the lowest-numbered that are up; of a list, those that are there."""
        workers = self._workforce.workers
        if isinstance(wanted, int):
            return [number for number, worker in workers.items() if worker.up][:wanted]
        return sorted(number for number in wanted if number in workers)

    def _straggle(self, action: entries.Straggler) -> None:
        number = action.episode
        if action.worker is not None:
            worker = self._workforce.workers.get(action.worker)
            if worker is None or worker.episode is None:
                return
            number = worker.episode.number
        assert number is not None
        self._tell("straggler", episode=number, factor=action.factor)
        self._chronicle.in_range(
            self._multiply_duration(number, action.factor), f"the factor of episode {number}"
        )

    def _multiply_duration(self, number: int, factor: float) -> float:
        """Make an episode take `factor` times as long, wherever it is; returns how many times in all."""
        if number >= self._book.source.next_number:
            return self._book.source.multiply_duration(number, factor)
        for worker in self._workforce.workers.values():
            if (episode := worker.episode) is not None and episode.number == number:
                worker.multiply_duration(factor)
                return episode.factor
        if (episode := self._book.paused.get(number)) is not None:
            episode.lengthen_paused(factor)
            return episode.factor
        return 1.0

    def _slow(self, numbers: list[int], factor: float, seconds: float) -> None:
        slowed = [self._workforce.workers[number] for number in numbers]
        for worker in slowed:
            worker.slow_down(factor)

        def recover() -> None:
            for worker in slowed:
                worker.speed_up(factor)

        # Not counted as pending: its end starts nothing that was not going on.
        self._chronicle.loop.call_at(self._chronicle.now + seconds, recover)
