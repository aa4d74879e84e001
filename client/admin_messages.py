"""Convert the admin client's values to request messages, and response messages to values."""

from client.resources import (
    ConfigEntry,
    ConfigResource,
    ConfigSynonym,
    NewTopic,
    PartitionDescription,
    TopicDescription,
)
from protocol import messages
from protocol.configs import ConfigSource, ResourceType


def creatable_topic(topic: NewTopic) -> "messages.CreateTopicsRequest.CreatableTopic":
    """Return the topic of a CreateTopics request."""
    topic_class = messages.CreateTopicsRequest.CreatableTopic
    return topic_class(
        name=topic.name,
        num_partitions=topic.partition_count,
        replication_factor=topic.replication_factor,
        assignments=[
            topic_class.CreatableReplicaAssignment(partition_index=index, broker_ids=list(ids))
            for index, ids in enumerate(topic.assignments)
        ],
        configs=[
            topic_class.CreatableTopicConfig(name=name, value=value)
            for name, value in topic.configs.items()
        ],
    )


def topic_description(
    name: str, topic: "messages.MetadataResponse.MetadataResponseTopic"
) -> TopicDescription:
    """Return a topic of a Metadata response."""
    return TopicDescription(
        name=name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple(
            PartitionDescription(
                index=partition.partition_index,
                leader_id=partition.leader_id,
                replica_ids=tuple(partition.replica_nodes),
                isr_ids=tuple(partition.isr_nodes),
            )
            for partition in sorted(
                topic.partitions, key=lambda partition: partition.partition_index
            )
        ),
    )


def config_resource(
    result: "messages.DescribeConfigsResponse.DescribeConfigsResult"
    " | messages.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse",
) -> ConfigResource:
    """Return the resource that a result of a configuration response is about."""
    return ConfigResource(ResourceType(result.resource_type), result.resource_name)


def _config_source(number: int) -> ConfigSource:
    try:
        return ConfigSource(number)
    except ValueError:
        return ConfigSource.UNKNOWN


def config_entry(
    entry: "messages.DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult",
) -> ConfigEntry:
    """Return one configuration of a DescribeConfigs response; a sensitive value is None."""
    return ConfigEntry(
        name=entry.name,
        value=None if entry.is_sensitive else entry.value,
        source=_config_source(entry.config_source),
        is_sensitive=entry.is_sensitive,
        synonyms=tuple(
            ConfigSynonym(_config_source(synonym.source), synonym.name, synonym.value)
            for synonym in entry.synonyms
        ),
    )
