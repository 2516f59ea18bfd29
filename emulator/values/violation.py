"""What is wrong between keys that are well in themselves."""

from dataclasses import dataclass

Path = tuple[str | int, ...]
"""A key of a scenario, such as ``("trainer", "batch_size")``."""


@dataclass(frozen=True)
class Violation:
    """A broken rule: the key at fault, what it holds, what is allowed, and the other keys the rule weighs."""

    path: Path
    found: str
    allowed: str
    others: tuple[Path, ...] = ()

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))}: found {self.found}; allowed: {self.allowed}"
