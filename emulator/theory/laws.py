"""The laws as people quote them: what holds in the long run, of what is drawn independently.

Seconds are emulated ones, rates are updates per second, and episodes are those of workers of speed 1. A
`busy_seconds` is how long an update keeps the trainer: its mean, and the push if there is one.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from emulator.values.distributions import Distribution, Pareto, Trace, Uniform

_PANELS = 64
_HALVINGS = 30
_ACCURACY = 1e-10
_ORDER = 8
_LARGEST = 700  # the logarithm of about the largest float


def expected_maximum(distribution: Distribution, draws: int) -> float:
    """The mean of the longest of so many independent draws, in seconds; ``inf`` where it has none.

    ``E[max] = ∫ (1 - F(x)^B) dx`` over ``x`` from 0 to infinity (David and Nagaraja, Order Statistics, 2003,
    section 3.1), by adaptive quadrature to about 1e-7, closed where there is a form for it. The values of a
    trace are taken to be drawn with replacement, whatever its order.
    """
    mean = distribution.mean()
    if not math.isfinite(mean) or not distribution.variance():
        return mean
    match distribution:
        case Uniform(cap=None):
            return distribution.low + (distribution.high - distribution.low) * draws / (draws + 1)
        case Trace():
            values, counts = np.unique(distribution.capped_values(), return_counts=True)
            below = np.concatenate([[0.0], np.cumsum(counts) / counts.sum()]) ** draws
            return float(np.dot(values, np.diff(below)))
        case Pareto(cap=None):
            lost = 1 - 1 / distribution.alpha
            logs = math.lgamma(draws + 1) + math.lgamma(lost) - math.lgamma(draws + lost)
            return distribution.minimum * math.exp(logs)

    # Less the chance of each draw alone, whose integral is known, the tail falls twice as fast.
    def rest(x: NDArray[np.float64]) -> NDArray[np.float64]:
        survival = distribution.survival(x)
        return draws * survival - above_maximum(survival, draws)

    return draws * mean - _integral(rest, scale=distribution.median())


def above_maximum(survival: NDArray[np.float64], draws: int) -> NDArray[np.float64]:
    """``1 - F^B``: the chance that the longest of so many is longer, from that of one."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(draws * np.log1p(-np.minimum(survival, 1.0))))


def synchronous_rate(distribution: Distribution, batch_size: int, busy_seconds: float) -> float:
    """``1 / (E[max of B] + U + S)``: a round lasts as long as its longest episode, then comes the update.

    The elementary renewal theorem (Cox, Renewal Theory, 1962). Holds for `synchronous` with ``unfinished:
    wait``, with at least as many workers as a batch has episodes.
    """
    return 1 / (expected_maximum(distribution, batch_size) + busy_seconds)


def synchronous_utilisation(
    distribution: Distribution, workers: int, batch_size: int, busy_seconds: float
) -> float:
    """``B E[d] / (W (E[max of B] + U + S))``: what a round generates, by what its workers could have.

    Renewal-reward theorem, as for `synchronous_rate` and where that holds. The share that the whole rest of
    the round waits for its longest episode.
    """
    rate = synchronous_rate(distribution, batch_size, busy_seconds)
    return batch_size * distribution.mean() * rate / workers if rate else 0.0


def asynchronous_rate(mean_seconds: float, workers: int, batch_size: int, busy_seconds: float) -> float:
    """``min(W / (B E[d]), 1 / (U + S))``: the workers set the pace, or the trainer does.

    Each worker finishes ``1 / E[d]`` episodes per second whatever the spread, by the renewal theorem. Holds
    for `asynchronous` without a bound on staleness, with pushes in the background and a queue without a
    capacity; where the two rates come near each other, less by what each waits for the other.
    """
    trainer = 1 / busy_seconds if busy_seconds else math.inf
    return min(workers / (batch_size * mean_seconds), trainer)


def in_flight_limit(workers: int, batch_size: int) -> float:
    """``W / B``: how many updates pass during an episode, on average, whatever the spread.

    Little's law (Little, Operations Research 9, 1961) for the workers: ``W`` episodes are always running, and
    each update takes ``B``. Holds for workers that never stop and set the pace; in a run of finite length it
    is less, by the versions that episodes still running at the end have seen.
    """
    return workers / batch_size


def staleness_by_littles_law(in_flight: float, queued: float, in_training: float, batch_size: int) -> float:
    """``(in flight + queued + in training) / B - (B - 1) / 2B``: mean staleness from numbers of episodes.

    Little's law again: an episode that waits for so many others sees one update for each ``B`` of them;
    those of its own batch are ``(B - 1) / 2`` on average, and no update. `in_training` is ``B`` times the
    trainer's utilisation, until the publication. Holds of means over time, as measured, in the saturated
    state, for `asynchronous`.
    """
    return (in_flight + queued + in_training) / batch_size - (batch_size - 1) / (2 * batch_size)


def discarded_share(
    distribution: Distribution, workers: int, batch_size: int, busy_seconds: float, max_staleness: float
) -> float | None:
    """The share of finished episodes that ``enforce: drop`` discards; None where the trainer sets the pace.

    With a publication every ``P`` seconds, an episode of ``d`` seconds that starts ``a`` after one is too old
    when it is judged (as it finishes, or at the end of the update it finishes in) if
    ``a + d > (η + 1) P - U``. Workers never stop, so that ``a`` is uniform, and a batch of what is
    left takes one ``P``:

        ``W / E[d] * (G((η + 1) P - U) - G(η P - U)) = B``, with ``G(x) = ∫ F(y) dy`` from 0 to ``x``,

    which gives ``P``, and the share ``1 - B E[d] / (W P)``. A mean-field law of this emulator's rules: it
    neglects that ``P`` varies, which costs it about a hundredth of its value for batches of 64, and the
    beginning of a run, when nothing is old.
    """
    from scipy.optimize import brentq  # type: ignore[import-untyped]  # noqa: PLC0415  (takes long to import)

    mean, whole = distribution.mean(), math.floor(max_staleness)
    if not math.isfinite(mean) or not mean:
        return None

    def below(x: float) -> float:
        """``G(x)``, the mean of what is left of `x` after an episode."""
        return (
            x - _integral(distribution.survival, scale=min(x, distribution.median()), end=x) if x > 0 else 0.0
        )

    def left_over(period: float) -> float:
        first, last = whole * period - busy_seconds, (whole + 1) * period - busy_seconds
        return workers / mean * (below(last) - below(first)) - batch_size

    shortest = max(batch_size * mean / workers, busy_seconds)
    if left_over(shortest) >= 0:
        return 0.0 if shortest > busy_seconds else None
    longest = 2 * shortest
    while left_over(longest) < 0:
        longest *= 2
    return float(1 - batch_size * mean / (workers * brentq(left_over, shortest, longest, rtol=1e-9)))


def _integral(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]], *, scale: float, end: float = math.inf
) -> float:
    """The integral from 0 to `end` of a function that is monotone in its tails.

    Over the logarithm of `x`, where durations are smooth, by Gauss's rule on panels that are halved where
    the halves disagree with the whole: a jump is cornered.
    """
    if not scale:
        return 0.0  # what lasts no time, as far as floats go
    nodes, weights = np.polynomial.legendre.leggauss(_ORDER)

    def panels(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
        half = (high - low)[:, None] / 2
        x = np.exp((low + high)[:, None] / 2 + half * nodes)
        return np.asarray((function(x) * x * half) @ weights)

    low_end = math.log(scale) - 30
    high_end = math.log(scale)
    while high_end < _LARGEST and high_end < math.log(end):
        x = np.array([math.exp(high_end)])
        if float(function(x)[0]) * x[0] < 1e-13 * scale:
            break
        high_end += 1
    high_end = min(high_end, math.log(end))
    edges = np.linspace(low_end, high_end, _PANELS + 1)
    low, high = edges[:-1], edges[1:]
    whole = panels(low, high)
    total = math.exp(low_end) * float(function(np.array([math.exp(low_end)]))[0])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        left, right = panels(low, middle), panels(middle, high)
        rough = np.abs(left + right - whole) > _ACCURACY * max(abs(total), float(np.abs(whole).max()))
        total += float((left + right)[~rough].sum())
        if not rough.any():
            return total
        low, high = np.append(low[rough], middle[rough]), np.append(middle[rough], high[rough])
        whole = np.append(left[rough], right[rough])
    return total + float(whole.sum())
