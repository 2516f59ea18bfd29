"""Advice: what is tried, how options rank, what binds, and that what is to be pasted does what it says."""

import io
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from ruamel.yaml import YAML

import emulator
from emulator.advice import Advice, advise_on
from emulator.advice.candidates import strategies, vary, worker_counts
from emulator.advice.choosing import compare, ranked, yaml_of
from emulator.advice.limits import make_limits
from emulator.advice.options import PACE, Option, difference, options_of
from emulator.advice.report import AdviceSummary
from emulator.cli import main
from emulator.errors import ScenarioError, SweepBrokenError
from emulator.scenario import Scenario, bundled_scenarios
from emulator.sweeps import Sweep, SweepInterrupted
from emulator.sweeps.grid import given as given_of
from emulator.sweeps.grid import make_grid
from tests.sweeps.small import small

SYNCHRONOUS: dict[str, Any] = {"kind": "synchronous"}
RESUME: dict[str, Any] = {"kind": "synchronous", "oversample": 1.5, "unfinished": "resume"}
NO_CAP: dict[str, Any] = {"kind": "asynchronous"}
GATE: dict[str, Any] = {"kind": "asynchronous", "max_staleness": 2}
CANCEL: dict[str, Any] = {"kind": "asynchronous", "max_staleness": 4, "enforce": "cancel"}


def _hour() -> Scenario:
    return small(
        name="hour",
        duration=3600,
        rollout={"workers": 64, "episode_seconds": 20},
        trainer={"batch_size": 64, "update_seconds": 15},
    )


def _row(updates: float, staleness: float, *, bias: float = 1.0, oldest: float = 10.0) -> dict[str, Any]:
    return {
        "updates_per_hour": updates,
        "staleness.mean": staleness,
        "staleness.p95": oldest / 2,
        "staleness.max": oldest,
        "episode_seconds.length_bias": bias,
        "workers.utilisation": 0.9,
        "workers.goodput": 0.8,
    }


Runs = Mapping[tuple[str, int], list[dict[str, Any]] | str]
"""What each strategy (by name) comes to with each number of workers: a row a seed, or an error."""


def _sweep(strategies: Mapping[str, dict[str, Any]], runs: Runs) -> Sweep:
    workers = sorted({count for _, count in runs})
    seeds = max(len(rows) for rows in runs.values() if not isinstance(rows, str))
    grid = make_grid(_hour(), {"strategy": list(strategies.values()), "rollout.workers": workers}, seeds)
    rows = []
    for point, (name, count) in enumerate((name, count) for name in strategies for count in workers):
        outcome = runs.get((name, count), "not made")
        for place, seed in enumerate(grid.seeds):
            told = {"error": outcome} if isinstance(outcome, str) else {"error": None, **outcome[place]}
            rows.append(grid.row(point, seed, told))
    return Sweep(grid, rows)


def _advice(strategies: Mapping[str, dict[str, Any]], runs: Runs, **limits: float) -> Advice:
    return advise_on(_sweep(strategies, runs), make_limits(dict(limits)), scenario=_hour(), budget=96)


def _names(advice: Advice) -> list[str]:
    return [found.option.name for found in advice.best]


def test_the_most_updates_an_hour_within_the_limits_come_first() -> None:
    advice = _advice(
        {"sync": SYNCHRONOUS, "none": NO_CAP, "gate": GATE},
        {
            ("sync", 64): [_row(20, 0), _row(22, 0)],
            ("none", 64): [_row(170, 8.7), _row(174, 8.7)],
            ("gate", 64): [_row(146, 1.9), _row(148, 1.9)],
        },
        max_staleness=2,
    )
    assert _names(advice) == ["asynchronous, gate 2, 64 workers", "synchronous, 64 workers"]
    gate, rounds = advice.best
    # 147 of 172 is 14.5 % less; the intervals of both differences, -25 ± 12.7 and 126 ± 12.7, are clear of 0.
    assert gate.sentence == (
        "against asynchronous, no cap, 64 workers, beyond the limits: costs 15% of its updates; "
        "gains staleness (8.70 to 1.90)"
    )
    assert rounds.gives_up == ("86% of its updates",)
    assert rounds.gains == ("staleness (1.90 to 0.00)",)
    assert gate.yaml == "strategy:\n  kind: asynchronous\n  max_staleness: 2"
    assert gate.overrides == ("strategy={kind: asynchronous, max_staleness: 2}",)
    assert (len(advice.met), advice.binding, advice.nearest) == (2, (), None)


def test_a_tie_within_the_interval_goes_to_the_fresher_and_then_to_fewer_workers() -> None:
    table = _sweep(
        {"none": NO_CAP, "gate": GATE, "cancel": CANCEL},
        {
            # Seed by seed 6 ± 3 x 12.7 from no cap with 96: not told apart; cancel is, by 20 ± 0.
            ("none", 96): [_row(120, 3.0), _row(126, 3.0)],
            ("none", 64): [_row(119, 2.0), _row(115, 2.0)],
            ("gate", 96): [_row(117, 1.5), _row(117, 1.5)],
            ("gate", 64): [_row(113, 1.505), _row(117, 1.505)],
            ("cancel", 96): [_row(100, 1.0), _row(106, 1.0)],
        },
    )
    order = [option.name for option in ranked([o for o in options_of(table) if not o.failed])]
    assert order == [
        "asynchronous, gate 2, 64 workers",
        "asynchronous, gate 2, 96 workers",
        "asynchronous, no cap, 64 workers",
        "asynchronous, no cap, 96 workers",
        "asynchronous, cancel 4, 96 workers",
    ]


def test_updates_a_tenth_apart_are_no_tie_however_wide_the_intervals() -> None:
    table = _sweep(
        {"none": NO_CAP, "resume": RESUME},
        {("none", 64): [_row(100, 1.4), _row(120, 1.4)], ("resume", 64): [_row(90, 0.3), _row(40, 0.3)]},
    )
    none, resume = options_of(table)
    assert difference(none, resume, "updates_per_hour", 1.0) == 0  # 45 ± 12.7 x 35
    assert ranked([resume, none]) == [none, resume]


def test_a_tenth_of_few_updates_is_no_tie_although_it_is_less_than_one_update_of_a_run() -> None:
    # An hour long, so that an update of a run is 1 an hour: 3.8 and 3.0 are means of five whole numbers.
    table = _sweep(
        {"abort": SYNCHRONOUS, "none": NO_CAP},
        {
            ("none", 64): [_row(updates, 1.2) for updates in (3, 4, 4, 4, 4)],
            ("abort", 64): [_row(3, 0.0)] * 5,
        },
    )
    abort, none = options_of(table)
    assert (abort.mean("updates_per_hour"), none.mean("updates_per_hour")) == (3.0, 3.8)
    assert ranked([abort, none]) == [none, abort]
    # Of one seed too: 150 and 120 an hour are 5 and 4 updates in two minutes.
    five, four = (
        replace(abort, runs=1, resolution=30.0, values={PACE: {1: rate}, "staleness.mean": {1: old}})
        for rate, old in ((150.0, 2.0), (120.0, 0.0))
    )
    assert ranked([four, five]) == [five, four]


def test_means_over_seeds_that_are_told_apart_are_no_tie_however_close() -> None:
    # Seed by seed 1 ± 0: one update of a run, a hundredth of all.
    table = _sweep(
        {"none": NO_CAP, "gate": GATE},
        {("none", 64): [_row(119, 3.0), _row(121, 3.0)], ("gate", 64): [_row(118, 1.0), _row(120, 1.0)]},
    )
    assert [option.family for option in ranked(options_of(table))] == ["no cap", "gate"]


def test_a_tie_to_the_last_goes_to_the_less_biased() -> None:
    # A tenth of a version of staleness is not worth a bias.
    table = _sweep(
        {"cancel": CANCEL, "gate": GATE},
        {("cancel", 64): [_row(118, 1.91, bias=0.81)], ("gate", 64): [_row(118, 1.97, bias=1.0)]},
    )
    assert [option.family for option in ranked(options_of(table))] == ["gate", "cancel"]


def test_a_difference_of_one_update_in_a_run_is_none() -> None:
    table = _sweep(
        {"none": NO_CAP, "gate": GATE},
        {("none", 64): [_row(119, 3.0)], ("gate", 64): [_row(118, 1.0)], ("gate", 96): [_row(117, 1.0)]},
    )
    by_name = {option.name: option for option in options_of(table)}
    none = by_name["asynchronous, no cap, 64 workers"]
    gate, wide = (by_name[f"asynchronous, gate 2, {n} workers"] for n in (64, 96))
    assert difference(none, gate, "updates_per_hour", none.resolution) == 0
    assert difference(none, wide, "updates_per_hour", none.resolution) == 2


def test_near_duplicates_do_not_fill_the_places() -> None:
    advice = _advice(
        {"sync": SYNCHRONOUS, "resume": RESUME, "none": NO_CAP, "gate": GATE},
        {
            ("none", 96): [_row(160, 2.0)],
            ("none", 80): [_row(150, 1.9)],
            ("none", 64): [_row(140, 1.8)],
            ("gate", 96): [_row(158, 2.0)],  # better than no cap in nothing
            ("resume", 96): [_row(80, 0.5)],
            ("sync", 64): [_row(20, 0.0)],
        },
    )
    assert _names(advice) == [
        "asynchronous, no cap, 96 workers",
        "synchronous, 1.5 resume, 96 workers",
        "synchronous, 64 workers",
    ]


def test_places_left_go_to_other_updates_of_a_family_and_then_to_another_family() -> None:
    runs: dict[tuple[str, int], list[dict[str, Any]] | str] = {
        ("none", 96): [_row(160, 2.0)],
        ("none", 80): [_row(159.5, 1.5)],
        ("none", 64): [_row(130, 1.2)],
        ("gate", 96): [_row(120, 2.0, bias=0.8)],
    }
    # 159.5 ties with 160 and is fresher; then the same with other updates; then what is better in nothing.
    assert _names(_advice({"none": NO_CAP, "gate": GATE}, runs)) == [
        "asynchronous, no cap, 80 workers",
        "asynchronous, no cap, 64 workers",
        "asynchronous, gate 2, 96 workers",
    ]


def test_a_cap_that_never_acts_is_the_same_choice() -> None:
    same: dict[str, Any] = {**_row(100, 1.0), "trace_sha256": "abc"}
    advice = _advice({"none": NO_CAP, "gate": GATE}, {("none", 64): [same], ("gate", 64): [same]})
    assert _names(advice) == ["asynchronous, no cap, 64 workers"]
    (only,) = advice.best
    assert (only.against, only.sentence, only.yaml) == (None, "", "")


def test_an_impossible_limit_is_the_one_that_binds() -> None:
    runs: Runs = {
        ("sync", 64): [_row(20, 0.0)],
        ("none", 64): [_row(170, 8.0, bias=0.98)],
        ("cancel", 64): [_row(180, 1.5, bias=0.7)],
    }
    every = {"sync": SYNCHRONOUS, "none": NO_CAP, "cancel": CANCEL}
    advice = _advice(every, runs, max_staleness=2, min_length_bias=1.25)
    assert advice.best == ()
    assert [limit.option for limit in advice.binding] == ["--min-length-bias 1.25"]
    staleness, bias = advice.reports
    assert (staleness.meet, staleness.without, staleness.best, staleness.binds) == (2, 0, 0.0, False)
    assert (bias.meet, bias.without, bias.best, bias.binds) == (0, 2, 1.0, True)
    # Synchronous misses 1.25 by a fifth; no cap 2 by three times it; cancel 1.25 by 44 %.
    assert advice.nearest is not None
    assert advice.nearest.option.strategy_name == "synchronous"
    told = advice.to_json()
    assert (told["met"], told["binding"]) == (False, ["min_length_bias"])
    assert told["nearest"]["misses"] == {"min_length_bias": 0.25}


def test_the_nearest_is_one_that_would_do_without_the_limit_that_binds() -> None:
    runs: Runs = {
        ("sync", 64): [_row(20, 0.0) | {"workers.goodput": 0.13}],
        ("gate", 64): [_row(40, 0.21, bias=0.9)],
        ("none", 64): [_row(170, 8.0)],
    }
    limits = {"max_staleness": 0.2, "min_length_bias": 0.99, "min_goodput": 0.9}
    advice = _advice({"sync": SYNCHRONOUS, "gate": GATE, "none": NO_CAP}, runs, **limits)
    assert [limit.name for limit in advice.binding] == ["min_goodput"]
    # The gate misses three limits by a ninth at most, synchronous the one that binds by 86 %.
    assert advice.nearest is not None
    assert advice.nearest.option.strategy_name == "synchronous"
    text = " ".join(_drawn(advice, 80).split())
    assert "misses goodput at least 0.9: 0.130, by 85.6%" in text
    assert "nearest of those that miss one limit alone, by the worst miss as a share of its limit" in text


def test_a_miss_is_reported_to_the_places_that_show_it() -> None:
    advice = _advice({"none": NO_CAP}, {("none", 64): [_row(170, 1, bias=0.98996)]}, min_length_bias=0.99)
    text = _drawn(advice, 80)
    assert "misses length bias at least 0.99: 0.98996, by <0.1%" in text
    assert "0 of 1  1 would do  0.98996" in text


def test_either_of_two_limits_may_bind() -> None:
    runs: Runs = {("none", 64): [_row(170, 3.0)], ("cancel", 64): [_row(180, 1.5, bias=0.7)]}
    advice = _advice({"none": NO_CAP, "cancel": CANCEL}, runs, max_staleness=2, min_length_bias=0.9)
    assert [limit.name for limit in advice.binding] == ["max_staleness", "min_length_bias"]
    assert advice.nearest is not None
    # 0.7 misses 0.9 by 22 %, staleness 3 misses 2 by a half.
    assert advice.nearest.option.strategy_name == "asynchronous, cancel 4"
    assert "What binds is --max-staleness 2 or --min-length-bias 0.9." in _drawn(advice, 80)


def test_where_only_several_limits_together_rule_all_out_none_is_said_to_bind() -> None:
    advice = _advice({"none": NO_CAP}, {("none", 64): [_row(170, 3.0)]}, max_staleness=2, min_length_bias=1.5)
    assert advice.binding == ()
    assert "No limit binds alone" in _drawn(advice, 80)


def test_a_limit_inside_the_interval_is_flagged() -> None:
    # The mean 1.9 meets 2; its interval is ± 4.303 x 0.1 / √3.
    runs: Runs = {("gate", 64): [_row(100, 1.8), _row(100, 1.9), _row(100, 2.0)]}
    advice = _advice({"gate": GATE}, runs, max_staleness=2, min_length_bias=0.9)
    assert [limit.name for limit in advice.best[0].unclear] == ["max_staleness"]
    assert "mean staleness 1.90 ±0.25 straddles the limit" in _drawn(advice, 80)


def test_what_fails_or_trains_nothing_is_not_advised() -> None:
    runs: Runs = {
        ("sync", 64): "deadlock at 10 s: all wait",
        ("none", 64): [{**_row(0, 0), "staleness.mean": None, "episode_seconds.length_bias": None}],
        ("gate", 64): [_row(5, 1.0)],
    }
    advice = _advice({"sync": SYNCHRONOUS, "none": NO_CAP, "gate": GATE}, runs)
    assert _names(advice) == ["asynchronous, gate 2, 64 workers"]
    assert "1 of the candidates failed, as: deadlock at 10 s: all wait" in " ".join(
        _drawn(advice, 80).split()
    )
    runs = {("sync", 64): "deadlock", ("none", 64): [{**_row(0, 0), "staleness.mean": None}]}
    advice = _advice({"sync": SYNCHRONOUS, "none": NO_CAP}, runs, max_staleness=1)
    assert (advice.best, advice.nearest, advice.binding) == ((), None, ())
    assert "No candidate ran to its end and trained a batch." in _drawn(advice, 80)
    json.dumps(advice.to_json(), allow_nan=False)


@settings(max_examples=50)
@given(budget=st.integers(1, 300), batch=st.integers(1, 128), own=st.integers(1, 300))
def test_no_candidate_exceeds_the_budget(budget: int, batch: int, own: int) -> None:
    scenario = small(
        rollout={"workers": own, "episode_seconds": 5}, trainer={"batch_size": batch, "update_seconds": 2}
    )
    counts = worker_counts(scenario, budget)
    assert counts == sorted(set(counts))
    assert counts[-1] == budget
    assert counts[0] >= 1
    assert (own in counts) == (own <= budget)
    assert vary(scenario, budget=budget)["rollout.workers"] == counts


def test_the_strategies_are_those_of_the_field_each_once_with_bounds_at_the_limit() -> None:
    scenario = small()
    labels = [strategy.options() for strategy in strategies(scenario, [3.0, 2.0])]
    assert len(labels) == 1 + 6 + 1 + 1 + 5 + 4 + 4
    assert all(labels.count(label) == 1 for label in labels)
    assert {"kind": "asynchronous", "max_staleness": 3, "enforce": "cancel"} in labels
    assert {"kind": "asynchronous", "max_staleness": 0.5} in labels
    kinds = {option.family for option in options_of(Sweep(make_grid(scenario, {"strategy": labels}, 1), []))}
    rounds = {f"synchronous {unfinished}" for unfinished in ("wait", "abort", "resume", "defer")}
    assert kinds == rounds | {"one_step_off", "no cap", "gate", "drop", "cancel"}
    # No scenario takes a bound this high: the limit remains, the three candidates at it do not.
    assert len(strategies(scenario, [2e6])) == 22 - 3


def test_what_belongs_to_the_engine_is_kept_and_the_scenario_itself_is_tried() -> None:
    own = {"kind": "asynchronous", "max_staleness": 7, "weights": "in_flight", "refresh_overhead": 2}
    tried = [strategy.options() for strategy in strategies(small(strategy=own))]
    assert tried[-1] == own
    asynchronous = [given for given in tried if given["kind"] == "asynchronous"]
    assert all(given["refresh_overhead"] == 2 for given in asynchronous)
    own = {"kind": "synchronous", "oversample": 2, "unfinished": "resume", "resume_overhead": 3}
    tried = [strategy.options() for strategy in strategies(small(strategy=own))]
    assert [given["oversample"] for given in tried if "resume_overhead" in given] == [1.25, 1.5, 2]


ROUGH = """
name: rough
duration: 10m
rollout: {workers: 6, group_size: 2, episode_seconds: {kind: lognormal, median: 5, sigma: 1}}
trainer: {batch_size: 8, update_seconds: 4}
strategy: {kind: asynchronous, max_staleness: 6, enforce: drop, weight_sync: pause}
environment: {sandboxes: 7, failure_probability: 0.05, retries: 1}
events: [{at: 60s, crash: {workers: [3], restart_seconds: 10}}]
lanes: [{name: wide, rollout: {workers: 12}}]
"""


@pytest.fixture(scope="module")
def rough(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("advise") / "rough.yaml"
    path.write_text(ROUGH)
    return str(path)


@pytest.fixture(scope="module")
def advised(rough: str) -> Advice:
    return emulator.advise(
        emulator.load_scenario(rough), max_staleness=1.5, budget_workers=9, seeds=2, jobs=1
    )


def test_the_yaml_pasted_into_the_file_or_a_lane_gives_the_same_figures(
    rough: str, advised: Advice, tmp_path: Any
) -> None:
    assert len(advised.best) == 3
    yaml = YAML(typ="safe", pure=True)
    for found in advised.best:
        document = yaml.load(ROUGH)
        pasted = yaml.load(found.yaml) or {}
        assert pasted == found.changes
        assert set(pasted) <= {"rollout", "strategy"}
        document["lanes"] = [{"name": "pasted", **pasted}]
        (lane,) = Scenario.model_validate(document).lane_scenarios()
        path = tmp_path / "pasted.yaml"
        path.write_text(json.dumps(document | pasted))
        assert emulator.load_scenario(rough, overrides=found.overrides) == Scenario.model_validate(
            yaml.load(ROUGH) | pasted
        )
        for seed in (1, 2):
            run = emulator.run(emulator.load_scenario(path), speed="max", seed=seed)
            assert run.trace_sha256 == found.option.traces[seed - 1]
            assert run.result["updates_per_hour"] == found.option.values["updates_per_hour"][seed]
            assert run.result["staleness"]["mean"] == found.option.values["staleness.mean"][seed]
            assert emulator.run(lane, speed="max", seed=seed).trace_sha256 == run.trace_sha256


@pytest.mark.parametrize("name", [bundled.name for bundled in bundled_scenarios()])
def test_sections_written_as_yaml_are_read_as_the_same(name: str) -> None:
    sections = given_of(emulator.load_scenario(name))
    assert YAML(typ="safe", pure=True).load(yaml_of({"rollout": sections["rollout"]})) == {
        "rollout": sections["rollout"]
    }


def test_the_best_are_different_within_limits_and_budget(advised: Advice) -> None:
    assert {option.workers for option in advised.options} == {4, 6, 8, 9}
    assert advised.own is not None
    assert not advised.own.changes(advised.scenario)
    assert len({found.option.family for found in advised.best}) == 3
    for found in advised.best:
        assert found.option.workers <= 9
        assert (found.option.mean("staleness.mean") or 0) <= 1.5
    # The best is not told from the fastest of all that meet the limits.
    most = max(advised.met, key=lambda option: option.mean("updates_per_hour") or 0)
    best = advised.best[0].option
    assert difference(most, best, "updates_per_hour", best.resolution) == 0


@pytest.mark.parametrize("width", [80, 120])
def test_the_answer_fits_the_page_and_its_yaml_starts_in_the_first_column(
    advised: Advice, width: int
) -> None:
    lines = _drawn(advised, width).splitlines()
    # What is to be copied is never broken.
    assert max(len(line) for line in lines if not line.startswith(("--set ", "  "))) <= width
    for found in advised.best:
        for line in found.yaml.splitlines():
            assert line in lines
        if found.overrides:
            assert " ".join(f"--set {shlex.quote(text)}" for text in found.overrides) in lines
        assert any(line.endswith(found.option.name) for line in lines)
    assert lines[1].startswith("limits: mean staleness at most 1.5, at most 9 workers")


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_staleness": -1}, "--max-staleness: found -1; allowed: a number from 0 to 1000000"),
        ({"min_length_bias": 1e308}, "--min-length-bias: found 1e+308; allowed: a number from 0 to 1000"),
        ({"min_length_bias": float("nan")}, "--min-length-bias: found nan"),
        ({"max_staleness_p95": float("inf")}, "--max-staleness-p95: found inf"),
        ({"min_goodput": 98}, "--min-goodput: found 98; allowed: a number from 0 to 1"),
        ({"budget_workers": 0}, "--budget-workers: found 0; allowed: a whole number of workers from 1"),
        (
            {"budget_workers": 2},
            "--budget-workers: found 2; allowed: at least 4 workers, which the scenario needs "
            "(events.0.crash.workers is worker 3)",
        ),
    ],
)
def test_a_limit_that_is_none_is_refused_before_anything_runs(
    rough: str, limits: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        emulator.advise(emulator.load_scenario(rough), progress=_never, **limits)
    assert message in str(refused.value)


def _never(done: int, runs: int) -> None:
    raise AssertionError("something was run")


def test_the_function_stays_a_function_beside_its_package() -> None:
    import emulator.advice  # noqa: PLC0415

    assert callable(emulator.advise)


def _cli(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["advise", *words])
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out, told.err


QUICK = ("--set", "duration=2m", "--seeds", "1", "--jobs", "1")


def test_the_command_prints_the_answer_as_json(rough: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _cli(capsys, rough, *QUICK, "--seed", "7", "--max-staleness", "1", "--json", "--quiet")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["limits"], told["budget_workers"], told["seeds"]) == ({"max_staleness": 1}, 6, [7])
    best = told["best"][0]
    assert best["meets"]
    overrides = [
        "duration=2m",
        f"strategy={json.dumps(best['strategy'])}",
        f"rollout.workers={best['workers']}",
    ]
    run = emulator.run(emulator.load_scenario(rough, overrides=overrides, seed=7), speed="max")
    assert best["figures"]["updates_per_hour"]["mean"] == run.result["updates_per_hour"]


def test_limits_that_cannot_be_met_are_an_answer_with_code_1(
    rough: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _cli(capsys, rough, *QUICK, "--min-length-bias", "9", "--max-staleness", "5")
    assert code == 1
    assert "What binds is --min-length-bias 9." in out
    assert "misses length bias at least 9" in out
    assert "\x1b" not in out + err
    assert "runs" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-staleness", "-1"], "--max-staleness: found -1"),
        (["--seeds", "few"], "found few; allowed: how many"),
        (["--seeds", "1,2", "--seed", "1"], "names all seeds already"),
        (["--jobs", "0"], "found 0 jobs"),
        (["--budget-workers", "0"], "--budget-workers: found 0"),
    ],
)
def test_bad_usage_is_reported_with_code_2(
    rough: str, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    code, out, err = _cli(capsys, rough, *words)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())


def test_an_interrupted_sweep_gives_no_advice(
    rough: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: Any, **kwargs: Any) -> None:
        raise SweepInterrupted(_sweep({"none": NO_CAP}, {("none", 64): [_row(1, 1)]}))

    monkeypatch.setattr("emulator.advice.advising.sweep", interrupted)
    code, out, err = _cli(capsys, rough, "--quiet")
    assert (code, out) == (130, "")
    assert "1 of 1 runs are done; there is no advice" in err


def test_a_sweep_that_lost_a_process_gives_no_advice(
    rough: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise SweepBrokenError("a process of the sweep was killed", 3, 9, "they are kept")

    monkeypatch.setattr("emulator.advice.advising.sweep", broken)
    code, out, err = _cli(capsys, rough, "--quiet")
    assert (code, out) == (1, "")
    assert err == (
        "a process of the sweep was killed: 3 of 9 runs were done, and there is no advice from a part; "
        "try again, with fewer processes (--jobs) if memory is short\n"
    )


def _drawn(advice: Advice, width: int) -> str:
    page = io.StringIO()
    Console(file=page, width=width, color_system=None).print(AdviceSummary(advice), crop=False)
    return "\n".join(line.rstrip() for line in page.getvalue().split("\n"))


_FIGURE = st.tuples(
    st.floats(1, 500).map(lambda x: round(x, 1)),
    st.floats(0, 20).map(lambda x: round(x, 2)),
    st.floats(0.2, 1.3).map(lambda x: round(x, 3)),
    st.floats(0.1, 1).map(lambda x: round(x, 3)),
)
_ROWS = st.integers(1, 4).flatmap(lambda n: st.tuples(*[st.lists(_FIGURE, min_size=n, max_size=n)] * 3))


@settings(max_examples=150)
@given(_ROWS, st.booleans())
def test_every_sentence_follows_from_the_means_that_are_read(rows: Any, alike: bool) -> None:
    """Whatever the results: what is gained is better, what is given up is worse, and nothing is left out."""
    if alike:  # close to each other, so that some tie
        rows = [
            [
                tuple(a + (b - a) / 50 for a, b in zip(*pair, strict=True))
                for pair in zip(rows[0], r, strict=True)
            ]
            for r in rows
        ]
    made = [[_row(u, s, bias=b, oldest=2 * s) | {"workers.goodput": g} for u, s, b, g in own] for own in rows]
    table = _sweep({"none": NO_CAP, "gate": GATE, "cancel": CANCEL}, dict(zip(_PLACES, made, strict=True)))
    advice = advise_on(table, (), scenario=_hour(), budget=96)
    assert advice.best
    for found in advice.best:
        if found.against is None:
            continue
        assert "nothing" not in found.sentence
        for parts, better in ((found.gains, True), (found.gives_up, False)):
            for text in parts:
                assert text in found.sentence
                assert _is_better(text, found.option, found.against) == better, text
        told = " ".join((*found.gains, *found.gives_up, *found.ties))
        for figure, words, form in _READ:
            own, other = found.option.mean(figure) or 0.0, found.against.mean(figure) or 0.0
            if form.format(own) != form.format(other):
                assert any(word in told for word in words), (figure, found.sentence)
        assert found.sentence.endswith("the same in every figure") == (not told)


_PLACES = [("none", 64), ("gate", 64), ("cancel", 64)]
_READ = (
    ("updates_per_hour", ("more updates", "of its updates", "updates per hour"), "{:.1f}"),
    ("staleness.mean", ("staleness",), "{:.2f}"),
    ("episode_seconds.length_bias", ("length bias",), "{:.2f}"),
    ("workers.goodput", ("goodput",), "{:.1%}"),
)


def _is_better(text: str, option: Option, other: Option) -> bool:
    if "updates" in text:
        return (option.mean("updates_per_hour") or 0) > (other.mean("updates_per_hour") or 0)
    theirs, own = map(float, re.findall(r"[\d.]+(?=%?(?: to |\)))", text))
    return own < theirs if "staleness" in text else own > theirs


def test_short_batches_are_no_way_to_more_updates() -> None:
    hasty = {"kind": "synchronous", "unfinished": "abort", "deadline": 1}
    scenario = small(strategy=hasty)
    sweep = emulator.sweep(scenario, {"strategy": [hasty, {"kind": "synchronous"}]}, seeds=1)
    short, whole = options_of(sweep)
    (row, other) = sweep.rows
    part = row["trainer.batch_mean"] / scenario.trainer.batch_size
    assert part < 1
    assert short.mean("updates_per_hour") == row["updates_per_hour"]
    assert short.mean(PACE) == pytest.approx(row["updates_per_hour"] * part)
    assert whole.mean(PACE) == whole.mean("updates_per_hour") == other["updates_per_hour"]
    changed = " ".join([*compare(short, whole).gives_up, *compare(short, whole).gains])
    assert "trained episodes" in changed
    drawn = _drawn(advise_on(sweep, (), scenario=scenario, budget=scenario.rollout.workers), 100)
    assert "per update" in drawn
    assert f"{row['updates_per_hour']:.1f}" in drawn
