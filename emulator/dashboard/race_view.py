"""The view of a race: lanes side by side on one clock; who is ahead, why, and at what price."""

from collections.abc import Sequence

from emulator.dashboard.big import LARGE_ROWS, SMALL_ROWS, put_large, put_small
from emulator.dashboard.canvas import Area, Canvas
from emulator.dashboard.chrome import (
    foot,
    further,
    head,
    help_over,
    is_small,
    log_lines,
    lost_work,
    price,
    put_words,
    timeline,
)
from emulator.dashboard.history import Hit
from emulator.dashboard.meters import bar, reward_text, scaled, sparkline, staleness_bar
from emulator.dashboard.state import ClockReading, Looking, ShownLane
from emulator.dashboard.theme import ASCII, Glyphs, Role
from emulator.dashboard.workers import draw_raster, legend
from emulator.figures import spec as f
from emulator.figures import text
from emulator.text import cut, pad
from emulator.text import width as width_of

KEYS = (
    ("q", "quit"),
    ("space", "pause"),
    ("+/-", "speed"),
    ("s", "straggler in all"),
    ("z", "zoom lane"),
    ("e", "export"),
    ("?", "help"),
)

MOST = 4
"""Lanes that are shown side by side; more can be zoomed."""

_BELOW_BARS = 6  # rows of a small frame: its head, a verdict of up to four, and the keys
_LEADS = 1.05  # times as many updates

_NAMES = (
    *(figure.label for figure in (f.WORKERS_BUSY, f.TRAINER_BUSY, f.STALENESS, f.QUEUE_MEAN)),
    "workers %",
)
_SHORT_NAMES = ("work", "train", "stale", "queue", "work %")


def draw_race(
    lanes: Sequence[ShownLane], clock: ClockReading, size: tuple[int, int], looking: Looking, glyphs: Glyphs
) -> Canvas:
    """The frame of all lanes, in a terminal of `size` columns and rows."""
    canvas = Canvas(*size, glyphs)
    shown = lanes[:MOST]
    duration = max(lane.scenario.duration for lane in lanes)
    share = min(clock.t / duration, 1.0)
    head(canvas, "RACE", _what(lanes), clock, duration)
    if is_small(size):
        bars = lanes if len(lanes) + _BELOW_BARS <= canvas.height else shown
        _progress(canvas, 1, bars, share)
        _verdict(canvas, 1, 1 + len(bars), lanes)
    else:
        marks = {mark / duration for lane in lanes for mark in lane.history.marks}
        timeline(canvas, 1, share, sorted(marks))
        _whole(canvas, shown, lanes, share)
    foot(canvas, KEYS, looking)
    if looking.help:
        help_over(canvas, looking)
    return canvas


def _what(lanes: Sequence[ShownLane]) -> str:
    workers = {lane.scenario.rollout.workers for lane in lanes}
    same = f"same {workers.pop():,} workers  " if len(workers) == 1 else ""
    more = f"first {MOST} of {len(lanes)} lanes in full, z zooms any  " if len(lanes) > MOST else ""
    return f"{more}same seed  {same}same episodes  {lanes[0].scenario.name}"


def done(lane: ShownLane) -> int:
    """Episodes that finished updates have taken."""
    return lane.figures.learned_from


def _uneven(lanes: Sequence[ShownLane]) -> bool:
    """Whether updates of the lanes are on so different batches that episodes are shown instead."""
    return f.uneven(done(lane) / lane.figures.updates for lane in lanes if lane.figures.updates)


def _in_episodes(lanes: Sequence[ShownLane]) -> str:
    return " in episodes" if _uneven(lanes) else ""


def _whole(canvas: Canvas, lanes: Sequence[ShownLane], contenders: Sequence[ShownLane], share: float) -> None:
    """Some lanes with all that there is to see of them, and who is ahead among all."""
    height = canvas.height
    roomy, large = height >= 30, height >= 45
    top = 2 + roomy
    bars = contenders if roomy else lanes
    _progress(canvas, top, bars, share)
    top = _headline(canvas, top + len(bars) + roomy, contenders) + large
    lines = 5 if large else 2 if roomy else 1
    meters = 5 if large else 4 if roomy else 3
    lost = any(lost_work(lane) for lane in lanes)
    learns = any(lane.figures.learning is not None for lane in contenders)
    log_top = height - 1 - lines
    more = large and any(further(lane) for lane in lanes)
    meters_top = log_top - 1 - roomy - lost - more - 2 * learns - meters
    width = canvas.width // len(lanes)
    for i, lane in enumerate(lanes):
        area = Area(i * width, top, width, meters_top - top)
        title = f"{lane.name}  rows = workers, time {canvas.glyphs.play}"
        title += f"  {text.span(lane.history.scale.column)} a column"
        canvas.box(area, title, legend(lane.history, "blank idle  T trainer"))
        canvas.put(area.x + 2, top, cut(canvas.said(lane.name), width - 4), Role.STRONG)
        draw_raster(canvas, area.inside, lane.history)
        _meters(canvas, Area(area.x + 1, meters_top, width - 2, meters), lane)
        _reward(canvas, Area(area.x + 1, meters_top + meters, width - 2, 1), lane)
        below = meters_top + meters + learns
        put_words(canvas, area.x + 1, below, lost_work(lane), width - 2)
        if more:
            put_words(canvas, area.x + 1, below + lost, further(lane), width - 2)
    if learns:
        _first(canvas, meters_top + meters + 1 + lost + more, contenders)
    _hit(canvas, log_top - 1, lanes)
    entries = [(lane.name, entry) for lane in lanes for entry in lane.history.log_lines(lines)]
    log_lines(canvas, log_top, sorted(entries, key=lambda line: line[1].t)[-lines:])


def _progress(canvas: Canvas, y: int, lanes: Sequence[ShownLane], share: float) -> None:
    """A bar for each lane: the leader's reaches its end with the race, the others' in proportion."""
    most = max(done(lane) for lane in lanes) or 1
    episodes = _uneven(lanes)
    names = [cut(canvas.said(lane.name), canvas.width // 3) for lane in lanes]
    label = max(map(width_of, names))
    for row, (lane, name) in enumerate(zip(lanes, names, strict=True), y):
        leads = done(lane) == most
        canvas.put(1, row, pad(name, label), Role.LEAD if leads else Role.TEXT)
        updates = (text.count(done(lane), "episode") if episodes else lane.say(f.UPDATES)).rjust(14)
        area = Area(label + 3, row, canvas.width - label - 4 - len(updates), 1)
        bar(canvas, area, done(lane) / most * share, Role.BUSY if leads else Role.RUN)
        canvas.right(canvas.width - 1, row, updates, Role.STRONG if leads else Role.TEXT)


def _headline(canvas: Canvas, y: int, lanes: Sequence[ShownLane]) -> int:
    """The verdict, beside the lead in large digits where there is room; returns the row after it."""
    ranked = sorted(lanes, key=done, reverse=True)
    lead = done(ranked[0]) / done(ranked[1]) if len(ranked) > 1 and done(ranked[1]) else 1.0
    if canvas.height < 30 or lead < _LEADS or canvas.glyphs is ASCII:
        return _verdict(canvas, 1, y, lanes) + (canvas.height >= 30)
    digits = text.times(lead)
    put, rows = (put_large, LARGE_ROWS) if canvas.height >= 45 else (put_small, SMALL_ROWS)
    x = put(canvas, 2, y, digits, Role.LEAD)
    end = _verdict(canvas, x + 2, y + rows // 2 - (rows == SMALL_ROWS), lanes)
    return max(y + rows, end)


def _verdict(canvas: Canvas, x: int, y: int, lanes: Sequence[ShownLane]) -> int:
    """Who is ahead and why, and below it the price; returns the row after it."""
    for lane in lanes:
        if lane.error is not None:
            canvas.put(x, y, f"{lane.name} stopped: {lane.error}", Role.WARNING)
            y += 1
    ranked = sorted(lanes, key=done, reverse=True)
    leader, others = ranked[0], ranked[1:]
    behind = others[-1] if others else leader
    why = (_why(behind), Role.TEXT)
    lead = (ahead(leader, others), Role.LEAD)
    costs = [("price:", Role.DIM), (leader.name, Role.STRONG), *price(leader)]
    room = canvas.width - x - 1
    fits = width_of(lead[0]) + 2 + width_of(why[0]) <= room
    longest = behind.history.log.longest
    waited = [[(f"{behind.name} {longest.text}", Role.WARNING)]] if longest is not None else []
    for line in (*([[lead, why]] if fits else [[lead], [why]]), *waited, costs):
        put_words(canvas, x, y, line, room)
        y += 1
    return y


def ahead(leader: ShownLane, others: Sequence[ShownLane]) -> str:
    """By how much a lane leads."""
    if not others or not done(leader):
        return "no update yet" if others else f"{leader.name} runs alone"
    parts = []
    for lane in others:
        if done(lane):
            parts.append(f"{text.times(done(leader) / done(lane))} {lane.name}")
        else:
            parts.append(f"{lane.name} has none")
    if len(others) == 1 and done(others[0]):
        if done(leader) == done(others[0]):
            return "neck and neck."
        lead = text.times(done(leader) / done(others[0]))
        return f"{leader.name} is {lead} ahead{_in_episodes([leader, *others])}."
    if len(parts) > MOST - 1:
        parts = [parts[0], parts[-1]]
    return f"{leader.name} leads{_in_episodes([leader, *others])}: {', '.join(parts)}."


def _why(lane: ShownLane) -> str:
    """What the last lane's workers did instead."""
    seconds = lane.history.seconds()
    service = sum(seconds) or 1.0
    acting = seconds[Role.ACTING] / service
    idle = max(0.0, 1 - seconds[Role.RUN] / service - acting)
    tools = f"in tools {text.share(acting)}, " if acting else ""
    waited = lane.history.barrier.seconds
    alone = f", {text.span(waited)} all waited for one" if waited >= lane.history.scale.column else ""
    return f"{lane.name} workers {tools}idle {text.share(idle)}{alone}."


def _meters(canvas: Canvas, area: Area, lane: ShownLane) -> None:
    """How busy, how stale, how much is queued, one below the other."""
    x, y, width, rows = area
    workers, trainer = lane.busy()
    names = _NAMES if width >= 36 else _SHORT_NAMES
    values = (
        f.WORKERS_BUSY.format(workers),
        f.TRAINER_BUSY.format(trainer),
        f.STALENESS.format(lane.value(f.STALENESS)),
        text.number(lane.figures.depth),
        "",
    )
    start = _start(area)
    for row, (name, value) in enumerate(zip(names[:rows], values, strict=False), y):
        canvas.put(x, row, name, Role.DIM)
        canvas.right(start - 1, row, value, Role.STRONG)
    room = Area(start, y, x + width - start - 1, 1)
    bar(canvas, room, workers, Role.BUSY)
    bar(canvas, room._replace(y=y + 1), trainer, Role.TRAINER)
    staleness_bar(canvas, room._replace(y=y + 2), lane)
    rates = lane.history.past.rates(room.width)
    if rows > 3:
        sparkline(canvas, start, y + 3, scaled(rates.queue(), 4.0), Role.TEXT)
    if rows > 4:
        sparkline(canvas, start, y + 4, rates.busy(), Role.BUSY)


def _start(area: Area) -> int:
    """Where bars and sparklines begin, behind names and values."""
    if area.width >= 36:
        return area.x + max(map(len, _NAMES)) + 7
    return area.x + max(map(len, _SHORT_NAMES)) + 6


def _reward(canvas: Canvas, area: Area, lane: ShownLane) -> None:
    """What the lane has learned so far."""
    if lane.figures.learning is None:
        return
    start, end = _start(area), area.x + area.width - 1
    canvas.put(area.x, area.y, "reward", Role.DIM)
    canvas.right(start - 1, area.y, reward_text(lane), Role.STRONG)
    sparkline(canvas, start, area.y, lane.history.past.rates(end - start).reward(), Role.LEAD)


def _first(canvas: Canvas, y: int, lanes: Sequence[ShownLane]) -> None:
    """Which lane came first to 80 % of the best reward, and when the others did."""
    lessons = [(lane, lane.figures.learning) for lane in lanes if lane.figures.learning is not None]
    reached = [(found.reached.t, lane.name) for lane, found in lessons if found.reached is not None]
    reached.sort(key=lambda arrival: arrival[0])
    words = [("small model's reward, first to 80%:", Role.DIM)]
    for t, name in reached:
        words.append((f"{name} {text.span(t)}", Role.LEAD if t == reached[0][0] else Role.TEXT))
    words += [(f"{lane.name} not yet", Role.DIM) for lane, found in lessons if found.reached is None]
    put_words(canvas, 1, y, words, canvas.width - 2)


def _hit(canvas: Canvas, y: int, lanes: Sequence[ShownLane]) -> None:
    """What the last straggler that was injected cost each lane."""
    latest = max((hit.t for lane in lanes for hit in lane.history.hits), default=None)
    if latest is None:
        return
    hits = [next((hit for hit in reversed(lane.history.hits) if hit.t == latest), None) for lane in lanes]
    factor = next(hit.factor for hit in hits if hit is not None)
    episodes = {hit.episode for hit in hits if hit is not None}
    which = f"episode {episodes.pop()}" if len(episodes) == 1 else "an episode each"
    x = canvas.put(1, y, f"{text.clock_time(latest)} ", Role.DIM)
    x = canvas.put(x, y, f"straggler x{text.setting(factor)}, {which}:", Role.MARK) + 2
    words = [
        (f"{lane.name} {_cost(lane, hit)}", Role.WARNING if _lost(lane, hit) else Role.STRONG)
        for lane, hit in zip(lanes, hits, strict=True)
    ]
    put_words(canvas, x, y, words, room=canvas.width - x - 1)


def _lost(lane: ShownLane, hit: Hit | None) -> float:
    return 0.0 if hit is None else lane.history.barrier.by_episode.get(hit.episode, 0.0)


def _cost(lane: ShownLane, hit: Hit | None) -> str:
    """The time that everybody waited for the episode: what the straggler cost."""
    if hit is None:
        return "was not hit"
    if hit.effect == "none":
        return "had finished it"
    if hit.episode >= lane.history.counts["started"]:
        return "is not there yet"
    still = " so far" if lane.history.crew.on(hit.episode) else ""
    return f"lost {text.span(_lost(lane, hit))}{still}"
