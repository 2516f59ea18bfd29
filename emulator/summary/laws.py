"""What theory says of a run, told beside what was measured."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from emulator.figures.text import decimal, share
from emulator.runner import Run

if TYPE_CHECKING:
    from emulator.theory import Expectation, Limit


def theory_beside(run: Run, *, ascii_only: bool, brief: bool = False) -> dict[str, str]:
    """What theory says of a run's figures, by their names here.

    What it expects for as long as the run went; else what a figure
    tends to, or is at most: in signs if `brief`.
    """
    seconds = run.result["emulated_seconds"]
    if run.error is not None or not seconds:
        return {}
    from emulator.theory import expected, limits  # noqa: PLC0415  (it takes long to import)

    # What a person injected rules out the laws that a timeline of the file does.
    changed = {"duration": seconds, "events": run.scenario.events or run.interventions}
    scenario = run.scenario.model_copy(update=changed)
    laws, found = expected(scenario), limits(scenario)
    told: dict[str, str] = {}
    for name, (figure, tell) in _LAWS.items():
        if figure in laws:
            told[name] = _law_text(laws[figure], tell, ascii_only=ascii_only)
        # How far updates are from the most possible is how busy the trainer is.
        elif figure in found and (figure, found[figure].kind) != ("updates_per_hour", "at most"):
            told[name] = _limit_words(found[figure], tell, ascii_only=ascii_only, brief=brief)
    if not brief and STALENESS in told and "staleness.mean" in found and "staleness.max" not in found:
        told[STALENESS] += " on average"
    return told


def _limit_words(limit: "Limit", tell: Callable[[float], str], *, ascii_only: bool, brief: bool) -> str:
    at_most = limit.kind == "at most"
    value = f"{limit.value:g}" if at_most else tell(limit.value)
    if not brief:
        return f"{limit.kind} {value}"
    at_most_sign, tends_sign = ("<=", "->") if ascii_only else ("≤", "→")
    return f"{at_most_sign if at_most else tends_sign} {value}"


def _law_text(law: "Expectation", tell: Callable[[float], str], *, ascii_only: bool) -> str:
    deviation = "" if not law.sd or tell is share else tell(law.sd)
    if not deviation.strip("0."):
        return tell(law.mean)
    return f"{tell(law.mean)} {'+-' if ascii_only else '±'} {deviation}"


UPDATES = "UPDATES PER HOUR"
STALENESS = "STALENESS"
DROPPED = "DROPPED"
OF_FINISHED = "  of the finished"

_tenths, _percent = partial(decimal, places=1), partial(share, places=1)

_LAWS: dict[str, tuple[str, Callable[[float], str]]] = {
    UPDATES: ("updates_per_hour", _tenths),
    "WORKERS BUSY": ("workers.utilisation", share),
    "TRAINER BUSY": ("trainer.utilisation", share),
    STALENESS: ("staleness.mean", decimal),
    DROPPED: ("episodes.dropped_share", _percent),
}
"""Figures that theory has laws for: their names in the result, and how they are told."""
