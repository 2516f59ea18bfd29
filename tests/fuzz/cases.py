"""One case: a mutated file, and every command on it."""

import os
import shutil
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.random import SeedSequence

import emulator
from emulator.scenario import Scenario
from emulator.steady import steady
from tests.fuzz import recordings, scenarios
from tests.fuzz.calling import call
from tests.fuzz.checks import FaultError, exported, strict_json
from tests.fuzz.sharing import read_once

_FEW = 60
"""About as many episodes as a run may have that is not made shorter."""

_SUFFIXES = (".svg", ".html", ".cast", ".json", ".csv")
_LARGEST_DRAWN = 300_000


@dataclass(frozen=True)
class Failure:
    """What went wrong: `place` is alike for failures that have one cause."""

    case: str
    place: str
    told: str


def run_case(
    kind: str, seed: int, index: int, *, thorough: bool = False, keep: Path | None = None
) -> tuple[list[Failure], Counter[str]]:
    """Make a case and run it: what failed, and counts of what came of it.

    `thorough` is through all exports, else through one of them, and every other valid scenario is not run.
    The files stay in `keep`, if that is given.
    """
    folder = Path(tempfile.mkdtemp(prefix="fuzz-")) if keep is None else keep
    case = _Case(Random(f"{kind}/{seed}/{index}"), folder, thorough)
    try:
        with read_once():
            (case.scenario if kind == "scenarios" else case.recording)()
    except FaultError as fault:
        return [Failure(f"{kind} {seed}:{index}", *_place(fault))], case.counts
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    return [], case.counts


def _place(fault: FaultError) -> tuple[str, str]:
    """Where a fault comes from, and all there is to know of it."""
    cause = fault.__cause__
    if cause is None:
        command, _, what = str(fault).partition(": ")
        head, _, _ = what.partition(" in ")
        return f"{command.split()[0]}: {head[:80]}", str(fault)
    ours = [f for f in traceback.extract_tb(cause.__traceback__) if f"{os.sep}emulator{os.sep}" in f.filename]
    last = ours[-1] if ours else traceback.extract_tb(cause.__traceback__)[-1]
    where = f"{last.filename.rpartition(f'{os.sep}emulator{os.sep}')[2]}:{last.lineno} in {last.name}"
    text = "".join(traceback.format_exception(cause))
    return f"{where}: {type(cause).__name__}", f"{fault}\n{text}"


class _Case:
    def __init__(self, random: Random, folder: Path, thorough: bool) -> None:
        self._random, self._folder, self._thorough = random, folder, thorough
        self.counts: Counter[str] = Counter({"cases": 1})

    def scenario(self) -> None:
        random = self._random
        data = scenarios.scenario(random)
        path = self._folder / (
            "s.yaml" if random.random() < 0.8 else random.choice(("s.json", "s.yml", "s", "-s.yaml"))
        )
        path.write_bytes(data)
        scenarios.write_files(data, self._folder)
        if call("validate", "--", str(path)).code == 2:
            self.counts["refused"] += 1
            return
        self.counts["valid"] += 1
        if self._thorough or random.random() < 0.5:
            self._run(random.choice(("run", "race")), path)

    def recording(self) -> None:
        name, data = recordings.recording(self._random)
        path = self._folder / name
        path.write_bytes(data)
        ways = [(), ("--json",)]
        self._random.shuffle(ways)
        replayed = call("replay", str(path), *ways[0])
        if replayed.code == 2:
            self.counts["refused"] += 1
        else:
            self.counts["read"] += 1
        told = [replayed]
        if self._thorough and replayed.code == 0:
            told.append(call("replay", str(path), *ways[1]))
        for way, outcome in zip(ways, told, strict=False):
            if way and outcome.code == 0:
                strict_json(outcome.out, "replay: its JSON")
        self._export(path, self._thorough and replayed.code == 0)
        if self._random.random() < 0.15:
            self._run_again(self._random.choice(("run", "race")), path)

    def _run(self, command: str, path: Path) -> None:
        limits = self._limits(command, path)
        if limits is None:
            return
        to = self._folder / f"{command}.jsonl{self._random.choice(('', '.gz'))}"
        how = self._random.choice((("--json",), ("--headless",), ("--quiet",)))
        ran = call(
            *(command, *limits, "--speed", "max", "--record", str(to), *how, "--", str(path)),
            codes=(0, 1, 2),
        )
        if ran.code == 2:
            self.counts["run refused"] += 1
            return
        self.counts["ran" if ran.code == 0 else "failed" if ran.code == 1 else "interrupted"] += 1
        if "--json" in how:
            strict_json(ran.out, f"{command}: its JSON")
        if ran.code == 130 or to.stat().st_size > _LARGEST_DRAWN:
            return
        replayed = call("replay", str(to), *self._random.choice(((), ("--json",))))
        if replayed.code == 2:
            raise FaultError(f"replay: refused what {command} wrote: {replayed.err}")
        self._export(to, self._thorough)
        again = self._run_again(command, to) if self._random.random() < 0.15 else None
        if again is not None and "--json" in how and ran.code == 0:
            hashes = [_hashes(strict_json(text, "JSON")) for text in (ran.out, again)]
            if hashes[0] != hashes[1]:
                raise FaultError(f"{command}: another trace when it ran again: {hashes}")

    def _run_again(self, command: str, recording: Path) -> str | None:
        """Run a recording again, if that is no long run; the JSON that was printed, if it ended well."""
        limits = self._limits(command, recording)
        if limits is None:
            return None
        ran = call(
            *(command, str(recording), *limits, "--speed", "max", "--quiet", "--json"),
            codes=(0, 1, 2),
        )
        self.counts["run again"] += ran.code == 0
        return ran.out if ran.code == 0 and not limits else None

    def _export(self, path: Path, thorough: bool) -> None:
        random = self._random
        at = ("--at", random.choice(("0", "1", "10s", "30"))) if random.random() < 0.15 else ()
        for suffix in _SUFFIXES if thorough else (random.choice(_SUFFIXES),):
            to = self._folder / f"{path.name}{suffix}"
            size = random.choice(
                ("20x5", "46x12", "60x20", "80x24", "80x24" if suffix == ".cast" else "200x50")
            )
            made = call("export", str(path), "--to", str(to), "--size", size, "--seconds", "1", *at)
            if made.code == 0:
                self.counts["exported"] += 1
                exported(suffix, to.read_text(encoding="utf-8"))
            elif to.exists():
                raise FaultError(f"export {suffix}: it failed, and left a file: {made.err[:200]}")

    def _limits(self, command: str, path: Path) -> tuple[str, ...] | None:
        """The options that make a run short; None if it would still be too large."""
        try:
            scenario = emulator.load_scenario(path)
        except emulator.EmulatorError:
            return ()
        lanes = (scenario,) if command == "run" else scenario.lane_scenarios()
        if sum(map(_workers, lanes)) > 4000 or any(lane.trainer.batch_size > 10**6 for lane in lanes):
            self.counts["too large to run"] += 1
            return None
        rate = sum(map(_episodes_a_second, lanes))
        if rate * scenario.duration <= _FEW:
            return ()
        return ("--set", f"duration={max(_FEW / rate, 1e-300)!r}")


def _hashes(told: Any) -> list[str]:
    return [lane["trace_sha256"] for lane in told.get("lanes", [told])]


def _workers(scenario: Scenario) -> int:
    added = (event.add_workers.count for event in scenario.events if event.add_workers is not None)
    return scenario.rollout.workers + sum(added)


def _episodes_a_second(scenario: Scenario) -> float:
    """About how many episodes are started in an emulated second; of one through engines, its requests."""
    rollout = scenario.rollout
    if scenario.engine is not None:
        turns = 1.0 if rollout.turns is None else min(rollout.turns.count.mean(), 1e9)
        return steady(scenario).episodes_per_second * turns * _workers(scenario) / rollout.workers
    assert rollout.episode_seconds is not None
    with np.errstate(all="ignore"):
        durations = rollout.episode_seconds.sampler(SeedSequence(1))(100)
        speeds = rollout.speed.sampler(SeedSequence(1))(100)
        mean = float(np.minimum(durations, scenario.duration).mean()) / max(float(speeds.mean()), 1e-300)
    if scenario.environment is not None and scenario.environment.timeout_seconds is not None:
        mean = min(mean, scenario.environment.timeout_seconds)
    return _workers(scenario) / max(mean, 1e-9)
