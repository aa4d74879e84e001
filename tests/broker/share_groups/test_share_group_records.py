"""The records of a share group; `test_share_group` has those of its changes."""

from uuid import UUID

from broker.share_groups.share_group_records import group_tombstones, state_partitions_record
from protocol.coordinator_records import GROUP_RECORDS, decode_key, decode_value


def test_a_deleted_group_leaves_tombstones() -> None:
    keys = [decode_key(GROUP_RECORDS, key) for key, _ in group_tombstones("g")]

    assert [type(key).__name__ for key in keys] == [
        "ShareGroupTargetAssignmentMetadataKey",
        "ShareGroupStatePartitionMetadataKey",
        "ShareGroupMetadataKey",
    ]
    assert {key.group_id for key in keys} == {"g"}
    assert all(value is None for _, value in group_tombstones("g"))


def test_the_partitions_with_a_state_are_named() -> None:
    topic_id = UUID(int=1)
    encoded_key, encoded = state_partitions_record(
        "g", initializing={}, initialized={topic_id: [2, 0]}, topic_names={topic_id: "t"}
    )

    value = decode_value(GROUP_RECORDS, decode_key(GROUP_RECORDS, encoded_key), encoded)

    (topic,) = value.initialized_topics
    assert (topic.topic_id, topic.topic_name, topic.partitions) == (topic_id, "t", [0, 2])
