"""Small plots as inline SVG: lines over time, a histogram, the workers' timeline. Colours are the page's."""

from collections.abc import Sequence
from html import escape
from itertools import groupby

import numpy as np

from emulator.exports.series import ACCOUNTS, STRAGGLER, Floats
from emulator.figures import GENERATING
from emulator.figures.text import clock_time, compact, nice_step, setting, share, span

WIDTH, HEIGHT = 420, 140
_LEFT, _RIGHT, _TOP, _BOTTOM = 36, 8, 10, 18
_ACROSS, _DOWN = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
_TICKS = 4
_BARS = 14

Marks = Sequence[tuple[float, str]]


def line(
    label: str,
    values: Sequence[float | None],
    t_end: float,
    top: float,
    *,
    kind: str,
    limit: float | None = None,
    percent: bool = False,
    marks: Marks = (),
) -> str:
    """A line over time from 0 to `top`, with its area; a limit and moments that are marked."""
    top = top or 1.0
    parts = [_ground(t_end, top, percent=percent)]
    step = _ACROSS / len(values)
    at = 0
    for known, stretch in groupby(values, lambda value: value is not None):
        given = list(stretch)
        if known:
            points = [
                f"{_LEFT + (at + i + 0.5) * step:.1f} {_height(value or 0.0, top):.1f}"
                for i, value in enumerate(given)
            ]
            x0, x1 = _LEFT + (at + 0.5) * step, _LEFT + (at + len(given) - 0.5) * step
            base = _TOP + _DOWN
            path = "L".join(points)
            parts.append(f'<path class="area {kind}" d="M{x0:.1f} {base}L{path}L{x1:.1f} {base}z"/>')
            parts.append(f'<path class="line {kind}" d="M{path}"/>')
        at += len(given)
    if limit is not None and limit <= top:
        y = _height(limit, top)
        parts.append(f'<path class="limit" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>')
        words = f"limit {setting(limit)}"
        parts.append(f'<text class="limit-word" x="{WIDTH - _RIGHT}" y="{y - 3:.1f}">{words}</text>')
    parts.append(_marks(marks, t_end, _TOP, _DOWN))
    return _picture(label, HEIGHT, parts)


def histogram(label: str, counts: Sequence[int], limit: float | None) -> str:
    """How often each whole number came; those beyond the most bars together in the last."""
    shown = list(counts[:_BARS])
    if len(counts) > _BARS:
        shown[-1] = sum(counts[_BARS - 1 :])
    top = max(shown, default=0) or 1
    step = _ACROSS / max(len(shown), 4)
    parts = [f'<path class="grid" d="M{_LEFT} {_TOP + _DOWN}H{WIDTH - _RIGHT}"/>']
    for i, n in enumerate(shown):
        x, height = _LEFT + i * step, _DOWN * 0.88 * n / top
        more = "+" if i == _BARS - 1 < len(counts) - 1 else ""
        beyond = " beyond" if limit is not None and i > limit else ""
        y = _TOP + _DOWN - height
        middle = x + step / 2
        parts.append(
            f'<rect class="bar{beyond}" x="{x + 1:.1f}" y="{y:.1f}" width="{step - 2:.1f}" '
            f'height="{height:.1f}"><title>{i}{more}: {n:,}</title></rect>'
            f'<text class="tick middle" x="{middle:.1f}" y="{HEIGHT - 5}">{i}{more}</text>'
        )
        if n:
            parts.append(f'<text class="tick middle" x="{middle:.1f}" y="{y - 2:.1f}">{compact(n)}</text>')
    return _picture(label, HEIGHT, parts)


def timeline(label: str, grids: Floats, t_end: float, marks: Marks) -> str:
    """What each worker, or band of workers, did: rows from the top, one shape for each look."""
    _, rows, columns = grids.shape
    row = max(2.0, min(8.0, 240 / max(rows, 1)))
    down = rows * row
    step = _ACROSS / columns
    shapes: dict[str, list[str]] = {}
    looks = _looks(grids)
    for y in range(rows):
        x = 0
        for look, stretch in groupby(looks[y]):
            n = len(list(stretch))
            if look:
                at = f"M{_LEFT + x * step:.1f} {_TOP + y * row:.1f}"
                shapes.setdefault(look, []).append(f"{at}h{n * step:.1f}v{row:.1f}h-{n * step:.1f}z")
            x += n
    parts = [f'<rect class="wall" x="{_LEFT}" y="{_TOP}" width="{_ACROSS}" height="{down:.1f}"/>']
    parts += [f'<path class="{look}" d="{"".join(paths)}"/>' for look, paths in shapes.items()]
    parts += [_times(t_end, _TOP + down), _marks(marks, t_end, _TOP, down)]
    return _picture(label, _TOP + down + _BOTTOM, parts)


def _looks(grids: Floats) -> list[list[str]]:
    """The class of each cell: a straggler, else what most of the time went to; shades of generating."""
    total = grids.sum(axis=0)
    present = total > 1e-9
    shares = grids / np.where(present, total, 1.0)
    generating = shares[ACCOUNTS.index(GENERATING)] + shares[ACCOUNTS.index(STRAGGLER)]
    names = ["", "w-0", "w-1", "w-2", "w-3", *(f"w-{name}" for name in ACCOUNTS)]
    most = shares.argmax(axis=0)
    shade = np.minimum((generating * 4).astype(int), 3) + 1
    plain = most == ACCOUNTS.index(GENERATING)
    looks = np.where(plain, shade, most + 5)
    looks[shares[ACCOUNTS.index(STRAGGLER)] >= 0.25] = names.index(f"w-{STRAGGLER}")
    looks[~present] = 0
    waiting = looks == names.index("w-waiting")
    # A band that mostly waits still shows those of it that work.
    looks[waiting] = np.where(generating[waiting] >= 0.125, shade[waiting], 0)
    return [[names[number] for number in line] for line in looks.tolist()]


def ceiling(value: float) -> float:
    """A round number that is at least `value`, for the top of an axis."""
    power = 10.0 ** np.floor(np.log10(value)) if value > 0 else 1.0
    return float(next(power * step for step in (1, 2, 4, 5, 8, 10) if power * step >= value * (1 - 1e-9)))


def _height(value: float, top: float) -> float:
    return _TOP + _DOWN * (1 - min(value / top, 1.0))


def _ground(t_end: float, top: float, *, percent: bool) -> str:
    parts = []
    for part in (0.0, 0.5, 1.0):
        y = _TOP + _DOWN * (1 - part)
        value = share(part * top) if percent else compact(part * top)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}"/>')
        parts.append(f'<text class="tick end" x="{_LEFT - 4}" y="{y + 3.5:.1f}">{value}</text>')
    return "".join(parts) + _times(t_end, _TOP + _DOWN)


def _times(t_end: float, y: float) -> str:
    step = nice_step(t_end / _TICKS) if t_end > 0 else 1.0
    parts = []
    for i in range(int(t_end / step + 1e-9) + 1):
        x = _LEFT + _ACROSS * i * step / (t_end or 1.0)
        place = "start" if i == 0 else "end" if x > WIDTH - _RIGHT - 20 else "middle"
        words = span(i * step) if i else "0"
        parts.append(f'<text class="tick {place}" x="{x:.1f}" y="{y + 13:.1f}">{words}</text>')
    return "".join(parts)


def _marks(marks: Marks, t_end: float, y: float, down: float) -> str:
    """A line for each moment, those too close to be told apart as one."""
    places: dict[int, list[tuple[float, str]]] = {}
    for t, label in marks:
        places.setdefault(int(_ACROSS * t / (t_end or 1.0)), []).append((t, label))
    parts = []
    for near in places.values():
        (t, label), more = near[0], f" and {len(near) - 1:,} more" if len(near) > 1 else ""
        at = f"M{_LEFT + _ACROSS * t / (t_end or 1.0):.1f} {y:.1f}v{down:.1f}"
        parts.append(
            f'<path class="mark" d="{at}"><title>{clock_time(t)} {escape(label)}{more}</title></path>'
        )
    return "".join(parts)


def _picture(label: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.1f}" role="img" aria-label="{escape(label, quote=True)}">'
        f"{''.join(parts)}</svg>"
    )
