"""The learner's part of a scenario."""

from typing import Any

import pytest
from pydantic import ValidationError

from emulator.scenario.learner import Learner


def test_the_defaults_are_those_of_the_forced_staleness_experiment():
    assert Learner().model_dump(mode="json") == {
        "contexts": 64,
        "actions": 16,
        "steps": 32,
        "loss": "ppo",
        "clip": 0.2,
        "rho": 1.0,
        "epochs": 4,
        "learning_rate": 30.0,
        "reward_noise": 0.5,
        "difficulty_correlation": 0.0,
    }


def test_the_resolved_form_loads_to_an_equal_learner():
    learner = Learner(loss="vtrace", rho=2, contexts=8.0, difficulty_correlation=1)
    assert Learner.model_validate(learner.model_dump(mode="json")) == learner


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("contexts", 0, "found 0; allowed: a whole number from 1 to 4096"),
        ("contexts", 4097, "found 4097; allowed: a whole number from 1 to 4096"),
        ("actions", 1, "found 1; allowed: a whole number from 2 to 64"),
        ("steps", 1.5, "found 1.5; allowed: a whole number from 1 to 1024"),
        ("epochs", True, "found True; allowed: a whole number from 1 to 100"),
        ("clip", 0, "found 0; allowed: a number above 0, up to 1"),
        ("rho", -1, "found -1; allowed: a number above 0, up to 1000000"),
        ("learning_rate", "fast", 'found "fast"; allowed: a number above 0, up to 1000000'),
        ("reward_noise", -0.5, "found -0.5; allowed: a number from 0 to 1000"),
        ("difficulty_correlation", 1.01, "found 1.01; allowed: a number from 0 to 1"),
        ("loss", "trpo", "Input should be 'ppo', 'importance', 'vtrace' or 'none'"),
        ("momentum", 1, "Extra inputs are not permitted"),
    ],
)
def test_what_is_not_allowed_is_reported_with_what_is(key: str, value: Any, message: str):
    with pytest.raises(ValidationError) as error:
        Learner.model_validate({key: value})
    (detail,) = error.value.errors()
    assert (detail["loc"], detail["msg"]) == ((key,), message)
