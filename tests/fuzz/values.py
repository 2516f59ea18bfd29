"""Values of every type that somebody, some program or some attacker might write."""

from random import Random
from typing import Any

from tests.fuzz.trees import Map, Raw

TEXTS = (
    *(
        "",
        " ",
        "a",
        "nothing",
        "max",
        "10m",
        "1h30m",
        "-5s",
        "null",
        "nan",
        "inf",
        "true",
        "1e3",
        "0x10",
        "~",
    ),
    *("\x1b[2J\x1b[31mred", "\x1b]0;title\a", "\x9b31m", "\x90q", "\0", "\a\b", "\t", "\r", "a\rb", "\x7f"),
    *("\n", "a\nfile.yaml:1:1: found nothing; allowed: all", "\r\n", "\x85", "\u2028", "\u2029", "\v\f"),
    *("\u202ename", "\u2066x", "\u200f", "\u200b", "\ufeff", "\ufffe", "\uffff", "\U0010ffff", "\ue000"),
    *("\ud800", "\udfff", "\ud83d\ude80", "a\udc1bb"),
    *(
        "同期レーン",
        "한국어",
        "🚀",
        "👩‍👩‍👧‍👦",
        "🇩🇪",
        "e\u0301\u0301\u0301",
        "a" + "\u0300" * 40,
        "ﷺ",
        "שלום",
    ),
    *("=1+1", '=HYPERLINK("http://x/?"&A1,"x")', "@SUM(1)", "+1", "-2+3", "|calc", "\t=1", "%0A"),
    *("<script>alert(1)</script>", "&amp;", "]]>", "<!--", "-->", "</svg>", "'", '"', "\\", "\\x1b", "`"),
    *("%s %d", "{0}", "{name}", "{", "$HOME", "$$x^2$", "[bold]", "[/]", "[/red]x", "[link=x]", ":smile:"),
    *("/etc/passwd", "../../x", "/proc/self/environ", "/dev/zero", ".", "/", "x" * 101, "word " * 500),
    *("x" * 5000, "界" * 101, "\x1b" * 300, "generating", "end", "constant", "lane", "-", "- a", "a: b", "#"),
)

NUMBERS = (
    *(0, -0.0, 1, -1, 2, 3, 7, 10, 64, 100, 0.1, 0.5, 1.5, -0.5, 1e-3, 1e-9, 1e-300, 5e-324, 2.5e-308),
    *(1e3, 1e5, 1e6, 1e7, 999999999.0, 1e9, 1000000001, 1e12, 1e15, 2**53, 2**53 + 1, 1e18, 1e300, 1.7e308),
    *(2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 10**30, 10**400),
)

RAWS = tuple(
    Raw(text)
    for text in (
        *(
            "NaN",
            "Infinity",
            "-Infinity",
            "1e999",
            "-1e999",
            "1e-999",
            "9" * 400,
            "9" * 5000,
            "00",
            "01",
            "1.",
        ),
        *("0.1" + "0" * 400 + "1", "1E+2", "-", "", ".nan", ".inf", "0o17", "0xFFFFFFFFFFFFFFFFFF", "1_000"),
        *(
            "nil",
            "undefined",
            "'x'",
            "True",
            "yes",
            "2024-01-01",
            "20:30",
            "!!binary aGk=",
            "!x 1",
            "*x",
            "&x 1",
        ),
        *(
            "|",
            ">",
            "? a",
            "- 1",
            "@x",
            "`x`",
            "%x",
            "{",
            "[",
            "}",
            "]",
            '"\\ud800"',
            '"\\U00110000"',
            '"\\q"',
        ),
        *('"\\UFFFFFFFF"', '"\\e[2J"', '"\\0"', '"\\ud83d\\ude80"', '"\\ud83d"', '"\n"', "<<", "a: b: c"),
    )
)


def odd(random: Random, depth: int = 2) -> Any:
    """A value that does not belong wherever it is put, or is at a limit of what does."""
    kind = random.random()
    if kind < 0.35:
        return random.choice(NUMBERS)
    if kind < 0.65:
        return odd_text(random)
    if kind < 0.75:
        return random.choice((None, True, False))
    if kind < 0.85:
        return random.choice(RAWS)
    many = 0 if depth == 0 or kind < 0.9 else random.choice((1, 1, 2, 3))
    if random.random() < 0.5:
        return [odd(random, depth - 1) for _ in range(many if many < 3 else 30)]
    return Map([[odd_text(random), odd(random, depth - 1)] for _ in range(many)])


def odd_text(random: Random) -> str:
    """A text, alone, inside another or several."""
    text = random.choice(TEXTS)
    form = random.random()
    if form < 0.7:
        return text
    return f"lane {text}" if form < 0.85 else text + random.choice(TEXTS)


def near(number: float, random: Random) -> Any:
    """A number that is not far from another."""
    if abs(number) > 1e300:
        return -number
    whole = isinstance(number, int)
    choices = [number + 1, number - 1, -number, number * 2, 0, 1, number * 1000]
    choices += [number + 0.5, float(number)] if whole else [number * (1 + 1e-15), number / 3, number + 1e-9]
    return random.choice(choices)


def nested(random: Random) -> Any:
    """A value at the bottom of many lists or mappings."""
    depth = random.choice((5, 20, 39, 41, 100, 1000, 5000))
    opening, closing = random.choice((("[", "]"), ('{"a":', "}"), ("[[", "]]")))
    return Raw(opening * depth + "1" + closing * depth)
