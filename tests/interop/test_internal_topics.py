"""The internal topics of our broker and of Apache Kafka, read with Kafka's own tools."""

import json
import re
import subprocess
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import admin
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPythonPartition

from broker.cluster.internal_topics import partition_for
from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import create_topic
from scenarios.clients.deadline import Deadline
from scenarios.clients.java import java_command
from scenarios.maven import CannotRunError, fetch_jars
from tests.interop.apache_kafka import VERSION, ApacheKafka

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
_FORMATTERS = ("OffsetsMessageFormatter", "GroupMetadataMessageFormatter")
_TOOLS = (
    f"org.apache.kafka:kafka_2.13:{VERSION}",
    f"org.apache.kafka:kafka-tools:{VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",
)
STATUSES = [
    *("Empty", "Ongoing", "Ongoing", "PrepareCommit", "CompleteCommit"),
    *("Ongoing", "PrepareAbort", "CompleteAbort"),
    *("Empty", "Ongoing", "PrepareCommit", "CompleteCommit"),
]
"""Of the transaction of `live_in_transactions`."""
_TIMEOUT_S = 60
_TIMES = (
    *("commitTimestamp", "currentStateTimestamp", "expireTimestamp"),
    *("transactionLastUpdateTimestampMs", "transactionStartTimestampMs"),
)


def live_in_a_group(servers: str, topic: str, group_id: str) -> None:
    """Join, commit and leave; commit without a member, delete an offset and the group."""
    create_topic(servers, topic, 3)
    settings = {"bootstrap.servers": servers, "group.id": group_id, "client.id": "member"}
    member = confluent_kafka.Consumer(
        {**settings, "session.timeout.ms": 6000, "enable.auto.commit": False}
    )
    member.subscribe([topic])
    deadline = Deadline()
    while len(member.assignment()) < 3 and deadline.holds("an assignment"):
        member.poll(0.1)
    member.commit(
        offsets=[
            confluent_kafka.TopicPartition(topic, 0, 1, "a note"),
            confluent_kafka.TopicPartition(topic, 2, 5),
        ],
        asynchronous=False,
    )
    member.close()
    client = admin.AdminClient({"bootstrap.servers": servers})
    altered = confluent_kafka.ConsumerGroupTopicPartitions(
        group_id, [confluent_kafka.TopicPartition(topic, 2, 7)]
    )
    client.alter_consumer_group_offsets([altered])[group_id].result(10)
    client.delete_consumer_groups([group_id])[group_id].result(10)


def live_in_transactions(servers: str, topic: str, transactional_id: str) -> None:
    """Commit a record and an offset, and abort a record, before a new instance commits one."""
    create_topic(servers, topic, 2)
    settings = {"bootstrap.servers": servers, "transactional.id": transactional_id}
    producer = confluent_kafka.Producer(settings)
    producer.init_transactions(_TIMEOUT_S)
    group = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": topic})
    offset = confluent_kafka.TopicPartition(topic, 0, 1)
    producer.begin_transaction()
    producer.produce(topic, b"committed", partition=0)
    producer.flush(_TIMEOUT_S)
    producer.send_offsets_to_transaction([offset], group.consumer_group_metadata(), _TIMEOUT_S)
    producer.commit_transaction(_TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"aborted", partition=1)
    producer.flush(_TIMEOUT_S)
    producer.abort_transaction(_TIMEOUT_S)
    second = confluent_kafka.Producer(settings)
    second.init_transactions(_TIMEOUT_S)
    second.begin_transaction()
    second.produce(topic, b"again", partition=1)
    second.commit_transaction(_TIMEOUT_S)
    group.close()


def end_offset(servers: str, topic: str, partition: int) -> int:
    """Return the end of a partition: at most this many records are there to be read."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "unused"})
    _, end = consumer.get_watermark_offsets(
        confluent_kafka.TopicPartition(topic, partition), _TIMEOUT_S
    )
    consumer.close()
    return int(end)


def formatted_records(
    servers: str, formatter: str, topic: str, key: str, key_field: str
) -> list[Any]:
    """Return the records of a key that kafka-console-consumer prints, as JSON."""
    try:
        jars = fetch_jars(f"kafka-tools-{VERSION}", _TOOLS)
    except CannotRunError as error:
        pytest.skip(str(error))
    partition = partition_for(key, 50)
    arguments = [
        *("--bootstrap-server", servers, "--topic", topic),
        *("--partition", str(partition), "--offset", "earliest"),
        *("--max-messages", str(end_offset(servers, topic, partition)), "--timeout-ms", "20000"),
        *("--formatter", f"org.apache.kafka.tools.consumer.{formatter}"),
    ]
    done = subprocess.run(
        java_command(
            f"{jars}/*",
            "org.apache.kafka.tools.consumer.ConsoleConsumer",
            *arguments,
            log_level="off",
        ),
        check=False,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
    )
    found, position = [], 0
    while position < len(done.stdout.rstrip()):  # there is nothing between two records
        record, position = json.JSONDecoder().raw_decode(done.stdout, position)
        found.append(record)
    assert found, done.stderr
    return [record for record in found if record["key"]["data"][key_field] == key]


def comparable(records: list[Any]) -> list[Any]:
    """Return the records with times and member ids that are the same on every cluster.

    The deletions come last and sorted: Kafka deletes the offsets of a group in no fixed order.
    """
    text = json.dumps(records)
    times = "|".join(_TIMES)
    text = re.sub(rf'"({times})": \d+', r'"\1": "TIME"', text)
    text = re.sub(r"member-[0-9a-f-]{36}", "MEMBER", text)
    compared: list[Any] = json.loads(text)
    kept = [record for record in compared if record["value"] is not None]
    deletions = compared[len(kept) :]
    assert all(record["value"] is None for record in deletions)
    return kept + sorted(deletions, key=json.dumps)


@pytest.mark.long
@pytest.mark.parametrize("formatter", _FORMATTERS)
def test_the_records_of_a_group_are_those_of_apache_kafka(
    untouched_kafka: MockKafka, apache_kafka: ApacheKafka, topic: str, formatter: str
) -> None:
    read = []
    for servers in (untouched_kafka.bootstrap_servers, apache_kafka.bootstrap_servers):
        live_in_a_group(servers, topic, topic)
        records = formatted_records(servers, formatter, OFFSETS_TOPIC, topic, "group")
        read.append(comparable(records))
    ours, expected = read
    assert len(expected) >= 4
    assert ours == expected


@pytest.mark.long
def test_the_records_of_a_transactional_id_are_those_of_apache_kafka(
    untouched_kafka: MockKafka, apache_kafka: ApacheKafka, topic: str
) -> None:
    read = []
    for servers in (untouched_kafka.bootstrap_servers, apache_kafka.bootstrap_servers):
        live_in_transactions(servers, topic, topic)
        records = formatted_records(
            servers,
            "TransactionLogMessageFormatter",
            TRANSACTIONS_TOPIC,
            topic,
            "transactionalId",
        )
        values = [record["value"]["data"] for record in records]
        assert len({value.pop("producerId") for value in values}) == 1
        for value in values:  # Kafka's topics are in the order of a hash table
            (value["transactionPartitions"] or []).sort(key=lambda entry: entry["topic"])
        read.append(comparable(records))
    ours, expected = read
    statuses = [record["value"]["data"]["transactionStatus"] for record in expected]
    assert statuses == STATUSES
    assert ours == expected


def test_consumers_and_administrators_see_the_topic_and_its_records(kafka: MockKafka) -> None:
    servers = kafka.bootstrap_servers
    live_in_a_group(servers, "seen", "watched")
    assert OFFSETS_TOPIC in admin.AdminClient({"bootstrap.servers": servers}).list_topics().topics
    assert OFFSETS_TOPIC not in [topic.name for topic in kafka.topics()]
    listed = {topic.name: topic for topic in kafka.topics(internal=True)}
    assert listed[OFFSETS_TOPIC].is_internal
    partition = partition_for("watched", 50)
    records = [record for record in kafka.records(OFFSETS_TOPIC) if record.partition == partition]
    written = [record for record in records if b"watched" in (record.key or b"")]
    assert written
    assert written[-1].value is None


def test_kafka_python_reads_the_topic_by_its_name(kafka: MockKafka) -> None:
    servers = kafka.bootstrap_servers
    live_in_a_group(servers, "read", "read")
    reader: Any = KafkaConsumer(bootstrap_servers=servers, group_id=None)
    try:
        partition = KafkaPythonPartition(OFFSETS_TOPIC, partition_for("read", 50))
        reader.assign([partition])
        reader.seek_to_beginning(partition)
        end = reader.end_offsets([partition])[partition]
        found: list[Any] = []
        deadline = Deadline()
        while len(found) < end and deadline.holds(f"{end} records"):
            found += reader.poll(500).get(partition, [])
    finally:
        reader.close()
    assert [record.offset for record in found] == list(range(end))
