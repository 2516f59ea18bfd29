"""The fluid engine of the reference against cases worked by hand, and against its own conservation laws."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import fsum, inf, sqrt
from typing import Any

import pytest
from scipy.integrate import quad

from .reference.engine import Engine, Request, Shape, TooLarge
from .reference.engines import Engines
from .reference.heap import Agenda
from .reference.turns import FluidLoop, Plan, Setup, Turn, run


class Bench:
    """Engines, and a log of what was done when."""

    def __init__(
        self,
        step_ms: float | dict[int, float],
        *,
        speeds: tuple[float, ...] = (1.0,),
        routing: str = "least_loaded",
        **shape: Any,
    ) -> None:
        self.now = 0.0
        self.agenda = Agenda()
        self.engines = Engines(self, Shape.of(step_ms, **shape), speeds, routing)
        self.log: list[tuple[str, float]] = []
        self.requests: dict[str, Request] = {}

    @property
    def engine(self) -> Engine:
        return self.engines.all[0]

    def at(self, when: float, action: Callable[[], None]) -> None:
        self.agenda.set(when, action)

    def ask(
        self,
        when: float,
        name: str,
        tokens: float,
        *,
        context: float = 0,
        fresh: float = 0,
        engine: int = 0,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        def done() -> None:
            self.log.append((name, round(self.now, 9)))
            then()

        self.requests[name] = Request(tokens, context, fresh, done)
        self.at(when, lambda: self.engines.all[engine].join(self.requests[name]))

    def run(self) -> list[tuple[str, float]]:
        run(self)
        return self.log


def test_a_step_table_is_linear_between_its_points_flat_below_and_goes_on_with_its_last_slope() -> None:
    shape = Shape.of({4: 10, 8: 12, 16: 20})
    assert [shape.step(b) for b in (1, 4, 5, 6, 8, 12, 16, 17, 24)] == [10, 10, 10.5, 11, 12, 16, 20, 21, 28]
    assert [Shape.of(7).step(b) for b in (1, 100)] == [7, 7]
    assert [Shape.of({8: 7}).step(b) for b in (1, 8, 100)] == [7, 7, 7]


def test_two_share_an_engine_and_the_second_goes_on_alone() -> None:
    # a: 50 steps of 10 ms alone until 0.5, 50 of 20 ms with b until 1.5; b: its other 50 alone until 2.
    bench = Bench({1: 10, 2: 20})
    bench.ask(0, "a", 100)
    bench.ask(0.5, "b", 100)
    assert bench.run() == [("a", 1.5), ("b", 2.0)]
    assert (bench.engine.steps, bench.engine.context, bench.engine.running) == (0, 0, 0)


def test_with_a_constant_step_and_free_context_finishes_are_those_of_tokens_times_the_step() -> None:
    rng = random.Random(3)
    bench = Bench(20)
    due = {}
    for i in range(50):
        when, tokens = rng.uniform(0, 30), rng.randint(1, 900)
        due[str(i)] = when + tokens * 0.02
        bench.ask(when, str(i), tokens, context=rng.randint(0, 5000), fresh=100)
    log = bench.run()
    assert [name for name, _ in log] == sorted(due, key=lambda name: due[name])
    assert [t for _, t in log] == pytest.approx(sorted(due.values()), abs=1e-8)


def test_context_makes_each_step_longer_than_the_one_before() -> None:
    # x = 10 + 1, y = 1 / 2000: 11 * 1000 + 1000 * 1000 / 2000 ms; the single steps sum to half a step less.
    bench = Bench(10, context_ms=1)
    bench.ask(0, "a", 1000, context=1000)
    assert bench.run() == [("a", 11.5)]
    assert sum(10 + (1000 + i) / 1000 for i in range(1000)) == pytest.approx(11_499.5)


def test_a_prefill_stops_all_that_run_and_several_are_done_one_after_the_other() -> None:
    # a stands from 0.5 for 0.2 + 0.1; b and c begin with it at 0.8: 50 steps more for a, 10 for b and c.
    bench = Bench(10, prefill_ms=100)
    bench.ask(0, "a", 100)
    bench.ask(0.5, "b", 10, context=2000, fresh=2000)
    bench.ask(0.5, "c", 10, context=5000, fresh=1000)
    assert bench.run() == [("b", 0.9), ("c", 0.9), ("a", 1.3)]
    assert bench.engine.prefilled == 3000
    assert round(bench.requests["b"].first, 9) == 0.71  # c was not known to come


def test_who_finds_no_slot_waits_in_line() -> None:
    bench = Bench(10, slots=2)
    for i, tokens in enumerate([100, 50, 60, 10]):
        bench.ask(0, str(i), tokens)
    assert bench.run() == [("1", 0.5), ("0", 1.0), ("2", 1.1), ("3", 1.1)]


def test_who_does_not_fit_holds_up_those_behind() -> None:
    # b needs 70 of 100, of which a holds 40 and more; c would fit and waits behind b.
    bench = Bench(10, kv_tokens=100)
    bench.ask(0, "a", 20, context=40)
    bench.ask(0.1, "b", 10, context=70)
    bench.ask(0.1, "c", 10, context=10)
    assert bench.run() == [("a", 0.2), ("b", 0.3), ("c", 0.3)]


def test_a_full_cache_puts_the_last_admitted_at_the_head_of_the_line_with_what_it_has_generated() -> None:
    # 40 + 50 held and 2 more a step: full after 5. b has 5 of its 30, and waits until a leaves at 0.2;
    # then it prefills 55 and has 25 to go. c came meanwhile, stands behind b, and does not fit beside it.
    bench = Bench(10, kv_tokens=100, prefill_ms=100)
    bench.ask(0, "a", 20, context=40)
    bench.ask(0, "b", 30, context=50)
    bench.ask(0.01, "c", 10, context=50, fresh=50)
    assert bench.run() == [("a", 0.2), ("b", 0.4555), ("c", 0.5605)]
    assert (bench.engine.preempted, bench.engine.prefilled, bench.engine.peak) == (1, 105, 100)
    assert fsum(bench.engine.generated) == pytest.approx(60, abs=1e-12)


def test_what_ends_at_the_moment_when_the_cache_is_full_ends() -> None:
    bench = Bench(10, kv_tokens=100)
    bench.ask(0, "a", 10, context=40)
    bench.ask(0, "b", 10, context=40)
    assert bench.run() == [("a", 0.1), ("b", 0.1)]
    assert bench.engine.preempted == 0


@pytest.mark.parametrize(("context", "tokens"), [(90, 11), (101, 1)])
def test_one_sequence_that_does_not_fit_alone_is_an_error(context: int, tokens: int) -> None:
    bench = Bench(10, kv_tokens=100)
    bench.ask(0, "a", tokens, context=context)
    with pytest.raises(TooLarge):
        bench.run()


def test_ends_at_one_moment_are_one_ring_whatever_follows_from_the_first() -> None:
    # With a's end, d is let in and prefills for 1 s; b ends at that moment all the same, c before d.
    bench = Bench(10, slots=3, prefill_ms=100)
    bench.ask(0, "a", 10)
    bench.ask(0, "b", 10)
    bench.ask(0, "c", 60)
    bench.ask(0, "d", 60, context=10_000, fresh=10_000)
    assert bench.run() == [("a", 0.1), ("b", 0.1), ("c", 1.6), ("d", 1.7)]


def test_who_is_taken_out_by_the_end_of_another_does_not_end() -> None:
    bench = Bench(10)
    bench.ask(0, "a", 10, then=lambda: bench.engine.take_out(bench.requests["b"], cached=True))
    bench.ask(0, "b", 10)
    assert bench.run() == [("a", 0.1)]
    assert bench.requests["b"].tokens == 0


def test_a_paused_request_keeps_what_is_left_of_it() -> None:
    bench = Bench(10, prefill_ms=100)
    bench.ask(0, "a", 100, context=50)
    bench.ask(0, "b", 100)
    a = bench.requests["a"]
    bench.at(0.4, lambda: bench.engine.take_out(a, cached=False))
    bench.at(2, lambda: bench.engine.join(a))
    assert bench.run() == [("b", 1.0), ("a", 2.609)]  # 90 tokens to prefill, 60 to generate
    assert a.context == pytest.approx(150)
    assert fsum(bench.engine.generated) == pytest.approx(200)


def test_a_straggler_has_more_to_generate_wherever_it_is() -> None:
    bench = Bench(10, slots=1)
    bench.ask(0, "a", 100)
    bench.ask(0, "b", 100)
    bench.at(0.4, lambda: bench.engine.lengthen(bench.requests["a"], 3))
    bench.at(0.4, lambda: bench.engine.lengthen(bench.requests["b"], 0.5))
    assert bench.run() == [("a", 2.2), ("b", 2.7)]
    assert bench.requests["a"].context == pytest.approx(220)


def test_a_freeze_stops_steps_and_admissions_and_adds_to_a_prefill_that_runs() -> None:
    # a prefills until 0.2, frozen from 0.1 to 1.1, so until 1.2; b came meanwhile and is let in at the thaw.
    bench = Bench(10, prefill_ms=100)
    bench.ask(0, "a", 10, context=2000, fresh=2000)
    bench.at(0.1, lambda: bench.engines.freeze(0.6))
    bench.at(0.3, lambda: bench.engines.freeze(0.4))
    bench.ask(0.5, "b", 10, context=1000, fresh=1000)
    bench.at(1.1, bench.engines.thaw)
    bench.at(1.1, bench.engines.serve)
    assert bench.run() == [("a", 1.4), ("b", 1.4)]


def test_slow_downs_multiply_and_end() -> None:
    bench = Bench(10, speeds=(2.0, 1.0))
    bench.ask(0, "a", 100)
    bench.ask(0, "b", 100, engine=1)
    bench.at(0.1, lambda: bench.engines.slow([0], 4, 1))  # a: 20 of 100, then 50 in 1 s, 30 in 0.15
    assert bench.run() == [("b", 1.0), ("a", 1.25)]


def test_new_weights_in_flight_delay_and_prefill_again_what_runs() -> None:
    bench = Bench(10, speeds=(1.0, 1.0), prefill_ms=1000, keep_cache=False)
    bench.ask(0, "a", 20, context=90)
    bench.at(0.1, lambda: bench.engines.refresh(0.5))  # K is 100 then: 0.5 + 0.1
    assert bench.run() == [("a", 0.8)]
    assert bench.engines.all[1].stopped_until == 0


def crash(bench: Bench, which: int | list[int], seconds: float) -> tuple[list[Request], list[int]]:
    """What was lost, and the engines that those who waited chose."""
    lost, waited = bench.engines.crash(which, seconds)
    chosen = []
    for request in waited:
        engine = bench.engines.choose(0, 0)
        chosen.append(bench.engines.all.index(engine))
        engine.join(request)
    return lost, chosen


def test_a_crash_loses_what_runs_and_sends_the_line_elsewhere() -> None:
    # b leaves engine 0 for engine 1, where nobody is, with 100 to prefill; f waits for the restart.
    bench = Bench(10, speeds=(1.0, 1.0, 1.0), slots=1, prefill_ms=1000)
    bench.ask(0, "a", 100)
    bench.ask(0, "b", 100, context=100)
    bench.ask(0, "c", 30, engine=1)
    bench.ask(0, "d", 100, engine=2)
    bench.ask(0, "e", 100, engine=2)
    seen: list[tuple[list[Request], list[int]]] = []
    bench.at(0.5, lambda: seen.append(crash(bench, 1, 5)))
    bench.ask(0.6, "f", 10)
    assert bench.run() == [("c", 0.3), ("d", 1.0), ("b", 1.6), ("e", 2.0), ("f", 5.6)]
    assert seen == [([bench.requests["a"]], [1])]
    assert bench.requests["a"].context == pytest.approx(50)


def test_engines_that_crash_together_are_not_chosen_by_those_who_waited_there() -> None:
    bench = Bench(10, speeds=(1.0,) * 4, slots=1)
    for name in "abcdefgh":
        bench.ask(0, name, 10, engine="abcd".find(name) if name in "abcd" else 1)
    seen: list[tuple[list[Request], list[int]]] = []
    bench.at(0.05, lambda: seen.append(crash(bench, [1, 0], 0)))
    assert [name for name, _ in bench.run()] == ["c", "d", "e", "f", "g", "h"]
    assert seen == [([bench.requests["a"], bench.requests["b"]], [2, 3, 2, 3])]


def test_routing() -> None:
    def chosen(routing: str, down: tuple[int, ...] = ()) -> list[int]:
        bench = Bench(10, speeds=(1.0,) * 3, routing=routing)
        bench.ask(0, "a", 10)
        bench.at(0, lambda: None)
        bench.now = bench.agenda.next_due() or 0.0
        bench.agenda.pop().action()
        for number in down:
            bench.engines.all[number].down = True
        return [
            bench.engines.all.index(bench.engines.choose(worker, group))
            for worker, group in [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2)]
        ]

    assert chosen("least_loaded") == [1, 1, 1, 1, 1]
    assert chosen("least_loaded", down=(1,)) == [2, 2, 2, 2, 2]
    assert chosen("round_robin") == [0, 1, 2, 0, 1]
    assert chosen("round_robin", down=(1,)) == [0, 2, 0, 2, 0]
    assert chosen("by_worker") == [0, 1, 2, 0, 1]
    assert chosen("by_worker", down=(1,)) == [0, 2, 2, 0, 2]
    assert chosen("by_group") == [0, 0, 1, 1, 2]
    assert chosen("by_group", down=(0, 1, 2)) == [0, 0, 1, 1, 2]


def random_setup(seed: int, episodes: int = 60) -> Setup:
    rng = random.Random(seed)

    def turn() -> Turn:
        tokens = max(1, round(rng.lognormvariate(5.5, 0.8)))
        return Turn(tokens, rng.choice([0, rng.expovariate(0.5)]), rng.randrange(500))

    plans = tuple(
        Plan(rng.randrange(2000), tuple(turn() for _ in range(rng.randrange(1, 5)))) for _ in range(episodes)
    )
    biggest = max(plan.prompt + sum(int(t.tokens) + t.tool_tokens for t in plan.turns) for plan in plans)
    shape = Shape.of(
        {1: rng.uniform(3, 8), 8: rng.uniform(8, 12), 20: rng.uniform(12, 30)},
        context_ms=rng.choice([0, rng.uniform(0.01, 0.3)]),
        prefill_ms=rng.choice([0, rng.uniform(5, 60)]),
        slots=rng.choice([inf, rng.randrange(2, 9)]),
        kv_tokens=rng.choice([inf, rng.randrange(biggest + 10, 3 * biggest)]),
        keep_cache=rng.random() < 0.7,
    )
    speeds = tuple(rng.uniform(0.7, 1.3) for _ in range(rng.randrange(1, 4)))
    routing = rng.choice(["least_loaded", "round_robin", "by_worker", "by_group"])
    return Setup(shape, speeds, rng.randrange(2, 25), plans, routing, rng.choice([1, 4]))


@pytest.mark.parametrize("seed", range(12))
def test_tokens_generated_are_the_time_integral_of_sequences_by_step_time(seed: int) -> None:
    # The rate in time: with x + 2yv the step time after v steps, and t = xv + yv^2, it is sqrt(x^2 + 4yt).
    setup = random_setup(seed)
    loop = FluidLoop(setup)
    outcome = loop.run()
    parts: list[float] = []
    for engine in loop.engines.all:
        for piece in engine.history:
            width = (piece.end - piece.begin) * 1000
            integral = quad(lambda ms, p=piece: p.running / sqrt(p.x * p.x + 4 * p.y * ms), 0, width)[0]
            parts.append(integral)
    asked = sum(plan.generated() for plan in setup.plans)
    assert fsum(parts) == pytest.approx(asked, rel=1e-9)
    assert outcome.tokens == pytest.approx(asked, rel=1e-12)


def test_looking_at_an_engine_changes_nothing() -> None:
    def finishes(look: bool) -> list[float]:
        loop = FluidLoop(random_setup(5))

        def see() -> None:
            seen.append(fsum(part for engine in loop.engines.all for part in engine.token_parts()))

        for i in range(1, 500) if look else ():
            loop.agenda.set(i / 7, see)
        return loop.run().done

    seen: list[float] = []

    assert finishes(look=True) == finishes(look=False)
    assert seen == sorted(seen)
    assert len(set(seen)) > 100


def test_a_closed_loop_settles_where_littles_law_says() -> None:
    # Workers = rate * (time in the engine + tool time): what runs is B = workers - those at a tool, and B
    # makes a turn of n tokens in n steps of step(B).
    rng = random.Random(1)
    workers, tokens, tool = 40, 200, 2.0
    plans = tuple(
        Plan(
            0,
            tuple(Turn(round(rng.expovariate(1 / tokens)) + 1, rng.expovariate(1 / tool)) for _ in range(9)),
        )
        for _ in range(600)
    )
    shape = Shape.of({1: 5, 40: 15})
    loop = FluidLoop(Setup(shape, (1.0,), workers, plans))
    loop.run()
    pieces = [piece for piece in loop.engines.all[0].history if 20 < piece.begin < 400]
    seconds = fsum(piece.end - piece.begin for piece in pieces)
    running = fsum((piece.end - piece.begin) * piece.running for piece in pieces) / seconds
    expected = float(workers)
    for _ in range(100):
        engine_time = (tokens + 1) * (5 + (expected - 1) * 10 / 39) / 1000
        turns = workers / (engine_time + tool * 8 / 9)  # no tool after the last
        expected = turns * engine_time
    assert running == pytest.approx(expected, rel=0.03)
