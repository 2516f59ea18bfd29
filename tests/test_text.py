"""Text from outside: what is left of it, and how wide it is."""

import pytest

from emulator.text import clean, clusters, cut, pad, quoted, width, without_controls


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("plain", "plain"),
        ("naïve 東京 🚀", "naïve 東京 🚀"),
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("two\nlines\ttab\r", r"two\nlines\ttab\r"),
        ("\u202eevil\u2066", r"\u202eevil\u2066"),
        ("\x9b31m\x85", r"\x9b31m\x85"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\ud83d", r"\ud83d"),
        ("\U000e0041", r"\U000e0041"),
        (r"C:\new", r"C:\new"),
        ("", ""),
        (None, "None"),
        (1.5, "1.5"),
    ],
)
def test_a_cleaned_value_is_one_printable_line(value: object, line: str) -> None:
    assert clean(value) == line
    assert line.isprintable()
    assert clean(clean(value)) == line


def test_a_long_value_ends_with_an_ellipsis() -> None:
    assert clean("x" * 60) == "x" * 60
    assert clean("x" * 61) == "x" * 59 + "…"
    assert clean("\x1b" * 10, 8) == r"\x1b\x1" + "…"
    assert clean(clean("\n" * 100)) == clean("\n" * 100)


def test_a_number_with_too_many_digits_for_python_is_not_written() -> None:
    assert clean(10**5000) == "a number too long to write"


def test_quotes_double_no_backslash() -> None:
    assert quoted("\u202ex") == r'"\u202ex"'
    assert quoted(r"a\b") == r'"a\b"'
    assert quoted('say "hi"') == "'say \"hi\"'"
    assert quoted("x" * 100, 10) == '"' + "x" * 9 + '…"'


def test_a_text_of_lines_keeps_its_lines_and_tabs() -> None:
    assert without_controls("a\n\tb\x1b[0m\r\n") == "a\n\tb\\x1b[0m\\r\n"
    assert without_controls("plain") == "plain"


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("async", 5),
        ("東京", 4),
        ("🚀", 2),
        ("e\u0301", 1),
        ("👍🏽", 2),
        ("👩\u200d🚀", 2),
        ("\u2764\ufe0f", 2),
        ("①·…", 3),
        ("ｱ", 1),
    ],
)
def test_width_counts_cells(text: str, cells: int) -> None:
    assert width(text) == cells
    assert sum(size for _, size in clusters(text)) == cells
    assert "".join(cluster for cluster, _ in clusters(text)) == text


def test_a_wide_character_is_cut_as_a_whole() -> None:
    assert cut("東京レーン", 10) == "東京レーン"
    assert cut("東京レーン", 9) == "東京レー"
    assert cut("東京レーン", 9, "…") == "東京レー…"
    assert cut("東京レーン", 8, "…") == "東京レ…"
    assert cut("e\u0301e\u0301", 1) == "e\u0301"
    assert cut("東", 1) == ""
    assert cut("東京", 0, "…") == ""


def test_padding_goes_by_cells() -> None:
    assert pad("東京", 6) == "東京  "
    assert pad("東京", 6, right=True) == "  東京"
    assert pad("東京", 3) == "東京"
