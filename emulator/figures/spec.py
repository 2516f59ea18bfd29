"""The list of figures: each is defined here, once, and every view iterates over it.

To add one, let the fold accumulate what it is made of, and define it here: in `FIGURES`, at its place in the
result, with its label, format and where it is shown; and in `LINES` if it belongs next to or below a headline
figure. `tests/README.md` has the steps.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from emulator.figures.engine_spec import ENGINE_FIGURES, STARTED_TOKENS, TRAINED_TOKENS
from emulator.figures.records import (
    ACTING,
    BLOCKED,
    DOWN,
    FROZEN,
    GATED,
    GENERATING,
    OVERHEAD,
    PUSHING,
    STALLED,
    TRAINER_STATES,
    UPDATING,
    WAITING,
    WORKER_STATES,
)
from emulator.figures.result import Derived, Figure, Quantity, Result, Section, Shown, part
from emulator.figures.sums import ratio
from emulator.figures.text import COUNT, DECIMAL, MEAN_SPAN, MINUTES, Format, decimal, share

_EVEN = 1.02  # batches less different in size are the same
WASTED = "wasted"


EMULATED = Figure[float]("emulated_seconds", unit="s", value=lambda r: r.t)
UPDATES = Figure[int](
    "updates",
    noun="update",
    shown=Shown.SUMMARY | Shown.PAGE | Shown.DASHBOARD,
    value=lambda r: r.lane.updates,
)
PUBLICATIONS = Figure[int](
    "publications",
    format=COUNT,
    words="{} published",
    shown=Shown.PAGE,
    value=lambda r: r.lane.publications,
)
UPDATES_PER_HOUR = Figure[float](
    "updates_per_hour",
    words="{}/h",
    column="updates/h",
    shown=Shown.EVERYWHERE,
    value=lambda r: ratio(r.lane.updates * 3600, r.t),
)
FIRST_UPDATE = Figure[float](
    "first_update_seconds",
    "first update",
    unit="s",
    column="first, s",
    shown=Shown.EVERYWHERE,
    value=lambda r: r.lane.first_update_at,
    since="0.2.0",
)

BATCH_MEAN = Figure[float](
    "trainer.batch_mean",
    "episodes per update",
    words="{} episodes per update",
    column="per update",
    shown=Shown.SWEEP,
    value=lambda r: ratio(r.lane.learned_from, r.lane.updates),
    since="0.2.0",
)
TRAINED_PER_HOUR = Derived[float](
    "trained_per_hour",
    "trained episodes per hour",
    of=lambda result: _product(result[UPDATES_PER_HOUR], result[BATCH_MEAN]),
)
"""For comparing lanes whose batch sizes differ; updates that have counted only, with their push."""


def _product(a: float | None, b: float | None) -> float | None:
    return None if a is None else a * (b or 0.0)


def uneven(sizes: Iterable[float | None]) -> bool:
    """Whether updates are on batches of such different sizes that episodes are compared instead."""
    known = [size for size in sizes if size]
    return bool(known) and max(known) > _EVEN * min(known)


def _episodes(account: str) -> Figure[int]:
    words = account.replace("_", " ")
    name = f"episodes.{account}"
    return part(name, f"episodes {words}", format=COUNT, words=f"{{}} {words}", shown=Shown.READ)


STARTED, FINISHED, DROPPED, ABORTED, FAILED = map(
    _episodes, ("started", "finished", "dropped", "aborted", "failed")
)
TRAINED: Figure[int] = part("episodes.trained", "episodes trained", noun="episode", shown=Shown.SUMMARY)
LOST = (ABORTED, DROPPED, FAILED)
"""The accounts of episodes that were begun and will not be trained."""

WORKERS_BUSY = Figure[float](
    "workers.utilisation",
    "workers busy",
    unit="%",
    column="busy %",
    shown=Shown.EVERYWHERE,
    value=lambda r: ratio(r.workers_seconds[GENERATING], r.service),
)
GOODPUT = Figure[float](
    "workers.goodput",
    unit="%",
    column="good %",
    shown=Shown.READ,
    value=lambda r: ratio(r.workers_seconds[GENERATING] - r.workers_seconds[WASTED], r.service),
)
WORKER_SECONDS: dict[str, Figure[float]] = {
    account: part(
        f"workers.seconds.{account}", unit="s", section=Section.ENGINE if account == ACTING else Section.ALL
    )
    for account in (*WORKER_STATES, WASTED)
}
TRAINER_BUSY = Figure[float](
    "trainer.utilisation",
    "trainer busy",
    unit="%",
    shown=Shown.READ | Shown.DASHBOARD,
    value=lambda r: ratio(r.trainer_seconds[UPDATING] + r.trainer_seconds[PUSHING], r.t),
)
TRAINER_SECONDS: dict[str, Figure[float]] = {
    account: part(f"trainer.seconds.{account}", unit="s") for account in TRAINER_STATES
}
LONGEST_WAIT = Figure[float](
    "trainer.longest_wait_seconds",
    "longest wait",
    unit="s",
    words="trainer wait max {}",
    column="longest, s",
    shown=Shown.EVERYWHERE,
    value=lambda r: r.lane.longest_wait(r.t),
    since="0.2.0",
)

_staleness = partial(part, unit="versions", shown=Shown.EVERYWHERE)
STALENESS: Figure[float] = _staleness("staleness.mean", "staleness", format=DECIMAL, column="stale")
STALENESS_P95: Figure[int] = _staleness("staleness.p95", "p95 of staleness", words="p95 {}", column="p95")
STALENESS_MAX: Figure[int] = _staleness("staleness.max", "largest staleness", words="max {}", column="max")
STALENESS_HISTOGRAM: Figure[list[int]] = part(
    "staleness.histogram", "staleness of trained episodes", unit="versions", is_list=True
)

_versions = partial(part, unit="versions", format=DECIMAL)
SPAN_MEAN: Figure[float] = _versions("versions.span_mean", words="span {}", shown=Shown.SUMMARY)
SPAN_MAX: Figure[int] = part("versions.span_max", unit="versions", words="max {}", shown=Shown.SUMMARY)
NEWEST_MEAN: Figure[float] = _versions(
    "versions.newest_mean", "of the newest version", words="newest one {} behind", shown=Shown.RACE
)

QUEUE_MEAN = Figure[float](
    "queue.mean",
    "queue",
    unit="episodes",
    words="mean {}",
    shown=Shown.READ,
    value=lambda r: r.lane.queue_mean(r.t),
)
QUEUE_MAX = Figure[int](
    "queue.max",
    unit="episodes",
    words="max {}",
    noun="episode",
    shown=Shown.READ,
    value=lambda r: r.lane.queue_max(),
)
QUEUE_WAIT = Figure[float](
    "queue.wait_mean",
    "mean wait",
    unit="s",
    format=MEAN_SPAN,
    words="queue wait {}",
    column="queued, s",
    shown=Shown.EVERYWHERE,
    value=lambda r: r.lane.queue_wait_mean(),
    since="0.2.0",
)

_lengths = partial(part, unit="s", format=MEAN_SPAN, shown=Shown.SUMMARY | Shown.PAGE)
STARTED_MEAN: Figure[float] = _lengths("episode_seconds.started_mean", words="{} started")
TRAINED_MEAN: Figure[float] = _lengths("episode_seconds.trained_mean", words="mean episode: {} trained")
LENGTH_BIAS: Figure[float] = part(
    "episode_seconds.length_bias", format=DECIMAL, column="bias", shown=Shown.EVERYWHERE
)
"""Of tokens where lengths are tokens."""

_groups = partial(part, unit="s", format=MEAN_SPAN)
_happened = partial(part, format=COUNT, shown=Shown.SUMMARY)
_learning = partial(part, format=DECIMAL)

LEARNED: Figure[int] = part("learning.updates", noun="update")
REWARD: Figure[float] = _learning(
    "learning.reward", "reward (small model)", words="reward {}", column="reward", shown=Shown.EVERYWHERE
)
REWARD_SLOWEST: Figure[float] = _learning(
    "learning.reward_slowest_tenth", "slowest tenth", shown=Shown.TABLES
)
UPDATES_TO_80: Figure[int] = part("learning.updates_to_80", noun="update")
MINUTES_TO_80: Figure[float] = part(
    "learning.minutes_to_80",
    "first to 80%",
    unit="min",
    format=MINUTES,
    words="80% after {}",
    column="min to 80%",
    shown=Shown.READ | Shown.SWEEP,
)
CLIPPED: Figure[float] = part("learning.clip_fraction", "clipped", unit="%", shown=Shown.SUMMARY)
SAMPLE_SIZE: Figure[float] = part("learning.effective_sample_size", unit="%", shown=Shown.SUMMARY)
KL: Figure[float] = part(
    "learning.kl",
    "KL",
    unit="nats per decision",
    format=Format(lambda kl: decimal(kl, 3), places=3),
    shown=Shown.SUMMARY,
)

FIGURES: tuple[Figure[Any], ...] = (
    EMULATED,
    UPDATES,
    PUBLICATIONS,
    UPDATES_PER_HOUR,
    FIRST_UPDATE,
    STARTED,
    FINISHED,
    TRAINED,
    DROPPED,
    ABORTED,
    FAILED,
    *map(_episodes, ("queued", "in_flight", "paused", "attempts")),
    WORKERS_BUSY,
    GOODPUT,
    *WORKER_SECONDS.values(),
    TRAINER_BUSY,
    *TRAINER_SECONDS.values(),
    BATCH_MEAN,
    LONGEST_WAIT,
    STALENESS,
    part("staleness.p50", unit="versions"),
    STALENESS_P95,
    STALENESS_MAX,
    STALENESS_HISTOGRAM,
    _versions("staleness.in_flight_mean"),
    _versions("staleness.in_queue_mean"),
    SPAN_MEAN,
    SPAN_MAX,
    NEWEST_MEAN,
    _versions("versions.weighted_mean"),
    QUEUE_MEAN,
    QUEUE_MAX,
    QUEUE_WAIT,
    STARTED_MEAN,
    TRAINED_MEAN,
    LENGTH_BIAS,
    *ENGINE_FIGURES,
    _happened("groups.completed", words="{} complete"),
    _happened("groups.lost", words="{} lost"),
    _groups(
        "groups.sibling_wait_mean", "wait for siblings", words="mean wait for siblings {}", shown=Shown.TABLES
    ),
    _groups("groups.completion_p50", "group complete, p50"),
    _groups("groups.completion_p95", "group complete, p95", shown=Shown.RACE),
    part("environment.sandbox_seconds", unit="s"),
    part(
        "environment.sandbox_utilisation",
        "sandboxes used",
        unit="%",
        words="sandboxes {} in use",
        shown=Shown.TABLES,
    ),
    part("environment.sandbox_wait_seconds", unit="s"),
    _happened("environment.failures"),
    _happened("environment.timeouts"),
    _happened("environment.retries"),
    LEARNED,
    REWARD,
    _learning("learning.reward_first"),
    REWARD_SLOWEST,
    _learning("learning.best_reward"),
    UPDATES_TO_80,
    MINUTES_TO_80,
    CLIPPED,
    _learning("learning.ratio_mean"),
    SAMPLE_SIZE,
    KL,
    _learning("learning.ratio_min"),
    _learning("learning.ratio_max"),
)
"""Every figure of a result, in its order; those of a section only where there is such a section."""


LISTS = tuple(figure.name for figure in FIGURES if figure.is_list)


def of_service(result: Result, account: str) -> float:
    """The share of the workers' time that went to an account, 0 where there was no time."""
    service = sum(result[WORKER_SECONDS[state]] or 0.0 for state in WORKER_STATES)
    return (result[WORKER_SECONDS[account]] or 0.0) / service if service else 0.0


def _of_trainer(result: Result, account: str) -> float | None:
    return ratio(result[TRAINER_SECONDS[account]] or 0.0, result[EMULATED] or 0.0)


DROPPED_SHARE = Derived[float](
    "episodes.dropped_share",
    "of the finished",
    unit="%",
    format=Format(lambda part: share(part, 1), factor=100.0),
    words="{} dropped",
    column="dropped %",
    shown=Shown.RACE | Shown.SWEEP,
    of=lambda result: ratio(result[DROPPED] or 0, result[FINISHED] or 0),
)
"""Episodes dropped of those finished, as theory has it."""

IDLE = tuple(
    Derived[float](account, unit="%", shown=Shown.RACE, of=partial(of_service, account=account))
    for account in (ACTING, WAITING, GATED, BLOCKED, FROZEN, DOWN, OVERHEAD)
)
"""What workers did otherwise, as shares of their time."""

TRAINER_UPDATING, *TRAINER_HELD = (
    Derived[float](account, unit="%", shown=Shown.SUMMARY, of=partial(_of_trainer, account=account))
    for account in (UPDATING, PUSHING, STALLED)
)
"""What the trainer did, as shares of the time."""


class Line(NamedTuple):
    """A figure that is read first, with those beside and under it."""

    head: Figure[Any]
    beside: tuple[Quantity[Any], ...] = ()
    under: tuple[Quantity[Any], ...] = ()


LINES = (
    Line(UPDATES_PER_HOUR, (UPDATES, TRAINED, PUBLICATIONS), (FIRST_UPDATE,)),
    Line(WORKERS_BUSY, (), (GOODPUT, *IDLE)),
    Line(TRAINER_BUSY, (), (LONGEST_WAIT,)),
    Line(STALENESS, (STALENESS_P95, STALENESS_MAX), (NEWEST_MEAN,)),
    Line(LENGTH_BIAS, (TRAINED_MEAN, STARTED_MEAN, TRAINED_TOKENS, STARTED_TOKENS)),
    Line(QUEUE_MEAN, (QUEUE_MAX,), (QUEUE_WAIT,)),
)
"""What every run is judged by, in the order in which it is read."""


def is_of(figure: Quantity[Any], section: Section) -> bool:
    """Whether a figure is one of a section."""
    return isinstance(figure, Figure) and figure.section is section


WATCHED: tuple[Figure[Any], ...] = tuple(
    figure
    for line in LINES
    for figure in line.under
    if isinstance(figure, Figure) and Shown.DASHBOARD in figure.shown
)
"""What the dashboard says of a lane besides what it draws."""

SWEPT: tuple[Quantity[Any], ...] = tuple(
    figure for figure in (*FIGURES, DROPPED_SHARE) if Shown.SWEEP in figure.shown
)
"""The columns of a sweep as it is printed."""
