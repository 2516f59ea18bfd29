"""Waiting for what really happens, in another process or thread, however busy the machine is."""

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = 120.0
"""Wall seconds after which something counts as never happening. No test measures speed by it."""

Found = TypeVar("Found")


def eventually(condition: Callable[[], Found], what: Callable[[], str] = lambda: "something true") -> Found:
    """What the condition gives as soon as it is true; `what` says for a failure what was waited for."""
    until = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < until, f"it never came to this: {what()}"
        time.sleep(0.02)
    return found
