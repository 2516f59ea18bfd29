"""Rules of engines, tokens and GPUs, among them every sequence that arithmetic shows to be too large."""

from collections.abc import Iterator

import numpy as np

from emulator.scenario.engines import Cluster, Engine, Turns
from emulator.scenario.parts import Rollout, Trainer
from emulator.scenario.rules import slowest
from emulator.strategies import Strategy
from emulator.values.distributions import Constant, Distribution, Mixture, Uniform
from emulator.values.scalars import LEAST_FACTOR, shortest
from emulator.values.violation import Path, Violation

MAX_TURNS = 100_000
"""The most turns of an episode, but for one in a million: all are drawn when the episode starts."""

_RARE = 1e-6

_TOKENS = ("rollout.episode_tokens", "rollout.turns")
_NONE = Constant(kind="constant", value=0.0)


def tokens(rollout: Rollout, trainer: Trainer, engine: Engine | None) -> Iterator[Violation]:
    """Tokens need an engine, and what is counted in tokens needs tokens."""
    if engine is None:
        for key in ("episode_tokens", "turns"):
            if getattr(rollout, key) is not None:
                allowed = "an engine section beside it, or rollout.episode_seconds instead"
                yield Violation(("rollout", key), "no engine to generate tokens", allowed)
    if rollout.episode_seconds is None:
        return
    needing: list[tuple[Path, float | Distribution | None]] = [
        (("rollout", "prompt_tokens"), None if rollout.prompt_tokens == _NONE else rollout.prompt_tokens),
        (("trainer", "token_gpu_ms"), trainer.token_gpu_ms),
    ]
    if engine is not None:
        needing += [
            (("engine", key), getattr(engine, key)) for key in ("context_ms", "prefill_ms", "kv_tokens")
        ]
    for path, value in needing:
        if value:
            found = shortest(value) if isinstance(value, int | float) else "tokens"
            allowed = f"none with rollout.episode_seconds: it needs tokens, so {' or '.join(_TOKENS)}"
            yield Violation(path, found, allowed, (("rollout", "episode_seconds"),))


def engines(rollout: Rollout, engine: Engine | None) -> Iterator[Violation]:
    """Every engine moves, and can hold every sequence as far as can be seen."""
    if engine is None:
        return
    least = slowest(engine.speed)
    if least < LEAST_FACTOR:
        allowed = f"speeds from {LEAST_FACTOR:g} on: an engine without speed never finishes"
        yield Violation(("engine", "speed"), f"a speed of {shortest(least)}", allowed)
    if rollout.turns is not None:
        beyond = float(rollout.turns.count.survival(np.array([float(MAX_TURNS)]))[0])
        if beyond > _RARE:
            found = f"more than {MAX_TURNS} turns in a share of {beyond:.1g} of the episodes"
            allowed = f"at most {MAX_TURNS}, but for one episode in a million; a cap bounds them"
            yield Violation(("rollout", "turns", "count"), found, allowed)
    if engine.kv_tokens is None or rollout.episode_seconds is not None:
        return
    length, words = _shortest_sequence(rollout)
    if length > engine.kv_tokens:
        allowed = f"at least {shortest(length)}: every sequence comes to that many tokens ({words})"
        others: tuple[Path, ...] = (
            ("rollout", "prompt_tokens"),
            ("rollout", "episode_tokens"),
            ("rollout", "turns"),
        )
        yield Violation(("engine", "kv_tokens"), str(engine.kv_tokens), allowed, others)


def _shortest_sequence(rollout: Rollout) -> tuple[float, str]:
    """The least tokens that any sequence comes to, and how they add up."""
    prompt = _least(rollout.prompt_tokens)
    terms = [f"{shortest(prompt)} of prompt"]
    if rollout.episode_tokens is not None:
        output = max(1, _least(rollout.episode_tokens))
        return prompt + output, " + ".join([*terms, f"{shortest(output)} generated"])
    turns = rollout.turns
    assert turns is not None
    count, output, added = _of_turns(turns)
    terms.append(f"{count} x {shortest(output)} generated")
    if added:
        terms.append(f"{count - 1} x {shortest(added)} of tools")
    return prompt + count * output + (count - 1) * added, " + ".join(terms)


def _of_turns(turns: Turns) -> tuple[int, int, int]:
    return max(1, _least(turns.count)), max(1, _least(turns.output_tokens)), _least(turns.tool_tokens)


def _least(distribution: Distribution) -> int:
    """The least that is ever drawn, rounded; 0 where that cannot be seen."""
    least = 0.0
    match distribution:
        case Constant():
            least = distribution.value
        case Uniform():
            least = distribution.low
        case Mixture():
            least = min(_least(part.distribution) for part in distribution.components)
    return round(least if distribution.cap is None else min(least, distribution.cap))


def cluster(
    trainer: Trainer, engine: Engine | None, cluster: Cluster | None, strategy: Strategy
) -> Iterator[Violation]:
    """The numbers of engines and of the trainer's GPUs are said once, and a split leaves no GPU over."""
    if cluster is None:
        if engine is not None and engine.count is None:
            allowed = "a count of engines, or a cluster whose GPUs give it"
            yield Violation(("engine", "count"), "neither count nor cluster", allowed)
        return
    where: Path = ("cluster",)
    if engine is None:
        yield Violation(where, "a cluster without engines", "an engine section beside it, or no cluster")
    elif engine.count is not None:
        allowed = f"none beside a cluster, which has GPUs for {cluster.engines}"
        yield Violation(("engine", "count"), str(engine.count), allowed, (where,))
    if trainer.gpus is not None:
        allowed = "none beside a cluster: cluster.trainer_gpus says it"
        yield Violation(("trainer", "gpus"), str(trainer.gpus), allowed, (where,))
    yield from _split(cluster)
    if cluster.is_shared and not strategy.rests_while_training:
        found = f"shared, with strategy {strategy.kind}"
        allowed = "a number of GPUs, since this strategy generates while it trains; or strategy synchronous"
        yield Violation((*where, "trainer_gpus"), found, allowed, (("strategy",),))


def _split(cluster: Cluster) -> Iterator[Violation]:
    gpus, each, training = cluster.gpus, cluster.engine_gpus, cluster.training_gpus
    left = cluster.generating_gpus
    over = left % each
    if left >= each and not over:
        return
    others: tuple[Path, ...] = tuple(("cluster", key) for key in ("gpus", "engine_gpus", "trainer_gpus"))
    if cluster.is_shared:
        allowed = f"a multiple of cluster.engine_gpus ({each}), such as {max(each, gpus - over)}"
        yield Violation(("cluster", "gpus"), f"{gpus} GPUs for engines of {each}", allowed, others)
        return
    sum_ = f"{gpus} - {training} = {left} GPUs for engines of {each}"
    if left < each:
        allowed = f"at most {gpus - each}, so that there is an engine" if gpus > each else "fewer than gpus"
    else:
        allowed = f"what leaves no GPU over ({over} here), such as {training + over}"
        if training + over - each > 0:
            allowed += f" or {training + over - each}"
    yield Violation(("cluster", "trainer_gpus"), sum_, allowed, others)
