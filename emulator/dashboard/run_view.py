"""The view of one lane: who does what now, how busy, how stale, and how it came there."""

from collections.abc import Callable

import numpy as np

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
from emulator.dashboard.engines import ROWS, draw_engines
from emulator.dashboard.meters import bar, histogram, reward_text, scaled, sparkline, staleness_bar
from emulator.dashboard.state import ClockReading, Looking, ShownLane
from emulator.dashboard.theme import Glyphs, Role
from emulator.dashboard.workers import draw_grid, draw_raster, layout, legend
from emulator.figures import spec as f
from emulator.figures import text

KEYS = (
    ("q", "quit"),
    ("space", "pause"),
    ("+/-", "speed"),
    ("s", "straggler"),
    ("k", "kill"),
    ("g", "raster"),
    ("e", "export"),
    ("?", "help"),
)

_SPARK_ROWS = 5

_WAITS = (
    (Role.IDLE, "at the barrier"),
    (Role.GATED, "at the gate"),
    (Role.BLOCKED, "blocked"),
    (Role.WEIGHTS, "resets, weights"),
    (Role.DOWN, "down"),
)


def draw_run(
    lane: ShownLane, clock: ClockReading, size: tuple[int, int], looking: Looking, glyphs: Glyphs
) -> Canvas:
    """The frame of one lane, in a terminal of `size` columns and rows."""
    canvas = Canvas(*size, glyphs)
    scale, scenario = lane.history.scale, lane.scenario
    what = [
        text.count(lane.history.crew.up, "worker"),
        f"episodes p50 {text.span(scale.median)}, p99 {text.span(scale.tail)}",
        scenario.name,
    ]
    head(canvas, lane.name, "  ".join(what), clock, scenario.duration)
    if is_small(size):
        _small(canvas, lane)
    else:
        timeline(canvas, 1, clock.t / scenario.duration, (t / scenario.duration for t in lane.history.marks))
        _whole(canvas, lane, looking)
    foot(canvas, KEYS, looking)
    if looking.help:
        help_over(canvas, looking)
    return canvas


def verdict(canvas: Canvas, x: int, y: int, lane: ShownLane) -> None:
    """What was achieved, what the workers waited for, and what it cost."""
    if lane.error is not None:
        canvas.put(x, y, lane.error, Role.WARNING)
        return
    words = [(lane.say(f.UPDATES), Role.LEAD)]
    if lane.history.t > 0:
        words.append((lane.say(f.UPDATES_PER_HOUR), Role.TEXT))
    words += [waits(lane), *lost_work(lane), *further(lane)]
    put_words(canvas, x, y, words, room=canvas.width - x - 1)


def waits(lane: ShownLane) -> tuple[str, Role]:
    """For what workers waited, as shares of their time."""
    seconds = lane.history.seconds()
    service = sum(seconds) or 1.0
    busy, acting = seconds[Role.RUN] / service, seconds[Role.ACTING] / service
    causes = ", ".join(
        f"{name} {text.share(seconds[state] / service)}"
        for state, name in _WAITS
        if seconds[state] >= service / 200
    )
    tools = f"in tools {text.share(acting)}, " if acting else ""
    idle = f"workers {tools}idle {text.share(max(0.0, 1 - busy - acting))}"
    return idle + (f": {causes}" if causes else ""), Role.TEXT


def _small(canvas: Canvas, lane: ShownLane) -> None:
    """The two bars, and the verdict with its price."""
    shares = [text.share(share) for _, share, _ in _bars(lane)]
    for row, (name, share, role) in enumerate(_bars(lane), 1):
        x = canvas.put(1, row, f"{name} {shares[row - 1].rjust(max(4, *map(len, shares)))} ")
        bar(canvas, Area(x, row, canvas.width - x - 1, 1), share, role)
    verdict(canvas, 1, 3, lane)
    put_words(canvas, 1, 4, price(lane), room=canvas.width - 2)


def _bars(lane: ShownLane) -> tuple[tuple[str, float, Role], ...]:
    workers, trainer = lane.busy()
    return ("workers", workers, Role.BUSY), ("trainer", trainer, Role.TRAINER)


def _whole(canvas: Canvas, lane: ShownLane, looking: Looking) -> None:
    height = canvas.height
    roomy, large = height >= 30, height >= 45
    top = 3 if roomy else 2
    thick = 2 if large else 1
    lines = 6 if large else 3 if roomy else 2
    log_top = height - 1 - lines
    spark_top = log_top - _SPARK_ROWS - (lane.figures.learning is not None)
    panel_top = top + 2 + thick
    _meters(canvas, top, thick, lane)
    verdict(canvas, 2, panel_top - 1, lane)
    side = 30 if canvas.width < 100 else min(33 + (canvas.width - 100) // 4, 60)
    area = Area(0, panel_top, canvas.width - side - 1, spark_top - panel_top)
    _staleness(canvas, Area(area.width + 1, panel_top, side, area.height), lane)
    if lane.scenario.engine is not None and area.height > 2 * ROWS:
        _engines(canvas, area._replace(height=ROWS), lane, lane.scenario.engine.kv_tokens)
        area = area._replace(y=area.y + ROWS, height=area.height - ROWS)
    _workers(canvas, area, lane, raster=looking.raster)
    _sparklines(canvas, spark_top, lane)
    log_lines(canvas, log_top, [("", entry) for entry in lane.history.log_lines(lines)])


def _meters(canvas: Canvas, y: int, thick: int, lane: ShownLane) -> None:
    """Workers, trainer and staleness, side by side."""
    third = (canvas.width - 4) // 3
    x = 2
    for name, share, role in _bars(lane):
        end = canvas.put(x, y, f"{name.upper()} BUSY ", Role.DIM)
        canvas.put(end, y, text.share(share), Role.STRONG)
        bar(canvas, Area(x, y + 1, third - 2, thick), share, role)
        x += third
    mean, oldest = lane.value(f.STALENESS), lane.value(f.STALENESS_MAX)
    end = canvas.put(x, y, f"{f.STALENESS.label.upper()} mean ", Role.DIM)
    end = canvas.put(end, y, f.STALENESS.format(mean), Role.STRONG)
    if oldest is not None:
        canvas.put(end, y, f"  {f.STALENESS_MAX.say(oldest)}", Role.DIM)
    staleness_bar(canvas, Area(x, y + 1, canvas.width - x - 2, thick), lane)


def _engines(canvas: Canvas, area: Area, lane: ShownLane, kv_tokens: int | None) -> None:
    """The engines now."""
    history = lane.history
    draw_engines(canvas, area, history.engines, full=history.full_engine, t=history.t, kv_tokens=kv_tokens)


def _workers(canvas: Canvas, area: Area, lane: ShownLane, *, raster: bool) -> None:
    """The workers: now, or by time."""
    history, glyphs = lane.history, canvas.glyphs
    inside = area.inside
    if raster:
        rows = "workers, engines" if history.engines else "workers"
        title = f"rows = {rows}, time {glyphs.play}  a column is {text.span(history.scale.column)}"
        canvas.box(area, title, legend(history, "blank idle  T trainer"))
        draw_raster(canvas, inside, history)
        return
    grid = layout(len(history.crew.state), inside.width, inside.height)
    fill = "episode age / p50" if grid.band == 1 else f"share busy, {grid.band} a cell"
    late = int(np.count_nonzero(history.states() == Role.STRAGGLER))
    title = f"{text.count(history.crew.up, 'worker')}: fill = {fill}  {text.count(late, 'straggler')}"
    canvas.box(area, title, legend(history, f"{glyphs.dot} idle"))
    draw_grid(canvas, inside, history)


def _staleness(canvas: Canvas, area: Area, lane: ShownLane) -> None:
    """How stale what was trained was."""
    oldest = lane.figures.oldest_version()
    foot = f"policy v{lane.figures.version}" + (f"  oldest in use v{oldest}" if oldest is not None else "")
    canvas.box(area, f.STALENESS_HISTOGRAM.label, foot)
    histogram(canvas, area.inside._replace(width=area.width - 3), lane)


def _sparklines(canvas: Canvas, y: int, lane: ShownLane) -> None:
    """The past, a column for each step of the scale."""
    x = 17
    rates = lane.history.past.rates(canvas.width - x - 2)
    busy, queue, stale, trainer = rates.busy(), rates.queue(), rates.staleness(), rates.trainer()
    lines: list[tuple[str, str, list[float | None], Role]] = [
        (f.QUEUE_MEAN.label, text.number(lane.figures.depth), scaled(queue, 4.0), Role.TEXT),
        ("workers", _now(busy, f.WORKERS_BUSY.format), busy, Role.BUSY),
        ("trainer", _now(trainer, f.TRAINER_BUSY.format), trainer, Role.TRAINER),
        (f.STALENESS.label, _now(stale, f.STALENESS.format), scaled(stale, 2.0), Role.STALE),
    ]
    if lane.figures.learning is not None:
        lines.append(("reward", reward_text(lane), rates.reward(), Role.LEAD))
    for row, (name, now, values, role) in enumerate(lines, y):
        canvas.put(2, row, name, Role.DIM)
        canvas.right(x - 1, row, now, Role.STRONG)
        sparkline(canvas, x, row, values, role)
    _axis(canvas, x, y + len(lines), len(busy), lane)


def _axis(canvas: Canvas, x: int, y: int, columns: int, lane: ShownLane) -> None:
    """How far back the sparklines go, and what was injected in between."""
    history, corners = lane.history, canvas.glyphs.corners
    step = history.scale.column
    if columns > 24:
        canvas.put(x, y, f"{corners[2]} {text.span(columns * step)} ago", Role.DIM)
    if columns > 8:
        canvas.right(x + columns, y, f"now {corners[3]}", Role.DIM)
    first = (history.past.closed - columns) * step
    for mark in history.marks:
        if first <= mark < first + columns * step:
            canvas.put(x + int((mark - first) / step), y, canvas.glyphs.up, Role.MARK)


def _now(values: list[float | None], write: Callable[[float | None], str]) -> str:
    return write(values[-1] if values else None)
