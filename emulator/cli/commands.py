"""The commands. What takes long to import is imported by the command that needs it."""
# ruff: noqa: PLC0415

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from emulator.cli.endings import complain, endings, speed_of
from emulator.errors import LONGEST
from emulator.signals import be_deaf
from emulator.text import clean
from emulator.version import __version__

if TYPE_CHECKING:
    from emulator.errors import RecordingError
    from emulator.runner import Run


class Theme(Enum):
    """The colours of the dashboard."""

    DARK = "dark"
    LIGHT = "light"
    PLAIN = "plain"


class SweepBackend(Enum):
    """Where the runs of a sweep take place."""

    LOCAL = "local"
    DASK = "dask"
    RAY = "ray"


class _Commands(typer.core.TyperGroup):
    """The commands; what is wrong with an argument is said in one printable line, whatever it holds."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Parse the options before the command."""
        with _cleaned():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """Parse the command's own arguments, and run it."""
        with _cleaned():
            return super().invoke(ctx)


@contextmanager
def _cleaned() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str):
            error.message = clean(message, LONGEST)  # type: ignore[attr-defined]  # it has one
        raise


app = typer.Typer(
    cls=_Commands,
    help="Emulates the training of a model by RL: rollout workers, a trainer, stragglers and staleness.",
    no_args_is_help=True,
    add_completion=False,
    # Plain help: rich would cost start-up time, and colour what is not a terminal where CI asks for it.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A scenario file, the name of a bundled scenario, or a recording to run again.",
    ),
]
RecordingArgument = Annotated[
    str, typer.Argument(metavar="RECORDING", help="A recording, made with --record.", show_default=False)
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Put a value in place of the file's, such as rollout.workers=32; repeatable.",
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", help="The seed of all random numbers.", show_default=False),
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
        "--record",
        metavar="FILE",
        help="Write a recording as the run goes, to a .jsonl or .jsonl.gz file.",
        show_default=False,
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
    bool, typer.Option("--json", help="The result as JSON on stdout and nothing else there; headless.")
]
HoldOption = Annotated[
    bool,
    typer.Option("--hold/--no-hold", help="Keep the last frame on the screen until a key is pressed."),
]
AsciiOption = Annotated[bool, typer.Option("--ascii", help="Draw with ASCII characters only.")]
ThemeOption = Annotated[Theme, typer.Option("--theme", help="Colours for a dark or a light ground, or none.")]
ReplayHeadlessOption = Annotated[bool, typer.Option("--headless", help="No display: the summary at once.")]
ReplayQuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="The same as --headless.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the summary.")]
ExportOption = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="FILE",
        help="The file; its suffix is the format: .svg, .html, .cast, .json (a trace for Perfetto) or .csv.",
        show_default=False,
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
    str | None,
    typer.Argument(
        metavar="SCENARIO", help="A scenario file, or the name of a bundled scenario.", show_default=False
    ),
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
    int | None,
    typer.Option("--seed", metavar="N", help="The first seed.", show_default="the scenario's"),
]
OutOption = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Keep runs.csv, summary.csv, the plots and the command in a directory, as the runs end.",
        show_default=False,
    ),
]
ResumeOption = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="DIR",
        help="Go on with the sweep in a directory; needs neither SCENARIO nor --vary.",
        show_default=False,
    ),
]
BackendOption = Annotated[
    SweepBackend,
    typer.Option("--backend", help="Where runs take place: on this machine's cores, or on a cluster."),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help="The cluster's scheduler, such as tcp://host:8786 for Dask.",
        show_default=False,
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", help="How many processes.", show_default="one a core"),
]
RowsOption = Annotated[
    bool, typer.Option("--json", help="A line of JSON for each run on stdout and nothing else there.")
]
AdviceJsonOption = Annotated[
    bool, typer.Option("--json", help="The answer as JSON on stdout and nothing else there.")
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
    typer.Option(
        "--max-staleness", metavar="N", help="The most mean staleness, in versions.", show_default=False
    ),
]
MaxP95Option = Annotated[
    float | None,
    typer.Option(
        "--max-staleness-p95",
        metavar="N",
        help="The most staleness of 95 % of the episodes.",
        show_default=False,
    ),
]
MaxOldestOption = Annotated[
    float | None,
    typer.Option(
        "--max-staleness-max",
        metavar="N",
        help="The most staleness of any episode, as the mean of the runs' largest.",
        show_default=False,
    ),
]
MinBiasOption = Annotated[
    float | None,
    typer.Option(
        "--min-length-bias",
        metavar="SHARE",
        help="The least length bias: trained over started durations, 1 is unbiased.",
        show_default=False,
    ),
]
MinGoodputOption = Annotated[
    float | None,
    typer.Option(
        "--min-goodput",
        metavar="SHARE",
        help="The least share of the workers' time that goes into episodes not thrown away.",
        show_default=False,
    ),
]
BudgetOption = Annotated[
    int | None,
    typer.Option("--budget-workers", metavar="N", help="The most workers.", show_default="the scenario's"),
]
SecondsOption = Annotated[str, typer.Option("--seconds", metavar="N", help="How long a .cast plays.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _common(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    pass


@app.command()
def run(
    scenario: ScenarioArgument,
    *,
    speed: SpeedOption = None,
    seed: SeedOption = None,
    overrides: SetOption = None,
    record: RecordOption = None,
    force: ForceOption = False,
    allow_files: AllowFilesOption = False,
    headless: HeadlessOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    hold: HoldOption = True,
    ascii_only: AsciiOption = False,
    theme: ThemeOption = Theme.DARK,
) -> None:
    """Run one scenario, without its lanes."""
    asked = speed_of(speed)
    with endings():
        import emulator
        from emulator.cli.promise import tell_promise
        from emulator.cli.watching import Look, Watching
        from emulator.summary import RunSummary

        loaded = emulator.load_scenario(
            scenario, overrides=overrides or (), seed=seed, allow_files=allow_files
        )
        look = Look(not (headless or as_json), quiet, hold, ascii_only, theme.value)
        watching = Watching([loaded], look)
        tell_promise([loaded], quiet=quiet)
        unrecorded = None
        try:
            outcome = emulator.run(
                loaded, speed=asked, watch=watching.watch, sinks=watching.sinks[0], record=record, force=force
            )
        except emulator.RunError as error:
            assert error.run is not None
            outcome = error.run
        except emulator.RecordingError as error:
            if not error.runs:
                raise
            outcome, unrecorded = error.runs[0], error
        result = outcome.to_json() if as_json else RunSummary(outcome)
        _report([outcome], result, watching.signal, unrecorded)


@app.command()
def race(
    scenario: ScenarioArgument,
    *,
    speed: SpeedOption = None,
    seed: SeedOption = None,
    overrides: SetOption = None,
    record: RecordOption = None,
    force: ForceOption = False,
    allow_files: AllowFilesOption = False,
    headless: HeadlessOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    hold: HoldOption = True,
    ascii_only: AsciiOption = False,
    theme: ThemeOption = Theme.DARK,
) -> None:
    """Run a scenario's lanes side by side on one clock."""
    asked = speed_of(speed)
    with endings():
        import emulator
        from emulator.cli.promise import tell_promise
        from emulator.cli.watching import Look, Watching
        from emulator.summary import RaceSummary

        loaded = emulator.load_scenario(
            scenario, overrides=overrides or (), seed=seed, allow_files=allow_files
        )
        look = Look(not (headless or as_json), quiet, hold, ascii_only, theme.value)
        watching = Watching(loaded.lane_scenarios(), look)
        tell_promise(loaded.lane_scenarios(), quiet=quiet, runs="the race")
        unrecorded = None
        try:
            outcomes = emulator.race(
                loaded, speed=asked, watch=watching.watch, sinks=watching.sinks, record=record, force=force
            )
        except emulator.RecordingError as error:
            if not error.runs:
                raise
            outcomes, unrecorded = list(error.runs), error
        result = {"lanes": [outcome.to_json() for outcome in outcomes]}
        summary = RaceSummary(outcomes)
        _report(outcomes, result if as_json else summary, watching.signal, unrecorded)


@app.command()
def sweep(
    scenario: SweptArgument = None,
    *,
    vary: VaryOption = None,
    seeds: SeedsOption = None,
    seed: FirstSeedOption = None,
    overrides: SetOption = None,
    out: OutOption = None,
    resume: ResumeOption = None,
    backend: BackendOption = SweepBackend.LOCAL,
    address: AddressOption = None,
    jobs: JobsOption = None,
    as_json: RowsOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a grid of runs over seeds, in parallel, to a table and plots."""
    with endings():
        from emulator.cli.sweeping import Asked, run_sweep

        asked = Asked(scenario, tuple(vary or ()), seeds, seed, tuple(overrides or ()), out, resume)
        run_sweep(asked, backend=backend.value, address=address, jobs=jobs, as_json=as_json, quiet=quiet)


@app.command()
def advise(
    scenario: ScenarioArgument,
    *,
    max_staleness: MaxStalenessOption = None,
    max_staleness_p95: MaxP95Option = None,
    max_staleness_max: MaxOldestOption = None,
    min_length_bias: MinBiasOption = None,
    min_goodput: MinGoodputOption = None,
    budget_workers: BudgetOption = None,
    seeds: AdviceSeedsOption = None,
    seed: FirstSeedOption = None,
    overrides: SetOption = None,
    jobs: JobsOption = None,
    as_json: AdviceJsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say which strategy, with how many workers, trains fastest within limits.

    Tries the strategies, bounds, oversampling and workers up to the budget on the scenario's own episodes.
    Limits hold for means over the seeds. The code is 1 if nothing meets them; the answer says what binds.
    """
    with endings():
        from emulator.cli.advising import run_advise

        limits = {
            "max_staleness": max_staleness,
            "max_staleness_p95": max_staleness_p95,
            "max_staleness_max": max_staleness_max,
            "min_length_bias": min_length_bias,
            "min_goodput": min_goodput,
        }
        run_advise(
            scenario,
            overrides=overrides or (),
            limits=limits,
            budget=budget_workers,
            seeds=seeds,
            seed=seed,
            jobs=jobs,
            as_json=as_json,
            quiet=quiet,
        )


@app.command()
def replay(
    recording: RecordingArgument,
    *,
    speed: SpeedOption = None,
    headless: ReplayHeadlessOption = False,
    as_json: JsonOption = False,
    quiet: ReplayQuietOption = False,
    hold: HoldOption = True,
    ascii_only: AsciiOption = False,
    theme: ThemeOption = Theme.DARK,
) -> None:
    """Play a recording back: on a terminal with seeking back and forth, else only its summary."""
    asked = speed_of(speed)
    with endings():
        from rich.console import Group
        from rich.text import Text

        import emulator
        from emulator.cli.output import write_json, write_rich
        from emulator.cli.watching import Look
        from emulator.recording.outcome import outcomes, outcomes_json
        from emulator.summary import RaceSummary, RunSummary

        recorded = emulator.read_recording(recording)
        ended_by: list[int] = []

        def end(number: int) -> None:
            ended_by.append(number)
            be_deaf()

        if Look(not (headless or as_json), quiet, hold, ascii_only, theme.value).on_terminal:
            from emulator.dashboard import replay_dashboard

            replay_dashboard(
                recorded,
                speed=asked,
                hold=hold,
                ascii=ascii_only,
                theme=theme.value,
                on_signal=end,
            )
        if as_json:
            write_json(outcomes_json(recorded))
        else:
            runs = outcomes(recorded)
            summary = RaceSummary(runs) if recorded.is_race else RunSummary(runs[0])
            write_rich(summary if recorded.cut is None else Group(Text(f"{recorded.cut}\n"), summary))
        if ended_by:
            raise typer.Exit(128 + ended_by[0])


@app.command()
def export(
    recording: RecordingArgument,
    *,
    to: ExportOption,
    at: AtOption = None,
    size: SizeOption = "100x30",
    seconds: SecondsOption = "30",
    force: ForceOption = False,
) -> None:
    """Turn a recording into a picture, a page, a cast, a trace or a table."""
    with endings():
        from emulator.exports import export as write_export
        from emulator.exports.settings import parse_settings

        told = write_export(recording, to, parse_settings(at, size, seconds), force=force)
        if told.cut is not None:
            complain(told.cut)


@app.command()
def validate(scenario: ScenarioArgument, *, overrides: SetOption = None, seed: SeedOption = None) -> None:
    """Check a scenario with its lanes; print it resolved."""
    with endings():
        import emulator
        from emulator.cli.output import write_yaml

        loaded = emulator.load_scenario(scenario, overrides=overrides or (), seed=seed)
        valid = [f"{loaded.name}: valid", *(f"lane {lane.name}: valid" for lane in loaded.lanes)]
        valid += loaded.notes()
        write_yaml(loaded.resolved(), comments=valid)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a scenario file, for editors."""
    with endings():
        from emulator.cli.output import write_json
        from emulator.scenario import json_schema

        write_json(json_schema())


@app.command()
def scenarios() -> None:
    """List the bundled scenarios."""
    with endings():
        from emulator.cli.output import write_list
        from emulator.scenario import bundled_scenarios

        write_list([(bundled.name, bundled.description) for bundled in bundled_scenarios()])


def _report(
    outcomes: "Sequence[Run]", result: Any, signal: int | None, unrecorded: "RecordingError | None"
) -> None:
    """Print what came of a run, and leave with its exit code."""
    from emulator.cli.output import write_json, write_rich

    if isinstance(result, dict):
        write_json(result)
    else:
        write_rich(result)
    for outcome in outcomes:
        if outcome.error is not None:
            complain(f"{outcome.name or outcome.scenario.name}: {outcome.error}")
    if unrecorded is not None:
        complain(str(unrecorded))
    if signal is not None:
        raise typer.Exit(128 + signal)
    if unrecorded is not None or any(outcome.error is not None for outcome in outcomes):
        raise typer.Exit(1)
