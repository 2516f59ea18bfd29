"""The whole run with engines, from a scenario to a result.

`run` takes a scenario in the resolved form with an `engine` (and perhaps a `cluster`), and its random numbers
as functions. It gives what the reference gives without engines; of the seconds of workers there is `acting`
more, and figures under `engine`:

- `tokens`: generated until the end, by what ended and by what runs, lost or not; `tokens_per_second`.
- `running_mean`: the time that requests spent running, over all engines and the whole time, by engine;
  `running_max`: the most that one engine ran at once.
- `prefilling`: seconds of prefill begun, as a share of the seconds in which an engine ran anything.
- `kv_peak`: the most context of one engine. `preempted`. `idle`: by engine, the share of the time without
  anything that ran, the time in which it was down included.
- `wait_seconds`: what workers waited in lines, a part of `blocked`.

`episode_seconds.length_bias` is in tokens as drawn (output of all turns) where there are tokens, and
`episode_tokens` has the means that it is the quotient of; those in seconds are None. Staleness is by
episode; the seconds of a version are those in which a turn ran under it. The work of an update:
`update_seconds` as drawn, then `+ tokens / 1000 * token_gpu_ms / 1000 / gpus`, of the batch's context at the
end (prompt, output, tools, as stragglers made it), correctly rounded sum.

A split: `engines = (gpus - trainer_gpus) / engine_gpus`, whole and at least 1, and `trainer.gpus` is
`trainer_gpus`. Shared: `gpus / engine_gpus` engines, all GPUs train, and an update is
`switch_seconds + update * shared_slowdown + switch_seconds`, one timer: both switches belong to the update.

With a cluster, `cluster` has `gpu_seconds`: `generating` (`engine_gpus` times the seconds in which an
engine ran anything), `training` (the trainer's GPUs times its seconds of updating and pushing), and `idle`,
the rest of GPUs times duration; `updates_per_gpu_hour`, and `trained_tokens_per_gpu_hour`, of the tokens of
an update.
"""

from __future__ import annotations

from collections.abc import Callable
from math import fsum, inf
from typing import Any

from . import constant, draws_of, play
from .engine import Shape
from .generation import GeneratingSystem, Generation
from .parts import Settings
from .result import result_of
from .strategies import strategy_of
from .timeline import run_entry
from .turns import Plan, Turn


def split(scenario: dict[str, Any]) -> tuple[int, float, tuple[float, float] | None]:
    """Engines, GPUs of the trainer, and for shared GPUs seconds of a switch and slow-down."""
    cluster = scenario.get("cluster")
    if cluster is None:
        return scenario["engine"]["count"], scenario["trainer"].get("gpus") or 1, None
    gpus, each, training = cluster["gpus"], cluster["engine_gpus"], cluster["trainer_gpus"]
    shared = training == "shared"
    left = gpus if shared else gpus - training
    if left < each or left % each:
        raise ValueError(f"{left} GPUs are not a number of engines of {each}")
    if not shared:
        return left // each, training, None
    slowdown = cluster.get("shared_slowdown")
    return left // each, gpus, (cluster.get("switch_seconds") or 0, 1 if slowdown is None else slowdown)


def generation_of(
    scenario: dict[str, Any],
    plans: Callable[[int], Plan] | None,
    seconds: Callable[[int], float] | None,
    engine_speeds: Callable[[int], float] | None,
) -> Generation:
    engine = scenario["engine"]
    step_ms = engine["step_ms"]
    shape = Shape.of(
        step_ms if isinstance(step_ms, (int, float)) else {int(n): ms for n, ms in step_ms.items()},
        context_ms=engine.get("context_ms") or 0,
        prefill_ms=engine.get("prefill_ms") or 0,
        slots=engine.get("slots") or inf,
        kv_tokens=engine.get("kv_tokens") or inf,
        keep_cache=engine.get("keep_cache") is not False,
    )
    count, gpus, shared = split(scenario)
    if engine_speeds is None:
        speed = constant(engine.get("speed"), 1.0, "speed")
        engine_speeds = lambda _: speed  # noqa: E731
    if plans is None:
        assert seconds is not None
        drawn, step = seconds, shape.step(1)
        plans = lambda k: Plan(0, (Turn(drawn(k) * 1000 / step),))  # noqa: E731
        lengths = drawn
    else:
        of = plans
        lengths = lambda k: of(k).generated()  # noqa: E731
    return Generation(
        shape,
        tuple(engine_speeds(i) for i in range(count)),
        engine.get("routing") or "least_loaded",
        plans,
        lengths,
        scenario["trainer"].get("token_gpu_ms") or 0,
        gpus,
        shared,
    )


def run_engine_entry(system: GeneratingSystem, entry: dict[str, Any], begun: bool) -> None:
    """An entry that names engines, or any other."""
    slow, crash = entry.get("slow") or {}, entry.get("crash") or {}
    if "engines" in slow:
        system.engines.slow(slow["engines"], slow["factor"], slow.get("for"))
    elif "engines" in crash:
        system.crash_engines(crash["engines"], float(crash.get("restart_seconds") or 0))
    else:
        run_entry(system, entry, begun)


def run(
    scenario: dict[str, Any],
    *,
    updates: Callable[[int], float],
    plans: Callable[[int], Plan] | None = None,
    durations: Callable[[int], float] | None = None,
    engine_speeds: Callable[[int], float] | None = None,
    speeds: Callable[[int], float] | None = None,
    resets: Callable[[int, int], float] | None = None,
    failures: Callable[[int, int], bool] | None = None,
) -> dict[str, Any]:
    """Calculate the result, as `reference.run`; `plans`, or `durations` for `episode_seconds`."""
    settings = Settings.of(scenario)
    generation = generation_of(scenario, plans, durations, engine_speeds)
    draws = draws_of(
        scenario,
        durations=generation.lengths,
        updates=updates,
        speeds=speeds,
        resets=resets,
        failures=failures,
    )
    system = GeneratingSystem(settings, draws, generation)
    system.strategy = strategy_of(system)
    play(system, run_engine_entry)
    result = result_of(system)
    seconds = result["workers"]["seconds"]
    line = seconds.pop("line")
    if plans is not None:
        lengths = result["episode_seconds"]
        result["episode_tokens"] = {name: lengths[name] for name in ("started_mean", "trained_mean")}
        lengths["started_mean"] = lengths["trained_mean"] = None
    result["engine"] = {**figures(system), "wait_seconds": line}
    if scenario.get("cluster") is not None:
        result["cluster"] = cluster_figures(system, scenario["cluster"], result)
    return result


def figures(system: GeneratingSystem) -> dict[str, Any]:
    """Of the engines, at the end."""
    engines, end = system.engines.all, system.now
    for engine in engines:
        engine.bring()
    ran = fsum(t for engine in engines for t in [*engine.stays, *[end] * engine.running])
    busy = busy_seconds(system)
    tokens = fsum(part for engine in engines for part in engine.token_parts())
    prefilling = fsum(seconds for engine in engines for seconds in engine.prefills)
    return {
        "tokens": tokens,
        "tokens_per_second": tokens / end,
        "running_mean": ran / end / len(engines),
        "running_max": max(engine.most for engine in engines),
        "prefilling": prefilling / fsum(busy) if any(busy) else 0.0,
        "kv_peak": max(engine.peak for engine in engines),
        "preempted": sum(engine.preempted for engine in engines),
        "idle": [1 - seconds / end for seconds in busy],
    }


def busy_seconds(system: GeneratingSystem) -> list[float]:
    """In which each engine ran anything."""
    return [fsum([*e.busy, *[system.now] * (e.running > 0)]) for e in system.engines.all]


def cluster_figures(
    system: GeneratingSystem, cluster: dict[str, Any], result: dict[str, Any]
) -> dict[str, Any]:
    """What the GPUs of a cluster did."""
    trainer = result["trainer"]["seconds"]
    total = cluster["gpus"] * system.now
    generating = cluster["engine_gpus"] * fsum(busy_seconds(system))
    training = system.generation.gpus * (trainer["updating"] + trainer["pushing"])
    return {
        "gpu_seconds": {
            "generating": generating,
            "training": training,
            "idle": total - generating - training,
        },
        "updates_per_gpu_hour": result["updates"] * 3600 / total,
        "trained_tokens_per_gpu_hour": fsum(system.trained_tokens) * 3600 / total,
    }
