"""Episodes, the versions that generate them, their groups, and the source that numbers them."""

import gc
from itertools import count

import pytest

import emulator
from emulator.system.episodes import Episode, Group, GroupedEpisode, Source


def episode(version: int = 0, *, duration: float = 10.0, factor: float = 1.0) -> Episode:
    return GroupedEpisode(0, Group(0, 1, 1), duration, factor, version)


def source(size: int = 1, redundancy: int = 0) -> Source:
    seconds = count(100)
    return Source(lambda: float(next(seconds)), size, redundancy)


def test_the_oldest_version_is_the_first_with_generating_seconds() -> None:
    some = episode(2)
    some.generating_since = 10.0
    some.change_version(3, 15.0)
    some.change_version(4, 20.0)
    assert (some.oldest_version(), some.version) == (2, 4)


def test_a_version_without_generating_seconds_does_not_count() -> None:
    some = episode(2)
    some.generating_since = 10.0
    some.change_version(3, 10.0)
    some.stop_generating(12.0)
    assert some.oldest_version() == 3


def test_a_version_changed_in_overhead_has_not_generated() -> None:
    some = episode(2)
    some.change_version(5, 10.0)
    assert some.oldest_version() == 5
    some.generating_since = 11.0
    some.finish(12.0)
    assert some.oldest_version() == 5


def test_an_episode_of_no_length_counts_for_the_version_it_was_taken_under() -> None:
    some = episode(2)
    some.generating_since = 10.0
    some.change_version(3, 10.0)
    some.finish(10.0)
    assert some.oldest_version() == 2


def test_an_episode_that_begins_again_forgets_its_versions() -> None:
    some = episode(2)
    some.generating_since = 0.0
    some.stop_generating(5.0)
    some.remaining = 5.0
    some.restart_under(7)
    assert (some.oldest_version(), some.version) == (7, 7)
    assert some.remaining is None
    some.finish(6.0)
    assert some.oldest_version() == 7


def test_factors_multiply_the_whole_duration() -> None:
    some = episode(duration=10.0)
    assert some.multiply_duration(3) == 20.0
    assert some.multiply_duration(2) == 30.0
    assert some.factor == 6.0


def test_what_is_left_of_a_paused_episode_is_rescaled_without_its_overhead() -> None:
    some = episode()
    some.remaining, some.overhead_left, some.paused_speed = 14.0, 2.0, 0.5
    assert some.generating_left_at(0.5) == 12.0
    assert some.generating_left_at(1.5) == 4.0


def test_a_group_completes_at_its_size_and_survives_as_many_losses_as_it_is_redundant() -> None:
    some = source(2, 1)
    members = [some.start_group(0), some.start_member(0, 1), some.start_member(0, 1)]
    group = members[0].group
    assert (group.planned, group.started, group.complete, group.can_complete) == (3, 3, False, True)
    group.lose(members[0])
    assert group.can_complete
    assert group.oldest_version() == 1
    group.finished += members[1:]
    assert group.complete
    group.lose(members[2])
    assert not group.can_complete


def test_a_group_is_as_old_as_the_oldest_of_what_is_trained() -> None:
    some = source(1, 1)
    old, new = some.start_group(0), some.start_member(0, 5)
    group = old.group
    assert group.oldest_version() == 0
    group.finished.append(new)
    assert group.oldest_version() == 5


def test_episodes_and_groups_are_numbered_in_the_order_of_their_starts() -> None:
    some = source(2)
    started = [some.start_group(0), some.start_group(0), some.start_member(1, 0), some.start_member(0, 0)]
    assert [(e.number, e.group.number, e.duration) for e in started] == [
        (0, 0, 100.0),
        (1, 1, 101.0),
        (2, 1, 102.0),
        (3, 0, 103.0),
    ]
    assert some.next_number == 4


def test_the_oldest_group_that_is_not_held_back_is_in_progress() -> None:
    some = source(2)
    some.start_group(0)
    some.start_group(0)
    assert some.group_in_progress(()) == 0
    assert some.group_in_progress({0}) == 1
    assert some.group_in_progress({0, 1}) is None
    some.start_member(0, 0)
    assert some.group_in_progress(()) == 1


def test_a_closed_group_starts_no_more_members_and_its_numbers_go_to_the_next() -> None:
    some = source(3)
    group = some.start_group(0).group
    some.close(group)
    some.close(group)
    assert some.group_in_progress(()) is None
    assert (some.start_group(0).number, group.started) == (1, 1)


def test_a_group_of_one_is_never_in_progress() -> None:
    some = source()
    some.start_group(0)
    assert some.group_in_progress(()) is None


@pytest.mark.parametrize(("factors", "expected"), [((), 1.0), ((8,), 8.0), ((2, 3), 6.0)])
def test_a_straggler_yet_to_start_has_its_factor_and_its_duration_as_drawn(
    factors: tuple[float, ...], expected: float
) -> None:
    some = source()
    for factor in factors:
        some.multiply_duration(1, factor)
    assert some.start_group(0).factor == 1.0
    late = some.start_group(0)
    assert (late.duration, late.factor) == (101.0, expected)
    assert some.start_group(0).factor == 1.0


@pytest.mark.parametrize(
    "strategy",
    [
        {"kind": "asynchronous"},
        {"kind": "asynchronous", "max_staleness": 0, "enforce": "cancel"},
        {"kind": "synchronous", "oversample": 2, "unfinished": "abort"},
        {"kind": "synchronous", "oversample": 2, "unfinished": "resume"},
    ],
)
@pytest.mark.parametrize("redundancy", [0, 1])
def test_episodes_that_are_over_leave_no_work_for_the_garbage_collector(
    strategy: dict[str, object], redundancy: int
) -> None:
    # A full collection stops the run, and with it the emulated clock, for as long as it takes.
    def collected(duration: float) -> int:
        scenario = emulator.Scenario.model_validate(
            {
                "duration": duration,
                "rollout": {
                    "workers": 8,
                    "episode_seconds": {"kind": "exponential", "mean": 20},
                    "group_size": 2,
                    "group_redundancy": redundancy,
                },
                "trainer": {"batch_size": 8, "update_seconds": 3},
                "strategy": strategy,
            }
        )
        gc.collect()
        emulator.run(scenario, speed="max")
        return gc.collect()

    assert collected(1500) < collected(300) + 100
