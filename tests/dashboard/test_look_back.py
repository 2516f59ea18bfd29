"""Looking back in a run that goes on."""

from typing import Any, cast

import pytest

from emulator.dashboard import look_back
from emulator.dashboard.frame import draw
from emulator.dashboard.live import Dashboard, Options
from emulator.dashboard.state import ClockReading, Looking, ShownLane
from emulator.dashboard.theme import UNICODE
from emulator.dashboard.watched import Watched
from emulator.runner import Session, run_lanes
from emulator.scenario import Scenario, load_scenario
from tests.dashboard.scenarios import lanes_at


def watched(scenarios: list[Scenario], look: Any) -> None:
    """Run to the end and let `look` have what the dashboard sees then."""
    dashboard = Dashboard(scenarios, cast(Any, None), Options())

    async def watch(session: Session) -> None:
        await session.ended.wait()
        look(dashboard.watched(session))

    run_lanes(scenarios, speed="max", watch=watch, sinks=dashboard.sinks)


def plain(lanes: list[ShownLane], t: float) -> str:
    return draw(lanes, ClockReading(t, "max"), (100, 30), Looking(), UNICODE).plain()


@pytest.mark.parametrize("race", [False, True])
def test_what_is_seen_looking_back_is_what_was_seen_then(*, race: bool) -> None:
    scenario = load_scenario("stragglers", overrides=["duration=20m"])
    scenarios = list(scenario.lane_scenarios()) if race else [scenario]

    def look(seen: Watched) -> None:
        present = plain(seen.lanes(), 1200.0)
        for key, t in [("left", 1140.0), ("left", 1080.0), ("right", 1140.0), ("home", 0.0), ("right", 60.0)]:
            assert seen.scrub(key)
            assert seen.now == t
            assert seen.standing == f"looking back to 00:{int(t) // 60:02}:00; End comes back"
            assert plain(seen.lanes(), t) == plain(lanes_at(scenarios, t), t)
        assert seen.inject("k").startswith("looking back: nothing can be injected")
        assert seen.scrub("]")
        assert seen.now > 60
        assert seen.scrub("end")
        assert plain(seen.lanes(), 1200.0) == present
        assert seen.standing == "the run is over: any key for the summary"

    watched(scenarios, look)


def test_going_on_comes_back_to_the_present() -> None:
    def look(seen: Watched) -> None:
        assert not seen.scrub("space")
        assert seen.scrub("home")
        assert seen.clock.paused
        assert seen.now == 0
        seen.clock.resume()
        assert seen.now == 600

    watched([load_scenario("stragglers", overrides=["duration=10m"])], look)


def test_a_run_that_is_too_long_to_be_kept_stays_at_the_present(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look_back, "MOST_KEPT", 100)

    def look(seen: Watched) -> None:
        assert seen.scrub("home")
        assert seen.now == 600

    watched([load_scenario("stragglers", overrides=["duration=10m"])], look)
