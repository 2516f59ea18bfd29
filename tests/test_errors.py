"""Errors: every kind survives a copy and a pickle, as those that come from another process."""

import copy
import inspect
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import emulator
from emulator import errors
from emulator.errors import DeadlockError, EmulatorError, MissingExtraError, Problem, RunError
from emulator.scenario import Scenario

PROBLEM = Problem(
    "a.yaml", 3, 7, "rollout.workers", "0", "a whole number from 1 to 1000000", "did you mean 10?"
)
VALUES = {float: 12.5, int: 10_160, str: "some text", Sequence[Problem]: (PROBLEM, PROBLEM)}

KINDS = [
    kind
    for kind in vars(errors).values()
    if inspect.isclass(kind) and issubclass(kind, EmulatorError) and kind.__module__ == errors.__name__
]

ROUND_TRIPS: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    *(lambda value, p=p: pickle.loads(pickle.dumps(value, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)),
]


def made(kind: type[EmulatorError]) -> EmulatorError:
    """One of a kind, from what its constructor asks for; a plain one takes its message."""
    if not inspect.isfunction(kind.__init__):
        return kind("a message")
    _, *asked = inspect.signature(kind.__init__).parameters.values()
    return kind(*(VALUES[parameter.annotation] for parameter in asked))


@pytest.mark.parametrize("trip", ROUND_TRIPS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_every_kind_is_the_same_after_a_round_trip(
    kind: type[EmulatorError], trip: Callable[[Any], Any]
) -> None:
    error = made(kind)
    error.add_note("a note")
    again = trip(error)
    assert type(again) is kind
    assert str(again) == str(error) != ""
    assert again.args == error.args
    assert vars(again) == vars(error)
    assert "a note" in again.__notes__


def test_the_kinds_are_those_that_the_package_raises() -> None:
    assert {RunError, DeadlockError, MissingExtraError} <= set(KINDS)
    assert len(KINDS) >= 10


def test_what_an_import_error_has_of_its_own_is_kept_too() -> None:
    error = MissingExtraError("plots", "plot")
    assert pickle.loads(pickle.dumps(error)).msg == error.msg == str(error)


def small(**changes: Any) -> Scenario:
    parts: dict[str, Any] = {
        "duration": 100,
        "rollout": {"workers": 4, "episode_seconds": {"kind": "lognormal", "median": 5, "sigma": 1}},
        "trainer": {"batch_size": 4, "update_seconds": 2},
        "strategy": {"kind": "asynchronous"},
    }
    return Scenario.model_validate(parts | changes)


@pytest.mark.parametrize("keep_events", [False, True])
def test_a_run_is_the_same_after_a_pickle(keep_events: bool) -> None:
    run = emulator.run(small(), speed="max", keep_events=keep_events)
    again = pickle.loads(pickle.dumps(run))
    assert again == run
    assert again.to_json() == run.to_json()
    assert again.trace_sha256 == run.trace_sha256
    if keep_events:
        assert again.events == run.events
        assert repr(again.episodes.tolist()) == repr(run.episodes.tolist())
    assert pickle.loads(pickle.dumps(again)).trace_sha256 == run.trace_sha256


def test_an_error_brings_its_run_along() -> None:
    with pytest.raises(DeadlockError) as caught:
        emulator.run(small(events=[{"at": 30, "remove_workers": {"count": 4}}]), speed="max")
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.t == caught.value.t
    assert again.run.error is again
    assert caught.value.run is not None
    assert again.run.to_json() == caught.value.run.to_json()
