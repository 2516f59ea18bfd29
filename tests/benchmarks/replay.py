"""What a replay costs: ``python tests/benchmarks/replay.py``.

An hour of 1024 workers is recorded and read, its checkpoints are made, and it is scrubbed to and fro at
random as a person does: each answer is the fold to another time and the frame of it.
"""

import gc
import random
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import emulator
from emulator.dashboard.frame import draw
from emulator.dashboard.replay_states import States
from emulator.dashboard.state import ClockReading
from emulator.recording import Recording

MOST = 0.1
JUMPS = 300
SIZE = (200, 50)


def answers(states: States, times: Sequence[float]) -> list[float]:
    """CPU seconds of each of some jumps, in order of size."""
    took = []
    for t in times:
        begun = time.process_time()
        draw(states.at(t), ClockReading(t, 60.0), SIZE)
        took.append(time.process_time() - begun)
    return sorted(took)


def recorded(path: Path, *overrides: str, race: bool) -> Recording:
    """An hour of 1024 workers, written and read."""
    scenario = emulator.load_scenario(
        "stragglers", overrides=["rollout.workers=1024", "trainer.batch_size=1024", *overrides]
    )
    (emulator.race if race else emulator.run)(scenario, speed="max", record=path, force=True)
    begun = time.process_time()
    recording = emulator.read_recording(path)
    print(f"  {sum(len(lane.events) for lane in recording.lanes):,} events", end=", ")
    print(f"read in {time.process_time() - begun:.1f} s", end=", ")
    return recording


def main() -> None:
    """Print all measurements."""
    path = Path(tempfile.mkdtemp()) / "hour.jsonl.gz"
    for name, overrides, race in (
        ("run", [], False),
        ("run in groups", ["rollout.group_size=8"], False),
        ("race", [], True),
    ):
        print(f"{name}, an hour of 1024 workers:")
        recording = recorded(path, *overrides, race=race)
        gc.freeze()
        begun = time.process_time()
        states = States(recording)
        print(f"folded in {time.process_time() - begun:.1f} s")
        draws = random.Random(1)
        times = [draws.uniform(0, recording.t_end) for _ in range(JUMPS)]
        ways = {
            "anywhere": times,
            "minutes back": [recording.t_end - 60 * n for n in range(61)],
            "minutes on": [60.0 * n for n in range(61)],
            "home and end": [0.0, recording.t_end] * 10,
        }
        for way, to in ways.items():
            took = answers(states, to)
            print(
                f"  {way}: median {took[len(took) // 2] * 1e3:.0f} ms, worst {took[-1] * 1e3:.0f} ms", end=""
            )
            print(f" (<= {MOST * 1e3:.0f} ms)")
        gc.unfreeze()
        tracemalloc.start()
        states = States(recording)
        print(f"  {tracemalloc.get_traced_memory()[0] / 1e6:.0f} MB of checkpoints")
        tracemalloc.stop()


if __name__ == "__main__":
    main()
