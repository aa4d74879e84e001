"""All calls of kafka-python's admin client that work without security."""

from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient, OffsetAndMetadata, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
from kafka.errors import (
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

from mock_kafka import MockKafka
from scenarios.clients.interface import Record
from scenarios.clients.kafka_python import KAFKA_PYTHON, kafka_python_consumer, poll_kafka_python

START_MS = 1_700_000_000_000
PREFERRED_ELECTION = 0
ELECTION_NOT_NEEDED = 84


@pytest.fixture
def admin(kafka_of_three: MockKafka) -> Iterator[Any]:
    client = KafkaAdminClient(bootstrap_servers=kafka_of_three.bootstrap_servers)
    yield client
    client.close()


@pytest.fixture
def created(admin: Any, topic: str) -> str:
    """A topic of three partitions on three brokers."""
    admin.create_topics({topic: {"num_partitions": 3, "replication_factor": 3}})
    return topic


def modified_configs(admin: Any, topic: str) -> dict[str, str]:
    found = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    return {name: entry["value"] for name, entry in found["topic"][topic].items()}


def alter(admin: Any, topic: str, configs: dict[str, str], **how: Any) -> str:
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs=configs)
    response: str = admin.alter_configs([resource], **how)["topic"][topic]
    return response


def test_topics_are_created_with_configs(admin: Any, topic: str) -> None:
    expected = {
        "num_partitions": 3,
        "replication_factor": 2,
        "configs": {"retention.ms": "100000"},
    }
    [response] = admin.create_topics({topic: expected})["topics"]
    assert (response["num_partitions"], response["replication_factor"]) == (3, 2)
    assert response["configs"]["retention.ms"]["value"] == "100000"
    assert modified_configs(admin, topic) == {"retention.ms": "100000"}


def test_a_topic_without_counts_gets_the_brokers_defaults(admin: Any, topic: str) -> None:
    [response] = admin.create_topics([topic])["topics"]
    assert (response["num_partitions"], response["replication_factor"]) == (1, 1)


def test_invalid_topics_are_refused_with_kafkas_errors(admin: Any, created: str) -> None:
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([created])
    with pytest.raises(InvalidTopicError):
        admin.create_topics(["not a name"])
    with pytest.raises(InvalidReplicationFactorError):
        admin.create_topics({created + ".big": {"num_partitions": 1, "replication_factor": 9}})
    [response] = admin.create_topics(["not a name"], raise_errors=False)["topics"]
    assert "not a name" in response["error_message"]


def test_validate_only_creates_nothing(admin: Any, topic: str) -> None:
    admin.create_topics([topic], validate_only=True)
    assert topic not in admin.list_topics()


def test_topics_and_the_cluster_are_described(admin: Any, created: str) -> None:
    assert created in admin.list_topics()
    [found] = admin.describe_topics([created])
    assert [p["partition_index"] for p in found["partitions"]] == [0, 1, 2]
    assert {p["leader_id"] for p in found["partitions"]} == {1, 2, 3}
    [missing] = admin.describe_topics(["missing"])
    assert missing["error_code"] == 3
    cluster = admin.describe_cluster()
    assert [broker["broker_id"] for broker in cluster["brokers"]] == [1, 2, 3]
    assert cluster["controller_id"] in {1, 2, 3}


def test_partitions_are_described_page_by_page(admin: Any, created: str) -> None:
    first = admin.describe_topic_partitions([created], response_partition_limit=2)
    [found] = first["topics"]
    assert [p["partition_index"] for p in found["partitions"]] == [0, 1]
    rest = admin.describe_topic_partitions([created], cursor=first["next_cursor"])
    [found] = rest["topics"]
    assert [p["partition_index"] for p in found["partitions"]] == [2]
    assert rest["next_cursor"] is None


def test_configs_are_altered_reset_and_listed(admin: Any, created: str) -> None:
    assert alter(admin, created, {"retention.ms": "5", "max.message.bytes": "5000"}) == "OK"
    assert alter(admin, created, {"retention.ms": "6"}) == "OK"
    assert modified_configs(admin, created) == {"retention.ms": "6", "max.message.bytes": "5000"}
    assert "InvalidConfiguration" in alter(admin, created, {"retention.ms": "never"})
    assert alter(admin, created, {"retention.ms": "7"}, incremental=False) == "OK"
    # With the older API the client also sends the other keys that were set.
    assert modified_configs(admin, created) == {"retention.ms": "7", "max.message.bytes": "5000"}
    resource = ConfigResource(ConfigResourceType.TOPIC, created, configs={"retention.ms": None})
    admin.reset_configs([resource])
    assert modified_configs(admin, created) == {"max.message.bytes": "5000"}
    resources = admin.list_config_resources()
    assert created in resources["topic"]
    assert resources["broker"] == ["1", "2", "3"]


def test_partitions_are_added_and_never_removed(admin: Any, created: str) -> None:
    admin.create_partitions({created: 5})
    assert len(admin.describe_topics([created])[0]["partitions"]) == 5
    with pytest.raises(InvalidPartitionsError):
        admin.create_partitions({created: 2})


def test_offsets_are_listed_records_deleted_and_log_dirs_described(
    admin: Any, created: str, kafka_of_three: MockKafka
) -> None:
    records = [Record(value=b"x", timestamp_ms=START_MS + n) for n in range(10)]
    KAFKA_PYTHON.produce(kafka_of_three.bootstrap_servers, created, records)
    where = TopicPartition(created, 0)

    def offset_of(spec: Any) -> int:
        offset: int = admin.list_partition_offsets({where: spec})[where].offset
        return offset

    assert (offset_of(OffsetSpec.EARLIEST), offset_of(OffsetSpec.LATEST)) == (0, 10)
    assert offset_of(OffsetSpec.MAX_TIMESTAMP) == 9
    assert admin.delete_records({where: 4})[where]["low_watermark"] == 4
    assert offset_of(OffsetSpec.EARLIEST) == 4
    sizes = {
        (found["name"], part["partition_index"]): part["partition_size"]
        for broker in admin.describe_log_dirs()
        for log_dir in broker["log_dirs"]
        for found in log_dir["topics"]
        for part in found["partitions"]
    }
    assert sizes[created, 0] > 0
    assert sizes[created, 1] == 0


def test_groups_are_listed_described_altered_and_deleted(
    admin: Any, created: str, kafka_of_three: MockKafka
) -> None:
    servers, group = kafka_of_three.bootstrap_servers, created
    KAFKA_PYTHON.produce(servers, created, [Record(value=b"x")] * 10)
    where = TopicPartition(created, 0)
    to_five = {where: OffsetAndMetadata(5, "", -1)}
    with kafka_python_consumer(servers, created, group_id=group) as consumer:
        poll_kafka_python(consumer, 10)
        consumer.commit()
        [listed] = [listing for listing in admin.list_groups() if listing["group_id"] == group]
        assert (listed["group_state"], listed["protocol_type"]) == ("Stable", "consumer")
        found = admin.describe_groups([group])[group]
        [member] = found["members"]
        [assigned] = member["member_assignment"]["assigned_partitions"]
        assert assigned == {"topic": created, "partitions": [0, 1, 2]}
        assert admin.delete_groups([group]) == {group: "NonEmptyGroupError"}
        [error] = admin.alter_group_offsets(group, to_five).values()
        assert error.__name__ == "UnknownMemberIdError"
    assert admin.list_group_offsets(group)[group][where].offset == 10
    [error] = admin.alter_group_offsets(group, to_five).values()
    assert error.__name__ == "NoError"
    assert admin.list_group_offsets(group)[group][where].offset == 5
    assert admin.reset_group_offsets(group, {where: OffsetSpec.EARLIEST})[where]["offset"] == 0
    [error] = admin.delete_group_offsets(group, [where]).values()
    assert error.__name__ == "NoError"
    assert where not in admin.list_group_offsets(group)[group]
    assert admin.delete_groups([group]) == {group: "OK"}
    assert group not in {listing["group_id"] for listing in admin.list_groups()}


def test_leaders_move_by_reassignment_and_return_by_election(admin: Any, created: str) -> None:
    where = TopicPartition(created, 0)

    def leader_and_replicas() -> tuple[int, list[int]]:
        part = admin.describe_topics([created])[0]["partitions"][0]
        return part["leader_id"], part["replica_nodes"]

    leader, replicas = leader_and_replicas()
    # The same replicas in another order: the leader does not move until the next election.
    turned = [*replicas[1:], replicas[0]]
    assert admin.alter_partition_reassignments({where: turned}) == {where: None}
    assert leader_and_replicas() == (leader, turned)
    assert admin.list_partition_reassignments() == {}
    assert admin.elect_leaders(PREFERRED_ELECTION, {created: [0]}).error_code == 0
    assert leader_and_replicas() == (turned[0], turned)
    response = admin.elect_leaders(PREFERRED_ELECTION, {created: [0]}, raise_errors=False)
    [result] = response.replica_election_results
    assert result.partition_result[0].error_code == ELECTION_NOT_NEEDED
    # Replicas without the current leader: another broker becomes leader.
    others = [node_id for node_id in (1, 2, 3) if node_id != turned[0]]
    admin.alter_partition_reassignments({where: others})
    assert leader_and_replicas() == (others[0], others)


def test_topics_are_deleted(admin: Any, created: str) -> None:
    admin.delete_topics([created])
    assert created not in admin.list_topics()
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([created])
