"""What a command says before runs of very many episodes begin."""

from collections.abc import Sequence

from emulator.cli.endings import complain
from emulator.scenario import Scenario
from emulator.theory.promised import promised_episodes

MANY = 1e8
"""Episodes from which on a run says how many they are, before it begins."""

_PER_HOUR = 1e9  # episodes, on one core: some 300,000 per second


def warn_of_many(
    scenarios: Sequence[Scenario], *, quiet: bool, runs: str = "the run", times: int = 1
) -> None:
    """Say on stderr how many episodes are to come, if they are very many, and how long they take about.

    It is the sum of the scenarios', `times` over. Nothing is said of durations that are all 0: such a run
    ends at once.
    """
    if quiet:
        return
    episodes = times * sum(map(promised_episodes, scenarios))
    if MANY < episodes < float("inf"):
        complain(
            f"{runs} comes to about {_round(episodes)} episodes, which take about "
            f"{_round(episodes / _PER_HOUR)} hours of computing; Ctrl-C ends it with what there is until then"
        )


def _round(number: float) -> str:
    """A number to two places, with commas while it can be read so."""
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.0f}" if 100 <= rounded < 1e15 else f"{rounded:g}"
