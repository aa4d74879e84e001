"""Places of connections at the admin port: deadlines, and who gives way when all are taken."""

import asyncio
import gzip
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from structlog.testing import capture_logs

from broker.http_admin import places
from broker.http_admin.places import Connection, Places
from tests.broker.http_admin.admin_server import Site, serving_site

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
WAIT = b"GET /v1/requests/wait HTTP/1.1\r\nHost: localhost\r\n\r\n"
_POST = b"POST /v1/topics HTTP/1.1\r\nHost: localhost\r\n"
POST = _POST + b"Content-Length: 12\r\n\r\n" + b'{"name":"t"}'
CHUNKED = _POST + b"Transfer-Encoding: chunked\r\n\r\n" + b'c\r\n{"name":"t"}\r\n0\r\n\r\n'
_GZIPPED_BODY = gzip.compress(b'{"name":"t"}', mtime=0)
GZIPPED = (
    _POST
    + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(_GZIPPED_BODY)
    + _GZIPPED_BODY
)
HALF_HEAD = GET[:20]
HALF_BODY = b"POST /v1/topics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"


class Caller:
    """A TCP client of the admin port."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, request: bytes = GET) -> bytes:
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if b"content-length" in line)
        return head + await self.reader.readexactly(int(length.split(b":")[1]))

    async def is_disconnected(self) -> bool:
        """Wait for the end of the connection; False if a response came before."""
        try:
            return await self.reader.read() == b""
        except ConnectionResetError:
            return True


class Callers:
    """The clients of one admin port."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._connected: list[Caller] = []

    async def connect(self, sent: bytes = b"") -> Caller:
        port = int(self.site.url.rpartition(":")[2])
        caller = Caller(*await asyncio.open_connection("127.0.0.1", port))
        self._connected.append(caller)
        caller.writer.write(sent)
        return caller

    async def close(self) -> None:
        for caller in self._connected:
            caller.writer.close()
            with suppress(ConnectionError):
                await caller.writer.wait_closed()


@asynccontextmanager
async def serving(connections_max: int = sys.maxsize) -> AsyncIterator[Callers]:
    async with serving_site(connections_max=connections_max) as site:
        callers = Callers(site)
        try:
            yield callers
        finally:
            await callers.close()


@pytest.mark.parametrize("sent", [b"", HALF_HEAD])
async def test_a_head_that_does_not_come_in_time_closes_the_connection(
    monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(places, "HEAD_S_MAX", 0)
    async with serving() as callers:
        caller = await callers.connect(sent)
        assert await caller.is_disconnected()


async def test_the_head_of_a_second_request_has_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving() as callers:
        caller = await callers.connect()
        assert b"200 OK" in await caller.ask()
        monkeypatch.setattr(places, "HEAD_S_MAX", 0)
        caller.writer.write(HALF_HEAD)
        assert await caller.is_disconnected()


@pytest.mark.parametrize("request_before", [GET, GET + GET, POST, CHUNKED])
@pytest.mark.parametrize("half", [HALF_HEAD, b"GET / HTTP/1.1\r\n"])
async def test_a_half_head_behind_a_request_in_one_read_has_the_same_time(
    monkeypatch: pytest.MonkeyPatch, request_before: bytes, half: bytes
) -> None:
    body_is_complete = Places.body_is_complete

    def give_no_time(*arguments: Any) -> None:
        body_is_complete(*arguments)
        monkeypatch.setattr(places, "HEAD_S_MAX", 0)

    monkeypatch.setattr(Places, "body_is_complete", give_no_time)
    async with serving() as callers:
        caller = await callers.connect()
        await caller.ask(request_before + half)
        with suppress(ConnectionResetError):
            await caller.reader.read()  # to the end of the connection


@pytest.mark.parametrize("request_before", [GET, POST, CHUNKED, GZIPPED])
async def test_an_idle_connection_stays(
    monkeypatch: pytest.MonkeyPatch, request_before: bytes
) -> None:
    async with serving() as callers:
        caller = await callers.connect()
        await caller.ask(request_before)
        monkeypatch.setattr(places, "HEAD_S_MAX", 0)
        other = await callers.connect()
        assert await other.is_disconnected()
        monkeypatch.undo()
        assert b"200 OK" in await caller.ask()


@pytest.mark.parametrize("half", [HALF_HEAD, HALF_BODY])
async def test_the_oldest_unfinished_request_gives_way_to_a_new_connection(half: bytes) -> None:
    async with serving(connections_max=3) as callers:
        idle = await callers.connect()
        await idle.ask()
        silent = [await callers.connect(half) for _ in range(6)]
        talker = await callers.connect()
        assert b"200 OK" in await talker.ask()
        assert [await caller.is_disconnected() for caller in silent[:5]] == [True] * 5
        assert b"200 OK" in await idle.ask()
        assert not silent[5].reader.at_eof()


async def test_without_unfinished_requests_the_longest_idle_connection_gives_way() -> None:
    async with serving(connections_max=2) as callers:
        first, second = await callers.connect(), await callers.connect()
        for caller in (first, second, first):
            await caller.ask()
        third = await callers.connect()
        assert b"200 OK" in await third.ask()
        assert await second.is_disconnected()
        assert b"200 OK" in await first.ask()


async def test_requests_in_progress_keep_their_places_and_one_line_is_logged() -> None:
    async with serving(connections_max=2) as callers:
        waiting = [await callers.connect(WAIT) for _ in range(2)]
        while len(callers.site.admin.journal._listeners) < 2:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0)
        with capture_logs() as logs:
            for _ in range(5):
                refused = await callers.connect(GET)
                assert await refused.is_disconnected()
        assert [entry["event"] for entry in logs] == ["admin port closes connections"]
        assert (logs[0]["places"], logs[0]["closed"]) == (2, 1)
        assert not any(caller.reader.at_eof() for caller in waiting)


class _Transport(asyncio.Transport):
    is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


class _Protocol(asyncio.Protocol):
    """Stands for aiohttp's protocol."""


def _connection() -> tuple[Connection, _Transport]:
    protocol: Any = _Protocol()
    connection, transport = Connection(Places(1), protocol), _Transport()
    connection.connection_made(transport)
    return connection, transport


async def test_a_client_that_does_not_read_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "WRITE_S_MAX", 0)
    connection, transport = _connection()
    connection.pause_writing()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert transport.is_aborted


async def test_a_client_that_reads_again_stays_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "WRITE_S_MAX", 0)
    connection, transport = _connection()
    connection.pause_writing()
    connection.resume_writing()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not transport.is_aborted
