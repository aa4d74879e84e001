"""All calls of confluent-kafka's AdminClient that work without security."""

from typing import Any

import pytest
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    OffsetSpec,
)
from confluent_kafka.cimpl import NewPartitions, NewTopic

from mock_kafka import MockKafka
from scenarios.clients.confluent_kafka import CONFLUENT, confluent_consumer, poll_confluent
from scenarios.clients.deadline import DEADLINE_S
from scenarios.clients.interface import Record

START_MS = 1_700_000_000_000


@pytest.fixture
def admin(kafka_of_three: MockKafka) -> Any:
    return AdminClient({"bootstrap.servers": kafka_of_three.bootstrap_servers})


def result(futures: dict[Any, Any]) -> Any:
    """Return the result of a call for one resource."""
    [future] = futures.values()
    return future.result(DEADLINE_S)


def error_of(future: Any) -> Any:
    with pytest.raises(KafkaException) as error_info:
        future.result(DEADLINE_S)
    return error_info.value.args[0]


def configs_of(admin: Any, topic: str) -> dict[str, str]:
    found = result(admin.describe_configs([ConfigResource("topic", topic)]))
    return {name: entry.value for name, entry in found.items()}


@pytest.fixture
def created(admin: Any, topic: str) -> str:
    """A topic of three partitions on three brokers."""
    result(admin.create_topics([NewTopic(topic, 3, 3)]))
    return topic


def test_topics_are_created_with_configs_and_each_topic_has_its_own_error(
    admin: Any, topic: str
) -> None:
    responses = admin.create_topics(
        [
            NewTopic(topic, 3, 3, config={"retention.ms": "100000"}),
            NewTopic("not a name", 1, 1),
            NewTopic(topic + ".big", 1, 9),
            NewTopic(topic + ".odd", 1, 1, config={"retention.ms": "soon"}),
            NewTopic(topic + ".none", 0, 1),
        ]
    )
    responses[topic].result(DEADLINE_S)
    codes = {name: error_of(future).code() for name, future in responses.items() if name != topic}
    assert codes == {
        "not a name": KafkaError.TOPIC_EXCEPTION,
        topic + ".big": KafkaError.INVALID_REPLICATION_FACTOR,
        topic + ".odd": KafkaError.INVALID_CONFIG,
        topic + ".none": KafkaError.INVALID_PARTITIONS,
    }
    assert configs_of(admin, topic)["retention.ms"] == "100000"
    again = admin.create_topics([NewTopic(topic, 3, 3)])
    assert error_of(again[topic]).code() == KafkaError.TOPIC_ALREADY_EXISTS


def test_validate_only_creates_nothing(admin: Any, topic: str) -> None:
    result(admin.create_topics([NewTopic(topic, 3, 3)], validate_only=True))
    assert topic not in admin.list_topics(timeout=DEADLINE_S).topics


def test_a_replica_assignment_is_used_unchanged(admin: Any, topic: str) -> None:
    result(admin.create_topics([NewTopic(topic, 2, replica_assignment=[[3, 1], [2, 3]])]))
    found = result(admin.describe_topics(TopicCollection([topic])))
    assert [[node.id for node in p.replicas] for p in found.partitions] == [[3, 1], [2, 3]]
    assert [p.leader.id for p in found.partitions] == [3, 2]


def test_all_topics_are_listed_with_brokers_and_controller(admin: Any, created: str) -> None:
    # The Metadata request of librdkafka 2.16 for all topics has three bytes too many.
    listed = admin.list_topics(timeout=DEADLINE_S)
    assert sorted(listed.topics[created].partitions) == [0, 1, 2]
    assert sorted(listed.brokers) == [1, 2, 3]
    assert listed.controller_id in listed.brokers
    assert len(listed.cluster_id) == 22
    assert list(admin.list_topics(created, timeout=DEADLINE_S).topics) == [created]


def test_topics_are_described_with_id_leaders_and_operations(admin: Any, created: str) -> None:
    responses = admin.describe_topics(
        TopicCollection([created, "missing"]), include_authorized_operations=True
    )
    found = responses[created].result(DEADLINE_S)
    assert found.name == created
    assert not found.is_internal
    assert {p.leader.id for p in found.partitions} == {1, 2, 3}
    assert all(len(p.isr) == len(p.replicas) == 3 for p in found.partitions)
    assert found.authorized_operations
    assert error_of(responses["missing"]).code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_the_cluster_is_described(admin: Any) -> None:
    found = admin.describe_cluster(include_authorized_operations=True).result(DEADLINE_S)
    assert sorted(node.id for node in found.nodes) == [1, 2, 3]
    assert found.controller.id in {1, 2, 3}
    assert len(found.cluster_id) == 22


def test_configs_are_altered_step_by_step(admin: Any, created: str) -> None:
    entries = [
        ConfigEntry("retention.ms", "5", incremental_operation=AlterConfigOpType.SET),
        ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.APPEND),
    ]
    resource = ConfigResource("topic", created, incremental_configs=entries)
    result(admin.incremental_alter_configs([resource]))
    configs = configs_of(admin, created)
    assert (configs["retention.ms"], configs["cleanup.policy"]) == ("5", "delete,compact")
    entries = [ConfigEntry("retention.ms", None, incremental_operation=AlterConfigOpType.DELETE)]
    resource = ConfigResource("topic", created, incremental_configs=entries)
    result(admin.incremental_alter_configs([resource]))
    configs = configs_of(admin, created)
    assert (configs["retention.ms"], configs["cleanup.policy"]) == ("-1", "delete,compact")


@pytest.mark.filterwarnings("ignore:alter_configs has been deprecated:DeprecationWarning")
def test_configs_are_replaced_as_a_whole_and_a_bad_value_changes_nothing(
    admin: Any, created: str
) -> None:
    requested = ConfigResource("topic", created, set_config={"retention.ms": "6"})
    result(admin.alter_configs([requested]))
    bad = ConfigResource("topic", created, set_config={"retention.ms": "never"})
    [future] = admin.alter_configs([bad]).values()
    assert error_of(future).code() == KafkaError.INVALID_CONFIG
    assert configs_of(admin, created)["retention.ms"] == "6"
    requested = ConfigResource("topic", created, set_config={"max.message.bytes": "5000"})
    result(admin.alter_configs([requested]))
    configs = configs_of(admin, created)
    assert (configs["retention.ms"], configs["max.message.bytes"]) == ("-1", "5000")


def test_a_broker_describes_its_configuration(admin: Any) -> None:
    found = result(admin.describe_configs([ConfigResource("broker", "2")]))
    assert found["num.partitions"].value == "1"
    assert found["log.retention.ms"].value == "-1"


def test_partitions_are_added_and_never_removed(admin: Any, created: str) -> None:
    result(admin.create_partitions([NewPartitions(created, 5)]))
    assert len(admin.list_topics(created, timeout=DEADLINE_S).topics[created].partitions) == 5
    [future] = admin.create_partitions([NewPartitions(created, 2)]).values()
    assert error_of(future).code() == KafkaError.INVALID_PARTITIONS


def test_offsets_are_listed_and_records_deleted(
    admin: Any, created: str, kafka_of_three: MockKafka
) -> None:
    records = [Record(value=b"x", timestamp_ms=START_MS + n) for n in range(10)]
    CONFLUENT.produce(kafka_of_three.bootstrap_servers, created, records)
    where = TopicPartition(created, 0)
    for spec, offset in [
        (OffsetSpec.earliest(), 0),
        (OffsetSpec.latest(), 10),
        (OffsetSpec.max_timestamp(), 9),
        (OffsetSpec.for_timestamp(START_MS + 3), 3),
        (OffsetSpec.for_timestamp(START_MS + 10), -1),
    ]:
        assert result(admin.list_offsets({where: spec})).offset == offset
    deleted = result(admin.delete_records([TopicPartition(created, 0, 4)]))
    assert deleted.low_watermark == 4
    assert result(admin.list_offsets({where: OffsetSpec.earliest()})).offset == 4
    [future] = admin.delete_records([TopicPartition(created, 0, 11)]).values()
    assert error_of(future).code() == KafkaError.OFFSET_OUT_OF_RANGE


def test_groups_are_listed_described_altered_and_deleted(
    admin: Any, created: str, kafka_of_three: MockKafka
) -> None:
    servers, group = kafka_of_three.bootstrap_servers, created
    CONFLUENT.produce(servers, created, [Record(value=b"x")] * 10)
    with confluent_consumer(servers, group_id=group) as consumer:
        consumer.subscribe([created])
        poll_confluent(consumer, 10)
        consumer.commit(asynchronous=False)
        listed = {g.group_id: g for g in admin.list_consumer_groups().result(DEADLINE_S).valid}
        assert listed[group].state == ConsumerGroupState.STABLE
        assert listed[group].type == ConsumerGroupType.CLASSIC
        found = result(admin.describe_consumer_groups([group]))
        assert (found.state, found.partition_assignor) == (ConsumerGroupState.STABLE, "range")
        [member] = found.members
        assert member.client_id == "rdkafka"
        assert [p.partition for p in member.assignment.topic_partitions] == [0, 1, 2]
        [future] = admin.delete_consumer_groups([group]).values()
        assert error_of(future).code() == KafkaError.NON_EMPTY_GROUP
    empty = admin.list_consumer_groups(states={ConsumerGroupState.EMPTY}).result(DEADLINE_S).valid
    assert group in {listing.group_id for listing in empty}
    where = [TopicPartition(created, 0, 5)]
    requested = ConsumerGroupTopicPartitions(group, where)
    altered = result(admin.alter_consumer_group_offsets([requested]))
    assert [topic_partition.error for topic_partition in altered.topic_partitions] == [None]
    listed = result(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))
    assert {p.partition: p.offset for p in listed.topic_partitions}[0] == 5
    responses = admin.delete_consumer_groups([group, "missing"])
    responses[group].result(DEADLINE_S)
    assert error_of(responses["missing"]).code() == KafkaError.GROUP_ID_NOT_FOUND


def test_an_election_without_a_change_returns_election_not_needed(admin: Any, created: str) -> None:
    where = TopicPartition(created, 0)
    response = admin.elect_leaders(ElectionType.PREFERRED, [where]).result(DEADLINE_S)
    [error] = response.values()
    assert error.code() == KafkaError.ELECTION_NOT_NEEDED


def test_topics_are_deleted(admin: Any, created: str) -> None:
    responses = admin.delete_topics([created, "missing"])
    responses[created].result(DEADLINE_S)
    assert error_of(responses["missing"]).code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert created not in admin.list_topics(timeout=DEADLINE_S).topics
