"""What a second process is worth to a sweep: ``python tests/benchmarks/sweep.py``.

The same grid runs on one process and on two, in turns; the ratio is that of the best times, which other
work of the machine disturbs least. The processes of the first turn are new, those of the others warm.
"""

import time

import emulator

TURNS = 4
MOST = 0.6
VARY = ["rollout.episode_seconds.sigma=0.3:1.5:5", "strategy=synchronous,asynchronous"]


def seconds(scenario: emulator.Scenario, jobs: int) -> float:
    """Wall seconds of the grid on so many processes."""
    begun = time.perf_counter()
    emulator.sweep(scenario, VARY, seeds=10, jobs=jobs)
    return time.perf_counter() - begun


def main() -> None:
    """Print the ratio."""
    scenario = emulator.load_scenario("stragglers")
    best = dict.fromkeys((1, 2), float("inf"))
    for turn in range(TURNS):
        for jobs in (1, 2) if turn % 2 else (2, 1):
            best[jobs] = min(best[jobs], seconds(scenario, jobs))
    print(f"two processes take {best[2] / best[1]:.2f} of the time of one (<= {MOST})")


if __name__ == "__main__":
    main()
