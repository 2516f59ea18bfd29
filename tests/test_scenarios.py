"""Every bundled scenario shows what its description says."""

from functools import cache
from itertools import pairwise
from typing import Any

import pytest

import emulator
from emulator.scenario import bundled_scenarios

NAMES = [bundled.name for bundled in bundled_scenarios()]


@cache
def lanes_of(name: str) -> dict[str, dict[str, Any]]:
    return {str(run.name): run.result for run in emulator.race(emulator.load_scenario(name), speed="max")}


def bias(result: dict[str, Any]) -> float:
    return float(result["episode_seconds"]["length_bias"])


@pytest.mark.parametrize("name", NAMES)
def test_a_bundled_scenario_has_its_own_name_a_description_of_a_line_and_lanes(name: str) -> None:
    scenario = emulator.load_scenario(name)
    assert scenario.name == name
    assert 20 < len(scenario.description) <= 65
    assert 2 <= len(scenario.lanes) <= 8
    assert scenario.duration == 3600
    assert scenario.speed == 60


def test_stragglers_is_the_reference_hour() -> None:
    sync, wide = lanes_of("stragglers").values()
    assert 10 <= sync["updates"] <= 19
    assert 105 <= wide["updates"] <= 111
    assert 0.11 < sync["workers"]["utilisation"] < 0.17
    assert wide["workers"]["utilisation"] > 0.999
    assert 0.9 < wide["staleness"]["in_flight_mean"] < 1.05
    assert 1.3 < wide["staleness"]["mean"] < 1.55


def test_narrow_leaves_asynchronous_a_gain_of_about_two_and_a_half() -> None:
    sync, wide = lanes_of("narrow").values()
    assert 2.4 < wide["updates"] / sync["updates"] < 2.9
    assert 1.6 < wide["staleness"]["mean"] < 1.8


def test_tradeoff_shows_the_price_of_each_strategy() -> None:
    lanes = lanes_of("tradeoff")
    for name in ("drop 1", "cancel 1", "abort"):
        assert 0.4 < bias(lanes[name]) < 0.65
    for name in ("gate 1", "resume", "async"):
        assert 0.9 < bias(lanes[name]) < 1.1
    assert lanes["gate 1"]["staleness"]["max"] > 10
    assert lanes["drop 1"]["staleness"]["max"] == lanes["cancel 1"]["staleness"]["max"] == 1
    assert lanes["one step off"]["updates"] < 1.2 * lanes["sync"]["updates"]
    assert lanes["resume"]["updates"] > 3 * lanes["sync"]["updates"]


def test_stuck_group_stops_training_until_something_lets_go_of_the_group() -> None:
    lanes = lanes_of("stuck-group")
    stuck = lanes["stuck"]
    assert stuck["updates"] == 15
    assert stuck["episodes"]["in_flight"] == 1
    assert stuck["queue"]["max"] == 63
    assert stuck["workers"]["seconds"]["gated"] / 230400 > 0.8
    assert lanes["timeout"]["groups"]["lost"] == 1
    assert (lanes["timeout"]["episodes"]["failed"], lanes["timeout"]["episodes"]["dropped"]) == (1, 7)
    assert all(lanes[name]["updates"] > 35 for name in ("timeout", "redundant", "slack"))


def test_one_short_stands_at_127_of_128() -> None:
    lanes = lanes_of("one-short")
    short = lanes["one short"]
    assert short["updates"] == 15
    assert short["episodes"]["queued"] == short["queue"]["max"] == 127
    assert lanes["timeout"]["episodes"]["failed"] == 1
    assert lanes["timeout"]["updates"] > 35
    assert lanes["slack"]["updates"] > 100


def test_starved_trains_not_one_long_episode_where_stale_ones_are_discarded() -> None:
    lanes = lanes_of("starved")
    for name in ("drop 1", "cancel 1"):
        # Short episodes take 10 to 30 s and long ones at least 240: one in 200 would lift this mean to 21.
        assert lanes[name]["episode_seconds"]["trained_mean"] < 21
        assert bias(lanes[name]) < 0.45
    assert lanes["drop 1"]["workers"]["goodput"] < 0.4
    for name in ("drop 12", "gate 1"):
        assert bias(lanes[name]) > 0.95


def test_trainer_bound_gains_nothing_by_more_workers_but_age() -> None:
    lanes = lanes_of("trainer-bound")
    assert {lane["updates"] for lane in lanes.values()} == {117, 119}
    assert lanes["unlimited"]["staleness"]["mean"] > 25
    assert lanes["48 workers"]["staleness"]["mean"] < 2
    assert lanes["gate 2"]["staleness"]["mean"] < 2.1
    assert lanes["queue 128"]["queue"]["max"] == 128
    assert lanes["unlimited"]["queue"]["max"] > 10_000


def test_sandbox_bound_grows_with_sandboxes_and_not_with_workers() -> None:
    lanes = lanes_of("sandbox-bound")
    assert [lane["updates"] for lane in lanes.values()] == [32, 32, 64, 128]
    assert lanes["16 boxes"]["environment"]["sandbox_utilisation"] == pytest.approx(1)
    assert lanes["16 boxes"]["workers"]["seconds"]["blocked"] / 230400 == pytest.approx(0.75)


def test_slow_rack_costs_synchronous_nearly_half_and_asynchronous_little() -> None:
    updates = {name: lane["updates"] for name, lane in lanes_of("slow-rack").items()}
    assert updates["sync slow"] < 0.6 * updates["sync healthy"]
    assert updates["async slow"] > 0.9 * updates["async healthy"]


def test_trainer_stall_leaves_old_data_idle_workers_or_lost_work() -> None:
    lanes = lanes_of("trainer-stall")
    unlimited, gate, drop = lanes.values()
    assert all(lane["trainer"]["seconds"]["stalled"] == 600 for lane in lanes.values())
    assert unlimited["staleness"]["mean"] > 5
    assert gate["workers"]["seconds"]["gated"] > 30_000
    assert drop["episodes"]["dropped"] > 1500
    assert gate["staleness"]["mean"] < 2


def test_learning_is_first_where_workers_do_not_wait_and_drop_forgets_the_hard_tasks() -> None:
    lanes = {name: result["learning"] for name, result in lanes_of("learning").items()}
    for name in ("async", "gate 1", "drop 1"):
        assert lanes[name]["minutes_to_80"] < lanes["sync"]["minutes_to_80"] / 3
    assert lanes["gate 1"]["reward_slowest_tenth"] > 0.95
    assert lanes["drop 1"]["reward_slowest_tenth"] < lanes["gate 1"]["reward_slowest_tenth"] - 0.15
    # What is left behind is the slowest tasks, not all.
    assert lanes["drop 1"]["reward"] > lanes["drop 1"]["reward_slowest_tenth"] + 0.15
    # Each update teaches more on policy than on stale data.
    assert lanes["sync"]["updates_to_80"] < lanes["async"]["updates_to_80"]


def test_stale_has_the_most_updates_where_the_least_is_learned() -> None:
    lanes = lanes_of("stale")
    few, more, many = lanes.values()
    assert few["updates"] < more["updates"] < many["updates"]
    assert more["learning"]["minutes_to_80"] < few["learning"]["minutes_to_80"]
    assert more["learning"]["updates_to_80"] > 1.5 * few["learning"]["updates_to_80"]
    assert many["staleness"]["mean"] > 150
    assert many["learning"]["minutes_to_80"] is None
    assert many["learning"]["reward"] < 0.65
    assert few["learning"]["reward"] > 0.95


def tokens_per_second(result: dict[str, Any]) -> float:
    return float(result["engine"]["tokens_per_second"])


def test_shared_engine_generates_hardly_more_for_twice_the_workers() -> None:
    rates = [tokens_per_second(lane) for lane in lanes_of("shared-engine").values()]
    gains = [more / few for few, more in pairwise(rates)]
    assert 1.4 < gains[0] < 1.6
    assert gains == sorted(gains, reverse=True)
    assert 1.05 < gains[-1] < 1.2
    running = [lane["engine"]["running_mean"] for lane in lanes_of("shared-engine").values()]
    assert running == pytest.approx([4, 8, 16, 32, 64], rel=0.001)


def test_last_ones_run_faster_than_durations_drawn_one_by_one_suggest() -> None:
    lanes = lanes_of("last-ones")
    assert lanes["sync"]["updates"] > 1.5 * lanes["sync drawn"]["updates"]
    gain, drawn = (
        lanes[f"async{kind}"]["updates"] / lanes[f"sync{kind}"]["updates"] for kind in ("", " drawn")
    )
    assert 3 < gain < 3.5
    assert 6 < drawn < 6.5


def test_split_has_one_best_of_seven_and_starves_on_either_side() -> None:
    updates = [lane["updates"] for lane in lanes_of("split").values()]
    assert updates.index(max(updates)) == 4
    assert updates[:5] == sorted(updates[:5])
    assert updates[4:] == sorted(updates[4:], reverse=True)
    assert 0.75 < updates[3] / updates[4] < updates[5] / updates[4] < 0.95
    lanes = lanes_of("split")
    assert lanes["8 train"]["trainer"]["utilisation"] > 0.95
    assert lanes["56 train"]["trainer"]["utilisation"] < 0.5
    for lane in lanes.values():
        assert sum(lane["cluster"]["gpu_seconds"].values()) == pytest.approx(64 * 3600)


def test_colocated_loses_to_a_good_split_and_beats_one_that_starves_the_trainer() -> None:
    lanes = lanes_of("colocated")
    updates = {name: lane["updates"] for name, lane in lanes.items()}
    assert updates["starved async"] < 0.6 * updates["shared sync"]
    assert updates["split async"] > 1.7 * updates["shared sync"]
    assert updates["split sync"] < updates["shared sync"]
    assert lanes["starved async"]["engine"]["kv_peak"] == pytest.approx(788_000, rel=0.001)
    assert lanes["starved async"]["trainer"]["utilisation"] < 0.2


def test_tool_bound_engines_fill_with_workers_until_the_cache_is_full() -> None:
    lanes = list(lanes_of("tool-bound").values())
    for few, more in pairwise(lanes[:3]):
        assert more["updates"] > 1.8 * few["updates"]
    assert lanes[1]["engine"]["running_mean"] < 2
    assert lanes[1]["workers"]["seconds"]["acting"] > 0.75 * 32 * 3600
    assert lanes[4]["updates"] < 1.2 * lanes[3]["updates"]
    assert lanes[4]["engine"]["kv_peak"] == pytest.approx(350_000, rel=0.001)
    assert lanes[4]["engine"]["preempted"] > 100
    assert lanes[4]["workers"]["seconds"]["blocked"] > 0.3 * 256 * 3600


def test_engine_crash_costs_asynchronous_a_few_updates_and_synchronous_none() -> None:
    lanes = lanes_of("engine-crash")
    for name in ("sync", "async"):
        assert lanes[name]["episodes"]["failed"] in range(25, 33)
    assert lanes["sync"]["updates"] == lanes["sync healthy"]["updates"]
    assert 0.93 < lanes["async"]["updates"] / lanes["async healthy"]["updates"] < 0.97
    idle = lanes["async"]["engine"]["idle"]
    assert idle[0] == pytest.approx(600 / 3600, abs=0.01)
    assert idle[1:] == pytest.approx([0, 0, 0], abs=0.001)
