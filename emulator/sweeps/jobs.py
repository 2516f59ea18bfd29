"""What a worker process does: some seeds of one point, each run unpaced, and a flat row of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emulator.scenario import Scenario

Row = dict[str, Any]
"""The columns of one run."""

TEXTS = ("error", "trace_sha256")
"""The columns that hold text; of the others only `histogram` columns are no numbers."""


@dataclass(frozen=True)
class Job:
    """Some seeds of one point, to be run one after the other; `point` is its place in the grid."""

    point: int
    scenario: Scenario
    seeds: tuple[int, ...]


def run_job(job: Job) -> tuple[Job, list[Row]]:
    """Run the seeds of a job, and return it with a row for each."""
    return job, [run_seed(job.scenario, seed) for seed in job.seeds]


def run_seed(scenario: Scenario, seed: int) -> Row:
    """Run a scenario once; returns ``error``, the figures of its result by dotted name, and its trace's hash.

    A run that cannot go on has its error and no figures: half an hour's are not to be averaged with others.
    """
    from emulator.figures.result import flat  # noqa: PLC0415  (a process that only plans a grid does not need it)
    from emulator.runner import run_lanes  # noqa: PLC0415

    (outcome,) = run_lanes([scenario.model_copy(update={"seed": seed})], speed="max")
    if outcome.error is not None:
        return {"error": " ".join(str(outcome.error).split())}
    return {"error": None, **dict(flat(outcome.result)), "trace_sha256": outcome.trace_sha256}


def figure_names(scenario: Scenario) -> list[str]:
    """The dotted names of the figures that a run of a scenario has, in the order of its result."""
    from emulator.figures import Figures  # noqa: PLC0415  (see above)

    return [figure.name for figure in Figures(scenario).listed()]


def make_jobs(
    wanted: Sequence[tuple[int, Scenario, Sequence[int]]], processes: int, *, most: int = 5
) -> list[Job]:
    """Divide the seeds wanted at each point into jobs: several in one, yet four jobs or more for a process.

    `wanted` has the place, the scenario and the seeds of each point; a job has at most `most` seeds.
    """
    runs = sum(len(seeds) for _, _, seeds in wanted)
    size = max(1, min(most, runs // (4 * processes)))
    return [
        Job(point, scenario, tuple(seeds[first : first + size]))
        for point, scenario, seeds in wanted
        for first in range(0, len(seeds), size)
    ]
