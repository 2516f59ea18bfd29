"""The advise command: how far its sweep is on stderr, the answer on stdout."""

from collections.abc import Sequence

import typer

import emulator
from emulator.advice.report import WIDTH, AdviceSummary
from emulator.cli.endings import complain
from emulator.cli.output import write_drawn, write_json
from emulator.cli.promise import warn_of_many
from emulator.cli.sweeping import progress, seeds_of
from emulator.signals import exit_code
from emulator.sweeps import SweepInterrupted

_SEEDS = "5"


def run_advise(
    scenario: str,
    *,
    overrides: Sequence[str],
    limits: dict[str, float | None],
    budget: int | None,
    seeds: str | None,
    seed: int | None,
    jobs: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Advise on a scenario and print the answer; leaves with code 1 if nothing meets the limits."""
    loaded = emulator.load_scenario(scenario, overrides=overrides, seed=seed)
    wanted = seeds_of(seeds or _SEEDS, seed)
    warn_of_many([loaded], quiet=quiet, runs="each run")
    try:
        with progress(quiet=quiet) as report:
            advice = emulator.advise(
                loaded, **limits, budget_workers=budget, seeds=wanted, jobs=jobs, progress=report
            )
    except SweepInterrupted as interrupted:
        complain(f"interrupted: {interrupted}; there is no advice from a part of them")
        raise typer.Exit(exit_code(interrupted.__cause__)) from None
    if as_json:
        write_json(advice.to_json())
    else:
        write_drawn(lambda console: console.print(AdviceSummary(advice), crop=False), width=WIDTH)
    if not advice.best:
        raise typer.Exit(1)
