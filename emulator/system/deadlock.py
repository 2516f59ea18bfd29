"""Says who waits for what when nothing can happen any more."""

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.system.lane import Lane


def explain(lane: "Lane") -> str:
    """One sentence on who waits for what in a lane in which no timer is set."""
    batch = lane.scenario.trainer.batch_size
    size = lane.scenario.rollout.group_size
    parts = []
    if lane.trainer.free:
        wanted = f"{batch} finished episodes" if size == 1 else f"{batch // size} complete groups of {size}"
        there = lane.queue.qsize() if size == 1 else len(lane.queue.complete)
        held = sum(worker.held is not None for worker in lane.workforce.workers.values())
        of = f" and {held} are held by workers that find it full" if held else ""
        parts.append(f"the trainer waits for {wanted}, and {there} are in the queue{of}")
    else:
        parts.append("the trainer waits for the round that is generated")
    parts += [f"{count} {what}" for what, count in _waiting_workers(lane).items()]
    if not lane.workforce.workers:
        parts.append("no workers are left")
    return "; ".join(parts) + "; nothing that is running can change that"


def _waiting_workers(lane: "Lane") -> Counter[str]:
    reasons: Counter[str] = Counter()
    for worker in lane.workforce.workers.values():
        if worker.held is not None:
            reasons["workers wait for room in the queue"] += 1
        elif worker.in_sandbox_line:
            reasons["workers wait for a sandbox"] += 1
        elif worker.gated:
            reasons["workers wait at the staleness gate for a publication"] += 1
        else:
            reasons["workers wait for the next round"] += 1
    return reasons
