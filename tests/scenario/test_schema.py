"""The JSON Schema agrees with the loader."""

from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from emulator.scenario import Scenario, json_schema
from tests.scenarios import documents, with_engines

SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)

BASE: dict[str, Any] = {
    "rollout": {"workers": 8, "episode_seconds": {"kind": "lognormal", "median": 20, "sigma": 1}},
    "trainer": {"batch_size": 8, "update_seconds": "15s"},
    "strategy": {"kind": "asynchronous"},
}


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@settings(max_examples=60)
@given(documents(lanes=True) | with_engines())
def test_what_the_loader_accepts_the_schema_accepts(document: dict[str, Any]):
    VALIDATOR.validate(document)
    VALIDATOR.validate(Scenario.model_validate(document).resolved())


@pytest.mark.parametrize(
    "changes",
    [
        {"duration": "1h30m", "speed": "max", "description": "Two\nlines."},
        {"rollout": {"workers": 8.0, "episode_seconds": "90s", "queue_capacity": None}},
        {
            "trainer": {
                "batch_size": 8,
                "update_seconds": {"kind": "mixture", "components": [{"weight": 1, "distribution": 3}]},
            }
        },
        {
            "lanes": [
                {
                    "name": "a",
                    "rollout": {"episode_seconds": {"sigma": 0.3}},
                    "strategy": {"max_staleness": 2},
                }
            ]
        },
        {"lanes": [{"name": "a", "environment": {"retries": 2}}, {"name": "b", "environment": None}]},
        {"learner": {"loss": "vtrace"}, "lanes": [{"name": "a", "learner": {"steps": 2}}]},
        {
            "rollout": {"workers": 8, "turns": {"count": 3, "output_tokens": 200}, "prompt_tokens": 500},
            "engine": {"preset": "qwen3-8b-h100"},
            "cluster": {"gpus": 8, "engine_gpus": 2, "trainer_gpus": 4},
            "lanes": [
                {"name": "a", "cluster": {"trainer_gpus": 2}, "engine": {"slots": 4}},
                {"name": "b", "rollout": {"episode_tokens": 600}},
            ],
            "events": [{"at": 60, "crash": {"engines": [1], "restart_seconds": 60}}],
        },
        {"engine": {"count": 2, "step_ms": {"1": 7, "64": 9.5}}},
        {"events": [{"at": "20m", "slow": {"workers": [1, 2], "factor": 5, "for": "10m"}}]},
    ],
)
def test_short_forms_and_changes_of_lanes_are_accepted_by_both(changes: dict[str, Any]):
    document = {**BASE, **changes}
    VALIDATOR.validate(document)
    Scenario.model_validate(document)


@pytest.mark.parametrize(
    "changes",
    [
        {"sed": 1},
        {"seed": -1},
        {"seed": True},
        {"duration": 0},
        {"duration": "20"},
        {"speed": "fast"},
        {"rollout": {"workers": 8, "episode_seconds": {"kind": "gama", "mean": 3, "shape": 1}}},
        {"strategy": {"kind": "synchronous", "max_staleness": 1}},
        {"environment": {"failure_probability": 1}},
        {"learner": {"loss": "trpo"}},
        {"events": [{"at": 1}]},
        {"events": [{"at": 1, "stall_trainer": {"for": 1}, "add_workers": {"count": 1}}]},
        {"events": [{"at": 1, "stall_trainer": {"for_seconds": 1}}]},
        {"lanes": [{"name": "a", "seed": 1}]},
        {"lanes": [{"name": "a", "rollout": {"wokers": 1}}]},
        {"rollout": {"workers": 8}},
        {"rollout": {"workers": 8, "episode_seconds": 3, "episode_tokens": 3}},
        {"engine": {"count": 2}},
        {"engine": {"count": 2, "preset": "gpt-2"}},
        {"engine": {"count": 2, "step_ms": {"none": 3}}},
        {"cluster": {"gpus": 8, "engine_gpus": 1, "trainer_gpus": "all"}},
        {"events": [{"at": 0, "slow": {"factor": 2, "for": 60}}]},
        {"events": [{"at": 0, "crash": {"workers": 1, "engines": 1, "restart_seconds": 60}}]},
    ],
)
def test_mistakes_within_a_key_are_refused_by_both(changes: dict[str, Any]):
    document = {**BASE, **changes}
    assert not VALIDATOR.is_valid(document)
    with pytest.raises(ValidationError):
        Scenario.model_validate(document)


def test_every_key_is_described():
    described = [SCHEMA, *SCHEMA["$defs"].values()]
    missing = [
        f"{part.get('description', '')}: {name}"
        for part in described
        for name, key in part.get("properties", {}).items()
        if name != "kind" and "description" not in key
    ]
    assert missing == []
    assert SCHEMA["properties"]["duration"]["description"] == "How long the run lasts, in emulated seconds."
