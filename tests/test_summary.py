"""The texts in `tests/golden` are made anew by ``python -m tests.golden.make``; look at what changed."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

import emulator
from emulator import Run, RunError, Scenario
from emulator.errors import DeadlockError, EndlessInstantError, LearnerError
from emulator.summary import RaceSummary, RunSummary, verdict
from emulator.theory import limits
from tests.golden.make import CLOCK, WIDTHS, draw, golden, summaries

CASES = dict(summaries())
STALL = {"at": 20.0, "stall_trainer": {"for": 60}}


def run_of(strategy: dict[str, object] | None = None, *, duration: float = 600.0) -> Run:
    scenario = Scenario.model_validate(
        {
            "duration": duration,
            "rollout": {"workers": 4, "episode_seconds": 20},
            "trainer": {"batch_size": 4, "update_seconds": 15},
            "strategy": strategy or {"kind": "asynchronous"},
        }
    )
    return replace(emulator.run(scenario, speed="max"), clock=CLOCK)


def lane(name: str, updates_per_hour: float, **changes: object) -> Run:
    run = run_of()
    result = {**run.result, "updates": int(updates_per_hour), "updates_per_hour": updates_per_hour}
    return replace(run, name=name, result=result, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", CASES)
def test_a_summary_is_drawn_as_it_was(name: str, width: int) -> None:
    assert draw(CASES[name], width) == golden(name, width).read_text()


@pytest.mark.parametrize("name", CASES)
def test_a_summary_fits_80_columns_without_cutting_a_figure(name: str) -> None:
    text = draw(CASES[name], 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


@pytest.mark.parametrize("width", [20, 40, 60])
@pytest.mark.parametrize("name", CASES)
def test_a_narrow_terminal_gets_lines_of_its_width(name: str, width: int) -> None:
    assert max(map(len, draw(CASES[name], width).splitlines())) <= width


@pytest.mark.parametrize("width", [30, 36, 46, 60])
def test_on_a_narrow_terminal_the_histogram_keeps_its_figures_and_its_bars_shrink(width: int) -> None:
    run = run_of({"kind": "asynchronous", "max_staleness": 1})
    counts = [17, 16_007, 1_200, 40]
    histogram = {**run.result["staleness"], "histogram": counts}
    run = replace(run, result={**run.result, "staleness": histogram})
    text = draw(RunSummary(run), width)
    rows = text[text.index("staleness of trained episodes") :].splitlines()[1:6]
    assert [row.split()[-2:] for row in rows if "limit" not in row] == [
        ["17", "0.1%"],
        ["16,007", "93%"],
        ["1,200", "7%"],
        ["40", "0.2%"],
    ]
    assert rows[1].count("█") == min(40, width - 5 - 6 - 4 - 4)
    assert "…" not in "".join(rows)


def test_a_stream_that_is_not_unicode_gets_ascii_bars() -> None:
    page = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    for summary in CASES.values():
        Console(file=page, width=80, color_system=None).print(summary)
    page.flush()
    assert b"########" in page.buffer.getvalue()  # type: ignore[attr-defined]


def test_the_plain_hour_has_only_the_lines_that_say_something() -> None:
    text = draw(CASES["run"], 80)
    for word in ("goodput", "lost", "otherwise", "groups", "environment", "limit", "versions"):
        assert word not in text


def test_theory_stands_beside_what_was_measured() -> None:
    text = draw(CASES["run"], 80)
    assert "108 updates, 6,912 episodes, theory 108.6 ± 1.7" in text
    assert "theory 1.43 ± 0.01" in text
    lines = draw(CASES["race"], 80).splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("updates per hour"))
    assert lines[at + 1].split() == ["theory", "14.1", "±", "2.0", "108.6", "±", "1.7"]
    many = draw(CASES["race-of-8"], 80)
    assert "theory, updates per hour: sync 14.1, one step off 15.0, drop 1 → 86.2,\n  async 108.6" in many


def test_what_a_figure_cannot_exceed_or_tends_to_is_shown_where_no_more_is_known() -> None:
    gate = {"kind": "asynchronous", "max_staleness": 1.5}
    text = draw(RunSummary(run_of(gate)), 80)
    assert "theory at most 1.5 on average" in text
    # Of a drop it holds for each episode, which is whole versions old.
    text = draw(RunSummary(run_of({**gate, "enforce": "drop"})), 80)
    assert "theory at most 1\n" in text
    lines = draw(CASES["race-of-4"], 80).splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("staleness"))
    assert lines[at + 1].split() == ["theory", "≤", "1", "≤", "1", "≤", "12", "≤", "1"]
    at = next(index for index, line in enumerate(lines) if line.startswith("  of the finished"))
    assert lines[at].split()[-2:] == ["11.8%", "13.3%"]
    # All episodes that are longer than the cap allows, an eighth of them.
    assert lines[at + 1].split() == ["theory", "→", "12.5%", "→", "0.0%"]
    assert "dropped of the finished: drop 1 20.9% (theory → 21.0%)" in draw(CASES["race-of-8"], 80)


def test_a_run_shows_the_share_it_dropped_beside_theory() -> None:
    episodes = {"kind": "lognormal", "median": 20, "sigma": 1.0}
    scenario = Scenario.model_validate(
        {
            "duration": 1800,
            "rollout": {"workers": 16, "episode_seconds": episodes},
            "trainer": {"batch_size": 16, "update_seconds": 15},
            "strategy": {"kind": "asynchronous", "max_staleness": 1, "enforce": "drop"},
        }
    )
    run = emulator.run(scenario, speed="max")
    dropped = run.result["episodes"]["dropped"] / run.result["episodes"]["finished"]
    tends = limits(scenario)["episodes.dropped_share"].value
    text = draw(RunSummary(run), 80)
    assert f"{100 * dropped:.1f}% dropped, theory tends to {100 * tends:.1f}%" in text
    assert "dropped, theory" not in draw(RunSummary(replace(run, interventions=[STALL])), 80)


def test_where_no_law_holds_no_theory_is_shown() -> None:
    # Only the age at which episodes are cancelled holds whatever happens.
    assert draw(CASES["run-everything"], 80).count("theory") == 1
    # Of a lane that stopped, and one that lived: only the latter has theory.
    lines = [line for line in draw(CASES["race-deadlock"], 80).splitlines() if "theory" in line]
    assert [line.split() for line in lines] == [["theory", "174.0"], ["theory", "100%"], ["theory", "72%"]]


def test_what_a_person_changed_has_no_theory() -> None:
    run = run_of()
    assert "theory" in draw(RunSummary(run), 80)
    changed = replace(run, interventions=[STALL])
    assert "theory" not in draw(RunSummary(changed), 80)
    assert "theory" not in draw(RaceSummary([replace(changed, name="a")] * 2), 80)


def test_a_summary_names_the_first_interventions_and_counts_the_others() -> None:
    crash = {"at": 65.0, "crash": {"workers": [0, 1], "restart_seconds": 60}}
    straggler = {"at": 720.0, "straggler": {"episode": 130, "factor": 8}}
    run = replace(run_of(), interventions=[STALL, crash, straggler])
    words = (
        "stall trainer: for 1m; 00:01:05 crash: workers 0, 1, restart 1m; 00:12:00 straggler: episode 130, x8"
    )
    assert f"00:00:20 {words}" in " ".join(draw(RunSummary(run), 80).split())
    many = replace(run, interventions=[STALL, crash, straggler, *[crash] * 1200], name="a")
    lanes = [many, replace(many, name="b"), replace(many, name="c", interventions=())]
    drawn = " ".join(draw(RaceSummary(lanes), 80).split())
    assert f"interventions in a, b: 00:00:20 {words}; and 1,200 more" in drawn
    assert "interventions" not in draw(RunSummary(run_of()), 80)


def test_an_interrupted_run_is_compared_with_theory_for_as_long_as_it_went() -> None:
    part = replace(run_of(duration=300.0), scenario=run_of().scenario, interrupted=True)
    # Constant episodes of 20 s and updates of 15 s: a batch each 20 s, the last by 280 s.
    assert "14 updates, 60 episodes, theory 168.0" in draw(RunSummary(part), 80)


def test_the_limit_is_drawn_between_what_keeps_it_and_what_is_beyond() -> None:
    text = draw(RunSummary(run_of({"kind": "asynchronous", "max_staleness": 0.5})), 80)
    lines = [line.strip() for line in text.splitlines()]
    at = next(index for index, line in enumerate(lines) if "limit 0.5" in line)
    assert lines[at - 1].startswith("0 ")
    assert lines[at + 1].startswith("1 ")


def test_an_interrupted_run_says_where_it_stopped() -> None:
    run = replace(run_of(), interrupted=True, result={**run_of().result, "emulated_seconds": 127.9})
    assert "Interrupted at 00:02:07 of 00:10:00." in draw(RunSummary(run), 80)
    assert "Interrupted at 00:02:07 of 00:10:00." in draw(RaceSummary([replace(run, name="a")] * 2), 80)


def test_a_run_that_ended_at_once_has_dashes_for_what_it_cannot_know() -> None:
    text = draw(RunSummary(run_of(duration=1.0)), 80)
    assert "STALENESS            -  p95 -, max -" in text
    assert "nan" not in text


def test_the_verdict_compares_the_leader_with_the_first_lane_and_names_the_price() -> None:
    runs = [lane("sync", 14.0), lane("async", 108.0), lane("gate", 99.0)]
    assert verdict(runs) == (
        "async: 7.7x the updates of sync; price: staleness 0.97 (max 1), length bias 1.00"
    )


def test_a_leading_first_lane_is_compared_with_the_slowest() -> None:
    assert verdict([lane("a", 50.0), lane("b", 25.0), lane("c", 10.0)]).startswith(
        "a: 5.0x the updates of c;"
    )


def test_lanes_within_two_percent_are_not_ahead_of_each_other() -> None:
    assert verdict([lane("a", 100.0), lane("b", 101.0)]) == (
        "no lane is ahead in updates; staleness 0.97; length bias 1.00"
    )


def test_a_lane_without_updates_is_shown_as_none() -> None:
    assert verdict([lane("a", 0.0), lane("b", 3.0)]).startswith("b: 3 updates, a none; price: staleness")


def test_a_deadlocked_lane_is_never_ahead_however_high_its_rate_was() -> None:
    dead = lane("dead", 900.0, error=RunError("deadlock at 20 s"))
    assert verdict([lane("a", 10.0), lane("b", 20.0), dead]).startswith("b: 2.0x the updates of a;")
    assert verdict([dead, lane("b", 20.0)]) == "no comparison: dead did not get to the end"


def test_markup_in_names_is_printed_as_it_is() -> None:
    text = draw(RaceSummary([lane("[bold]a", 10.0), lane("[/]", 20.0)]), 80)
    assert "[bold]a" in text
    assert "[/]" in text


def test_only_a_deadlock_is_called_one() -> None:
    run = emulator.run(emulator.load_scenario("stragglers", overrides=["duration=60"]), speed="max")
    for error, said in (
        (DeadlockError(60.0, "nobody"), "Stopped by a deadlock at 00:01:00"),
        (LearnerError(60.0, "update 0 raised ValueError"), "Stopped by an error at 00:01:00"),
        (EndlessInstantError(60.0, 5, "{}"), "Stopped by an error at 00:01:00"),
    ):
        assert said in draw(RunSummary(replace(run, error=error)), 80)


def test_lanes_with_short_batches_are_compared_by_the_episodes_that_they_train() -> None:
    document = {
        "duration": 600,
        "rollout": {"workers": 8, "episode_seconds": 20},
        "trainer": {"batch_size": 8, "update_seconds": 10},
        "strategy": {"kind": "synchronous"},
        "lanes": [
            {"name": "whole", "strategy": {"kind": "synchronous"}},
            {
                "name": "hasty",
                "strategy": {"kind": "synchronous", "unfinished": "abort", "deadline": 1},
            },
        ],
    }
    runs = emulator.race(emulator.Scenario.model_validate(document), speed="max")
    # Rounds of 20 s and updates of 10 s in both; at its deadline nothing is complete, then one episode is.
    assert [run.result["updates"] for run in runs] == [20, 20]
    assert [run.result["trainer"]["batch_mean"] for run in runs] == [8.0, 1.0]
    assert verdict(runs).startswith("whole: 8.0x the trained episodes of hasty; price: staleness 0.00")
    drawn = draw(RaceSummary(runs), 80)
    lines = {line.strip().rpartition("  ")[0].strip(): line.split()[-2:] for line in drawn.splitlines()}
    assert next(v for k, v in lines.items() if k.startswith("episodes per update")) == ["8", "1"]
    assert next(v for k, v in lines.items() if k.startswith("trained, against first")) == ["1.0x", "0.1x"]
    assert "against the first" not in drawn
    rows = draw(RaceSummary([*runs, *runs, *runs]), 80)
    assert "updates trained" in " ".join(rows.split())
    assert "hasty 120 0.1x" in " ".join(rows.split())
