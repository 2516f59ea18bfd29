"""Streams of random numbers by purpose."""

import numpy as np
from numpy.random import SeedSequence, default_rng

from emulator.randomness import Draws, Streams


def words(seed: SeedSequence) -> list[int]:
    return seed.generate_state(4).tolist()


def test_streams_are_the_children_of_the_seed_in_a_fixed_order():
    children = SeedSequence(7).spawn(5)
    streams = Streams(7)
    assert words(streams.durations) == words(children[0])
    assert words(streams.updates) == words(children[1])
    assert words(streams.worker_speeds) == words(children[2])
    assert words(streams.environment(2)) == words(children[3].spawn(3)[2])
    assert words(streams.learner) == words(children[4])


def test_asking_for_one_stream_does_not_disturb_another():
    alone = words(Streams(1).environment(5))
    streams = Streams(1)
    for worker in (9, 0, 5):
        default_rng(streams.environment(worker)).random(10)
    streams.durations.spawn(3)
    assert words(streams.environment(5)) == alone
    assert words(streams.durations) == words(Streams(1).durations)


def test_all_streams_of_a_seed_differ_and_change_with_it():
    def all_of(seed: int) -> list[tuple[int, ...]]:
        s = Streams(seed)
        seeds = [s.durations, s.updates, s.worker_speeds, s.learner, *(s.environment(i) for i in range(3))]
        return [tuple(words(one)) for one in seeds]

    assert len({*all_of(0), *all_of(2**64 - 1)}) == 14


def test_draws_give_the_sequence_one_plain_float_at_a_time():
    asked: list[int] = []
    count = iter(range(100))

    def sampler(n: int):
        asked.append(n)
        return np.array([float(next(count)) for _ in range(n)])

    draws = Draws(sampler, block=3)
    values = [draws.next() for _ in range(7)]
    assert values == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert {type(value) for value in values} == {float}
    assert asked == [3, 3, 3]
