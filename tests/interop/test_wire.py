"""The wire protocol: versions, order of responses, and waiting fetches."""

import asyncio
import time
from pathlib import Path
from typing import Any

import aiokafka
import pytest

from mock_kafka import MockKafka
from protocol import messages
from protocol.api_keys import ApiKey
from scenarios.clients.aiokafka import AIOKAFKA
from scenarios.clients.confluent_kafka import confluent_consumer, create_topic
from scenarios.clients.deadline import DEADLINE_S, Deadline
from scenarios.clients.interface import Record
from scenarios.clients.kafka_python import kafka_python_consumer
from tests.interop.raw_client import RawClient

UNSUPPORTED_VERSION = 35
LONG_WAIT_MS = 15_000


def api_versions_request(version: int) -> Any:
    return messages.ApiVersionsRequest(
        version=version, client_software_name="raw", client_software_version="1.0"
    )


def ask_api_versions(client: RawClient, version: int) -> Any:
    return client.ask(
        api_versions_request(version), messages.ApiVersionsResponse, ApiKey.API_VERSIONS, version
    )


def fetch_request(
    topic: str, offsets: dict[int, int], max_wait_ms: int, min_bytes: int = 1, version: int = 11
) -> Any:
    request_class = messages.FetchRequest
    parts = [
        request_class.FetchTopic.FetchPartition(
            version=version,
            partition=partition,
            current_leader_epoch=-1,
            fetch_offset=offset,
            log_start_offset=-1,
            partition_max_bytes=1_000_000,
        )
        for partition, offset in offsets.items()
    ]
    return request_class(
        version=version,
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=50_000_000,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[request_class.FetchTopic(version=version, topic=topic, partitions=parts)],
        forgotten_topics_data=[],
        rack_id="",
    )


def receive_fetch(client: RawClient, version: int = 11) -> dict[int, Any]:
    """Return the partitions of the next response, by index."""
    _, response = client.receive(messages.FetchResponse, ApiKey.FETCH, version)
    return {
        part.partition_index: part
        for topic_response in response.responses
        for part in topic_response.partitions
    }


@pytest.mark.parametrize("version", [6, 99])
def test_an_unknown_version_of_api_versions_gets_a_response_in_version_0(
    kafka: MockKafka, version: int
) -> None:
    with RawClient(kafka.bootstrap_servers) as client:
        body = b"\x04raw\x041.0\x00"
        sent = client.send_body(ApiKey.API_VERSIONS, version, body, is_flexible=True)
        correlation_id, response = client.receive(
            messages.ApiVersionsResponse, ApiKey.API_VERSIONS, 0
        )
        assert correlation_id == sent
        assert response.error_code == UNSUPPORTED_VERSION
        [only] = response.api_keys
        assert (only.api_key, only.min_version, only.max_version) == (ApiKey.API_VERSIONS, 0, 5)
        # The same connection continues with the version in the response.
        assert ask_api_versions(client, only.max_version).error_code == 0


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_api_versions_returns_the_same_ranges(
    kafka: MockKafka, version: int
) -> None:
    with RawClient(kafka.bootstrap_servers) as client:
        found = {
            api_key.api_key: (api_key.min_version, api_key.max_version)
            for api_key in ask_api_versions(client, version).api_keys
        }
    # From 0, because otherwise older librdkafka compresses nothing.
    assert found[ApiKey.PRODUCE] == (0, 13)
    assert found[ApiKey.FETCH] == (4, 18)
    assert found[ApiKey.METADATA] == (0, 13)
    assert found[ApiKey.API_VERSIONS] == (0, 5)
    assert all(low <= high for low, high in found.values())


@pytest.mark.parametrize("version", [0, 1, 2, 14])
def test_a_version_of_produce_that_is_not_served_closes_the_connection(
    kafka: MockKafka, version: int
) -> None:
    with RawClient(kafka.bootstrap_servers) as client:
        client.send_body(ApiKey.PRODUCE, version, bytes(20), is_flexible=version > 8)
        assert client.is_closed_by_peer()


def test_an_unknown_api_closes_only_its_connection(kafka: MockKafka) -> None:
    with RawClient(kafka.bootstrap_servers) as other, RawClient(kafka.bootstrap_servers) as client:
        client.send_body(9999, 0, b"", is_flexible=False)
        assert client.is_closed_by_peer()
        assert ask_api_versions(other, 0).error_code == 0


def test_responses_come_in_the_order_of_the_requests_even_when_one_must_wait(
    kafka: MockKafka, topic: str
) -> None:
    create_topic(kafka.bootstrap_servers, topic)
    with RawClient(kafka.bootstrap_servers) as client:
        first = client.send(fetch_request(topic, {0: 0}, 300), ApiKey.FETCH, 11)
        second = client.send(api_versions_request(3), ApiKey.API_VERSIONS, 3)
        started = time.monotonic()
        assert client.receive_frame()[0] == first
        assert time.monotonic() - started >= 0.25
        assert client.receive_frame()[0] == second


def test_an_empty_fetch_waits_until_a_record_is_appended(kafka: MockKafka, topic: str) -> None:
    servers = kafka.bootstrap_servers
    create_topic(servers, topic)
    with RawClient(servers) as client:
        started = time.monotonic()
        client.send(fetch_request(topic, {0: 0}, LONG_WAIT_MS), ApiKey.FETCH, 11)
        ask_on_another_connection(servers)
        AIOKAFKA.produce(servers, topic, [Record(value=b"x")])
        assert receive_fetch(client)[0].records
        assert time.monotonic() - started < LONG_WAIT_MS / 1000


def ask_on_another_connection(servers: str) -> None:
    """Make a round trip, after which the broker has read what was sent before."""
    with RawClient(servers) as client:
        ask_api_versions(client, 0)


def test_a_fetch_waits_for_min_bytes(kafka: MockKafka, topic: str) -> None:
    servers = kafka.bootstrap_servers
    create_topic(servers, topic)
    with RawClient(servers) as client:
        client.send(fetch_request(topic, {0: 0}, LONG_WAIT_MS, 5000), ApiKey.FETCH, 11)
        AIOKAFKA.produce(servers, topic, [Record(value=b"small")])
        AIOKAFKA.produce(servers, topic, [Record(value=b"." * 5000)])
        # If the first had been enough, the second would not be in this response.
        assert len(receive_fetch(client)[0].records) > 5000


def test_a_fetch_at_the_log_end_returns_no_records(kafka: MockKafka, topic: str) -> None:
    # With a batch before the fetch offset librdkafka would report that a message is too large.
    servers = kafka.bootstrap_servers
    create_topic(servers, topic, partition_count=2)
    AIOKAFKA.produce(servers, topic, [Record(value=b"x", partition=p) for p in (0, 1)])
    with RawClient(servers) as client:
        client.send(fetch_request(topic, {0: 1, 1: 0}, LONG_WAIT_MS), ApiKey.FETCH, 11)
        parts = receive_fetch(client)
        assert not parts[0].records
        assert (parts[0].error_code, parts[0].high_watermark) == (0, 1)
        assert parts[1].records


@pytest.mark.parametrize(("offset", "error_code"), [(0, 0), (1, 0), (2, 1), (-1, 1)])
def test_an_offset_beyond_the_end_is_out_of_range_and_the_end_itself_is_not(
    kafka: MockKafka, topic: str, offset: int, error_code: int
) -> None:
    servers = kafka.bootstrap_servers
    create_topic(servers, topic)
    AIOKAFKA.produce(servers, topic, [Record(value=b"x")])
    with RawClient(servers) as client:
        client.send(fetch_request(topic, {0: offset}, 1), ApiKey.FETCH, 11)
        assert receive_fetch(client)[0].error_code == error_code


def test_librdkafkas_metadata_request_for_all_topics_is_decoded(
    kafka: MockKafka, topic: str
) -> None:
    # The count of topics has four bytes instead of one, so three follow the body.
    create_topic(kafka.bootstrap_servers, topic)
    with RawClient(kafka.bootstrap_servers) as client:
        client.send_body(ApiKey.METADATA, 13, bytes.fromhex("00000000010000"), is_flexible=True)
        _, response = client.receive(messages.MetadataResponse, ApiKey.METADATA, 13)
    assert topic in {found.name for found in response.topics}


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processor time from /proc")
def test_idle_consumers_need_almost_no_cpu_time(kafka: MockKafka, topic: str) -> None:
    servers = kafka.bootstrap_servers
    create_topic(servers, topic)

    async def poll_aiokafka_a_while() -> None:
        async with aiokafka.AIOKafkaConsumer(topic, bootstrap_servers=servers) as consumer:
            assert not await consumer.getmany(timeout_ms=1000)

    with (
        confluent_consumer(servers, group_id=topic) as confluent,
        kafka_python_consumer(servers, topic, group_id=f"{topic}-2") as python_consumer,
    ):
        confluent.subscribe([topic])
        deadline = Deadline()
        while not confluent.assignment() and deadline.holds("an assignment"):
            confluent.poll(0.1)
            python_consumer.poll(timeout_ms=100)
        before = cpu_seconds(kafka.pid)
        asyncio.run(asyncio.wait_for(poll_aiokafka_a_while(), DEADLINE_S))
        assert not python_consumer.poll(timeout_ms=1000)
        used_s = cpu_seconds(kafka.pid) - before
    # Two seconds have passed; responding to empty fetches at once would have used that CPU time.
    assert used_s < 0.3
