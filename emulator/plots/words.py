"""The words of charts: what an axis, a value and a sweep are called on a slide."""

from collections.abc import Collection, Sequence

from emulator.figures.text import count, setting, span
from emulator.scenario import Scenario
from emulator.strategies import Strategy, strategy_of

Value = float | int | str | bool | None
"""A value of a swept axis as a row of the table has it."""

_AXES = {
    "duration": "duration, s",
    "rollout.workers": "rollout workers",
    "rollout.episode_seconds": "episode duration, s",
    "rollout.episode_seconds.sigma": "spread of episode durations, σ",  # noqa: RUF001  (as the papers write it)
    "rollout.episode_seconds.median": "median episode, s",
    "rollout.episode_seconds.cap": "cap on episodes, s",
    "rollout.episode_tokens": "tokens of an episode",
    "rollout.turns.count": "turns of an episode",
    "rollout.turns.output_tokens": "tokens of a turn",
    "rollout.turns.tool_seconds": "tool time, s",
    "rollout.prompt_tokens": "prompt, tokens",
    "rollout.group_size": "group size, episodes",
    "rollout.group_redundancy": "group redundancy, episodes",
    "rollout.group_correlation": "correlation within groups",
    "rollout.queue_capacity": "queue capacity, episodes",
    "trainer.batch_size": "batch size, episodes",
    "trainer.update_seconds": "update time, s",
    "trainer.weight_sync_seconds": "weight push, s",
    "trainer.token_gpu_ms": "update of 1,000 tokens, GPU-ms",
    "trainer.gpus": "GPUs for training",
    "cluster.trainer_gpus": "GPUs for training",
    "cluster.engine_gpus": "GPUs of an engine",
    "cluster.gpus": "GPUs",
    "engine.count": "engines",
    "engine.slots": "slots of an engine",
    "engine.kv_tokens": "KV cache of an engine, tokens",
    "engine.step_ms": "decode step, ms",
    "trainer.publish_every": "updates for a publication",
    "strategy.max_staleness": "staleness limit η, versions",
    "strategy.oversample": "oversampling, batches",
    "strategy.deadline": "deadline of a round, s",
    "learner.difficulty_correlation": "correlation of task and duration",
    "learner.learning_rate": "learning rate",
    "environment.sandboxes": "sandboxes",
    "environment.failure_probability": "failure probability of an attempt",
    "environment.timeout_seconds": "timeout, s",
}
_SHORT = {"rollout.episode_seconds.sigma": "σ", "strategy.max_staleness": "η"}  # noqa: RUF001


def axis_label(path: str) -> str:
    """What a swept path is called under a chart, with its unit."""
    if path in _AXES:
        return _AXES[path]
    words = path.replace("_", " ")
    return f"{words.removesuffix(' seconds')}, s" if words.endswith(" seconds") else words


def value_label(path: str, value: Value) -> str:
    """A value as a legend says it: ``asynchronous, gate 1``, ``workers 64``, ``cancel``."""
    if path == "strategy":
        return strategy_label(str(value))
    if isinstance(value, str):
        return value
    short = _SHORT.get(path, path.rpartition(".")[2].replace("_", " "))
    return f"{short} {setting(value)}"


def strategy_of_text(text: str) -> Strategy | None:
    """The strategy that a row names by its kind and options, such as ``asynchronous max_staleness=2``."""
    kind, *rest = text.split()
    options = dict(option.partition("=")[::2] for option in rest)
    return strategy_of({"kind": kind, **{key: _number_or_text(value) for key, value in options.items()}})


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def strategy_label(text: str) -> str:
    """A strategy in few words, every option among them; of anything else, what it says."""
    strategy = strategy_of_text(text)
    return text.replace("_", " ") if strategy is None else strategy.full_label


def subject(labels: Sequence[str], noun: str) -> str:
    """What is compared, for a title: by name, or their number and what they are."""
    if len(labels) < 2:
        return "".join(labels)
    listed = f"{', '.join(labels[:-1])} and {labels[-1]}"
    return listed if len(listed) <= 48 else f"{len(labels)} {noun}"


def scenario_text(scenario: Scenario, swept: Collection[str]) -> str:
    """What a sweep kept fixed: its scenario's name and the few facts that shape a run."""
    facts = {
        "rollout.workers": f"{scenario.rollout.workers} workers",
        "trainer.batch_size": f"batches of {scenario.trainer.batch_size}",
        "duration": f"{span(scenario.duration)} emulated",
    }
    return " · ".join([scenario.name, *(fact for path, fact in facts.items() if path not in swept)])


def failures_text(failed: int) -> str:
    """How many runs are left out, nothing if none is."""
    return "" if not failed else f"{count(failed, 'failed run')} left out"
