"""The engine by itself, on the clock: against a real server's log, single decode steps, and by hand."""

import asyncio
from collections.abc import Sequence
from math import fsum, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import emulator
from emulator import events as ev
from emulator.clock import EmulatedLoop, Timers
from emulator.fluid import StepTable
from emulator.journal import Journal
from emulator.scenario import Scenario
from emulator.scenario.engines import Engine as Shape
from emulator.system.chronicle import Chronicle
from emulator.system.engine import Engine, Request
from tests.agreement import emulated, plans
from tests.reference.decoding import StepLoop
from tests.reference.engine import Shape as ReferenceShape
from tests.reference.fit_server import SLOTS, Log, Numbers
from tests.reference.turns import Setup
from tests.scenarios import with_engines
from tests.test_reference_server import FITTED, MEASURED


class Caller:
    """One request for one engine, and when it was done."""

    def __init__(self, number: int, engine: Engine, prompt: float, tokens: float) -> None:
        self.number = number
        self.episode = self
        self.generating_since = 0.0
        self.done_at = 0.0
        self._engine = engine
        self._request = Request(self, self, tokens, prompt, prompt)

    def stop_generating(self, now: float) -> None:
        self.generating_since = now

    def ask(self) -> None:
        self._engine.join(self._request)

    def turn_over(self) -> None:
        self.done_at = asyncio.get_running_loop().time()


def serve(shape: Shape, arrivals: Sequence[tuple[float, float, float]]) -> list[float]:
    """When each request is done: of those that come at some time, with tokens to prefill and to generate."""
    loop = EmulatedLoop("max")
    callers: list[Caller] = []

    async def main() -> None:
        chronicle = Chronicle(loop, Journal(lambda block: None), Timers(loop, lambda: None), len(arrivals))
        engine = Engine(0, shape, StepTable(shape.step_ms), speed=1.0, chronicle=chronicle, left=set())
        task = asyncio.ensure_future(engine.run())
        for number, (at, prompt, tokens) in enumerate(arrivals):
            callers.append(Caller(number, engine, prompt, tokens))
            loop.call_at(at, callers[-1].ask)
        await asyncio.sleep(1e6)
        task.cancel()

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main())
    return [caller.done_at for caller in callers]


def shape_of(numbers: Numbers) -> Shape:
    steps = {1: numbers.alone, SLOTS: numbers.alone + (SLOTS - 1) * numbers.more}
    return Shape.model_validate(
        {
            "count": 1,
            "step_ms": steps,
            "context_ms": numbers.context,
            "prefill_ms": numbers.prefill,
            "slots": SLOTS,
        }
    )


@pytest.mark.parametrize("name", FITTED)
def test_fitted_to_half_a_servers_log_it_gives_the_request_times_of_the_other_half(name: str) -> None:
    log = Log.read(name)
    half = slice(log.half(), None)
    last = np.array(serve(shape_of(FITTED[name]), log.arrivals()))
    took, predicted = (log.last - log.queued)[half], (last - log.queued)[half]
    assert abs(predicted.mean() / took.mean() - 1) < 0.03
    assert float(np.median(np.abs(predicted / took - 1))) < 0.05


def test_a_measured_curve_as_a_table_gives_its_points() -> None:
    shape = Shape.model_validate({"count": 1, "step_ms": MEASURED})
    for running, ms in MEASURED.items():
        assert serve(shape, [(0.0, 0, 100)] * running) == pytest.approx([ms / 10] * running)


def test_a_prefill_stops_what_runs_and_the_line_waits_for_a_slot() -> None:
    shape = Shape.model_validate({"count": 1, "step_ms": 10, "prefill_ms": 1000, "slots": 2})
    # 0.1 s of prefill, then 50 tokens at 0.6 s; the second's prefill at 0.3 s holds both for 0.1 s.
    done = serve(shape, [(0.0, 100, 50), (0.3, 100, 50), (0.3, 0, 10)])
    assert done == pytest.approx([0.7, 0.9, 0.8])


def test_a_full_cache_puts_the_last_admitted_back_and_prefills_it_again() -> None:
    shape = Shape.model_validate({"count": 1, "step_ms": 10, "prefill_ms": 1000, "kv_tokens": 300})
    # Both grow to 150 tokens at 1.5 s; the first needs 50 more, then the second prefills its 150.
    assert serve(shape, [(0.0, 0, 200), (0.0, 0, 200)]) == pytest.approx([2.0, 2.0 + 0.15 + 0.5])


def lane(workers: int, engine: dict[str, Any], **rollout: Any) -> Scenario:
    return Scenario.model_validate(
        {
            "duration": 1200,
            "rollout": {"workers": workers, **rollout},
            "trainer": {"batch_size": 8, "update_seconds": 1},
            "strategy": {"kind": "asynchronous"},
            "engine": {"count": 2, "routing": "by_worker", **engine},
        }
    )


TURNS = {
    "turns": {
        "count": {"kind": "lognormal", "median": 4, "sigma": 0.5},
        "output_tokens": {"kind": "lognormal", "median": 150, "sigma": 0.9},
        "tool_seconds": {"kind": "lognormal", "median": 1, "sigma": 1.0},
        "tool_tokens": 200,
    },
    "prompt_tokens": 500,
}


def spans(events: Sequence[ev.Event], most: int) -> dict[int, float]:
    """How long each of the first episodes took."""
    starts = {e.episode: e.t for e in events if isinstance(e, ev.Start)}
    ends = {e.episode: e.t for e in events if isinstance(e, ev.Finish)}
    return {k: ends[k] - starts[k] for k in range(most)}


@pytest.mark.parametrize("slots", [None, 6])
def test_a_run_agrees_with_every_single_decode_step(slots: int | None) -> None:
    engine = {"step_ms": {1: 7, 16: 12}, "context_ms": 0.5, "prefill_ms": 20, "slots": slots}
    drawn = lane(16, engine, **TURNS)
    events: list[ev.Event] = []
    run = emulator.run(drawn, speed="max", sinks=[events.extend])
    known = run.result["episodes"]["finished"] + 32
    plan = plans(drawn)
    shape = ReferenceShape.of(engine["step_ms"], context_ms=0.5, prefill_ms=20, slots=slots or np.inf)
    setup = Setup(shape, (1.0, 1.0), 16, tuple(plan(k) for k in range(known)), "by_worker")
    steps = StepLoop(setup).run()
    # The order in which episodes come to workers hangs on ends that are almost at one instant.
    first = 150
    found = spans(events, first)
    mean = fsum(found.values()) / first
    single = fsum(steps.done[k] - steps.begun[k] for k in range(first)) / first
    assert mean == pytest.approx(single, rel=0.005)
    # Of the episodes that ended every token was generated, and no other.
    admitted: dict[int, float] = {}
    made: dict[int, float] = {}
    for event in events:
        if isinstance(event, ev.Start):
            admitted[event.worker] = event.episode
        elif isinstance(event, ev.Release):
            k = int(admitted[event.worker])
            made[k] = made.get(k, 0.0) + event.tokens
    assert [made[k] for k in range(first)] == [plan(k).generated() for k in range(first)]


@pytest.mark.parametrize("kind", ["asynchronous", "synchronous", "one_step_off"])
def test_with_a_constant_step_episodes_finish_as_if_every_worker_had_a_gpu(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "tokens.txt"
    rng = np.random.default_rng(1)
    path.write_text("".join(f"{n}\n" for n in rng.permutation(np.arange(100, 6000, 3)).tolist()))
    trace = {"kind": "trace", "path": str(path)}
    base = {
        "duration": 1800,
        "trainer": {"batch_size": 8, "update_seconds": 2},
        "strategy": {"kind": kind},
        # So that no two are at one instant by what they have generated.
        "environment": {"reset_seconds": {"kind": "uniform", "low": 0, "high": 1}},
    }
    finishes = []
    for length, engine in (
        ({"episode_tokens": trace}, {"count": 3, "step_ms": {1: 10, 64: 10}}),
        ({"episode_seconds": {**trace, "scale": 0.01}}, None),
    ):
        events: list[ev.Event] = []
        scenario = Scenario.model_validate({**base, "rollout": {"workers": 16, **length}, "engine": engine})
        emulator.run(scenario, speed="max", sinks=[events.extend])
        finishes.append([(e.episode, e.worker, e.t) for e in events if isinstance(e, ev.Finish)])
    shared, alone = finishes
    assert len(alone) > 250
    assert [finish[:2] for finish in shared] == [finish[:2] for finish in alone]
    assert [t for *_, t in shared] == pytest.approx([t for *_, t in alone], abs=1e-9)


@settings(max_examples=60)
@given(with_engines().map(Scenario.model_validate))
def test_tokens_are_the_sum_of_running_sequences_over_step_times(drawn: Scenario) -> None:
    events: list[ev.Event] = []
    run = emulated(drawn, events)
    assert drawn.engine is not None
    step, t_end = StepTable(drawn.engine.step_ms), run.result["emulated_seconds"]
    parts: list[float] = []
    by_engine: dict[int, list[ev.Event]] = {}
    for event in events:
        if isinstance(event, ev.Admit | ev.Release | ev.Lengthen | ev.EngineChange):
            by_engine.setdefault(event.engine, []).append(event)
    for of_one in by_engine.values():
        held, until, speed, at = 0.0, 0.0, 1.0, 0.0
        contexts: dict[int, float] = {}
        for event in [*of_one, None]:
            t, running = t_end if event is None else event.t, len(contexts)
            if running and (free := t - max(at, until)) > 0:
                # Each step adds a token to each context, and so the same to the next step.
                x = (step(running) + drawn.engine.context_ms * held / 1000) / speed
                grows = drawn.engine.context_ms * running / 1000 / speed
                root = sqrt(x * x + 2 * grows * 1000 * free)
                made = 2 * 1000 * free / (x + root)
                parts.append(running * made)
            if event is None:
                break
            held, at = event.held, t
            if isinstance(event, ev.Admit):
                contexts[event.worker] = event.context
                until = max(t, until) + event.prefill
            elif isinstance(event, ev.Release):
                held -= contexts.pop(event.worker) + event.tokens
            elif isinstance(event, ev.EngineChange):
                speed, until = event.speed, event.until
    assert run.result["engine"]["tokens"] == pytest.approx(fsum(parts), rel=1e-9, abs=1e-6)
    if drawn.cluster is not None:
        assert fsum(run.result["cluster"]["gpu_seconds"].values()) == pytest.approx(
            drawn.cluster.gpus * t_end, rel=1e-12
        )
