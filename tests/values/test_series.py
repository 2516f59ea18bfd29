"""Reading traces, and what is said of those that cannot be read."""

import os
from pathlib import Path

import pytest

from emulator.scenario import Scenario
from emulator.values import series
from emulator.values.series import TraceError, read_trace


def values(path: Path, text: str, column: str | int | None = None) -> list[float]:
    path.write_text(text)
    return read_trace(str(path), column).values.tolist()


@pytest.mark.parametrize(
    ("name", "text", "column"),
    [
        ("t.txt", "1\n2.5\n3e1\n", None),
        ("t.txt", "\ufeff1\n2.5\n30".removeprefix("\ufeff"), None),
        ("t.dat", "# seconds\r\n1\r\n\r\n2.5 # half\r\n30\r\n", None),
        ("t.csv", "seconds\n1\n2.5\n30\n", None),
        ("t.csv", "1\n2.5\n30\n", None),
        ("t.csv", "id,seconds\n7,1\n8,2.5\n9,30\n", "seconds"),
        ("t.csv", 'id, seconds\n7,"1"\n8,2.5\n\n9,30\n', "seconds"),
        ("t.csv", "7,1\n8,2.5\n9,30\n", 2),
        ("t.jsonl", "1\n2.5\n30\n", None),
        ("t.jsonl", '{"s": 1, "id": 1}\n{"s": 2.5}\n\n{"s": 30}\n', "s"),
    ],
)
def test_every_format_gives_the_same_values(tmp_path: Path, name: str, text: str, column: str | int | None):
    assert values(tmp_path / name, text, column) == [1.0, 2.5, 30.0]


@pytest.mark.parametrize(
    ("name", "text", "column", "found"),
    [
        ("t.txt", "1\nabc\n", None, "no number in {path}, line 2"),
        ("t.txt", "# c\n\n-3\n", None, "a number out of range in {path}, line 3"),
        ("t.txt", "nan\n", None, "no number in {path}, line 1"),
        ("t.txt", "1\ninf\n", None, "a number out of range in {path}, line 2"),
        ("t.txt", "1_000\n", None, "no number in {path}, line 1"),
        ("t.txt", "1\x1b[31m\n", None, "no number in {path}, line 1"),
        ("t.txt", "", None, "{path}, which is empty or no file of a disk"),
        ("t.txt", "# nothing\n\n", None, "no values in {path}"),
        ("t.csv", "s\n", None, "no values in {path}"),
        ("t.csv", "a,b\n1\n", "b", "nothing in {path}, line 2"),
        ("t.csv", "a,b\n1,2\n", "c", "no column c in {path}"),
        ("t.csv", "a,b\n1,2\n", None, "2 columns in {path} and no choice"),
        ("t.csv", "1,2\n", 3, "no column 3 in {path}"),
        ("t.jsonl", '{"s": 1}\n{"s": true}\n', "s", "no number in {path}, line 2"),
        ("t.jsonl", '{"s": 1}\n{"t": 1}\n', "s", "no s in {path}, line 2"),
        ("t.jsonl", '{"s": \n', "s", "no number in {path}, line 1"),
        ("t.jsonl", '{"s": 1}\n', None, "an object in {path}, line 1, and no choice"),
        ("t.jsonl", "[[1]]\n", None, "no number in {path}, line 1"),
        ("t.txt", "1\n", "s", "a column for the plain text file {path}"),
    ],
)
def test_a_mistake_is_reported_with_file_and_line(
    tmp_path: Path, name: str, text: str, column: str | int | None, found: str
):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(TraceError) as error:
        read_trace(str(path), column)
    assert error.value.found == found.format(path=path)


SECRET = "hunter2-of-nobody"


@pytest.mark.parametrize("suffix", ["txt", "csv", "jsonl"])
@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"TOKEN={SECRET}\0HOME=/\0",
        f"root:x:0:0:{SECRET}:/root\n",
        f"name,{SECRET}\nother,pass\n",
        f'{{"token": "{SECRET}"}}\n',
        f'{{"{SECRET}": "x"}}\n',
        f'"{SECRET}\n',
    ],
)
@pytest.mark.parametrize("column", [None, "zzz", 2, 99])
def test_nothing_is_shown_of_a_file_that_is_no_table(
    tmp_path: Path, suffix: str, text: str, column: str | int | None
):
    path = tmp_path / f"t.{suffix}"
    path.write_text(text)
    with pytest.raises(TraceError) as error:
        read_trace(str(path), column)
    assert SECRET[:6] not in str(error.value)


def test_a_first_row_with_a_number_is_no_header_to_be_shown(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text(f"{SECRET},7\n1,2\n")
    for column in (None, "zzz"):
        with pytest.raises(TraceError) as error:
            read_trace(str(path), column)
        assert error.value.allowed == "the name of a column of numbers, or its number from 1"
    assert read_trace(str(path), 2).values.tolist() == [7, 2]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "id,\x1b[31mred\x07,word,seconds\n7,1,a,2\n"),
        ("t.jsonl", '{"id": 7, "\\u001b[31mred\\u0007": 1, "word": "a", "seconds": 2}\n'),
    ],
)
def test_of_a_table_the_columns_of_numbers_are_named_and_printable(tmp_path: Path, name: str, text: str):
    path = tmp_path / name
    path.write_text(text)
    for column in (None, "zzz"):
        with pytest.raises(TraceError) as error:
            read_trace(str(path), column)
        assert error.value.allowed == "one of id, \\x1b[31mred\\x07, seconds"


def test_a_table_of_many_columns_names_the_first(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"c{n}" for n in range(100)) + "\n" + ",".join(["1"] * 100))
    with pytest.raises(TraceError, match=r"one of c0, .*, c19, …$"):
        read_trace(str(path), "zzz")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")
def test_a_file_that_the_kernel_makes_up_has_no_values():
    with pytest.raises(TraceError, match=r"found /proc/self/environ, which is empty or no file of a disk;"):
        read_trace("/proc/self/environ", None)


def test_a_pipe_is_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(TraceError, match="a pipe, not a regular file"):
        read_trace(str(tmp_path / "t.csv"), None)


def test_a_mistake_far_down_is_reported_with_its_line(tmp_path: Path):
    path = tmp_path / "t.txt"
    path.write_text("12.345678\n" * 250_000 + "oops\n")
    with pytest.raises(TraceError, match=r"found no number in .*, line 250001;"):
        read_trace(str(path), None)


def test_what_is_no_readable_file_is_refused(tmp_path: Path):
    for path, found in [
        (tmp_path, f"the directory {tmp_path}"),
        (tmp_path / "none", f"no file {tmp_path}/none"),
        (Path("/dev/null"), "/dev/null, which cannot be read (a device, not a regular file)"),
    ]:
        with pytest.raises(TraceError) as error:
            read_trace(str(path), None)
        assert error.value.found == found


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(series, "MAX_TRACE_VALUES", 3)
    with pytest.raises(TraceError, match=r"more than 3 values in .*; allowed: at most 3 values"):
        values(tmp_path / "t.txt", "1\n" * 4)
    with pytest.raises(TraceError, match=r"a line of over 1048576 bytes in .*, line 1"):
        values(tmp_path / "t.txt", "1" * 3_000_000)
    with pytest.raises(TraceError, match=r"a line of over 1048576 bytes in .*, line 1"):
        values(tmp_path / "t.csv", "1," * 1_000_000)
    with pytest.raises(TraceError, match=r"a line of over 1048576 bytes in .*, line 262145"):
        values(tmp_path / "t.csv", '"\n' + '","\n' * 300_000)
    monkeypatch.setattr(series, "MAX_LINES", 3)
    for name in ("t.txt", "t.csv", "t.jsonl"):
        with pytest.raises(TraceError, match=r"more than 3 lines in .*; allowed: at most 3 lines"):
            values(tmp_path / name, "\n" * 4)
    monkeypatch.setattr(series, "MAX_TRACE_BYTES", 3)
    with pytest.raises(TraceError, match=r"4 bytes long; allowed: a file of at most 3 bytes"):
        values(tmp_path / "t.txt", "1234")


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(tmp_path: Path):
    path = tmp_path / "t.txt"
    assert values(path, "1\n") == [1.0]
    assert read_trace(str(path), None) is read_trace(str(path), None)
    assert values(path, "1\n2\n") == [1.0, 2.0]


@pytest.mark.parametrize(
    ("order", "size", "noted"),
    [("shuffle", 4, 1), ("resample", 4, 1), ("sequential", 4, 0), ("shuffle", 1, 0)],
)
def test_an_order_that_takes_groups_apart_is_noted(tmp_path: Path, order: str, size: int, noted: int) -> None:
    path = tmp_path / "durations.txt"
    path.write_text("1\n2\n3\n")
    rollout = {
        "workers": 4,
        "group_size": size,
        "episode_seconds": {"kind": "trace", "path": str(path), "order": order},
    }
    scenario = Scenario.model_validate(
        {
            "rollout": rollout,
            "trainer": {"batch_size": 4, "update_seconds": 1},
            "strategy": {"kind": "synchronous"},
        }
    )
    assert len(scenario.notes()) == noted
