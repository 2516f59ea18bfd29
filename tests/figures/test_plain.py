"""Plain episodes as columns."""

import numpy as np

from emulator.events import Start
from emulator.figures.plain import PlainEpisodes
from emulator.figures.records import EpisodeRecord


def started(plain: PlainEpisodes, first: int, count: int, version: int = 0) -> None:
    numbers = np.arange(first, first + count)
    plain.start(
        first,
        worker=numbers % 7,
        version=np.full(count, version),
        started=numbers * 1.0,
        duration=numbers * 2.0,
    )


def record(worker: int, number: int, version: int, t: float, duration: float) -> EpisodeRecord:
    """What the start of an episode makes."""
    made = EpisodeRecord(Start(t, worker, number, number, version, duration))
    made.opened = t
    made.begun = True
    return made


def test_an_episode_that_runs_is_taken_out_as_the_record_that_its_start_would_have_made() -> None:
    plain = PlainEpisodes()
    started(plain, 0, 10, version=3)
    assert plain.take_out(9) == record(2, 9, 3, 9.0, 18.0)
    assert plain.take_out(9) is None
    assert not plain.has(np.array([9]))[0]


def test_a_finished_one_has_the_stretch_that_generated_it() -> None:
    plain = PlainEpisodes()
    started(plain, 0, 3, version=1)
    plain.finish(np.array([2]), np.array([50.5]), np.array([4]))
    expected = record(2, 2, 1, 2.0, 4.0)
    expected.finished = 50.5
    expected.finished_version = 4
    assert plain.take_out(2) == expected


def test_what_was_never_started_or_is_forgotten_is_not_there() -> None:
    plain = PlainEpisodes()
    started(plain, 0, 5)
    plain.forget(np.array([1, 3]))
    assert plain.has(np.array([-1, 0, 1, 2, 3, 4, 5, 10**9])).tolist() == [
        False, True, False, True, False, True, False, False,
    ]  # fmt: skip
    assert plain.take_out(5) is None
    assert plain.take_out(-1) is None


def test_the_columns_move_on_and_an_old_episode_stays_in_them() -> None:
    plain = PlainEpisodes()
    started(plain, 0, 1, version=5)  # a straggler
    for block in range(40):
        first = 1 + block * 1000
        started(plain, first, 1000, version=6 + block)
        if block:
            plain.forget(np.arange(first - 1000, first))
    assert plain.oldest_version() == 5
    assert plain.column("duration", np.array([0, 39_001, 40_000])).tolist() == [0.0, 78_002.0, 80_000.0]
    assert plain.take_out(0) == record(0, 0, 5, 0.0, 0.0)
    assert plain.oldest_version() == 45
    plain.forget(np.arange(39_001, 40_001))
    assert plain.oldest_version() is None


def test_the_columns_stay_as_short_as_what_is_in_flight() -> None:
    plain = PlainEpisodes()
    for block in range(200):
        started(plain, block * 1000, 1000)
        plain.forget(np.arange(block * 1000, (block + 1) * 1000))
    assert len(plain._columns["state"]) == 8192
