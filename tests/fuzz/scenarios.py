"""Mutated scenarios: the bundled ones made small, and some with everything, changed in one to five ways."""

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from ruamel.yaml import YAML

from emulator.scenario import bundled_scenarios
from emulator.values.scalars import parse_duration
from tests.fuzz.trees import Map, Spot, copied, spots, to_json, to_yaml, tree
from tests.fuzz.values import TEXTS, near, nested, odd, odd_text

SECRET = "s3cret-of-another-file"
"""What stands in a file that is no table; no message may show it."""

_FEWER = {"workers", "batch_size", "queue_capacity", "sandboxes", "episode", "count"}
_SHORTER = {"duration", "at", "for"}

_EVERYTHING: tuple[dict[str, Any], ...] = (
    {
        "name": "groups",
        "seed": 3,
        "duration": 120,
        "speed": "max",
        "rollout": {
            "workers": 5,
            "episode_seconds": {"kind": "gamma", "mean": 12, "shape": 1.5},
            "group_size": 2,
            "group_redundancy": 1,
            "queue_capacity": 9,
            "speed": {"kind": "uniform", "low": 0.5, "high": 2},
        },
        "trainer": {"batch_size": 4, "update_seconds": 5, "weight_sync_seconds": 2, "publish_every": 2},
        "strategy": {
            "kind": "asynchronous",
            "max_staleness": 1,
            "enforce": "cancel",
            "weights": "in_flight",
            "refresh_overhead": 0.5,
            "weight_sync": "pause",
        },
        "environment": {
            "sandboxes": 3,
            "reset_seconds": 1,
            "failure_probability": 0.2,
            "timeout_seconds": 40,
            "retries": 1,
        },
        "events": [
            {"at": 20, "straggler": {"worker": 1, "factor": 8}},
            {"at": 30, "slow": {"workers": 2, "factor": 5, "for": 30}},
            {"at": 40, "crash": {"workers": [0, 2], "restart_seconds": 10}},
            {"at": 50, "stall_trainer": {"for": 20}},
            {"at": 50, "add_workers": {"count": 2}},
            {"at": 90, "remove_workers": {"workers": [1]}},
        ],
        "lanes": [
            {"name": "cancel"},
            {"name": "rounds", "strategy": {"kind": "synchronous", "oversample": 1.5, "unfinished": "defer"}},
            {"name": "paused", "strategy": {"kind": "synchronous", "oversample": 2, "unfinished": "resume"}},
        ],
    },
    {
        "name": "mixture",
        "seed": 4,
        "duration": 100,
        "speed": 60,
        "rollout": {
            "workers": 3,
            "episode_seconds": {
                "kind": "mixture",
                "components": [
                    {"weight": 3, "distribution": {"kind": "exponential", "mean": 5}},
                    {"weight": 1, "distribution": {"kind": "pareto", "minimum": 5, "alpha": 1.5}},
                ],
            },
        },
        "trainer": {"batch_size": 2, "update_seconds": {"kind": "uniform", "low": 1, "high": 3}},
        "strategy": {"kind": "one_step_off"},
        "learner": {"contexts": 8, "actions": 4, "steps": 4, "loss": "vtrace"},
        "lanes": [
            {"name": "one"},
            {"name": "two", "strategy": {"kind": "asynchronous", "max_staleness": 0.5, "enforce": "drop"}},
        ],
    },
    {
        "name": "traced",
        "duration": "1m",
        "speed": "max",
        "rollout": {"workers": 2, "episode_seconds": {"kind": "trace", "path": "table.csv", "column": "s"}},
        "trainer": {"batch_size": 2, "update_seconds": 0},
        "strategy": {"kind": "synchronous", "oversample": 2, "unfinished": "abort"},
    },
)

_SECONDS: list[Any] = [0, 1e-9, 0.001, 0.1, 1, 5, 7.5, 60, 600, 1e6, 1e9, "90s", "1m", "1h30m", "0s"]
_DISTRIBUTIONS: list[Any] = [
    *_SECONDS,
    *({"kind": "constant", "value": value} for value in (0, 5e-324, 1, 1e9)),
    *(
        {"kind": "lognormal", "median": m, "sigma": s}
        for m, s in ((5, 0), (5, 1), (20, 3), (1e-9, 10), (1e9, 10))
    ),
    *({"kind": "uniform", "low": low, "high": high} for low, high in ((0, 0), (0, 10), (5, 5), (0, 1e9))),
    *({"kind": "exponential", "mean": mean} for mean in (1e-300, 5, 1e9)),
    *({"kind": "gamma", "mean": m, "shape": s} for m, s in ((5, 0.001), (5, 1e6), (1e9, 2), (5e-324, 0.001))),
    *({"kind": "pareto", "minimum": m, "alpha": a} for m, a in ((5, 0.1), (5, 1), (1e9, 0.1), (1e-9, 1000))),
    {"kind": "mixture", "components": [{"weight": 1, "distribution": 0}, {"weight": 1, "distribution": 9}]},
    {
        "kind": "mixture",
        "components": [{"weight": 1e9, "distribution": 3}, {"weight": 5e-324, "distribution": 9}],
    },
    *({"kind": "trace", "path": path} for path in ("one.txt", "table.csv", "objects.jsonl", "empty.csv")),
    {"kind": "trace", "path": "table.csv", "column": 2, "order": "shuffle", "scale": 1e-9},
    {"kind": "trace", "path": "one.txt", "order": "resample", "scale": 1e9},
]
_COUNTS: list[Any] = [1, 1, 2, 3, 4, 5, 8, 13, 100, 1000]
_WORKER_SETS: list[Any] = [1, 2, 3, 8, [0], [1], [0, 1, 2], [2, 0], [0, 0], list(range(200))]
_FACTORS: list[Any] = [1, 2, 8, 0.5, 1e-9, 5e-324, 1e6, 1.0000001]
_ACTIONS: dict[str, Callable[[Random], dict[str, Any]]] = {
    "straggler": lambda r: {
        r.choice(("worker", "episode")): r.choice((0, 1, 2, 9, 10**12)),
        "factor": _of(r, _FACTORS),
    },
    "slow": lambda r: {"workers": _of(r, _WORKER_SETS), "factor": _of(r, _FACTORS), "for": _of(r, _SECONDS)},
    "crash": lambda r: {"workers": _of(r, _WORKER_SETS), "restart_seconds": _of(r, _SECONDS)},
    "stall_trainer": lambda r: {"for": _of(r, _SECONDS)},
    "add_workers": lambda r: {"count": _of(r, _COUNTS)},
    "remove_workers": lambda r: (
        {"count": _of(r, _COUNTS)} if r.random() < 0.5 else {"workers": _of(r, _WORKER_SETS)}
    ),
}
_PLAUSIBLE: dict[str, list[Any]] = {
    "name": list(TEXTS),
    "description": list(TEXTS),
    "seed": [0, 1, 2**63, 2**64 - 1],
    "duration": [5e-324, 1e-9, 0.5, 1, 30, "1m", "2m30s", 300, 1e9],
    "speed": ["max", 1, 60, 1e9, 5e-324, 1e-9, 2],
    "workers": _COUNTS,
    "episode_seconds": _DISTRIBUTIONS,
    "update_seconds": _DISTRIBUTIONS,
    "reset_seconds": _DISTRIBUTIONS,
    "distribution": _DISTRIBUTIONS,
    "group_size": [1, 2, 4],
    "group_redundancy": [0, 1, 2, 100],
    "queue_capacity": [None, 1, 4, 8, 100, 10**7],
    "batch_size": [1, 2, 3, 4, 8, 64, 1000, 10**7],
    "weight_sync_seconds": _SECONDS,
    "publish_every": [1, 2, 3, 1000, 10**6],
    "strategy": [
        {"kind": "one_step_off"},
        *(
            {"kind": "synchronous", "oversample": o, "unfinished": u}
            for o in (1, 1.1, 2, 1000)
            for u in ("abort", "resume", "defer")
        ),
        {"kind": "synchronous", "oversample": 1.5, "unfinished": "resume", "resume_overhead": 1e9},
        *(
            {"kind": "asynchronous", "max_staleness": s, "enforce": e}
            for s in (0, 0.1, 1, 10**6)
            for e in ("gate", "drop", "cancel")
        ),
        {"kind": "asynchronous", "weights": "in_flight", "refresh_overhead": 1e9, "weight_sync": "pause"},
        {"kind": "asynchronous", "weights": "in_flight", "weight_sync": "background"},
    ],
    "unfinished": ["wait", "abort", "resume", "defer"],
    "oversample": [1, 1.5, 2, 1000],
    "max_staleness": [None, 0, 0.5, 1, 2, 10**6],
    "enforce": ["gate", "drop", "cancel"],
    "weights": ["next_episode", "in_flight"],
    "weight_sync": ["background", "pause"],
    "resume_overhead": _SECONDS,
    "refresh_overhead": _SECONDS,
    "environment": [
        None,
        {"sandboxes": 1},
        {"failure_probability": 0.9999999, "retries": 1000},
        {"timeout_seconds": 0.001, "retries": 3},
        {"sandboxes": 2, "reset_seconds": 1e9, "timeout_seconds": 1e9},
    ],
    "sandboxes": [None, 1, 2, 1000000],
    "failure_probability": [0, 0.5, 0.9999999, 5e-324],
    "timeout_seconds": [None, 5e-324, 1, 30, 1e9],
    "retries": [0, 1, 1000],
    "learner": [
        None,
        {},
        {"loss": "none"},
        {"learning_rate": 1e6, "reward_noise": 1000},
        {"contexts": 1, "actions": 2},
    ],
    "loss": ["ppo", "importance", "vtrace", "none"],
    "difficulty_correlation": [0, 0.5, 1],
    "learning_rate": [1e-300, 30, 1e6],
    "clip": [5e-324, 0.2, 1],
    "rho": [5e-324, 1, 1e6],
    "at": _SECONDS,
    "for": _SECONDS,
    "restart_seconds": _SECONDS,
    "factor": _FACTORS,
    "count": _COUNTS,
    "path": [
        "one.txt",
        "table.csv",
        "objects.jsonl",
        "wide.csv",
        "empty.csv",
        "bytes.bin",
        "missing.csv",
        ".",
    ],
    "column": [None, 1, 2, 3, "s", "t", "missing", *TEXTS[:40]],
    "order": ["sequential", "shuffle", "resample"],
    "scale": [1e-9, 1, 1e9, 5e-324],
    "median": [5e-324, 1, 20, 1e9],
    "sigma": [0, 0.3, 1, 10],
    "weight": [5e-324, 1, 1e9],
}
_SECTIONS = {
    "rollout": ["workers", "episode_seconds", "group_size", "group_redundancy", "queue_capacity", "speed"],
    "trainer": ["batch_size", "update_seconds", "weight_sync_seconds", "publish_every"],
    "strategy": ["oversample", "unfinished", "resume_overhead", "max_staleness", "enforce", "weights"],
    "environment": ["sandboxes", "reset_seconds", "failure_probability", "timeout_seconds", "retries"],
    "learner": ["loss", "clip", "rho", "learning_rate", "difficulty_correlation"],
}


def _of(random: Random, choices: list[Any]) -> Any:
    return tree(random.choice(choices))


@cache
def bases() -> tuple[Any, ...]:
    """The scenarios that are mutated: few workers, some minutes."""
    bundled = [YAML(typ="safe").load(entry.path.read_text()) for entry in bundled_scenarios()]
    return (*(tree(_small(document)) for document in bundled), *(tree(document) for document in _EVERYTHING))


def _small(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _small(entry, name) for name, entry in value.items()}
    if isinstance(value, list):
        return [_small(entry, key) for entry in value]
    if key in _FEWER:
        return max(1, value // 16)
    if key == "group_size":
        return value // 4
    return round(seconds(value) / 60, 3) if key in _SHORTER else value


def seconds(value: Any) -> float:
    """The seconds that a scenario says in a number or a text."""
    return parse_duration(value) if isinstance(value, str) else float(value)


# -- changes to the tree ------------------------------------------------------------------------------


def _plausible_value(root: Any, random: Random) -> None:
    chosen = [spot for spot in spots(root) if spot.key in _PLAUSIBLE]
    if chosen:
        spot = random.choice(chosen)
        spot.value = _of(random, _PLAUSIBLE[str(spot.key)])


def _plausible_key(root: Any, random: Random) -> None:
    section, keys = random.choice(list(_SECTIONS.items()))
    lanes = root.get("lanes")
    lane = random.choice(lanes) if isinstance(lanes, list) and lanes and random.random() < 0.3 else root
    if not isinstance(lane, Map):
        return
    part = lane.get(section)
    if not isinstance(part, Map):
        part = Map()
        lane.set(section, part)
    key = random.choice(keys)
    part.set(key, _of(random, _PLAUSIBLE[key]))


def _more_events(root: Any, random: Random) -> None:
    entries = root.get("events")
    entries = entries if isinstance(entries, list) else []
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        action = random.choice(list(_ACTIONS))
        at = random.choice((0, 1, 10, 10, 20, 60, 60, 119.5))
        entries.append(Map([["at", at], [action, tree(_ACTIONS[action](random))]]))
    if random.random() < 0.04 and entries:
        entries += [copied(random.choice(entries)) for _ in range(random.choice((20, 20, 200)))]
    root.set("events", entries)


def _more_lanes(root: Any, random: Random) -> None:
    lanes = root.get("lanes")
    lanes = lanes if isinstance(lanes, list) else []
    name = odd_text(random) if random.random() < 0.5 else f"lane {len(lanes)}"
    lane = Map([["name", name]])
    for _ in range(random.choice((0, 1, 2))):
        key = random.choice(("strategy", "environment", "learner", "events", "rollout", "description"))
        lane.set(key, [] if key == "events" else _of(random, _PLAUSIBLE[key]) if key in _PLAUSIBLE else Map())
    lanes.append(lane)
    root.set("lanes", lanes)


def _odd_value(root: Any, random: Random) -> None:
    if places := spots(root):
        random.choice(places).value = odd(random)


def _near_value(root: Any, random: Random) -> None:
    numbers = [s for s in spots(root) if isinstance(s.value, int | float) and not isinstance(s.value, bool)]
    if numbers:
        spot = random.choice(numbers)
        spot.value = near(spot.value, random)


def _nested_value(root: Any, random: Random) -> None:
    if places := spots(root):
        random.choice(places).value = nested(random)


def _delete(root: Any, random: Random) -> None:
    if places := spots(root):
        spot = random.choice(places)
        del spot.entries[spot.index]


def _double(root: Any, random: Random) -> None:
    if places := spots(root):
        spot = random.choice(places)
        again = copied(spot.value) if random.random() < 0.5 else odd(random)
        spot.entries.insert(spot.index, [spot.key, again] if isinstance(spot.parent, Map) else again)


def _many(root: Any, random: Random) -> None:
    lists = [spot for spot in spots(root) if isinstance(spot.parent, list)]
    if lists:
        spot = random.choice(lists)
        spot.entries.extend(copied(spot.value) for _ in range(random.choice((1, 2, 2, 7, 7, 40))))


def _rename(root: Any, random: Random) -> None:
    keys = [spot for spot in spots(root) if isinstance(spot.parent, Map)]
    if keys:
        spot = random.choice(keys)
        name = str(spot.key)
        typo = name[: len(name) // 2] + name[len(name) // 2 + 1 :]
        spot.entries[spot.index][0] = random.choice(
            (odd_text(random), typo, name.upper(), random.choice(keys).key)
        )


def _swap(root: Any, random: Random) -> None:
    if places := spots(root):
        one, other = random.choice(places), random.choice(places)
        one.value, other.value = copied(other.value), copied(one.value)


def _trace(root: Any, random: Random) -> None:
    keys = {"episode_seconds", "update_seconds", "distribution", "reset_seconds"}
    chosen: list[Spot] = [spot for spot in spots(root) if spot.key in keys]
    if chosen:
        trace = Map([["kind", "trace"], ["path", random.choice(list(_FILES) + _NO_FILES)]])
        if random.random() < 0.6:
            trace.set("column", _of(random, _PLAUSIBLE["column"]))
        if random.random() < 0.3:
            trace.set("order", _of(random, _PLAUSIBLE["order"]))
        random.choice(chosen).value = trace


_LIKELY = (_plausible_value, _plausible_value, _plausible_key, _more_events, _more_lanes, _near_value)
_UNLIKELY = (_odd_value, _odd_value, _delete, _double, _many, _rename, _swap, _nested_value, _trace)


def mutate(root: Any, random: Random) -> Any:
    """Change a tree in one to five ways; most of them such that it may still be a scenario."""
    lanes = root.get("lanes") if isinstance(root, Map) else None
    if isinstance(lanes, list) and random.random() < 0.7:
        lanes[:] = random.sample(lanes, min(len(lanes), 2))
    changes = _LIKELY if random.random() < 0.6 else (*_LIKELY, *_UNLIKELY)
    for _ in range(random.choice((1, 1, 2, 3, 5))):
        if isinstance(root, Map):
            random.choice(changes)(root, random)
    return odd(random) if random.random() < 0.003 else root


# -- changes to the text ------------------------------------------------------------------------------


def changed_text(text: str, random: Random) -> bytes:
    """Change a text, or its bytes, here and there."""
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(random.choice((1, 1, 2, 5))):
        place = random.randrange(len(data) + 1)
        end = min(len(data), place + random.choice((1, 1, 4, 20, 200)))
        form = random.randrange(9)
        if form == 0:
            del data[place:end]
        elif form == 1:
            data[place:place] = data[place:end] * random.choice((1, 2, 50))
        elif form == 2 and place < len(data):
            data[place] ^= 1 << random.randrange(8)
        elif form == 3:
            data[place:place] = bytes([random.randrange(256)])
        elif form == 4:
            data[place:place] = random.choice(TEXTS).encode("utf-8", "surrogatepass")
        elif form == 5:
            data[place:place] = random.choice(_PIECES)
        elif form == 6:
            del data[place:]
        elif form == 7:
            rows = data.splitlines(keepends=True)
            random.shuffle(rows)
            data = bytearray(b"".join(rows))
        else:
            data[:0] = random.choice(_BEGINNINGS)
    if random.random() < 0.03:
        return bytes(data.decode("utf-8", "replace").encode(random.choice(("utf-16", "utf-32", "utf-7"))))
    return bytes(data)


_PIECES = (
    *(b"&a ", b"*a", b"!!str ", b"!!python/object/apply:os.system [x]", b"? ", b"<<: *a\n", b"- ", b": "),
    *(b"\t", b"|\n", b">-\n", b"---\n", b"...\n", b"#", b"\r", b"\r\n", b"[" * 50, b"{a: " * 50),
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x00"),
)
_BEGINNINGS = (
    *(
        b"%YAML 1.1\n---\n",
        b"%YAML 1.999\n---\n",
        b"%YAML 9999999999.1\n---\n",
        b"%TAG ! tag:x,2000:\n---\n",
        b"%X\n---\n",
    ),
    *(
        b"--- \n---\n",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"# only\n",
        b"&a\n",
        b"!!map\n",
        b"? x\n: y\n",
        b"\x1f\x8b",
        b"{",
        b"[",
        b"- ",
    ),
    b"a: &a [1, 1, 1, 1, 1, 1, 1, 1]\nb: &b [*a, *a, *a, *a, *a, *a]\n"
    b"c: &c [*b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c]\ne: [*d, *d, *d, *d]\n",
)


# -- files beside -------------------------------------------------------------------------------------

_FILES: dict[str, bytes] = {
    "one.txt": b"5\n7\n3.5\n11\n",
    "comment.txt": b"# seconds\n1\n\n2 # two\n",
    "zeros.txt": b"0\n" * 20,
    "tiny.txt": b"5e-324\n1e-300\n",
    "huge.txt": b"1e9\n1e9\n",
    "beyond.txt": b"1e10\n",
    "nan.txt": b"nan\n",
    "inf.txt": b"1\ninf\n",
    "minus.txt": b"-1\n",
    "under_score.txt": b"1_000\n",
    "digits.txt": b"9" * 6000 + b"\n",
    "long.txt": b"1" * (1 << 20) + b"2\n",
    "words.txt": f"TOKEN={SECRET}\nPASSWORD={SECRET}\n".encode(),
    "words.csv": f"{SECRET},{SECRET}:x\n{SECRET}\n".encode(),
    "words.jsonl": f'{SECRET}\n{{"{SECRET}": 1}}\n'.encode(),
    "escape.txt": b"\x1b[2J\x1b]0;x\x07\n",
    "escape.csv": b"\x1b[31mred,\x9b2J,\xc2\x9b31m\n1,2,3\n",
    "newline.csv": b'"a\nb.yaml:1:1: found nothing; allowed: all",s\n1,2\n',
    "table.csv": b"s,t\n5,1\n7,2\n3,3\n",
    "bare.csv": b"5\n7\n",
    "wide.csv": b",".join(b"column%d" % i for i in range(3000)) + b"\n" + b"1," * 3000 + b"\n",
    "short.csv": b"s,t\n5\n",
    "formula.csv": b"=1+1,@x\n1,2\n",
    "quote.csv": b'"s,t\n1,2\n',
    "nul.csv": b"s\n1\x002\n",
    "twice.csv": b"s,s\n1,2\n",
    "empty.csv": b"",
    "header.csv": b"s\n",
    "field.csv": b"s\n" + b"1" * 140_000 + b"\n",
    "utf16.csv": "s,t\n1,2\n".encode("utf-16"),
    "bytes.bin": bytes(range(256)) * 4,
    "zeros.bin": bytes(4096),
    "objects.jsonl": b'{"s": 5, "t": 1}\n{"s": 7, "t": 2}\n',
    "numbers.jsonl": b"1\n2.5\n3\n",
    "mixed.jsonl": b'1\n{"s": 2}\n[3]\nnull\n"4"\ntrue\n',
    "nested.jsonl": b"[" * 100_000 + b"\n",
    "keys.jsonl": json.dumps(dict.fromkeys(TEXTS, 1)).encode() + b"\n",
    "constants.jsonl": b'{"s": NaN}\n{"s": Infinity}\n',
    "packed.gz": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03garbage",
}
_NO_FILES = [
    "missing.csv",
    ".",
    "..",
    "/",
    "/proc/self/environ",
    "/dev/zero",
    "/dev/null",
    "fifo",
    "loop",
    "x" * 300,
    "nul\0.csv",
]


def write_files(text: bytes, folder: Path) -> None:
    """Put the small files that a scenario's text names beside it, and what is no file."""
    for name, data in _FILES.items():
        if name.encode() in text:
            (folder / name).write_bytes(data)
    if b"fifo" in text:
        os.mkfifo(folder / "fifo")
    if b"loop" in text:
        (folder / "loop").symlink_to("loop")


def scenario(random: Random) -> bytes:
    """A mutated scenario, as a file of YAML or JSON."""
    root = mutate(copied(random.choice(bases())), random)
    as_json, ascii_only = random.random() < 0.3, random.random() < 0.5
    text = to_json(root, ascii_only=ascii_only) if as_json else to_yaml(root, random)
    if random.random() < 0.15:
        return changed_text(text, random)
    return text.encode("utf-8", "surrogatepass" if random.random() < 0.1 else "replace")
