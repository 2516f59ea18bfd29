"""Rules between several keys of a scenario, among them every deadlock that arithmetic shows beforehand."""

from collections.abc import Iterator, Sequence

from emulator.scenario.learner import Learner
from emulator.scenario.parts import Environment, Rollout, Trainer
from emulator.scenario.timeline import AddWorkers, Event
from emulator.values.distributions import Constant, Distribution, Lognormal, Mixture, Trace, Uniform
from emulator.values.scalars import LEAST_FACTOR, MAX_WORKERS, shortest
from emulator.values.violation import Path, Violation

MAX_DECISIONS = 10_000_000
"""The most decisions that a learner may get in a batch; they take about 100 bytes each."""

MAX_CHOICES = 65_536
"""The most contexts times actions of a learner; each version in use has tables of them, 2 MB at most."""


BATCH: Path = ("trainer", "batch_size")
GROUP: Path = ("rollout", "group_size")
REDUNDANCY: Path = ("rollout", "group_redundancy")
CORRELATION: Path = ("rollout", "group_correlation")


def groups(rollout: Rollout, trainer: Trainer) -> Iterator[Violation]:
    """Groups fill a batch; what they have in common or to spare needs groups."""
    batch, size = trainer.batch_size, rollout.group_size
    if batch % size:
        allowed = f"a number that divides trainer.batch_size ({batch}), since a batch is made of whole groups"
        yield Violation(GROUP, str(size), allowed, (BATCH,))
    if rollout.group_redundancy and size == 1:
        allowed = "0, or a rollout.group_size above 1 to be redundant in"
        yield Violation(REDUNDANCY, str(rollout.group_redundancy), allowed, (GROUP,))
    if rollout.group_correlation and (size == 1 or not isinstance(rollout.length, Lognormal)):
        allowed = "0, or a rollout.group_size above 1 whose episodes have something in common"
        length = rollout.length_key
        if size > 1:
            allowed = f"0, or a lognormal {'.'.join(length)}: it is a share of the log variance"
        others: tuple[Path, ...] = (GROUP, length)
        yield Violation(CORRELATION, shortest(rollout.group_correlation), allowed, others)


def queue(rollout: Rollout, trainer: Trainer) -> Iterator[Violation]:
    """The queue holds a batch."""
    capacity, batch = rollout.queue_capacity, trainer.batch_size
    if capacity is not None and capacity < batch:
        allowed = (
            f"at least trainer.batch_size ({batch}): a smaller queue never holds a whole batch, a deadlock"
        )
        yield Violation(("rollout", "queue_capacity"), str(capacity), allowed, (BATCH,))


def speed(rollout: Rollout) -> Iterator[Violation]:
    """Every worker moves."""
    least = slowest(rollout.speed)
    if least < LEAST_FACTOR:
        limit = "above 0" if not least else f"from {LEAST_FACTOR:g} on"
        allowed = f"speeds {limit}: a worker without speed never finishes"
        yield Violation(("rollout", "speed"), f"a speed of {shortest(least)}", allowed)


def slowest(speed: Distribution) -> float:
    """The least speed that is drawn sooner or later, as far as that can be seen; 1 of continuous ones."""
    least = 1.0
    match speed:
        case Constant():
            least = speed.value
        case Uniform():
            least = speed.high
        case Trace() if speed.series is not None:
            least = float(speed.values.min())
        case Mixture():
            least = min(slowest(part.distribution) for part in speed.components)
    return least if speed.cap is None else min(least, speed.cap)


def learning(learner: Learner | None, trainer: Trainer) -> Iterator[Violation]:
    """A learner's batches and tables fit into memory."""
    batch = trainer.batch_size
    if learner is not None and batch * learner.steps > MAX_DECISIONS:
        most = MAX_DECISIONS // batch
        allowed = f"at most {MAX_DECISIONS} decisions in a batch: with trainer.batch_size ({batch}) "
        allowed += f"at most {most}" if most else "none, so a smaller batch"
        yield Violation(("learner", "steps"), str(learner.steps), allowed, (BATCH,))
    if learner is not None and learner.contexts * learner.actions > MAX_CHOICES:
        most = MAX_CHOICES // learner.actions
        allowed = f"at most {most} with {learner.actions} actions, since every version in use has all of them"
        others = (("learner", "actions"),)
        yield Violation(("learner", "contexts"), str(learner.contexts), allowed, others)


def attempts(environment: Environment | None) -> Iterator[Violation]:
    """An attempt has time to begin."""
    if environment is None or environment.timeout_seconds is None:
        return
    reset, timeout = environment.reset_seconds, environment.timeout_seconds
    if isinstance(reset, Constant) and reset.mean() >= timeout:
        allowed = f"more than reset_seconds ({shortest(reset.mean())}): no attempt would ever begin"
        others = (("environment", "reset_seconds"),)
        yield Violation(("environment", "timeout_seconds"), shortest(timeout), allowed, others)


def timeline(events: Sequence[Event], rollout: Rollout, engines: int, duration: float) -> Iterator[Violation]:
    """The timeline stays within the run, its workers and its engines."""
    added = sum(event.action.count for event in events if isinstance(event.action, AddWorkers))
    workers = rollout.workers + added
    others: tuple[Path, ...] = (("rollout", "workers"), ("events",))
    if workers > MAX_WORKERS:
        allowed = f"at most {MAX_WORKERS} workers, those that join later included"
        yield Violation(("events",), f"{workers} workers in all", allowed, others)
    for index, event in enumerate(events):
        where: Path = ("events", index)
        if event.at > duration:
            allowed = f"from 0 to the duration, {shortest(duration)} s"
            yield Violation((*where, "at"), f"{shortest(event.at)} s", allowed, (("duration",),))
        if event.slow is not None and event.slow.factor < LEAST_FACTOR:
            allowed = f"a factor from {LEAST_FACTOR:g} on"
            yield Violation((*where, "slow", "factor"), shortest(event.slow.factor), allowed)
        for key, number, named in _workers_named(event):
            if number >= workers:
                found = f"worker {number}" if named else f"{number + 1} workers"
                allowed = f"workers from 0 to {workers - 1}" if named else f"at most {workers} workers"
                yield Violation((*where, *key), found, f"{allowed}: there are never more", others)
        for kind, action in (("slow", event.slow), ("crash", event.crash)):
            if action is None or action.engines is None:
                continue
            counted = isinstance(action.engines, int)
            last = action.engines - 1 if isinstance(action.engines, int) else max(action.engines)
            if last >= engines:
                found = f"a number of {last + 1}" if counted else f"engine {last}"
                allowed = f"at most {engines}" if counted else f"engines from 0 to {engines - 1}"
                allowed = f"{allowed}: there are no more" if engines else "workers: there is no engine"
                yield Violation((*where, kind, "engines"), found, allowed, (("engine",), ("cluster",)))


def _workers_named(event: Event) -> Iterator[tuple[Path, int, bool]]:
    """The highest worker number that an entry speaks of, with its key and whether it is named or counted."""
    if event.straggler is not None and event.straggler.worker is not None:
        yield ("straggler", "worker"), event.straggler.worker, True
    if event.remove_workers is not None and event.remove_workers.count is not None:
        yield ("remove_workers", "count"), event.remove_workers.count - 1, False
    for name, action in (
        ("slow", event.slow),
        ("crash", event.crash),
        ("remove_workers", event.remove_workers),
    ):
        if action is not None and action.workers is not None:
            counted = isinstance(action.workers, int)
            yield (
                (name, "workers"),
                action.workers - 1 if isinstance(action.workers, int) else max(action.workers),
                not counted,
            )
