"""The numbers of an engine from the log of a real server: `python -m tests.reference.fit_server` prints them.

The logs are `tests/data/serving/*.csv`: vLLM 0.19 on one RTX PRO 6000 with Llama-3.1-8B and with Qwen3-32B,
300 requests each, at most 128 sequences at once (which the logs show: the 129th request gets its first token
when the first of the others is done). Times are seconds since the first request was queued.

Five numbers make an engine: a step alone, what each further sequence adds to it, what 1,000 tokens of context
add, what it takes to prefill 1,000, and the slots, which are known. The four are fitted to the first and last
tokens of the first half of the requests, under the arrivals of all (which are given, like their lengths):
least squares of the errors, each as a share of the time that its request took. Last tokens alone leave the
price of a step and that of a prefill undecided: of the 32B server all that is seen in them is the sum.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from .engine import Shape
from .turns import Arrivals

Array = NDArray[np.float64]

LOGS = Path(__file__).parent.parent / "data" / "serving"
SLOTS = 128


@dataclass(frozen=True)
class Log:
    """A server's log by request, in order of arrival; times in seconds."""

    queued: Array
    input_tokens: Array
    output_tokens: Array
    first: Array
    last: Array

    @classmethod
    def read(cls, name: str) -> Log:
        with (LOGS / f"{name}.csv").open(newline="") as file:
            rows = [[float(field) for field in row] for row in list(csv.reader(file))[1:]]
        return cls(*np.array(rows).T)

    def half(self) -> int:
        return len(self.queued) // 2

    def arrivals(self) -> list[tuple[float, int, int]]:
        return list(
            zip(
                self.queued.tolist(),
                self.input_tokens.astype(int).tolist(),
                self.output_tokens.astype(int).tolist(),
                strict=True,
            )
        )


@dataclass(frozen=True)
class Numbers:
    """Milliseconds: a step alone, more per further sequence, per 1,000 of context, per 1,000 to prefill."""

    alone: float
    more: float
    context: float
    prefill: float

    def shape(self) -> Shape:
        steps = {1: self.alone, SLOTS: self.alone + (SLOTS - 1) * self.more}
        return Shape.of(steps, context_ms=self.context, prefill_ms=self.prefill, slots=SLOTS)


def replay(log: Log, numbers: Numbers) -> tuple[Array, Array]:
    """When the first and the last token of each request is there."""
    run = Arrivals(numbers.shape(), log.arrivals())
    run.run()
    return np.array(run.first), np.array(run.last)


def fit(log: Log) -> Numbers:
    """To the first half, from a start that only knows the mean time of a token."""
    half = slice(0, log.half())
    took = (log.last - log.queued)[half]
    token = float(np.mean(((log.last - log.first) / log.output_tokens)[half])) * 1000

    def errors(values: Array) -> Array:
        first, last = replay(log, Numbers(*values))
        return np.concatenate([(first - log.first)[half] / took, (last - log.last)[half] / took])

    start = np.array([token / 2, token / 400, token / 800, token])
    found = least_squares(errors, start, bounds=(0, np.inf), x_scale=start, diff_step=1e-3)
    return Numbers(*(float(value) for value in found.x))


def errors(log: Log, numbers: Numbers) -> tuple[float, float]:
    """Of the second half's request times: error of the mean, and median of the absolute errors, as shares."""
    half = slice(log.half(), None)
    took = (log.last - log.queued)[half]
    predicted = (replay(log, numbers)[1] - log.queued)[half]
    return float(predicted.mean() / took.mean() - 1), float(np.median(np.abs(predicted / took - 1)))


if __name__ == "__main__":
    for path in sorted(LOGS.glob("*.csv")):
        log = Log.read(path.stem)
        numbers = fit(log)
        mean, median = errors(log, numbers)
        print(
            f"{path.stem}: {numbers}; of the second half the mean {mean:+.2%}, the median error {median:.2%}"
        )
