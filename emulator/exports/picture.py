"""A frame of the dashboard as SVG: the moment that was chosen, or the end."""

from typing import TextIO

from emulator.dashboard.frame import draw
from emulator.dashboard.state import ClockReading, Looking
from emulator.dashboard.svg import svg
from emulator.dashboard.theme import DARK
from emulator.exports.frames import Film
from emulator.exports.settings import Settings
from emulator.recording import Recording


def write(recording: Recording, settings: Settings, file: TextIO) -> None:
    """Write the last frame."""
    t = recording.t_end
    lanes = Film(recording).at(t)
    clock = ClockReading(t, recording.scenario.speed)
    file.write(svg(draw(lanes, clock, settings.size, Looking(keys=False)), DARK))
