"""How long updates take: as drawn, and by the tokens of the batch on the trainer's GPUs."""

from collections.abc import Callable, Iterable
from math import fsum

from emulator.scenario import Scenario
from emulator.system.episodes import AnyGroup, Episode


class UpdateTimes:
    """The seconds of one update after the other.

    On shared GPUs an update includes both changes, from generating to training and back.
    """

    def __init__(self, scenario: Scenario, next_drawn: Callable[[], float]) -> None:
        self._next_drawn = next_drawn
        self._token_gpu_ms = scenario.trainer.token_gpu_ms
        self._gpus = scenario.training_gpus
        cluster = scenario.cluster
        self._shared = cluster if cluster is not None and cluster.is_shared else None
        self._plain = not self._token_gpu_ms and self._shared is None

    def next(self, batch: Iterable[AnyGroup]) -> float:
        """The seconds of the next update, on these groups."""
        seconds = self._next_drawn()
        if self._plain:
            return seconds
        if self._token_gpu_ms:
            tokens = fsum(_context(episode) for group in batch for episode in group.finished)
            seconds += tokens / 1000 * self._token_gpu_ms / 1000 / self._gpus
        if self._shared is None:
            return seconds
        switch = self._shared.switch_seconds
        return switch + seconds * self._shared.shared_slowdown + switch


def _context(episode: Episode) -> float:
    return 0.0 if episode.trip is None else episode.trip.context
