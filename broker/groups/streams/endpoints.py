"""Which partitions can be queried at the endpoint of each member (interactive queries).

Source: Kafka's `EndpointToPartitionsManager`.
"""

from collections.abc import Iterator

from broker.groups.consumer.topics import TopicSource
from broker.groups.streams.group import StreamsGroup
from broker.groups.streams.member import StreamsMember
from broker.groups.streams.requests import EndpointPartitions
from broker.groups.streams.tasks import Tasks


def endpoints_of(
    group: StreamsGroup, member: StreamsMember, topics: TopicSource
) -> tuple[EndpointPartitions, ...]:
    """Return the partitions of every member that has an endpoint; those of `member` are last."""
    others = (other for other in group.members.values() if other.member_id != member.member_id)
    return tuple(
        found for one in (*others, member) if (found := _endpoint(group, one, topics)) is not None
    )


def _endpoint(
    group: StreamsGroup, member: StreamsMember, topics: TopicSource
) -> EndpointPartitions | None:
    if member.user_endpoint is None:
        return None
    return EndpointPartitions(
        member.user_endpoint,
        dict(partitions_of(group, member.assigned.active_tasks, topics)),
        dict(partitions_of(group, member.assigned.standby, topics)),
    )


def partitions_of(
    group: StreamsGroup, tasks: Tasks, topics: TopicSource
) -> Iterator[tuple[str, list[int]]]:
    """Yield the topics that tasks read, each with its partition indexes in order."""
    configured = group.configured
    subtopologies = {} if configured is None else configured.subtopologies or {}
    for subtopology_id, indexes in tasks.items():
        subtopology = subtopologies.get(subtopology_id)
        if subtopology is None:
            continue
        names = subtopology.source_topics | subtopology.repartition_source_topics.keys()
        for name in sorted(names):
            topic = topics.get(name)
            partition_count = 0 if topic is None else topic.partition_count
            partitions = sorted(index for index in indexes if index < partition_count)
            if partitions:
                yield name, partitions
