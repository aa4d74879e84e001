"""The log of share coordinators."""

from uuid import UUID

import pytest

from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import SHARE_GROUP_STATE
from broker.cluster.share_log import coordinator_key, parse_coordinator_key
from broker.cluster.topics import NO_LEADER
from broker.share_groups.share_state import SharePartitionKey
from protocol.errors import ErrorCode
from protocol.records import read_records
from tests.broker.cluster_builder import NOW_MS, make_cluster

KEY = SharePartitionKey("g", UUID("01234567-89ab-cdef-0123-456789abcdef"), 3)


def test_the_key_of_a_coordinator_is_that_of_find_coordinator() -> None:
    assert coordinator_key(KEY) == "g:ASNFZ4mrze8BI0VniavN7w:3"


@pytest.mark.parametrize(
    ("text", "before_4_3", "since_4_3"),
    [
        ("g:{}:3", "g", "g"),
        ("g:{}:3::", "g", "g"),
        (" g :{}:3", "g", " g "),
        ("a:b:{}:3", None, "a:b"),
        (":b:{}:3", None, ":b"),
        (" :{}:3", None, None),
        (":{}:3", None, None),
        ("{}:3", None, None),
        ("g:x:3", None, None),
        ("g:{}:x", None, None),
        ("::", None, None),
        ("", None, None),
    ],
)
def test_a_key_may_name_a_group_with_a_colon_since_kafka_4_3(
    text: str, before_4_3: str | None, since_4_3: str | None
) -> None:
    for release, expected in (((4, 2), before_4_3), ((4, 3), since_4_3)):
        found = parse_coordinator_key(text.format("ASNFZ4mrze8BI0VniavN7w"), release)
        assert found == (None if expected is None else KEY._replace(group_id=expected))


def test_a_record_is_appended_to_the_partition_of_its_key() -> None:
    cluster = make_cluster(1)
    refusal = cluster.share.log.append(KEY, (b"\0\1key", b"value"), NOW_MS)
    assert refusal is not None
    assert refusal.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    topic = ensure_internal_topic(cluster, SHARE_GROUP_STATE)
    assert topic is not None
    assert (len(topic.partitions), topic.config["cleanup.policy"]) == (50, ("delete",))

    assert cluster.share.log.append(KEY, (b"\0\1key", b"value"), NOW_MS) is None

    partition = cluster.share.log.partition(KEY)
    assert partition is not None
    (batch,) = partition.log.rewind()
    assert [(record.key, record.value) for record in read_records(batch)] == [
        (b"\0\1key", b"value")
    ]


def test_nothing_is_appended_without_a_leader_or_enough_replicas() -> None:
    cluster = make_cluster(3)
    ensure_internal_topic(cluster, SHARE_GROUP_STATE)
    partition = cluster.share.log.partition(KEY)
    assert partition is not None

    partition.isr = partition.isr[:1]
    assert cluster.share.log.append(KEY, (b"\0\1k", b"v"), NOW_MS) is not None
    partition.isr = partition.replicas
    assert cluster.share.log.append(KEY, (b"\0\1k", b"v"), NOW_MS) is None
    cluster.set_leader(partition, NO_LEADER, NOW_MS)
    assert cluster.share.log.append(KEY, (b"\0\1k", b"v"), NOW_MS) is not None


def test_the_first_needed_record_is_the_last_snapshot_or_the_last_deletion() -> None:
    cluster = make_cluster(1)
    ensure_internal_topic(cluster, SHARE_GROUP_STATE)
    log, snapshot = cluster.share.log, bytes(2)
    for value in (b"first", b"second", b"third"):
        log.append(KEY, (snapshot + b"key", value), NOW_MS)
        log.append(KEY, (b"\0\1key", value), NOW_MS)
    partition = log.partition(KEY)
    assert partition is not None
    assert log.redundant_before(partition) == 4

    log.append(KEY, (snapshot + b"key", None), NOW_MS)
    assert log.redundant_before(partition) == 6
