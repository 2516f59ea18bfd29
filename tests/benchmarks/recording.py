"""What a recording costs: ``python tests/benchmarks/recording.py``.

Unpaced runs with and without a recording take turns in one process; the cost is the median of the differences
of their CPU times, for each episode, and what it comes to at 3600 times the wall clock. Then come the sizes
of an hour's recording, at most speed and flushed as often as at a slow one, and what it costs to read it.
"""

import statistics
import tempfile
import time
import tracemalloc
import zlib
from pathlib import Path

import emulator
from emulator.scenario import Scenario

PAIRS = 9
EPISODES_A_SECOND = 6973  # of the reference hour at 3600x


def seconds(scenario: Scenario, record: Path | None, *, race: bool = False) -> float:
    """CPU seconds that an unpaced run takes for an episode."""
    begun = time.process_time()
    runs = (
        emulator.race(scenario, speed="max", record=record, force=True)
        if race
        else [emulator.run(scenario, speed="max", record=record, force=True)]
    )
    return (time.process_time() - begun) / sum(run.result["episodes"]["finished"] for run in runs)


def cost(scenario: Scenario, record: Path, *, race: bool = False) -> str:
    """How much more a recorded run takes: the median of pairs, each in turns first."""
    differences, alone = [], []
    seconds(scenario, None, race=race)
    for pair in range(PAIRS):
        order = (None, record) if pair % 2 else (record, None)
        took = {path: seconds(scenario, path, race=race) for path in order}
        differences.append(took[record] - took[None])
        alone.append(took[None])
    more, each = statistics.median(differences), statistics.median(alone)
    at_3600 = more * EPISODES_A_SECOND
    share = f"{at_3600:.1%} of a core at 3600x"
    return f"{more * 1e6:+.1f} us an episode, which alone takes {each * 1e6:.1f}; {share}"


def flushed_often(recording: Path, events: int) -> int:
    """The size that a recording would have, compressed and flushed after every so many events."""
    packer = zlib.compressobj(1, wbits=31)
    size = 0
    with recording.open("rb") as file:
        for number, line in enumerate(file):
            size += len(packer.compress(line))
            if number % events == 0:
                size += len(packer.flush(zlib.Z_SYNC_FLUSH))
    return size + len(packer.flush())


def main() -> None:
    """Print all measurements."""
    folder = Path(tempfile.mkdtemp())
    day = emulator.load_scenario("stragglers", overrides=["duration=6h"])
    for suffix in (".jsonl", ".jsonl.gz"):
        print(f"run, {suffix}: {cost(day, folder / f'a{suffix}')}")
        print(f"race, {suffix}: {cost(day, folder / f'b{suffix}', race=True)}")
    hour = emulator.load_scenario("stragglers")
    for suffix in (".jsonl", ".jsonl.gz"):
        path = folder / f"hour{suffix}"
        emulator.run(hour, speed="max", record=path)
        print(f"an hour of 64 workers, {suffix}: {path.stat().st_size / 1e6:.2f} MB")
    often = flushed_often(folder / "hour.jsonl", 2)
    print(f"the same flushed after every second event, as at a speed of 1: {often / 1e6:.2f} MB (<= 1 MB)")
    path = folder / "a.jsonl.gz"
    begun = time.process_time()
    events = len(emulator.read_recording(path).lanes[0].events)
    took = time.process_time() - begun
    tracemalloc.start()
    recording = emulator.read_recording(path)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    print(f"reading: {took / events * 1e6:.1f} s and {held / events:.0f} MB for a million events")
    begun = time.process_time()
    rows = len(recording.lanes[0].episodes)
    print(f"the table of {rows} episodes: {time.process_time() - begun:.2f} s")


if __name__ == "__main__":
    main()
