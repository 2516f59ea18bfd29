"""Who watches a run: somebody listens to signals, and one view shows how it goes."""

import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from emulator import modes
from emulator.cli.output import can_be_drawn_on
from emulator.progress import ProgressLines
from emulator.runner import EventSink, Session, Watcher
from emulator.scenario import Scenario
from emulator.signals import CONTINUED, ENDING, be_deaf, hearing


@dataclass(frozen=True)
class Display:
    """What there is to see: `live` on a terminal, and how; `quiet` for nothing at all."""

    live: bool
    quiet: bool
    hold: bool
    ascii: bool
    theme: str

    @property
    def on_terminal(self) -> bool:
        """Whether there is a dashboard: it is wanted, and there is a terminal that can show one."""
        return self.live and not self.quiet and modes.AVAILABLE and can_be_drawn_on(sys.stdout)


class Watching:
    """The watcher of a run and the sinks that it needs; afterwards `signal` is the one that ended it."""

    def __init__(self, lanes: Sequence[Scenario], display: Display) -> None:
        self.signal: int | None = None
        self._listens = True
        self.sinks: list[list[EventSink]] = [[] for _ in lanes]
        self._view = None if display.quiet else self._choose_view(lanes, display)

    def _choose_view(self, lanes: Sequence[Scenario], display: Display) -> Watcher:
        """The view for where the output goes: the one place that knows them all."""
        if display.on_terminal:
            from emulator.dashboard import watch_dashboard  # noqa: PLC0415  (only a terminal needs it)

            watch, self.sinks = watch_dashboard(
                lanes, hold=display.hold, ascii=display.ascii, theme=display.theme, on_signal=self._ended_by
            )
            self._listens = False  # the dashboard does: it has a terminal to restore first
            return watch
        lines = ProgressLines(lanes, sys.stderr)
        self.sinks = [[sink] for sink in lines.sinks]
        return lines.watch

    async def watch(self, session: Session) -> None:
        """Watch until the session has ended and its view is done."""
        if not self._listens:
            assert self._view is not None
            await self._view(session)
            return

        def listen(number: signal.Signals) -> None:
            if number in ENDING:
                self._ended_by(number)
                session.stop()
            else:
                session.clock.forgive_stop()

        # Listening comes first, so that from the first line on a signal ends the run with its summary.
        with hearing(session.clock, *ENDING, *CONTINUED, call=listen):
            if self._view is not None:
                await self._view(session)
            await session.ended.wait()

    def _ended_by(self, number: signal.Signals) -> None:
        self.signal = self.signal or number
        be_deaf()
