"""The figures of tokens, engines and GPUs, for the list of figures."""

from functools import partial
from typing import Any

from emulator.figures.result import Figure, Section, Shown, part
from emulator.figures.text import COUNT, DECIMAL, MAGNITUDE

_since = partial(part, since="0.2.0")
_tokens = partial(_since, unit="tokens", format=MAGNITUDE)
_gpu_seconds = partial(_since, unit="s", section=Section.CLUSTER)

_MEANS = Shown.SUMMARY | Shown.PAGE
_SWEPT = Shown.READ | Shown.SWEEP

STARTED_TOKENS: Figure[float] = _tokens("episode_tokens.started_mean", words="{} started", shown=_MEANS)
TRAINED_TOKENS: Figure[float] = _tokens(
    "episode_tokens.trained_mean", words="mean tokens generated: {} trained", shown=_MEANS
)
TOKENS_PER_SECOND: Figure[float] = _since(
    "engine.tokens_per_second",
    unit="tokens/s",
    format=MAGNITUDE,
    words="{} tokens/s",
    column="tokens/s",
    shown=_SWEPT,
)
RUNNING: Figure[float] = _since(
    "engine.running_mean",
    "running per engine",
    unit="sequences",
    words="{} running per engine",
    column="running",
    shown=_SWEPT,
)
UPDATES_PER_GPU_HOUR: Figure[float] = _since(
    "cluster.updates_per_gpu_hour",
    "updates/GPU-hour",
    format=DECIMAL,
    words="{} updates per GPU-hour",
    column="/GPU-h",
    shown=_SWEPT,
)
ENGINES_IDLE: Figure[list[float]] = _since("engine.idle", "engines idle", unit="%", is_list=True)
"""By engine."""

ENGINE_FIGURES: tuple[Figure[Any], ...] = (
    STARTED_TOKENS,
    TRAINED_TOKENS,
    _tokens("engine.tokens", "tokens generated", words="{} tokens"),
    TOKENS_PER_SECOND,
    RUNNING,
    _since("engine.running_max", "most running", unit="sequences", words="max {}", shown=Shown.READ),
    _since("engine.prefilling", unit="%", words="prefilling {}", shown=Shown.READ),
    _tokens("engine.kv_peak", "KV peak", words="KV peak {}", shown=Shown.READ),
    _since("engine.preempted", "preempted requests", format=COUNT, words="{} preempted", shown=Shown.READ),
    ENGINES_IDLE,
    _since("engine.wait_seconds", "waited for engines", unit="s"),
    *(
        _gpu_seconds(f"cluster.gpu_seconds.{account}", f"GPU-seconds {account}")
        for account in ("generating", "training", "idle")
    ),
    UPDATES_PER_GPU_HOUR,
    _tokens(
        "cluster.trained_tokens_per_gpu_hour",
        "tokens/GPU-hour",
        words="{} trained tokens per GPU-hour",
        shown=Shown.TABLES,
    ),
)
"""In their order in a result."""
