from uuid import UUID

from client.admin_messages import config_entry, config_resource, creatable_topic, topic_description
from client.resources import ConfigResource, NewTopic
from protocol import messages
from protocol.configs import ConfigSource, ResourceType

_Described = messages.DescribeConfigsResponse.DescribeConfigsResult


def test_a_new_topic_keeps_its_assignments_and_configuration() -> None:
    topic = NewTopic("t", -1, -1, assignments=((1, 2), (2, 1)), configs={"retention.ms": "5"})
    creatable = creatable_topic(topic)
    assert [
        (assignment.partition_index, assignment.broker_ids) for assignment in creatable.assignments
    ] == [(0, [1, 2]), (1, [2, 1])]
    assert [(config.name, config.value) for config in creatable.configs] == [("retention.ms", "5")]


def test_partitions_of_a_topic_are_sorted() -> None:
    topic_class = messages.MetadataResponse.MetadataResponseTopic
    partitions = [
        topic_class.MetadataResponsePartition(
            partition_index=index, leader_id=1, replica_nodes=[1, 2], isr_nodes=[1]
        )
        for index in (1, 0)
    ]
    topic = topic_class(name="t", topic_id=UUID(int=7), is_internal=False, partitions=partitions)
    described = topic_description("t", topic)
    assert [partition.index for partition in described.partitions] == [0, 1]
    assert described.partitions[0].replica_ids == (1, 2)


def test_a_result_names_its_resource() -> None:
    result = _Described(resource_type=ResourceType.BROKER, resource_name="1")
    assert config_resource(result) == ConfigResource(ResourceType.BROKER, "1")


def test_a_sensitive_value_is_none_and_an_unknown_source_is_unknown() -> None:
    entry = _Described.DescribeConfigsResourceResult(
        name="ssl.keystore.password", value="x", is_sensitive=True, config_source=99, synonyms=[]
    )
    described = config_entry(entry)
    assert described.value is None
    assert described.source == ConfigSource.UNKNOWN
