"""Files: what may be read, how one is replaced, and who may write to it."""

import os
import stat
import threading
from pathlib import Path

import pytest

from emulator.cli import main
from emulator.files import BusyError, Claim, hold_folder, is_beside, open_regular, replacing, replacing_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_regular_file_is_read_as_it_was_when_it_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo\n")
    with open_regular(path) as file:
        with path.open("ab") as more:
            more.write(b"three\n")
        assert file.read() == b"one\ntwo\n"


def test_what_is_no_regular_file_is_refused_and_nobody_waits(tmp_path: Path) -> None:
    pipe, folder = tmp_path / "pipe", tmp_path / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    for path, reason in [(pipe, "a pipe, not a regular file"), (Path("/dev/null"), "a device, not")]:
        with pytest.raises(OSError, match=reason):
            open_regular(path)
        with pytest.raises(OSError, match=reason):
            Claim(path, force=True)
        with pytest.raises(OSError, match=reason), replacing(path):
            pass
    with pytest.raises(IsADirectoryError):
        open_regular(folder)
    with pytest.raises(IsADirectoryError):
        Claim(folder, force=True)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")
def test_a_file_that_the_kernel_makes_up_is_read_as_empty() -> None:
    with open_regular("/proc/self/environ") as file:
        assert file.read() == b""


def test_a_file_is_replaced_when_it_is_whole(tmp_path: Path) -> None:
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with replacing_text(link) as file:
        file.write("new\r\nlines\n")
        assert path.read_text() == "old"
    assert path.read_bytes() == b"new\r\nlines\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert names(tmp_path) == ["a", "link"]


def test_a_file_that_could_not_be_written_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_a_file_that_was_left_over_is_known_by_its_name(tmp_path: Path) -> None:
    with replacing(tmp_path / "a"):
        (beside,) = tmp_path.iterdir()
        assert is_beside(beside)
    assert not is_beside(tmp_path / "a")
    assert not is_beside(tmp_path / ".new")


def test_a_claim_to_a_new_file_keeps_others_away_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    claim = Claim(path, force=False)
    for force in (False, True):
        with pytest.raises(BusyError):
            Claim(path, force=force)
    claim.file.write(b"text")
    claim.keep()
    claim.file.close()
    with pytest.raises(FileExistsError):
        Claim(path, force=False)
    assert path.read_bytes() == b"text"


def test_a_claim_to_an_older_file_replaces_it_when_it_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    claim = Claim(path, force=True)
    claim.file.write(b"new")
    claim.file.flush()
    assert path.read_text() == "old"
    with pytest.raises(BusyError):
        Claim(path, force=True)
    claim.keep()
    assert path.read_text() == "new"
    with pytest.raises(BusyError):
        Claim(path, force=True)
    claim.file.close()
    Claim(path, force=True).drop()
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize(("before", "after"), [(None, []), ("", ["a"]), ("old", ["a"])])
def test_a_claim_that_is_dropped_leaves_everything_as_it_was(
    tmp_path: Path, before: str | None, after: list[str]
) -> None:
    path = tmp_path / "a"
    if before is not None:
        path.write_text(before)
    claim = Claim(path, force=True)
    claim.drop()
    assert names(tmp_path) == after
    assert before is None or path.read_text() == before


def test_of_many_claims_at_once_one_is_good(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    claims: list[Claim] = []
    refused: list[BusyError] = []

    def ask() -> None:
        try:
            claim = Claim(path, force=True)
            claim.keep()
            claims.append(claim)
        except BusyError as error:
            refused.append(error)

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(claims), len(refused)) == (1, 19)
    claims[0].file.close()


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    with hold_folder(tmp_path), pytest.raises(BusyError), hold_folder(tmp_path):
        pass
    with hold_folder(tmp_path):
        assert names(tmp_path) == []


def test_no_command_waits_for_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = "found a file that cannot be read (a pipe, not a regular file)"
    for name, commands in {
        "pipe.yaml": ("validate", "run", "race", "sweep --vary seed=1", "advise"),
        "pipe.jsonl": ("run", "replay", f"export --to {tmp_path / 'a.csv'}"),
    }.items():
        os.mkfifo(tmp_path / name)
        for command in commands:
            word, *options = command.split()
            with pytest.raises(SystemExit) as ended:
                main([word, str(tmp_path / name), *options])
            assert ended.value.code == 2
            assert capsys.readouterr().err.startswith(f"{tmp_path / name}: {told}; allowed: a ")
