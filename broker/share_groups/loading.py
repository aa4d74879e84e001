"""A share group as a coordinator loads it from its records.

Source: the functions `replay` of Kafka's `GroupMetadataManager` for `ShareGroup...` records.
"""

from typing import Any

from broker.groups.consumer.loading import assignment
from broker.groups.consumer.topics import TopicSource
from broker.groups.loaded_records import LoadedRecords
from broker.share_groups.member import ShareMember
from broker.share_groups.share_group import ShareGroup
from protocol import coordinator_records as schema


def load_share_group(group: ShareGroup, records: LoadedRecords, topics: TopicSource) -> None:
    """Have an empty group be what its records say.

    Share states whose initialization had begun are initialized again with the next heartbeat.
    """
    states = records.value(schema.ShareGroupStatePartitionMetadataKey)
    for entry in () if states is None else states.initialized_topics:
        group.initialized[entry.topic_id] = set(entry.partitions)
    group.has_state_partitions = states is not None
    loaded = records.modern_group(
        "Share",
        group.group_epoch,
        _member,
        lambda value: assignment(value.topic_partitions),
    )
    group.load(loaded, topics)


def _member(member_id: str, value: Any, current: Any) -> ShareMember:
    return ShareMember(
        member_id,
        0 if current is None else current.member_epoch,
        -1 if current is None else current.previous_member_epoch,
        value.rack_id,
        value.client_id,
        value.client_host,
        frozenset(value.subscribed_topic_names or ()),
        {} if current is None else assignment(current.assigned_partitions),
    )
