"""The book: what it lets start and what ends with what else, without a loop, a journal or a worker."""

from dataclasses import dataclass
from itertools import count

from emulator.scenario import Scenario
from emulator.strategies.decisions import Accounts
from emulator.system.book import Aborted, Book, Dropped, Ending, RoundClosed, SetAside
from emulator.system.episodes import Episode, Source


@dataclass
class Hand:
    """A worker, as far as a book reads it."""

    number: int
    episode: Episode | None = None

    def take(self, book: Book) -> Episode:
        """Take what the book says."""
        self.episode = book.next_episode(0.0)
        assert self.episode is not None
        return self.episode


def finish(book: Book, hands: list[Hand], number: int) -> list[Ending]:
    """A worker finishes its episode; what ends with it is carried out, and returned."""
    episode, hands[number].episode = hands[number].episode, None
    assert episode is not None
    ended = []
    for ending in book.finish(episode, 5.0):
        if isinstance(ending, Aborted | SetAside) and ending.worker is not None:
            hands[ending.worker].episode = None
        ended.append(ending)
    return ended


def book(
    strategy: dict[str, object], workers: int, batch: int, size: int = 1, redundancy: int = 0
) -> tuple[Book, list[Hand]]:
    rollout = {
        "workers": workers,
        "episode_seconds": 5,
        "group_size": size,
        "group_redundancy": redundancy,
    }
    trainer = {"batch_size": batch, "update_seconds": 4}
    sections = {"duration": 100, "rollout": rollout, "trainer": trainer, "strategy": strategy}
    scenario = Scenario.model_validate(sections)
    seconds = count(100)
    hands = [Hand(number) for number in range(workers)]
    source = Source(lambda: float(next(seconds)), size, redundancy)
    decisions = scenario.strategy.decisions(scenario.setting)
    made = Book(decisions, source, {hand.number: hand for hand in hands}, 0)
    made.open_round(0.0)
    return made, hands


def test_a_free_worker_takes_the_next_episode_under_the_newest_version() -> None:
    some, (first, second) = book({"kind": "asynchronous"}, 2, 2)
    assert (first.take(some).number, first.take(some).version) == (0, 0)
    assert some.publish() == 1
    assert (second.take(some).number, second.take(some).version) == (2, 1)
    assert some.accounts == Accounts(started=4, version=1)


def test_a_gate_lets_a_worker_wait_until_a_publication() -> None:
    some, hands = book({"kind": "asynchronous", "max_staleness": 0, "enforce": "gate"}, 3, 2)
    assert [some.next_episode(0.0) is not None for _ in hands] == [True, True, False]
    some.publish()
    assert some.next_episode(0.0) is not None


def test_a_round_that_waits_for_all_closes_and_ends_nothing() -> None:
    some, hands = book({"kind": "synchronous"}, 2, 2)
    for hand in hands:
        hand.take(some)
    assert finish(some, hands, 1) == []
    assert finish(some, hands, 0) == [RoundClosed()]
    assert some.next_episode(5.0) is None
    assert some.accounts == Accounts(started=2, finished=2)


def test_a_round_aborts_what_is_unfinished_in_worker_order() -> None:
    some, hands = book({"kind": "synchronous", "oversample": 2, "unfinished": "abort"}, 4, 2)
    taken = [hand.take(some) for hand in hands]
    finish(some, hands, 3)
    aborted = [Aborted(0, taken[0], "round"), Aborted(2, taken[2], "round")]
    assert finish(some, hands, 1) == [RoundClosed(), *aborted]
    assert some.accounts == Accounts(started=4, finished=2, aborted=2)


def test_a_round_sets_aside_what_is_taken_up_first_in_the_next() -> None:
    some, hands = book({"kind": "synchronous", "oversample": 2, "unfinished": "resume"}, 4, 2)
    taken = [hand.take(some) for hand in hands]
    finish(some, hands, 0)
    assert finish(some, hands, 2) == [RoundClosed(), SetAside(1, "resume"), SetAside(3, "resume")]
    assert list(some.paused) == [1, 3]
    some.publish()
    some.open_round(9.0)
    assert hands[2].take(some) is taken[1]
    assert (taken[1].resumed, taken[1].version, list(some.paused)) == (True, 1, [3])


def test_what_a_complete_group_does_not_need_is_aborted() -> None:
    some, hands = book({"kind": "asynchronous"}, 3, 2, size=2, redundancy=1)
    taken = [hand.take(some) for hand in hands]
    assert [episode.group.number for episode in taken] == [0, 0, 0]
    assert finish(some, hands, 0) == []
    assert finish(some, hands, 2) == [Aborted(1, taken[1], "surplus")]
    assert some.incomplete == {}


def test_a_group_that_cannot_complete_is_dropped_and_aborted() -> None:
    some, hands = book({"kind": "asynchronous"}, 3, 3, size=3)
    taken = [hand.take(some) for hand in hands]
    finish(some, hands, 0)
    hands[2].episode = None
    lost = some.fail(taken[2])
    assert lost == [taken[0].group]
    assert list(some.lose_groups(lost, "group")) == [Dropped(lost[0], "group"), Aborted(1, taken[1], "group")]
    assert some.accounts == Accounts(started=3, finished=1, failed=1, dropped=1, aborted=1)


def test_a_publication_gives_up_what_runs_and_is_too_old() -> None:
    some, hands = book({"kind": "asynchronous", "max_staleness": 0, "enforce": "cancel"}, 2, 2)
    old = hands[0].take(some)
    some.publish()
    assert list(some.cancel_stale()) == [Aborted(0, old, "stale")]
