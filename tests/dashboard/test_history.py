"""The fold of events into what views draw: its totals are those of the figures, whatever happens."""

import pytest
from hypothesis import given, settings

import emulator
from emulator import events as ev
from emulator.dashboard.frame import draw
from emulator.dashboard.history import History
from emulator.dashboard.past import Totals
from emulator.dashboard.scale import Scale, scale
from emulator.dashboard.state import ClockReading
from emulator.dashboard.theme import Role
from emulator.figures import Figures
from emulator.runner import run_lanes
from emulator.scenario import Scenario
from tests.dashboard.scenarios import lanes_at, long_tail
from tests.scenarios import any_scenarios

FOUR = Scale(median=20.0, tail=20.0, straggler=60.0, column=10.0)


def four_workers(kind: str, **changes: object) -> Scenario:
    """Four workers whose episodes take 20 s each, in batches of four, with updates of 10 s."""
    return Scenario.model_validate(
        {
            "duration": 400,
            "rollout": {"workers": 4, "episode_seconds": 20},
            "trainer": {"batch_size": 4, "update_seconds": 10},
            "strategy": {"kind": kind},
            **changes,
        }
    )


@given(any_scenarios())
@settings(max_examples=60)
def test_totals_are_those_of_the_figures(scenario: Scenario) -> None:
    history, events = History(scenario, scale([scenario])), list[ev.Event]()
    run = run_lanes([scenario], speed="max", sinks=[[history.add, events.extend]])[0]
    t = run.result["emulated_seconds"]
    history.advance(t)
    figures = Figures(scenario)
    figures.add(events)
    seconds = figures.worker_seconds(t)
    for states, names in (
        ((Role.RUN,), ("generating",)),
        ((Role.IDLE,), ("waiting",)),
        ((Role.GATED,), ("gated",)),
        ((Role.BLOCKED,), ("blocked",)),
        ((Role.WEIGHTS,), ("overhead", "frozen")),
        ((Role.DOWN,), ("down",)),
    ):
        counted = sum(history.seconds()[state] for state in states)
        assert counted == pytest.approx(sum(seconds[name] for name in names), abs=1e-6), names
    trainer, totals = figures.trainer_seconds(t), history.totals()
    assert totals.trainer == pytest.approx(trainer["updating"] + trainer["pushing"], abs=1e-6)
    assert totals.queue == pytest.approx((run.result["queue"]["mean"] or 0.0) * t, abs=1e-6)
    assert totals.trained == run.result["episodes"]["trained"]
    assert history.crew.up == sum(worker.state != "down" for worker in figures.workers.values())


def test_time_that_nobody_looks_at_leaves_the_same_columns_as_time_that_is_watched() -> None:
    scenario = long_tail(duration=600)
    events = list[ev.Event]()
    run_lanes([scenario], speed="max", sinks=[[events.extend]])
    once, watched = (History(scenario, scale([scenario])) for _ in range(2))
    once.add(events)
    once.advance(600)
    for event in events:
        watched.advance((watched.t + event.t) / 2)
        watched.advance(event.t)
        watched.add([event])
    watched.advance(600)
    assert [column.states for column in once.past.columns] == [c.states for c in watched.past.columns]
    assert list(once.totals()) == pytest.approx(list(watched.totals()))
    assert once.log.last(10) == watched.log.last(10)


def test_a_synchronous_lane_loses_the_time_in_which_all_wait_for_one_an_asynchronous_none() -> None:
    straggler = {"at": 5, "straggler": {"episode": 1, "factor": 8}}
    synchronous, asynchronous = (
        lanes_at([four_workers(kind, events=[straggler])], 400)[0].history
        for kind in ("synchronous", "asynchronous")
    )
    # The other three finish at 20, the straggler at 160.
    assert synchronous.barrier.by_episode == {1: 140.0}
    assert synchronous.barrier.seconds == 140.0
    assert "all waited 2m20s for w001 (episode 1)" in [entry.text for entry in synchronous.log.entries]
    assert asynchronous.barrier.by_episode == {}
    assert asynchronous.barrier.seconds == 0.0


def rounds(events: list[ev.Event]) -> History:
    """Four workers that begin a round at 0, three of which have finished by 20."""
    history = History(four_workers("synchronous"), FOUR)
    history.add([ev.Start(0.0, w, w, 0, 0, 20.0) for w in range(4)])
    history.add([ev.Finish(20.0, w, w) for w in (0, 1)])
    history.add(events)
    return history


def test_the_log_names_the_retry_behind_the_longest_wait_and_keeps_that_line() -> None:
    history = rounds([ev.Finish(20.0, 2, 2), ev.Retry(50.0, 3, 3, "timeout"), ev.Finish(80.0, 3, 3)])
    history.add([ev.Update(80.0, 0, [0, 1, 2, 3])])
    history.advance(85.0)
    told = "longest wait 1m20s: w003, retry of episode 3 after a timeout"
    assert [entry.text for entry in history.log.entries if entry.kind == "wait"] == [told]
    for version in range(1, 100):
        history.log.add(85.0 + version, "inject", "something else")
    history.add([ev.Publish(200.0, 1)])
    assert history.log.last(3)[0].text == told
    assert told not in [entry.text for entry in history.log.last(2)]
    # A shorter wait says nothing; a longer one is told of, now that there was one worth it.
    for k, t in ((4, 230.0), (5, 400.0)):
        history.add([ev.Start(t - 20, 0, k, k, 1, 20.0), ev.Finish(t, 0, k), ev.Update(t, k, [k])])
        history.add([ev.Updated(t, k, True), ev.Publish(t, k)])
    assert history.log.longest == (400.0, "wait", "longest wait 2m50s: w000, episode 5", 0)


def test_the_log_names_the_loss_that_an_episode_of_the_longest_wait_was_begun_after() -> None:
    replaced = [
        ev.Fail(50.0, 3, 3, "failure"),
        ev.Abort(50.0, 2, 2, "group"),
        ev.Start(50.0, 3, 4, 2, 0, 20.0),
        ev.Start(50.0, 2, 5, 2, 0, 20.0),
        ev.Finish(70.0, 2, 5),
        ev.Finish(75.0, 3, 4),
        ev.Update(75.0, 0, [0, 1, 4, 5]),
    ]
    told = "longest wait 1m15s: w003, episode 4, begun after the group of episode 3 was lost to a failure"
    assert rounds(replaced).log.longest == (75.0, "wait", told, 0)
    alone = [event for event in replaced if not isinstance(event, ev.Abort)]
    one = rounds(alone).log.longest
    assert one is not None
    assert one.text.endswith("w003, episode 4, begun after episode 3 was lost to a failure")


def test_a_race_says_why_the_lane_behind_waited_longest() -> None:
    environment = {"failure_probability": 0.3, "timeout_seconds": 100, "retries": 2}
    lanes = lanes_at(long_tail(duration=600, environment=environment).lane_scenarios(), 600)
    longest = lanes[0].history.log.longest
    assert longest is not None
    assert "retry" in longest.text
    frame = draw(lanes, ClockReading(600, 60.0), (100, 30)).plain()
    assert f"SYNC {longest.text}" in frame


def test_one_step_off_loses_only_what_the_update_does_not_hide() -> None:
    straggler = {"at": 25, "straggler": {"episode": 5, "factor": 2}}
    (lane,) = lanes_at([four_workers("one_step_off", events=[straggler])], 100)
    # Its batch is generated from 20 on, all but the straggler until 40, that until 60; the update ends at 30.
    assert lane.history.barrier.by_episode == {5: 20.0}


def test_a_worker_is_a_straggler_when_it_is_old_or_made_one_or_when_all_wait_for_it() -> None:
    history = History(four_workers("synchronous"), FOUR)
    history.add([ev.Start(0.0, w, w, w, 0, 20.0) for w in range(4)])
    history.advance(10.0)
    assert history.states().tolist() == [Role.RUN_2] * 4
    history.add([ev.Inject(10.0, {"straggler": {"episode": 2, "factor": 8}})])
    assert history.states().tolist() == [Role.RUN_2, Role.RUN_2, Role.STRAGGLER, Role.RUN_2]
    history.add([ev.Finish(20.0, 2, 2), ev.Finish(20.0, 3, 3)])
    assert history.states().tolist() == [Role.RUN_4, Role.RUN_4, Role.IDLE, Role.IDLE]
    history.add([ev.Finish(21.0, 0, 0)])
    assert history.states().tolist() == [Role.IDLE, Role.STRAGGLER, Role.IDLE, Role.IDLE]
    history.add([ev.Start(21.0, w, w + 4, w, 0, 20.0) for w in (0, 2, 3)])
    assert history.states().tolist() == [Role.RUN, Role.RUN_4, Role.RUN, Role.RUN]
    history.advance(60.0)
    assert history.states().tolist() == [Role.RUN_4, Role.STRAGGLER, Role.RUN_4, Role.RUN_4]


def test_a_freeze_shows_every_worker_that_is_up_waiting_for_weights() -> None:
    history = History(four_workers("asynchronous"), FOUR)
    history.add([ev.Start(0.0, w, w, w, 0, 20.0) for w in (0, 1)])
    history.add([ev.Down(1.0, 3), ev.Push(2.0, True)])
    assert history.states().tolist() == [Role.WEIGHTS, Role.WEIGHTS, Role.WEIGHTS, Role.DOWN]
    history.add([ev.Publish(4.0, 1)])
    assert history.states().tolist() == [Role.RUN, Role.RUN, Role.IDLE, Role.DOWN]


def test_columns_are_bounded_and_rates_are_those_of_each_column() -> None:
    history = History(four_workers("synchronous"), FOUR)
    history.advance(10_000.0)
    assert len(history.past.columns) == 512
    assert history.past.closed == 999
    rates = history.past.rates(3)
    assert rates.busy() == [0.0, 0.0, 0.0]
    assert rates.staleness() == [None, None, None]
    (lane,) = lanes_at([four_workers("synchronous")], 31)
    assert lane.history.scale.column == 5.0
    assert lane.history.past.rates(100).ends[0][0] == Totals()


def test_a_gap_of_any_length_leaves_the_columns_that_closing_each_of_them_would_have() -> None:
    far, near = (History(four_workers("synchronous"), FOUR) for _ in range(2))
    for history in (far, near):
        history.add([ev.Start(25.0, 0, 0, 0, 0, 20.0)])
    t = 12_345.0
    for step in range(30, int(t), 5):
        near.advance(float(step))
    for history in (far, near):
        history.advance(t)
    assert far.past.closed == near.past.closed == 1234
    assert [c.states for c in far.past.columns] == [c.states for c in near.past.columns]
    assert far.past.rates(600) == near.past.rates(600)
    far.advance(1e9)
    assert far.past.closed == 99_999_999
    assert far.past.columns[-1].totals.t == 999_999_990.0
    assert len(far.past.rates(600).ends) == 511


def test_a_run_has_a_bounded_number_of_columns_however_short_its_rounds() -> None:
    for seconds in (0.0, 1e-300, 0.001):
        short = {"workers": 4, "episode_seconds": seconds}
        trainer = {"batch_size": 1, "update_seconds": seconds}
        scenario = four_workers("synchronous", duration=3600, rollout=short, trainer=trainer)
        assert scale([scenario]).column >= 3600 / 20_000


def test_what_is_counted_at_one_instant_is_one_line_whatever_else_of_its_kind_is_logged_there() -> None:
    history = History(four_workers("asynchronous"), FOUR)
    history.add([ev.Down(1.0, 0), ev.Down(1.0, 1), ev.Stall(1.0)])
    history.add([ev.Unstall(9.0), ev.Up(9.0, 0), ev.Up(9.0, 1)])
    assert [entry.text for entry in history.log.entries] == ["trainer goes on", "2 workers back"]
    history.add([ev.Down(10.0, 0), ev.Stall(10.0), ev.Up(19.0, 0), ev.Unstall(19.0)])
    assert [entry.text for entry in history.log.last(2)] == ["1 worker back", "trainer goes on"]


def test_an_episode_is_as_old_as_its_attempt_and_not_as_its_wait_for_a_sandbox() -> None:
    history = History(four_workers("asynchronous"), FOUR)
    history.add([ev.Start(0.0, 0, 0, 0, 0, 20.0), ev.Blocked(0.0, 0, "sandbox"), ev.Generate(100.0, 0)])
    history.advance(105.0)
    assert history.ages()[0] == 5.0 / 20.0


@pytest.mark.parametrize(
    ("name", "at", "said"),
    [
        ("stuck-group", 3600.0, "training has waited 39m42s; w057 is still at episode 1000"),
        ("stuck-group", 1200.0, None),
        ("stragglers", 3600.0, None),
    ],
)
def test_a_wait_that_does_not_end_is_the_last_line_of_the_log(name: str, at: float, said: str | None) -> None:
    scenario = emulator.load_scenario(name)
    history = History(scenario, scale([scenario]))
    history.add(
        [event for event in emulator.run(scenario, speed="max", keep_events=True).events if event.t <= at]
    )
    history.advance(at)
    lines = [entry.text for entry in history.log_lines(4)]
    assert len(lines) == 4
    assert [line for line in lines if line.startswith("training has waited")] == ([said] if said else [])
    assert said is None or lines[-1] == said
    assert history.log_lines(0) == []
