"""Text from outside: what is left of it, and how wide it is."""

import io

import pytest

from emulator.text import (
    cells,
    clean,
    clusters,
    cut,
    defused,
    encodable,
    overlay,
    pad,
    quoted,
    width,
    without_controls,
    writable,
)


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


def test_a_text_is_written_in_what_the_encoding_has() -> None:
    assert encodable("東京 ± 1…", "utf-8") == "東京 ± 1…"
    assert encodable("東京 ± 1…", "ascii") == r"\u6771\u4eac +- 1..."
    assert encodable("🚀", "ascii") == r"\U0001f680"
    assert encodable("naïve", "latin-1") == "naïve"
    assert encodable("naïve", None) == "naïve"
    ascii_stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert writable("é\x1b[2J\n", ascii_stream) == "\\xe9\\x1b[2J\n"
    assert writable("é", io.StringIO()) == "é"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-x", "@SUM(A1)", "\tx", "\rx"])
def test_a_cell_that_begins_like_a_formula_is_defused(text: str) -> None:
    assert defused(text) == f"'{text}"


def test_other_cells_stay_as_they_are() -> None:
    assert [defused(text) for text in ("", "a=1", "'=1", "1")] == ["", "a=1", "'=1", "1"]


def test_a_flag_is_one_character() -> None:
    assert list(clusters("a🇩🇪🇫b🇫")) == [("a", 1), ("🇩🇪", 2), ("🇫", 1), ("b", 1), ("🇫", 1)]


def test_a_text_cell_by_cell() -> None:
    assert cells("ab") == ["a", "b"]
    assert cells("東a") == ["東", "", "a"]
    assert cells("e\u0301東\u0301") == ["e\u0301", "東\u0301", ""]
    assert cells("\u0301a") == ["a"]


@pytest.mark.parametrize(
    ("row", "x", "drawn", "left"),
    [
        ("......", 1, "ab", ".ab..."),
        ("......", -1, "abc", "bc...."),
        ("......", 5, "abc", ".....a"),
        ("......", 6, "abc", "......"),
        ("......", -3, "abc", "......"),
        ("東京京", 1, "a", " a京京"),
        ("東京京", 2, "a", "東a 京"),
        ("東京京", 1, "東", " 東 京"),
        ("......", 5, "東", "..... "),
        ("......", -1, "東b", " b...."),
    ],
)
def test_the_other_half_of_a_cut_wide_character_is_blank(row: str, x: int, drawn: str, left: str) -> None:
    found = cells(row)
    overlay(found, x, cells(drawn))
    assert "".join(found) == left
    assert len(found) == 6
