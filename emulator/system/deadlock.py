"""Says who waits for what when nothing can happen any more."""

from collections import Counter
from collections.abc import Collection

from emulator.scenario import Scenario
from emulator.system.queue import EpisodeQueue, LoneEpisodeQueue
from emulator.system.worker import Worker


def explain(
    scenario: Scenario,
    batch_groups: int,
    queue: EpisodeQueue | LoneEpisodeQueue,
    workers: Collection[Worker],
    *,
    trainer_free: bool,
) -> str:
    """One sentence on who waits for what in a lane in which no timer is set."""
    free = _free_trainer(scenario, batch_groups, queue)
    parts = [free if trainer_free else "the trainer waits for the round that is generated"]
    reasons = Counter(map(_reason, workers))
    parts += [f"{_count(number, 'worker')} {reason}" for reason, number in reasons.items()]
    if not workers:
        parts.append("no workers are left")
    return "; ".join(parts) + "; nothing that is running can change that"


def _free_trainer(scenario: Scenario, batch_groups: int, queue: EpisodeQueue | LoneEpisodeQueue) -> str:
    size = scenario.rollout.group_size
    there = f"the queue holds {_count(queue.qsize(), 'episode')}"
    if size == 1:
        return f"the trainer waits for {_count(batch_groups, 'finished episode')}, {there}"
    wanted = f"{_count(batch_groups, 'complete group')} of {size}"
    complete = _count(len(queue.complete), "complete group")
    return f"the trainer waits for {wanted}, {there}, {complete} among them"


def _reason(worker: Worker) -> str:
    if worker.held is not None:
        return "with a finished episode for which the queue has no room"
    if worker.in_sandbox_line:
        return "in line for a sandbox"
    if worker.episode is not None:
        return "with an episode that no engine takes"
    return "at the staleness gate until a publication" if worker.gated else "free until the next round"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
