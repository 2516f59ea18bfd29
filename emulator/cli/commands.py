"""The commands. What takes long to import is imported by the command that needs it."""
# ruff: noqa: PLC0415

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from emulator.cli import options
from emulator.cli.endings import complain, endings, speed_of
from emulator.errors import LONGEST
from emulator.signals import be_deaf
from emulator.text import clean
from emulator.version import __version__

if TYPE_CHECKING:
    from emulator.errors import RecordingError
    from emulator.runs import Run


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
    help="Emulates an RL training run: rollout workers, a trainer, stragglers and staleness.",
    no_args_is_help=True,
    add_completion=False,
    # Plain help: rich would cost start-up time, and colour what is not a terminal where CI asks for it.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


def _running(*, race: bool) -> Callable[..., None]:
    """The command that runs a scenario, or races its lanes."""

    def command(
        scenario: options.ScenarioArgument,
        *,
        speed: options.SpeedOption = None,
        seed: options.SeedOption = None,
        overrides: options.SetOption = None,
        record: options.RecordOption = None,
        force: options.ForceOption = False,
        allow_files: options.AllowFilesOption = False,
        headless: options.HeadlessOption = False,
        as_json: options.JsonOption = False,
        quiet: options.QuietOption = False,
        hold: options.HoldOption = True,
        ascii_only: options.AsciiOption = False,
        theme: options.ThemeOption = options.ThemeName.DARK,
    ) -> None:
        asked = speed_of(speed)
        with endings():
            import emulator
            from emulator.cli.output import write_json, write_rich
            from emulator.cli.promise import warn_of_many
            from emulator.cli.watching import Display, Watching
            from emulator.summary import RaceSummary, RunSummary

            loaded = emulator.load_scenario(
                scenario, overrides=overrides or (), seed=seed, allow_files=allow_files
            )
            lanes = loaded.lane_scenarios() if race else [loaded]
            display = Display(not (headless or as_json), quiet, hold, ascii_only, theme.value)
            watching = Watching(lanes, display)
            warn_of_many(lanes, quiet=quiet, runs="the race" if race else "the run")
            how: dict[str, Any] = {"speed": asked, "watch": watching.watch, "record": record, "force": force}
            unrecorded = None
            try:
                if race:
                    outcomes = emulator.race(loaded, sinks=watching.sinks, **how)
                else:
                    outcomes = [emulator.run(loaded, sinks=watching.sinks[0], **how)]
            except emulator.RunError as error:
                outcomes = [error.run]
            except emulator.RecordingError as error:
                if not error.runs:
                    raise
                outcomes, unrecorded = list(error.runs), error
            if as_json:
                results = [outcome.to_json() for outcome in outcomes]
                write_json({"lanes": results} if race else results[0])
            else:
                write_rich(RaceSummary(outcomes) if race else RunSummary(outcomes[0]))
            _leave(outcomes, watching.signal, unrecorded)

    return command


app.command("run", help="Run one scenario, without its lanes.")(_running(race=False))
app.command("race", help="Run a scenario's lanes side by side on one clock.")(_running(race=True))


@app.command()
def sweep(
    scenario: options.SweptArgument = None,
    *,
    vary: options.VaryOption = None,
    seeds: options.SeedsOption = None,
    seed: options.FirstSeedOption = None,
    overrides: options.SetOption = None,
    out: options.OutOption = None,
    resume: options.ResumeOption = None,
    backend: options.BackendOption = options.SweepBackend.LOCAL,
    address: options.AddressOption = None,
    jobs: options.JobsOption = None,
    as_json: options.RowsOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Run a grid of runs over seeds, in parallel, to a table and plots."""
    with endings():
        from emulator.cli.sweeping import Asked, run_sweep

        asked = Asked(scenario, tuple(vary or ()), seeds, seed, tuple(overrides or ()), out, resume)
        run_sweep(asked, backend=backend.value, address=address, jobs=jobs, as_json=as_json, quiet=quiet)


@app.command()
def advise(
    scenario: options.ScenarioArgument,
    *,
    max_staleness: options.MaxStalenessOption = None,
    max_staleness_p95: options.MaxP95Option = None,
    max_staleness_max: options.MaxOldestOption = None,
    min_length_bias: options.MinBiasOption = None,
    min_goodput: options.MinGoodputOption = None,
    budget_workers: options.BudgetOption = None,
    seeds: options.AdviceSeedsOption = None,
    seed: options.FirstSeedOption = None,
    overrides: options.SetOption = None,
    jobs: options.JobsOption = None,
    as_json: options.AdviceJsonOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Find which strategy, with how many workers, trains fastest within limits.

    Tries the strategies, bounds, oversampling and workers up to the budget on the scenario's own episodes.
    Limits apply to means over the seeds. The exit code is 1 if nothing meets them; the answer then names
    the limit that binds.
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
    recording: options.RecordingArgument,
    *,
    speed: options.SpeedOption = None,
    headless: options.ReplayHeadlessOption = False,
    as_json: options.JsonOption = False,
    quiet: options.ReplayQuietOption = False,
    hold: options.HoldOption = True,
    ascii_only: options.AsciiOption = False,
    theme: options.ThemeOption = options.ThemeName.DARK,
) -> None:
    """Play a recording back: on a terminal with seeking back and forth, else only its summary."""
    asked = speed_of(speed)
    with endings():
        from rich.console import Group
        from rich.text import Text

        import emulator
        from emulator.cli.output import write_json, write_rich
        from emulator.cli.watching import Display
        from emulator.recording.outcome import outcomes, outcomes_json
        from emulator.summary import RaceSummary, RunSummary

        recorded = emulator.read_recording(recording)
        ended_by: list[int] = []

        def end(number: int) -> None:
            ended_by.append(number)
            be_deaf()

        if Display(not (headless or as_json), quiet, hold, ascii_only, theme.value).on_terminal:
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
    recording: options.RecordingArgument,
    *,
    to: options.ExportOption,
    at: options.AtOption = None,
    size: options.SizeOption = "100x30",
    seconds: options.SecondsOption = "30",
    force: options.ForceOption = False,
) -> None:
    """Turn a recording into a picture, a page, a cast, a trace or a table."""
    with endings():
        from emulator.exports import export as write_export
        from emulator.exports.settings import parse_settings

        exported = write_export(recording, to, parse_settings(at, size, seconds), force=force)
        if exported.cut is not None:
            complain(exported.cut)


@app.command()
def validate(
    scenario: options.ScenarioArgument,
    *,
    overrides: options.SetOption = None,
    seed: options.SeedOption = None,
) -> None:
    """Check a scenario and its lanes; print it resolved."""
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


def _leave(outcomes: "Sequence[Run]", signal: int | None, unrecorded: "RecordingError | None") -> None:
    """Say what went wrong, and leave with the exit code."""
    for outcome in outcomes:
        if outcome.error is not None:
            complain(f"{outcome.name or outcome.scenario.name}: {outcome.error}")
    if unrecorded is not None:
        complain(str(unrecorded))
    if signal is not None:
        raise typer.Exit(128 + signal)
    if unrecorded is not None or any(outcome.error is not None for outcome in outcomes):
        raise typer.Exit(1)
