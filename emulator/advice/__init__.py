"""Advice: which strategy, with how many workers, trains fastest within limits a person gives.

    >>> advice = emulator.advise(scenario, max_staleness=2, min_length_bias=0.9, budget_workers=96)
    >>> print(advice.best[0].option.name, advice.best[0].yaml)

A thin filter over one sweep: `candidates` says what is tried, `options` what each came to, `limits` what is
asked of it, `choosing` ranks and compares, all without running anything; `advising` runs the sweep between.
"""

from emulator.advice.advising import Advice, LimitReport, advise, advise_on
from emulator.advice.choosing import Choice
from emulator.advice.limits import Requirement
from emulator.advice.options import Option

__all__ = ["Advice", "Choice", "LimitReport", "Option", "Requirement", "advise", "advise_on"]
