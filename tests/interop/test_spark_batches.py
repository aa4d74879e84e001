"""Batch jobs with Spark's own Kafka source and sink."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import kafka
import pytest
from kafka.admin import KafkaAdminClient

from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import create_topic
from tests.interop.spark_connector import Connector, Options, Row, offsets, write_at
from tests.interop.transactional_clients import Confluent

OLD_OFFSET_READER = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"


def numbered(topic: str, partition: int, count: int) -> list[Row]:
    return [Row(topic, partition, None, b"%d" % number) for number in range(count)]


@contextmanager
def setting(connector: Connector, key: str, value: str) -> Iterator[None]:
    connector.spark.conf.set(key, value)
    try:
        yield
    finally:
        connector.spark.conf.unset(key)


@pytest.mark.parametrize(
    "compression",
    [
        "none",
        "zstd",
        *(pytest.param(codec, marks=pytest.mark.long) for codec in ("gzip", "snappy", "lz4")),
    ],
)
def test_spark_reads_what_it_writes(
    connector: Connector, kafka_of_three: MockKafka, topic: str, compression: str
) -> None:
    create_topic(kafka_of_three.bootstrap_servers, topic, partition_count=3)
    written = [
        Row(topic, 0, b"key", b"value", (("a", b"1"), ("a", None), ("b", b""))),
        Row(topic, 0, None, b"no key"),
        Row(topic, 1, b"no value", None),
        Row(topic, 1, b"", b""),
        Row(topic, 2, b"large", b"x" * 500_000),
        *numbered(topic, 2, 500),
    ]
    connector.write(written, {"kafka.compression.type": compression})
    read = connector.read({"subscribe": topic}).orderBy("partition", "offset").collect()
    assert connector.rows({"subscribe": topic}) == written
    places = [(row.partition, row.offset) for row in read]
    assert places == [(0, 0), (0, 1), (1, 0), (1, 1), *((2, offset) for offset in range(501))]
    assert {row.timestampType for row in read} == {0}


def test_the_first_write_creates_the_topic_with_auto_creation(
    connector: Connector, kafka_of_three: MockKafka, topic: str
) -> None:
    connector.write([Row(topic, 0, None, b"first")])
    assert connector.rows({"subscribe": topic}) == [Row(topic, 0, None, b"first")]


def test_a_range_is_read_by_offsets(
    connector: Connector, kafka_of_three: MockKafka, topic: str
) -> None:
    create_topic(kafka_of_three.bootstrap_servers, topic, partition_count=2)
    rows = numbered(topic, 0, 10), numbered(topic, 1, 10)
    connector.write(rows[0] + rows[1])
    read = connector.rows(
        {
            "subscribe": topic,
            "startingOffsets": offsets(topic, {0: 3, 1: -2}),
            "endingOffsets": offsets(topic, {0: -1, 1: 4}),
        }
    )
    assert read == rows[0][3:] + rows[1][:4]


def test_a_range_is_read_by_timestamps(
    connector: Connector, kafka_of_three: MockKafka, topic: str
) -> None:
    create_topic(kafka_of_three.bootstrap_servers, topic)
    write_at(kafka_of_three.bootstrap_servers, topic, 0, [1000, 2000, 3000, 4000, 5000])

    def values(options: Options) -> list[bytes | None]:
        return [row.value for row in connector.rows({"subscribe": topic, **options})]

    assert values({"startingTimestamp": 2000, "endingTimestamp": 4000}) == [b"2000", b"3000"]
    of_each = {
        "startingOffsetsByTimestamp": offsets(topic, {0: 2001}),
        "endingOffsetsByTimestamp": offsets(topic, {0: 4001}),
    }
    assert values({**of_each}) == [b"3000", b"4000"]
    # No record is that late: an error, no records, or all records up to the end.
    assert values({"startingTimestamp": 2000, "endingTimestamp": 9000})[-1:] == [b"5000"]
    late: Options = {"startingTimestamp": 9000}
    assert values({**late, "startingOffsetsByTimestampStrategy": "latest"}) == []
    with pytest.raises(Exception, match="No offset matched"):
        values(late)


def test_several_topics_are_read_by_list_by_pattern_and_by_partition(
    connector: Connector, kafka_of_three: MockKafka, topic: str
) -> None:
    topics = [f"{topic}.{name}" for name in ("a", "b", "other")]
    for name in topics:
        create_topic(kafka_of_three.bootstrap_servers, name, partition_count=2)
    written = [Row(name, partition, None, b"v") for name in topics for partition in (0, 1)]
    connector.write(written)
    assert connector.rows({"subscribe": ",".join(topics)}) == written
    assert connector.rows({"subscribePattern": rf"{topic}\.[ab]"}) == written[:4]
    assert connector.rows({"assign": f'{{"{topics[1]}": [1], "{topics[2]}": [0]}}'}) == written[3:5]


def test_few_partitions_are_read_by_many_tasks(
    connector: Connector, kafka_of_three: MockKafka, topic: str
) -> None:
    create_topic(kafka_of_three.bootstrap_servers, topic, partition_count=2)
    written = numbered(topic, 0, 60) + numbered(topic, 1, 60)
    connector.write(written)
    options = {"subscribe": topic, "minPartitions": 6}
    assert connector.read(options).rdd.getNumPartitions() == 6
    assert connector.rows(options) == written


def test_read_committed_omits_aborted_and_open_transactions(
    connector: Connector, kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    create_topic(servers, topic, partition_count=2)
    producer = Confluent(servers, topic)
    producer.start()

    def send(*values: bytes) -> None:
        producer.begin()
        producer.send(topic, *values)

    send(b"a", b"b")
    producer.commit()
    send(b"aborted")
    producer.abort()
    send(b"c")
    producer.commit()
    send(b"open")
    connector.write([Row(topic, 0, None, b"behind"), Row(topic, 1, None, b"other partition")])

    def values(**options: str) -> list[bytes | None]:
        return [row.value for row in connector.rows({"subscribe": topic, **options})]

    committed = {"kafka.isolation.level": "read_committed"}
    assert values(**committed) == [b"a", b"b", b"c", b"other partition"]
    # The markers of the transactions have offsets, too, and none of them is a record.
    from_the_middle = {"startingOffsets": offsets(topic, {0: 1, 1: 0})}
    assert values(**committed, **from_the_middle, minPartitions="4") == [
        b"b",
        b"c",
        b"other partition",
    ]
    everything = [b"a", b"b", b"aborted", b"c", b"open", b"behind", b"other partition"]
    assert values() == everything
    producer.commit()
    producer.close()
    everything.remove(b"aborted")
    assert values(**committed) == everything


def test_offsets_by_consumer_group_work(
    connector: Connector, kafka_of_three: MockKafka, topic: str
) -> None:
    create_topic(kafka_of_three.bootstrap_servers, topic, partition_count=2)
    written = numbered(topic, 0, 5) + numbered(topic, 1, 5)
    connector.write(written)
    with setting(connector, OLD_OFFSET_READER, "true"):
        assert connector.rows({"subscribe": topic}) == written


def test_concurrent_tasks_share_an_idempotent_producer(
    connector: Connector, kafka_of_three: MockKafka, topic: str
) -> None:
    create_topic(kafka_of_three.bootstrap_servers, topic)
    frame = connector.spark.range(2000, numPartitions=4).selectExpr("cast(id as string) value")
    connector.write_frame(frame, {"topic": topic})
    read = connector.rows({"subscribe": topic})
    assert sorted(int(row.value or b"") for row in read) == list(range(2000))
    partition = kafka.TopicPartition(topic, 0)
    with closing(KafkaAdminClient(bootstrap_servers=kafka_of_three.bootstrap_servers)) as admin:
        [producer] = admin.describe_producers([partition])[partition].active_producers
    assert (producer.producer_epoch, producer.last_sequence) == (0, 1999)


def test_a_missing_topic_is_an_error_in_spark(
    connector: Connector, kafka_of_three: MockKafka, topic: str
) -> None:
    with pytest.raises(Exception, match="UnknownTopicOrPartition"):
        connector.rows({"subscribe": topic})
    with pytest.raises(Exception, match="not present in metadata"):
        connector.write([Row(topic, 7, None, b"no such partition")], {"kafka.max.block.ms": 300})


def test_spark_authenticates(connector: Connector, topic: str) -> None:
    config = {
        "listeners": "PLAINTEXT://:0,SASL_PLAINTEXT://:0",
        "sasl.users": "alice:secret-of-alice",
    }
    login = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    written = numbered(topic, 0, 10)
    with MockKafka(config=config) as secured:
        create_topic(secured.bootstrap_servers, topic)
        alice: Options = {
            "kafka.bootstrap.servers": secured.bootstrap_servers_of("SASL_PLAINTEXT"),
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": "SCRAM-SHA-512",
            "kafka.sasl.jaas.config": f'{login} username="alice" password="secret-of-alice";',
        }
        connector.write(written, alice)
        assert connector.rows({**alice, "subscribe": topic}) == written
        with pytest.raises(Exception, match="SaslAuthenticationException"):
            connector.rows(
                {
                    **alice,
                    "subscribe": topic,
                    "kafka.sasl.jaas.config": f'{login} username="alice" password="wrong";',
                }
            )
