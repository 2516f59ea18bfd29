"""The policy as the workers see it: the freeze of a push, and the publication of a version."""

from typing import TYPE_CHECKING

from emulator import events as ev

if TYPE_CHECKING:
    from emulator.system.lane import Lane
    from emulator.system.worker import Worker


class PolicyStore:
    """Publishes versions, counted in the book's accounts, and tells the workers."""

    def __init__(self, lane: "Lane") -> None:
        self._lane = lane

    def freeze(self, seconds: float, until: float) -> None:
        """Let every worker stand still for `seconds` more, until the push is over."""
        workforce = self._lane.workforce
        workforce.frozen = True
        workforce.thaw_at = until
        for worker in workforce.workers.values():
            worker.freeze(seconds)

    def publish(self) -> None:
        """Publish the next version: end the freeze, refresh or give up what runs, admit who waits."""
        accounts = self._lane.book.accounts
        accounts.version += 1
        self._lane.emit(ev.Publish(self._lane.now, accounts.version))
        if self._lane.learning is not None:
            self._lane.learning.publish(accounts.version)
        workforce = self._lane.workforce
        if workforce.frozen:
            workforce.frozen = False
            for worker in workforce.workers.values():
                worker.thaw()
        if self._lane.strategy.refreshes_in_flight:
            self._refresh(accounts.version)
        workforce.redistribute(self._cancel_stale(accounts.version))

    def _refresh(self, version: int) -> None:
        running = self._lane.workforce.running()
        if running:
            self._lane.emit(ev.Refresh(self._lane.now, [worker.number for worker in running]))
            for worker in running:
                worker.refresh(version, self._lane.strategy.refresh_overhead)

    def _cancel_stale(self, version: int) -> list["Worker"]:
        strategy = self._lane.strategy
        if not strategy.cancels_running:
            return []
        stale = [
            group
            for group in self._lane.book.incomplete.values()
            if group.members and strategy.cancels(group.oldest_version(), version)
        ]
        return self._lane.book.lose_groups(stale, "stale")
