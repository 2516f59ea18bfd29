"""Loading files: every mistake at once, each where it stands, and nothing hostile gets through."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from emulator.errors import EmulatorError, ScenarioError
from emulator.scenario import Scenario, bundled_scenarios, load_scenario, loading
from tests.scenarios import scenarios

GOOD = """\
name: stragglers
duration: 1h
rollout:
  workers: 64
  episode_seconds: {kind: lognormal, median: 20, sigma: 1.0}
trainer:
  batch_size: 64
  update_seconds: 15
strategy: {kind: asynchronous}
lanes:
  - {name: sync, strategy: {kind: synchronous}}
  - {name: async, strategy: {max_staleness: 0.5}}
"""


def write(folder: Path, text: str | bytes, name: str = "x.yaml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def mistakes(path: Path | str, **options: Any) -> list[str]:
    """The messages, with the folder of the file left out."""
    with pytest.raises(ScenarioError) as error:
        load_scenario(path, **options)
    assert str(error.value) == "\n".join(str(problem) for problem in error.value.problems)
    return [str(problem).replace(f"{Path(path).parent}/", "") for problem in error.value.problems]


def mistakes_of(folder: Path, old: str, new: str) -> list[str]:
    assert GOOD.count(old) == 1
    return mistakes(write(folder, GOOD.replace(old, new)))


def test_a_good_file_loads(tmp_path: Path):
    scenario = load_scenario(write(tmp_path, GOOD))
    assert (scenario.name, scenario.duration, scenario.rollout.workers) == ("stragglers", 3600.0, 64)
    assert [lane.strategy.kind for lane in scenario.lane_scenarios()] == ["synchronous", "asynchronous"]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(scenarios(lanes=True))
def test_a_resolved_scenario_loads_from_a_file(tmp_path: Path, drawn: Scenario):
    assert load_scenario(write(tmp_path, json.dumps(drawn.resolved(), indent=1))) == drawn


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file(tmp_path: Path):
    path = write(
        tmp_path,
        """\
seed: -1
rollout:
  wokers: 8
  workers: 0
  workers: 3
  group_redundancy: 1
  episode_seconds: {kind: lognormal, median: .nan, sigma: -1, alpha: 2}
trainer:
  batch_size: 1000000000000
  update_seconds: {kind: lognormall, median: 1}
  weight_sync_seconds: "20"
strategy: {kind: synchronous, max_staleness: 1, unfinished: abrt}
environment: {timeout_seconds: 3, reset_seconds: 5s}
events:
  - {at: 2h, slow: {workers: [1, 2], factor: 5}}
  - {at: 3h, stall_trainer: {for: 3}, crash: {workers: 9, restart_seconds: 3}}
  - 3
  - {at: 4h, stall_trainer: {for: 3}}
lanes:
  - {name: a, seed: 3}
  - {nme: y, strategy: foo, trainer: {batch_size: 0}}
""",
    )
    seconds = "allowed: seconds above 0, up to 1000000000, or a text like 90s, 20m or 1h30m"
    lane = "name, description, rollout, trainer, strategy, environment, learner, engine, cluster, events"
    actions = "straggler, slow, crash, stall_trainer, add_workers, remove_workers"
    assert mistakes(path) == [
        "x.yaml:1:7: seed: found -1; allowed: a whole number from 0 to 18446744073709551615",
        "x.yaml:3:3: rollout.wokers: found an unknown key; allowed: workers, episode_seconds, "
        "episode_tokens, turns, prompt_tokens, group_size, "
        'group_redundancy, group_correlation, queue_capacity, speed (did you mean "workers"?)',
        "x.yaml:4:12: rollout.workers: found 0; allowed: a whole number from 1 to 1000000",
        "x.yaml:5:3: rollout.workers: found the same key again (first in line 4); allowed: each key once",
        "x.yaml:6:21: rollout.group_redundancy: found 1; allowed: 0, or a rollout.group_size above 1 "
        "to be redundant in",
        f"x.yaml:7:46: rollout.episode_seconds.median: found .nan; {seconds}",
        "x.yaml:7:59: rollout.episode_seconds.sigma: found -1; allowed: a number from 0 to 10",
        "x.yaml:7:63: rollout.episode_seconds.alpha: found an unknown key; allowed: kind, median, sigma, cap "
        "(alpha belongs to pareto)",
        "x.yaml:9:15: trainer.batch_size: found 1000000000000; allowed: a whole number from 1 to 10000000",
        "x.yaml:10:26: trainer.update_seconds.kind: found lognormall; allowed: constant, lognormal, uniform, "
        'exponential, gamma, pareto, mixture, trace (did you mean "lognormal"?)',
        'x.yaml:11:24: trainer.weight_sync_seconds: found "20"; allowed: seconds from 0 to 1000000000, '
        "or a text like 90s, 20m or 1h30m (without the quotes)",
        "x.yaml:12:31: strategy.max_staleness: found an unknown key; allowed: kind, oversample, unfinished, "
        "resume_overhead, deadline (max_staleness belongs to asynchronous)",
        "x.yaml:12:61: strategy.unfinished: found abrt; allowed: wait, abort, resume, defer "
        '(did you mean "abort"?)',
        "x.yaml:13:32: environment.timeout_seconds: found 3; allowed: more than reset_seconds (5): "
        "no attempt would ever begin",
        f"x.yaml:15:14: events.0.slow.for: found nothing; {seconds}",
        f"x.yaml:16:5: events.1: found crash and stall_trainer; allowed: exactly one of {actions}",
        f"x.yaml:17:5: events.2: found 3; allowed: a mapping with at, {actions}",
        "x.yaml:18:10: events.3.at: found 14400 s; allowed: from 0 to the duration, 3600 s",
        f"x.yaml:20:15: lanes.0.seed: found an unknown key; allowed: {lane} "
        "(all lanes share the scenario's seed)",
        "x.yaml:21:5: lanes.1.name: found nothing; allowed: a printable text on one "
        "line, 1 to 100 characters",
        f'x.yaml:21:6: lanes.1.nme: found an unknown key; allowed: {lane} (did you mean "name"?)',
        "x.yaml:21:24: lanes.1.strategy: found foo; allowed: a mapping with kind: synchronous, one_step_off, "
        "asynchronous",
        "x.yaml:21:51: lanes.1.trainer.batch_size: found 0; allowed: a whole number from 1 to 10000000",
    ]


def test_a_problem_has_its_parts(tmp_path: Path):
    with pytest.raises(EmulatorError) as error:
        load_scenario(write(tmp_path, GOOD.replace("workers: 64", "workers: 1e9")))
    (problem,) = error.value.problems
    assert (problem.line, problem.column, problem.key) == (4, 12, "rollout.workers")
    assert (problem.found, problem.allowed) == ("1e9", "a whole number from 1 to 1000000")


@pytest.mark.parametrize(
    "written", ["0", "1e9", "10**12", "1000000000000", ".inf", "-1", "true", "~", '"64"', "[1]", "{a: 1}"]
)
def test_a_wrong_number_is_shown_as_it_is_written(tmp_path: Path, written: str):
    found = {"[1]": "a list", "{a: 1}": "a mapping"}.get(written, written)
    hint = " (without the quotes)" if written == '"64"' else ""
    assert mistakes_of(tmp_path, "workers: 64", f"workers: {written}") == [
        f"x.yaml:4:12: rollout.workers: found {found}; allowed: a whole number from 1 to 1000000{hint}"
    ]


def test_a_huge_number_is_shortened(tmp_path: Path):
    (message,) = mistakes_of(tmp_path, "workers: 64", f"workers: {'9' * 9000}")
    assert (
        message
        == f"x.yaml:4:12: rollout.workers: found {'9' * 59}…; allowed: a whole number from 1 to 1000000"
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "  update_seconds: 15\n",
            "",
            "x.yaml:6:1: trainer.update_seconds: found nothing; allowed: seconds from 0 to "
            "1000000000, or a text "
            "like 90s, 20m or 1h30m, or a mapping with kind: constant, lognormal, uniform, "
            "exponential, gamma, "
            "pareto, mixture, trace",
        ),
        (
            "strategy: {kind: asynchronous}\n",
            "strategy: {}\n",
            "x.yaml:9:1: strategy.kind: found nothing; allowed: synchronous, one_step_off, asynchronous",
        ),
        (
            "strategy: {kind: asynchronous}\n",
            "strategy: asynchronous\n",
            "x.yaml:9:11: strategy: found asynchronous; allowed: a mapping with kind: "
            "synchronous, one_step_off, "
            "asynchronous (write {kind: asynchronous})",
        ),
        (
            "update_seconds: 15",
            "update_seconds: 20:30",
            "x.yaml:8:19: trainer.update_seconds: found 20:30; allowed: seconds from 0 to "
            "1000000000, or a text "
            "like 90s, 20m or 1h30m",
        ),
        (
            "update_seconds: 15",
            "update_seconds: {kind: uniform, low: 3, high: 1}",
            "x.yaml:8:49: trainer.update_seconds.high: found 1; allowed: seconds from low (3) on",
        ),
        (
            "update_seconds: 15",
            "update_seconds: {kind: mixture, components: []}",
            "x.yaml:8:47: trainer.update_seconds.components: found a list of 0; allowed: at least 1",
        ),
        (
            "update_seconds: 15",
            "update_seconds: {kind: trace, path: no.txt}",
            "x.yaml:8:39: trainer.update_seconds.path: found no file no.txt; allowed: the path of a trace, "
            "relative to the scenario file",
        ),
        ("duration: 1h", "events: 3", "x.yaml:2:9: events: found 3; allowed: a list"),
    ],
)
def test_other_mistakes_are_reported_in_plain_words(tmp_path: Path, old: str, new: str, expected: str):
    assert mistakes_of(tmp_path, old, new) == [expected]


def test_missing_sections_are_reported_by_what_belongs_there(tmp_path: Path):
    assert mistakes(write(tmp_path, "name: x\n")) == [
        "x.yaml:1:1: rollout: found nothing; allowed: a mapping with workers, episode_seconds, "
        "episode_tokens, turns, prompt_tokens, group_size, group_redundancy, group_correlation, "
        "queue_capacity, speed",
        "x.yaml:1:1: trainer: found nothing; allowed: a mapping with batch_size, update_seconds, "
        "weight_sync_seconds, publish_every, token_gpu_ms, gpus",
        "x.yaml:1:1: strategy: found nothing; allowed: a mapping with kind: synchronous, one_step_off, "
        "asynchronous",
    ]


def test_a_mistake_of_the_scenario_is_not_reported_again_for_its_lanes(tmp_path: Path):
    text = GOOD.replace("workers: 64", "workers: 0") + "  - {name: c, rollout: {group_size: 2}}\n"
    assert len(mistakes(write(tmp_path, text))) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "x.yaml:1:1: found an empty file; allowed: a scenario file"),
        ("# nothing\n", "x.yaml:1:1: found an empty file; allowed: a scenario file"),
        (b"a: 1\nb: \xff\xfe", "x.yaml:2:4: found the byte 0xff; allowed: text in UTF-8"),
        ("a: b\x00", "x.yaml:1:5: found the control character \\x00; allowed: printable text"),
        (
            "- 1\n",
            "x.yaml:1:1: found a list; allowed: a mapping of keys, at least rollout, trainer, strategy",
        ),
        ("hi", "x.yaml:1:1: found hi; allowed: a mapping of keys, at least rollout, trainer, strategy"),
        ("a: 1\n---\nb: 1\n", "x.yaml:2:1: found a second document; allowed: one document in a file"),
        (
            "a: !!python/object:os.system {}\n",
            "x.yaml:1:4: found the tag tag:yaml.org,2002:python/object:os.system; allowed: "
            "plain values without tags",
        ),
        (
            f"a: 1\nb: [!{'m' * 2_000_000} 1]\n",
            f"x.yaml:2:5: found the tag !{'m' * 58}…; allowed: plain values without tags",
        ),
        ("a: !mine 1\n", "x.yaml:1:4: found the tag !mine; allowed: plain values without tags"),
        (
            "a: &a [*a]\n",
            "x.yaml:1:8: found the alias *a inside its own anchor or without one; allowed: a value",
        ),
        (
            "a: &a {b: 1}\nc: {<<: *a}\n",
            "x.yaml:2:5: found the merge key <<; allowed: keys written out; merge keys are not supported",
        ),
        ("[1, 2]: 3\n", "x.yaml:1:1: found a list as a key; allowed: names as keys"),
        ("a: " + "[" * 9999, "x.yaml:1:43: found nesting deeper than 40 levels; allowed: at most 40 levels"),
        (
            "a: [1\nb: }\n",
            "x.yaml:2:2: found text that is not YAML: expected ',' or ']', but got ':'; allowed: YAML",
        ),
        (
            "a:\n\tb: 1\n",
            "x.yaml:2:1: found text that is not YAML: found character '\\t' that cannot start any token; "
            "allowed: YAML",
        ),
        ("#" * (1 << 21) + "\n", "x.yaml: found more than 2097152 bytes; allowed: at most 2097152 bytes"),
    ],
)
def test_a_text_that_is_no_scenario_is_refused(tmp_path: Path, text: str | bytes, expected: str):
    assert mistakes(write(tmp_path, text)) == [expected]


def test_a_bomb_of_aliases_is_refused_at_once(tmp_path: Path):
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, letter in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{letter}: &{letter} [{', '.join([f'*{before}'] * 10)}]")
    (message,) = mistakes(write(tmp_path, "\n".join(lines)))
    assert (
        message
        == "x.yaml:6:12: found over 250000 values, aliases written out; allowed: at most 250000 values"
    )


def test_a_chain_of_anchors_cannot_hide_depth(tmp_path: Path):
    deep = "[" * 30 + "{}" + "]" * 30
    text = f"a: &a {deep.format(1)}\nb: {deep.format('*a')}\n"
    (message,) = mistakes(write(tmp_path, text))
    assert message == "x.yaml:2:34: found nesting deeper than 40 levels; allowed: at most 40 levels"


def test_simple_anchors_work_and_an_override_changes_one_place_only(tmp_path: Path):
    text = GOOD.replace("{kind: lognormal, median: 20, sigma: 1.0}", "&d {kind: exponential, mean: 20}")
    path = write(tmp_path, text.replace("update_seconds: 15", "update_seconds: *d"))
    scenario = load_scenario(path, overrides=["trainer.update_seconds.mean=3"])
    assert (scenario.rollout.episode_seconds.mean(), scenario.trainer.update_seconds.mean()) == (20.0, 3.0)


def test_paths_that_lead_to_no_file_are_refused(tmp_path: Path):
    assert mistakes(tmp_path) == [f"{tmp_path.name}: found a directory; allowed: a scenario file"]
    assert mistakes(tmp_path / "no.yaml") == ["no.yaml: found no such file; allowed: a scenario file"]
    (loop := tmp_path / "loop.yaml").symlink_to(loop)
    assert mistakes(loop) == [
        "loop.yaml: found a file that cannot be read (Too many levels of symbolic "
        "links); allowed: a scenario file"
    ]


def test_overrides_replace_add_and_reach_into_lists(tmp_path: Path):
    scenario = load_scenario(
        write(tmp_path, GOOD),
        overrides=[
            "rollout.workers=8",
            "environment.sandboxes=4",
            "lanes.1.strategy.max_staleness=2",
            "trainer.update_seconds={kind: exponential, mean: 9}",
            "speed=max",
        ],
        seed=7,
    )
    assert (scenario.rollout.workers, scenario.environment.sandboxes) == (8, 4)
    assert scenario.lanes[1].strategy.max_staleness == 2
    assert scenario.trainer.update_seconds.mean() == 9.0
    assert (scenario.speed, scenario.seed) == ("max", 7)


def test_mistakes_in_overrides_cite_the_option(tmp_path: Path):
    overrides = [
        "rollout.workers=0",
        "trainer.x=1",
        "lanes.9.name=a",
        "duration.x=1",
        "nonsense",
        "speed=[1",
        "name",
    ]
    assert mistakes(write(tmp_path, GOOD), overrides=overrides[:-2], seed=-4) == [
        "--set lanes.9.name: found no entry 9 in the list; allowed: entries by number, from 0 to 1",
        "--set duration.x: found 1h at duration; allowed: a key inside a mapping or "
        "list; set duration as a whole",
        "--set nonsense: found no PATH=VALUE; allowed: a dotted path, =, and a YAML value",
        "--seed: seed: found -4; allowed: a whole number from 0 to 18446744073709551615",
        "--set rollout.workers: found 0; allowed: a whole number from 1 to 1000000",
        "--set trainer.x: found an unknown key; allowed: batch_size, update_seconds, weight_sync_seconds, "
        "publish_every, token_gpu_ms, gpus",
    ]
    (message,) = mistakes(write(tmp_path, GOOD), overrides=["na\udcffme=1"])
    assert message == "--set na\\udcffme: found bytes that are not UTF-8; allowed: text in UTF-8"
    (message,) = mistakes(write(tmp_path, GOOD), overrides=["speed=[1"])
    assert message.startswith("--set speed: found text that is not YAML: ")


def test_the_path_of_a_trace_is_relative_to_the_file_and_absolute_when_resolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(tmp_path, "1\n2\n3\n", "t.txt")
    text = GOOD.replace("{kind: lognormal, median: 20, sigma: 1.0}", "{kind: trace, path: t.txt}")
    scenario = load_scenario(write(tmp_path, text))
    monkeypatch.chdir("/")
    resolved = scenario.resolved()
    assert resolved["rollout"]["episode_seconds"]["path"] == str(tmp_path / "t.txt")
    assert Scenario.model_validate(resolved) == scenario


def test_bundled_scenarios_are_found_by_name_with_a_hint_at_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    package = tmp_path / "emulator"
    (folder := tmp_path / "scenarios").mkdir()
    write(folder, GOOD.replace("duration: 1h", "description: A long tail."), "stragglers.yaml")
    write(folder, "a: [", "broken.yaml")
    monkeypatch.setattr(loading, "__file__", str(package / "scenario" / "loading.py"))
    broken, stragglers = bundled_scenarios()
    assert (stragglers.name, stragglers.description) == ("stragglers", "A long tail.")
    assert broken.description.startswith("cannot be read: text that is not YAML")
    assert load_scenario("stragglers").name == "stragglers"
    assert mistakes("stragler") == [
        "stragler: found neither a file nor a bundled scenario of that name; allowed: the path of a scenario "
        'file, or a bundled scenario: broken, stragglers (did you mean "stragglers"?)'
    ]
    # Inside an installed package they come first.
    (package / "scenarios").mkdir(parents=True)
    assert bundled_scenarios() == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            r'"\e[2J\e]0;title\a": 1',
            r"x.yaml:1:1: \x1b[2J\x1b]0;title\x07: found an unknown key; allowed: name, description, ",
        ),
        (
            r'"k\nfake.yaml:1:1: found nothing": 1',
            r"x.yaml:1:1: k\nfake.yaml:1:1: found nothing: found an unk",
        ),
        (r'speed: "\e[31mred"', r'x.yaml:1:8: speed: found "\x1b[31mred"; allowed: a number above 0,'),
        (
            r'"\UFFFFFFFF": 1',
            "x.yaml:1:1: found text that is not YAML: a number or an escape of a character ",
        ),
        (
            r'"\U00110000": 1',
            "x.yaml:1:1: found text that is not YAML: a number or an escape of a character ",
        ),
        (
            f"%YAML {'9' * 5000}.1\n---\n",
            "x.yaml:1:1: found text that is not YAML: a number or an escape of a ",
        ),
        (
            "%YAML 1.999\n---\na: 1\n",
            "x.yaml:1:1: found text that is not YAML: version minor part can only be",
        ),
        (r'"\ud800": 1', r"x.yaml:1:1: found the lone surrogate \ud800; allowed: whole characters"),
        (r'name: "a\udc00\ud83d\ude80"', r"x.yaml:1:7: found the lone surrogate \udc00; allowed: whole char"),
        ("a: !\x85 b", "x.yaml:1:4: found "),
    ],
)
def test_whatever_a_file_holds_each_mistake_is_one_printable_line(tmp_path: Path, text: str, message: str):
    found = mistakes(write(tmp_path, text))
    assert all(line.isprintable() and len(line) < 1000 for line in found)
    assert sum(line.startswith(message) for line in found) == 1


def test_what_an_option_says_is_shown_as_a_printable_line(tmp_path: Path):
    path = write(tmp_path, GOOD)
    (message,) = mistakes(path, overrides=[r'name="\u202Ex"'])
    assert message == (
        r'--set name: found "\u202ex"; allowed: a printable text on one line, 1 to 100 characters'
    )
    (message,) = mistakes(path, overrides=["\x1b[2J\nx=1"])
    assert message.startswith(r"--set \x1b[2J\nx: found an unknown key; allowed: ")
    (message,) = mistakes(path, overrides=["name=\udce6"])
    assert message == r"--set name: found the control character \udce6; allowed: printable text"


def test_a_file_with_a_hostile_name_is_reported_by_a_printable_one(tmp_path: Path):
    (message,) = mistakes(tmp_path / "\x1b[2J\n.yaml")
    assert message == r"\x1b[2J\n.yaml: found no such file; allowed: a scenario file"


def test_a_pair_of_escaped_surrogates_is_one_character(tmp_path: Path):
    text = GOOD.replace("name: stragglers", r'name: "\ud83d\ude80 \u6771"')
    scenario = load_scenario(write(tmp_path, text))
    assert scenario.name == "🚀 東"
    assert load_scenario(write(tmp_path, json.dumps(scenario.resolved()))) == scenario


def test_a_number_where_a_text_belongs_has_a_hint_at_quotes(tmp_path: Path):
    path = write(tmp_path, GOOD)
    allowed = "allowed: a printable text on one line, 1 to 100 characters"
    assert mistakes(path, overrides=["name=1e3"]) == [
        f'--set name: found 1e3; {allowed} (in quotes it is a text: "1e3")'
    ]
    assert mistakes(path, overrides=["name=yes", "name=true"]) == [
        f'--set name: found true; {allowed} (in quotes it is a text: "true")'
    ]
    assert mistakes(path, overrides=["name=[a]"]) == [f"--set name: found a list; {allowed}"]
    assert load_scenario(path, overrides=['name="1e3"']).name == "1e3"


def test_a_bare_word_sets_the_kind_of_a_strategy(tmp_path: Path):
    path = write(tmp_path, GOOD)
    scenario = load_scenario(path, overrides=["strategy=one_step_off", "lanes.1.strategy=synchronous"])
    assert scenario.strategy.kind == "one_step_off"
    assert scenario.lanes[1].strategy.kind == "synchronous"
    assert mistakes(path, overrides=["strategy=synchron"])[-1] == (
        "--set strategy: strategy.kind: found synchron; allowed: synchronous, one_step_off, asynchronous "
        '(did you mean "synchronous"?)'
    )
