"""How fast the emulator is: ``python tests/benchmarks/speed.py`` (needs simpy; ``--quick`` for a short look).

The reference model, unpaced, side by side in one process: the emulator through its public API with every
figure on; the same model as one writes it in SimPy, with a `Store` and no figures; and a bare heap in pure
Python, with no tasks, no queue object and no figures. Ratios are of medians over rounds in which each takes
its turn. Then, each in a process of its own: the cost of an episode and the memory as workers grow.
"""

import argparse
import gc
import heapq
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import simpy

import emulator
from emulator.scenario import Scenario

UPDATE_SECONDS = 15.0
BLOCK = 1024


def scenario(workers: int, seconds: float) -> Scenario:
    """The reference model with another number of workers and batches of as many."""
    overrides = [f"rollout.workers={workers}", f"trainer.batch_size={workers}", f"duration={seconds}"]
    return emulator.load_scenario("stragglers", overrides=overrides)


def durations() -> Iterator[float]:
    """Seconds of episodes, drawn in blocks: the cheapest way there is."""
    generator = np.random.default_rng(1)
    while True:
        yield from generator.lognormal(np.log(20), 1.0, BLOCK).tolist()


def in_emulator(workers: int, seconds: float) -> int:
    """Episodes finished."""
    result = emulator.run(scenario(workers, seconds), speed="max", seed=1).result
    return int(result["episodes"]["finished"])


def in_simpy(workers: int, seconds: float) -> int:
    """Episodes finished."""
    environment = simpy.Environment()
    queue = simpy.Store(environment)
    draws = durations()
    version = finished = 0

    def worker() -> Iterator[simpy.Event]:
        nonlocal finished
        while True:
            started_under = version
            yield environment.timeout(next(draws))
            finished += 1
            yield queue.put(started_under)

    def trainer() -> Iterator[simpy.Event]:
        nonlocal version
        while True:
            for _ in range(workers):
                yield queue.get()
            yield environment.timeout(UPDATE_SECONDS)
            version += 1

    for _ in range(workers):
        environment.process(worker())
    environment.process(trainer())
    environment.run(until=seconds)
    return finished


def in_a_heap(workers: int, seconds: float) -> int:
    """Episodes finished."""
    draws = durations()
    heap = [(next(draws), number, 0) for number in range(workers)]
    heapq.heapify(heap)
    trainer, busy = -1, False
    order, version, finished = workers, 0, 0
    queue: list[int] = []
    while heap[0][0] <= seconds:
        now, who, started_under = heap[0]
        order += 1
        if who == trainer:
            heapq.heappop(heap)
            version += 1
            busy = False
        else:
            finished += 1
            queue.append(started_under)
            heapq.heapreplace(heap, (now + next(draws), order, version))
        if not busy and len(queue) >= workers:
            del queue[:workers]
            busy = True
            heapq.heappush(heap, (now + UPDATE_SECONDS, trainer, version))
    return finished


def rate(model: Callable[[int, float], int], workers: int, seconds: float) -> float:
    """Episodes a second of CPU time."""
    gc.collect()
    begun = time.process_time()
    finished = model(workers, seconds)
    return finished / (time.process_time() - begun)


def side_by_side(workers: int, seconds: float, rounds: int) -> None:
    """Print the medians and their ratios to SimPy's."""
    models = {"emulator, every figure": in_emulator, "SimPy, no figures": in_simpy, "bare heap": in_a_heap}
    rates: dict[str, list[float]] = {name: [] for name in models}
    for model in models.values():
        model(workers, seconds / 20)
    for _ in range(rounds):
        for name, model in models.items():
            rates[name].append(rate(model, workers, seconds))
    medians = {name: statistics.median(found) for name, found in rates.items()}
    print(f"\n{workers:,} workers, {seconds:,.0f} s, median of {rounds}")
    for name, found in medians.items():
        ratio = found / medians["SimPy, no figures"]
        print(f"  {name:<24}{found:>12,.0f} episodes a second{ratio:>8.2f} of SimPy")


def peak_megabytes() -> float:
    """The most memory that this process took; where the system does not tell, a parent's is in it too."""
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def alone(workers: int, seconds: float) -> None:
    """Print the microseconds of an episode, of an event and the peak memory of this process."""
    begun = time.process_time()
    run = emulator.run(scenario(workers, seconds), speed="max", seed=1)
    taken = time.process_time() - begun
    counts = run.result["episodes"]
    events = counts["started"] + counts["finished"] + 3 * run.result["updates"]
    megabytes = peak_megabytes()
    print(
        f"  {workers:>7,} workers{seconds:>8,.0f} s{counts['finished']:>11,} episodes"
        f"{taken * 1e6 / counts['finished']:>8.2f} us each{taken * 1e6 / events:>7.2f} us an event"
        f"{taken:>7.1f} s{megabytes:>7,.0f} MB"
    )


def main() -> None:
    """Run it all, or what `alone` is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--alone", nargs=2, type=float, metavar=("WORKERS", "SECONDS"))
    chosen = parser.parse_args()
    if chosen.alone:
        alone(int(chosen.alone[0]), chosen.alone[1])
        return
    scale = 10 if chosen.quick else 1
    side_by_side(64, 36_000 / scale, rounds=3 if chosen.quick else 7)
    side_by_side(10_000, 1800 / scale, rounds=3)
    print("\nalone, each in its own process")
    for workers, seconds in ((64, 36_000), (1000, 3600), (10_000, 1800), (100_000, 600)):
        arguments = [sys.executable, __file__, "--alone", str(workers), str(seconds / scale)]
        subprocess.run(arguments, check=True)


if __name__ == "__main__":
    main()
