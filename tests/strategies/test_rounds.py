"""Decisions of the strategies that issue episodes in rounds, without a loop."""

from collections.abc import Iterable
from decimal import Decimal

import pytest

from emulator.scenario import Scenario
from emulator.strategies import Setting, Synchronous
from emulator.strategies.decisions import Accounts, Admission, Decisions, PausedEpisode, Unfinished
from emulator.strategies.one_step_off import OverlappedRounds
from emulator.strategies.rounds import RoundDecisions

NOTHING = Accounts()


def decisions_of(scenario: Scenario) -> Decisions:
    return scenario.strategy.decisions(scenario.setting)


def strategy(
    *,
    batch: int = 2,
    group: int = 1,
    oversample: str = "1",
    unfinished: Unfinished = Unfinished.WAIT,
    deadline: float | None = None,
) -> RoundDecisions:
    options = Synchronous(
        kind="synchronous",
        oversample=Decimal(oversample),
        unfinished=unfinished.value,
        deadline=deadline,
    )
    return options.decisions(Setting(batch_size=batch, group_size=group))


def paused(*episodes: tuple[int, int]) -> list[PausedEpisode]:
    return [PausedEpisode(number, group) for number, group in episodes]


def admitted(rounds: RoundDecisions, in_progress: Iterable[int | None] = ()) -> list[Admission]:
    """What workers take until one has to wait; `in_progress` are the groups in progress, one by one."""
    groups = iter(in_progress)
    found = []
    while (admission := rounds.admit(NOTHING, next(groups, None))) is not None:
        found.append(admission)
        if admission is Admission.RESUME:
            rounds.resumed()
        assert len(found) < 100
    return found


@pytest.mark.parametrize(
    ("batch", "oversample", "issued"),
    [(64, "1", 64), (64, "1.25", 80), (10, "1.1", 11), (3, "1.1", 4), (7, "2", 14), (100, "1.1", 110)],
)
def test_a_round_issues_the_batch_times_oversample_rounded_up_exactly(
    batch: int, oversample: str, issued: int
) -> None:
    rounds = strategy(batch=batch, oversample=oversample, unfinished=Unfinished.ABORT)
    assert rounds.round_groups == issued
    rounds.open_round(0.0, [], [])
    assert len([rounds.admit(NOTHING, None) for _ in range(issued)]) == issued
    assert rounds.admit(NOTHING, None) is None


def test_a_round_issues_whole_groups() -> None:
    rounds = strategy(batch=8, group=4, oversample="1.25", unfinished=Unfinished.ABORT)
    assert (rounds.batch_groups, rounds.round_groups) == (2, 3)


def test_nothing_is_admitted_between_rounds() -> None:
    rounds = strategy()
    assert admitted(rounds) == []
    rounds.open_round(0.0, [], [])
    assert admitted(rounds) == [Admission.GROUP] * 2
    assert not rounds.group_completed()
    assert rounds.group_completed()
    assert admitted(rounds, [3]) == []


def test_a_round_that_closes_forgets_what_it_has_not_begun() -> None:
    rounds = strategy(batch=2, oversample="2", unfinished=Unfinished.ABORT)
    rounds.open_round(0.0, [], [])
    assert rounds.admit(NOTHING, None) is Admission.GROUP
    rounds.group_completed()
    rounds.group_completed()
    rounds.open_round(0.0, [], [])
    assert len(admitted(rounds)) == 4


def test_members_of_a_begun_group_come_before_a_new_group() -> None:
    rounds = strategy(batch=4, group=2)
    rounds.open_round(0.0, [], [])
    assert admitted(rounds, [None, 0, None, 1]) == [
        Admission.GROUP,
        Admission.MEMBER,
        Admission.GROUP,
        Admission.MEMBER,
    ]


def test_a_lost_group_is_replaced_while_the_round_is_open() -> None:
    rounds = strategy(batch=1)
    rounds.group_lost()
    rounds.open_round(0.0, [], [])
    assert admitted(rounds) == [Admission.GROUP]
    rounds.group_lost()
    assert admitted(rounds) == [Admission.GROUP]
    assert rounds.group_completed()
    rounds.group_lost()
    assert admitted(rounds) == []


def test_paused_episodes_are_resumed_first_oldest_first_and_count_towards_the_round() -> None:
    rounds = strategy(batch=3, oversample="2", unfinished=Unfinished.RESUME)
    rounds.open_round(0.0, paused((4, 4), (7, 7)), [4, 7])
    assert rounds.admit(NOTHING, None) is Admission.RESUME
    assert rounds.resumed() == 4
    assert rounds.admit(NOTHING, None) is Admission.RESUME
    assert rounds.resumed() == 7
    assert admitted(rounds) == [Admission.GROUP] * 4


def test_a_paused_episode_that_was_given_up_is_not_resumed() -> None:
    rounds = strategy(batch=2, oversample="2", unfinished=Unfinished.RESUME)
    rounds.open_round(0.0, paused((4, 2), (5, 2), (6, 3)), [2, 3])
    rounds.withdrawn(4)
    rounds.withdrawn(99)
    assert rounds.admit(NOTHING, None) is Admission.RESUME
    assert rounds.resumed() == 5


def test_deferred_episodes_wait_until_they_make_a_batch() -> None:
    rounds = strategy(batch=3, oversample="2", unfinished=Unfinished.DEFER)
    rounds.open_round(0.0, paused((4, 4), (7, 7)), [4, 7])
    assert rounds.held_back == {4, 7}
    assert admitted(rounds) == [Admission.GROUP] * 6


def test_a_batch_of_deferred_episodes_is_a_round_of_its_own() -> None:
    rounds = strategy(batch=3, oversample="2", unfinished=Unfinished.DEFER)
    rounds.open_round(0.0, paused((1, 1), (4, 4), (7, 7), (8, 8)), [1, 4, 7, 8])
    assert rounds.held_back == {8}
    assert admitted(rounds) == [Admission.RESUME] * 3


def test_a_lost_group_of_a_deferred_round_is_replaced() -> None:
    rounds = strategy(batch=2, oversample="2", unfinished=Unfinished.DEFER)
    rounds.open_round(0.0, paused((1, 1), (4, 4)), [1, 4])
    assert admitted(rounds) == [Admission.RESUME] * 2
    rounds.group_lost()
    assert admitted(rounds) == [Admission.GROUP]


def test_deferred_groups_are_counted_whole() -> None:
    rounds = strategy(batch=4, group=2, oversample="1.5", unfinished=Unfinished.DEFER)
    rounds.open_round(0.0, paused((2, 1), (3, 1), (4, 2)), [1, 2])
    assert rounds.held_back == frozenset()
    assert admitted(rounds, [None, None, None, 2]) == [Admission.RESUME] * 3 + [Admission.MEMBER]


def test_synchronous_does_nothing_that_is_not_asked_of_it() -> None:
    rounds = strategy()
    assert (rounds.gates, rounds.in_worker_order, rounds.generates_while_training) == (False, True, False)
    assert not rounds.cancels(0, 100)
    assert rounds.stale([], NOTHING) == []
    assert rounds.may_publish()


def test_one_step_off_publishes_only_when_the_next_batch_is_complete() -> None:
    rounds = OverlappedRounds(batch_groups=2, round_groups=2)
    assert rounds.generates_while_training
    rounds.open_round(0.0, [], [])
    assert not rounds.may_publish()
    rounds.group_completed()
    assert not rounds.may_publish()
    rounds.group_completed()
    assert rounds.may_publish()


def test_a_scenario_has_the_rounds_that_it_asks_for() -> None:
    document = {
        "rollout": {"workers": 4, "episode_seconds": 5, "group_size": 4},
        "trainer": {"batch_size": 16, "update_seconds": 5},
    }
    partial = {"kind": "synchronous", "oversample": 1.3, "unfinished": "resume", "resume_overhead": "2s"}
    made = decisions_of(Scenario.model_validate({**document, "strategy": partial}))
    assert isinstance(made, RoundDecisions)
    assert (made.batch_groups, made.round_groups) == (4, 6)
    assert (made.unfinished, made.resume_overhead) == (Unfinished.RESUME, 2.0)
    off = decisions_of(Scenario.model_validate({**document, "strategy": {"kind": "one_step_off"}}))
    assert isinstance(off, OverlappedRounds)
    assert (off.batch_groups, off.round_groups, off.unfinished) == (4, 4, Unfinished.WAIT)


def test_at_its_deadline_a_round_closes_with_what_is_complete() -> None:
    rounds = strategy(batch=4, unfinished=Unfinished.ABORT, deadline=30.0)
    rounds.open_round(100.0, [], [])
    assert rounds.closes_at == 130.0
    assert not rounds.group_completed()
    assert not rounds.group_completed()
    assert rounds.time_is_up()
    assert (rounds.open, rounds.batch_groups) == (False, 2)
    rounds.open_round(200.0, [], [])
    assert (rounds.closes_at, rounds.batch_groups) == (230.0, 4)


def test_with_nothing_complete_at_its_deadline_a_round_closes_with_the_first_group() -> None:
    rounds = strategy(batch=4, unfinished=Unfinished.ABORT, deadline=30.0)
    rounds.open_round(0.0, [], [])
    assert not rounds.time_is_up()
    assert admitted(rounds) == [Admission.GROUP] * 4
    assert rounds.group_completed()
    assert (rounds.open, rounds.batch_groups) == (False, 1)


def test_a_round_of_deferred_episodes_has_no_deadline() -> None:
    rounds = strategy(batch=2, unfinished=Unfinished.DEFER, deadline=30.0)
    rounds.open_round(0.0, paused((1, 1), (4, 4)), [1, 4])
    assert rounds.closes_at is None


def test_rounds_have_no_deadline_unless_they_are_given_one() -> None:
    rounds = strategy()
    rounds.open_round(5.0, [], [])
    assert rounds.closes_at is None
