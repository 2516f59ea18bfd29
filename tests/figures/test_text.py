"""Numbers as people read them."""

from emulator.figures import text


def test_a_span_is_written_in_at_most_two_units() -> None:
    spans = (0, 1e-13, 0.00123, 0.04, 0.0995, 0.8, 9.94, 9.96, 20, 59.7, 60, 312, 3600, 7500)
    assert [text.span(s) for s in spans] == [
        "0s",
        "0s",
        "1.2ms",
        "40ms",
        "0.1s",
        "0.8s",
        "9.9s",
        "10s",
        "20s",
        "1m",
        "1m",
        "5m12s",
        "1h",
        "2h05m",
    ]


def test_a_mean_span_has_tenths_up_to_two_minutes() -> None:
    assert [text.mean_span(s) for s in (0, 31.44, 119.9, 119.96, 125.4)] == [
        "0.0s",
        "31.4s",
        "119.9s",
        "2m",
        "2m05s",
    ]


def test_a_time_of_day_is_rounded_down() -> None:
    assert text.clock_time(2240.9) == "00:37:20"


def test_a_share_is_none_or_all_only_if_it_is() -> None:
    shares = (None, 0.0, 0.0004, 0.0005, 0.004, 0.123, 0.994, 0.996, 0.9994, 0.9996, 1.0)
    assert [text.share(value) for value in shares] == [
        "-",
        "0%",
        "<0.1%",
        "0.1%",
        "0.4%",
        "12%",
        "99%",
        "99.6%",
        "99.9%",
        "100%",
        "100%",
    ]
    assert [text.share(value, 1) for value in (0.0, 0.2091, 1.0)] == ["0.0%", "20.9%", "100.0%"]


def test_numbers_have_the_places_that_say_something() -> None:
    assert [text.number(value) for value in (None, 0, 4, 4.0, 31.396, 99.96, 1234.5)] == [
        "-",
        "0",
        "4",
        "4",
        "31.4",
        "100",
        "1,234",
    ]
    assert [text.decimal(value) for value in (None, 1.428, 1234.5)] == ["-", "1.43", "1,234.50"]
    assert [text.compact(value) for value in (0, 0.25, 2.5, 40, 995, 1234, 12345)] == [
        "0",
        "0.25",
        "2.5",
        "40",
        "1k",
        "1.2k",
        "12k",
    ]


def test_speeds_and_ratios_are_written_as_so_many_times() -> None:
    assert [text.speed(s) for s in (60.0, 59.9, 48210.4, 0.5, "max", None)] == [
        "60x",
        "59.9x",
        "48,210x",
        "0.5x",
        "max",
        "-",
    ]
    assert [text.times(ratio) for ratio in (1, 7.71, 99.97)] == ["1.0x", "7.7x", "100x"]


def test_nouns_are_counted() -> None:
    assert [text.count(n, "update") for n in (0, 1, 1200)] == ["0 updates", "1 update", "1,200 updates"]


def test_seeds_are_written_as_a_range_if_they_are_one() -> None:
    assert text.seeds((4,)) == "seed 4"
    assert text.seeds((3, 4, 5)) == "seeds 3 to 5"
    assert text.seeds((3, 5, 4)) == "3 seeds"


def test_settings_are_written_as_ticks() -> None:
    assert [text.setting(value) for value in (None, True, 0.30000000000000004, 64, "gate")] == [
        "none",
        "True",
        "0.3",
        "64",
        "gate",
    ]


def test_a_time_axis_has_round_steps() -> None:
    assert [text.nice_step(s) for s in (0.02, 0.5, 1, 17.5, 61, 5000)] == [0.1, 1, 1, 20, 120, 7200]


def test_a_format_writes_one_run_and_a_mean_over_runs() -> None:
    assert [text.SHARE(None), text.SHARE(0.996), text.SHARE.mean(0.996)] == ["-", "99.6%", "99.6"]
    assert text.COUNT(1234) == "1,234"
    assert text.MINUTES(5.2) == "5m12s"
    assert text.NUMBER.measured(108.24, 106.5, "±") == "108.2 ±1.7"
    assert text.DECIMAL.measured(1.428, None, "±") == "1.43"
    assert text.DECIMAL.measured(None, None, "±") == "-"
