"""What every episode will do: the k-th episode has the k-th plan, drawn whole when it first starts.

Streams, as children of the seed after those that there are (0 to 4): 5 plans, 6 groups, 7 speeds of
engines. The plans' stream has a child for each part, so that none disturbs another: 0 prompt, 1 count, 2
output tokens, 3 tool seconds, 4 tool tokens. Each is one sequence over the whole run. Plan k takes one
value of the prompts; then with `turns` one of the counts, as many outputs as it has turns, and of each of
the tools' two one less, since no tool follows the last turn. A constant takes nothing. An engine's speed is
the value of its number.

- `episode_tokens` is one turn. It is drawn from today's stream of durations, and so is `episode_seconds`: a
  scenario that states its lengths in tokens keeps its long episodes where they were.
- Whole numbers are `round(value)`, half to even: turns and tokens of a turn at least 1, prompts and a tool's
  tokens at least 0. What is above `cap` is the cap, before it is rounded.
- `group_correlation` rho: `median * exp(sigma * (sqrt(rho) * z_group + sqrt(1 - rho) * z_episode))`, then
  the cap. `z_group` is the value of the group's number in the groups' stream, `z_episode` the standard normal
  number that today makes the duration. Absent or 0: today's value, to the bit. With `turns` it is the count
  that the members of a group have in common, and `z_episode` comes from the counts: one number for each
  episode. The tokens of single turns stay independent, else all turns of an episode would be long together.
- A group's number counts all members, redundant ones too: `k // (G + r)`. Prompts are by episode.
- A retry, a resume and a deferred run keep the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat
from math import exp, inf, sqrt

from .turns import Plan, Turn


def correlated(median: float, sigma: float, rho: float, z_group: float, z_episode: float) -> float:
    """A log-normal value that shares rho of its log variance with its group."""
    return median * exp(sigma * (sqrt(rho) * z_group + sqrt(1 - rho) * z_episode))


def group_values(
    median: float,
    sigma: float,
    rho: float,
    *,
    size: int,
    of_groups: Iterator[float],
    of_episodes: Iterator[float],
    cap: float = inf,
) -> Iterator[float]:
    """The values of episode after episode, of groups of `size`, from standard normal numbers."""
    for z_group in of_groups:
        for _ in range(size):
            yield min(correlated(median, sigma, rho, z_group, next(of_episodes)), cap)


def whole(value: float, least: int) -> int:
    """Tokens or turns."""
    return max(least, round(value))


NOTHING = repeat(0.0)


@dataclass
class Parts:
    """The sequences of one run, after their caps."""

    counts: Iterator[float]
    outputs: Iterator[float]
    tool_seconds: Iterator[float] = NOTHING
    tool_tokens: Iterator[float] = NOTHING
    prompts: Iterator[float] = NOTHING

    def next_plan(self) -> Plan:
        prompt = whole(next(self.prompts), 0)
        count = whole(next(self.counts), 1)
        outputs = [whole(next(self.outputs), 1) for _ in range(count)]
        seconds = [next(self.tool_seconds) for _ in range(count - 1)]
        tokens = [whole(next(self.tool_tokens), 0) for _ in range(count - 1)]
        return Plan(
            prompt,
            tuple(Turn(n, s, t) for n, s, t in zip(outputs, [*seconds, 0.0], [*tokens, 0], strict=True)),
        )


class Plans:
    """Plans by number, each drawn when it is first asked for, in order."""

    def __init__(self, draw: Callable[[], Plan]) -> None:
        self.draw = draw
        self.drawn: list[Plan] = []

    def __call__(self, k: int) -> Plan:
        while len(self.drawn) <= k:
            self.drawn.append(self.draw())
        return self.drawn[k]


def one_turn(tokens: Iterator[float], prompts: Iterator[float] = NOTHING) -> Callable[[], Plan]:
    """Plans of `episode_tokens`."""
    return Parts(counts=repeat(1.0), outputs=tokens, prompts=prompts).next_plan
