"""Documents as trees that may hold what no parser would give: keys twice, texts that are no values."""

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any


class Raw(str):
    """A value as it is to be written, be it one or not."""

    __slots__ = ()


@dataclass
class Map:
    """A mapping, in order; a key may be there more than once."""

    pairs: list[list[Any]] = field(default_factory=list)

    def get(self, key: str) -> Any:
        """The first value of a key, or None."""
        return next((value for name, value in self.pairs if name == key), None)

    def set(self, key: str, value: Any) -> None:
        """Put a value in place of the key's, or at the end."""
        for pair in self.pairs:
            if pair[0] == key:
                pair[1] = value
                return
        self.pairs.append([key, value])


def tree(value: Any) -> Any:
    """A plain value as a tree that may be changed without changing it."""
    if isinstance(value, dict):
        return Map([[key, tree(entry)] for key, entry in value.items()])
    return [tree(entry) for entry in value] if isinstance(value, list) else value


def copied(value: Any) -> Any:
    """The same tree again."""
    if isinstance(value, Map):
        return Map([[key, copied(entry)] for key, entry in value.pairs])
    return [copied(entry) for entry in value] if isinstance(value, list) else value


@dataclass
class Spot:
    """A place in a tree: the entry `index` of a mapping's pairs or of a list."""

    parent: Map | list[Any]
    index: int

    @property
    def key(self) -> str | None:
        """The key under which it stands, if it stands in a mapping."""
        return str(self.parent.pairs[self.index][0]) if isinstance(self.parent, Map) else None

    @property
    def entries(self) -> list[Any]:
        """The list in which it stands, be it of pairs."""
        return self.parent.pairs if isinstance(self.parent, Map) else self.parent

    @property
    def value(self) -> Any:
        """What stands there."""
        entry = self.entries[self.index]
        return entry[1] if isinstance(self.parent, Map) else entry

    @value.setter
    def value(self, value: Any) -> None:
        if isinstance(self.parent, Map):
            self.parent.pairs[self.index][1] = value
        else:
            self.parent[self.index] = value


def spots(root: Any) -> list[Spot]:
    """Every place below the root."""
    found: list[Spot] = []
    below = [root]
    while below:
        node = below.pop()
        if isinstance(node, Map | list):
            here = [Spot(node, i) for i in range(len(node.pairs if isinstance(node, Map) else node))]
            found += here
            below += [spot.value for spot in here]
    return found


def to_json(value: Any, *, ascii_only: bool = True) -> str:
    """The tree as JSON on one line, which is YAML too."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Map):
        inside = ", ".join(
            f"{to_json(k if isinstance(k, str) else str(k), ascii_only=ascii_only)}: "
            f"{to_json(v, ascii_only=ascii_only)}"
            for k, v in value.pairs
        )
        return f"{{{inside}}}"
    if isinstance(value, list):
        return f"[{', '.join(to_json(entry, ascii_only=ascii_only) for entry in value)}]"
    return json.dumps(value, ensure_ascii=ascii_only)


def to_yaml(root: Any, random: Random) -> str:
    """The tree as YAML in blocks, its small parts on one line."""
    lines: list[str] = []
    ascii_only = random.random() < 0.5

    def block(node: Any, indent: str) -> None:
        if not isinstance(node, Map):
            lines.append(indent + to_json(node, ascii_only=ascii_only))
            return
        for key, value in node.pairs:
            name = to_json(key if isinstance(key, str) else str(key), ascii_only=ascii_only)
            name = key if isinstance(key, str) and key.isidentifier() and key.isascii() else name
            if isinstance(value, Map) and value.pairs and name != "strategy":
                lines.append(f"{indent}{name}:")
                block(value, indent + "  ")
            elif isinstance(value, list) and value:
                lines.append(f"{indent}{name}:")
                lines.extend(f"{indent}  - {to_json(entry, ascii_only=ascii_only)}" for entry in value)
            else:
                lines.append(f"{indent}{name}: {to_json(value, ascii_only=ascii_only)}")

    block(root, "")
    return "\n".join(lines) + "\n"
