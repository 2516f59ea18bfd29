"""One file a strategy; `build` makes the one that a scenario asks for."""

from emulator.scenario import Scenario
from emulator.scenario import strategies as options
from emulator.strategies.asynchronous import Asynchronous, Enforce
from emulator.strategies.base import Strategy, Unfinished
from emulator.strategies.one_step_off import OneStepOff
from emulator.strategies.synchronous import synchronous


def build(scenario: Scenario) -> Strategy:
    """The strategy of a scenario, with its options in the terms of its decisions."""
    batch = scenario.trainer.batch_size
    group = scenario.rollout.group_size
    match scenario.strategy:
        case options.Synchronous() as chosen:
            return synchronous(
                batch_size=batch,
                group_size=group,
                oversample=chosen.oversample,
                unfinished=Unfinished(chosen.unfinished),
                resume_overhead=chosen.resume_overhead,
            )
        case options.OneStepOff():
            return OneStepOff(batch_groups=batch // group, round_groups=batch // group)
        case options.Asynchronous() as chosen:
            return Asynchronous(
                batch_groups=batch // group,
                publication_episodes=batch * scenario.trainer.publish_every,
                group_size=group,
                max_staleness=chosen.max_staleness,
                enforce=Enforce(chosen.enforce),
                refreshes_in_flight=chosen.weights == "in_flight",
                refresh_overhead=chosen.refresh_overhead,
                freezes_for_push=chosen.weight_sync == "pause",
            )
