"""What theory says of a run, beside what was measured."""

from typing import TYPE_CHECKING

from emulator.figures.engine_spec import TOKENS_PER_SECOND
from emulator.figures.result import Quantity
from emulator.figures.spec import DROPPED_SHARE, LINES, STALENESS, STALENESS_MAX, UPDATES_PER_HOUR
from emulator.figures.text import MAGNITUDE, setting
from emulator.runs import Run

if TYPE_CHECKING:
    from emulator.theory import Expectation, Limit


def theory_beside(run: Run, *, ascii_only: bool, brief: bool = False) -> dict[str, str]:
    """What theory says of a run's figures, by their names in the result.

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
    texts: dict[str, str] = {}
    for figure in _TOLD:
        name = figure.name
        if name in laws:
            texts[name] = _law_text(laws[name], figure, ascii_only=ascii_only)
        # How far updates are from the most possible is how busy the trainer is.
        elif name in found and (figure, found[name].kind) != (UPDATES_PER_HOUR, "at most"):
            texts[name] = _limit_words(found[name], figure, ascii_only=ascii_only, brief=brief)
    if not brief and STALENESS.name in texts and STALENESS.name in found and STALENESS_MAX.name not in found:
        texts[STALENESS.name] += " on average"
    return texts


_TOLD: tuple[Quantity[float], ...] = (*(line.head for line in LINES), DROPPED_SHARE, TOKENS_PER_SECOND)


def _write(value: float, figure: Quantity[float]) -> str:
    as_shown = figure.unit == "%" or figure.format is MAGNITUDE
    return figure.format(value) if as_shown else figure.format.mean(value)


def _limit_words(limit: "Limit", figure: Quantity[float], *, ascii_only: bool, brief: bool) -> str:
    at_most = limit.kind == "at most"
    value = setting(limit.value) if at_most else _write(limit.value, figure)
    if not brief:
        return f"{limit.kind} {value}"
    at_most_sign, tends_sign = ("<=", "->") if ascii_only else ("≤", "→")
    return f"{at_most_sign if at_most else tends_sign} {value}"


def _law_text(law: "Expectation", figure: Quantity[float], *, ascii_only: bool) -> str:
    mean, deviation = _write(law.mean, figure), "" if figure.unit == "%" else _write(law.sd or 0.0, figure)
    return f"{mean} {'+-' if ascii_only else '±'} {deviation}" if deviation.strip("0.") else mean
