import pytest

from emulator.plots.words import axis_label, strategy_label, subject, value_label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("synchronous", "synchronous"),
        ("one_step_off", "one step off"),
        ("synchronous oversample=1.25 unfinished=abort", "synchronous, 1.25 abort"),
        ("asynchronous max_staleness=2", "asynchronous, gate 2"),
        ("asynchronous max_staleness=0.5 enforce=cancel", "asynchronous, cancel 0.5"),
        (
            "asynchronous weights=in_flight refresh_overhead=2",
            "asynchronous, in-flight weights, refresh overhead 2",
        ),
    ],
)
def test_a_strategy_is_written_in_few_words(text: str, label: str) -> None:
    assert strategy_label(text) == label


def test_an_axis_is_written_with_its_unit() -> None:
    assert axis_label("trainer.update_seconds") == "update time, s"
    assert axis_label("environment.reset_seconds") == "environment.reset, s"
    assert axis_label("learner.rate") == "learner.rate"


def test_a_number_is_written_with_its_name_and_a_word_alone() -> None:
    assert value_label("rollout.workers", 64) == "workers 64"
    assert value_label("strategy.enforce", "drop") == "drop"
    assert value_label("strategy.max_staleness", None) == "η none"


def test_what_is_compared_is_named_if_it_is_short() -> None:
    assert subject(["synchronous", "asynchronous"], "strategies") == "synchronous and asynchronous"
    assert subject([f"asynchronous, gate {n}" for n in range(3)], "strategies") == "3 strategies"
    assert subject([""], "strategies") == ""
