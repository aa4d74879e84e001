"""The asyncio producer with our broker in the same event loop."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from structlog.testing import capture_logs

from client import Producer, ProducerSettings
from client.errors import UnsupportedVersionError
from client.producer.actions import Request, Response
from client.producer.delivery import (
    BufferFullError,
    Delivered,
    DeliveryTimeoutError,
    Phase,
    ProducerClosedError,
    RecordTooLargeError,
)
from tests.client.producer.served_cluster import NOBODY, serving
from tests.default_log import default_log

SHORT: dict[str, Any] = {"delivery_timeout_ms": 80, "request_timeout_ms": 50}


async def test_a_delivered_record_has_an_offset_and_a_timestamp() -> None:
    async with serving() as served, Producer(served.servers) as producer:
        first = await producer.send("orders", b"a", timestamp_ms=5)
        second = await producer.send("orders", b"b", b"key", headers=[("h", b"v")])
        assert await first == Delivered("orders", 0, 0, 5)
        assert (await second).offset == 1
        assert (await second).timestamp_ms > 5


async def test_the_end_of_the_block_waits_for_every_record() -> None:
    async with serving(num_partitions="1") as served:
        async with Producer(served.servers, ProducerSettings(linger_ms=20_000)) as producer:
            futures = [await producer.send("orders", b"%d" % number) for number in range(1_000)]
        assert [(await future).offset for future in futures] == list(range(1_000))


async def test_an_error_leaves_the_block_without_waiting() -> None:
    producer = Producer(NOBODY)
    await producer.__aenter__()
    future = await producer.send("orders", b"a")
    await producer.__aexit__(KeyError, KeyError(), None)
    with pytest.raises(ProducerClosedError):
        await future
    with pytest.raises(ProducerClosedError):
        await producer.send("orders", b"a")


async def test_a_delivery_timeout_names_its_phase() -> None:
    async with Producer(NOBODY, ProducerSettings(**SHORT)) as producer:
        future = await producer.send("orders", b"a")
        with pytest.raises(DeliveryTimeoutError) as caught:
            await future
        assert caught.value.phase is Phase.METADATA
        assert caught.value.elapsed_ms >= 80


async def test_send_waits_for_memory_and_gives_up_after_max_block_ms() -> None:
    settings = ProducerSettings(**SHORT, buffer_memory=300, max_block_ms=20)
    async with Producer(NOBODY, settings) as producer:
        futures = [await producer.send("orders", b"x") for _ in range(3)]
        with pytest.raises(BufferFullError, match="max_block_ms=20"):
            await producer.send("orders", b"x")
        with pytest.raises(RecordTooLargeError):
            await producer.send("orders", b"x" * 300)
        await asyncio.wait(futures)
        last = await producer.send("orders", b"x")
    for future in (*futures, last):
        assert isinstance(future.exception(), DeliveryTimeoutError)


async def test_send_continues_when_memory_is_released() -> None:
    async with serving() as served:
        async with Producer(served.servers, ProducerSettings(buffer_memory=400)) as producer:
            futures = [await producer.send("orders", b"x" * 100) for _ in range(50)]
        assert [(await future).offset for future in futures] == list(range(50))


async def test_a_cancelled_future_does_not_affect_other_records() -> None:
    async with serving() as served, Producer(served.servers) as producer:
        (await producer.send("orders", b"a")).cancel()
        assert (await (await producer.send("orders", b"b"))).offset == 1


async def test_without_acks_the_offset_is_unknown() -> None:
    async with serving() as served:
        settings = ProducerSettings(acks=0, enable_idempotence=False)
        async with Producer(served.servers, settings) as producer:
            assert not (await (await producer.send("orders", b"a"))).has_offset


async def test_a_broker_without_produce_fails_the_send_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from client.protocol_codec import ProtocolCodec  # noqa: PLC0415

    def refuse(self: ProtocolCodec, api_key: int) -> int:
        raise UnsupportedVersionError("no such API")

    monkeypatch.setattr(ProtocolCodec, "version_of", refuse)
    async with serving() as served, Producer(served.servers) as producer:
        future = await producer.send("orders", b"a")
        with pytest.raises(UnsupportedVersionError):
            await future


async def test_a_watcher_sees_every_request_response_and_lost_connection() -> None:
    seen: list[str] = []
    is_lost = asyncio.Event()

    class Watcher:
        def sent(self, node_id: int, request: Request, version: int, request_bytes: int) -> None:
            assert version >= 0
            assert request_bytes > 20
            seen.append(type(request).__name__)

        def responded(self, node_id: int, request: Request, response: Response) -> None:
            seen.append(type(response).__name__)

        def lost(self, node_id: int) -> None:
            is_lost.set()

    async with serving() as served, Producer(served.servers, watcher=Watcher()) as producer:
        await (await producer.send("orders", b"a"))
        # The first Metadata request creates the topic; perhaps only the second response has it.
        count = seen.count("MetadataRequest")
        assert Counter(seen) == {
            "MetadataRequest": count,
            "MetadataResponse": count,
            "InitProducerIdRequest": 1,
            "InitProducerIdResponse": 1,
            "ProduceRequest": 1,
            "ProduceResponse": 1,
        }
        assert seen[-2:] == ["ProduceRequest", "ProduceResponse"]
        await served.server.stop()
        await is_lost.wait()


@pytest.mark.parametrize(
    ("configured", "config", "in_force", "logged"),
    [
        (3, {}, 3, [(3, 10_000_000, 3)]),
        (9, {"max_in_flight_sequence_number_per_connection": "4"}, 4, [(9, 4, 4)]),
        (4, {"max_in_flight_sequence_number_per_connection": "4"}, 4, []),
        (None, {"max_in_flight_sequence_number_per_connection": "4"}, 4, []),
        (3, {"producer_state_batches": "5"}, 3, [(3, None, 3)]),
    ],
)
async def test_the_smaller_window_applies_and_a_mismatch_is_logged_once(
    configured: int | None,
    config: dict[str, str],
    in_force: int,
    logged: list[tuple[int, int | None, int]],
) -> None:
    settings = ProducerSettings(
        batch_size=1, max_in_flight_sequence_number_per_connection=configured
    )
    with default_log(), capture_logs() as logs:
        async with serving(**config) as served, Producer(served.servers, settings) as producer:
            futures = [await producer.send("orders", b"%d" % number) for number in range(50)]
            await producer.flush()
            await producer.flush()
    assert [future.result().offset for future in futures].count(-1) == 0
    assert producer.window == in_force
    mismatches = [entry for entry in logs if "differs from the broker's window" in entry["event"]]
    assert [
        (mismatch["configured"], mismatch["broker"], mismatch["in_force"])
        for mismatch in mismatches
    ] == logged


@pytest.mark.filterwarnings("ignore:delivery_timeout_ms is raised")
async def test_settings_at_their_maximum_work() -> None:
    longest = 2**63 - 1
    settings = ProducerSettings(
        linger_ms=longest,
        max_block_ms=longest,
        metadata_max_age_ms=longest,
        connection_setup_timeout_ms=longest,
        retry_backoff_ms=longest,
        retry_backoff_max_ms=longest,
        reconnect_backoff_ms=longest,
        reconnect_backoff_max_ms=longest,
    )
    async with serving() as served, Producer(served.servers, settings) as producer:
        served.server.cluster.create_topic("orders", [(1,)], {})
        future = await producer.send("orders", b"a")
        await asyncio.sleep(0.05)
        assert not future.done()
        await producer.flush()
        assert (await future).offset == 0
