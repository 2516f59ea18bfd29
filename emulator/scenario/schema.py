"""The JSON Schema of a scenario file, from which editors complete and check what people write."""

from typing import Any

from emulator.scenario.models import Scenario

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a scenario file, short forms and the changes of lanes included."""
    schema = _untitled(Scenario.model_json_schema(by_alias=True, mode="validation"))
    parts: dict[str, Any] = schema["$defs"]
    partial: dict[str, Any] = {}
    lane = parts["Lane"]["properties"]
    for name in ("rollout", "trainer", "strategy", "environment", "learner", "engine", "cluster"):
        lane[name] = _partial(lane[name], parts, partial)
    parts.update(partial)
    return {"$schema": _DIALECT, "title": "Scenario of the emulator", **schema}


def _untitled(schema: Any) -> Any:
    """Drop the titles that only repeat the names of the keys."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if isinstance(schema, dict):
        return {
            key: _untitled(value)
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str))
        }
    return schema


def _partial(schema: Any, parts: dict[str, Any], partial: dict[str, Any]) -> Any:
    """Let go of what is required, in a mapping that is merged over another; lists are not merged."""
    if isinstance(schema, list):
        return [_partial(item, parts, partial) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {}
    for key, value in schema.items():
        if key == "$ref":
            name = value.rpartition("/")[2]
            changed = f"{name}Changes"
            if changed not in partial:
                partial[changed] = {}
                partial[changed] = _partial(parts[name], parts, partial)
            result[key] = f"#/$defs/{changed}"
        elif key == "oneOf":
            result["anyOf"] = _partial(value, parts, partial)
        elif key == "items":
            result[key] = value
        elif key not in {"required", "discriminator"}:
            result[key] = _partial(value, parts, partial)
    return result
