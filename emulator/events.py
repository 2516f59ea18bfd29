"""What happened, typed: the only thing that leaves the emulated system.

An event says what cannot be derived from the events before it. Figures, recordings and views
are made from events and from nothing else. Times are emulated seconds; workers, episodes,
updates and versions are whole numbers from 0.

What a worker does follows from its last event. `Start` and `Resume` begin to generate, unless
`Blocked`, `Overhead` or `Enqueue` follow at the same instant; an episode's end (`Finish`, `Abort`, `Fail`,
`Pause`) leaves the worker waiting at the barrier, unless `Gated`, `Blocked`, `Down` or `Leave` follow.
Every worker of the scenario waits at 0.

A line of the trace is the JSON object of one event, its keys in the order of the fields below.
`encode` makes that line.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Start(NamedTuple):
    """A worker takes an episode for the first time, under the version published at that moment.

    `duration` is as drawn: the seconds that a worker of speed 1 needs. `group` is the episode's group.
    """

    t: float
    worker: int
    episode: int
    group: int
    version: int
    duration: float


class Resume(NamedTuple):
    """A worker takes a paused episode up again, under the version published at that moment."""

    t: float
    worker: int
    episode: int
    version: int


class Blocked(NamedTuple):
    """A worker waits, for ``"sandbox"`` (before an attempt) or ``"queue"`` (with a finished episode)."""

    t: float
    worker: int
    cause: str


class Gated(NamedTuple):
    """A worker is free, and a staleness gate keeps it from starting."""

    t: float
    worker: int


class Overhead(NamedTuple):
    """A worker spends time on its episode that generates nothing: a reset, a refresh, a resumption."""

    t: float
    worker: int


class Generate(NamedTuple):
    """A worker generates its episode from here on (after having been blocked, or overhead)."""

    t: float
    worker: int


class Enqueue(NamedTuple):
    """A worker waits in the line of an engine, which has no room for its request."""

    t: float
    worker: int
    engine: int


class Admit(NamedTuple):
    """An engine begins to run a worker's request, which generates from here on.

    `tokens` are to be generated, `context` is all that the request holds at first, `prefill` the seconds for
    which it stops the engine. `steps` have been made by the engine, `held` is its context with the request.
    """

    t: float
    worker: int
    engine: int
    tokens: float
    context: float
    prefill: float
    steps: float
    held: float


class Release(NamedTuple):
    """A request leaves its engine; its worker uses a tool from here on, unless something else follows.

    `tokens` were generated since it was admitted. `steps` have been made by the engine, `held` is its
    context, both before the request is gone.
    """

    t: float
    worker: int
    engine: int
    tokens: float
    steps: float
    held: float


class Act(NamedTuple):
    """A worker uses a tool from here on, of an episode that was paused in it."""

    t: float
    worker: int


class Preempt(NamedTuple):
    """A worker's request, just released because the cache is full, waits at the head of its engine's line."""

    t: float
    worker: int
    engine: int


class Lengthen(NamedTuple):
    """A running request becomes longer (a straggler): `left` tokens are still to be generated."""

    t: float
    worker: int
    engine: int
    left: float
    steps: float
    held: float


class EngineChange(NamedTuple):
    """Something happened to an engine, or it is there at all (`cause`: ``"start"``).

    The other causes are ``"pause"``, ``"refresh"``, ``"prefill"``, ``"slow"`` (whose end too), ``"crash"``
    and ``"restart"``.

    From here on it has this `speed`, and decodes nothing before `until`, of which `prefill` seconds are a
    prefill that begins. `steps` have been made, `held` is its context.
    """

    t: float
    engine: int
    cause: str
    speed: float
    until: float
    prefill: float
    steps: float
    held: float


class Retry(NamedTuple):
    """An attempt ended without success (`cause`: ``"failure"`` or ``"timeout"``); the next begins."""

    t: float
    worker: int
    episode: int
    cause: str


class Finish(NamedTuple):
    """A worker finishes its episode; it is in the queue, unless `Blocked` follows."""

    t: float
    worker: int
    episode: int


class HandOver(NamedTuple):
    """An episode that waited for room enters the queue."""

    t: float
    worker: int
    episode: int


class Pause(NamedTuple):
    """An unfinished episode is set aside, its progress kept (``"resume"``) or lost (``"defer"``)."""

    t: float
    worker: int
    episode: int
    cause: str


class Abort(NamedTuple):
    """An unfinished episode is given up; `worker` is None if it was paused."""

    t: float
    worker: int | None
    episode: int
    cause: str


class Fail(NamedTuple):
    """An episode is lost for good: its attempts are used up, or its worker crashed."""

    t: float
    worker: int
    episode: int
    cause: str


class Drop(NamedTuple):
    """Finished episodes are discarded untrained, for ``"stale"`` or ``"group"``."""

    t: float
    episodes: list[int]
    cause: str


class Update(NamedTuple):
    """The trainer takes a batch and begins update number `update`."""

    t: float
    update: int
    episodes: list[int]


class Updated(NamedTuple):
    """The update is computed; `pushes` says whether a push of its weights (or a publication) follows."""

    t: float
    update: int
    pushes: bool


class Learn(NamedTuple):
    """What the update came to, where there is a learner: `emulator.learner.LearningFigures`."""

    t: float
    update: int
    reward: float
    reward_slowest: float
    clip_fraction: float
    ratio_mean: float
    ratio_min: float
    ratio_max: float
    effective_sample_size: float
    kl: float


class Push(NamedTuple):
    """A push of weights begins that takes time; `freezes` says that every worker stands still in it."""

    t: float
    freezes: bool


class Publish(NamedTuple):
    """A new version is published; a push ends with it, and with the push the freeze."""

    t: float
    version: int


class Refresh(NamedTuple):
    """Running episodes go on under the newest version (in-flight weights), in worker order."""

    t: float
    workers: list[int]


class Stall(NamedTuple):
    """The trainer stands still."""

    t: float


class Unstall(NamedTuple):
    """The trainer goes on with what it did when it stalled."""

    t: float


class Down(NamedTuple):
    """A worker crashed."""

    t: float
    worker: int


class Up(NamedTuple):
    """A worker is back, or a new one has come, and waits."""

    t: float
    worker: int


class Leave(NamedTuple):
    """A worker leaves for good."""

    t: float
    worker: int


class Inject(NamedTuple):
    """A timeline entry took effect; `action` is it with all numbers resolved, as a scenario takes it."""

    t: float
    action: dict[str, Any]

    @property
    def entry(self) -> dict[str, Any]:
        """The timeline entry that does the same: ``{"at": 600.0, "straggler": {...}}``."""
        return {"at": self.t, **self.action}


Event = (
    Start
    | Resume
    | Blocked
    | Gated
    | Overhead
    | Generate
    | Enqueue
    | Admit
    | Release
    | Act
    | Preempt
    | Lengthen
    | EngineChange
    | Retry
    | Finish
    | HandOver
    | Pause
    | Abort
    | Fail
    | Drop
    | Update
    | Updated
    | Learn
    | Push
    | Publish
    | Refresh
    | Stall
    | Unstall
    | Down
    | Up
    | Leave
    | Inject
)

NAMES: dict[type[Event], str] = {kind: kind.__name__.lower() for kind in Event.__args__}
KINDS: dict[str, type[Event]] = {name: kind for kind, name in NAMES.items()}


def template(kind: type[Event]) -> str | None:
    """What ``%`` makes an event's line of its fields, if these are all numbers; whole ones may be floats.

    The repr of a float is its JSON, and formatting a tuple is several times as fast as encoding.
    """
    fields: dict[str, Any] = kind.__annotations__
    if not all(annotation in (float, int) for annotation in fields.values()):
        return None
    formats = {name: "%r" if annotation is float else "%d" for name, annotation in fields.items()}
    time = formats.pop("t")
    return f'{{"t":{time},"event":"{NAMES[kind]}"' + "".join(f',"{n}":{f}' for n, f in formats.items()) + "}"


def _encoder(kind: type[Event]) -> Callable[[Any], str]:
    fields: dict[str, Any] = kind.__annotations__
    numbers = template(kind)
    if numbers is not None:
        return numbers.__mod__

    def encode_with_json(event: Any) -> str:
        t, *values = event
        line = {"t": t, "event": NAMES[kind], **dict(zip(list(fields)[1:], values, strict=True))}
        return json.dumps(line, separators=(",", ":"))

    return encode_with_json


_ENCODERS = {kind: _encoder(kind) for kind in NAMES}


def encode(event: Event) -> str:
    """The event as one line of a trace, without the newline."""
    return _ENCODERS[type(event)](event)


def decode(line: dict[str, Any]) -> Event:
    """The event that the JSON object of a trace line holds.

    Raises KeyError for an unknown name of an event, and TypeError for fields that are not its own.
    """
    fields = {name: value for name, value in line.items() if name not in ("event", "lane")}
    return KINDS[line["event"]](**fields)
