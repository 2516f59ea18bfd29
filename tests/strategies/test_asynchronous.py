"""Decisions of the asynchronous strategy, without a loop."""

from dataclasses import dataclass
from decimal import Decimal

import pytest

from emulator.scenario import Scenario
from emulator.strategies.asynchronous import AsynchronousDecisions, Enforce
from emulator.strategies.decisions import Accounts, Admission


@dataclass(frozen=True)
class Judged:
    """A complete group as the trainer sees it."""

    number: int
    version: int

    def oldest_version(self) -> int:
        return self.version


def strategy(
    limit: str | None = None, enforce: Enforce = "gate", *, batch: int = 4, group: int = 1
) -> AsynchronousDecisions:
    return AsynchronousDecisions(
        batch_groups=batch // group,
        publication_episodes=batch,
        group_size=group,
        max_staleness=None if limit is None else Decimal(limit),
        enforce=enforce,
    )


def most_out(gated: AsynchronousDecisions, version: int) -> int:
    """How many single episodes are started before the gate closes."""
    accounts = Accounts(version=version)
    while gated.admit(accounts, None) is Admission.GROUP:
        accounts.started += 1
    return accounts.started


@pytest.mark.parametrize("started", [0, 1, 10_000])
def test_without_a_limit_everything_starts(started: int) -> None:
    free = strategy()
    assert free.admit(Accounts(started=started), None) is Admission.GROUP
    assert not free.gates
    assert not free.in_worker_order


@pytest.mark.parametrize(
    ("limit", "version", "out"),
    [("0", 0, 4), ("0", 3, 16), ("1", 0, 8), ("2", 1, 16), ("0.5", 0, 6), ("0.1", 0, 4), ("0.1", 2, 12)],
)
def test_a_gate_lets_out_what_the_formula_says(limit: str, version: int, out: int) -> None:
    assert most_out(strategy(limit), version) == out


def test_a_limit_is_an_exact_decimal() -> None:
    # In binary floating point each of these is one less.
    assert most_out(strategy("0.1", batch=30), 3) == 123
    assert most_out(strategy("0.3", batch=50), 1) == 115
    assert most_out(strategy("1.1", batch=30), 2) == 123


def test_what_was_lost_makes_room_at_the_gate_and_what_was_trained_does_not() -> None:
    gated = strategy("0")
    for lost in ("aborted", "failed", "dropped"):
        assert gated.admit(Accounts(started=4, **{lost: 1}), None) is Admission.GROUP
    assert gated.admit(Accounts(started=4, finished=4, trained=4), None) is None
    assert gated.admit(Accounts(started=4, finished=4, trained=4, version=1), None) is Admission.GROUP


def test_a_group_begins_only_if_all_of_it_fits_and_its_members_are_always_admitted() -> None:
    gated = strategy("0.5", group=2)
    assert gated.admit(Accounts(started=4), None) is Admission.GROUP
    assert gated.admit(Accounts(started=5), None) is None
    assert gated.admit(Accounts(started=100), 7) is Admission.MEMBER


@pytest.mark.parametrize("enforce", ["drop", "cancel"])
def test_drop_and_cancel_keep_nobody_from_starting(enforce: Enforce) -> None:
    assert strategy("0", enforce).admit(Accounts(started=1000), None) is Admission.GROUP


@pytest.mark.parametrize("enforce", ["drop", "cancel"])
@pytest.mark.parametrize(("limit", "stale"), [("0", [1, 2, 3]), ("1", [1, 3]), ("1.5", [1, 3]), ("3", [])])
def test_what_is_beyond_the_limit_is_stale(enforce: Enforce, limit: str, stale: list[int]) -> None:
    complete = [Judged(1, 2), Judged(2, 4), Judged(3, 3), Judged(4, 5)]
    assert strategy(limit, enforce).stale(complete, Accounts(version=5)) == stale


def test_a_gate_discards_nothing() -> None:
    gated = strategy("0")
    assert gated.stale([Judged(1, 0)], Accounts(version=9)) == []
    assert not gated.cancels(0, 9)


def test_only_cancel_gives_up_what_runs_beyond_the_limit() -> None:
    cancel, drop = strategy("1", "cancel"), strategy("1", "drop")
    assert [cancel.cancels(oldest, 5) for oldest in (3, 4, 5)] == [True, False, False]
    assert cancel.cancels_running
    assert not drop.cancels_running
    assert not drop.cancels(3, 5)


def test_an_unlimited_strategy_never_finds_anything_stale() -> None:
    free = strategy(None, "cancel")
    assert free.stale([Judged(1, 0)], Accounts(version=1000)) == []
    assert not free.cancels(0, 1000)


def test_nothing_closes_rounds_and_publication_never_waits() -> None:
    free = strategy()
    free.open_round(0.0, [], [])
    free.group_lost()
    assert not free.group_completed()
    assert free.may_publish()


def test_a_scenario_counts_a_gate_in_episodes_of_a_publication() -> None:
    scenario = Scenario.model_validate(
        {
            "rollout": {"workers": 4, "episode_seconds": 5, "group_size": 2},
            "trainer": {"batch_size": 6, "update_seconds": 5, "publish_every": 3},
            "strategy": {
                "kind": "asynchronous",
                "max_staleness": 0.5,
                "weights": "in_flight",
                "refresh_overhead": 2,
                "weight_sync": "pause",
            },
        }
    )
    made = scenario.strategy.decisions(scenario.setting)
    assert isinstance(made, AsynchronousDecisions)
    assert (made.batch_groups, made.publication_episodes, made.group_size) == (3, 18, 2)
    assert made.admit(Accounts(started=25), None) is Admission.GROUP
    assert made.admit(Accounts(started=26), None) is None
    assert (made.refreshes_in_flight, made.refresh_overhead, made.freezes_for_push) == (True, 2.0, True)
