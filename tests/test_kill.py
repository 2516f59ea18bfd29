"""A run that is killed has a recording of all that happened until less than a second before."""

import random
from pathlib import Path

import pytest

from tests.kill import ALLOWED, LONGEST, Way, kill


@pytest.mark.parametrize(
    "way",
    [
        Way("run", "3600", ".jsonl.gz"),
        Way("run", "60", headless=False),
        Way("race", "60", ".jsonl.gz"),
        Way("race", "max"),
    ],
    ids=str,
)
def test_kill_9_at_a_random_moment_loses_less_than_a_second(way: Way, tmp_path: Path) -> None:
    loss = kill(way, tmp_path, random.uniform(0.0, LONGEST))
    # A process that a busy machine does not let run, for a time that its reports show, cannot write either.
    assert loss.seconds < ALLOWED + loss.stall
