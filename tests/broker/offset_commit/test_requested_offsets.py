"""An OffsetCommit names topics by name, or by id from version 10 on."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from broker.offset_commit.requested_offsets import requested_offsets
from protocol.errors import ErrorCode
from protocol.offset_commit import ShortOffset, ShortTopic
from tests.broker.cluster_builder import make_cluster

UNKNOWN_ID = UUID(int=99)


def topic(name: str, topic_id: UUID | None, indexes: Sequence[int]) -> ShortTopic:
    return ShortTopic(name, topic_id, [ShortOffset(index, 7, 3, "note", 0) for index in indexes])


@pytest.mark.parametrize("uses_topic_ids", [False, True])
def test_only_offsets_of_partitions_that_exist_are_there(uses_topic_ids: bool) -> None:
    cluster = make_cluster(1)
    cluster.create_topic("orders", [(1,)] * 2, {})
    created = cluster.topics.get("orders")
    assert created is not None
    topic_id = created.topic_id if uses_topic_ids else None
    unknown_id = UNKNOWN_ID if uses_topic_ids else None

    split, offsets = requested_offsets(
        cluster,
        [topic("orders", topic_id, [1, 2]), topic("nothing", unknown_id, [0])],
        uses_topic_ids=uses_topic_ids,
    )

    assert [
        (found.topic_name, found.partition_index, found.offset, found.leader_epoch)
        for found in offsets
    ] == [("orders", 1, 7, 3)]
    assert {found.topic_id for found in offsets} == {topic_id}
    assert split.missing == {
        topic_id or "orders": [(2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)],
        unknown_id or "nothing": [
            (0, ErrorCode.UNKNOWN_TOPIC_ID if unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        ],
    }
