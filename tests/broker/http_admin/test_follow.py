"""Wait for requests, and follow them."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from broker.http_admin import event_feed, follow
from broker.http_admin.follow import FollowQuery, export_requests, follow_requests, wait_for_request
from broker.http_admin.requests import JournalQuery, WaitQuery
from broker.http_admin.state import Admin
from tests.broker.cluster_builder import NOW_MS
from tests.broker.connection_driver import Client, fetch_frame, metadata_frame
from tests.broker.http_admin.admin_server import make_admin
from tests.broker.journal.journalled_cluster import produce_frame


def listener_count(admin: Admin) -> int:
    return len(admin.journal._listeners)


async def events(stream: AsyncIterator[bytes], count: int) -> list[tuple[str, dict[str, Any]]]:
    found = []
    async for chunk in stream:
        for event in chunk.split(b"\n\n")[:-1]:
            if not event.startswith(b":"):
                fields = dict(line.split(b": ", 1) for line in event.split(b"\n"))
                found.append((fields[b"event"].decode(), json.loads(fields[b"data"])))
        if len(found) >= count:
            break
    return found


async def test_a_wait_returns_a_line_that_exists() -> None:
    admin = make_admin()
    Client(admin.cluster, dispatcher=admin.server.dispatcher).send(metadata_frame(1))
    found = await wait_for_request(admin, WaitQuery(api="Metadata", timeout_ms=0))
    assert found is not None
    assert found["api"] == "Metadata"


async def test_the_next_line_that_fits_ends_the_wait_and_removes_the_listener() -> None:
    admin = make_admin()
    waiting = asyncio.create_task(wait_for_request(admin, WaitQuery(topic="a")))
    await asyncio.sleep(0)
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(metadata_frame(1) + produce_frame("b", 2) + produce_frame("a", 3))
    client.send(produce_frame("a", 4))
    found = await waiting
    assert found is not None
    assert found["correlation_id"] == 3
    assert listener_count(admin) == 0


async def test_a_response_can_be_waited_for() -> None:
    admin = make_admin()
    admin.cluster.create_topic("t", [(1,)], {})
    query = WaitQuery(api="Fetch", outcome="responded")
    waiting = asyncio.create_task(wait_for_request(admin, query))
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(fetch_frame(1, "t", max_wait_ms=500))
    await asyncio.sleep(0)
    assert not waiting.done()
    client.settle(NOW_MS + 500)
    found = await waiting
    assert found is not None
    assert found["response"]["responses"]


async def test_a_wait_that_times_out_returns_null() -> None:
    admin = make_admin()
    assert await wait_for_request(admin, WaitQuery(timeout_ms=1)) is None
    assert listener_count(admin) == 0


async def test_followers_get_lines_that_fit_as_they_arrive() -> None:
    admin = make_admin()
    stream = follow_requests(admin, FollowQuery(api="Metadata", bodies=False))
    assert await anext(stream) == b": hello\n\n"
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(metadata_frame(1) + produce_frame("b", 2) + metadata_frame(3))
    heard = await events(stream, 2)
    await stream.aclose()  # type: ignore[attr-defined]
    assert [(name, line["correlation_id"]) for name, line in heard] == [
        ("request", 1),
        ("request", 3),
    ]
    assert "request" not in heard[0][1]
    assert listener_count(admin) == 0


async def test_followers_may_begin_with_earlier_lines() -> None:
    admin = make_admin()
    client = Client(admin.cluster, dispatcher=admin.server.dispatcher)
    client.send(metadata_frame(1) + metadata_frame(2) + metadata_frame(3))
    admin.journal.disconnected(client.connection, "gone", NOW_MS)

    heard = await events(follow_requests(admin, FollowQuery(since=1)), 3)
    assert [(name, line["number"]) for name, line in heard] == [
        ("request", 2),
        ("request", 3),
        ("disconnect", 4),
    ]


async def test_a_slow_follower_receives_the_count_of_lost_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_feed, "EVENTS_AHEAD_MAX", 2)
    admin = make_admin()
    stream = follow_requests(admin, FollowQuery())
    await anext(stream)
    Client(admin.cluster, dispatcher=admin.server.dispatcher).send(
        b"".join(map(metadata_frame, range(5)))
    )
    heard = await events(stream, 3)
    assert heard[0] == ("lost", {"count": 3})
    assert [line["number"] for _name, line in heard[1:]] == [4, 5]


async def test_a_follower_with_an_interval_gets_the_newest_lines_after_it() -> None:
    admin = make_admin()
    stream = follow_requests(admin, FollowQuery(interval_ms=1))
    await anext(stream)
    frames = b"".join(map(metadata_frame, range(100)))
    Client(admin.cluster, dispatcher=admin.server.dispatcher).send(frames)
    heard = await events(stream, 41)
    assert heard[0] == ("lost", {"count": 60})
    assert [line["number"] for _name, line in heard[1:]] == list(range(61, 101))


async def test_a_silent_stream_sends_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "HEARTBEAT_S", 0)
    stream = follow_requests(make_admin(), FollowQuery())
    await anext(stream)
    assert (await anext(stream)).startswith(b":")


async def test_an_export_has_one_json_document_per_line() -> None:
    admin = make_admin()
    Client(admin.cluster, dispatcher=admin.server.dispatcher).send(
        b"".join(map(metadata_frame, range(120)))
    )
    chunks = [chunk async for chunk in export_requests(admin, JournalQuery(since=10))]
    lines = [json.loads(line) for line in b"".join(chunks).splitlines()]
    assert [line["number"] for line in lines] == list(range(11, 121))
