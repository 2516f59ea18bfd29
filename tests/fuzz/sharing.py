"""One reading of a file for all commands of a case: they differ in what they do with it.

Whatever refers to a function that reads gets one that remembers, and what it returned or raised the first
time is what each later call gets.
"""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import emulator
from emulator.recording import read, rerun


def import_everything() -> None:
    """Import all modules now, so that none takes a time limit's share, or a name while it is replaced."""
    for module in pkgutil.walk_packages(emulator.__path__, "emulator."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


@contextmanager
def read_once() -> Iterator[None]:
    """Let every file be loaded or read once inside, for each way to ask for it."""
    for function, places in _places().items():
        memo = _remembering(function)
        for module, name in places:
            setattr(module, name, memo)
    try:
        yield
    finally:
        for function, places in _places().items():
            for module, name in places:
                setattr(module, name, function)


@cache
def _places() -> dict[Callable[..., Any], list[tuple[Any, str]]]:
    """Where each function that reads is referred to."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "emulator"]
    return {
        function: [(m, name) for m in modules for name, value in list(vars(m).items()) if value is function]
        for function in (rerun.load_scenario, read)
    }


def _remembering(function: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[str, tuple[Any, Exception | None]] = {}

    def remembered(source: Any, **options: Any) -> Any:
        key = f"{source} {options}"
        if key not in known:
            try:
                known[key] = function(source, **options), None
            except emulator.EmulatorError as error:
                known[key] = None, error
        value, refused = known[key]
        if refused is not None:
            raise refused.with_traceback(None)
        return value

    return remembered
