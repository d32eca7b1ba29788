"""The queue of one reader of events, between the feed's thread and the loop's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from messages.event_feed import DetachReader, EventChunk
from messages.units import Seconds
from server.event_streams import ALIVE, CHUNK, MOST_WAITING, SLOW, EventReader
from tests.support.kernel.probe import Probe

LONG = Seconds(5.0)
HALF = b"x" * (MOST_WAITING // 2 + 1)


def in_loop(story: Callable[[EventReader, Probe[DetachReader]], Awaitable[None]]) -> None:
    """Tell ``story`` of a new reader and the feed that it was attached to."""

    async def tell() -> None:
        feed: Probe[DetachReader] = Probe()
        await story(EventReader(feed, LONG), feed)

    asyncio.run(tell())


def test_what_is_told_is_taken_in_its_order() -> None:
    async def story(reader: EventReader, feed: Probe[DetachReader]) -> None:
        reader.tell(EventChunk(text=b"a"))
        reader.tell(EventChunk(text=b"b"))
        assert await reader.take() == b"ab"
        reader.tell(EventChunk(text=b"c"))
        assert await reader.take() == b"c"
        feed.expect_silence()

    in_loop(story)


def test_much_is_taken_in_pieces() -> None:
    async def story(reader: EventReader, _feed: Probe[DetachReader]) -> None:
        for text in (b"a" * CHUNK, b"b", b"c"):
            reader.tell(EventChunk(text=text))
        assert await reader.take() == b"a" * CHUNK
        assert await reader.take() == b"bc"

    in_loop(story)


def test_a_wake_up_for_what_was_taken_already_is_no_event() -> None:
    async def story(reader: EventReader, _feed: Probe[DetachReader]) -> None:
        reader.tell(EventChunk(text=b"a"))
        assert await reader.take() == b"a"
        # The wake-up for it comes now; there is nothing to take until something else is told.
        taking = asyncio.ensure_future(reader.take())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not taking.done()
        reader.tell(EventChunk(text=b"b"))
        assert await taking == b"b"

    in_loop(story)


def test_after_a_while_without_events_there_is_a_comment() -> None:
    async def story() -> None:
        assert await EventReader(Probe(), Seconds(0.01)).take() == ALIVE

    asyncio.run(story())


def test_whoever_reads_everything_in_time_may_be_told_any_amount() -> None:
    async def story(reader: EventReader, feed: Probe[DetachReader]) -> None:
        for _ in range(10):
            reader.tell(EventChunk(text=HALF))
            assert await reader.take() == HALF
        feed.expect_silence()

    in_loop(story)


def test_who_has_too_much_in_front_of_it_ends_and_is_told_no_more() -> None:
    async def story(reader: EventReader, feed: Probe[DetachReader]) -> None:
        reader.tell(EventChunk(text=HALF))
        reader.tell(EventChunk(text=HALF))
        feed.expect_silence()
        reader.tell(EventChunk(text=b"one more"))
        feed.expect(DetachReader(reader=reader, was_slow=True))
        assert await reader.ended == SLOW

    in_loop(story)


def test_a_reader_that_ended_detaches_again_when_it_is_told_something() -> None:
    async def story(reader: EventReader, feed: Probe[DetachReader]) -> None:
        reader.end(b"bye")
        reader.end(b"bye again")
        assert await reader.ended == b"bye"
        feed.expect(*[DetachReader(reader=reader)] * 2)
        reader.tell(EventChunk(text=b"a"))
        feed.expect(DetachReader(reader=reader))

    in_loop(story)


def test_a_reader_whose_loop_is_gone_is_found_dead() -> None:
    feed: Probe[DetachReader] = Probe()

    async def make() -> EventReader:
        return EventReader(feed, LONG)

    reader = asyncio.run(make())
    # The first time it finds out, the second time it says so.
    reader.tell(EventChunk(text=b"a"))
    reader.tell(EventChunk(text=b"b"))
    feed.expect(DetachReader(reader=reader))
