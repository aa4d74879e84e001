"""Operations that take time: wait for a request, follow requests, export all of them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

import msgspec

from broker.http_admin.event_feed import EVENTS_AHEAD_MAX, Event
from broker.http_admin.operation import Problem, operation
from broker.http_admin.requests import (
    EXPORT_LINES_MAX,
    JournalQuery,
    WaitQuery,
    journal_filter,
    view,
)
from broker.http_admin.state import Admin
from broker.journal.lines import Line
from protocol.pacing import paced

SHORT_LINE_BYTES = 4 * 1024
"""A line of a longer request and response is encoded in turns with requests of clients."""

HEARTBEAT_S = 15.0
INTERVAL_MS_MAX = 10_000


class FollowQuery(JournalQuery, kw_only=True):
    """As for all lines; with `interval_ms` at least so many ms pass between two parts.

    Each part then has the newest events, at most 40, and the older ones are lost: so a follower
    costs a busy cluster little.
    """

    interval_ms: Annotated[int, msgspec.Meta(ge=0, le=INTERVAL_MS_MAX)] = 0


@operation("GET", "/v1/requests/wait", tag="requests")
async def wait_for_request(admin: Admin, query: WaitQuery) -> dict[str, Any] | None:
    """Return the first line that fits: an existing one, or the next new or changed one.

    A request fits as soon as it is received; use `outcome=responded` to wait for its response. Null
    after the timeout.
    """
    line_filter = journal_filter(query)
    journal = admin.journal
    found: asyncio.Future[Line] = asyncio.get_running_loop().create_future()

    def check(line: Line) -> None:
        if not found.done() and line_filter.fits(line, admin.topic_name):
            found.set_result(line)

    def find() -> Line | None:
        fitting = (line for line in paced(journal) if line_filter.fits(line, admin.topic_name))
        return next(fitting, None)

    end = journal.subscribe(check)
    try:
        line = await admin.in_turns(find)
        if line is None:
            async with asyncio.timeout(query.timeout_ms / 1000):
                line = await found
        return await admin.in_turns(lambda: view(admin, line, query))
    except TimeoutError:
        return None
    finally:
        end()


@operation("GET", "/v1/requests/export", tag="requests", media_type="application/x-ndjson")
async def export_requests(admin: Admin, query: JournalQuery) -> AsyncIterator[bytes]:
    """Export all lines that fit, as one JSON document per line."""
    line_filter = journal_filter(query)

    def encode(lines: Iterable[Line]) -> list[bytes]:
        return [
            msgspec.json.encode(view(admin, line, query)) + b"\n"
            for line in paced(lines)
            if line_filter.fits(line, admin.topic_name)
        ]

    lines = tuple(admin.journal)
    for start in range(0, len(lines), EXPORT_LINES_MAX):
        part = lines[start : start + EXPORT_LINES_MAX]
        for document in await admin.in_turns(partial(encode, part)):
            yield document


@operation("GET", "/v1/requests/events", tag="requests", media_type="text/event-stream")
async def follow_requests(admin: Admin, query: FollowQuery) -> AsyncIterator[bytes]:
    """Stream new and changed lines as server-sent events, named by their kind.

    A request whose response comes later is sent twice: on arrival and with its response. With
    `since` the stream begins with the lines in the journal. A client that reads too slowly gets an
    event `lost` with the number of lines.
    """
    line_filter = journal_filter(query)

    def encode(line: Line) -> bytes:
        return _event(view(admin, line, query))

    def documents(events: Iterable[Event]) -> bytes:
        return b"".join(
            admin.events.encoded(event, encode, has_bodies=query.bodies)
            for event in paced(events)
            if line_filter.fits(event.line, admin.topic_name)
        )

    with admin.events.follow() as follower:
        earlier = list(map(Event, deque(admin.journal, EVENTS_AHEAD_MAX))) if query.since else []
        yield b": hello\n\n"
        for start in range(0, len(earlier), EXPORT_LINES_MAX):
            part = earlier[start : start + EXPORT_LINES_MAX]
            yield await admin.in_turns(partial(documents, part))
        while True:
            if query.interval_ms:
                await asyncio.sleep(query.interval_ms / 1000)
                follower.skip_to_newest()
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    events = await follower.next_events()
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if follower.lost_count:
                yield b'event: lost\ndata: {"count": %d}\n\n' % follower.lost_count
                follower.lost_count = 0
            if all(
                query.bodies in event.encoded or event.line.byte_count <= SHORT_LINE_BYTES
                for event in events
            ):
                yield documents(events)
                continue
            with suppress(Problem):  # a reset has cleared the journal that they are from
                yield await admin.in_turns(partial(documents, events))


def _event(line_json: dict[str, Any]) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (
        line_json["number"],
        line_json["kind"].encode(),
        msgspec.json.encode(line_json),
    )
