"""OffsetDelete on the wire."""

from struct import pack
from typing import Any

import pytest

from broker.groups.group_table import OFFSETS_PER_DELETION
from broker.groups.requests import CommitRequest, OffsetToCommit
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS
from tests.broker.groups.group_cluster import GROUP, GroupCluster
from tests.broker.interleaving import at_pause, run_with_pauses

SUBSCRIPTION = pack(">hih", 0, 1, 1) + b"t"


def delete(cluster: GroupCluster, *partitions: tuple[str, int], **fields: Any) -> Any:
    topic_class = messages.OffsetDeleteRequest.OffsetDeleteRequestTopic
    topics = [
        topic_class(
            version=0,
            name=name,
            partitions=[topic_class.OffsetDeleteRequestPartition(version=0, partition_index=index)],
        )
        for name, index in partitions
    ]
    return cluster.ask(ApiKey.OFFSET_DELETE, 0, **({"group_id": GROUP, "topics": topics} | fields))


def codes(response: Any) -> list[tuple[str, int, int]]:
    return [
        (topic.name, partition.partition_index, partition.error_code)
        for topic in response.topics
        for partition in topic.partitions
    ]


def test_offsets_are_deleted_and_missing_partitions_refused() -> None:
    cluster = GroupCluster()
    cluster.commit(("t", 0, 1), ("t", 1, 2))

    response = delete(cluster, ("t", 0), ("nope", 0), ("t", 7))

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert response.error_code == ErrorCode.NONE
    assert codes(response) == [("nope", 0, unknown), ("t", 7, unknown), ("t", 0, 0)]
    assert [index for _, index, _ in cluster.cluster.groups.table.all_committed(GROUP)] == [1]


def test_offsets_of_a_subscribed_topic_are_kept() -> None:
    cluster = GroupCluster()
    cluster.stable_member(protocols={"range": SUBSCRIPTION})

    response = delete(cluster, ("t", 0))

    assert codes(response) == [("t", 0, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)]


@pytest.mark.parametrize(
    ("prepare", "error_code"),
    [
        (lambda cluster: None, ErrorCode.GROUP_ID_NOT_FOUND),
        (
            lambda cluster: cluster.stable_member(protocol_type="connect"),
            ErrorCode.NON_EMPTY_GROUP,
        ),
        (lambda cluster: cluster.stop_all(), ErrorCode.NOT_COORDINATOR),
    ],
)
def test_an_error_of_the_group_is_the_error_of_the_response(
    prepare: Any, error_code: ErrorCode
) -> None:
    cluster = GroupCluster()
    prepare(cluster)

    response = delete(cluster, ("t", 0), ("nope", 0))

    assert (response.error_code, response.topics) == (error_code, [])


def test_the_group_is_checked_even_if_no_partition_exists() -> None:
    response = delete(GroupCluster(), ("nope", 0))

    assert (response.error_code, response.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


def test_many_offsets_are_kept_from_the_pause_on_in_which_a_connect_worker_joins() -> None:
    cluster = GroupCluster()
    count = 2 * OFFSETS_PER_DELETION
    groups = cluster.cluster.groups
    request = CommitRequest(GROUP, tuple(OffsetToCommit("t", index, 1) for index in range(count)))
    groups.table.commit(request, NOW_MS)

    error_code, codes = run_with_pauses(
        lambda: groups.table.delete_offsets(
            GROUP, [("t", index) for index in range(count)], NOW_MS
        ),
        at_pause(2, lambda: cluster.stable_member(protocol_type="connect")),
    )

    assert error_code is ErrorCode.NONE
    kept = ErrorCode.NON_EMPTY_GROUP
    assert codes == (ErrorCode.NONE,) * OFFSETS_PER_DELETION + (kept,) * OFFSETS_PER_DELETION
    left = [index for _topic, index, _offset in groups.table.all_committed(GROUP)]
    assert left == list(range(OFFSETS_PER_DELETION, count))
