"""What a strategy says of itself, and what is assumed of one that says nothing."""

from collections.abc import Iterator
from math import inf
from typing import Any, Literal

import pytest

from emulator.scenario import Scenario
from emulator.strategies import STRATEGIES, Setting, Strategy, strategy_of
from emulator.strategies.asynchronous import AsynchronousDecisions
from emulator.strategies.decisions import Decisions
from emulator.strategies.processes import BusyWorkers, IndependentRounds, Pace

SETTING = Setting(batch_size=8, workers=16)


class Silent(Strategy):
    """A strategy that only decides."""

    kind: Literal["silent_one"]
    patience: float = 1.0

    def decisions(self, setting: Setting) -> Decisions:
        return AsynchronousDecisions(batch_groups=setting.batch_groups)


def made(**options: Any) -> Strategy:
    strategy = strategy_of(options)
    assert strategy is not None
    return strategy


def sync(**options: Any) -> Strategy:
    return made(kind="synchronous", **options)


def free(**options: Any) -> Strategy:
    return made(kind="asynchronous", **options)


def test_a_strategy_that_says_nothing_has_no_law_no_limit_and_is_not_tried() -> None:
    silent = Silent(kind="silent_one", patience=2.5)
    assert (silent.label, silent.full_label) == ("silent one", "silent one, patience 2.5")
    assert (silent.family, silent.systems, silent.color) == ("silent_one", "", 0)
    assert (silent.limit, silent.may_limit, silent.process(SETTING)) == (None, False, None)
    assert list(silent.violations(SETTING)) == list(silent.bounds(SETTING)) == []
    assert not silent.whole_batches
    assert silent.pace(SETTING) == Pace(8, inf)
    assert list(Silent.tried(None, [1.0])) == []


@pytest.mark.parametrize(
    ("options", "label"),
    [
        ({"kind": "one_step_off"}, "one step off"),
        ({"kind": "synchronous"}, "synchronous"),
        ({"kind": "synchronous", "oversample": 1.25, "unfinished": "abort"}, "synchronous, 1.25 abort"),
        (
            {"kind": "synchronous", "oversample": 2, "unfinished": "resume", "resume_overhead": 3},
            "synchronous, 2 resume, resume overhead 3",
        ),
        (
            {"kind": "synchronous", "unfinished": "abort", "deadline": "5m"},
            "synchronous, 1 abort, deadline 5m",
        ),
        ({"kind": "asynchronous", "max_staleness": 4, "enforce": "drop"}, "asynchronous, drop 4"),
        ({"kind": "asynchronous", "max_staleness": 0.5}, "asynchronous, gate 0.5"),
        (
            {"kind": "asynchronous", "weights": "in_flight", "weight_sync": "pause"},
            "asynchronous, in-flight weights, weight sync pause",
        ),
    ],
)
def test_a_label_has_every_option_that_is_not_the_default(options: dict[str, Any], label: str) -> None:
    assert made(**options).full_label == label


def test_a_short_label_has_the_options_that_matter() -> None:
    kept = {"kind": "asynchronous", "weights": "in_flight", "refresh_overhead": 2, "weight_sync": "pause"}
    assert made(**kept).label == "asynchronous, in-flight weights"
    assert sync(oversample=2, unfinished="resume", resume_overhead=3).label == "synchronous, 2 resume"


def test_only_among_others_is_it_said_that_there_is_no_cap() -> None:
    assert free(weights="in_flight").among_others == "asynchronous, no cap, in-flight weights"
    assert free(max_staleness=1).among_others == "asynchronous, gate 1"
    assert sync().among_others == "synchronous"


def test_options_that_no_scenario_takes_are_no_strategy() -> None:
    assert strategy_of({"kind": "asynchronous", "max_staleness": -1}) is None
    assert strategy_of({"kind": "nowhere"}) is None


def test_a_strategy_offers_theory_only_for_exactly_its_configuration() -> None:
    pushing = Setting(batch_size=8, workers=16, publish_every=2, push_seconds=1.0)
    grouped = Setting(batch_size=8, workers=16, group_size=4)
    assert sync().process(SETTING) == IndependentRounds(8)
    assert sync().process(pushing) is None
    assert sync(oversample=1.3, unfinished="abort").process(SETTING) == IndependentRounds(11)
    assert sync(oversample=1.3, unfinished="abort").process(grouped) is None
    assert sync(oversample=1.3, unfinished="defer").process(SETTING) is None
    assert sync(unfinished="abort", deadline=60).process(SETTING) is None
    assert made(kind="one_step_off").process(SETTING) == IndependentRounds(8, overlapping=True)
    assert made(kind="one_step_off").process(pushing) is None
    assert free().process(pushing) == BusyWorkers()
    assert free(weight_sync="pause").process(pushing) is None
    assert free(weights="in_flight").process(SETTING) == BusyWorkers(refreshes=True)
    assert free(weights="in_flight", refresh_overhead=1).process(SETTING) is None
    assert free(max_staleness=2, enforce="cancel").process(SETTING) == BusyWorkers(2.0, cancels=True)
    assert free(max_staleness=0.1).process(SETTING) == IndependentRounds(8)
    assert free(max_staleness=1).process(SETTING) is None


def test_a_pace_is_that_of_the_trainer() -> None:
    full = Setting(batch_size=8, workers=16, publish_every=3, queue_capacity=20)
    assert sync(oversample=1.5, unfinished="abort").pace(full) == Pace(12.0, 0.0)
    assert made(kind="one_step_off").pace(full) == Pace(8, 0.0)
    assert free().pace(full) == Pace(8, 36.0)
    assert free(max_staleness=0.5).pace(full) == Pace(8, 12.0)
    assert free().pace(SETTING) == Pace(8, inf)


def _tried() -> Iterator[dict[str, Any]]:
    for kind in STRATEGIES:
        yield from kind.tried(None, [3.0])


@pytest.mark.parametrize("options", list(_tried()), ids=str)
def test_what_may_be_tried_is_allowed_and_names_systems_that_wait_so(options: dict[str, Any]) -> None:
    strategy = made(**options)
    assert not list(strategy.violations(SETTING))
    assert strategy.systems
    assert 0 <= strategy.color < 8


def test_a_scenario_gives_a_strategy_its_setting() -> None:
    scenario = Scenario.model_validate(
        {
            "rollout": {
                "workers": 6,
                "episode_seconds": 5,
                "group_size": 2,
                "group_redundancy": 1,
                "queue_capacity": 30,
            },
            "trainer": {
                "batch_size": 4,
                "update_seconds": 5,
                "publish_every": 3,
                "weight_sync_seconds": 2,
            },
            "strategy": {"kind": "synchronous"},
        }
    )
    assert scenario.setting == Setting(4, 2, 1, 3, 2.0, 6, 30)
    assert scenario.setting.batch_groups == 2


def test_a_deadline_needs_somewhere_to_put_what_is_unfinished() -> None:
    (found,) = sync(deadline=60).violations(SETTING)
    assert str(found) == (
        "strategy.deadline: found 60 s; allowed: none with unfinished: wait, by which a round waits for all; "
        "or abort, resume or defer"
    )
    budget = sync(deadline=60, unfinished="resume")
    assert not list(budget.violations(SETTING))
    assert (budget.systems, budget.whole_batches) == ("", False)
