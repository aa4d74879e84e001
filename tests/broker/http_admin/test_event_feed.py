"""The events of the journal for many followers."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from broker.http_admin import event_feed
from broker.http_admin.event_feed import Event, EventFeed, Follower
from broker.http_admin.state import Admin
from broker.journal.lines import Line
from tests.broker.connection_driver import Client, metadata_frame
from tests.broker.http_admin.admin_server import make_admin


@pytest.fixture
def admin() -> Admin:
    return make_admin(1)


@pytest.fixture
def followers(admin: Admin) -> Iterator[list[Follower]]:
    with ExitStack() as stack:
        yield [stack.enter_context(admin.events.follow()) for _ in range(10)]


def send(admin: Admin, count: int) -> None:
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(b"".join(map(metadata_frame, range(count))))


def numbers(events: list[Event]) -> list[int]:
    return [event.line.number for event in events]


async def test_all_followers_of_a_feed_are_one_listener_of_the_journal(
    admin: Admin, followers: list[Follower]
) -> None:
    assert len(admin.journal._listeners) == 1
    send(admin, 2)
    assert numbers(await followers[7].next_events()) == [1, 2]
    assert numbers(await followers[8].next_events()) == [1, 2]


async def test_a_line_is_encoded_once_for_all_followers(
    admin: Admin, followers: list[Follower]
) -> None:
    encoded: list[int] = []

    def encode(line: Line) -> bytes:
        encoded.append(line.number)
        return b"text"

    send(admin, 1)
    for follower in followers[:3]:
        for event in await follower.next_events():
            assert admin.events.encoded(event, encode, has_bodies=True) == b"text"
    assert encoded == [1]


async def test_a_long_event_is_not_kept_encoded(
    monkeypatch: pytest.MonkeyPatch, admin: Admin, followers: list[Follower]
) -> None:
    monkeypatch.setattr(event_feed, "ENCODED_BYTES_MAX", 3)
    send(admin, 1)
    (event,) = await followers[0].next_events()
    assert admin.events.encoded(event, lambda _line: b"text", has_bodies=True) == b"text"
    assert event.encoded == {}


async def test_a_turn_has_room_for_some_followers_and_the_others_come_next(
    monkeypatch: pytest.MonkeyPatch, admin: Admin, followers: list[Follower]
) -> None:
    monkeypatch.setattr(event_feed, "TURN_S", 3600)
    waiting = [asyncio.ensure_future(follower.next_events()) for follower in followers]
    await asyncio.sleep(0)
    send(admin, 1)
    done_counts = []
    for _ in range(3):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        done_counts.append(sum(task.done() for task in waiting))
        admin.events._end_rest()
    assert done_counts == [4, 8, 10]


async def test_the_rest_after_a_turn_is_as_long_as_its_encoding_was(
    monkeypatch: pytest.MonkeyPatch, admin: Admin, followers: list[Follower]
) -> None:
    times = iter([0.0, 1000.0])
    monkeypatch.setattr(event_feed, "perf_counter", lambda: next(times))
    send(admin, 1)
    (event,) = await followers[0].next_events()
    admin.events.encoded(event, lambda _line: b"text", has_bodies=True)
    other = asyncio.ensure_future(followers[1].next_events())
    admin.events._end_rest()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not other.done()
    admin.events._end_rest()
    assert numbers(await other) == [1]


async def test_a_follower_that_stops_waiting_misses_nothing(
    admin: Admin, followers: list[Follower]
) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await followers[0].next_events()
    send(admin, 1)
    assert numbers(await followers[0].next_events()) == [1]


async def test_a_feed_without_followers_keeps_nothing(admin: Admin) -> None:
    feed = EventFeed(admin.journal)
    with feed.follow():
        send(admin, 2)
        assert len(feed._events) == 2
    assert (len(feed._events), admin.journal._listeners) == (0, [])


async def test_a_follower_may_skip_all_but_the_newest_events(
    admin: Admin, followers: list[Follower]
) -> None:
    follower = followers[0]
    send(admin, 7)
    follower.skip_to_newest()
    assert (numbers(await follower.next_events()), follower.lost_count) == (list(range(1, 8)), 0)
    send(admin, 100)
    follower.skip_to_newest()
    assert numbers(await follower.next_events()) == list(range(68, 108))
    assert follower.lost_count == 60
