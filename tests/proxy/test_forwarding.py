"""Requests that somebody looks at: fault rules, the journal and observers."""

from typing import Any

import pytest

from broker.faults import fault_rule
from broker.journal.lines import Entry, Outcome
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.batch_builder import BatchBuilder
from protocol.codec import decode_response
from proxy.forwarding import proxied_route
from tests.proxy.served_proxy import RawClient, Served, serving, until

PRODUCE_VERSION = 9


def built_batch() -> bytes:
    builder = BatchBuilder("none", 1000)
    builder.append(1, None, b"value", ())
    return builder.build()


def produce_request(acks: int = -1) -> Any:
    made = messages.ProduceRequest.TopicProduceData
    partition = made.PartitionProduceData(index=0, records=built_batch())
    topic = made(name="orders", partition_data=[partition])
    return messages.ProduceRequest(
        transactional_id=None, acks=acks, timeout_ms=1000, topic_data=[topic]
    )


async def produce(client: RawClient) -> Any:
    response = await client.ask(ApiKey.PRODUCE, PRODUCE_VERSION, produce_request())
    return response.responses[0].partition_responses[0]


def add(served: Served, **fields: Any) -> None:
    served.proxy.forwarding.faults.add(fault_rule(**fields), served.proxy.clock.now_ms())


def end_offset(served: Served) -> int:
    topic = served.cluster.cluster.topics.get("orders")
    assert topic is not None
    return topic.partitions[0].log.log_end_offset


async def test_an_error_before_handling_never_gets_to_the_cluster() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.metadata("orders")
        add(served, api="Produce", error="NOT_ENOUGH_REPLICAS", times=1)
        assert (await produce(client)).error_code == 19
        assert end_offset(served) == 0
        assert (await produce(client)).error_code == 0
        assert end_offset(served) == 1


async def test_an_error_before_the_response_comes_after_the_append() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.metadata("orders")
        add(
            served, api="Produce", error="NOT_ENOUGH_REPLICAS", at="before_response", topic="orders"
        )
        assert (await produce(client)).error_code == 19
        assert end_offset(served) == 1


async def test_a_lost_response_closes_the_connection_after_the_append() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.metadata("orders")
        add(served, api="Produce", drop="before_response")
        client.send(ApiKey.PRODUCE, PRODUCE_VERSION, produce_request())
        assert await client.frame() == b""
        assert end_offset(served) == 1


async def test_a_throttle_is_in_the_response_and_mutes_the_connection() -> None:
    async with serving() as served:
        client = await served.connect()
        add(served, api="Metadata", throttle_time_ms=60_000, times=1)
        assert (await client.metadata()).throttle_time_ms == 60_000
        (protocol,) = served.proxy.protocols
        assert protocol.connection is not None
        assert protocol.connection.muted_until_ms > served.proxy.clock.now_ms()
        client.send(ApiKey.METADATA, 12, messages.MetadataRequest(topics=[]))
        served.proxy.timer_driver.advance(60_000)
        assert (await client.response(ApiKey.METADATA, 12)).throttle_time_ms == 0


async def test_a_throttle_of_produce_is_in_its_response() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.metadata("orders")
        add(served, api="Produce", throttle_time_ms=700, mute=False, times=1)
        response = await client.ask(ApiKey.PRODUCE, PRODUCE_VERSION, produce_request())
        assert response.throttle_time_ms == 700
        assert response.responses[0].partition_responses[0].base_offset == 0


async def test_responses_keep_the_order_of_requests_when_a_rule_comes_in_between() -> None:
    async with serving() as served:
        client = await served.connect()
        await client.metadata("orders")
        waiting = messages.FetchRequest(
            max_wait_ms=300,
            min_bytes=1,
            max_bytes=1000,
            isolation_level=0,
            session_id=0,
            session_epoch=-1,
            topics=[
                messages.FetchRequest.FetchTopic(
                    topic="orders",
                    partitions=[
                        messages.FetchRequest.FetchTopic.FetchPartition(
                            partition=0, fetch_offset=0, partition_max_bytes=1000
                        )
                    ],
                )
            ],
            forgotten_topics_data=[],
            rack_id="",
        )
        client.send(ApiKey.FETCH, 12, waiting, correlation_id=1)
        await client.writer.drain()
        (cluster_side,) = served.cluster.protocols
        await until(lambda: cluster_side.is_waiting)
        add(served, api="Metadata", error="INVALID_REQUEST", times=1)
        client.send(ApiKey.METADATA, 12, messages.MetadataRequest(topics=[]), correlation_id=2)
        client.send(ApiKey.METADATA, 12, messages.MetadataRequest(topics=[]), correlation_id=3)
        found = [int.from_bytes((await client.frame())[4:8]) for _ in range(3)]
        assert found == [1, 2, 3]
        client.send(ApiKey.METADATA, 12, messages.MetadataRequest(topics=[]), correlation_id=4)
        assert (await client.frame())[4:8] == (4).to_bytes(4)


@pytest.mark.parametrize("is_looked_at", [False, True])
async def test_produce_without_acknowledgement_shifts_no_response(*, is_looked_at: bool) -> None:
    async with serving() as served:
        served.proxy.forwarding.journal.is_enabled = is_looked_at
        client = await served.connect()
        await client.metadata("orders")
        client.send(ApiKey.PRODUCE, PRODUCE_VERSION, produce_request(acks=0), correlation_id=5)
        assert (await client.metadata("orders")).topics[0].name == "orders"
        assert end_offset(served) == 1
        if is_looked_at:
            entry = next(e for e in served.proxy.forwarding.journal if e.number == 2)
            assert isinstance(entry, Entry)
            assert entry.outcome is Outcome.NO_RESPONSE


async def test_the_journal_has_requests_with_names_of_topics_by_id() -> None:
    async with serving() as served:
        dispatcher = served.proxy.forwarding
        dispatcher.journal.is_enabled = True
        client = await served.connect(served.proxy.cluster.brokers[1].port)
        await client.metadata("orders")  # creates it
        found = await client.metadata("orders")
        topic_id = found.topics[0].topic_id
        assert dispatcher.faults.topic_name(topic_id) == "orders"
        _, entry = dispatcher.journal
        assert isinstance(entry, Entry)
        assert (entry.context.broker_id, entry.context.client_id) == (1, "client")
        assert entry.response is not None
        shown = decode_response(entry.response, ApiKey.METADATA, 12)
        assert shown.brokers[0].port == served.proxy.cluster.brokers[1].port


async def test_observers_get_what_the_cluster_got_and_its_response() -> None:
    async with serving() as served:
        seen: list[tuple[int, int, bool]] = []
        served.proxy.forwarding.observers.append(
            lambda context, request, frame: seen.append(
                (context.api_key, int.from_bytes(request[4:8]), frame is not None)
            )
        )
        client = await served.connect()
        await client.metadata("orders")
        client.send(ApiKey.PRODUCE, PRODUCE_VERSION, produce_request(acks=0), correlation_id=9)
        await client.metadata()
        assert seen == [(3, 1, True), (0, 9, False), (3, 1, True)]


async def test_a_rule_on_an_unknown_version_warns_once() -> None:
    async with serving() as served:
        add(served, delay_ms=1)
        client = await served.connect()
        for _ in range(2):
            frame = b"\x12\x67\0\3\0\0\0\7\xff\xff"
            client.writer.write(len(frame).to_bytes(4) + frame)
        assert await client.frame() == b""  # our broker does not know it
        lines = [line for line in served.logs if "unknown request" in line["event"]]
        assert [(line["api_key"], line["api_version"]) for line in lines] == [(0x1267, 3)]


async def test_a_rule_that_only_a_cluster_can_carry_out_is_refused() -> None:
    async with serving() as served:
        with pytest.raises(ValueError, match="this is a proxy"):
            add(served, api="Metadata", stale_metadata=True)


async def test_a_rule_on_a_topic_matches_all_fetches() -> None:
    async with serving() as served:
        add(served, api="Fetch", topic="orders", delay_ms=0)
        client = await served.connect()
        await client.metadata("orders")
        request = messages.FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1000,
            isolation_level=0,
            session_id=5,
            session_epoch=1,
            topics=[],
            forgotten_topics_data=[],
            rack_id="",
        )
        assert (await client.ask(ApiKey.FETCH, 12, request)).error_code == 70
        request.session_id = request.session_epoch = 0
        assert (await client.ask(ApiKey.FETCH, 12, request)).session_id == 0


async def test_a_stopped_broker_is_one_that_clients_cannot_reach() -> None:
    async with serving() as served:
        port = served.proxy.cluster.brokers[1].port
        client = await served.connect(port)
        await client.metadata()
        add(served, stop_broker=1, elect=False, at_once=True)
        assert await client.frame() == b""
        with pytest.raises(ConnectionRefusedError):
            await served.connect(port)
        add(served, start_broker=1, at_once=True)
        again = await served.connect(port)
        assert len((await again.metadata()).brokers) == 1


async def test_a_reset_keeps_brokers_and_their_ports() -> None:
    async with serving(2) as served:
        client = await served.connect()
        await client.metadata("orders")
        port = served.proxy.cluster.brokers[2].port
        add(served, api="Metadata", hang="before_handling")
        served.proxy.reset()
        assert await client.frame() == b""
        again = await served.connect(port)
        assert len((await again.metadata()).brokers) == 2
        assert served.proxy.cluster.brokers[2].port == port


def test_a_route_knows_the_versions_of_its_schema() -> None:
    route = proxied_route(ApiKey.API_VERSIONS)
    assert (route.version_min, route.version_max, route.flexible_min) == (0, 5, 3)
    assert route.tagged_header_min == 6
    assert proxied_route(ApiKey.PRODUCE).is_raw
