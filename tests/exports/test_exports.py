"""What a recording becomes: each format read back by its own rules."""

import csv
import gzip
import io
import json
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, TextIO
from xml.etree import ElementTree

import numpy as np
import pyte
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import emulator
from emulator import events as ev
from emulator.cli import main
from emulator.dashboard.frame import draw
from emulator.dashboard.state import ClockReading, Looking
from emulator.errors import RecordingError
from emulator.exports import Settings, export, perfetto
from emulator.exports.cast import FRAMES_A_SECOND, Painter
from emulator.exports.frames import Film
from emulator.exports.plots import ceiling
from emulator.exports.series import ACCOUNTS, STRAGGLER, LaneSeries
from emulator.exports.settings import parse_settings
from emulator.exports.tracks import TRAINER, Tracks
from emulator.recording import RecordedLane, Recording
from emulator.runner import run_lanes
from emulator.summary.interventions import injection
from tests.dashboard.scenarios import long_tail
from tests.patience import PATIENCE
from tests.scenarios import KINDS, scenarios

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=1000",
]

EVENTS: list[dict[str, Any]] = [
    {"at": 120, "straggler": {"worker": 3, "factor": 4}},
    {"at": 200, "crash": {"workers": [1], "restart_seconds": 30}},
    {"at": 300, "stall_trainer": {"for": 40}},
    {"at": 350, "add_workers": {"count": 2}},
    {"at": 400, "remove_workers": {"workers": [0]}},
]
HARD: dict[str, Any] = {
    "events": EVENTS,
    "rollout": {
        "workers": 12,
        "episode_seconds": {"kind": "uniform", "low": 5, "high": 60},
        "queue_capacity": 10,
    },
    "trainer": {"batch_size": 8, "update_seconds": 15, "weight_sync_seconds": 4},
    "environment": {"sandboxes": 10, "reset_seconds": 2, "failure_probability": 0.1, "retries": 1},
    "strategy": {
        "kind": "asynchronous",
        "max_staleness": 2,
        "enforce": "cancel",
        "weights": "in_flight",
        "refresh_overhead": 1,
        "weight_sync": "pause",
    },
    "lanes": [],
}

ENGINES: dict[str, Any] = {
    "events": [{"at": 200, "crash": {"engines": [1], "restart_seconds": 60}}],
    "rollout": {
        "workers": 24,
        "turns": {
            "count": {"kind": "uniform", "low": 1, "high": 5},
            "output_tokens": {"kind": "uniform", "low": 50, "high": 500},
            "tool_seconds": {"kind": "uniform", "low": 0, "high": 9},
        },
    },
    "trainer": {"batch_size": 8, "update_seconds": 9, "weight_sync_seconds": 2},
    "strategy": {"kind": "asynchronous", "weight_sync": "pause"},
    "engine": {"count": 3, "step_ms": {1: 9, 8: 15}, "prefill_ms": 50, "slots": 4},
    "lanes": [],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recordings")
    race = long_tail(duration=600.0, events=EVENTS)
    emulator.race(race, speed="max", record=folder / "race.jsonl.gz")
    emulator.run(race, speed="max", record=folder / "run.jsonl")
    hard = long_tail(duration=600.0, **HARD)
    emulator.run(hard, speed="max", record=folder / "hard.jsonl.gz")
    engines = long_tail(duration=600.0, **ENGINES)
    emulator.run(engines, speed="max", record=folder / "engines.jsonl.gz")
    return folder


NAMES = ("race.jsonl.gz", "run.jsonl", "hard.jsonl.gz", "engines.jsonl.gz")


# -- trace --------------------------------------------------------------------------------------


def trace_of(folder: Path, name: str) -> tuple[emulator.Recording, list[dict[str, Any]]]:
    to = folder / f"{name}.json"
    recording = export(folder / name, to, force=True)
    told = json.loads(to.read_text(), parse_constant=pytest.fail)
    assert told.keys() == {"traceEvents", "displayTimeUnit"}
    assert told["displayTimeUnit"] == "ms"
    return recording, told["traceEvents"]


@pytest.mark.parametrize("name", NAMES)
def test_the_slices_of_each_thread_nest_and_times_are_whole_microseconds(folder: Path, name: str) -> None:
    recording, events = trace_of(folder, name)
    for event in events:
        assert {"ph", "name", "pid"} <= event.keys()
        assert event["ph"] in "XCMsfi"
        if event["ph"] != "M":
            assert 0 <= event["ts"] <= recording.t_end * 1e6
    threads = check_nesting(events)
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    assert threads <= named
    assert len({tid for _, tid in named}) == len(named)
    assert max(e["ts"] + e.get("dur", 0) for e in events if "ts" in e) == recording.t_end * 1e6


def check_nesting(events: list[dict[str, Any]]) -> set[tuple[int, int]]:
    """Check that slices lie beside or in each other for a viewer of whole numbers; returns their threads."""
    threads = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            assert type(event["ts"]) is type(event["dur"]) is int
            assert event["dur"] >= 0
            threads[event["pid"], event["tid"]].append(event)
    for slices in threads.values():
        open_ends: list[int] = []
        slices.sort(key=lambda event: event["ts"])  # stable, as a viewer does it
        for event in slices:
            start, length = event["ts"], event["dur"]
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or start + length <= open_ends[-1]
            if length:
                assert len(open_ends) == (event["cat"] == "account" and bool(open_ends))
                open_ends.append(start + length)
    return set(threads)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), scale=st.sampled_from([1.0, 1 / 3, 1e-5 / 3, 1e5 / 3]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_slices_nest_and_arrows_start_in_one_whatever_ran(
    kind: str, data: st.DataObject, scale: float
) -> None:
    scenario, events = data.draw(scenarios(kinds=(kind,))), list[ev.Event]()
    (run,) = run_lanes([scenario], speed="max", sinks=[[events.extend]])
    # Times that are no round numbers of anything.
    told = tuple(event._replace(t=event.t * scale) for event in events)
    t_end = run.result["emulated_seconds"] * scale
    lane = RecordedLane(None, scenario, told, t_end)
    file = io.StringIO()
    perfetto.write(Recording(scenario, scenario.seed, "", (lane,), cut=None), Settings(), file)
    drawn = json.loads(file.getvalue())["traceEvents"]
    check_nesting(drawn)
    slices = defaultdict(list)
    for event in drawn:
        if event["ph"] == "X" and event["cat"] == "task":
            slices[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for event in drawn:
        if event["ph"] == "s":
            assert any(a <= event["ts"] < max(b, a + 1) for a, b in slices[event["tid"]])


@pytest.mark.parametrize("name", NAMES)
def test_the_accounts_recovered_from_the_trace_are_those_of_the_result(folder: Path, name: str) -> None:
    recording, events = trace_of(folder, name)
    for pid, lane in enumerate(recording.lanes, 1):
        assert lane.result is not None
        mine = [event for event in events if event["pid"] == pid]
        trainer = {e["tid"] for e in mine if e["name"] == "thread_name" and e["args"]["name"] == "trainer"}
        seconds: Counter[tuple[bool, str]] = Counter()
        slices: Counter[tuple[bool, str]] = Counter()
        outcomes: dict[int, str] = {}
        for event in mine:
            if event["ph"] != "X":
                continue
            if event["cat"] == "account":
                seconds[event["tid"] in trainer, event["name"]] += event["dur"] / 1e6
                slices[event["tid"] in trainer, event["name"]] += 1
            elif "args" in event:
                outcomes[event["args"]["episode"]] = event["args"]["outcome"]
        for account, expected in lane.result["workers"]["seconds"].items():
            if account != "wasted":
                within = 1e-6 * (1 + slices[False, account])
                assert seconds[False, account] == pytest.approx(expected, abs=within), account
        for account, expected in lane.result["trainer"]["seconds"].items():
            within = 1e-6 * (1 + slices[True, account])
            assert seconds[True, account] == pytest.approx(expected, abs=within), account
        counts, told = Counter(outcomes.values()), lane.result["episodes"]
        assert len(outcomes) == told["started"]
        for outcome in ("trained", "dropped", "aborted", "failed", "queued", "paused"):
            assert counts[outcome] == told[outcome]
        assert counts["running"] == told["in_flight"]
        depths = [e["args"]["episodes"] for e in mine if e["name"] == "queue depth"]
        assert max(depths) == lane.result["queue"]["max"]
        updates = [e for e in mine if e["ph"] == "X" and e["name"].startswith("update ")]
        assert len(updates) in (lane.result["updates"], lane.result["updates"] + 1)


@pytest.mark.parametrize("name", NAMES)
def test_an_arrow_leads_from_each_trained_episode_to_its_update(folder: Path, name: str) -> None:
    recording, events = trace_of(folder, name)
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    trained = sum(lane.result["episodes"]["trained"] for lane in recording.lanes if lane.result)
    assert len(starts) == trained == sum(e["ph"] == "f" for e in events)
    updates = {(e["pid"], e["tid"], e["ts"]) for e in events if e["name"].startswith("update ")}
    slices = {(e["tid"], e["ts"] + e["dur"]) for e in events if e.get("cat") == "task"}
    for number, start in starts.items():
        end = ends[number]
        assert (start["cat"], start["name"]) == (end["cat"], end["name"])
        assert end["bp"] == "e"
        assert start["ts"] <= end["ts"]
        assert (start["tid"], start["ts"] + 1) in slices
        if end["ts"] < recording.t_end * 1e6:
            assert (end["pid"], end["tid"], end["ts"]) in updates


def test_injections_are_instants_and_shares_are_counters(folder: Path) -> None:
    _, events = trace_of(folder, "hard.jsonl.gz")
    instants = [(e["ts"] / 1e6, e["name"], e["s"]) for e in events if e["ph"] == "i"]
    assert [(t, name.split(":")[0]) for t, name, _ in instants] == [
        (120, "straggler"),
        (200, "crash"),
        (300, "stall trainer"),
        (350, "add workers"),
        (400, "remove workers"),
    ]
    assert {scope for _, _, scope in instants} == {"p"}
    counters = {e["name"] for e in events if e["ph"] == "C"}
    assert counters == {"queue depth", "staleness", "workers busy %", "trainer busy %"}
    busy = [e["args"]["percent"] for e in events if e["name"] == "workers busy %"]
    assert len(busy) == 600
    assert 0 <= min(busy) < max(busy) <= 100


# -- cast ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "size"), [("race.jsonl.gz", (80, 24)), ("hard.jsonl.gz", (100, 30))])
def test_a_terminal_shows_the_frames_that_the_cast_was_drawn_from(
    folder: Path, name: str, size: tuple[int, int]
) -> None:
    seconds = 2.0
    to = folder / f"{name}.cast"
    recording = export(folder / name, to, Settings(size=size, seconds=seconds), force=True)
    head, *lines = [json.loads(line) for line in to.read_text(encoding="utf-8").splitlines()]
    assert (head["version"], head["width"], head["height"]) == (2, *size)
    times = [t for t, _, _ in lines]
    assert times == sorted(times)
    assert times[-1] == seconds
    marks = [(t, text.split(":")[0]) for t, kind, text in lines if kind == "m"]
    assert [t for t, _ in marks] == pytest.approx([e["at"] / 600 * seconds for e in EVENTS], abs=1e-3)
    assert marks[0][1] == "straggler"
    screen = pyte.Screen(*size)
    stream = pyte.Stream(screen)
    film, frames = Film(recording), round(seconds * FRAMES_A_SECOND)
    told = [(t, text) for t, kind, text in lines[:-1] if kind == "o"]
    for i in range(frames):
        t = recording.t_end * i / (frames - 1)
        while told and told[0][0] <= round(seconds * i / (frames - 1), 3):
            stream.feed(told.pop(0)[1])
        canvas = draw(film.at(t), ClockReading(t, recording.t_end / seconds), size, Looking(keys=False))
        shown = "\n".join(line.rstrip() for line in screen.display)
        assert shown + "\n" == canvas.plain()
        if i % 8 == 7:
            assert looks(screen) == looks(fresh(Painter().paint(canvas), size))
    assert not told


def fresh(text: str, size: tuple[int, int]) -> pyte.Screen:
    screen = pyte.Screen(*size)
    pyte.Stream(screen).feed(text)
    return screen


def looks(screen: pyte.Screen) -> dict[tuple[int, int], tuple[str, str, str, bool]]:
    """Each cell that has something to see."""
    return {
        (x, y): (cell.data, cell.fg, cell.bg, cell.bold)
        for y, row in screen.buffer.items()
        for x, cell in row.items()
        if cell.data != " " or cell.bg != "default"
    }


def test_a_straggler_of_a_cast_has_an_amber_ground(folder: Path) -> None:
    recording = emulator.read_recording(folder / "run.jsonl")
    canvas = draw(Film(recording).at(300), ClockReading(300, 60), (100, 30), Looking(keys=False))
    seen = looks(fresh(Painter().paint(canvas), (100, 30)))
    # As near to #f0a500 as 256 colours come.
    assert {text for text, _, ground, _ in seen.values() if ground == "ffaf00"} >= set("!x")


def test_a_cast_of_64_workers_stays_small(folder: Path) -> None:
    emulator.run(long_tail(64, 600.0), speed="max", record=folder / "64.jsonl.gz")
    export(folder / "64.jsonl.gz", folder / "64.cast", Settings(seconds=5))
    frames = 5 * FRAMES_A_SECOND
    assert (folder / "64.cast").stat().st_size < 2000 * frames


# -- picture, table -----------------------------------------------------------------------------


def test_a_picture_shows_the_moment_that_is_asked_for(folder: Path, capsys: Any) -> None:
    for arguments, moment in ((["--at", "5m"], "00:05:00"), ([], "00:10:00")):
        to = folder / f"still{len(arguments)}.svg"
        with pytest.raises(SystemExit) as ended:
            main(["export", str(folder / "race.jsonl.gz"), "--to", str(to), "--size", "80x24", *arguments])
        assert ended.value.code == 0
        root = ElementTree.fromstring(to.read_text())
        words = " ".join(shape.text or "" for shape in root)
        assert f"{moment} / 00:10:00" in words
        assert "http" not in to.read_text().replace("http://www.w3.org/2000/svg", "")
    assert capsys.readouterr() == ("", "")


def test_no_name_in_a_table_is_a_formula(tmp_path: Path) -> None:
    scenario = {
        "name": "=1+1",
        "duration": 60,
        "rollout": {"workers": 2, "episode_seconds": 5},
        "trainer": {"batch_size": 2, "update_seconds": 1},
        "strategy": {"kind": "asynchronous"},
        "lanes": [{"name": '=HYPERLINK("x","y")'}, {"name": "@SUM(1+1)"}, {"name": "a=1"}],
    }
    emulator.race(emulator.Scenario.model_validate(scenario), speed="max", record=tmp_path / "r.jsonl")
    export(tmp_path / "r.jsonl", tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["lane"] for row in rows} == {'\'=HYPERLINK("x","y")', "'@SUM(1+1)", "a=1"}


@pytest.mark.parametrize("name", NAMES)
def test_the_table_has_every_episode_with_its_stamps(folder: Path, name: str) -> None:
    to = folder / f"{name}.csv"
    recording = export(folder / name, to, force=True)
    with to.open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = [(lane.name, row) for lane in recording.lanes for row in lane.episodes]
    assert len(rows) == len(expected) > 100
    for row, (lane_name, episode) in zip(rows, expected, strict=True):
        assert row.get("lane") == lane_name
        assert row["outcome"] == episode["outcome"]
        assert float(row["started"]) == episode["started"]
        for stamp in ("finished", "trained"):
            assert row[stamp] == ("" if np.isnan(episode[stamp]) else str(float(episode[stamp])))
        for version in ("version_oldest", "version_trained", "staleness"):
            assert int(row[version] or -1) == episode[version]


def test_of_a_lane_with_engines_a_table_has_what_they_made_of_each_episode(folder: Path) -> None:
    recording = export(folder / "engines.jsonl.gz", folder / "engines.csv", force=True)
    with (folder / "engines.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    result = recording.lanes[0].result
    assert result is not None
    seconds = result["workers"]["seconds"]
    sums = {
        "tokens": result["engine"]["tokens"],
        "generating_seconds": seconds["generating"],
        "acting_seconds": seconds["acting"],
        "line_seconds": result["engine"]["wait_seconds"],
    }
    for name, total in sums.items():
        assert sum(float(row[name]) for row in rows) == pytest.approx(total), name
    trained = [row for row in rows if row["outcome"] == "trained"]
    assert all(float(row["tokens"]) == pytest.approx(float(row["duration"])) for row in trained)
    assert {row["engine"] for row in trained} == {"0", "1", "2"}


def test_lanes_without_engines_leave_the_columns_of_engines_empty(tmp_path: Path) -> None:
    mixed = long_tail(
        duration=60.0,
        **{
            **ENGINES,
            "events": [],
            "lanes": [{"name": "own", "engine": None, "rollout": {"episode_seconds": 9}}, {"name": "shared"}],
        },
    )
    emulator.race(mixed, speed="max", record=tmp_path / "mixed.jsonl")
    export(tmp_path / "mixed.jsonl", tmp_path / "mixed.csv")
    with (tmp_path / "mixed.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["tokens"] == "" for row in rows if row["lane"] == "own"} == {True}
    assert {row["tokens"] == "" for row in rows if row["lane"] == "shared"} == {False}


def test_loads_of_engines_are_counters_and_their_mean_that_of_the_result(folder: Path) -> None:
    recording, told = trace_of(folder, "engines.jsonl.gz")
    counters = [event for event in told if event["ph"] == "C" and event["name"] == "engine 1"]
    running = [event["args"]["running"] for event in counters]
    waiting = [event["args"]["waiting"] for event in counters]
    assert (max(running), min(running)) == (4, 0)
    assert max(waiting) > 0
    down = [event["args"]["running"] for event in counters if 200e6 < event["ts"] < 260e6]
    assert not any(down)
    result = recording.lanes[0].result
    assert result is not None
    means = LaneSeries(Tracks(recording.lanes[0]), 60).running()
    assert sum(mean or 0.0 for mean in means) / 60 == pytest.approx(result["engine"]["running_mean"])


# -- page ---------------------------------------------------------------------------------------

VOID = {"meta", "br", "hr", "img", "link"}


class Page(HTMLParser):
    """Checks that elements nest and gathers what is asked of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: Counter[str] = Counter()
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.count[tag] += 1
        self.links += [value or "" for name, value in attributes if name in ("src", "href", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.count[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())


@pytest.mark.parametrize("name", NAMES)
def test_a_page_holds_figures_plots_and_scenario_and_loads_nothing(folder: Path, name: str) -> None:
    to = folder / f"{name}.html"
    recording = export(folder / name, to, force=True)
    text = to.read_text()
    page = Page(text)
    lanes = len(recording.lanes)
    assert page.links == []
    assert not re.search(r"https?://|url\(|@import|<script", text)
    assert page.count["figure"] == (7 if "engines" in name else 6) * lanes
    assert page.count["section"] == lanes + 1
    assert "nan" not in "".join(re.findall(r' d="([^"]*)"', text))
    for lane in recording.lanes:
        assert lane.result is not None
        assert f"{lane.result['staleness']['mean']:.2f}" in page.words
        assert f"{lane.result['episodes']['trained']:,}" in page.words
    assert '<meta name="viewport"' in text
    assert "@media print" in text
    assert "prefers-color-scheme: dark" in text
    assert any("episode_seconds:" in words for words in page.words)
    if recording.is_race:
        assert any(words.startswith("async: ") and "price: staleness" in words for words in page.words)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_browser_opens_the_page_without_an_error_and_a_phone_need_not_scroll_sideways(
    folder: Path, tmp_path: Path
) -> None:
    export(folder / "race.jsonl.gz", folder / "page.html")
    probe = (
        "<iframe id=f width=390 height=800 src=page.html></iframe><p id=out></p><script>f.onload=()=>{"
        "const d=f.contentDocument;out.textContent=[d.documentElement.scrollWidth<=390,d.title,"
        "d.querySelectorAll('figure svg').length,"
        "d.querySelector('figure svg path.line').getTotalLength()>100].join(' ')}</script>"
    )
    (folder / "probe.html").write_text(probe)
    assert CHROMIUM is not None
    flags = [*FLAGS, "--allow-file-access-from-files", f"--user-data-dir={tmp_path}"]
    told = subprocess.run(
        [CHROMIUM, *flags, "--dump-dom", (folder / "probe.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    found = re.search(r'<p id="out">([^<]*)</p>', told.stdout)
    assert found is not None
    fits, *title, drawings, drawn = found[1].split()
    assert (fits, title, drawn) == ("true", ["long", "tail"], "true")
    assert int(drawings) >= 12


# -- what they are made of ----------------------------------------------------------------------


def test_columns_add_up_to_the_accounts_of_the_result(folder: Path) -> None:
    lane = emulator.read_recording(folder / "hard.jsonl.gz").lanes[0]
    assert lane.result is not None
    tracks = Tracks(lane)
    seconds = lane.result["workers"]["seconds"]
    for columns, rows in ((7, 3), (220, 64)):
        grids = LaneSeries(tracks, columns).timeline(rows, straggler=30.0)
        sums = dict(zip(ACCOUNTS, grids.sum(axis=(1, 2)), strict=True))
        assert sums[STRAGGLER] > 0
        sums["generating"] += sums.pop(STRAGGLER)
        for account, total in sums.items():
            assert total == pytest.approx(seconds.get(account, 0.0), abs=1e-6), account
        depths = [depth for depth in LaneSeries(tracks, columns).depth() if depth is not None]
        assert np.mean(depths) == pytest.approx(lane.result["queue"]["mean"])
    assert tracks.rows == 14
    assert sum(s.end - s.start for s in tracks.stretches if s.who == TRAINER) == pytest.approx(600)


def test_staleness_of_batches_is_that_of_the_result(folder: Path) -> None:
    for lane in emulator.read_recording(folder / "race.jsonl.gz").lanes:
        assert lane.result is not None
        counts = Counter(value for batch in Tracks(lane).batches for value in batch.staleness)
        told = lane.result["staleness"]["histogram"]
        assert [counts[value] for value in range(len(told))] == told


def test_axes_end_at_round_numbers_and_injections_read_as_a_line() -> None:
    assert [ceiling(value) for value in (0.3, 1, 1.2, 4, 63, 900)] == pytest.approx([0.4, 1, 2, 4, 80, 1000])
    crash = {"crash": {"workers": [0, 1, 2, 3, 4], "restart_seconds": 60.0}}
    assert injection(crash) == "crash: workers 0, 1, 2 and 2 more, restart 1m"
    assert injection({"straggler": {"episode": 7, "factor": 8.0}}) == "straggler: episode 7, x8"


# -- the command --------------------------------------------------------------------------------


def test_a_cut_recording_is_exported_until_there_and_that_is_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (folder / "run.jsonl").read_text().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(lines[:200]) + lines[200][:20])
    for suffix in (".svg", ".html", ".cast", ".json", ".csv"):
        to = tmp_path / f"cut{suffix}"
        with pytest.raises(SystemExit) as ended:
            main(["export", str(cut), "--to", str(to), "--seconds", "1"])
        assert ended.value.code == 0
        told = capsys.readouterr()
        assert told.out == ""
        assert re.fullmatch(rf"{cut} was cut off after line 200, at [\d.]+ s\n", told.err)
        assert to.stat().st_size > 1000


@pytest.fixture
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the command is called in: a recording is in it, and a directory named as a picture."""
    shutil.copy(folder / "run.jsonl", tmp_path)
    (tmp_path / "folder.svg").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run.jsonl", "--to", "x.txt"], "found the suffix .txt; allowed: .svg, .html, .cast, .json, .csv"),
        (["run.jsonl", "--to", "x"], "found no suffix; allowed: .svg"),
        (["none.jsonl", "--to", "x.svg"], "found no such file"),
        (["run.jsonl", "--to", "folder.svg"], "found a directory"),
        (["run.jsonl", "--to", "none/x.svg"], "found no directory none"),
        (["run.jsonl", "--to", "/proc/x.svg"], "found a file that cannot be written"),
        (["run.jsonl", "--to", "x.svg", "--at", "later"], "--at: found later; allowed: a time"),
        (["run.jsonl", "--to", "x.svg", "--size", "9"], "--size: found 9; allowed: columns x rows"),
        (["run.jsonl", "--to", "x.svg", "--at", "601"], "found 601 s; allowed: at most 600 s, where the rec"),
        (["run.jsonl", "--to", "x.svg", "--size", "999x30"], "--size: found 999x30"),
        (["run.jsonl", "--to", "x.svg", "--size", "9x4"], "--size: found 9x4; allowed: columns x rows, such"),
        (["run.jsonl", "--to", "x.csv", "--seconds", "0"], "--seconds: found 0; allowed: a number from 1 to"),
        (["run.jsonl", "--to", "x.cast", "--seconds", "nan"], "--seconds: found nan; allowed: a number"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(
    here: Path, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["export", *arguments])
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert sentence in told.err
    assert told.err.count("\n") == 1
    assert not (here / "x.svg").exists()


def test_settings_are_read_from_the_options() -> None:
    assert parse_settings("37m", "80x24", "12.5") == Settings(2220.0, (80, 24), 12.5)
    assert parse_settings("90", "100x30", "30") == Settings(90.0)
    assert parse_settings(None, "100x30", "30") == Settings()


def test_the_part_until_a_moment_is_that_of_a_run_that_ended_there(folder: Path) -> None:
    recording = emulator.read_recording(folder / "run.jsonl")
    part = Settings(at=250.0).until(recording)
    assert part.t_end == 250.0
    assert max(event.t for event in part.lanes[0].events) <= 250.0
    assert Settings(at=600.0).until(recording) is recording
    with pytest.raises(emulator.RecordingError, match=r"found 600\.5 s; allowed: at most 600 s"):
        Settings(at=600.5).until(recording)


def test_settings_out_of_range_are_refused_from_python_too() -> None:
    for wrong in (
        {"at": -1.0},
        {"at": float("nan")},
        {"size": (0, 0)},
        {"size": (501, 30)},
        {"seconds": 0.5},
    ):
        with pytest.raises(emulator.RecordingError, match=f"--{next(iter(wrong))}: found .*; allowed: "):
            Settings(**wrong)


def test_a_compressed_recording_with_a_bad_tail_is_exported_until_there(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "race.jsonl.gz").read_bytes()
    (tmp_path / "bad.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    told = export(tmp_path / "bad.jsonl.gz", tmp_path / "bad.csv")
    assert told.cut is not None
    assert gzip.decompress(whole).count(b"\n") > len((tmp_path / "bad.csv").read_text().splitlines()) > 10


def test_a_recording_of_nothing_yet_makes_a_page_too(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    scenario = emulator.load_scenario("stragglers", overrides=["duration=2m"])
    emulator.run(scenario, speed="max", record=whole)
    head = tmp_path / "head.jsonl"
    head.write_text(whole.read_text().split("\n", 1)[0] + "\n")
    recording = emulator.export(head, tmp_path / "page.html")
    assert recording.cut == f"{head} was cut off after line 1, at 0 s"
    assert "<title>stragglers" in (tmp_path / "page.html").read_text()


def test_an_export_replaces_a_file_only_by_force_and_when_it_is_whole(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    to = tmp_path / "table.csv"
    to.write_text("mine")
    command = ["export", str(folder / "run.jsonl"), "--to", str(to)]

    def ended(*options: str) -> object:
        with pytest.raises(SystemExit) as ended:
            main([*command, *options])
        return ended.value.code

    assert ended() == 2
    allowed = "a new file, or --force (force=True in Python) to replace it"
    assert capsys.readouterr().err == f"{to}: found a file that exists; allowed: {allowed}\n"
    with monkeypatch.context() as patched:

        def fail(recording: object, settings: object, file: TextIO) -> None:
            file.write("half")
            raise OSError(28, "No space left on device")

        patched.setattr("emulator.exports.table.write", fail)
        assert ended("--force") == 1  # the disk, not what was asked for
        assert "No space left on device" in capsys.readouterr().err
    assert to.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
    assert ended("--force") == 0
    assert to.read_text().startswith("lane,") or to.read_text().startswith("episode,")


def test_an_export_through_a_link_does_not_replace_what_has_another_suffix(
    folder: Path, tmp_path: Path
) -> None:
    recording, link = tmp_path / "run.jsonl", tmp_path / "table.csv"
    recording.write_bytes((folder / "run.jsonl").read_bytes())
    link.symlink_to(recording)
    with pytest.raises(
        RecordingError, match=r"table\.csv: found a link to run\.jsonl; allowed: a path where"
    ):
        export(recording, link, force=True)
    assert recording.read_bytes() == (folder / "run.jsonl").read_bytes()
    link.unlink()
    (tmp_path / "real.csv").write_text("old")
    link.symlink_to(tmp_path / "real.csv")
    export(recording, link, force=True)
    assert link.is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("episode,")
