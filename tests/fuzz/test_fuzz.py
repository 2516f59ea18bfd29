"""The suite's share of the fuzzing: always the same cases, so that none fails by chance."""

import resource
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.fuzz import calling, cases, recordings, scenarios
from tests.fuzz.campaign import KINDS, limit_memory
from tests.fuzz.checks import FaultError

CASES, PARTS = 2000, 10


@pytest.fixture(autouse=True)
def _bounded_memory() -> Iterator[None]:
    before = limit_memory()
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files_end_in_time_with_a_documented_code_and_plain_text(kind: str, part: int) -> None:
    counts: Counter[str] = Counter()
    for index in range(CASES * part // PARTS, CASES * (part + 1) // PARTS):
        failures, came_of_it = cases.run_case(kind, 0, index)
        assert not failures, f"python -m tests.fuzz --kind {kind} --case 0:{index}\n{failures[0].told}"
        counts += came_of_it
    # Cases that are all refused at once, or all pass untouched, would show nothing.
    assert counts["cases"] == CASES // PARTS
    assert counts["exported"] > 10
    assert counts["refused"] > 20


def test_a_seed_and_an_index_make_the_same_case_again() -> None:
    assert scenarios.scenario(Random("a")) == scenarios.scenario(Random("a"))
    assert recordings.recording(Random("a")) == recordings.recording(Random("a"))
    recordings.bases.cache_clear()
    assert recordings.recording(Random("b")) == recordings.recording(Random("b"))


def test_a_traceback_is_a_failure_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise KeyError("lanes")

    monkeypatch.setattr("emulator.cli.output.write_yaml", broken)
    case = next(i for i in range(100) if cases.run_case("scenarios", 0, i)[1]["refused"] == 0)
    (failure,), _ = cases.run_case("scenarios", 0, case)
    assert failure.place.endswith("in validate: KeyError")
    assert failure.case == f"scenarios 0:{case}"


@pytest.mark.parametrize("text", ["\x1b[2J", "a\rb", "\x9b31m", "\u202ename", "\u2028", "\tname"])
def test_what_acts_on_a_terminal_is_a_failure(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.cli.output.write_json", lambda value: print(text))
    with pytest.raises(FaultError, match="the character"):
        calling.call("schema")


def test_a_hang_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(value: object) -> None:
        while True:
            try:
                while True:
                    pass
            except Exception:
                continue

    monkeypatch.setattr(calling, "BUSY", 0.05)
    monkeypatch.setattr("emulator.cli.output.write_json", endless)
    with pytest.raises(FaultError, match="a hang"):
        calling.call("schema")


def test_too_much_memory_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.cli.output.write_json", lambda value: bytearray(2 << 30))
    if not Path("/proc/self/statm").exists():
        pytest.skip("memory is limited on Linux only")
    with pytest.raises(FaultError, match="out of memory"):
        calling.call("schema")
