"""What a person's keys do to the lanes: the same to each, so that a race stays fair."""

from collections.abc import Callable, Mapping, Sequence

from emulator.dashboard.crew import Crew
from emulator.dashboard.history import History
from emulator.runner import LaneView
from emulator.scenario.timeline import Event

FACTOR = 8
"""How many times as long a straggler takes."""

RESTART_SECONDS = 60
"""For how long a crashed worker is down."""


def straggler_episode(histories: Sequence[History]) -> int | None:
    """The episode to slow down: one that no lane has finished, running in as many lanes as can be.

    That is one that the lane furthest ahead runs, the newest of them: it has the most of its time to come.
    """
    crews = [history.crew for history in histories]
    running = [{crew.episode[number] for number in crew.running()} for crew in crews]
    ahead = max(range(len(histories)), key=lambda i: histories[i].counts["started"])
    if not running[ahead]:
        return None
    return max(running[ahead], key=lambda episode: (sum(episode in lane for lane in running), episode))


def slow_episode(lanes: Sequence[LaneView], histories: Sequence[History]) -> str:
    """Make one episode a straggler, the same one in every lane; returns what was done."""
    episode = straggler_episode(histories)
    if episode is None:
        return "no episode runs"
    _inject(lanes, {"straggler": {"episode": episode, "factor": FACTOR}})
    return f"straggler: episode {episode} takes x{FACTOR}"


def slow_worker(lanes: Sequence[LaneView], histories: Sequence[History]) -> str:
    """Make whatever one worker runs a straggler, the same worker in every lane; returns what was done."""
    number = _choose(histories, Crew.running)
    if number is None:
        return "no worker runs an episode in every lane"
    _inject(lanes, {"straggler": {"worker": number, "factor": FACTOR}})
    return f"straggler: what worker {number} runs takes x{FACTOR}"


def crash(lanes: Sequence[LaneView], histories: Sequence[History]) -> str:
    """Crash one worker, the same in every lane; returns what was done."""
    number = _choose(histories, Crew.present)
    if number is None:
        return "no worker is up"
    _inject(lanes, {"crash": {"workers": [number], "restart_seconds": RESTART_SECONDS}})
    return f"worker {number} crashed, back in a minute"


def join(lanes: Sequence[LaneView], histories: Sequence[History]) -> str:
    """Let a worker join every lane; returns what was done."""
    _inject(lanes, {"add_workers": {"count": 1}})
    return "one worker joins"


def leave(lanes: Sequence[LaneView], histories: Sequence[History]) -> str:
    """Let the last worker leave, the same in every lane; returns what was done."""
    common = set.intersection(*(set(history.crew.present()) for history in histories))
    if len(common) < 2:
        return "the last worker stays"
    _inject(lanes, {"remove_workers": {"workers": [max(common)]}})
    return f"worker {max(common)} leaves"


def _choose(histories: Sequence[History], candidates: Callable[[Crew], list[int]]) -> int | None:
    """One that every lane has; another one as time passes."""
    common = sorted(set.intersection(*(set(candidates(history.crew)) for history in histories)))
    if not common:
        return None
    return common[(histories[0].counts["started"] * 7 + len(common) // 3) % len(common)]


def _inject(lanes: Sequence[LaneView], action: dict[str, object]) -> None:
    for lane in lanes:
        lane.inject(Event.model_validate({"at": lane.now, **action}))


INJECTIONS: Mapping[str, Callable[[Sequence[LaneView], Sequence[History]], str]] = {
    "s": slow_episode,
    "S": slow_worker,
    "k": crash,
    "w": join,
    "x": leave,
}
"""By key."""
