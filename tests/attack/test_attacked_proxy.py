"""The proxy between clients and brokers that send what they should not: it goes on."""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.addresses import Address
from proxy.authentication import Authentication
from proxy.client_side import ClientSide
from proxy.exchange import HEAD_BYTES_MAX, READ_BYTES_MAX, WAITING_REQUESTS_MAX, EndError, Exchange
from tests.examples import examples
from tests.proxy.served_proxy import HOST, RawClient, Served, serving, until

FRAME_BYTES_MAX = 104_857_600
PART_BYTES = 1 << 16
PASSED = pack(">hhih", 4711, 0, 7, 0)
"""A request of an API that nobody knows, without its size."""
METADATA = pack(">hhih", 3, 8, 7, 0)
PRODUCE = pack(">hhih", 0, 9, 7, 0) + b"\0"


def new_exchange() -> Exchange:
    authentication = Authentication(lambda _name: None)
    return Exchange(
        lambda _expected, frame: frame, authentication, FRAME_BYTES_MAX, defaultdict(int)
    )


def sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4) + frame


def end_of(take: Callable[[bytes], object], begin: bytes, parts: int) -> tuple[int, str]:
    """Give parts of zeros after a beginning; return at which one it ended, and why."""
    for number in range(parts):
        try:
            take(begin if number == 0 else bytes(PART_BYTES))
        except EndError as error:
            return number, str(error)
    raise AssertionError(f"{parts} parts were taken")


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.binary(max_size=200), max_size=8), st.lists(st.binary(max_size=200), max_size=8))
def test_any_bytes_of_both_sides_are_passed_on_or_end_the_connection(
    sent: list[bytes], received: list[bytes]
) -> None:
    exchange = new_exchange()
    passed = 0
    with suppress(EndError):
        for part in sent:
            passed += len(exchange.pass_requests(part))
        for part in received:
            exchange.take_responses(part)
    assert passed <= sum(map(len, sent))


def test_the_acks_of_a_request_are_not_looked_for_in_all_of_it() -> None:
    long_id = (1 << 26).to_bytes(4)  # as a varint: more bytes are in its transactional id
    begin = (FRAME_BYTES_MAX).to_bytes(4) + PRODUCE + b"\xff\xff\xff\x1f" + long_id
    number, reason = end_of(new_exchange().pass_requests, begin, 100)
    assert number * PART_BYTES <= HEAD_BYTES_MAX + PART_BYTES
    assert "undecodable PRODUCE" in reason


def test_a_token_without_a_header_is_not_collected_without_a_bound() -> None:
    exchange = new_exchange()
    exchange.authentication.takes_raw_tokens = True
    begin = (READ_BYTES_MAX + 1).to_bytes(4) + b"token"
    assert end_of(exchange.pass_requests, begin, 2) == (
        0,
        f"a SASL token of {READ_BYTES_MAX + 1} bytes is too long",
    )


def test_a_response_that_has_to_be_read_has_a_bound_and_one_that_passes_has_none() -> None:
    exchange = new_exchange()
    exchange.pass_requests(sized(METADATA))
    begin = (FRAME_BYTES_MAX + 1).to_bytes(4) + (7).to_bytes(4)
    number, reason = end_of(exchange.take_responses, begin, 2)
    assert (number, "larger than socket.request.max.bytes" in reason) == (0, True)
    exchange = new_exchange()
    exchange.pass_requests(sized(PASSED))
    begin = (0x7FFFFFFF).to_bytes(4) + (7).to_bytes(4)
    assert exchange.take_responses(begin) == [begin]
    part = bytes(PART_BYTES)
    assert exchange.take_responses(part)[0] is part


class BadBroker:
    """What answers the proxy: the answers of a test, for each request in turn."""

    def __init__(self) -> None:
        self.answer: Callable[[bytes], bytes | None] = lambda frame: sized(frame[4:8])
        """Takes a request; None closes the connection."""
        self.writers: set[asyncio.StreamWriter] = set()
        """Its connections."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        try:
            while size := await reader.read(4):
                out = self.answer(await reader.readexactly(int.from_bytes(size)))
                if out is None:
                    break
                *first, last = out.split(b"|CLOSE") if out.endswith(b"|CLOSE") else [out]
                writer.write(b"".join(first) if first else last)
                if first:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()


@asynccontextmanager
async def attacked(is_looked_at: bool) -> AsyncIterator[tuple[Served, BadBroker]]:
    bad = BadBroker()
    upstream = await asyncio.start_server(bad.serve, HOST, 0)
    address = Address(HOST, upstream.sockets[0].getsockname()[1])
    async with serving(to=[address]) as served:
        served.proxy.forwarding.journal.is_enabled = is_looked_at
        yield served, bad
    upstream.close()


async def assert_goes_on(served: Served, bad: BadBroker) -> None:
    """A client of a good broker is served, and nothing is left of the others."""
    await until(lambda: not served.proxy.protocols)
    bad.answer = lambda frame: sized(frame[4:8])
    client = await served.connect()
    client.writer.write(sized(PASSED))
    assert await client.frame() == sized((7).to_bytes(4))
    await client.close()
    await until(lambda: not (served.proxy.protocols or served.proxy.forwarding.upstreams))
    assert not any(line["log_level"] == "error" for line in served.logs), served.logs


LOOKED_AT = pytest.mark.parametrize("is_looked_at", [False, True])


@LOOKED_AT
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"\0\0\0\4\0\0\0\x08", "no response to the request"),
        (b"\0\0\0\4\0\0\0\7\0\0\0\4\0\0\0\7", "no response to a request"),
        (b"\xff\xff\xff\xff\0\0\0\7", "no response to the request"),
        (b"\0\0\0\x20\0\0\0\7half|CLOSE", "lost the connection to the broker"),
        (b"\0\0|CLOSE", "lost the connection to the broker"),
        (None, "lost the connection to the broker"),
    ],
)
async def test_a_bad_broker_closes_its_client_with_one_line(
    *, is_looked_at: bool, answer: bytes | None, reason: str
) -> None:
    async with attacked(is_looked_at) as (served, bad):
        bad.answer = lambda _frame: answer
        before = len(served.reasons())
        client = await served.connect()
        client.writer.write(sized(PASSED))
        while await client.reader.read(1000):
            pass
        [found] = served.reasons()[before:]
        assert reason in found
        await assert_goes_on(served, bad)


@LOOKED_AT
async def test_bad_bytes_of_clients_close_them_with_one_line_each(*, is_looked_at: bool) -> None:
    bytes_of = random.Random(4).randbytes
    sent = [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff" * 40,
        b"\0\0\0\1\0\0\0\0" * 2,
        *(b"\xff" + bytes_of(50) for _ in range(9)),
    ]
    sent += [(FRAME_BYTES_MAX + 1).to_bytes(4) + PASSED]
    async with attacked(is_looked_at) as (served, bad):
        before = len(served.reasons())
        for data in sent:
            client = await served.connect()
            client.writer.write(data)
            await client.reader.read()
        await until(lambda: len(served.reasons()) == before + len(sent))
        await assert_goes_on(served, bad)


async def test_a_client_is_not_read_while_very_many_of_its_requests_wait() -> None:
    async with attacked(is_looked_at=False) as (served, bad):
        bad.answer = lambda _frame: b""
        client = await served.connect()
        client.writer.write(sized(PASSED) * 4 * WAITING_REQUESTS_MAX)
        await until(lambda: any(side.is_blocked for side in served.proxy.protocols))
        sides = [side for side in served.proxy.protocols if isinstance(side, ClientSide)]
        await until(lambda: any(not side._is_holding for side in sides))
        for _ in range(100):
            await asyncio.sleep(0)
        (upstream,) = served.proxy.forwarding.upstreams.values()
        most = WAITING_REQUESTS_MAX + 256 * 1024 // len(sized(PASSED))
        assert len(upstream.exchange._expected) <= most
        for writer in bad.writers:
            writer.transport.abort()
        await assert_goes_on(served, bad)


async def test_connections_that_come_and_go_leave_nothing() -> None:
    async with attacked(is_looked_at=False) as (served, bad):

        async def visit(number: int) -> None:
            client: RawClient = await served.connect()
            client.writer.write(sized(PASSED) if number % 3 else sized(PASSED)[:5])
            if number % 3 == 1:
                assert await client.frame() == sized((7).to_bytes(4))
            client.writer.transport.abort()

        for _ in range(4):
            await asyncio.gather(*map(visit, range(50)))
        await until(lambda: not bad.writers)
        await assert_goes_on(served, bad)
