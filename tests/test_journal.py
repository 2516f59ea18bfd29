"""The journal: what is written into it comes out in blocks, event for event."""

import emulator
from emulator import events as ev
from emulator.journal import ROW, TWO_ROWS, Block, Journal
from emulator.trace import lines_of


def written() -> tuple[Journal, list[Block]]:
    blocks: list[Block] = []
    return Journal(blocks.append), blocks


def test_a_start_takes_the_next_number_and_the_newest_version() -> None:
    journal, blocks = written()
    journal.rows += ROW(0.0, 3, 12.5)
    journal.rows += ROW(0.0, 1, 0.0)
    journal.write(ev.Publish(4.0, 1))
    journal.rows += TWO_ROWS(12.5, 3, -1 - 0, 12.5, 3, 7.0)
    journal.pass_on()
    assert [block.events() for block in blocks] == [
        [
            ev.Start(0.0, 3, 0, 0, 0, 12.5),
            ev.Start(0.0, 1, 1, 1, 0, 0.0),
            ev.Publish(4.0, 1),
            ev.Finish(12.5, 3, 0),
            ev.Start(12.5, 3, 2, 2, 1, 7.0),
        ]
    ]


def test_numbers_and_versions_go_on_from_block_to_block() -> None:
    journal, blocks = written()
    journal.rows += ROW(0.0, 0, 5.0)
    journal.write(ev.Publish(1.0, 1))
    journal.pass_on()
    journal.write(ev.Start(2.0, 1, 1, 0, 1, 9.0))
    journal.pass_on()
    journal.rows += ROW(3.0, 2, 6.0)
    journal.pass_on()
    journal.pass_on()
    assert [block.events()[-1] for block in blocks] == [
        ev.Publish(1.0, 1),
        ev.Start(2.0, 1, 1, 0, 1, 9.0),
        ev.Start(3.0, 2, 2, 2, 1, 6.0),
    ]
    assert len(journal) == 4
    assert [len(block) for block in blocks] == [2, 1, 1]


def test_events_that_are_no_rows_keep_their_place_among_them() -> None:
    journal, blocks = written()
    for number in range(3):
        journal.write(ev.Gated(float(number), number))
        journal.rows += ROW(float(number), number, 1.0)
        journal.write(ev.Inject(float(number), {"crash": number}))
    journal.pass_on()
    names = [type(event).__name__ for event in blocks[0].events()]
    assert names == ["Gated", "Start", "Inject"] * 3
    assert [event.t for event in blocks[0].events()] == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_whole_numbers_up_to_two_to_the_53_keep_their_value() -> None:
    journal, blocks = written()
    journal.rows += ROW(0.1, 99_999, -1 - (2**53 - 2))
    journal.pass_on()
    assert blocks[0].events() == [ev.Finish(0.1, 99_999, 2**53 - 2)]


def test_a_block_is_passed_on_when_it_is_long_enough_and_later_where_workers_are_many() -> None:
    for workers, enough in ((1, 4096), (64, 4096), (1000, 8000), (100_000, 524_288)):
        blocks: list[Block] = []
        journal = Journal(blocks.append, workers)
        for _ in range(enough - 1):
            journal.rows += ROW(1.0, 0, 1.0)
        journal.pass_on_if_long()
        assert not blocks
        journal.write(ev.Stall(1.0))
        journal.pass_on_if_long()
        assert [len(block) for block in blocks] == [enough]


def test_closing_a_journal_passes_on_what_there_is_and_nothing_later() -> None:
    journal, blocks = written()
    journal.write(ev.Stall(1.0))
    journal.close()
    journal.write(ev.Unstall(2.0))
    journal.pass_on()
    journal.close()
    assert [event for block in blocks for event in block.events()] == [ev.Stall(1.0)]


def test_a_block_has_its_times_and_lines_without_its_events_being_made() -> None:
    run = emulator.run(emulator.load_scenario("stragglers"), speed="max", keep_events=True)
    journal, blocks = written()
    for event in run.events:
        if isinstance(event, ev.Start):
            journal.rows += ROW(event.t, event.worker, event.duration)
        elif isinstance(event, ev.Finish):
            journal.rows += ROW(event.t, event.worker, -1 - event.episode)
        else:
            journal.write(event)
        journal.pass_on_if_long()
    journal.pass_on()
    assert len(blocks) > 2
    for block in blocks:
        assert block.times() == [event.t for event in block.events()]
        assert lines_of(block).decode() == "".join(ev.encode(event) + "\n" for event in block.events())
