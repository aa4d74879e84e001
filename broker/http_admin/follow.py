"""The operations that take time: waiting for a request, following them, bringing all of them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from broker.http_admin.operation import operation
from broker.http_admin.requests import JournalQuery, WaitQuery, journal_filter, view
from broker.http_admin.state import Admin
from broker.journal.journal import Line

EVENTS_AHEAD_MAX = 1000
"""Lines that a slow follower may lie behind, before it is told how many it has lost."""

EVENTS_PER_TURN = 100
TURN_S = 0.05
"""How often so many are told: following a quick cluster must not slow it."""

HEARTBEAT_S = 15.0
EXPORT_LINES_PER_TURN = 50
"""Decoding so many takes a few ms; then it is the cluster's turn."""


@operation("GET", "/v1/requests/wait", tag="requests")
async def wait_for_request(admin: Admin, query: WaitQuery) -> dict[str, Any] | None:
    """The first line that fits: one that is there, or the next to come or change.

    A request fits as soon as it is received; ask for `outcome=answered` to have its response. Null
    when there was none in time.
    """
    wish = journal_filter(query)
    journal = admin.journal
    for line in journal:
        if wish.fits(line, admin.topic_name):
            return view(admin, line, query)
    found: asyncio.Future[Line] = asyncio.get_running_loop().create_future()

    def look(line: Line) -> None:
        if not found.done() and wish.fits(line, admin.topic_name):
            found.set_result(line)

    end = journal.subscribe(look)
    try:
        async with asyncio.timeout(query.timeout_ms / 1000):
            return view(admin, await found, query)
    except TimeoutError:
        return None
    finally:
        end()


@operation("GET", "/v1/requests/export", tag="requests", media_type="application/x-ndjson")
async def export_requests(admin: Admin, query: JournalQuery) -> AsyncIterator[bytes]:
    """All lines that fit, one JSON document a line."""
    wish = journal_filter(query)
    for number, line in enumerate(tuple(admin.journal)):
        if wish.fits(line, admin.topic_name):
            yield msgspec.json.encode(view(admin, line, query)) + b"\n"
        if number % EXPORT_LINES_PER_TURN == 0:
            await asyncio.sleep(0)


@operation("GET", "/v1/requests/events", tag="requests", media_type="text/event-stream")
async def follow_requests(admin: Admin, query: JournalQuery) -> AsyncIterator[bytes]:
    """Lines as they come and change, as server-sent events named by their kind.

    A request that has to wait is told twice: when it came and when it was answered. With `since`
    the lines that are kept come first. Who reads too slowly is told by an event `lost`.
    """
    wish = journal_filter(query)
    journal = admin.journal
    ahead: deque[Line] = deque()
    lost_count = 0
    news = asyncio.Event()

    def take(line: Line) -> None:
        nonlocal lost_count
        ahead.append(line)
        if len(ahead) > EVENTS_AHEAD_MAX:
            ahead.popleft()
            lost_count += 1
        news.set()

    if query.since:
        ahead.extend(deque(journal, EVENTS_AHEAD_MAX))
        news.set()
    end = journal.subscribe(take)
    yield b": hello\n\n"
    try:
        while True:
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    await news.wait()
            except TimeoutError:
                yield b": still here\n\n"
                continue
            news.clear()
            if lost_count:
                yield b'event: lost\ndata: {"count": %d}\n\n' % lost_count
                lost_count = 0
            for _ in range(min(len(ahead), EVENTS_PER_TURN)):
                line = ahead.popleft()
                if wish.fits(line, admin.topic_name):
                    yield _event(view(admin, line, query))
            if ahead:
                news.set()
                await asyncio.sleep(TURN_S)
    finally:
        end()


def _event(plain: dict[str, Any]) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (
        plain["number"],
        plain["kind"].encode(),
        msgspec.json.encode(plain),
    )
