"""The records of a streams group in `__consumer_offsets`.

Source: Kafka's `StreamsCoordinatorRecordHelpers`, with the versions that it writes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from broker.groups.streams.member import StreamsMember
from broker.groups.streams.tasks import TargetTasks, TaskEpochs, Tasks
from broker.groups.streams.topology import Subtopology, TopicInfo, Topology
from protocol import coordinator_records as schema
from protocol.coordinator_records import CoordinatorRecord, encode_key, tombstones
from protocol.data_messages import encode_data

_VERSION = 0


def member_record(group_id: str, member: StreamsMember) -> CoordinatorRecord:
    """Return the record of what a member said about itself."""
    value_class = schema.StreamsGroupMemberMetadataValue
    endpoint = member.user_endpoint
    value = value_class(
        instance_id=member.group_instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None
        if endpoint is None
        else value_class.Endpoint(host=endpoint.host, port=endpoint.port),
        client_tags=[
            value_class.KeyValue(key=key, value=text)
            for key, text in sorted(member.client_tags.items())
        ],
    )
    return _member_key(group_id, member.member_id), encode_data(value, _VERSION)


def epoch_record(
    group_id: str,
    group_epoch: int,
    metadata_hash: int,
    validated_topology_epoch: int,
    assignment_configs: Mapping[str, str],
    description_epoch: int,
) -> CoordinatorRecord:
    """Return the record of an epoch of a group; it also says which topology is described."""
    value_class = schema.StreamsGroupMetadataValue
    value = value_class(
        epoch=group_epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_topology_epoch,
        last_assignment_configs=[
            value_class.LastAssignmentConfig(key=key, value=text)
            for key, text in sorted(assignment_configs.items())
        ],
        stored_description_topology_epoch=description_epoch,
    )
    return encode_key(schema.StreamsGroupMetadataKey(group_id=group_id)), encode_data(
        value, _VERSION
    )


def topology_record(group_id: str, topology: Topology) -> CoordinatorRecord:
    """Return the record of the topology of a group."""
    value_class = schema.StreamsGroupTopologyValue
    value = value_class(
        epoch=topology.epoch,
        subtopologies=[
            _subtopology(value_class.Subtopology, subtopology)
            for subtopology in topology.subtopologies.values()
        ],
    )
    return _topology_key(group_id), encode_data(value, _VERSION)


def _subtopology(entry_class: Any, subtopology: Subtopology) -> Any:
    return entry_class(
        subtopology_id=subtopology.subtopology_id,
        source_topics=list(subtopology.source_topics),
        source_topic_regex=list(subtopology.source_topic_regex),
        state_changelog_topics=_topics(entry_class.TopicInfo, subtopology.state_changelog_topics),
        repartition_sink_topics=list(subtopology.repartition_sink_topics),
        repartition_source_topics=_topics(
            entry_class.TopicInfo, subtopology.repartition_source_topics
        ),
        copartition_groups=[
            entry_class.CopartitionGroup(
                source_topics=list(group.source_topics),
                source_topic_regex=list(group.source_topic_regex),
                repartition_source_topics=list(group.repartition_source_topics),
            )
            for group in subtopology.copartition_groups
        ],
    )


def _topics(topic_class: Any, topics: Iterable[TopicInfo]) -> list[Any]:
    return [
        topic_class(
            name=topic.name,
            partitions=topic.partition_count,
            replication_factor=topic.replication_factor,
            topic_configs=[
                topic_class.TopicConfig(key=key, value=text) for key, text in topic.configs
            ],
        )
        for topic in topics
    ]


def target_record(group_id: str, member_id: str, target: TargetTasks) -> CoordinatorRecord:
    """Return the record of the target of a member."""
    value_class = schema.StreamsGroupTargetAssignmentMemberValue
    value = value_class(
        active_tasks=_task_ids(value_class, target.active),
        standby_tasks=_task_ids(value_class, target.standby),
        warmup_tasks=[],
    )
    return _target_key(group_id, member_id), encode_data(value, _VERSION)


def target_epoch_record(group_id: str, assignment_epoch: int, now_ms: int) -> CoordinatorRecord:
    """Return the record of the epoch of the target assignment, and when it was computed.

    A time of 0 lets the next one be computed at once.
    """
    value = schema.StreamsGroupTargetAssignmentMetadataValue(
        assignment_epoch=assignment_epoch, assignment_timestamp=now_ms
    )
    return _target_epoch_key(group_id), encode_data(value, _VERSION)


def current_record(group_id: str, member: StreamsMember) -> CoordinatorRecord:
    """Return the record of what a member has and in which epoch."""
    value_class = schema.StreamsGroupCurrentMemberAssignmentValue
    assigned, revoked = member.assigned, member.pending_revocation
    value = value_class(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=int(member.state),
        active_tasks=_task_epochs(value_class, assigned.active),
        standby_tasks=_task_ids(value_class, assigned.standby),
        warmup_tasks=[],
        active_tasks_pending_revocation=_task_epochs(value_class, revoked.active),
        standby_tasks_pending_revocation=_task_ids(value_class, revoked.standby),
        warmup_tasks_pending_revocation=[],
    )
    return _current_key(group_id, member.member_id), encode_data(value, _VERSION)


def _task_ids(value_class: Any, tasks: Tasks) -> list[Any]:
    return [
        value_class.TaskIds(subtopology_id=subtopology_id, partitions=sorted(indexes))
        for subtopology_id, indexes in sorted(tasks.items())
    ]


def _task_epochs(value_class: Any, tasks: TaskEpochs) -> list[Any]:
    return [
        value_class.TaskIds(
            subtopology_id=subtopology_id,
            partitions=sorted(epochs),
            assignment_epochs=[epochs[index] for index in sorted(epochs)],
        )
        for subtopology_id, epochs in sorted(tasks.items())
    ]


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Return the records that delete a member, in Kafka's order."""
    keys = (
        _current_key(group_id, member_id),
        _target_key(group_id, member_id),
        _member_key(group_id, member_id),
    )
    return tombstones(keys)


def group_tombstones(group_id: str, member_ids: list[str]) -> list[CoordinatorRecord]:
    """Return the records that delete a group with its members, in Kafka's order."""
    keys = [
        *(_current_key(group_id, member_id) for member_id in member_ids),
        *(_target_key(group_id, member_id) for member_id in member_ids),
        _target_epoch_key(group_id),
        *(_member_key(group_id, member_id) for member_id in member_ids),
        encode_key(schema.StreamsGroupMetadataKey(group_id=group_id)),
        _topology_key(group_id),
    ]
    return tombstones(keys)


def _member_key(group_id: str, member_id: str) -> bytes:
    return encode_key(schema.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id))


def _target_key(group_id: str, member_id: str) -> bytes:
    key = schema.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return encode_key(key)


def _target_epoch_key(group_id: str) -> bytes:
    return encode_key(schema.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id))


def _current_key(group_id: str, member_id: str) -> bytes:
    key = schema.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    return encode_key(key)


def _topology_key(group_id: str) -> bytes:
    return encode_key(schema.StreamsGroupTopologyKey(group_id=group_id))
