"""A streams group as a coordinator loads it from its records.

The description of its topology is not in them: a coordinator asks a member for it again.

Source: the functions `replay` of Kafka's `GroupMetadataManager` for `StreamsGroup...` records.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from broker.groups.loaded_records import LoadedRecords, partition_epochs
from broker.groups.streams.group import StreamsGroup
from broker.groups.streams.member import Endpoint, MemberState, StreamsMember
from broker.groups.streams.tasks import OwnedTasks, TargetTasks, TaskEpochs, Tasks, tasks_of
from broker.groups.streams.topology import CopartitionGroup, Subtopology, TopicInfo, Topology
from protocol import coordinator_records as schema


def load_streams_group(group: StreamsGroup, records: LoadedRecords) -> None:
    """Have an empty group be what its records say."""
    epoch = records.value(schema.StreamsGroupMetadataKey)
    topology = records.value(schema.StreamsGroupTopologyKey)
    if topology is not None:
        group.topology = _topology(topology)
    if epoch is not None:
        group.validated_topology_epoch = epoch.validated_topology_epoch
        configs = epoch.last_assignment_configs or ()
        group.assignment_configs = {config.key: config.value for config in configs}
    loaded = records.modern_group(
        "Streams",
        group.group_epoch,
        _member,
        lambda value: TargetTasks(_tasks(value.active_tasks), _tasks(value.standby_tasks)),
    )
    group.load(loaded)


def _member(member_id: str, value: Any, current: Any) -> StreamsMember:
    endpoint = value.user_endpoint
    member = StreamsMember(
        member_id,
        group_instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        user_endpoint=None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        client_tags={tag.key: tag.value for tag in value.client_tags},
    )
    if current is None:
        return member
    return replace(
        member,
        member_epoch=current.member_epoch,
        previous_member_epoch=current.previous_member_epoch,
        state=MemberState(current.state),
        assigned=OwnedTasks(_epochs(current, current.active_tasks), _tasks(current.standby_tasks)),
        pending_revocation=OwnedTasks(
            _epochs(current, current.active_tasks_pending_revocation),
            _tasks(current.standby_tasks_pending_revocation),
        ),
    )


def _tasks(entries: Iterable[Any]) -> Tasks:
    return tasks_of((entry.subtopology_id, entry.partitions) for entry in entries)


def _epochs(current: Any, entries: Iterable[Any]) -> TaskEpochs:
    """Return the epoch of each active task; without one in the record it is that of the member."""
    return {
        entry.subtopology_id: partition_epochs(entry, current.member_epoch) for entry in entries
    }


def _topology(value: Any) -> Topology:
    return Topology(
        value.epoch,
        {entry.subtopology_id: _subtopology(entry) for entry in value.subtopologies},
    )


def _subtopology(entry: Any) -> Subtopology:
    return Subtopology(
        entry.subtopology_id,
        tuple(entry.source_topics),
        tuple(entry.source_topic_regex),
        _topics(entry.state_changelog_topics),
        tuple(entry.repartition_sink_topics),
        _topics(entry.repartition_source_topics),
        tuple(
            CopartitionGroup(
                tuple(group.source_topics),
                tuple(group.source_topic_regex),
                tuple(group.repartition_source_topics),
            )
            for group in entry.copartition_groups
        ),
    )


def _topics(entries: Iterable[Any]) -> tuple[TopicInfo, ...]:
    return tuple(
        TopicInfo(
            entry.name,
            entry.partitions,
            entry.replication_factor,
            tuple((config.key, config.value) for config in entry.topic_configs),
        )
        for entry in entries
    )
