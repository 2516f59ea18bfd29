"""The pool of sandboxes, and what a worker meets in its attempts."""

from itertools import islice, starmap

import numpy as np
import pytest

from emulator.randomness import Streams
from emulator.scenario.parts import Environment
from emulator.system.episodes import Group, GroupedEpisode
from emulator.system.sandboxes import Attempts, SandboxPool


class Line:
    """A pool, with a note of who was called to begin."""

    def __init__(self, size: int | None) -> None:
        self.pool = SandboxPool(size)
        self.begun: list[int] = []

    def acquire(self, worker: int) -> bool:
        return self.pool.acquire(worker, lambda: self.begun.append(worker))

    def give_back(self, count: int = 1) -> None:
        for _ in range(count):
            episode = GroupedEpisode(0, Group(0, 1, 1), 1.0, 1.0, 0)
            episode.has_sandbox = True
            self.pool.take_back(episode)


def test_a_pool_without_a_size_has_one_for_everybody() -> None:
    line = Line(None)
    assert all(line.acquire(worker) for worker in range(1000))
    line.give_back()
    line.pool.serve()
    assert line.begun == []


def test_sandboxes_are_handed_over_first_come_first_served() -> None:
    line = Line(2)
    assert [line.acquire(worker) for worker in (3, 1, 2, 0)] == [True, True, False, False]
    line.give_back(2)
    assert line.begun == []
    line.pool.serve()
    assert line.begun == [2, 0]


def test_nobody_passes_those_in_line() -> None:
    line = Line(1)
    line.acquire(0)
    line.acquire(1)
    line.give_back()
    assert not line.acquire(2)
    line.pool.serve()
    assert line.begun == [1]


def test_who_left_the_line_is_passed_over() -> None:
    line = Line(1)
    for worker in (0, 1, 2):
        line.acquire(worker)
    line.pool.leave_line(1)
    line.give_back()
    line.pool.serve()
    assert line.begun == [2]


def test_an_episode_gives_its_sandbox_back_once() -> None:
    line = Line(1)
    episode = GroupedEpisode(0, Group(0, 1, 1), 1.0, 1.0, 0)
    episode.has_sandbox = line.acquire(0)
    line.pool.take_back(episode)
    line.pool.take_back(episode)
    assert not episode.has_sandbox
    assert [line.acquire(1), line.acquire(2)] == [True, False]


def attempts(worker: int, **environment: object) -> Attempts:
    return Attempts(Environment.model_validate(environment), Streams(7), worker)


def test_each_worker_meets_resets_and_failures_of_its_own_streams() -> None:
    resets, failures = Streams(7).environment(4).spawn(2)
    met = attempts(4, reset_seconds={"kind": "uniform", "low": 1, "high": 3}, failure_probability=0.3)
    seconds = [met.next_reset() for _ in range(200)]
    chances = np.random.default_rng(failures).random(200)
    assert seconds == (1 + 2 * np.random.default_rng(resets).random(200)).tolist()
    assert [met.next_fails() for _ in range(200)] == (chances < 0.3).tolist()


def test_failures_do_not_depend_on_how_resets_are_drawn() -> None:
    fixed = attempts(0, reset_seconds=2, failure_probability=0.5)
    drawn = attempts(0, reset_seconds={"kind": "uniform", "low": 0, "high": 3}, failure_probability=0.5)
    assert fixed.next_reset() == 2
    for _ in range(3):
        drawn.next_reset()
    assert [fixed.next_fails() for _ in range(100)] == [drawn.next_fails() for _ in range(100)]


@pytest.mark.parametrize("worker", [0, 63])
def test_without_a_probability_nothing_fails(worker: int) -> None:
    met = attempts(worker)
    fails = starmap(met.next_fails, iter(lambda: (), None))
    assert not any(islice(fails, 500))
    assert met.next_reset() == 0
