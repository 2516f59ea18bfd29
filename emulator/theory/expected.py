"""What theory expects of a run: its figures by name, each with its law and where that holds."""

from collections.abc import Iterator
from dataclasses import dataclass

from emulator.scenario import Scenario
from emulator.theory.conditions import (
    ages_hold,
    busy_seconds_of,
    busy_workers,
    durations_of,
    flows,
    known,
    resolved,
    rounds_of,
)
from emulator.theory.flow import Flow, waves
from emulator.theory.range import representable
from emulator.theory.renewal import MOST_CELLS, Durations, Renewals, TimeGrid, grid_for
from emulator.theory.rounds import RoundFigures, Rounds

_CELLS_FOR_ROUNDS = 1 << 15
_MOST_ALIKE = 0.5


@dataclass(frozen=True)
class Expectation:
    """What a figure is on average over seeds.

    `sd` is the standard deviation of one run, None where it is not known. `law` is the formula in a
    line, `holds` the conditions under which it was applied.
    """

    mean: float
    sd: float | None
    law: str
    holds: str


def expected(scenario: Scenario) -> dict[str, Expectation]:
    """What to expect of a run of the scenario, for its own duration, without its lanes.

    The keys are the result's, joined by dots: ``updates``, ``updates_per_hour``, ``workers.utilisation``,
    ``workers.goodput``, ``trainer.utilisation``, ``staleness.mean``, ``staleness.in_flight_mean`` and
    ``staleness.in_queue_mean``, in the result's units. A figure for which no law holds is absent.
    """
    return representable(_expected(scenario))


def _expected(scenario: Scenario) -> Iterator[tuple[str, Expectation]]:
    durations = durations_of(scenario) if known(scenario) else None
    if durations is None:
        return
    rounds = rounds_of(scenario, durations)
    if rounds is not None:
        yield from _rounds(scenario, rounds)
    elif busy_workers(scenario) is not None:
        yield from _busy(scenario, durations)


def _rounds(scenario: Scenario, rounds: Rounds) -> Iterator[tuple[str, Expectation]]:
    grid = _grid(scenario, rounds.durations, _CELLS_FOR_ROUNDS)
    if rounds.certain:
        fine = grid.step <= rounds.durations.mean
    else:
        fine = resolved(rounds.durations, grid) and rounds.alike <= _MOST_ALIKE
    if not fine:
        return
    found = rounds.figures(grid)
    holds = "independent draws; a worker for each episode of a round"
    law = "E[N] = sum over n of P(n rounds <= T), a round = max(B draws) + U + S"
    if rounds.overlapping:
        law = "E[N] = sum over n of P(n rounds <= T), a round = max(B draws, U) + S"
    elif rounds.issued > rounds.batch_size:
        law = "E[N] = sum over n of P(n rounds <= T), a round = B-th of N draws + U + S"
    yield from _updates(scenario, *found.updates, law, holds)
    yield from _round_times(scenario, rounds, found, holds)
    if found.lag is None:
        return
    if not rounds.overlapping:
        for name in ("mean", "in_flight_mean", "in_queue_mean"):
            yield f"staleness.{name}", Expectation(0.0, 0.0, "each round under the newest weights", holds)
    else:
        lag = Expectation(*found.lag, "1 - E[1 / N]: one version each, but for the first batch", holds)
        yield "staleness.mean", lag
        yield "staleness.in_queue_mean", lag
        yield "staleness.in_flight_mean", Expectation(0.0, 0.0, "no publication while a round runs", holds)


def _round_times(
    scenario: Scenario, rounds: Rounds, found: RoundFigures, holds: str
) -> Iterator[tuple[str, Expectation]]:
    service = scenario.rollout.workers * scenario.duration
    law = "seconds generated in rounds begun by T, by W T"
    busy = Expectation(found.generating_seconds / service, None, law, holds)
    yield "workers.utilisation", busy
    if rounds.issued == rounds.batch_size:
        yield "workers.goodput", busy
    law = "E[N] (U + S) / T, and the part of the last"
    yield "trainer.utilisation", Expectation(found.busy_seconds / scenario.duration, None, law, holds)


def _busy(scenario: Scenario, durations: Durations) -> Iterator[tuple[str, Expectation]]:
    always = Expectation(1.0, 0.0, "workers never stop", "asynchronous, no gate, overhead or pause")
    yield "workers.utilisation", always
    if not flows(scenario):
        return
    yield "workers.goodput", always
    busy = busy_seconds_of(scenario)
    if busy is None:
        return
    trainer, workers = scenario.trainer, scenario.rollout.workers
    grid = _grid(scenario, durations)
    if not durations.deviation:
        found = waves(durations.mean, workers, trainer.batch_size, busy, scenario.duration)
        if found is not None:
            law, holds = "each batch in turn: W episodes at once, every E[d] seconds", "constant durations"
            yield from _updates(scenario, found[0], 0.0, law, holds)
            yield "trainer.utilisation", Expectation(found[1] / scenario.duration, 0.0, law, holds)
    elif resolved(durations, grid):
        renewals = Renewals(durations, grid)
        yield from _flow(scenario, Flow(renewals, workers, trainer.batch_size, busy, trainer.publish_every))


def _flow(scenario: Scenario, flow: Flow) -> Iterator[tuple[str, Expectation]]:
    found = flow.figures()
    if found is None:
        return
    holds = "independent draws; workers never stop, and clearly set the pace"
    law = "E[N] = E[floor(A(T - U - S) / B)], A = sum of W renewal processes"
    if flow.load >= 1:
        holds = "independent draws; the trainer clearly sets the pace"
        law = "E[N] = E[floor((T - t) / (U + S))], t = when the first batch is complete"
    yield from _updates(scenario, *found.updates, law, holds)
    law = "E[N] (U + S) / T, and the part of the last"
    yield "trainer.utilisation", Expectation(*found.trainer_utilisation, law, holds)
    in_flight, in_queue, staleness = found.in_flight, found.in_queue, found.staleness
    if in_flight is None or in_queue is None or staleness is None:
        return
    if ages_hold(scenario, flow.renewals.durations):
        law = "W for each publication, less what still runs at the last batch; tends to W/B"
        if flow.load >= 1:
            law = "W for each publication while what is trained ran; tends to E[d] / (U + S)"
        yield "staleness.in_flight_mean", Expectation(*in_flight, law, holds)
        law = "what finishes between a batch and its publication, by B; tends to W (U + S) / (B E[d])"
        if flow.load >= 1:
            law = "how far the workers are ahead of the trainer, by B; grows with T"
        yield "staleness.in_queue_mean", Expectation(*in_queue, law, holds)
        yield "staleness.mean", Expectation(*staleness, "in flight + in queue", holds)


def _grid(scenario: Scenario, durations: Durations, most_cells: int = MOST_CELLS) -> TimeGrid:
    return grid_for(scenario.duration, durations.mean, durations.deviation, most_cells)


def _updates(
    scenario: Scenario, mean: float, deviation: float | None, law: str, holds: str
) -> Iterator[tuple[str, Expectation]]:
    per_hour = 3600 / scenario.duration
    yield "updates", Expectation(mean, deviation, law, holds)
    hourly = None if deviation is None else deviation * per_hour
    yield "updates_per_hour", Expectation(mean * per_hour, hourly, law, holds)
