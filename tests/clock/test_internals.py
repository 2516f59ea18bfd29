"""Private parts of asyncio are named in one module, and what is made without them gives the same traces."""

import ast
import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import emulator
from emulator.clock import EmulatedLoop, internals, probe, public
from emulator.scenario import bundled_scenarios

PACKAGE = Path(emulator.__file__).parent
ASYNCIO = (
    asyncio.SelectorEventLoop,
    asyncio.TimerHandle,
    asyncio.Queue,
    asyncio.Future,
    asyncio.Task,
)
PRIVATE = {name for kind in ASYNCIO for name in dir(kind) if name[0] == "_" and name[:2] != "__"} | {
    "_asyncio_future_blocking",
    "_cancelled",
    "_getters",
    "_maxsize",
    "_putters",
    "_queue",
    "_ready",
    "_run",
    "_selector",
    "_stopping",
}


def named(tree: ast.AST) -> Iterator[str]:
    """The private names that a class of asyncio's may have, and that are used of anything but oneself."""
    derived = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and _of_asyncio(node)]
    inside = {id(node) for kind in derived for node in ast.walk(kind)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in PRIVATE:
            own = isinstance(node.value, ast.Name) and node.value.id == "self" and id(node) not in inside
            if not own or node.attr.startswith("_asyncio"):
                yield node.attr
        elif isinstance(node, ast.FunctionDef) and node.name in PRIVATE and id(node) in inside:
            yield node.name


def _of_asyncio(kind: ast.ClassDef) -> bool:
    bases = " ".join(ast.unparse(base) for base in kind.bases)
    return any(name in bases for name in ("asyncio.", "Loop", "KeyedQueue", "Alarm"))


def test_no_module_but_one_names_a_private_part_of_asyncio() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): names
        for path in PACKAGE.rglob("*.py")
        if (names := set(named(ast.parse(path.read_text()))))
    }
    assert list(found) == ["clock/internals.py"]
    assert found["clock/internals.py"] >= {"_run_once", "_ready", "_asyncio_future_blocking", "_getters"}


def test_the_private_parts_work_on_this_python() -> None:
    assert probe.private_parts_work()


@pytest.mark.parametrize(
    "break_it",
    [
        lambda patch: patch.delattr(internals.Alarm, "__await__"),
        lambda patch: patch.setattr(internals.Alarm, "add_done_callback", lambda *_, **__: None),
        lambda patch: patch.setattr(internals.KeyedQueue, "_get", lambda _: None),
        lambda patch: patch.setattr(internals.KeyedQueue, "_wakeup_next", lambda *_: None, raising=False),
    ],
    ids=["not awaitable", "never woken", "gives nothing", "wakes nobody"],
)
def test_the_probe_finds_what_a_changed_asyncio_would_break(
    break_it: "object", monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it(monkeypatch)  # type: ignore[operator]
    assert not probe.private_parts_work()


HASH_BUNDLED = """
import emulator
from emulator.clock import Alarm
print(Alarm.__module__)
for name in {names}:
    scenario = emulator.load_scenario(name)
    short = scenario.model_copy(update=dict(duration=scenario.duration / 6))
    print(emulator.run(short, speed="max").trace_sha256)
"""


def hashes(**environment: str) -> list[str]:
    names = [bundled.name for bundled in bundled_scenarios()]
    done = subprocess.run(
        [sys.executable, "-c", HASH_BUNDLED.format(names=names)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_without_private_parts_every_bundled_scenario_gives_the_same_trace() -> None:
    chosen, *expected = hashes(EMULATOR_ASYNCIO="")
    fallen_back, *found = hashes(EMULATOR_ASYNCIO="public")
    assert (chosen, fallen_back) == (internals.__name__, public.__name__)
    assert found == expected
    assert len(found) == len(bundled_scenarios())


def test_a_loop_in_a_thread_of_a_running_loop_is_probed_too() -> None:
    async def main() -> bool:
        return probe.private_parts_work()

    with asyncio.Runner(loop_factory=EmulatedLoop) as runner:
        assert runner.run(main())
