"""The dashboard: it draws frames of what is watched, hears keys and signals, and gives the terminal back.

All of it lives outside emulated time: frames are paced by the wall clock, and one that comes late, or finds
the terminal still busy with the last, is dropped. Drawing takes at most half of the time. Nothing here can
change a trace but an injection.
"""

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from emulator.dashboard.canvas import Canvas
from emulator.dashboard.controls import Controls
from emulator.dashboard.frame import draw
from emulator.dashboard.history import History
from emulator.dashboard.injections import INJECTIONS
from emulator.dashboard.keys import KeyReader
from emulator.dashboard.look_back import Kept
from emulator.dashboard.pace import SpeedMeter
from emulator.dashboard.replay_states import SCRUB_KEYS, States
from emulator.dashboard.scale import scale
from emulator.dashboard.state import Looking, ShownLane
from emulator.dashboard.svg import save
from emulator.dashboard.terminal import Terminal
from emulator.dashboard.theme import ASCII, THEMES, UNICODE
from emulator.dashboard.watched import Watched
from emulator.figures.text import clock_time
from emulator.runner import EventSink, Session
from emulator.scenario import Scenario
from emulator.signals import BACKGROUND, CONTINUED, ENDING, RESIZED, STOP, hearing, ignored, stop_here

FRAMES_PER_SECOND = 10.0

_NOTICE_SECONDS = 3.0


@dataclass(frozen=True)
class Options:
    """How to watch. `hold` keeps the last frame until a key; pictures go to `folder`.

    `on_signal` is called with a signal that ends the session, or the holding after it.
    """

    theme: str = "dark"
    ascii: bool = False
    frames_per_second: float = FRAMES_PER_SECOND
    hold: bool = True
    folder: Path = Path()
    on_signal: Callable[[signal.Signals], None] | None = None


class Dashboard:
    """Watches sessions of some scenarios on a terminal.

    `sinks` are to be given the events of the lanes, in the scenarios' order; `frames` counts what was drawn.
    """

    def __init__(self, scenarios: Sequence[Scenario], terminal: Terminal, options: Options) -> None:
        common = scale(scenarios)
        self.histories = [History(scenario, common) for scenario in scenarios]
        self._kept = Kept(len(scenarios))
        self.sinks: list[list[EventSink]] = [
            [history.add, self._kept.sink(lane)] for lane, history in enumerate(self.histories)
        ]
        self.frames = 0
        self._terminal = terminal
        self._options = options

    async def watch(self, session: Session) -> None:
        """Draw frames until the session has ended and, if asked to hold, a key was pressed."""
        show = Show(self.watched(session), self._terminal, self._options)
        try:
            await show.run()
        finally:
            self.frames += show.frames

    def watched(self, session: Session) -> Watched:
        """A session as the dashboard sees it."""
        return _Running(session, self.histories, self._kept)


class _Running:
    """A session as it runs, its histories folded by the way."""

    replay = False

    def __init__(self, session: Session, histories: Sequence[History], kept: Kept) -> None:
        self.clock = session.clock
        self.scenarios: Sequence[Scenario] = [lane.scenario for lane in session.lanes]
        self._session = session
        self._histories = histories
        self._kept = kept
        self._back: States | None = None
        self._back_at = 0.0

    @property
    def now(self) -> float:
        return self._back_at if self._looks_back else self._present

    @property
    def _present(self) -> float:
        return max(lane.now for lane in self._session.lanes)

    @property
    def _looks_back(self) -> bool:
        if not self.clock.paused:
            self._back = None  # time goes on, and so does what is seen
        return self._back is not None

    @property
    def ended(self) -> bool:
        return self._session.ended.is_set()

    @property
    def standing(self) -> str | None:
        if self._looks_back:
            return f"looking back to {clock_time(self._back_at)}; End comes back"
        return "the run is over: any key for the summary" if self.ended else None

    @property
    def interrupted(self) -> bool:
        return self._session.interrupted

    def stop(self) -> None:
        self._session.stop()

    def lanes(self) -> list[ShownLane]:
        if self._looks_back and self._back is not None:
            return self._back.at(self._back_at)
        lanes = []
        for lane, history in zip(self._session.lanes, self._histories, strict=True):
            figures = lane.figures  # asking for them lets all events be folded
            history.advance(lane.now)
            lanes.append(ShownLane(lane.scenario, figures, history, str(lane.error) if lane.error else None))
        return lanes

    def scrub(self, key: str) -> bool:
        if key not in SCRUB_KEYS:
            return False
        if not self._looks_back:
            self.clock.pause()
            self._back, self._back_at = self._kept.states(self._session.lanes), self._present
        if self._back is not None:
            goal = self._back.goal(key, self._back_at, self._back_at)
            if goal is not None:
                self._back_at = min(max(goal, 0.0), self._back.t_end)
            if self._back_at >= self._back.t_end:
                self._back = None
        return True

    def inject(self, key: str) -> str:
        if self._looks_back:
            return "looking back: nothing can be injected; End comes back"
        for lane in self._session.lanes:
            _ = lane.figures  # as above
        return INJECTIONS[key](self._session.lanes, self._histories)


class Show:
    """What is watched, on the terminal; `frames` counts what was drawn."""

    def __init__(self, watched: Watched, terminal: Terminal, options: Options) -> None:
        self.frames = 0
        self._watched = watched
        self._terminal = terminal
        self._options = options
        self._glyphs = ASCII if options.ascii else UNICODE
        self._pace = SpeedMeter(watched.clock, options.frames_per_second)
        self._keys = KeyReader()
        self._controls = Controls(watched, THEMES[options.theme], self._export)
        self._notice: str | None = None
        self._notice_until = 0.0
        self._wake = asyncio.Event()
        self._changed = True
        self._drawn: tuple[float, tuple[int, int]] | None = None

    # -- frames -----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Have the terminal, and draw until there is no more to see."""
        signals = (*ENDING, *STOP, *CONTINUED, *RESIZED)
        # Whether the terminal is ours is asked before it is touched; that may change at any moment.
        with (
            ignored(*BACKGROUND),
            hearing(self._watched.clock, *signals, call=self._on_signal),
            self._on_terminal(),
        ):
            await self._draw_until_closing()

    async def _draw_until_closing(self) -> None:
        interval, pace = 1 / self._options.frames_per_second, self._pace
        due = pace.wall()
        ended = False
        while not self._controls.closing:
            if self._watched.ended != ended:
                ended, self._changed = not ended, True
                self._controls.closing = ended and (not self._holds or self._watched.interrupted)
            begun = pace.wall()
            self._draw_if_changed()
            # However long a frame takes, as long again is left for the run, the keys and the signals.
            now = pace.wall()
            due = max(due + interval, now + (now - begun))
            if not self._controls.closing:
                await self._sleep_until(due)

    @property
    def _holds(self) -> bool:
        """Whether the last frame stays until a key: one is shown, and somebody can press one."""
        return self._options.hold and self._terminal.entered and self._terminal.keys is not None

    async def _sleep_until(self, due: float) -> None:
        """Sleep until the next frame is due, or a key or a signal wants one at once."""
        timer = self._watched.clock.call_wall_later(due - self._pace.wall(), self._wake.set)
        await self._wake.wait()
        self._wake.clear()
        timer.cancel()

    def _draw_if_changed(self) -> None:
        """Draw the present, unless nothing has changed or the terminal is busy with the last frame.

        In the background nothing is drawn until the terminal is ours again, which no signal announces.
        """
        if not self._terminal.entered:
            self._take_terminal()
        if not self._terminal.entered:
            return
        if self._notice is not None and self._pace.wall() >= self._notice_until:
            self._notice, self._changed = None, True
        now = self._watched.now, self._terminal.size
        if self._terminal.busy or not (self._changed or now != self._drawn):
            return
        self._drawn, self._changed = now, False
        self._pace.drawn()
        notice = self._watched.standing if self._notice is None else self._notice
        looking = replace(self._controls.looking, notice=notice, keys=self._terminal.keys is not None)
        self._terminal.draw(self._frame(looking), self._controls.theme)
        self.frames += 1

    def _frame(self, looking: Looking) -> Canvas:
        clock = self._pace.read(self._watched.now, ended=self._watched.ended)
        return draw(self._watched.lanes(), clock, self._terminal.size, looking, self._glyphs)

    def _export(self) -> str:
        """Save the present frame as a picture; returns where, or why not."""
        canvas = self._frame(replace(self._controls.looking, keys=False))
        time = clock_time(self._watched.now).replace(":", "")
        name = "".join(c if c.isalnum() else "-" for c in self._watched.scenarios[0].name)
        path = self._options.folder / f"{name}-{time}.svg"
        try:
            save(canvas, self._controls.theme, path)
        except OSError as error:
            return f"no picture: {error.strerror} ({path})"
        return f"saved {path}"

    # -- keys and signals -------------------------------------------------------------------------

    @contextmanager
    def _on_terminal(self) -> Iterator[None]:
        """Have the terminal, and give it back whatever happens."""
        try:
            self._take_terminal()
            yield
        finally:
            self._give_terminal_back()
            self._terminal.close()

    def _take_terminal(self) -> None:
        self._terminal.enter()
        if self._terminal.entered and self._terminal.keys is not None:
            self._watched.clock.add_reader(self._terminal.keys, self._on_keys, self._terminal.keys)
        self._changed = True

    def _give_terminal_back(self) -> None:
        if self._terminal.keys is not None:
            self._watched.clock.remove_reader(self._terminal.keys)
        self._terminal.leave()

    def _on_signal(self, number: signal.Signals) -> None:
        if number in ENDING:
            self._controls.stop()
            if self._options.on_signal is not None:
                self._options.on_signal(number)
        elif number in STOP:
            self._give_terminal_back()
            stop_here()
        elif number in CONTINUED:
            self._watched.clock.forgive_stop()
            # Where it was stopped without a word, the shell has set the terminal as it likes.
            self._give_terminal_back()
        self._redraw()

    def _on_keys(self, keys: int) -> None:
        if not self._terminal.is_ours:
            self._give_terminal_back()
            return
        data = self._terminal.read()
        if not data:  # it has gone, and nobody will press a key any more
            self._watched.clock.remove_reader(keys)
            self._terminal.keys = None
        for key in self._keys.feed(data):
            if (notice := self._controls.press(key)) is not None:
                self._notice, self._notice_until = notice, self._pace.wall() + _NOTICE_SECONDS
        self._redraw()

    def _redraw(self) -> None:
        self._changed = True
        self._wake.set()
