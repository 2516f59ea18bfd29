"""What a request to an engine costs: beside an episode without one, and of many turns on many engines.

`python tests/benchmarks/engines.py` prints it. Both kinds of lanes are run in turn, the best of three each.
"""

from time import perf_counter
from typing import Any

import emulator
from emulator import Scenario

_RUNS = 3


def lane(workers: int, duration: float, **parts: Any) -> Scenario:
    """Workers that never wait, for batches as large as they are many."""
    return Scenario.model_validate(
        {
            "duration": duration,
            "trainer": {"batch_size": workers, "update_seconds": 15},
            "strategy": {"kind": "asynchronous"},
            **parts,
            "rollout": {"workers": workers, **parts["rollout"]},
        }
    )


def once(scenario: Scenario) -> tuple[float, dict[str, Any]]:
    """Seconds of wall time of an unpaced run, and its result."""
    begin = perf_counter()
    result = emulator.run(scenario, speed="max").result
    return perf_counter() - begin, result


def best(scenarios: list[Scenario]) -> list[float]:
    """Microseconds for an episode that finished, of each."""
    rounds = []
    for _ in range(_RUNS):
        timed = [once(scenario) for scenario in scenarios]
        rounds.append([1e6 * seconds / result["episodes"]["finished"] for seconds, result in timed])
    return [min(of_one) for of_one in zip(*rounds, strict=True)]


def main() -> None:
    """Print both."""
    for workers, duration in ((256, 3600.0), (10_000, 400.0)):
        seconds = {"episode_seconds": {"kind": "lognormal", "median": 20, "sigma": 1.0}}
        tokens = {"episode_tokens": {"kind": "lognormal", "median": 2000, "sigma": 1.0}}
        plain = lane(workers, duration, rollout=seconds)
        shared = lane(workers, duration, rollout=tokens, engine={"count": 8, "step_ms": 10})
        alone, on_engines = best([plain, shared])
        times = on_engines / alone
        print(
            f"{workers:,} workers: {alone:.1f} us an episode, {on_engines:.1f} us on 8 engines, {times:.1f}x"
        )
    turns = {
        "turns": {
            "count": {"kind": "lognormal", "median": 30, "sigma": 0.45},
            "output_tokens": {"kind": "lognormal", "median": 220, "sigma": 0.9},
            "tool_seconds": {"kind": "lognormal", "median": 1, "sigma": 1.3},
            "tool_tokens": 700,
        },
        "prompt_tokens": 2000,
    }
    hour = lane(1024, 3600.0, rollout=turns, engine={"preset": "qwen3-8b-h100", "count": 16})
    seconds_taken, result = min((once(hour) for _ in range(_RUNS)), key=lambda run: run[0])
    tokens_made = result["engine"]["tokens"]
    print(f"1,024 workers on 16 engines, {tokens_made:,.0f} tokens in an hour: {seconds_taken:.1f} s")


if __name__ == "__main__":
    main()
