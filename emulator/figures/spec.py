"""The list of figures: each is defined here, once, and every view iterates over it.

To add one, let the fold accumulate what it is made of, and put it here: in `FIGURES` where the result is to
have it, with what it is called, how it is written and where it is shown; and in a line of `LINES` if it is to
stand beside or under a figure that is read first.
"""

from functools import partial
from typing import Any, NamedTuple

from emulator.figures.accounts import Reading
from emulator.figures.records import (
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
from emulator.figures.result import Derived, Figure, Quantity, Result, Section, Shown
from emulator.figures.sums import ratio
from emulator.figures.text import (
    COUNT,
    DECIMAL,
    MEAN_SPAN,
    MINUTES,
    NUMBER,
    SHARE,
    SPAN,
    Format,
    decimal,
    share,
)

_READ = Shown.SUMMARY | Shown.RACE | Shown.PAGE
_EVERYWHERE = _READ | Shown.SWEEP | Shown.DASHBOARD
WASTED = "wasted"


def _whole(r: Reading) -> float | None:
    return r.t


UPDATES = Figure[int](
    name="updates",
    label="updates",
    format=COUNT,
    noun="update",
    shown=Shown.SUMMARY | Shown.PAGE | Shown.DASHBOARD,
    value=lambda r: r.lane.updates,
)
PUBLICATIONS = Figure[int](
    name="publications",
    label="publications",
    format=COUNT,
    words="{} published",
    shown=Shown.PAGE,
    value=lambda r: r.lane.publications,
)
EMULATED = Figure[float](name="emulated_seconds", label="emulated time", unit="s", format=SPAN, value=_whole)
UPDATES_PER_HOUR = Figure[float](
    name="updates_per_hour",
    label="updates per hour",
    words="{}/h",
    column="updates/h",
    shown=_EVERYWHERE,
    value=lambda r: ratio(r.lane.updates * 3600, r.t),
)
FIRST_UPDATE = Figure[float](
    name="first_update_seconds",
    label="first update",
    unit="s",
    format=SPAN,
    words="first update {}",
    column="first, s",
    shown=_EVERYWHERE,
    value=lambda r: r.lane.first_update_at,
    since="0.2.0",
)

BATCH_MEAN = Figure[float](
    name="trainer.batch_mean",
    label="episodes per update",
    words="{} episodes per update",
    value=lambda r: ratio(r.lane.learned_from, r.lane.updates),
    since="0.2.0",
)
TRAINED_PER_HOUR = Derived[float](
    name="trained_per_hour",
    label="trained episodes per hour",
    of=lambda result: _product(result[UPDATES_PER_HOUR], result[BATCH_MEAN]),
)
"""What lanes can be compared by whose batches differ in size; of updates that have counted."""


def _product(a: float | None, b: float | None) -> float | None:
    return None if a is None else a * (b or 0.0)


def _episodes(account: str, words: str = "", noun: str = "", shown: Shown = _READ) -> Figure[int]:
    return Figure[int](
        name=f"episodes.{account}",
        label=f"episodes {account.replace('_', ' ')}",
        format=COUNT,
        noun=noun,
        words=words or f"{{}} {account.replace('_', ' ')}",
        shown=shown,
        value=lambda r: r.episodes[account],
    )


STARTED, FINISHED = _episodes("started"), _episodes("finished")
TRAINED = _episodes("trained", "{}", "episode", Shown.SUMMARY)
DROPPED, ABORTED, FAILED = _episodes("dropped"), _episodes("aborted"), _episodes("failed")
LOST = (ABORTED, DROPPED, FAILED)
"""The accounts of episodes that were begun and will not be trained."""

WORKERS_BUSY = Figure[float](
    name="workers.utilisation",
    label="workers busy",
    unit="%",
    format=SHARE,
    column="busy %",
    shown=_EVERYWHERE,
    value=lambda r: ratio(r.workers[GENERATING], r.service),
)
GOODPUT = Figure[float](
    name="workers.goodput",
    label="goodput",
    unit="%",
    format=SHARE,
    words="goodput {}",
    column="good %",
    shown=_READ,
    value=lambda r: ratio(r.workers[GENERATING] - r.workers[WASTED], r.service),
)


def _seconds(who: str, account: str) -> Figure[float]:
    return Figure[float](
        name=f"{who}.seconds.{account}",
        label=account,
        unit="s",
        format=SPAN,
        value=lambda r: (r.workers if who == "workers" else r.trainer)[account],
    )


WORKER_SECONDS = {account: _seconds("workers", account) for account in (*WORKER_STATES, WASTED)}
TRAINER_SECONDS = {account: _seconds("trainer", account) for account in TRAINER_STATES}
TRAINER_BUSY = Figure[float](
    name="trainer.utilisation",
    label="trainer busy",
    unit="%",
    format=SHARE,
    shown=_READ | Shown.DASHBOARD,
    value=lambda r: ratio(r.trainer[UPDATING] + r.trainer[PUSHING], r.t),
)
LONGEST_WAIT = Figure[float](
    name="trainer.longest_wait_seconds",
    label="longest wait",
    unit="s",
    format=SPAN,
    words="trainer wait max {}",
    column="longest, s",
    shown=_EVERYWHERE,
    value=lambda r: r.lane.longest_wait(r.t),
    since="0.2.0",
)


def _staleness(part: str, label: str = "", words: str = "{}", **more: Any) -> Figure[Any]:
    return Figure[Any](
        name=f"staleness.{part}",
        label=label,
        words=words,
        unit="versions",
        value=lambda r: r.staleness[part],
        **more,
    )


STALENESS: Figure[float] = _staleness(
    "mean", "staleness", "staleness {}", format=DECIMAL, column="stale", shown=_EVERYWHERE
)
STALENESS_P95: Figure[int] = _staleness("p95", "p95 of staleness", "p95 {}", column="p95", shown=_EVERYWHERE)
STALENESS_MAX: Figure[int] = _staleness("max", "largest staleness", "max {}", column="max", shown=_EVERYWHERE)
STALENESS_HISTOGRAM: Figure[list[int]] = _staleness("histogram", "staleness of trained episodes")


def _versions(part: str, words: str, form: Format = DECIMAL, shown: Shown = Shown.SUMMARY) -> Figure[Any]:
    return Figure[Any](
        name=f"versions.{part}",
        label="of the newest version" if part == "newest_mean" else f"versions, {part.replace('_', ' ')}",
        unit="versions",
        format=form,
        words=words,
        shown=shown,
        value=lambda r: r.versions[part],
    )


SPAN_MEAN: Figure[float] = _versions("span_mean", "span {}")
SPAN_MAX: Figure[int] = _versions("span_max", "max {}", NUMBER)
NEWEST_MEAN: Figure[float] = _versions("newest_mean", "newest one {} behind", shown=Shown.RACE)

QUEUE_MEAN = Figure[float](
    name="queue.mean",
    label="queue",
    unit="episodes",
    words="mean {}",
    shown=_READ,
    value=lambda r: r.lane.queue_mean(r.t),
)
QUEUE_MAX = Figure[int](
    name="queue.max",
    label="most in the queue",
    unit="episodes",
    words="max {}",
    noun="episode",
    column="max",
    shown=_READ,
    value=lambda r: r.lane.queue_max(),
)
QUEUE_WAIT = Figure[float](
    name="queue.wait_mean",
    label="mean wait",
    unit="s",
    format=MEAN_SPAN,
    words="queue wait {}",
    column="queued, s",
    shown=_EVERYWHERE,
    value=lambda r: r.lane.queue_wait_mean(),
    since="0.2.0",
)


def _lengths(part: str, label: str, words: str) -> Figure[float]:
    return Figure[float](
        name=f"episode_seconds.{part}",
        label=label,
        unit="s",
        format=MEAN_SPAN,
        words=words,
        shown=Shown.SUMMARY | Shown.PAGE,
        value=lambda r: r.lengths[part],
    )


STARTED_MEAN = _lengths("started_mean", "mean duration of started episodes", "{} started")
TRAINED_MEAN = _lengths("trained_mean", "mean duration of trained episodes", "mean episode: {} trained")
LENGTH_BIAS = Figure[float](
    name="episode_seconds.length_bias",
    label="length bias",
    format=DECIMAL,
    words="length bias {}",
    column="bias",
    shown=_EVERYWHERE,
    value=lambda r: r.lengths["length_bias"],
)


def _in(section: Section, part: str, label: str = "", **more: Any) -> Figure[Any]:
    return Figure[Any](
        name=f"{section.value}.{part}",
        label=label or part.replace("_", " "),
        section=section,
        value=lambda r: getattr(r, section.value)[part],
        **{"words": f"{part} {{}}", **more},
    )


SIBLING_WAIT: Figure[float] = _in(
    Section.GROUPS,
    "sibling_wait_mean",
    "wait for siblings",
    unit="s",
    format=MEAN_SPAN,
    words="mean wait for siblings {}",
    shown=Shown.SUMMARY | Shown.RACE,
)
_GROUPS: tuple[Figure[Any], ...] = (
    _in(Section.GROUPS, "completed", format=COUNT, words="{} complete", shown=Shown.SUMMARY),
    _in(Section.GROUPS, "lost", format=COUNT, words="{} lost", shown=Shown.SUMMARY),
    SIBLING_WAIT,
    _in(Section.GROUPS, "completion_p50", "group complete, p50", unit="s", format=MEAN_SPAN),
    _in(
        Section.GROUPS, "completion_p95", "group complete, p95", unit="s", format=MEAN_SPAN, shown=Shown.RACE
    ),
)
_ENVIRONMENT: tuple[Figure[Any], ...] = (
    _in(Section.ENVIRONMENT, "sandbox_seconds", unit="s", format=SPAN),
    _in(
        Section.ENVIRONMENT,
        "sandbox_utilisation",
        "sandboxes used",
        unit="%",
        format=SHARE,
        words="sandboxes {} in use",
        shown=Shown.SUMMARY | Shown.RACE,
    ),
    _in(Section.ENVIRONMENT, "sandbox_wait_seconds", unit="s", format=SPAN),
    *(
        _in(Section.ENVIRONMENT, part, format=COUNT, shown=Shown.SUMMARY)
        for part in ("failures", "timeouts", "retries")
    ),
)

LEARNED: Figure[int] = _in(Section.LEARNING, "updates", format=COUNT, noun="update", words="{}")
REWARD: Figure[float] = _in(
    Section.LEARNING,
    "reward",
    "reward (small model)",
    format=DECIMAL,
    column="reward",
    words="reward {}",
    shown=_EVERYWHERE,
)
REWARD_SLOWEST: Figure[float] = _in(
    Section.LEARNING,
    "reward_slowest_tenth",
    "slowest tenth",
    format=DECIMAL,
    words="slowest tenth {}",
    shown=Shown.SUMMARY | Shown.RACE,
)
UPDATES_TO_80: Figure[int] = _in(Section.LEARNING, "updates_to_80", format=COUNT, noun="update", words="{}")
MINUTES_TO_80: Figure[float] = _in(
    Section.LEARNING,
    "minutes_to_80",
    "first to 80%",
    unit="min",
    format=MINUTES,
    words="80% after {}",
    column="min to 80%",
    shown=Shown.SUMMARY | Shown.RACE | Shown.SWEEP | Shown.PAGE,
)
CLIPPED: Figure[float] = _in(
    Section.LEARNING, "clip_fraction", format=SHARE, words="clipped {}", shown=Shown.SUMMARY
)
SAMPLE_SIZE: Figure[float] = _in(
    Section.LEARNING,
    "effective_sample_size",
    format=SHARE,
    words="effective sample size {}",
    shown=Shown.SUMMARY,
)
KL: Figure[float] = _in(
    Section.LEARNING,
    "kl",
    "KL",
    unit="nats per decision",
    format=Format(lambda kl: decimal(kl, 3), places=3),
    words="KL {}",
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
    _staleness("p50"),
    STALENESS_P95,
    STALENESS_MAX,
    STALENESS_HISTOGRAM,
    _staleness("in_flight_mean", format=DECIMAL),
    _staleness("in_queue_mean", format=DECIMAL),
    SPAN_MEAN,
    SPAN_MAX,
    NEWEST_MEAN,
    _versions("weighted_mean", "weighted by time {}", shown=Shown.NOWHERE),
    QUEUE_MEAN,
    QUEUE_MAX,
    QUEUE_WAIT,
    STARTED_MEAN,
    TRAINED_MEAN,
    LENGTH_BIAS,
    *_GROUPS,
    *_ENVIRONMENT,
    LEARNED,
    REWARD,
    _in(Section.LEARNING, "reward_first", format=DECIMAL),
    REWARD_SLOWEST,
    _in(Section.LEARNING, "best_reward", format=DECIMAL),
    UPDATES_TO_80,
    MINUTES_TO_80,
    CLIPPED,
    _in(Section.LEARNING, "ratio_mean", format=DECIMAL),
    SAMPLE_SIZE,
    KL,
    _in(Section.LEARNING, "ratio_min", format=DECIMAL),
    _in(Section.LEARNING, "ratio_max", format=DECIMAL),
)
"""Every figure of a result, in its order; those of a section only where there is such a section."""

BY_NAME = {figure.name: figure for figure in FIGURES}


def of_service(result: Result, account: str) -> float:
    """The share of the workers' time that went to an account, 0 where there was no time."""
    service = sum(result[WORKER_SECONDS[state]] or 0.0 for state in WORKER_STATES)
    return (result[WORKER_SECONDS[account]] or 0.0) / service if service else 0.0


DROPPED_SHARE = Derived[float](
    name="episodes.dropped_share",
    label="of the finished",
    unit="%",
    format=Format(lambda part: share(part, 1), factor=100.0),
    words="{} dropped",
    column="dropped %",
    shown=Shown.RACE | Shown.SWEEP,
    of=lambda result: ratio(result[DROPPED] or 0, result[FINISHED] or 0),
)
"""Episodes dropped of those finished, as theory has it."""

IDLE = tuple(
    Derived[float](
        name=f"workers.{account}_share",
        label=account,
        unit="%",
        format=SHARE,
        words=f"{account} {{}}",
        shown=Shown.RACE,
        of=partial(of_service, account=account),
    )
    for account in (WAITING, GATED, BLOCKED, FROZEN, DOWN, OVERHEAD)
)
"""What workers did otherwise, as shares of their time."""


def _held(account: str) -> Derived[float]:
    return Derived[float](
        name=f"trainer.{account}_share",
        label=account,
        unit="%",
        format=SHARE,
        words=f"{account} {{}}",
        shown=Shown.SUMMARY,
        of=lambda result: ratio(result[TRAINER_SECONDS[account]] or 0.0, result[EMULATED] or 0.0),
    )


TRAINER_UPDATING, *TRAINER_HELD = map(_held, (UPDATING, PUSHING, STALLED))
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
    Line(LENGTH_BIAS, (TRAINED_MEAN, STARTED_MEAN)),
    Line(QUEUE_MEAN, (QUEUE_MAX,), (QUEUE_WAIT,)),
)
"""What every run is judged by, in the order in which it is read."""

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
