"""Mutated recordings: of runs and races of every bundled scenario made small, changed in one to five ways."""

import gzip
import json
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import emulator
from emulator.events import KINDS
from tests.fuzz import scenarios
from tests.fuzz.trees import Map, copied, spots, to_json, tree
from tests.fuzz.values import near, nested, odd, odd_text

_SHORT = 45.0
"""The emulated seconds that a recording is of."""

Lines = list[bytes]


@cache
def bases() -> tuple[tuple[bytes, ...], ...]:
    """The lines of the recordings that are mutated: each scenario's run and race."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenarios.write_files(b"table.csv", folder)
        for number, root in enumerate(scenarios.bases()):
            (folder / f"{number}.yaml").write_text(to_json(_cut(root)))
            scenario = emulator.load_scenario(folder / f"{number}.yaml")
            emulator.run(scenario, speed="max", record=folder / f"{number}-run.jsonl")
            found.append(_lines(folder / f"{number}-run.jsonl"))
            if scenario.lanes:
                emulator.race(scenario, speed="max", record=folder / f"{number}-race.jsonl")
                found.append(_lines(folder / f"{number}-race.jsonl"))
    return tuple(found)


def _cut(root: Any) -> Any:
    """The scenario for less time, its entries earlier."""
    root = copied(root)
    factor = _SHORT / scenarios.seconds(root.get("duration"))
    for spot in spots(root):
        if spot.key in ("duration", "at", "for"):
            spot.value = round(scenarios.seconds(spot.value) * factor, 3)
    return root


def _lines(path: Path) -> tuple[bytes, ...]:
    """The lines, without what would not be the same the next time: a wall clock, and where it was made."""
    data = path.read_bytes().replace(str(path.parent).encode(), b"/recorded")
    lines = data.splitlines(keepends=True)
    end = json.loads(lines[-1])
    for lane in end.get("lanes", [end]):
        lane["clock"] |= {"achieved_speed": 100.0, "wall_seconds": 0.5, "worst_lag_ms": None}
    lines[-1] = json.dumps(end, separators=(",", ":")).encode() + b"\n"
    return tuple(lines)


# -- changes to whole lines ---------------------------------------------------------------------------


def _somewhere(lines: Lines, random: Random) -> int:
    """The number of a line: any event's mostly, else the header's or the end's."""
    where = random.random()
    last = len(lines) - 1
    return 0 if where < 0.04 else last if where < 0.1 else random.randint(0, last)


def _drop(lines: Lines, random: Random) -> None:
    place = _somewhere(lines, random)
    del lines[place : place + random.choice((1, 1, 1, 2, 10))]


def _double(lines: Lines, random: Random) -> None:
    place = _somewhere(lines, random)
    lines[place:place] = lines[place : place + 1] * random.choice((1, 1, 2, 100))


def _swap(lines: Lines, random: Random) -> None:
    one = _somewhere(lines, random)
    other = min(one + 1, len(lines) - 1) if random.random() < 0.5 else _somewhere(lines, random)
    lines[one], lines[other] = lines[other], lines[one]


def _cut_off(lines: Lines, random: Random) -> None:
    del lines[_somewhere(lines, random) :]
    if lines and random.random() < 0.5:
        lines[-1] = lines[-1][: random.randrange(len(lines[-1]))]


def _without_kind(lines: Lines, random: Random) -> None:
    name = f'"event":"{random.choice(list(KINDS))}"'.encode()
    lines[:] = [line for line in lines if name not in line]


def _foreign(lines: Lines, random: Random) -> None:
    other = random.choice(bases())
    lines.insert(_somewhere(lines, random), random.choice(other))


def _other_header(lines: Lines, random: Random) -> None:
    lines[0] = random.choice(bases())[0]


def _other_end(lines: Lines, random: Random) -> None:
    lines[-1] = random.choice(bases())[-1]


def _no_line(lines: Lines, random: Random) -> None:
    lines.insert(_somewhere(lines, random), random.choice(_NO_LINES))


_NO_LINES = (
    *(
        b"\n",
        b" \n",
        b"{}\n",
        b"[]\n",
        b"null\n",
        b"1\n",
        b'"x"\n',
        b"{\n",
        b"x\n",
        b"\xff\n",
        b"\x00\n",
        b"\x1b[2J\n",
    ),
    *(
        b"\r\n",
        b'{"event": 1}\n',
        b'{"event": "end"}\n',
        b'{"event": "start"}\n',
        b'{"event": null, "t": 0}\n',
    ),
    *(
        b"[" * 100_000 + b"\n",
        b'{"t":0,"event":"\x1b[31m"}\n',
        b" " * 200_000 + b"\n",
        b"9" * 200_000 + b"\n",
    ),
    *(
        b'{"t":1e400,"event":"stall"}\n',
        b'{"t":' + b"9" * 400 + b',"event":"stall"}\n',
        b'{"t":"0","event":"stall"}\n',
    ),
)


# -- changes inside a line ----------------------------------------------------------------------------


def _inside(lines: Lines, random: Random) -> None:
    place = _somewhere(lines, random)
    try:
        root = tree(json.loads(lines[place]))
    except (ValueError, RecursionError):
        return
    if not isinstance(root, Map):
        return
    for _ in range(random.choice((1, 1, 2))):
        _field(root, random)
    text = to_json(root, ascii_only=random.random() < 0.7)
    lines[place] = text.encode("utf-8", "surrogatepass") + b"\n"


def _field(root: Map, random: Random) -> None:
    places = spots(root)
    if not places:
        return
    spot, form = random.choice(places), random.random()
    number = isinstance(spot.value, int | float) and not isinstance(spot.value, bool)
    if form < 0.35 and number:
        spot.value = near(spot.value, random)
    elif form < 0.65:
        spot.value = odd(random)
    elif form < 0.7:
        spot.value = nested(random)
    elif form < 0.78:
        del spot.entries[spot.index]
    elif form < 0.84 and isinstance(spot.parent, Map):
        spot.entries[spot.index][0] = odd_text(random)
    elif form < 0.9:
        spot.value = copied(random.choice(places).value)
    elif form < 0.93 and isinstance(spot.value, list):
        spot.value = spot.value * random.choice((0, 2, 1000))
    elif form < 0.96 and "event" in [pair[0] for pair in root.pairs]:
        root.set("event", random.choice([*KINDS, "end"]))
    else:
        root.set(
            random.choice(("t", "event", "lane", "worker", "version", "schema", "lanes", "error")),
            odd(random),
        )


def _header(lines: Lines, random: Random) -> None:
    """Change the scenario in the header as a file of its own would be."""
    try:
        root = tree(json.loads(lines[0]))
    except (ValueError, RecursionError):
        return
    if isinstance(root, Map) and isinstance(root.get("scenario"), Map):
        root.set("scenario", scenarios.mutate(root.get("scenario"), random))
        lines[0] = to_json(root).encode("utf-8", "surrogatepass") + b"\n"


def _later(lines: Lines, random: Random) -> None:
    """Shift all times from some line on."""
    place = _somewhere(lines, random)
    shift = random.choice((1e-9, 0.5, 100, 1e6, 1e15, 1e300, -1))
    for number in range(max(place, 1), len(lines)):
        try:
            told = json.loads(lines[number])
            told["t"] += shift
            lines[number] = json.dumps(told, separators=(",", ":")).encode() + b"\n"
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue


def _renumbered(lines: Lines, random: Random) -> None:
    """Another worker, episode or version, in every line that has it."""
    name = random.choice(("worker", "episode", "version", "update", "group"))
    number = random.randrange(6)
    other = random.choice((number + 1, 0, 10**6, 10**12, 2**63, 10**30, -1, 1.5))
    pattern = f'"{name}":{number},'.encode(), f'"{name}":{other},'.encode()
    lines[:] = [line.replace(*pattern) for line in lines]


_CHANGES = (
    *(
        _drop,
        _double,
        _swap,
        _cut_off,
        _cut_off,
        _cut_off,
        _without_kind,
        _foreign,
        _other_header,
        _other_end,
        _no_line,
    ),
    *(_inside, _inside, _inside, _inside, _inside, _inside, _header, _header, _later, _renumbered),
)


# -- changes to the file ------------------------------------------------------------------------------


def _damaged(data: bytes, random: Random) -> bytes:
    """Change bytes here and there."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 3, 30))):
        if not changed:
            break
        place = random.randrange(len(changed))
        form = random.randrange(4)
        if form == 0:
            changed[place] ^= 1 << random.randrange(8)
        elif form == 1:
            del changed[place : place + random.choice((1, 10, 1000))]
        elif form == 2:
            changed[place:place] = random.randbytes(random.choice((1, 10)))
        else:
            del changed[place:]
    return bytes(changed)


@cache
def _bomb(form: str, megabytes: int) -> bytes:
    """Much that takes little room."""
    filling = {
        "blanks": b" " * 1023 + b"\n",
        "line": b" " * 1024,
        "zeros": bytes(1024),
        "lines": b"{}\n" * 341,
    }
    end = b'{"t":0,"event":"stall"}\n'
    return gzip.compress(filling[form] * (1024 * megabytes) + end, 1)


def _packed(data: bytes, lines: Lines, random: Random) -> bytes:
    packed = gzip.compress(data, 1)
    form = random.random()
    if form < 0.35:
        return _damaged(packed, random)
    if form < 0.45:
        return packed + random.choice((packed, b"garbage", bytes(100), b"\x1f\x8b"))
    if form < 0.5 and lines:
        bomb = _bomb(random.choice(("blanks", "line", "zeros", "lines")), random.choice((2, 2, 20)))
        return gzip.compress(lines[0], 1) + bomb if random.random() < 0.7 else bomb
    return packed


def recording(random: Random) -> tuple[str, bytes]:
    """A mutated recording: the name of its file, and what is in it."""
    lines = list(random.choice(bases()))
    for _ in range(random.choice((1, 1, 1, 2, 3, 5))):
        if lines:
            random.choice(_CHANGES)(lines, random)
    data = b"".join(lines)
    form = random.random()
    if form < 0.08:
        return "r.jsonl", _damaged(data, random)
    if form < 0.2:
        return "r.jsonl.gz" if random.random() < 0.9 else "r.jsonl", _packed(data, lines, random)
    return "r.jsonl" if random.random() < 0.97 else "r.yaml", data
