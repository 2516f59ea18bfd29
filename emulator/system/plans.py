"""What every episode will do: the k-th episode to be started has the k-th plan, drawn whole."""

from collections.abc import Callable
from typing import NamedTuple

from numpy.random import SeedSequence

from emulator.randomness import Draws, Streams
from emulator.scenario.engines import Turns
from emulator.scenario.parts import Rollout
from emulator.values.distributions import Distribution


class Turn(NamedTuple):
    """One turn: tokens to generate, then a tool that takes `tool_seconds` and adds `tool_tokens`.

    No tool follows the last turn.
    """

    tokens: float
    tool_seconds: float
    tool_tokens: float


class EpisodePlan(NamedTuple):
    """An episode's prompt, in tokens, its turns, and how long it is: in tokens, or in seconds if so given."""

    prompt: float
    turns: tuple[Turn, ...]
    length: float


NextPlan = Callable[[], EpisodePlan]


def plans_of(rollout: Rollout, streams: Streams, step_of_one: float) -> NextPlan:
    """Start the sequence of plans; `step_of_one` are the milliseconds of a step of a lone sequence.

    Every part has a stream of its own, a child of that of plans: prompts, numbers of turns, output, seconds
    of tools, tokens of tools. Episodes of one turn have their length from the stream of durations, so that
    long episodes stay where they are when lengths are given in tokens instead of seconds.
    """
    prompts, counts, *of_turns = streams.plans.spawn(5)
    if rollout.turns is not None:
        next_count = Draws(rollout.durations(counts, streams.groups)).next
        return _of_turns(_whole(rollout.prompt_tokens, prompts), next_count, rollout.turns, of_turns)
    next_length = Draws(rollout.durations(streams.durations, streams.groups)).next
    if rollout.episode_seconds is not None:
        return _of_seconds(next_length, step_of_one)
    return _of_tokens(_whole(rollout.prompt_tokens, prompts), next_length)


def _whole(distribution: Distribution, seed: SeedSequence) -> Callable[[], float]:
    """The next number of tokens that may be 0."""
    following = Draws(distribution.sampler(seed)).next
    return lambda: float(round(following()))


def _at_least_one(value: float) -> float:
    return float(max(1, round(value)))


def _of_seconds(next_seconds: Callable[[], float], step_of_one: float) -> NextPlan:
    def next_plan() -> EpisodePlan:
        seconds = next_seconds()
        return EpisodePlan(0.0, (Turn(seconds * 1000 / step_of_one, 0.0, 0.0),), seconds)

    return next_plan


def _of_tokens(next_prompt: Callable[[], float], next_length: Callable[[], float]) -> NextPlan:
    def next_plan() -> EpisodePlan:
        tokens = _at_least_one(next_length())
        return EpisodePlan(next_prompt(), (Turn(tokens, 0.0, 0.0),), tokens)

    return next_plan


def _of_turns(
    next_prompt: Callable[[], float],
    next_count: Callable[[], float],
    turns: Turns,
    seeds: list[SeedSequence],
) -> NextPlan:
    outputs, seconds, added = seeds
    next_output = Draws(turns.output_tokens.sampler(outputs)).next
    next_seconds = Draws(turns.tool_seconds.sampler(seconds)).next
    next_added = _whole(turns.tool_tokens, added)

    def next_plan() -> EpisodePlan:
        prompt = next_prompt()
        count = max(1, round(next_count()))
        drawn = [Turn(_at_least_one(next_output()), next_seconds(), next_added()) for _ in range(count - 1)]
        drawn.append(Turn(_at_least_one(next_output()), 0.0, 0.0))
        return EpisodePlan(prompt, tuple(drawn), sum(turn.tokens for turn in drawn))

    return next_plan
