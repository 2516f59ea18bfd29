"""Bars, sparklines and the histogram: numbers as lengths."""

from collections import Counter
from collections.abc import Iterable, Sequence

from emulator.dashboard.canvas import Area, Canvas
from emulator.dashboard.state import ShownLane
from emulator.dashboard.theme import Role
from emulator.figures import spec as f
from emulator.figures import text

_LEAST_SCALE = 4.0  # versions: below it a small staleness would look large


def bar(canvas: Canvas, at: Area, share: float, role: Role) -> None:
    """A bar that fills each row of an area at a share of 1."""
    x, y, width, height = at
    width = max(width, 0)
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full = canvas.glyphs.bar[8] * (eighths // 8) + (canvas.glyphs.bar[eighths % 8] if eighths % 8 else "")
    for row in range(y, y + height):
        end = canvas.put(x, row, full.rstrip(), role)
        canvas.put(end, row, canvas.glyphs.rest * (x + width - end), Role.REST)


def staleness_bar(canvas: Canvas, at: Area, lane: ShownLane) -> None:
    """The mean staleness as a bar, with a mark where the limit is, if there is one."""
    mean, limit = lane.value(f.STALENESS) or 0.0, lane.limit
    if limit is None:
        bar(canvas, at, mean / max(mean * 1.5, _LEAST_SCALE), Role.STALE)
        return
    label = f"{canvas.glyphs.down}limit {text.setting(limit)}"
    if len(label) > at.width // 2 + 3:
        label = canvas.glyphs.down
    width = max(at.width - len(label), 1)
    full = max(mean, limit * 1.25, 1.0)
    bar(canvas, at._replace(width=width), mean / full, Role.STALE if mean <= limit else Role.LIMIT)
    mark = at.x + int(width * limit / full)
    for row in range(at.y, at.y + at.height):
        canvas.put(mark, row, label if row == at.y else canvas.glyphs.down, Role.LIMIT)


def sparkline(canvas: Canvas, x: int, y: int, values: Iterable[float | None], role: Role) -> None:
    """Shares from 0 to 1 as glasses, a column each; None is a gap."""
    fill = canvas.glyphs.fill
    shares = (-1 if value is None else round(min(max(value, 0.0), 1.0) * 7) for value in values)
    canvas.put(x, y, "".join([fill[1 + share] for share in shares]), role)


def scaled(values: Sequence[float | None], least: float = 1.0) -> list[float | None]:
    """Values as shares of the largest, or of `least` if that is larger."""
    top = max((value for value in values if value is not None), default=0.0)
    top = max(top, least)
    return [None if value is None else value / top for value in values]


def reward_text(lane: ShownLane) -> str:
    """The reward of the policy after its last update; a dash before, and nothing without a learner."""
    return "" if lane.figures.learning is None else f.REWARD.format(lane.value(f.REWARD))


def histogram(canvas: Canvas, area: Area, lane: ShownLane) -> None:
    """Trained episodes by staleness, a row for each version of lag, with a rule where the limit is."""
    counts, limit = lane.figures.staleness, lane.limit
    y, end = area.y, area.y + area.height
    rows = _lags(counts, area.height - (limit is not None))
    largest, total = max(n for _, n in rows.values()) or 1, sum(n for _, n in rows.values())
    label = max(2, *(len(lag) for lag, _ in rows.values()))
    ruled = limit is None
    for k, (lag, n) in rows.items():
        over = limit is not None and k > limit
        if over and not ruled:
            _rule(canvas, area._replace(y=y), lane)
            y, ruled = y + 1, True
        canvas.put(area.x, y, lag.rjust(label), Role.WARNING if over else Role.DIM)
        if n:
            length = max(area.width - label - 6, 1)
            eighths = -(-n * length * 8 // largest)
            bars = canvas.glyphs.bar
            drawn = bars[8] * (eighths // 8) + (bars[eighths % 8] if eighths % 8 else "")
            canvas.put(area.x + label + 1, y, drawn, Role.LIMIT if over else Role.STALE)
            canvas.right(area.x + area.width, y, text.share(n / total), Role.DIM)
        else:
            canvas.put(area.x + label + 1, y, canvas.glyphs.rest, Role.REST)
        y += 1
    if not ruled and y < end:
        _rule(canvas, area._replace(y=y), lane)


def _lags(counts: Counter[int], room: int) -> dict[int, tuple[str, int]]:
    """The rows of a histogram: by lag its label and count, the last for all that is beyond."""
    top = max(counts, default=0)
    rows = {k: (str(k), counts[k]) for k in range(max(1, min(room, top + 1)))}
    if (last := len(rows) - 1) < top:
        rows[last] = (f"{last}+", sum(n for k, n in counts.items() if k >= last))
    return rows


def _rule(canvas: Canvas, area: Area, lane: ShownLane) -> None:
    across = canvas.glyphs.across
    canvas.put(
        area.x,
        area.y,
        f"{across * 2} limit {text.setting(lane.limit)} ".ljust(area.width, across),
        Role.LIMIT,
    )
