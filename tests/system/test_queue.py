"""The queue: groups become complete in it, and leave it whole."""

import asyncio

import pytest

from emulator.system.episodes import Episode, Group, GroupedEpisode, LoneEpisode, Source
from emulator.system.queue import EpisodeQueue, LoneEpisodeQueue


def group(number: int, size: int = 1, planned: int | None = None) -> Group:
    return Group(number, size, planned or size)


def finished(group: Group, number: int) -> Episode:
    episode = GroupedEpisode(number, group, 5.0, 1.0, 0)
    group.started += 1
    group.members.append(episode)
    group.finished.append(episode)
    return episode


def test_single_episodes_are_complete_at_once_in_order_of_coming() -> None:
    queue = EpisodeQueue()
    for number in (4, 2, 9):
        queue.put_nowait(finished(group(number), number))
    assert list(queue.complete) == [4, 2, 9]
    assert queue.qsize() == 3


def test_groups_are_complete_in_the_order_in_which_their_last_members_come() -> None:
    queue = EpisodeQueue()
    first, second = group(0, 2), group(1, 2)
    for of, number in ((first, 0), (second, 2), (second, 3)):
        queue.put_nowait(finished(of, number))
    assert list(queue.complete) == [1]
    queue.put_nowait(finished(first, 1))
    assert list(queue.complete) == [1, 0]


def test_a_group_with_redundancy_is_complete_at_its_size() -> None:
    queue, redundant = EpisodeQueue(), group(0, 2, 4)
    queue.put_nowait(finished(redundant, 3))
    assert not queue.complete
    queue.put_nowait(finished(redundant, 1))
    assert queue.complete == {0: redundant}


def test_a_group_leaves_whole_in_order_of_finishing_and_the_others_stay() -> None:
    queue = EpisodeQueue()
    first, second = group(0, 2), group(1, 2)
    for of, number in ((second, 3), (first, 1), (second, 2), (first, 0)):
        queue.put_nowait(finished(of, number))
    assert [episode.number for episode in queue.take_groups([second])] == [3, 2]
    assert list(queue.complete) == [0]
    assert (second.queued, first.queued, queue.qsize()) == (0, 2, 2)


def test_of_an_incomplete_group_what_is_there_is_taken() -> None:
    queue, lost = EpisodeQueue(), group(0, 3)
    queue.put_nowait(finished(lost, 0))
    finished(lost, 1)  # held by a worker that found no room
    assert [episode.number for episode in queue.take_groups([lost])] == [0]
    assert queue.empty()


def test_a_full_queue_takes_no_more_until_a_group_leaves() -> None:
    queue, only = EpisodeQueue(1), group(0)
    queue.put_nowait(finished(only, 0))
    assert queue.full()
    with pytest.raises(asyncio.QueueFull):
        queue.put_nowait(finished(group(1), 1))
    queue.take_groups([only])
    queue.put_nowait(finished(group(2), 2))
    assert list(queue.complete) == [2]


def test_without_a_group_the_oldest_episode_is_taken() -> None:
    queue = EpisodeQueue()
    for number in (5, 3):
        queue.put_nowait(finished(group(number), number))
    assert queue.get_nowait().number == 5
    assert list(queue.complete) == [3]


def alone(number: int) -> LoneEpisode:
    episode = Source(lambda: 5.0, 1, 0).start_alone(0)
    episode.number = number
    episode.whole = True
    return episode


@pytest.mark.parametrize("kind", [EpisodeQueue, LoneEpisodeQueue])
def test_tasks_that_wait_to_get_or_to_put_are_woken_as_on_any_queue(kind: type[EpisodeQueue]) -> None:
    def made(number: int) -> Episode:
        return alone(number) if kind is LoneEpisodeQueue else finished(group(number), number)

    async def main() -> None:
        queue, first = kind(1), made(0)
        getting = asyncio.create_task(queue.get())
        await asyncio.sleep(0)
        queue.put_nowait(first)
        assert await getting is first
        for number, take in (
            (1, queue.take_batch),
            (3, lambda n: queue.take_groups(list(queue.complete.values()))),
        ):
            queue.put_nowait(made(number))
            putting = asyncio.create_task(queue.put(made(number + 1)))
            await asyncio.sleep(0)
            assert not putting.done()
            take(1)
            await asyncio.wait_for(putting, 1)
            assert list(queue.complete) == [number + 1]
            queue.get_nowait()

    asyncio.run(main())
