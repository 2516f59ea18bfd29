"""What a chart shows: numbers and words, ready to be drawn on a slide or in a terminal."""

from dataclasses import dataclass
from typing import NamedTuple


class Estimate(NamedTuple):
    """A mean over seeds with its 95 % interval, None where fewer than three seeds have the figure."""

    mean: float
    low: float | None = None
    high: float | None = None

    @property
    def lowest(self) -> float:
        """The lowest value of the interval, or the mean."""
        return self.mean if self.low is None else self.low

    @property
    def highest(self) -> float:
        """The highest value of the interval, or the mean."""
        return self.mean if self.high is None else self.high


class Style(NamedTuple):
    """How a series is told apart: places in the palette of colours and in the list of markers.

    `shade` counts the series before it that have the same colour.
    """

    color: int
    marker: int
    shade: int = 0


@dataclass(frozen=True)
class Across:
    """The horizontal axis: a number that was swept, or categories; `positions` rise."""

    label: str
    ticks: tuple[str, ...]
    positions: tuple[float, ...]
    numeric: bool = False
    log: bool = False

    def __len__(self) -> int:
        return len(self.ticks)


@dataclass(frozen=True)
class Curve:
    """One line: at each place across what was measured and what theory expects, None where there is none."""

    label: str
    style: Style
    points: tuple[Estimate | None, ...]
    theory: tuple[float | None, ...]


@dataclass(frozen=True)
class Panel:
    """Curves over one vertical axis, whose label has the unit; `top` is where it ends, if that is known."""

    label: str
    series: tuple[Curve, ...]
    top: float | None = None
    from_zero: bool = True


@dataclass(frozen=True)
class Chart:
    """What all charts have: the name of their files, a title, and small print, note by note."""

    name: str
    title: str
    caption: tuple[str, ...]


@dataclass(frozen=True)
class Lines(Chart):
    """Panels side by side over one horizontal axis: lines over a number, bars over categories."""

    across: Across
    panels: tuple[Panel, ...]

    @property
    def theory(self) -> bool:
        """Whether there is a theory for anything in it."""
        series = (series for panel in self.panels for series in panel.series)
        return any(value is not None for one in series for value in one.theory)


@dataclass(frozen=True)
class Ages:
    """How stale the trained episodes of one series were.

    `shares[i][k]` is the share of episodes at place `i` across that were `k` versions stale, summing to 1;
    the last `k` stands for itself and all above. An empty tuple where nothing was trained.
    """

    label: str
    style: Style
    shares: tuple[tuple[float, ...], ...]
    means: tuple[float | None, ...]


@dataclass(frozen=True)
class HeatMap(Chart):
    """Staleness by share of episodes, one map a series; `rows` are the labels of staleness from 0 up."""

    across: Across
    rows: tuple[str, ...]
    panels: tuple[Ages, ...]


class Trade(NamedTuple):
    """What one point of the grid gets and pays: updates per hour, staleness in versions, length bias."""

    tag: str
    updates: Estimate
    staleness: Estimate
    length_bias: float


@dataclass(frozen=True)
class Trades:
    """The points of one series, in the order of the swept axis."""

    label: str
    style: Style
    points: tuple[Trade, ...]


@dataclass(frozen=True)
class Frontier(Chart):
    """Throughput against staleness, with length bias as colour."""

    series: tuple[Trades, ...]
    along: str
    """What changes along a line, from where to where; empty if there are no lines."""
