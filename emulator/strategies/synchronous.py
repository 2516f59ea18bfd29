"""The synchronous strategy: generate a batch, train on it, generate the next.

Plain, it is a barrier: a round lasts as long as its slowest episode. With `oversample` the round issues
more than a batch and closes when a batch is complete; with a `deadline` it closes then with what it has.
`unfinished` says what becomes of the rest: `abort` (slime's dynamic sampling), `resume` (partial rollouts as
in Kimi k1.5 and APRIL) or `defer` (tail batching as in RollPacker).
"""

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from emulator.strategies.contract import Setting, Strategy
from emulator.strategies.decisions import Unfinished
from emulator.strategies.processes import IndependentRounds, Pace
from emulator.strategies.rounds import RoundDecisions
from emulator.values.scalars import Exact, Seconds, duration_text, shortest
from emulator.values.violation import Path, Violation

MAX_ROUND = 10_000_000
"""The most episodes that a round may issue."""

_OVERSAMPLES = (1.25, 1.5)
_SYSTEMS = {
    "wait": "verl, OpenRLHF, TRL GRPO",
    "abort": "slime --over-sampling-batch-size",
    "resume": "Kimi k1.5 partial rollouts, slime --partial-rollout",
    "defer": "RollPacker tail batching",
}
_COLORS = {"wait": 1, "abort": 6, "resume": 5, "defer": 7}

_OVERSAMPLE: Path = ("strategy", "oversample")
_UNFINISHED: Path = ("strategy", "unfinished")
_DEADLINE: Path = ("strategy", "deadline")
_RESUME_OVERHEAD: Path = ("strategy", "resume_overhead")


class Synchronous(Strategy):
    """Rounds: generate a batch, update, push the weights, and only then the next round."""

    rests_while_training: ClassVar[bool] = True

    kind: Literal["synchronous"]
    oversample: Annotated[Decimal, Exact(1, 1000)] = Field(default=Decimal(1), examples=[1.25])
    """Episodes issued in a round, as a multiple of the batch (exact decimal)."""
    unfinished: Literal["wait", "abort", "resume", "defer"] = "wait"
    """What happens to episodes still running when a round closes."""
    resume_overhead: Annotated[float, Seconds()] = 0.0
    """What each resumed episode costs on top, in seconds."""
    deadline: Annotated[float, Seconds(above=True)] | None = Field(default=None, examples=["5m"])
    """When a round closes with the groups that it has, in seconds from its opening; absent means never."""

    def decisions(self, setting: Setting) -> RoundDecisions:
        """Rounds of ``ceil(oversample * batch_size)`` episodes, in whole groups."""
        return RoundDecisions(
            batch_groups=setting.batch_groups,
            round_groups=-(-self._issued(setting) // setting.group_size),
            unfinished=Unfinished(self.unfinished),
            resume_overhead=self.resume_overhead,
            deadline=self.deadline,
        )

    def _issued(self, setting: Setting) -> int:
        return math.ceil(self.oversample * setting.batch_size)

    def violations(self, setting: Setting) -> Iterator[Violation]:
        """What exceeds a batch must go somewhere, and a round must be of a size that can be kept."""
        oversample = shortest(float(self.oversample))
        if self.unfinished == "wait" and self.oversample > 1:
            rest = "unfinished: abort, resume or defer for what exceeds the batch"
            allowed = f"1 with unfinished: wait, or {rest}"
            yield Violation(_OVERSAMPLE, oversample, allowed, (_UNFINISHED,))
        if self.resume_overhead and self.unfinished != "resume":
            allowed = f"0 with unfinished: {self.unfinished}; it belongs to unfinished: resume"
            yield Violation(_RESUME_OVERHEAD, shortest(self.resume_overhead), allowed, (_UNFINISHED,))
        if self.deadline is not None and self.unfinished == "wait":
            allowed = "none with unfinished: wait, by which a round waits for all; or abort, resume or defer"
            yield Violation(_DEADLINE, f"{shortest(self.deadline)} s", allowed, (_UNFINISHED,))
        if (issued := self._issued(setting)) > MAX_ROUND:
            allowed = f"at most {MAX_ROUND} episodes in a round; with trainer.batch_size they are {issued}"
            yield Violation(_OVERSAMPLE, oversample, allowed, (("trainer", "batch_size"),))

    def _words(self, options: dict[str, Any]) -> Iterator[str]:
        if (unfinished := options.pop("unfinished", None)) is not None:
            yield f"{options.pop('oversample', 1)} {unfinished}"
        if (deadline := options.pop("deadline", None)) is not None:
            yield f"deadline {duration_text(deadline)}"

    @property
    def whole_batches(self) -> bool:
        """Without a deadline."""
        return self.deadline is None

    @property
    def family(self) -> str:
        """By what becomes of the unfinished: ``synchronous resume``."""
        return f"{self.kind} {self.unfinished}"

    @property
    def systems(self) -> str:
        """By what becomes of the unfinished; none is known for a deadline."""
        return "" if self.deadline is not None else _SYSTEMS[self.unfinished]

    @property
    def color(self) -> int:
        """By what becomes of the unfinished."""
        return _COLORS[self.unfinished]

    def process(self, setting: Setting) -> IndependentRounds | None:
        """Independent rounds with `wait` and `abort`; with `resume` and `defer` each depends on the last.

        With a deadline batches differ in size.
        """
        if self.deadline is not None:
            return None
        regular = setting.publish_every == 1 or not setting.push_seconds
        alone = self.unfinished == "abort" and setting.group_size == 1
        if regular and (alone or self.unfinished == "wait"):
            return IndependentRounds(self._issued(setting) if alone else setting.batch_size)
        return None

    def pace(self, setting: Setting) -> Pace:
        """A round for each update."""
        return Pace(setting.batch_size * float(self.oversample), 0.0)

    @classmethod
    def tried(cls, own: Self | None, caps: Sequence[float]) -> Iterator[dict[str, Any]]:
        """The barrier, and each way to oversample; what a resume costs is the engine's, and kept."""
        yield {"kind": "synchronous"}
        for unfinished in ("abort", "resume", "defer"):
            overhead = own.resume_overhead if own is not None and unfinished == "resume" else 0.0
            for oversample in _OVERSAMPLES:
                yield {
                    "kind": "synchronous",
                    "oversample": oversample,
                    "unfinished": unfinished,
                    "resume_overhead": overhead,
                }
