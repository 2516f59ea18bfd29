"""What a person does by keys to what is watched: its pace, what is seen of it, and what is injected."""

from collections.abc import Callable
from dataclasses import replace

from emulator.clock import Speed
from emulator.dashboard.injections import INJECTIONS
from emulator.dashboard.state import Looking
from emulator.dashboard.theme import THEMES, Theme
from emulator.dashboard.watched import Watched

LADDER: tuple[Speed, ...] = (1, 10, 30, 60, 120, 600, 3600, "max")
"""The speeds that keys go through."""


class Controls:
    """Turns keys into acts, and holds what a person chose to look at.

    `closing` is set when the dashboard is to go; `export` saves a picture and says where.
    """

    def __init__(self, watched: Watched, theme: Theme, export: Callable[[], str]) -> None:
        self.looking = Looking(replay=watched.replay)
        self.theme = theme
        self.closing = False
        self._watched = watched
        self._clock = watched.clock
        self._lanes = len(watched.scenarios)
        self._race = watched.scenarios[0].lane is not None
        self._export = export
        self._resume_after_help = False

    def press(self, key: str) -> str | None:
        """Do what a key says; returns what there is to say about it."""
        if self.looking.help:
            self._show_help(shown=False)
        elif key == "e":
            return self._export()
        elif self._look(key) or self._watched.scrub(key):
            return None
        elif self._watched.ended:
            self.closing = True
        elif key == "q":
            self.stop()
        elif key in INJECTIONS:
            return self._watched.inject(key)
        else:
            self._pace(key)
        return None

    def stop(self) -> None:
        """End it here."""
        self.closing = True
        self._watched.stop()

    def _look(self, key: str) -> bool:
        """Keys that change what is seen, at any time; returns whether this is one."""
        looking = self.looking
        match key:
            case "g":
                self.looking = replace(looking, raster=not looking.raster)
            case "z" if self._race:
                following = 0 if looking.zoom is None else looking.zoom + 1
                self._zoom(following if following < self._lanes else None)
            case "1" | "2" | "3" | "4" if self._race:
                lane = int(key) - 1
                if lane < self._lanes:
                    self._zoom(None if looking.zoom == lane else lane)
            case "1" | "2":
                self.looking = replace(looking, raster=key == "2")
            case "c":
                names = list(THEMES)
                self.theme = THEMES[names[(names.index(self.theme.name) + 1) % len(names)]]
            case "?":
                self._show_help(shown=True)
            case _:
                return False
        return True

    def _zoom(self, lane: int | None) -> None:
        self.looking = replace(self.looking, zoom=lane)

    def _pace(self, key: str) -> None:
        clock = self._clock
        match key:
            case "space":
                if clock.paused:
                    clock.resume()
                else:
                    clock.pause()
            case ".":
                clock.step()
            case "+" | "=" | "-":
                clock.speed = next_speed(clock.speed, up=key != "-")

    def _show_help(self, *, shown: bool) -> None:
        self.looking = replace(self.looking, help=shown)
        if self._watched.ended:
            return
        if shown:
            self._resume_after_help = not self._clock.paused
            self._clock.pause()
        elif self._resume_after_help:
            self._clock.resume()


def next_speed(speed: Speed, *, up: bool) -> Speed:
    """The next speed of the ladder above or below one that need not be on it."""
    present = _value(speed)
    if up:
        return next((rung for rung in LADDER if _value(rung) > present), LADDER[-1])
    return next((rung for rung in reversed(LADDER) if _value(rung) < present), speed)


def _value(speed: Speed) -> float:
    return float("inf") if isinstance(speed, str) else speed
