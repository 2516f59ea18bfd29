"""No recording takes more memory than what it can have to say."""

import gzip
import json
from pathlib import Path

import pytest

import emulator
from emulator.recording import lines as bounds
from emulator.values.scalars import MAX_WORKERS
from tests.recording.files import header, recorded, refusal, written


def complaint(path: Path, data: bytes) -> str:
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    with pytest.raises(emulator.RecordingError) as error:
        emulator.read_recording(path)
    return str(error.value).removeprefix(f"{path}:")


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_line_is_no_longer_than_what_came_before_allows(tmp_path: Path, name: str) -> None:
    told = header(trainer={"batch_size": 10_000_000, "update_seconds": 1})
    data = json.dumps(told).encode() + b'\n{"t":0.0,"event":"drop","episodes":[' + b"1," * 100_000
    assert complaint(tmp_path / name, data) == (
        "2: found a longer line; "
        "allowed: 65,584 bytes, which is enough for all workers, episodes and versions so far"
    )


def test_a_line_as_long_as_the_workers_ask_for_is_read(tmp_path: Path) -> None:
    workers = 20_000
    changes = {
        "duration": 12,
        "rollout": {"workers": workers, "episode_seconds": {"kind": "uniform", "low": 1, "high": 20}},
        "strategy": {"kind": "asynchronous", "weights": "in_flight"},
        "trainer": {"batch_size": 8000, "update_seconds": 1},
    }
    path = tmp_path / "a.jsonl"
    told = recorded(path, **changes)
    assert max(len(json.dumps(line)) for line in told) > bounds.USUAL
    assert emulator.read_recording(written(path, told)).cut is None


def test_a_compressed_file_unpacks_to_no_more_than_recordings_of_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "UNPACKED", 100_000)
    stalls = b'{"t":0.0,"event":"stall"}\n{"t":0.0,"event":"unstall"}\n' * 4000
    data = json.dumps(header()).encode() + b"\n" + stalls
    assert complaint(tmp_path / "a.jsonl.gz", data).endswith(
        ": found a compressed file that unpacks to far more than a recording of its size; "
        "allowed: 100,000 bytes; if it is to be trusted, unpack it first with gunzip"
    )
    plain = tmp_path / "a.jsonl"
    plain.write_bytes(data)
    assert len(emulator.read_recording(plain).lanes[0].events) == 8000


@pytest.mark.parametrize(
    "line",
    [b"[" * 10_000, b'{"t":' + b"9" * 5000 + b"}", b'{"t":0.0,"event":"\\ud800"}', b"\xff", b'{"t":NaN}'],
)
def test_what_no_reader_of_json_should_take_is_no_json(tmp_path: Path, line: bytes) -> None:
    data = json.dumps(header()).encode() + b"\n" + line + b"\n"
    sentence = "2: found a line that is not JSON; allowed: one event as a JSON object"
    assert complaint(tmp_path / "a.jsonl", data + b"{}\n") == sentence


def test_the_lanes_together_have_no_more_workers_than_one_may_have(tmp_path: Path) -> None:
    lanes = [{"name": name} for name in ("a", "b")]
    told = header(rollout={"workers": MAX_WORKERS, "episode_seconds": 1}, lanes=lanes)
    assert refusal(tmp_path / "a.jsonl", [told]) == (
        "1: found 2,000,000 workers in its lanes; allowed: up to 1,000,000 in all"
    )
