"""What is around every view: the head with the clock, the log, the keys and the help."""

from collections.abc import Iterable, Sequence

from emulator.dashboard.canvas import Area, Canvas, fitting
from emulator.dashboard.log import Entry
from emulator.dashboard.state import ClockReading, Looking, ShownLane
from emulator.dashboard.theme import Role
from emulator.figures import spec as f
from emulator.figures import text
from emulator.text import pad, width

_SLOW = 0.95  # of the asked speed
_BIASED = 0.9
_KEYS_FROM = 8  # rows

_LOG_ROLES = {
    "inject": Role.MARK,
    "straggler": Role.STALE,
    "wait": Role.WARNING,
    "cut": Role.WARNING,
    "publish": Role.DIM,
    "back": Role.DIM,
}

_TIME = (
    ("space", "pause and go on"),
    (".", "one step, in a pause"),
    ("+  -", "faster, slower: 1 10 30 60 120 600 3600 max"),
)
_INJECT = (
    ("s", "straggler: an episode takes x8, the same in every lane"),
    ("S", "straggler at once: what one worker runs, in every lane"),
    ("k", "crash a worker; it is back after a minute"),
    ("w  x", "one worker more, one less"),
)
_SCRUB = (
    ("arrows", "back or on by a minute of emulated time"),
    ("[  ]", "previous, next marker: injections and publications"),
    ("home  end", "the start, the end"),
)
_VIEW = (
    ("g", "grid or raster"),
    ("z  1-4", "zoom a lane; back"),
    ("c", "palette: dark, light, plain"),
    ("e", "export this frame as a picture (SVG)"),
)
_LOOK_BACK = (("arrows [ ]", "look back, as in a replay; End comes back to now"),)
HELP = (*_TIME, *_INJECT, *_LOOK_BACK, *_VIEW, ("q  ctrl-c", "end the run here, with the summary"))
REPLAY_HELP = (*_TIME, *_SCRUB, *_VIEW, ("q  ctrl-c", "close, with the summary"))

_REPLAY_KEYS = (
    ("q", "quit"),
    ("space", "pause"),
    ("+/-", "speed"),
    ("arrows", "a minute"),
    ("[ ]", "markers"),
    ("g", "raster"),
    ("?", "help"),
)


def is_small(size: tuple[int, int]) -> bool:
    """Whether there is room for the two bars and the verdict only."""
    return size[0] < 80 or size[1] < 24


def head(canvas: Canvas, title: str, what: str, clock: ClockReading, duration: float) -> None:
    """The first row: what is watched, the speed asked for and achieved, the emulated time."""
    x = canvas.put(0, 0, f" {title} ", Role.TITLE)
    time = f"{text.clock_time(clock.t)} / {text.clock_time(duration)} "
    left = canvas.right(canvas.width, 0, time, Role.STRONG) - 2
    if clock.frames is not None:
        left = canvas.right(left, 0, f"{clock.frames:.0f} frames/s", Role.DIM) - 2
    if clock.paused:
        left = canvas.right(left, 0, f"{canvas.glyphs.pause} paused", Role.WARNING)
    else:
        achieved, role = _achieved(clock)
        left = canvas.right(left, 0, achieved, role)
        left = canvas.right(left, 0, f"{canvas.glyphs.play} {text.speed(clock.asked)}", Role.STRONG)
    room = left - 2 - (x + 1)
    what = canvas.said(what)
    if width(what.partition("  ")[0]) <= room:
        canvas.put(x + 1, 0, fitting(what, room))


def _achieved(clock: ClockReading) -> tuple[str, Role]:
    """The speed achieved, told apart when it falls short of the one asked for."""
    if clock.achieved is None:
        return "", Role.DIM
    if not isinstance(clock.asked, str) and clock.achieved < _SLOW * clock.asked:
        return f" (only {text.speed(clock.achieved)})", Role.WARNING
    return f" ({text.speed(clock.achieved)})", Role.DIM


def timeline(canvas: Canvas, y: int, share: float, marks: Iterable[float]) -> None:
    """The run from start to end: how much of it is over, and where (as shares) something was injected."""
    done = min(int(canvas.width * share), canvas.width)
    canvas.put(0, y, canvas.glyphs.line * done, Role.BUSY)
    canvas.put(done, y, canvas.glyphs.line * (canvas.width - done), Role.REST)
    for mark in marks:
        canvas.put(min(int(canvas.width * mark), canvas.width - 1), y, canvas.glyphs.up, Role.MARK)


def log_lines(canvas: Canvas, y: int, entries: Sequence[tuple[str, Entry]]) -> None:
    """Notable events, one a row; each with its lane, if there are several."""
    for row, (lane, entry) in enumerate(entries):
        x = canvas.put(1, y + row, f"{text.clock_time(entry.t)} ", Role.DIM)
        if lane:
            x = canvas.put(x, y + row, f"{lane} ", Role.STRONG)
        canvas.put(x, y + row, entry.text, _LOG_ROLES.get(entry.kind, Role.TEXT))


def foot(canvas: Canvas, keys: Sequence[tuple[str, str]], looking: Looking) -> None:
    """The last row: what just happened to the view, or the keys."""
    y = canvas.height - 1
    if looking.notice is not None:
        canvas.put(0, y, pad(f" {looking.notice} ", canvas.width), Role.KEY)
        return
    if canvas.height < _KEYS_FROM:
        return
    x = 1
    if looking.replay:
        keys = _REPLAY_KEYS
    *others, last = keys
    room = canvas.width - len(" ".join(last)) - 2
    # The last key explains all the others, so it is there whatever else fits.
    fitting = [pair for pair in others if (room := room - len(" ".join(pair)) - 2) >= 0]
    for key, what in [*fitting, last] if looking.keys else ():
        x = canvas.put(x, y, key, Role.KEY) + 1
        x = canvas.put(x, y, what, Role.DIM) + 2


def help_over(canvas: Canvas, looking: Looking) -> None:
    """The keys, over whatever is there."""
    keys = REPLAY_HELP if looking.replay else HELP
    across = min(canvas.width, 4 + 12 + max(len(what) for _, what in keys))
    height = min(canvas.height, len(keys) + 4)
    x, y = (canvas.width - across) // 2, (canvas.height - height) // 2
    for row in range(height):
        canvas.put(x, y + row, " " * across)
    canvas.box(Area(x, y, across, height), "keys", "paused; any key goes on")
    for row, (key, what) in enumerate(keys[: height - 2]):
        canvas.put(x + 2, y + 1 + row + (height > len(keys) + 2), key, Role.KEY)
        canvas.put(x + 14, y + 1 + row + (height > len(keys) + 2), what[: across - 16])


def price(lane: ShownLane) -> list[tuple[str, Role]]:
    """What a lane's speed costs: the staleness of its data, and the length bias where work is thrown away."""
    if not lane.figures.counts["trained"]:
        return [("nothing trained yet", Role.DIM)]
    oldest, limit = lane.value(f.STALENESS_MAX) or 0, lane.limit
    said, over = lane.say(f.STALENESS_MAX), False
    if limit is not None:
        said, over = f"{said} (limit {text.setting(limit)})", oldest > limit
    elif lane.scenario.strategy.may_limit:
        said += " (no limit)"
    return [
        (lane.say(f.STALENESS), Role.STALE),
        (said, Role.WARNING if over else Role.TEXT),
        *lost_work(lane),
    ]


def lost_work(lane: ShownLane) -> list[tuple[str, Role]]:
    """What was thrown away, and how far that favours short episodes; nothing if nothing was."""
    counts = lane.figures.counts
    thrown = counts["dropped"] + counts["aborted"]
    if not thrown:
        return []
    bias = lane.value(f.LENGTH_BIAS)
    words = [(f"{text.count(thrown, 'episode')} thrown away", Role.TEXT)]
    if bias is not None:
        words.insert(0, (f.LENGTH_BIAS.say(bias), Role.WARNING if bias < _BIASED else Role.TEXT))
    return words


def further(lane: ShownLane) -> list[tuple[str, Role]]:
    """What else there is to say of a lane: each figure that is marked to be watched, once there is one."""
    values = ((figure, lane.value(figure)) for figure in f.WATCHED)
    return [(figure.say(value), Role.TEXT) for figure, value in values if value is not None]


def put_words(canvas: Canvas, x: int, y: int, words: Iterable[tuple[str, Role]], room: int) -> int:
    """Write stretches of text with their roles, two blanks between them, as far as they fit."""
    first, end = x, x + room
    for word, role in words:
        said = canvas.said(word)
        if x + width(said) > end:
            return canvas.put(x, y, fitting(said, end - x), role) if x == first else x
        x = canvas.put(x, y, word, role) + 2
    return x
