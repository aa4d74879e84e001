"""Which offsets of a request are committed, and the order of its response."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from broker.offset_commit.requested_offsets import (
    PartitionErrors,
    requested_offsets,
    response_topics,
)
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.offset_commit import ShortOffset, ShortTopic
from tests.broker.cluster_builder import make_cluster, make_context

UNKNOWN_ID = UUID(int=99)
MISSING = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
NONE = ErrorCode.NONE
CONTEXT = make_context(ApiKey.OFFSET_COMMIT, 8)


def topic(name: str, topic_id: UUID | None, indexes: Sequence[int]) -> ShortTopic:
    return ShortTopic(name, topic_id, [ShortOffset(index, 7, 3, "note") for index in indexes])


@pytest.mark.parametrize("uses_topic_ids", [False, True])
def test_only_offsets_of_partitions_that_exist_are_there(uses_topic_ids: bool) -> None:
    cluster = make_cluster(1)
    cluster.create_topic("orders", [(1,)] * 2, {})
    created = cluster.topics.get("orders")
    assert created is not None
    topic_id = created.topic_id if uses_topic_ids else None
    key = topic_id or "orders"
    unknown_id = UNKNOWN_ID if uses_topic_ids else None

    offsets, known, missing = requested_offsets(
        CONTEXT,
        cluster,
        [topic("orders", topic_id, [1, 2]), topic("nothing", unknown_id, [0])],
        uses_topic_ids=uses_topic_ids,
    )

    assert [
        (found.topic_name, found.partition_index, found.offset, found.leader_epoch)
        for found in offsets
    ] == [("orders", 1, 7, 3)]
    assert {found.topic_id for found in offsets} == {created.topic_id}
    assert known == [(key, [1])]
    assert missing == {
        key: [(2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)],
        unknown_id or "nothing": [
            (0, ErrorCode.UNKNOWN_TOPIC_ID if unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        ],
    }


def test_offsets_have_the_id_of_their_topic_since_kafka_4_3() -> None:
    for release in ("4.2", "4.3"):
        cluster = make_cluster(1, **{"broker.api.versions": release})
        created = cluster.create_topic("orders", [(1,)], {})
        found = requested_offsets(
            CONTEXT, cluster, [topic("orders", None, [0])], uses_topic_ids=False
        )
        topic_id = created.topic_id if release == "4.3" else None
        assert [offset.topic_id for offset in found.offsets] == [topic_id]


def test_a_release_that_changes_counts_from_the_next_commit_on() -> None:
    cluster = make_cluster(2, **{"broker.api.versions": "4.2"})
    created = cluster.create_topic("orders", [(1,)], {})

    def topic_id() -> object:
        topics = [topic("orders", None, [0])]
        return requested_offsets(CONTEXT, cluster, topics, uses_topic_ids=False).offsets[0].topic_id

    assert topic_id() is None
    cluster.set_config(cluster.config.with_dynamic(None, {"broker.api.versions": "4.3"}))
    assert topic_id() == created.topic_id


def test_the_release_of_an_only_broker_counts() -> None:
    config = {"broker.api.versions": "4.2", "broker.1.broker.api.versions": "4.3"}
    cluster = make_cluster(1, **config)
    created = cluster.create_topic("orders", [(1,)], {})
    topics = [topic("orders", None, [0])]
    (found,) = requested_offsets(CONTEXT, cluster, topics, uses_topic_ids=False).offsets
    assert found.topic_id == created.topic_id


def _response(*requested: tuple[str, list[int]]) -> list[tuple[str, PartitionErrors]]:
    cluster = make_cluster()
    cluster.create_topic("t", [(1,), (1,)], {})
    cluster.create_topic("u", [(1,)], {})
    found = requested_offsets(
        CONTEXT,
        cluster,
        [topic(name, None, indexes) for name, indexes in requested],
        uses_topic_ids=False,
    )
    return response_topics(found, [NONE] * len(found.offsets))


def test_missing_topics_and_partitions_come_first() -> None:
    assert _response(("t", [0, 7, 1]), ("u", [0]), ("x", [0])) == [
        ("t", [(7, MISSING), (0, NONE), (1, NONE)]),
        ("x", [(0, MISSING)]),
        ("u", [(0, NONE)]),
    ]


def test_a_topic_that_occurs_twice_is_merged_if_anything_is_missing() -> None:
    assert _response(("t", [0]), ("t", [1])) == [("t", [(0, NONE)]), ("t", [(1, NONE)])]
    assert _response(("t", [0]), ("t", [1]), ("x", [])) == [
        ("x", []),
        ("t", [(0, NONE), (1, NONE)]),
    ]
    assert _response(("x", [1]), ("x", [0])) == [("x", [(1, MISSING), (0, MISSING)])]


def test_a_known_topic_without_partitions_is_left_out() -> None:
    assert _response(("t", []), ("u", [0])) == [("u", [(0, NONE)])]
    assert _response(("t", [])) == []
