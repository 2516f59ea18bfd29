"""The charts of a sweep: files for slides and papers by matplotlib, and the same at once in the terminal.

    >>> sweep = emulator.sweep(scenario, {"rollout.episode_seconds.sigma": [0.3, 1.0]}, seeds=8)
    >>> emulator.plots.save(sweep, "plots")

Files need the extra ``plot`` (``pip install 'emulator[plot]'``); `emulator.plots.terminal` needs nothing.
The charts are updates per hour, utilisation, the distribution of staleness, throughput against staleness with
length bias as colour, and paired differences between strategies; one without data is left out.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from emulator.files import replacing
from emulator.plots.charts import Chart, Frontier, HeatMap, Lines
from emulator.plots.data import charts
from emulator.plots.fonts import drawable
from emulator.plots.look import THEMES, Palette, PaletteName, settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from emulator.sweeps import Sweep

__all__ = ["figures", "save"]


def figures(sweep: "Sweep", theme: PaletteName = "light") -> "dict[str, Figure]":
    """Draw the charts of a sweep, by name, as matplotlib figures of 12.8 by 7.2 inches.

    None if every run failed. Raises MissingExtraError if there is no matplotlib.
    """
    with settings(THEMES[theme]):
        return {chart.name: _draw(chart, THEMES[theme]) for chart in charts(sweep)}


def save(
    sweep: "Sweep", directory: str | os.PathLike[str], *, theme: PaletteName | Literal["both"] = "both"
) -> list[Path]:
    """Write the charts of a sweep as SVG and PNG into a directory, which is made; returns the paths.

    A chart is ``updates.svg`` and ``updates.png`` on white, ``updates-dark.svg`` and ``updates-dark.png`` on
    dark ground, of 1920 by 1080 pixels. The same sweep and version of matplotlib give the same bytes. Raises
    MissingExtraError if there is no matplotlib, and OSError if a file cannot be written.
    """
    folder = Path(directory)
    names: tuple[PaletteName, ...] = ("light", "dark") if theme == "both" else (theme,)
    drawn = charts(sweep)
    return [path for name in names for path in _save(drawn, folder, THEMES[name])]


def _save(drawn: list[Chart], folder: Path, theme: Palette) -> Iterator[Path]:
    with settings(theme):
        folder.mkdir(parents=True, exist_ok=True)
        for chart in drawn:
            figure = _draw(chart, theme)
            for suffix in ("svg", "png"):
                path = folder / f"{chart.name}{'-dark' if theme.name == 'dark' else ''}.{suffix}"
                # Neither the date nor the version of the program that wrote it.
                nothing = {"Date": None, "Creator": None} if suffix == "svg" else {"Software": None}
                with replacing(path) as file:
                    figure.savefig(file, format=suffix, metadata=nothing)
                yield path


def _draw(chart: Chart, theme: Palette) -> "Figure":
    from emulator.plots import frontier, heat, lines  # noqa: PLC0415

    chart = drawable(chart)
    match chart:
        case Lines():
            return lines.draw(chart, theme)
        case HeatMap():
            return heat.draw(chart, theme)
        case Frontier():
            return frontier.draw(chart, theme)
    raise TypeError(f"no drawing of {chart!r}")
