"""Who starts what, and when the trainer takes a batch."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from math import ceil

from .heap import Timer
from .parts import GATED, WAITING, Episode, Group, Worker, exact
from .system import System


class Rounds:
    """Synchronous: a round, an update, a push, the next round."""

    def __init__(self, system: System) -> None:
        self.system = system
        settings = system.settings
        oversample = exact(settings.strategy.get("oversample") or 1)
        default = "wait" if oversample == 1 else "abort"
        self.unfinished = settings.strategy.get("unfinished") or default
        self.issued = ceil(Fraction(ceil(oversample * settings.batch), settings.group_size))
        self.needed = settings.batch // settings.group_size
        deadline = settings.strategy.get("deadline")
        self.deadline: float | None = None if deadline is None else float(deadline)
        self.expiry: Timer | None = None
        self.enough = self.needed  # groups that close the round
        self.closed = True
        self.complete = 0
        self.paused: deque[Episode] = deque()  # to be taken in this round: these,
        self.carried: list[Group] = []  # then members of these that never started,
        self.open: Group | None = None  # then of the group that is being begun,
        self.new = 0  # then so many new groups

    def begin(self) -> None:
        self.begin_round()

    def begin_round(self) -> None:
        system = self.system
        self.closed = False
        self.complete = 0
        self.enough = self.needed
        self.open = None
        chosen: list[Group] = []
        tail = False
        self.new = self.issued
        incomplete = [system.open_groups[number] for number in sorted(system.open_groups)]
        if self.unfinished == "resume":
            chosen = incomplete
            self.new = max(0, self.issued - len(chosen))
        elif self.unfinished == "defer" and len(incomplete) >= self.needed:
            chosen = incomplete[: self.needed]
            self.new = 0
            tail = True
        if self.deadline is not None and not tail:
            self.expiry = system.agenda.set(system.now + self.deadline, self.expire)
        paused = [member for group in chosen for member in group.members if member.state == "paused"]
        self.paused = deque(sorted(paused, key=lambda episode: episode.k))
        self.carried = [group for group in chosen if group.unstarted()]
        self.serve_free()

    def serve_free(self) -> None:
        """Free workers take what is issued, in worker order."""
        for worker in self.system.workers:
            if self.closed or not self.is_left():
                return
            if worker.is_free() and worker.state == WAITING:
                self.next_for(worker)

    def is_left(self) -> bool:
        """Whether anything issued is not yet taken."""
        while self.paused and self.paused[0].state != "paused":  # its group was lost
            self.paused.popleft()
        while self.carried and not self.carried[0].unstarted():
            self.carried.pop(0)
        if self.open is not None and not self.open.unstarted():
            self.open = None
        return bool(self.paused or self.carried or self.open or self.new)

    def next_for(self, worker: Worker) -> None:
        system = self.system
        if self.closed or not self.is_left():
            system.set_state(worker, WAITING)
        elif self.paused:
            system.take(worker, self.paused.popleft())
        elif self.carried:
            system.start(worker, self.carried[0])
        else:
            if self.open is None:
                self.open = system.new_group()
                self.new -= 1
            system.start(worker, self.open)

    def serve_line(self) -> None:
        if not self.closed:
            self.serve_free()

    def forget(self, worker: Worker) -> None:
        """Free workers stand in no line: they are served in worker order."""

    def completed(self, freed: set[Worker]) -> None:
        self.complete += 1
        if self.complete == self.enough:
            self.close(freed)

    def expire(self) -> None:
        """The deadline: what is complete must do, or the first group that will be."""
        self.enough = max(self.complete, 1)
        if self.complete:
            freed: set[Worker] = set()
            self.close(freed)
            self.system.go_on(freed)

    def close(self, freed: set[Worker]) -> None:
        """End the round: nothing more is taken, and what runs is put away."""
        system = self.system
        self.closed = True
        system.agenda.cancel(self.expiry)
        if self.unfinished == "abort":
            running = [worker.episode for worker in system.workers if worker.episode is not None]
            for episode in running:
                system.end(episode, "aborted", freed)
            for group in list(system.open_groups.values()):
                system.lose(group, freed)
        else:
            for worker in system.workers:
                if worker.episode is not None:
                    system.pause(worker, worker.episode, keep=self.unfinished == "resume")

    def lost(self, group: Group) -> None:
        """It is replaced by the next."""
        if not self.closed:
            self.new += 1

    def look(self) -> None:
        system = self.system
        if system.may_train():
            batch = system.next_batch(self.enough)
            if batch is not None:
                system.train(batch)

    def update_ended(self) -> None:
        system = self.system
        if system.push_due():
            system.push()
        else:
            self.begin_round()

    def push_begun(self, until: float) -> None:
        """Workers wait anyway."""

    def push_delayed(self, by: float) -> None:
        """Workers wait anyway."""

    def published(self) -> None:
        self.begin_round()


class OneStepOff(Rounds):
    """The next round runs while this one's batch trains."""

    def look(self) -> None:
        system = self.system
        if not system.may_train() or not self.closed:
            return
        batch = system.next_batch()
        if batch is None:
            return
        if system.trainer.ended:
            system.trainer.ended = False
            system.push()
            if system.trainer.state == "pushing":
                return
        system.train(batch)
        self.begin_round()

    def update_ended(self) -> None:
        if self.system.push_due():
            self.system.trainer.ended = True

    def published(self) -> None:
        """The trainer looks next, and takes the batch that is complete."""


class Asynchronous:
    """Workers never wait for each other, unless a gate holds them."""

    def __init__(self, system: System) -> None:
        self.system = system
        settings = system.settings
        strategy = settings.strategy
        eta = strategy.get("max_staleness")
        self.eta = None if eta is None else exact(eta)
        enforce = strategy.get("enforce") or "gate"
        self.gates = self.eta is not None and enforce == "gate"
        self.drops = self.eta is not None and enforce in ("drop", "cancel")
        self.cancels = self.eta is not None and enforce == "cancel"
        self.in_flight = strategy.get("weights") == "in_flight"
        self.refresh_overhead = strategy.get("refresh_overhead") or 0
        self.pauses = strategy.get("weight_sync") == "pause"
        self.line: deque[Worker] = deque()
        self.open: Group | None = None

    def begin(self) -> None:
        for worker in self.system.workers:
            if worker.is_free():
                self.next_for(worker)

    def may_start(self) -> bool:
        system = self.system
        if system.frozen_until is not None:
            return False
        if self.open is not None and self.open.unstarted():
            return True
        if not self.gates or self.eta is None:
            return True
        settings = system.settings
        out = system.started - system.aborted - system.failed - system.dropped
        group = settings.group_size
        return out + group <= (self.eta + system.version + 1) * settings.batch * settings.publish_every

    def next_for(self, worker: Worker) -> None:
        if self.may_start():
            self.start(worker)
        else:
            self.line.append(worker)
            self.system.set_state(worker, GATED)

    def start(self, worker: Worker) -> None:
        if self.open is None or not self.open.unstarted():
            self.open = self.system.new_group()
        self.system.start(worker, self.open)

    def serve_line(self) -> None:
        while self.line and self.may_start():
            self.start(self.line.popleft())

    def forget(self, worker: Worker) -> None:
        if worker in self.line:
            self.line.remove(worker)

    def completed(self, freed: set[Worker]) -> None:
        """The trainer looks when the instant's timers have run."""

    def lost(self, group: Group) -> None:
        """Its place is free: the line is served."""

    def is_stale(self, episodes: list[Episode]) -> bool:
        assert self.eta is not None
        return self.system.version - min(episode.oldest() for episode in episodes) > self.eta

    def look(self) -> None:
        system = self.system
        if not system.may_train():
            return
        while self.drops:
            stale = [
                group
                for group in system.ready
                if all(episode.in_queue for episode in group.finished) and self.is_stale(group.finished)
            ]
            if not stale:
                break
            freed: set[Worker] = set()
            for group in stale:
                system.lose(group, freed)
            system.go_on(freed)
        batch = system.next_batch()
        if batch is not None:
            system.train(batch)

    def update_ended(self) -> None:
        system = self.system
        if system.push_due():
            system.push()

    def push_begun(self, until: float) -> None:
        if self.pauses:
            self.system.freeze(until, self.system.settings.push)

    def push_delayed(self, by: float) -> None:
        frozen_until = self.system.frozen_until
        if frozen_until is not None:
            self.system.freeze(frozen_until + by, by)

    def published(self) -> None:
        system = self.system
        if system.frozen_until is not None:
            system.thaw()
        if self.in_flight:
            system.refresh(self.refresh_overhead)
        freed: set[Worker] = set()
        if self.cancels:
            self.cancel(freed)
        system.go_on(freed)

    def cancel(self, freed: set[Worker]) -> None:
        """Abort what runs and lose what is incomplete beyond the bound."""
        system = self.system
        for worker in system.workers:
            system.account(worker)
        stale = []
        for group in system.open_groups.values():
            judged = [member for member in group.members if member.state in ("running", "finished")]
            if judged and self.is_stale(judged):
                stale.append(group)
        running = [worker.episode for worker in system.workers if worker.episode is not None]
        for episode in running:
            if episode.group in stale:
                system.end(episode, "aborted", freed)
        for group in stale:
            system.lose(group, freed)


def strategy_of(system: System) -> Rounds | Asynchronous:
    """The strategy that the scenario names."""
    kind = system.settings.strategy["kind"]
    if kind == "asynchronous":
        return Asynchronous(system)
    return {"synchronous": Rounds, "one_step_off": OneStepOff}[kind](system)
