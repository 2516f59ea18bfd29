import io

import pytest

import emulator
from emulator.clock import Speed
from emulator.events import Event
from emulator.progress import ProgressLines
from emulator.runner import run_lanes
from emulator.runs import Run
from emulator.scenario import Scenario


def scenario(**changes: object) -> Scenario:
    return Scenario.model_validate(
        {
            "name": "small",
            "duration": 1000,
            "rollout": {"workers": 4, "episode_seconds": 20},
            "trainer": {"batch_size": 4, "update_seconds": 15},
            "strategy": {"kind": "asynchronous"},
            **changes,
        }
    )


def lines_of(lanes: list[Scenario], *, speed: Speed = "max") -> tuple[list[str], list[Run]]:
    page = io.StringIO()
    lines = ProgressLines(lanes, page)
    runs = run_lanes(lanes, speed=speed, watch=lines.watch, sinks=[[sink] for sink in lines.sinks])
    return page.getvalue().splitlines(), runs


def test_a_run_of_years_has_no_more_lines_than_one_of_a_month() -> None:
    month, years = 10_000 * 300.0, 1e9
    rollout = {"workers": 4, "episode_seconds": 1e8}
    counts = [len(lines_of([scenario(duration=d, rollout=rollout)])[0]) for d in (month, years)]
    assert counts == [10_000, 9_980]
    lines, _ = lines_of([scenario(duration=years, rollout=rollout)])
    assert lines[0].startswith("27:50:00  0 updates")


def test_there_is_a_line_for_each_five_minutes_with_the_figures_of_that_moment() -> None:
    lines, _ = lines_of([scenario()])
    assert lines == [
        "00:05:00  14 updates, 100% busy, staleness 0.93",
        "00:10:00  29 updates, 100% busy, staleness 0.97",
        "00:15:00  44 updates, 100% busy, staleness 0.98",
    ]


@pytest.mark.parametrize("duration", [300, 600])
def test_a_line_reports_what_a_run_of_that_length_would_have_as_its_result(duration: float) -> None:
    lines, _ = lines_of([scenario()])
    result = emulator.run(scenario(duration=duration), speed="max").result
    assert (
        f"{result['updates']} updates, 100% busy, staleness {result['staleness']['mean']:.2f}"
        in lines[duration // 300 - 1]
    )


def test_the_lines_are_the_same_at_every_speed() -> None:
    assert lines_of([scenario()], speed=20_000)[0] == lines_of([scenario()])[0]


def test_the_end_of_the_run_has_a_line_where_it_falls_on_a_mark() -> None:
    assert [line[:8] for line in lines_of([scenario(duration=600)])[0]] == ["00:05:00", "00:10:00"]
    assert lines_of([scenario(duration=299)])[0] == []


def test_a_stretch_without_events_still_has_its_lines() -> None:
    slow = scenario(rollout={"workers": 4, "episode_seconds": 5000})
    assert lines_of([slow])[0] == [f"00:{m:02}:00  0 updates, 100% busy, staleness -" for m in (5, 10, 15)]


def test_the_lanes_of_a_race_share_a_line_each_by_name() -> None:
    race = scenario(
        duration=300,
        lanes=[{"name": "sync", "strategy": {"kind": "synchronous"}}, {"name": "async"}],
    )
    lines, _ = lines_of(list(race.lane_scenarios()))
    assert lines == [
        "00:05:00  sync: 8 updates, 60% busy, staleness 0.00 | async: 14 updates, 100% busy, staleness 0.93"
    ]


def test_a_lane_that_ended_early_is_reported_as_ended() -> None:
    race = scenario(
        lanes=[
            {"name": "dies", "events": [{"at": 10, "remove_workers": {"count": 4}}]},
            {"name": "lives"},
        ]
    )
    lines, _ = lines_of(list(race.lane_scenarios()))
    assert lines[0] == "00:05:00  dies: ended at 00:00:10 | lives: 14 updates, 100% busy, staleness 0.93"
    assert len(lines) == 3


def test_a_log_that_cannot_be_written_does_not_end_the_run() -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    lines = ProgressLines([scenario()], Broken())
    run = emulator.run(scenario(), speed="max", watch=lines.watch, sinks=lines.sinks)
    assert run.result["emulated_seconds"] == 1000


def test_progress_changes_nothing_in_the_trace() -> None:
    assert lines_of([scenario()])[1][0].trace_sha256 == emulator.run(scenario(), speed="max").trace_sha256


def test_a_sink_may_be_given_blocks_that_span_several_marks() -> None:
    events: list[Event] = []
    emulator.run(scenario(), speed="max", sinks=[events.extend])
    page = io.StringIO()
    one, many = ProgressLines([scenario()], page), ProgressLines([scenario()], page)
    one.sinks[0](events)
    for event in events:
        many.sinks[0]([event])
    assert one._lanes[0].lines == many._lanes[0].lines
    assert len(one._lanes[0].lines) == 3
