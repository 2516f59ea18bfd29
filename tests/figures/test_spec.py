"""The list of figures, and results that are read by it."""

from typing import Any

import emulator
from emulator import Scenario
from emulator.figures import Figures, Result
from emulator.figures import spec as f
from emulator.figures.result import Section, flat, nested


def scenario(**parts: Any) -> Scenario:
    whole = {
        "rollout": {"workers": 4, "episode_seconds": 20},
        "trainer": {"batch_size": 4, "update_seconds": 15},
        "strategy": {"kind": "asynchronous"},
    }
    return Scenario.model_validate({**whole, **parts, "rollout": whole["rollout"] | parts.get("rollout", {})})


def test_every_figure_has_a_name_of_its_own_and_words_for_it() -> None:
    assert len({figure.name for figure in f.FIGURES}) == len(f.FIGURES)
    assert all(figure.words.count("{}") == 1 for figure in f.FIGURES)
    assert all(figure.label and figure.column for figure in f.FIGURES)


def test_a_result_is_the_list_in_its_order() -> None:
    plain = emulator.run(scenario(duration=120), speed="max").result
    assert [name for name, _ in flat(plain)] == [
        figure.name for figure in f.FIGURES if figure.section is Section.ALL
    ]


def test_a_section_is_there_where_a_lane_has_it() -> None:
    lane = scenario(
        rollout={"group_size": 4, "episode_seconds": None, "episode_tokens": 100},
        environment={"sandboxes": 4},
        learner={},
        engine={"step_ms": 10},
        cluster={"gpus": 2, "engine_gpus": 1, "trainer_gpus": 1},
    )
    result = Figures(lane).result(0.0)
    assert sorted(name for name, _ in flat(result)) == sorted(figure.name for figure in f.FIGURES)
    assert list(result)[-6:] == ["episode_tokens", "engine", "cluster", "groups", "environment", "learning"]
    assert all(Result(result).has(section) for section in Section)
    bare = Result(Figures(scenario()).result(0.0))
    assert [bare.has(section) for section in Section] == [True] + [False] * 6


def test_one_figure_is_what_the_result_says_of_it() -> None:
    figures = Figures(scenario())
    assert figures.value(f.WORKERS_BUSY, 0.0) is None
    assert figures.value(f.UPDATES, 10.0) == 0
    assert figures.value(f.TRAINER_BUSY, 10.0) == figures.result(10.0)["trainer"]["utilisation"] == 0.0


def test_what_an_older_result_lacks_is_none() -> None:
    old = Result({"updates": 3, "queue": {"mean": 1.5}})
    assert (old[f.UPDATES], old[f.QUEUE_MEAN], old[f.QUEUE_MAX], old[f.STALENESS]) == (3, 1.5, None, None)
    assert old[f.DROPPED_SHARE] is None
    assert old.get("queue.mean.of.nothing") is None
    assert old.text(f.QUEUE_MAX) == "-"
    assert old.list((f.UPDATES, f.QUEUE_MAX)) == "3 updates"


def test_a_figure_says_itself_among_others() -> None:
    result = Result({"updates": 1, "staleness": {"mean": 1.428, "p95": 4, "max": 1234}})
    assert result.list((f.UPDATES, f.STALENESS, f.STALENESS_P95)) == "1 update, staleness 1.43, p95 4"
    assert (result.say(f.STALENESS_MAX), result.text(f.STALENESS_MAX)) == ("max 1,234", "1,234")
    assert (f.WORKERS_BUSY.axis, f.LENGTH_BIAS.axis) == ("workers busy, %", "length bias")


def test_shares_follow_from_the_accounts() -> None:
    seconds = {"generating": 60.0, "waiting": 20.0, "down": 20.0, "wasted": 5.0}
    result = Result({"workers": {"seconds": seconds}, "episodes": {"dropped": 1, "finished": 4}})
    assert result.list(figure for figure in f.IDLE if result[figure]) == "waiting 20%, down 20%"
    assert f.of_service(result, f.WASTED) == 0.05
    assert result.text(f.DROPPED_SHARE) == "25.0%"


def test_dotted_names_become_a_tree_and_come_back() -> None:
    pairs = [("a", 1), ("b.c", 2), ("b.d.e", None), ("f", [])]
    assert list(flat(nested(pairs))) == pairs
