"""Turns what pydantic found wrong with a document into problems: where, what was found, what is allowed."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from emulator.errors import Problem
from emulator.scenario.models import Scenario
from emulator.scenario.parts import Lane
from emulator.scenario.tree import Node, Place
from emulator.strategies import STRATEGIES
from emulator.values.distributions import Constant, Distribution
from emulator.values.scalars import Check, Seconds, Text
from emulator.values.violation import Path, Violation

_SHARED = ("seed", "duration", "speed", "lanes")


def kind_of(model: type[BaseModel]) -> str:
    """The ``kind`` of a section that has several forms; empty for others."""
    field = model.model_fields.get("kind")
    return str(get_args(field.annotation)[0]) if field else ""


_STAND_IN: dict[str, dict[str, Any]] = {
    "rollout": {"workers": 1, "episode_seconds": 1},
    "trainer": {"batch_size": 1, "update_seconds": 1},
    "strategy": {"kind": kind_of(STRATEGIES[0])},
}


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint at the name that was probably meant; empty if none is near."""
    close = difflib.get_close_matches(name.lower(), list(names), n=1, cutoff=0.6)
    return f'did you mean "{close[0]}"?' if close else ""


def explain(error: ValidationError, root: Node, context: Mapping[str, Any]) -> list[Problem]:
    """Return every mistake in a document, from pydantic's error for it in a context.

    Rules between keys are checked among the keys that are valid by themselves, so that all mistakes are
    reported at once.
    """
    problems: list[Problem] = []
    broken: list[Path] = []
    details = error.errors(include_url=False, include_input=False)
    locations = {detail["loc"] for detail in details}
    for detail in details:
        if detail["type"] == "rules":
            return [_broken_rule(violation, root) for violation in detail["ctx"]["violations"]]
        spot = _Spot(detail["loc"], root)
        broken.append(tuple(spot.path))
        # A lane is merged over the scenario, so a mistake of the scenario's own turns up in every lane again.
        own = detail["loc"][2:] if detail["loc"][:1] == ("lanes",) else ()
        inherited = any(own[:end] in locations for end in range(1, len(own) + 1))
        if not (inherited and (spot.elsewhere or detail["type"] == "union_tag_not_found")):
            problems.append(spot.problem(detail["type"], detail.get("ctx", {})))
    return [*problems, *_rules_among_the_rest(root, broken, context)]


class _Spot:
    """The place in the document, and in the models, that pydantic's location of an error speaks of."""

    def __init__(self, loc: Sequence[str | int], root: Node) -> None:
        self.path: list[str | int] = []
        self.node = root
        self.place = root.place
        self.key_place = root.place
        self.elsewhere = False
        self.missing = False
        self.model: type[BaseModel] | None = Scenario
        self.field: FieldInfo | None = None
        self.kinds: dict[str, type[BaseModel]] = {}
        for step in loc:
            if step in self.kinds:
                self.model, self.kinds, self.field = self.kinds[str(step)], {}, None
                continue
            if isinstance(step, str) and self.model is not None:
                self._enter_field(self.model, step)
            if not self._descend(step):
                break

    def _enter_field(self, model: type[BaseModel], name: str) -> None:
        fields = {field.alias or key: field for key, field in model.model_fields.items()}
        self.field = fields.get(name)
        if self.field is not None:
            inner = list(_models(self.field.annotation))
            self.kinds = {kind: member for member in inner if (kind := kind_of(member))}
            self.model = inner[0] if inner and not self.kinds else None

    def _descend(self, step: str | int) -> bool:
        child = self.node.child(step)
        if child is None:
            self.elsewhere = True
            if isinstance(self.node.value, dict):
                self.path.append(step)
                self.missing = True
            return False
        self.place = self.key_place = child.place
        if isinstance(step, str):
            self.key_place = self.node.keys[step]
        self.path.append(step)
        self.node = child
        return True

    def problem(self, kind: str, context: Mapping[str, Any]) -> Problem:
        """Return the problem that pydantic's type of error and its context stand for."""
        if kind == "extra_forbidden":
            return self._unknown_key()
        if kind in {"union_tag_not_found", "union_tag_invalid"}:
            return self._unknown_kind()
        if kind in {"too_long", "too_short"}:
            most = kind == "too_long"
            allowed = f"at most {context['max_length']}" if most else f"at least {context['min_length']}"
            return self._told(self.place, f"a list of {context['actual_length']}", allowed)
        if kind == "misfit":
            if context["key"]:
                self._descend(context["key"])
            return self._told(self.place, context["found"], context["allowed"])
        return self._wrong_value(context.get("allowed") or self._allowed())

    def _wrong_value(self, allowed: str) -> Problem:
        if self.missing:
            return self._told(self.key_place, "nothing", allowed)
        text = str(self.node.value)
        hint = nearest(text, _choices(self.field)) if self.field else ""
        if text in self.kinds:
            hint = f"write {{kind: {text}}}"
        elif self.node.text.startswith('"') and _is_number(text):
            hint = "without the quotes"
        elif isinstance(self.node.value, bool | int | float) and self._wants_text():
            hint = f'in quotes it is a text: "{self.node.text}"'
        return self._told(self.place, self.node.text, allowed, hint)

    def _wants_text(self) -> bool:
        checks = _checks(self.field.annotation, self.field.metadata) if self.field else ()
        return any(isinstance(check, Text) for check in checks)

    def _told(self, place: Place, found: str, allowed: str, hint: str = "") -> Problem:
        return place.problem(".".join(map(str, self.path)), found, allowed, hint)

    def _unknown_key(self) -> Problem:
        name = str(self.path[-1])
        names = _names(self.model) if self.model else []
        hint = nearest(name, names)
        owners = [kind for kind, member in _siblings(self.model) if name in _names(member)]
        if self.model is Lane and name in _SHARED:
            hint = f"all lanes share the scenario's {name}"
        elif owners:
            hint = f"{name} belongs to {' and '.join(owners)}"
        return self._told(self.key_place, "an unknown key", ", ".join(names), hint)

    def _unknown_kind(self) -> Problem:
        allowed = ", ".join(self.kinds)
        if isinstance(self.node.value, dict):
            given = self.node.value.get("kind")
            if given is None:
                self.path.append("kind")
                return self._told(self.key_place, "nothing", allowed)
            self._descend("kind")
            return self._told(self.place, given.text, allowed, nearest(str(given.value), self.kinds))
        return self._told(self.place, self.node.text, self._allowed())

    def _allowed(self) -> str:
        if self.field is not None and not isinstance(self.path[-1], int):
            return _describe(self.field)
        if self.model is not None:
            return f"a mapping with {', '.join(_names(self.model))}"
        return ", ".join(self.kinds)


def _names(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _siblings(model: type[BaseModel] | None) -> Iterator[tuple[str, type[BaseModel]]]:
    """The other members of the union that a model belongs to, by kind."""
    for union in (Scenario.model_fields["strategy"].annotation, Distribution):
        members = list(_models(union))
        if model in members:
            yield from ((kind_of(member), member) for member in members if member is not model)


def _choices(field: FieldInfo) -> list[str]:
    """The texts that a field may be, where these are few."""
    checks = _checks(field.annotation, field.metadata)
    return [*_literals(field.annotation), *(choice for check in checks for choice in check.choices)]


def _literals(annotation: Any) -> list[str]:
    if get_origin(annotation) is Literal:
        return [str(choice) for choice in get_args(annotation)]
    return [choice for argument in get_args(annotation) for choice in _literals(argument)]


def _checks(annotation: Any, metadata: Iterable[Any]) -> Iterator[Check]:
    yield from (item for item in metadata if isinstance(item, Check))
    if get_origin(annotation) is Annotated:
        yield from _checks(None, annotation.__metadata__)
    for argument in get_args(annotation):
        yield from _checks(argument, ())


def _describe(field: FieldInfo) -> str:
    """What a field allows, in words."""
    for check in _checks(field.annotation, field.metadata):
        return check.allowed
    members = list(_models(field.annotation))
    kinds = [kind for member in members if (kind := kind_of(member))]
    if get_origin(field.annotation) is tuple or (NoneType in get_args(field.annotation) and not members):
        return "a list"
    if kinds:
        short = f"{Seconds().allowed}, or " if Constant in members else ""
        return f"{short}a mapping with kind: {', '.join(kinds)}"
    if members:
        return f"a mapping with {', '.join(_names(members[0]))}"
    return ", ".join(_literals(field.annotation))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _broken_rule(violation: Violation, root: Node) -> Problem:
    node = root
    for step in violation.path:
        child = node.child(step)
        if child is None:
            break
        node = child
    key = ".".join(map(str, violation.path))
    return node.place.problem(key, violation.found, violation.allowed)


def _rules_among_the_rest(root: Node, broken: list[Path], context: Mapping[str, Any]) -> list[Problem]:
    data = root.data()
    for path in broken:
        _repair(data, path)
    try:
        Scenario.model_validate(data, context=dict(context))
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        violations = [
            v for detail in details if detail["type"] == "rules" for v in detail["ctx"]["violations"]
        ]
        return [_broken_rule(violation, root) for violation in violations if not _touches(violation, broken)]
    return []


def _repair(data: dict[str, Any], path: Path) -> None:
    """Put something harmless in the place of a broken key."""
    head, rest = str(path[0]), path[1:]
    section = data.get(head)
    if isinstance(section, list) and rest and isinstance(rest[0], int):
        stall = {"at": 0, "stall_trainer": {"for": 1}}
        section[rest[0]] = stall if head == "events" else {"name": f"lane {rest[0]}"}
    elif isinstance(section, dict) and rest and rest != ("kind",):
        stand_in = _STAND_IN.get(head, {}).get(str(rest[0]))
        section.pop(str(rest[0]), None)
        if stand_in is not None:
            section[str(rest[0])] = stand_in
    else:
        data.pop(head, None)
        if head in _STAND_IN:
            data[head] = dict(_STAND_IN[head])


def _touches(violation: Violation, broken: list[Path]) -> bool:
    weighed = (violation.path, *violation.others)
    return any(path[: len(key)] == key[: len(path)] for key in weighed for path in broken)
