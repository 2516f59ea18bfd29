"""What a person does to a running session by keys: its pace, what is seen of it, and what is injected."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from emulator.clock import Speed
from emulator.dashboard.history import History
from emulator.dashboard.injections import INJECTIONS
from emulator.dashboard.state import Looking
from emulator.dashboard.theme import THEMES, Theme
from emulator.runner import Session

LADDER: tuple[Speed, ...] = (1, 10, 30, 60, 120, 600, 3600, "max")
"""The speeds that keys go through."""

RUN_ENDED = "the run is over: any key for the summary"


class Controls:
    """Turns keys into acts, and holds what a person chose to look at.

    `closing` is set when the dashboard is to go; `export` saves a picture and says where.
    """

    def __init__(
        self, session: Session, histories: Sequence[History], theme: Theme, export: Callable[[], str]
    ) -> None:
        self.looking = Looking()
        self.theme = theme
        self.closing = False
        self._session = session
        self._clock = session.clock
        self._histories = histories
        self._race = session.lanes[0].name is not None
        self._export = export
        self._resume_after_help = False

    def press(self, key: str) -> str | None:
        """Do what a key says; returns what there is to say about it."""
        if self.looking.help:
            self._show_help(shown=False)
        elif key == "e":
            return self._export()
        elif self._look(key):
            return None
        elif self._session.ended.is_set():
            self.closing = True
        elif key == "q":
            self.stop()
        elif key in INJECTIONS:
            for lane in self._session.lanes:
                _ = lane.figures  # asking for them lets the histories be folded until now
            return INJECTIONS[key](self._session.lanes, self._histories)
        else:
            self._pace(key)
        return None

    def stop(self) -> None:
        """End the session here."""
        self.closing = True
        self._session.stop()

    def _look(self, key: str) -> bool:
        """Keys that change what is seen, at any time; returns whether this is one."""
        looking = self.looking
        match key:
            case "g":
                self.looking = replace(looking, raster=not looking.raster)
            case "z" if self._race:
                following = 0 if looking.zoom is None else looking.zoom + 1
                self._zoom(following if following < len(self._histories) else None)
            case "1" | "2" | "3" | "4" if self._race:
                lane = int(key) - 1
                if lane < len(self._histories):
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
        if self._session.ended.is_set():
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
