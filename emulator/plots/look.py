"""How charts look, on white and on dark: sizes to be read from the back of a room, colours, settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from emulator.dashboard.theme import DARK, LIGHT, Role, Theme
from emulator.errors import MissingExtraError
from emulator.plots.fonts import families

if TYPE_CHECKING:
    from matplotlib.colors import LinearSegmentedColormap

    from emulator.plots.charts import Style

PaletteName = Literal["light", "dark"]

WIDTH, HEIGHT, DPI = 12.8, 7.2, 150
"""Inches of a slide, and pixels in an inch."""
TITLE, LABEL, TICK, SMALL = 22, 16, 15, 12.5
"""Sizes of letters in points."""
MARKERS = "os^Dv*XP"


_SHADES = (("text", 0.0), ("ground", 0.45), ("text", 0.5), ("ground", 0.65))
"""What series of one colour are mixed with, and how much of it they get."""


def mixed(color: str, other: str, share: float) -> str:
    """A colour with a share from 0 to 1 of another, both like ``#1f6fae``."""
    pairs = ((int(color[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


class Palette(NamedTuple):
    """The colours of a slide. Neighbours in `series` differ for the three kinds of colour blindness."""

    name: PaletteName
    ground: str
    text: str
    dim: str
    rule: str
    series: tuple[str, ...]
    stale: tuple[str, ...]
    """From the ground, for a share of almost nothing, to all."""
    bias: tuple[str, ...]
    """From a length bias far below 1 to none."""

    def color(self, style: "Style") -> str:
        """The colour of a series; of those that share one, each has another shade of it."""
        toward, share = _SHADES[style.shade % len(_SHADES)]
        return mixed(self.series[style.color], self.text if toward == "text" else self.ground, share)


def _theme(
    name: PaletteName, ground: Theme, series: str, stale: tuple[str, ...], bias: tuple[str, ...]
) -> Palette:
    looks = ground.looks
    dim, rule = looks[Role.DIM].color, looks[Role.REST].color
    assert dim is not None
    assert rule is not None
    return Palette(name, ground.ground, ground.text, dim, rule, tuple(series.split()), stale, bias)


THEMES: dict[PaletteName, Palette] = {
    "light": _theme(
        "light",
        LIGHT,
        "#1f6fae #c23b00 #03a05a #c48a00 #6709ab #68758c #a0164f #111111",
        ("#fff6e3", "#f0a500", "#8a4b00", "#4a2500"),
        ("#7a1f00", "#e0661f", "#e8c48a", "#66a5d1", "#1d5f91"),
    ),
    "dark": _theme(
        "dark",
        DARK,
        "#5ea3d6 #ff6f2f #79f5c0 #f6e388 #9a5cff #b5b8bf #e04fb4 #ffffff",
        ("#2a2416", "#8a5f00", "#f0a500", "#fff0cc"),
        ("#ff5a1f", "#f0a060", "#d8c8b0", "#82b6da", "#3f8fcc"),
    ),
}

_RC: dict[str, Any] = {
    # A name is a name, whatever it has between dollar signs.
    "text.parse_math": False,
    "font.size": LABEL,
    "axes.labelsize": LABEL,
    "xtick.labelsize": TICK,
    "ytick.labelsize": TICK,
    "legend.fontsize": TICK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.linewidth": 1.0,
    "grid.linewidth": 0.8,
    "xtick.major.size": 5,
    "xtick.major.pad": 6,
    "ytick.major.size": 0,
    "svg.hashsalt": "emulator",
    # Letters as outlines: a slide looks the same on a machine without the font.
    "svg.fonttype": "path",
}


@contextmanager
def settings(theme: Palette) -> Iterator[None]:
    """Settings of matplotlib that are ours alone, whatever file or program has set its own.

    Raises MissingExtraError if there is no matplotlib.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("drawing plots", "plot") from error
    colors = {
        "text.color": theme.text,
        "axes.labelcolor": theme.text,
        "axes.edgecolor": theme.dim,
        "xtick.color": theme.dim,
        "ytick.color": theme.dim,
        "xtick.labelcolor": theme.text,
        "ytick.labelcolor": theme.text,
        "grid.color": theme.rule,
        "figure.facecolor": theme.ground,
        "axes.facecolor": theme.ground,
        "savefig.facecolor": theme.ground,
    }
    with mpl.rc_context():
        mpl.rcdefaults()
        ours: Any = {
            **_RC,
            **colors,
            "font.family": list(families()),
        }  # a name may be misspelt, and matplotlib says so
        mpl.rcParams.update(ours)
        yield


def shades(colors: tuple[str, ...]) -> "LinearSegmentedColormap":
    """A range of colours."""
    from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415

    return LinearSegmentedColormap.from_list("emulator", list(colors))
