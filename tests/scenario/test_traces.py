"""Reading traces, and what is said of those that cannot be read."""

from pathlib import Path

import pytest

from emulator.scenario import traces
from emulator.scenario.traces import TraceError, read_trace


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
        ("t.txt", "1\nabc\n", None, "abc in {path}, line 2"),
        ("t.txt", "# c\n\n-3\n", None, "-3 in {path}, line 3"),
        ("t.txt", "nan\n", None, "nan in {path}, line 1"),
        ("t.txt", "1\ninf\n", None, "inf in {path}, line 2"),
        ("t.txt", "1_000\n", None, "1_000 in {path}, line 1"),
        ("t.txt", "1\x1b[31m\n", None, "1�[31m in {path}, line 1"),
        ("t.txt", "", None, "no values in {path}"),
        ("t.txt", "# nothing\n\n", None, "no values in {path}"),
        ("t.csv", "s\n", None, "no values in {path}"),
        ("t.csv", "a,b\n1\n", "b", "nothing in {path}, line 2"),
        ("t.csv", "a,b\n1,2\n", "c", "no column c in {path}"),
        ("t.csv", "a,b\n1,2\n", None, "2 columns in {path} and no choice"),
        ("t.csv", "1,2\n", 3, "no column 3 in {path}"),
        ("t.jsonl", '{"s": 1}\n{"s": true}\n', "s", "true in {path}, line 2"),
        ("t.jsonl", '{"s": 1}\n{"t": 1}\n', "s", "no s in {path}, line 2"),
        ("t.jsonl", '{"s": \n', "s", '{{"s": in {path}, line 1'),
        ("t.jsonl", '{"s": 1}\n', None, "an object in {path}, line 1, and no choice"),
        ("t.txt", "1\n", "s", "a column for the plain text file {path}"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(
    tmp_path: Path, name: str, text: str, column: str | int | None, found: str
):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(TraceError) as error:
        read_trace(str(path), column)
    assert error.value.found == found.format(path=path)


def test_a_mistake_far_down_is_told_with_its_line(tmp_path: Path):
    path = tmp_path / "t.txt"
    path.write_text("12.345678\n" * 250_000 + "oops\n")
    with pytest.raises(TraceError, match=r"found oops in .*, line 250001;"):
        read_trace(str(path), None)


def test_what_is_no_readable_file_is_refused(tmp_path: Path):
    for path, found in [
        (tmp_path, f"the directory {tmp_path}"),
        (tmp_path / "none", f"no file {tmp_path}/none"),
        (Path("/dev/null"), "/dev/null, which is not a regular file"),
    ]:
        with pytest.raises(TraceError) as error:
            read_trace(str(path), None)
        assert error.value.found == found


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(traces, "MAX_TRACE_VALUES", 3)
    with pytest.raises(TraceError, match=r"more than 3 values in .*; allowed: at most 3 values"):
        values(tmp_path / "t.txt", "1\n" * 4)
    with pytest.raises(TraceError, match=r"a line of over 1048576 bytes in .*, line 1"):
        values(tmp_path / "t.txt", "1" * 3_000_000)
    monkeypatch.setattr(traces, "MAX_TRACE_BYTES", 3)
    with pytest.raises(TraceError, match=r"4 bytes long; allowed: a file of at most 3 bytes"):
        values(tmp_path / "t.txt", "1234")


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(tmp_path: Path):
    path = tmp_path / "t.txt"
    assert values(path, "1\n") == [1.0]
    assert read_trace(str(path), None) is read_trace(str(path), None)
    assert values(path, "1\n2\n") == [1.0, 2.0]
