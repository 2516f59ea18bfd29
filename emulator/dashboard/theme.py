"""How things look: roles, the colours a theme gives them, and the glyphs they are drawn with.

A view draws roles, never colours; a theme is applied when a finished frame leaves for a terminal or a
picture. The first roles are the states of a worker, so that a row of states is a row of roles.
"""

from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from typing import Literal, NamedTuple

from rich.style import Style

ColorSystem = Literal["standard", "256", "truecolor"]
"""The colours a terminal has; None stands for none."""

AGES = 5
"""Shades of an episode's age, from just begun to at least the median."""


class Role(IntEnum):
    """What a cell of a frame stands for. Up to `STRAGGLER` they are worker states, worst last."""

    ABSENT = 0
    IDLE = 1
    RUN = 2  # the first of `AGES` shades
    RUN_1 = 3
    RUN_2 = 4
    RUN_3 = 5
    RUN_4 = 6
    ACTING = 7
    GATED = 8
    WEIGHTS = 9
    BLOCKED = 10
    DOWN = 11
    STRAGGLER = 12
    TEXT = 13
    DIM = 14
    STRONG = 15
    TITLE = 16
    BUSY = 17
    TRAINER = 18
    STALE = 19
    REST = 20
    LIMIT = 21
    MARK = 22
    LEAD = 23
    WARNING = 24
    KEY = 25
    OVERFLOW = 26


class Look(NamedTuple):
    """The look of a role: in full colour, and in the 16 colours of any terminal."""

    color: str | None = None
    ansi: str | None = None
    ground: str | None = None
    ansi_ground: str | None = None
    bold: bool = False
    reverse: bool = False


class Theme(NamedTuple):
    """Colours for a dark or a light ground, or none at all."""

    name: str
    ground: str
    text: str
    looks: Mapping[Role, Look]


def _theme(name: str, ground: str, text: str, ages: tuple[str, ...], looks: dict[Role, Look]) -> Theme:
    shades = {Role(Role.RUN + i): Look(color, "blue") for i, color in enumerate(ages)}
    return Theme(name, ground, text, {role: Look() for role in Role} | shades | looks)


# The run's blues, the amber, the vermilion and the white are far apart for every kind of colour blindness.
_AGES = ("#2f7fb8", "#4a92c6", "#66a5d1", "#82b6da", "#9ecae1")

DARK = _theme(
    "dark",
    "#14161b",
    "#d8dbe2",
    _AGES,
    {
        Role.IDLE: Look("#5a6070", "bright_black"),
        Role.ACTING: Look("#5fb3a3", "cyan"),
        Role.GATED: Look("#8a90a0", "white"),
        Role.WEIGHTS: Look("#f5f5f5", "bright_white"),
        Role.BLOCKED: Look("#d94801", "red", bold=True),
        Role.DOWN: Look("#d94801", "red"),
        Role.STRAGGLER: Look("#14161b", "black", "#f0a500", "yellow", bold=True),
        Role.OVERFLOW: Look("#f0a500", "yellow"),
        Role.DIM: Look("#8a90a0", "white"),
        Role.STRONG: Look("#ffffff", "bright_white", bold=True),
        Role.TITLE: Look("#14161b", "black", "#9ecae1", "cyan", bold=True),
        Role.BUSY: Look("#66a5d1", "bright_blue"),
        Role.TRAINER: Look("#b7a3e0", "magenta"),
        Role.STALE: Look("#f0a500", "yellow"),
        Role.REST: Look("#3a3f4b", "bright_black"),
        Role.LIMIT: Look("#ff7f3f", "bright_red", bold=True),
        Role.MARK: Look("#f0a500", "yellow", bold=True),
        Role.LEAD: Look("#ffffff", "bright_white", bold=True),
        Role.WARNING: Look("#ff7f3f", "bright_red", bold=True),
        Role.KEY: Look("#ffffff", "bright_white", bold=True),
    },
)

LIGHT = _theme(
    "light",
    "#ffffff",
    "#24292f",
    tuple(reversed(_AGES)),
    {
        Role.IDLE: Look("#9aa1ad", "white"),
        Role.ACTING: Look("#2b7f70", "cyan"),
        Role.GATED: Look("#6b7280", "bright_black"),
        Role.WEIGHTS: Look("#111111", "black"),
        Role.BLOCKED: Look("#c23b00", "red", bold=True),
        Role.DOWN: Look("#c23b00", "red"),
        Role.STRAGGLER: Look("#000000", "black", "#f0a500", "yellow", bold=True),
        Role.OVERFLOW: Look("#f0a500", "yellow"),
        Role.DIM: Look("#6b7280", "bright_black"),
        Role.STRONG: Look("#000000", "black", bold=True),
        Role.TITLE: Look("#ffffff", "bright_white", "#1d5f91", "blue", bold=True),
        Role.BUSY: Look("#2f7fb8", "blue"),
        Role.TRAINER: Look("#6a4fb3", "magenta"),
        Role.STALE: Look("#b87400", "yellow"),
        Role.REST: Look("#d0d4db", "white"),
        Role.LIMIT: Look("#c23b00", "red", bold=True),
        Role.MARK: Look("#b87400", "yellow", bold=True),
        Role.LEAD: Look("#000000", "black", bold=True),
        Role.WARNING: Look("#c23b00", "red", bold=True),
        Role.KEY: Look("#000000", "black", bold=True),
    },
)

PLAIN = Theme(
    "plain",
    "#14161b",
    "#d8dbe2",
    {role: Look() for role in Role}
    | {
        role: Look(bold=True)
        for role in (Role.STRONG, Role.LEAD, Role.WARNING, Role.LIMIT, Role.MARK, Role.KEY)
    }
    | {role: Look(reverse=True, bold=True) for role in (Role.STRAGGLER, Role.TITLE)},
)
"""No colours: bold and reverse only."""

THEMES: Mapping[str, Theme] = {theme.name: theme for theme in (DARK, LIGHT, PLAIN)}
"""The themes by name, in the order in which the palette key goes through them."""


@cache
def _styles(name: str, colors: ColorSystem | None) -> tuple[Style, ...]:
    def style(look: Look) -> Style:
        color, ground = (look.ansi, look.ansi_ground) if colors == "standard" else (look.color, look.ground)
        if colors is None:
            return Style(bold=look.bold or None, reverse=look.reverse or bool(look.ground) or None)
        return Style(color=color, bgcolor=ground, bold=look.bold or None, reverse=look.reverse or None)

    return tuple(style(THEMES[name].looks[role]) for role in Role)


def styles(theme: Theme, colors: ColorSystem | None = "truecolor") -> tuple[Style, ...]:
    """The style of each role, in order, for a terminal with these colours."""
    return _styles(theme.name, colors)


class Glyphs(NamedTuple):
    """The characters that frames are drawn with."""

    name: str
    fill: str
    """A glass by an eighth, from empty to full."""
    over: str
    """What a glass that overflows is full of."""
    bar: str
    """A bar's last cell by an eighth, from empty to full."""
    rest: str
    states: str
    """One for each state; of the shades of running that say how many of a band do."""
    corners: str
    """Of a box: top left, top right, bottom left, bottom right."""
    across: str
    down: str
    line: str
    up: str
    play: str
    pause: str
    dot: str


UNICODE = Glyphs(
    name="unicode",
    fill=" ▁▂▃▄▅▆▇█",
    over="▓",
    bar=" ▏▎▍▌▋▊▉█",
    rest="·",
    states="  ▂▃▅▆█o:~x-!",
    corners="┌┐└┘",
    across="─",
    down="│",
    line="━",
    up="▲",
    play="▶",
    pause="‖",
    dot="·",
)
ASCII = Glyphs(
    name="ascii",
    fill=" ._-=+*##",
    over="%",
    bar="    ----#",
    rest=".",
    states="  .-=+#o:~x-!",
    corners="++++",
    across="-",
    down="|",
    line="=",
    up="^",
    play=">",
    pause="||",
    dot=".",
)
"""For terminals and fonts that have nothing else."""
