"""Hypothesis strategies of small valid scenarios, shared by all tests."""

import math
from typing import Any

from hypothesis import strategies as st

from emulator.scenario import Scenario

KINDS = ("synchronous", "one_step_off", "asynchronous")


def times(low: float = 0.0, high: float = 60.0) -> st.SearchStrategy[float]:
    """Times with many ties: whole seconds mostly, quarters sometimes."""
    whole = st.integers(math.ceil(low), math.floor(high)).map(float)
    return whole | st.integers(math.ceil(4 * low), math.floor(4 * high)).map(lambda quarters: quarters / 4)


def distributions(low: float = 0.0, high: float = 60.0) -> st.SearchStrategy[Any]:
    """Distributions of durations in the form of a file; no constant or uniform one below ``low``."""
    constants = times(low, high)
    uniforms = st.tuples(times(low, high), times(low, high)).map(
        lambda ends: {"kind": "uniform", "low": min(ends), "high": max(ends)}
    )
    lognormals = st.builds(
        lambda median, sigma: {"kind": "lognormal", "median": median, "sigma": sigma},
        times(max(low, 1.0), high),
        st.sampled_from([0, 0.3, 1.0, 1.5]),
    )
    capped = st.tuples(lognormals, times(max(low, 1.0), high)).map(lambda pair: {**pair[0], "cap": pair[1]})
    return constants | uniforms | lognormals | capped


@st.composite
def strategies(draw: st.DrawFn, kind: str, batch: int) -> dict[str, Any]:
    """Options of one strategy, every one that the contract knows."""
    if kind == "one_step_off":
        return {"kind": kind}
    if kind == "synchronous":
        unfinished = draw(st.sampled_from(["wait", "abort", "resume", "defer"]))
        oversample = 1 if unfinished == "wait" else draw(st.sampled_from([1, 1.1, 1.5, 2]))
        overhead = draw(times(0, 5)) if unfinished == "resume" else 0
        options = {
            "kind": kind,
            "oversample": oversample,
            "unfinished": unfinished,
            "resume_overhead": overhead,
        }
        if unfinished != "wait" and draw(st.booleans()):
            options["deadline"] = draw(times(0.25, 60))
        return options
    staleness = draw(st.none() | st.sampled_from([0, 0.1, 0.5, 1, 2, 4]))
    weights = draw(st.sampled_from(["next_episode", "in_flight"]))
    return {
        "kind": kind,
        "max_staleness": staleness,
        "enforce": "gate" if staleness is None else draw(st.sampled_from(["gate", "drop", "cancel"])),
        "weights": weights,
        "refresh_overhead": draw(times(0, 5)) if weights == "in_flight" else 0,
        "weight_sync": draw(st.sampled_from(["background", "pause"])),
    }


@st.composite
def environments(draw: st.DrawFn, workers: int) -> dict[str, Any]:
    """Sandboxes, resets, failures, timeouts and retries."""
    return {
        "sandboxes": draw(st.none() | st.integers(1, workers)),
        "reset_seconds": draw(distributions(0, 5)),
        "failure_probability": draw(st.sampled_from([0, 0.1, 0.5])),
        "timeout_seconds": draw(st.none() | times(6, 120)),
        "retries": draw(st.integers(0, 2)),
    }


@st.composite
def events(draw: st.DrawFn, workers: int, duration: float) -> dict[str, Any]:
    """One entry of a timeline."""
    ids = st.lists(st.integers(0, workers - 1), min_size=1, max_size=workers, unique=True)
    some = st.integers(1, workers) | ids
    factor = st.sampled_from([0.5, 1, 2, 8])
    action = draw(
        st.one_of(
            st.builds(
                lambda who, number, factor: {"straggler": {who: number, "factor": factor}},
                st.just("worker"),
                st.integers(0, workers - 1),
                st.sampled_from([1, 2, 8]),
            ),
            st.builds(
                lambda episode, factor: {"straggler": {"episode": episode, "factor": factor}},
                st.integers(0, 30),
                st.sampled_from([1, 2, 8]),
            ),
            st.builds(
                lambda workers, factor, span: {"slow": {"workers": workers, "factor": factor, "for": span}},
                some,
                factor,
                times(1, 60),
            ),
            st.builds(
                lambda workers, restart: {"crash": {"workers": workers, "restart_seconds": restart}},
                some,
                times(0, 60),
            ),
            times(1, 60).map(lambda span: {"stall_trainer": {"for": span}}),
            st.integers(1, 4).map(lambda count: {"add_workers": {"count": count}}),
            st.integers(1, workers).map(lambda count: {"remove_workers": {"count": count}}),
            ids.map(lambda numbers: {"remove_workers": {"workers": numbers}}),
        )
    )
    return {"at": draw(times(0, duration)), **action}


@st.composite
def documents(
    draw: st.DrawFn,
    *,
    kinds: tuple[str, ...] = KINDS,
    environment: bool = True,
    timeline: bool = True,
    groups: bool = True,
    lanes: bool = False,
    least_seconds: float = 0.0,
) -> dict[str, Any]:
    """Draw a valid scenario in the form of a file; the options are those of ``scenarios``."""
    workers, batch = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    duration = float(draw(st.integers(1, 200)))
    group = draw(st.sampled_from([n for n in range(1, batch + 1) if batch % n == 0])) if groups else 1
    publish_every = draw(st.integers(1, 3))
    strategy = draw(st.sampled_from(kinds).flatmap(lambda kind: strategies(kind, batch)))
    redundancy = draw(st.integers(0, 2)) if group > 1 else 0
    room = batch if group == 1 else batch + (workers + 1) * (group + redundancy)
    document: dict[str, Any] = {
        "name": "drawn",
        "seed": draw(st.integers(0, 2**64 - 1)),
        "duration": duration,
        "speed": "max",
        "rollout": {
            "workers": workers,
            "episode_seconds": draw(distributions(least_seconds)),
            "group_size": group,
            "group_redundancy": redundancy,
            "queue_capacity": draw(st.none() | st.integers(batch, room + 8)),
            "speed": draw(st.sampled_from([1, 1, 0.5, {"kind": "uniform", "low": 0.5, "high": 2}])),
        },
        "trainer": {
            "batch_size": batch,
            "update_seconds": draw(distributions(least_seconds)),
            "weight_sync_seconds": draw(times(0, 10)),
            "publish_every": publish_every,
        },
        "strategy": strategy,
    }
    episode = document["rollout"]["episode_seconds"]
    if group > 1 and isinstance(episode, dict) and episode["kind"] == "lognormal":
        document["rollout"]["group_correlation"] = draw(st.sampled_from([0, 0.3, 1]))
    if environment:
        document["environment"] = draw(st.none() | environments(workers))
    if timeline:
        document["events"] = draw(st.lists(events(workers, duration), max_size=4))
    if lanes:
        document["lanes"] = draw(
            st.lists(
                st.sampled_from(
                    [
                        {"strategy": {"kind": "synchronous"}},
                        {"strategy": {"kind": "one_step_off"}},
                        {"strategy": {"kind": "asynchronous"}},
                        {"rollout": {"workers": 8}, "environment": None},
                        {"trainer": {"update_seconds": 3}},
                    ]
                ),
                max_size=4,
            ).map(lambda changes: [{"name": f"lane {i}", **change} for i, change in enumerate(changes)])
        )
    return document


def scenarios(
    *,
    kinds: tuple[str, ...] = KINDS,
    environment: bool = True,
    timeline: bool = True,
    groups: bool = True,
    lanes: bool = False,
    least_seconds: float = 0.0,
) -> st.SearchStrategy[Scenario]:
    """Small valid scenarios: 1 to 8 workers, batches of 1 to 8, up to 200 s, with zeros and ties.

    ``kinds`` chooses the strategies; the flags whether there may be an environment, a timeline,
    groups and lanes.
    With ``least_seconds`` above 0 neither an episode nor an update takes no time.
    """
    return documents(
        kinds=kinds,
        environment=environment,
        timeline=timeline,
        groups=groups,
        lanes=lanes,
        least_seconds=least_seconds,
    ).map(Scenario.model_validate)


def any_scenarios() -> st.SearchStrategy[Scenario]:
    """The same with every option, half of them with engines."""
    return scenarios() | with_engines().map(Scenario.model_validate)


def tokens(low: int, high: int) -> st.SearchStrategy[Any]:
    """Distributions of tokens in the form of a file: numbers with many ties, and others."""
    spread = st.tuples(st.integers(max(low, 1), high), st.sampled_from([0.3, 1.0])).map(
        lambda pair: {"kind": "lognormal", "median": pair[0], "sigma": pair[1], "cap": 4 * high}
    )
    return st.integers(low, high) | st.sampled_from([low, high]) | spread


STEPS = (10, 8.5, {1: 6.6, 4: 7.1, 16: 11}, {2: 5, 3: 9}, {1: 12, 2: 10, 8: 10})


@st.composite
def with_engines(draw: st.DrawFn, *, timeline: bool = True) -> dict[str, Any]:
    """A valid scenario whose episodes go through engines, in the form of a file."""
    document = draw(documents(timeline=timeline, least_seconds=0.0))
    rollout, trainer, group = document["rollout"], document["trainer"], document["rollout"]["group_size"]
    seconds = rollout.pop("episode_seconds")
    correlation = rollout.pop("group_correlation", 0)
    engine: dict[str, Any] = {
        "step_ms": draw(st.sampled_from(STEPS)),
        "slots": draw(st.none() | st.integers(1, 4)),
        "keep_cache": draw(st.booleans()),
        "routing": draw(st.sampled_from(["least_loaded", "round_robin", "by_worker", "by_group"])),
        "speed": draw(st.sampled_from([1, 1, 2, {"kind": "uniform", "low": 0.5, "high": 2}])),
    }
    length = draw(st.sampled_from(["episode_seconds", "episode_tokens", "turns", "turns"]))
    if length == "episode_seconds":
        # A request of no tokens would take no time.
        zero = seconds == 0 or isinstance(seconds, dict)
        rollout[length] = 7 if zero and not isinstance(seconds, dict) else seconds
        if isinstance(seconds, dict) and seconds["kind"] == "uniform":
            rollout[length] = {**seconds, "low": seconds["low"] + 0.25, "high": seconds["high"] + 0.25}
    else:
        engine |= {
            "context_ms": draw(st.sampled_from([0, 0.5, 30])),
            "prefill_ms": draw(st.sampled_from([0, 18, 1000])),
            "kv_tokens": draw(st.none() | st.sampled_from([6_000, 20_000])),
        }
        rollout["prompt_tokens"] = draw(tokens(0, 300))
        trainer["token_gpu_ms"] = draw(st.sampled_from([0, 900]))
        trainer["gpus"] = draw(st.sampled_from([1, 3]))
        if length == "episode_tokens":
            rollout[length] = draw(tokens(1, 2_000))
        else:
            rollout[length] = {
                "count": draw(tokens(1, 6)),
                "output_tokens": draw(tokens(1, 500)),
                "tool_seconds": draw(distributions(0, 20)),
                "tool_tokens": draw(tokens(0, 200)),
            }
    drawn = rollout[length]["count"] if length == "turns" else rollout[length]
    if group > 1 and isinstance(drawn, dict) and drawn["kind"] == "lognormal":
        rollout["group_correlation"] = correlation or draw(st.sampled_from([0, 0.3]))
    document["engine"] = engine
    count = draw(st.integers(1, 3))
    shared = draw(st.booleans()) and document["strategy"]["kind"] == "synchronous"
    if shared or draw(st.booleans()):
        each = draw(st.integers(1, 2))
        trainer.pop("gpus", None)
        document["cluster"] = {"gpus": count * each + (0 if shared else 2), "engine_gpus": each}
        document["cluster"] |= {"trainer_gpus": "shared" if shared else 2}
        if shared:
            document["cluster"] |= {"switch_seconds": 1.5, "shared_slowdown": 1.7}
    else:
        engine["count"] = count
    if timeline:
        document["events"] += draw(st.lists(engine_events(count, document["duration"]), max_size=2))
    return document


@st.composite
def engine_events(draw: st.DrawFn, engines: int, duration: float) -> dict[str, Any]:
    """One entry of a timeline that hits engines."""
    ids = st.lists(st.integers(0, engines - 1), min_size=1, max_size=engines, unique=True)
    some = draw(st.integers(1, engines) | ids)
    if draw(st.booleans()):
        action: dict[str, Any] = {"crash": {"engines": some, "restart_seconds": draw(times(0, 60))}}
    else:
        factor = draw(st.sampled_from([0.5, 2, 8]))
        action = {"slow": {"engines": some, "factor": factor, "for": draw(times(1, 60))}}
    return {"at": draw(times(0, duration)), **action}
