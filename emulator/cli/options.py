"""The arguments and options of the commands, each with its help."""

from enum import Enum
from typing import Annotated

import typer


class ThemeName(Enum):
    """The colours of the dashboard."""

    DARK = "dark"
    LIGHT = "light"
    PLAIN = "plain"


class SweepBackend(Enum):
    """Where the runs of a sweep take place."""

    LOCAL = "local"
    DASK = "dask"
    RAY = "ray"


ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A scenario file, the name of a bundled scenario, or a recording to run again.",
    ),
]
RecordingArgument = Annotated[
    str, typer.Argument(metavar="RECORDING", help="A recording, made with --record.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Override a value of the file, such as rollout.workers=32; repeatable.",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="The seed of all random numbers.")
]
SpeedOption = Annotated[
    str | None,
    typer.Option(
        "--speed",
        metavar="N|max",
        help="Emulated seconds per wall second, or max: as fast as possible.",
        show_default="the scenario's",
    ),
]
RecordOption = Annotated[
    str | None,
    typer.Option(
        "--record", metavar="FILE", help="Write a recording during the run, to a .jsonl or .jsonl.gz file."
    ),
]
AllowFilesOption = Annotated[
    bool,
    typer.Option(
        "--allow-files", help="Let an older recording read the trace files that it names, wherever they are."
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
HeadlessOption = Annotated[
    bool, typer.Option("--headless", help="No live display: lines of progress on stderr.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON, and nothing else, on stdout; headless.")
]
HoldOption = Annotated[
    bool, typer.Option("--hold/--no-hold", help="Keep the last frame on the screen until a key is pressed.")
]
AsciiOption = Annotated[bool, typer.Option("--ascii", help="Draw with ASCII characters only.")]
ThemeOption = Annotated[
    ThemeName, typer.Option("--theme", help="Colours for a dark or a light background, or none.")
]
ReplayHeadlessOption = Annotated[
    bool, typer.Option("--headless", help="No display: print the summary at once.")
]
ReplayQuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="The same as --headless.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the summary.")]
ExportOption = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="FILE",
        help="The file; its suffix is the format: .svg, .html, .cast, .json (a trace for Perfetto) or .csv.",
    ),
]
AtOption = Annotated[
    str | None,
    typer.Option("--at", metavar="TIME", help="The moment to stop at, such as 37m.", show_default="the end"),
]
SizeOption = Annotated[
    str, typer.Option("--size", metavar="CxR", help="Columns and rows, for .svg and .cast.")
]
SweptArgument = Annotated[
    str | None, typer.Argument(metavar="SCENARIO", help="A scenario file, or the name of a bundled scenario.")
]
VaryOption = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="PATH=VALUES",
        help="An axis of the grid: a dotted path, and values with commas between them or start:stop:count, "
        "such as rollout.workers=16:128:8; repeatable, the first outermost.",
    ),
]
SeedsOption = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        metavar="N",
        help="How many seeds at every point, or which, such as 1,5,9.",
        show_default="20",
    ),
]
FirstSeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="The first seed.", show_default="the scenario's")
]
OutOption = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Write runs.csv, summary.csv, the plots and the command to a directory, as runs finish.",
    ),
]
ResumeOption = Annotated[
    str | None,
    typer.Option(
        "--resume", metavar="DIR", help="Resume the sweep in a directory; takes neither SCENARIO nor --vary."
    ),
]
BackendOption = Annotated[
    SweepBackend,
    typer.Option("--backend", help="Where runs take place: on this machine's cores, or on a cluster."),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address", metavar="ADDRESS", help="The cluster's scheduler, such as tcp://host:8786 for Dask."
    ),
]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", metavar="N", help="How many processes.", show_default="one per core")
]
RowsOption = Annotated[
    bool, typer.Option("--json", help="Print a line of JSON for each run, and nothing else, on stdout.")
]
AdviceJsonOption = Annotated[
    bool, typer.Option("--json", help="Print the answer as JSON, and nothing else, on stdout.")
]
AdviceSeedsOption = Annotated[
    str | None,
    typer.Option(
        "--seeds",
        metavar="N",
        help="How many seeds for every candidate, or which, such as 1,5,9.",
        show_default="5",
    ),
]
MaxStalenessOption = Annotated[
    float | None,
    typer.Option("--max-staleness", metavar="N", help="The highest mean staleness, in versions."),
]
MaxP95Option = Annotated[
    float | None,
    typer.Option(
        "--max-staleness-p95", metavar="N", help="The highest 95th percentile of staleness, in versions."
    ),
]
MaxOldestOption = Annotated[
    float | None,
    typer.Option(
        "--max-staleness-max",
        metavar="N",
        help="The highest staleness of any episode: the mean over runs of their largest.",
    ),
]
MinBiasOption = Annotated[
    float | None,
    typer.Option(
        "--min-length-bias",
        metavar="SHARE",
        help="The lowest length bias: trained over started durations, 1 is unbiased.",
    ),
]
MinGoodputOption = Annotated[
    float | None,
    typer.Option(
        "--min-goodput",
        metavar="SHARE",
        help="The lowest goodput: the share of the workers' time spent on episodes that are not thrown away.",
    ),
]
BudgetOption = Annotated[
    int | None,
    typer.Option("--budget-workers", metavar="N", help="The most workers.", show_default="the scenario's"),
]
SecondsOption = Annotated[str, typer.Option("--seconds", metavar="N", help="How long a .cast plays.")]
