"""Closed-form laws of the emulated systems, to check what is measured and to be drawn beside it.

`laws` has the formulas as people quote them: rates and shares that hold in the long run. `expected` says
what a run of a scenario's own duration should give, since an hour has whole updates, few of them on a long
tail, and a beginning; `limits` says what it tends to and what it cannot exceed. Where no law holds, they say
nothing.
"""

from emulator.theory.expected import Expectation, expected
from emulator.theory.laws import (
    asynchronous_rate,
    discarded_share,
    expected_maximum,
    in_flight_limit,
    staleness_by_littles_law,
    synchronous_rate,
    synchronous_utilisation,
)
from emulator.theory.limits import Limit, limits
from emulator.theory.promised import promised_episodes

__all__ = [
    "Expectation",
    "Limit",
    "asynchronous_rate",
    "discarded_share",
    "expected",
    "expected_maximum",
    "in_flight_limit",
    "limits",
    "promised_episodes",
    "staleness_by_littles_law",
    "synchronous_rate",
    "synchronous_utilisation",
]
