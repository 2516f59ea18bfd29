"""Blocks folded by columns give the figures of their events folded one by one, to the last bit."""

from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emulator
from emulator import Scenario, journal
from emulator.events import Finish, Start
from emulator.figures import Figures, columns
from emulator.runner import run_lanes
from tests.scenarios import scenarios


def one_by_one(run: emulator.Run) -> dict[str, Any]:
    figures = Figures(run.scenario)
    figures.add(run.events)
    return figures.result(run.result["emulated_seconds"])


def ran(scenario: Scenario, block: int, short: int) -> emulator.Run:
    with mock.patch.object(journal, "_BLOCK", block), mock.patch.object(columns, "_SHORT", short):
        (run,) = run_lanes([scenario], speed="max", keep_events=True)
    return run


@settings(max_examples=150)
@given(scenarios(), st.sampled_from([1, 5, 4096]), st.sampled_from([1, 2, 5]))
def test_any_scenario_gives_the_same_figures_both_ways(scenario: Scenario, block: int, short: int) -> None:
    run = ran(scenario, block, short)
    assert run.result == one_by_one(run)


@pytest.mark.parametrize("name", [
    "stragglers", "narrow", "trainer-bound", "starved", "slow-rack", "trainer-stall",
])  # fmt: skip
def test_the_bundled_races_give_the_same_figures_both_ways(name: str) -> None:
    for run in emulator.race(
        emulator.load_scenario(name, overrides=["duration=30m"]), speed="max", keep_events=True
    ):
        assert run.result == one_by_one(run)


def test_what_is_looked_at_between_blocks_is_what_the_events_so_far_amount_to() -> None:
    scenario = emulator.load_scenario("stragglers", overrides=["strategy.max_staleness=1", "duration=30m"])
    by_columns, by_events = Figures(scenario), Figures(scenario)
    passed: list[journal.Block] = []
    run = emulator.run(scenario, speed="max", keep_events=True)
    found = journal.Journal(passed.append)
    for event in run.events:
        if isinstance(event, Start):
            found.rows += journal.ROW(event.t, event.worker, event.duration)
        elif isinstance(event, Finish):
            found.rows += journal.ROW(event.t, event.worker, -1 - event.episode)
        else:
            found.write(event)
        if len(found) % 777 == 0:
            found.pass_on()
    found.pass_on()
    for block in passed:
        by_columns.add_block(block)
        by_events.add(block.events())
        t = block.events()[-1].t
        assert by_columns.result(t) == by_events.result(t)
        assert by_columns.first_update_at == by_events.first_update_at
        assert by_columns.longest_wait(t) == by_events.longest_wait(t)
        assert by_columns.queue_wait_mean() == by_events.queue_wait_mean()
        assert by_columns.workers == by_events.workers
        assert by_columns.oldest_version() == by_events.oldest_version()
