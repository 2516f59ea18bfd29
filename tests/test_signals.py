"""Signals: raised where there is something to be put in order, heard by a loop, held back, put back."""

import asyncio
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from emulator import signals
from emulator.signals import ENDING, Signalled, be_deaf, exit_code, hearing, held_back, ignored, raising


@pytest.fixture(autouse=True)
def _all_is_put_back() -> object:
    before = {number: signal.getsignal(number) for number in ENDING}
    yield
    assert {number: signal.getsignal(number) for number in ENDING} == before
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return None


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)],
)
def test_a_signal_is_raised_with_its_number(number: signal.Signals, code: int) -> None:
    with pytest.raises(Signalled) as raised, raising():
        signal.raise_signal(number)
    assert raised.value.number == number
    assert exit_code(raised.value) == code


def test_what_is_no_signal_counts_as_ctrl_c() -> None:
    assert exit_code(KeyboardInterrupt()) == exit_code(None) == 130


def test_more_signals_do_not_break_into_the_end() -> None:
    order = []
    with pytest.raises(Signalled) as raised, raising():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGINT)
            order.append("in order")
    assert order == ["in order"]
    assert raised.value.number == signal.SIGTERM


def test_a_signal_that_was_swallowed_is_raised_later(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Signalled), raising(), suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    monkeypatch.setattr(signals, "_PATIENCE", -1.0)
    after = []
    with pytest.raises(Signalled), raising():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)
            after.append("never")
    assert not after


def test_the_deaf_hear_nothing_until_all_is_over() -> None:
    with raising():
        be_deaf()
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGHUP)


def test_what_we_were_told_to_ignore_stays_ignored() -> None:
    with ignored(signal.SIGHUP), raising():
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        signal.raise_signal(signal.SIGHUP)


def test_a_signal_held_back_comes_afterwards_and_never_to_a_thread_begun_meanwhile() -> None:
    blocked: list[set[int]] = []
    done = []
    with pytest.raises(Signalled), raising():
        with held_back():
            thread = threading.Thread(
                target=lambda: blocked.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
            )
            thread.start()
            thread.join()
            signal.raise_signal(signal.SIGINT)
            done.append("whole")
        done.append("never")
    assert done == ["whole"]
    assert blocked[0] >= set(ENDING)


@pytest.mark.parametrize("able", [True, False])
def test_a_loop_hears_signals_also_where_it_knows_none_itself(
    monkeypatch: pytest.MonkeyPatch, able: bool
) -> None:
    heard: list[signal.Signals] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        if not able:

            def refuse(*arguments: object) -> None:
                raise NotImplementedError

            monkeypatch.setattr(loop, "add_signal_handler", refuse)
        with hearing(loop, signal.SIGTERM, signal.SIGHUP, call=heard.append):
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGHUP)
            while len(heard) < 2:
                await asyncio.sleep(0)

    asyncio.run(main())
    assert sorted(heard) == [signal.SIGHUP, signal.SIGTERM]


def test_a_thread_hears_none_and_changes_nothing() -> None:
    found: list[object] = []

    def listen() -> None:
        with raising(), ignored(signal.SIGINT):
            found.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert found == [before]


def test_a_command_that_has_nothing_to_put_in_order_ends_in_silence() -> None:
    code = "from emulator.cli import main; import signal, typer; typer.Typer.__call__ = lambda *a, **k: "
    code += "signal.raise_signal(2); main()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, "", "")


def test_nothing_is_missing_where_a_system_lacks_signals_and_masks() -> None:
    code = "import signal\nfor n in dir(signal):\n"
    code += "    if n in ('SIGHUP', 'SIGQUIT', 'SIGTSTP', 'SIGCONT', 'SIGWINCH', 'SIGTTIN', 'SIGTTOU',"
    code += " 'pthread_sigmask', 'SIGSTOP'): delattr(signal, n)\n"
    code += "from emulator.cli import main; main()"
    command = [sys.executable, "-c", code, "run", "stragglers", "--set", "duration=600", "--speed", "max"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.splitlines()[-1][:8]) == (0, "00:10:00")
