"""Says who waits for what when nothing can happen any more."""

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.system.lane import Lane


def explain(lane: "Lane") -> str:
    """One sentence on who waits for what in a lane in which no timer is set."""
    parts = [_trainer(lane)]
    parts += [f"{_count(number, 'worker')} {reason}" for reason, number in _waiting_workers(lane).items()]
    if not lane.workforce.workers:
        parts.append("no workers are left")
    return "; ".join(parts) + "; nothing that is running can change that"


def _trainer(lane: "Lane") -> str:
    if not lane.trainer.free:
        return "the trainer waits for the round that is generated"
    size = lane.scenario.rollout.group_size
    there = f"the queue holds {_count(lane.queue.qsize(), 'episode')}"
    if size == 1:
        return (
            f"the trainer waits for {_count(lane.scenario.trainer.batch_size, 'finished episode')}, {there}"
        )
    wanted = f"{_count(lane.strategy.batch_groups, 'complete group')} of {size}"
    complete = _count(len(lane.queue.complete), "complete group")
    return f"the trainer waits for {wanted}, {there}, {complete} among them"


def _waiting_workers(lane: "Lane") -> Counter[str]:
    reasons: Counter[str] = Counter()
    for worker in lane.workforce.workers.values():
        if worker.held is not None:
            reasons["with a finished episode for which the queue has no room"] += 1
        elif worker.in_sandbox_line:
            reasons["in line for a sandbox"] += 1
        elif worker.gated:
            reasons["at the staleness gate until a publication"] += 1
        else:
            reasons["free until the next round"] += 1
    return reasons


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
