"""Every client reads the records of every other client, unchanged and in order."""

from dataclasses import replace

import pytest

from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.interface import Client, Record, by_partition
from scenarios.clients.python_clients import CLIENTS

# acks=all is -1; an idempotent producer needs it.
WAYS = [(0, False), (1, False), (-1, False), (-1, True)]
WAY_IDS = ["acks-0", "acks-1", "acks-all", "idempotent"]
CODECS = [(client, codec) for client in CLIENTS for codec in client.compressions]

BATCHES = [
    Record(
        value=b"value %d " % index * 5,
        key=b"key %d" % (index % 7),
        headers=(("number", b"%d" % index),) if index % 3 else (),
        partition=index % 3,
        timestamp_ms=1_700_000_000_000 + index,
    )
    for index in range(300)
]


def forget_offsets(records: list[Record]) -> list[Record]:
    return [replace(record, offset=-1) for record in records]


@pytest.mark.parametrize(("acks", "is_idempotent"), WAYS, ids=WAY_IDS)
@pytest.mark.parametrize(
    ("client", "codec"), CODECS, ids=[f"{client.name}-{codec}" for client, codec in CODECS]
)
def test_records_are_read_unchanged_and_in_order(
    kafka: MockKafka, topic: str, client: Client, codec: str, acks: int, is_idempotent: bool
) -> None:
    servers = kafka.bootstrap_servers
    create_topic(servers, topic, partition_count=3)
    sent = client.produce(
        servers, topic, BATCHES, compression=codec, acks=acks, is_idempotent=is_idempotent
    )
    found = client.read(servers, topic, 3, len(BATCHES))
    assert by_partition(forget_offsets(found)) == by_partition(BATCHES)
    for records in by_partition(found).values():
        assert [record.offset for record in records] == list(range(100))
    if acks != 0:
        assert by_partition(sent) == by_partition(found)


@pytest.mark.parametrize(
    ("writer", "codec"), CODECS, ids=[f"{client.name}-{codec}" for client, codec in CODECS]
)
def test_every_client_that_knows_the_codec_reads_what_another_wrote(
    kafka: MockKafka, topic: str, writer: Client, codec: str
) -> None:
    servers = kafka.bootstrap_servers
    create_topic(servers, topic, partition_count=3)
    sent = writer.produce(servers, topic, BATCHES, compression=codec)
    readers = [reader for reader in CLIENTS if codec in reader.compressions]
    assert len(readers) >= 2
    for reader in readers:
        found = reader.read(servers, topic, 3, len(BATCHES))
        assert by_partition(found) == by_partition(sent), reader.name


ODD_RECORDS = [
    Record(value=None, key=b"tombstone"),
    Record(value=b"", key=b"empty value"),
    Record(value=b"no key", key=None),
    Record(value=b"empty key", key=b""),
    Record(value=None, key=None),
    Record(value=b"", key=b""),
    Record(value=b"\x00\xff" * 50, key=bytes(range(256))),
    Record(value=b"v", headers=(("a", b"1"), ("a", b"2"), ("", b""), ("none", None))),
    Record(value=b"v", headers=(("naïve ☕", "naïve ☕".encode()),)),
    Record(value=b"v", headers=tuple((f"h{index}", b"x" * index) for index in range(100))),
    Record(value=b"the epoch", timestamp_ms=0),
    Record(value=b"long ago", timestamp_ms=1),
]


def can_send(client: Client, record: Record) -> bool:
    """Return whether the library accepts the record."""
    if client.name == "confluent-kafka":
        return record.timestamp_ms != 0  # which means "now" there
    if client.name == "kafka-python" and any(value is None for _, value in record.headers):
        return False
    return record.key is not None or record.value is not None


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_each_pair_of_clients_transfers_nulls_empty_values_and_many_headers(
    kafka: MockKafka, topic: str, client: Client, codec: str
) -> None:
    servers = kafka.bootstrap_servers
    records = [record for record in ODD_RECORDS if can_send(client, record)]
    client.produce(servers, topic, records, compression=codec, is_idempotent=True)
    for reader in CLIENTS:
        found = reader.read(servers, topic, 1, len(records))
        assert forget_offsets(found) == records, reader.name


@pytest.mark.parametrize("is_idempotent", [False, True])
def test_each_pair_of_clients_transfers_large_records(
    kafka: MockKafka, topic: str, client: Client, is_idempotent: bool
) -> None:
    servers = kafka.bootstrap_servers
    records = [Record(value=bytes([index]) * 900_000, key=b"%d" % index) for index in range(4)]
    client.produce(servers, topic, records, is_idempotent=is_idempotent)
    for reader in CLIENTS:
        assert forget_offsets(reader.read(servers, topic, 1, 4)) == records, reader.name


def test_one_request_with_many_partitions_loses_nothing(
    kafka: MockKafka, topic: str, client: Client
) -> None:
    servers = kafka.bootstrap_servers
    create_topic(servers, topic, partition_count=60)
    records = [Record(value=b"%d" % index, partition=index % 60) for index in range(1200)]
    sent = client.produce(servers, topic, records, is_idempotent=True)
    found = client.read(servers, topic, 60, len(records))
    assert by_partition(found) == by_partition(sent)
    assert {len(records) for records in by_partition(found).values()} == {20}


def test_several_brokers_keep_each_partition_in_order(
    kafka_of_three: MockKafka, topic: str, client: Client
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, partition_count=6, replication_factor=3)
    records = [Record(value=b"%d" % index, partition=index % 6) for index in range(1200)]
    sent = client.produce(servers, topic, records, is_idempotent=True)
    for reader in CLIENTS:
        found = reader.read(servers, topic, 6, len(records))
        assert by_partition(found) == by_partition(sent), reader.name
