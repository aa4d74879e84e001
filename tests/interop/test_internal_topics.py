"""`__consumer_offsets` of our broker and of Apache Kafka, read with Kafka's own tools."""

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
_FORMATTERS = ("OffsetsMessageFormatter", "GroupMetadataMessageFormatter")
_TOOLS = (
    f"org.apache.kafka:kafka_2.13:{VERSION}",
    f"org.apache.kafka:kafka-tools:{VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",
)
_TIMEOUT_S = 60
_TIMES = ("commitTimestamp", "currentStateTimestamp", "expireTimestamp")


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


def formatted_records(servers: str, group_id: str, formatter: str) -> list[Any]:
    """Return the records of a group that kafka-console-consumer prints, as JSON."""
    try:
        jars = fetch_jars(f"kafka-tools-{VERSION}", _TOOLS)
    except CannotRunError as error:
        pytest.skip(str(error))
    arguments = [
        *("--bootstrap-server", servers, "--topic", OFFSETS_TOPIC),
        *("--partition", str(partition_for(group_id, 50)), "--offset", "earliest"),
        *("--formatter", f"org.apache.kafka.tools.consumer.{formatter}", "--timeout-ms", "4000"),
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
    return [record for record in found if record["key"]["data"]["group"] == group_id]


def comparable(records: list[Any]) -> list[Any]:
    """Return the records with times and member ids that are the same on every cluster.

    The deletions come last and sorted: Kafka deletes the offsets of a group in no fixed order.
    """
    text = json.dumps(records)
    times = "|".join(_TIMES)
    text = re.sub(rf'"({times})": \d+', r'"\1": "TIME"', text)
    text = re.sub(r"member-[0-9a-f-]{36}", "MEMBER", text)
    compared: list[Any] = json.loads(text)
    deletions = [record for record in compared if record["value"] is None]
    assert compared[-len(deletions) :] == deletions
    return compared[: -len(deletions)] + sorted(deletions, key=json.dumps)


@pytest.mark.long
@pytest.mark.parametrize("formatter", _FORMATTERS)
def test_the_records_of_a_group_are_those_of_apache_kafka(
    untouched_kafka: MockKafka, apache_kafka: ApacheKafka, topic: str, formatter: str
) -> None:
    read = []
    for servers in (untouched_kafka.bootstrap_servers, apache_kafka.bootstrap_servers):
        live_in_a_group(servers, topic, topic)
        read.append(comparable(formatted_records(servers, topic, formatter)))
    ours, expected = read
    assert len(expected) >= 4
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
