"""The engines of a lane: how full each is, what stops it, and who waits behind it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from emulator.dashboard.canvas import Area, Canvas
from emulator.dashboard.crew import DOWN, IDLE, RUN
from emulator.dashboard.theme import AGES, Role
from emulator.figures import text
from emulator.figures.engine_state import EngineRecord

ROWS = 3
"""Rows of a terminal that the engines take, with the lines around them."""

_WIDEST = 20


def engine_states(engines: Sequence[EngineRecord], full: int) -> NDArray[np.uint8]:
    """What each engine is shown as: down, idle, or in the shade of what it runs of `full` sequences."""
    found = np.full(len(engines), IDLE, np.uint8)
    for number, engine in enumerate(engines):
        if engine.down:
            found[number] = DOWN
        elif engine.running:
            found[number] = RUN + min(AGES - 1, len(engine.running) * AGES // max(full, 1))
    return found


def words(engines: Sequence[EngineRecord], t: float, kv_tokens: int | None) -> str:
    """What engines run in all, who waits, how long a step of the busiest takes, and how full caches are."""
    running = sum(len(engine.running) for engine in engines)
    waiting = sum(len(engine.waiting) for engine in engines)
    parts = [f"{text.count(len(engines), 'engine')}: {running:,} running"]
    if waiting:
        parts[0] += f", {waiting:,} waiting"
    busiest = max(engines, key=lambda engine: len(engine.running))
    if busiest.running:
        parts.append(f"step {text.span(busiest.step_ms_at(t) / 1000)}")
    if kv_tokens is not None:
        held = sum(engine.held_at(t) for engine in engines)
        parts.append(f"KV {text.share(held / kv_tokens / len(engines))}")
    return "  ".join(parts)


def draw_engines(
    canvas: Canvas, area: Area, engines: Sequence[EngineRecord], *, full: int, t: float, kv_tokens: int | None
) -> None:
    """A bar for each engine, as long as what it runs of `full` sequences; of very many, for some together.

    A letter before the bar says what is the matter with it: down, stopped (for a prefill or new weights) or
    slower than it was at first; one behind it that requests wait.
    """
    legend = "- down  ~ stopped  s slow  x requests wait"
    canvas.box(area, words(engines, t, kv_tokens), legend if area.width > len(legend) + 6 else "")
    inside = area.inside
    band = -(-len(engines) // max(inside.width // 2, 1))
    cells = [engines[first : first + band] for first in range(0, len(engines), band)]
    width = min(_WIDEST, inside.width // len(cells))
    for place, some in enumerate(cells):
        _draw_cell(canvas, inside.x + place * width, inside.y, width - (width > 3), some, full=full, t=t)


def _draw_cell(
    canvas: Canvas, x: int, y: int, width: int, some: Sequence[EngineRecord], *, full: int, t: float
) -> None:
    load = sum(len(engine.running) for engine in some) / max(full, 1) / len(some)
    sign, role = _sign(some, t)
    if width == 2:
        # Too narrow for a bar: how high it is instead.
        canvas.put(x, y, sign if sign.strip() else canvas.glyphs.fill[min(8, round(8 * load))], role)
        canvas.put(x + 1, y, *_waits(some))
        return
    room = width - 2
    filled = min(room, round(load * room)) or bool(load)
    end = canvas.put(x, y, sign, role)
    end = canvas.put(end, y, canvas.glyphs.bar[-1] * filled, _shade(load))
    end = canvas.put(end, y, canvas.glyphs.rest * (room - filled), Role.REST)
    canvas.put(end, y, *_waits(some))


def _shade(load: float) -> Role:
    return Role(RUN + min(AGES - 1, int(load * AGES)))


def _sign(some: Sequence[EngineRecord], t: float) -> tuple[str, Role]:
    """What is the matter with the worst of some engines."""
    if any(engine.down for engine in some):
        return "-", Role.DOWN
    if any(engine.slowed for engine in some):
        return "s", Role.STALE
    if any(engine.until > t for engine in some):
        return "~", Role.WEIGHTS
    return " ", Role.TEXT


def _waits(some: Sequence[EngineRecord]) -> tuple[str, Role]:
    return ("x", Role.BLOCKED) if any(engine.waiting for engine in some) else (" ", Role.TEXT)
