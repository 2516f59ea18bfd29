"""Events as lines of a trace, and the hash over them."""

import hashlib
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import events as ev
from emulator.learner import LearningFigures
from emulator.trace import TraceHash

WHOLE = st.integers(0, 10**12)
SECONDS = st.floats(0, 1e9) | st.integers(0, 10**6).map(float)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    float: SECONDS,
    int: WHOLE,
    int | None: st.none() | WHOLE,
    bool: st.booleans(),
    str: st.sampled_from(["sandbox", "queue", "stale", "group", "crash", "failure", 'odd "é"\n']),
    list[int]: st.lists(WHOLE, max_size=5),
    dict[str, Any]: st.dictionaries(
        st.sampled_from(["slow", "crash", "straggler"]),
        st.dictionaries(
            st.sampled_from(["workers", "factor", "for"]), st.lists(WHOLE, max_size=3) | SECONDS | WHOLE
        ),
        min_size=1,
        max_size=1,
    ),
}


def of_kind(kind: type[ev.Event]) -> st.SearchStrategy[ev.Event]:
    return st.builds(kind, *(VALUES[annotation] for annotation in kind.__annotations__.values()))


EVENTS = st.one_of([of_kind(kind) for kind in ev.NAMES])


def plain_line(event: ev.Event) -> str:
    t, *values = event
    names = list(event._fields)[1:]
    line = {"t": t, "event": type(event).__name__.lower(), **dict(zip(names, values, strict=True))}
    return json.dumps(line, separators=(",", ":"))


@pytest.mark.parametrize("kind", ev.NAMES, ids=lambda kind: kind.__name__)
def test_every_kind_is_its_compact_json_and_comes_back_from_it(kind: type[ev.Event]) -> None:
    @settings(max_examples=25)
    @given(of_kind(kind))
    def check(event: ev.Event) -> None:
        line = ev.encode(event)
        assert line == plain_line(event)
        back = ev.decode(json.loads(line))
        assert type(back) is kind
        assert back == event

    check()


def test_the_names_are_those_of_the_kinds_and_each_kind_begins_with_its_time() -> None:
    assert len(ev.NAMES) == len(ev.KINDS) == 32
    assert all(ev.KINDS[name] is kind for kind, name in ev.NAMES.items())
    assert all(next(iter(kind.__annotations__)) == "t" for kind in ev.NAMES)


def test_what_is_learned_is_reported_as_a_learner_gives_it() -> None:
    assert ev.Learn._fields == ("t", "update", *LearningFigures._fields)


def test_a_line_looks_like_this() -> None:
    assert ev.encode(ev.Start(0.5, 3, 17, 2, 1, 20.25)) == (
        '{"t":0.5,"event":"start","worker":3,"episode":17,"group":2,"version":1,"duration":20.25}'
    )
    assert ev.encode(ev.Abort(7.0, None, 4, "group")) == (
        '{"t":7.0,"event":"abort","worker":null,"episode":4,"cause":"group"}'
    )
    assert ev.encode(ev.Push(7.0, freezes=True)) == '{"t":7.0,"event":"push","freezes":true}'


def test_a_lane_beside_an_event_is_not_part_of_it() -> None:
    assert ev.decode({"t": 1.0, "lane": "sync", "event": "stall"}) == ev.Stall(1.0)


def test_an_unknown_name_or_field_is_refused() -> None:
    with pytest.raises(KeyError, match="nap"):
        ev.decode({"t": 1.0, "event": "nap"})
    with pytest.raises(TypeError, match="depth"):
        ev.decode({"t": 1.0, "event": "stall", "depth": 3})
    with pytest.raises(TypeError, match="worker"):
        ev.decode({"t": 1.0, "event": "gated"})


@settings(max_examples=60)
@given(st.lists(EVENTS, max_size=30), st.lists(st.integers(0, 30), max_size=6))
def test_the_hash_is_that_of_the_lines_however_they_come_in_blocks(
    events: list[ev.Event], cuts: list[int]
) -> None:
    lines = "".join(f"{plain_line(event)}\n" for event in events)
    blocks = TraceHash()
    edges = [0, *sorted(cuts), len(events)]
    for begin, end in pairwise(edges):
        blocks.add(events[begin:end])
    assert blocks.hexdigest() == hashlib.sha256(lines.encode()).hexdigest()


def test_the_hash_can_be_read_on_the_way() -> None:
    trace = TraceHash()
    assert trace.hexdigest() == hashlib.sha256().hexdigest()
    trace.add([ev.Stall(1.0)])
    first = trace.hexdigest()
    trace.add(iter([ev.Unstall(2.0)]))
    assert first == hashlib.sha256(b'{"t":1.0,"event":"stall"}\n').hexdigest()
    assert trace.hexdigest() != first
