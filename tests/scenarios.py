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
