"""Fetch: records, waits and errors."""

from typing import Any
from uuid import UUID

import pytest

from broker.cluster.cluster import Cluster
from broker.handlers.k01_fetch import handle_fetch
from broker.pending_response import PendingResponse
from broker.produce.append import append_batch
from protocol import messages, records
from protocol.api_keys import ApiKey
from protocol.codec import decode_request
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context

VERSIONS = range(4, 19)
_Topic = messages.FetchRequest.FetchTopic


def cluster_with_records(batch_count: int = 3, brokers: int = 1) -> Cluster:
    cluster = make_cluster(brokers)
    cluster.create_topic("t", cluster.place(2, brokers), {})
    for number in range(batch_count):
        append(cluster, make_batch(b"a%d" % number, b"b"))
    return cluster


def append(cluster: Cluster, batch: bytes, partition_index: int = 0) -> None:
    topic = cluster.topics.get("t")
    assert topic is not None
    context = make_context(ApiKey.PRODUCE, 9)
    partition = topic.partitions[partition_index]
    append_batch(context, cluster, topic, partition, batch, 0, len(batch))


def ask(
    cluster: Cluster,
    wanted: dict[int, int],
    *,
    version: int = 11,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1_000_000,
    partition_bytes: int = 1_000_000,
    leader_epoch: int = -1,
    broker_id: int = 1,
    topic: str = "t",
    isolation_level: int = 0,
    **session: int,
) -> Any:
    """Return the decoded response, or the pending one."""
    found = cluster.topics.get(topic)
    request: Any = messages.FetchRequest(
        version=version,
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session.get("session_id", 0),
        session_epoch=session.get("session_epoch", -1),
        topics=[
            _Topic(
                version=version,
                topic=topic,
                topic_id=found.topic_id if found else UUID(int=99),
                partitions=[
                    _Topic.FetchPartition(
                        version=version,
                        partition=index,
                        current_leader_epoch=leader_epoch,
                        fetch_offset=offset,
                        last_fetched_epoch=-1,
                        log_start_offset=-1,
                        partition_max_bytes=partition_bytes,
                    )
                    for index, offset in wanted.items()
                ],
            )
        ],
        forgotten_topics_data=[],
        rack_id="",
    )
    body = bytes(request.encode(version=version))
    decoded = decode_request(ApiKey.FETCH, version, body, 0, len(body))
    context = make_context(ApiKey.FETCH, version, broker_id=broker_id)
    response = handle_fetch(context, decoded, cluster)
    return response if isinstance(response, PendingResponse) else reread(response, version)


def reread(response: Any, version: int = 11) -> Any:
    return messages.FetchResponse.decode(bytes(response.encode(version=version)), version=version)


def parts(response: Any) -> dict[int, Any]:
    return {part.partition_index: part for topic in response.responses for part in topic.partitions}


def values(data: bytes) -> list[bytes | None]:
    found: list[bytes | None] = []
    position = 0
    while position < len(data):
        size = int.from_bytes(data[position + 8 : position + 12], "big") + 12
        found += [record.value for record in records.read_records(data[position : position + size])]
        position += size
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reads_from_the_batch_that_holds_the_offset(version: int) -> None:
    response = ask(cluster_with_records(), {0: 3, 1: 0}, version=version)

    found = parts(response)
    assert values(found[0].records) == [b"a1", b"b", b"a2", b"b"]
    assert (found[0].high_watermark, found[0].last_stable_offset) == (6, 6)
    assert found[1].error_code == ErrorCode.NONE
    assert not found[1].records
    if version >= 7:
        assert (response.error_code, response.session_id) == (ErrorCode.NONE, 0)
    if version >= 5:
        assert found[0].log_start_offset == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reports_an_offset_out_of_range(version: int) -> None:
    found = parts(ask(cluster_with_records(), {0: 7, 1: 1}, version=version))
    assert [part.error_code for part in found.values()] == [ErrorCode.OFFSET_OUT_OF_RANGE] * 2
    assert [part.high_watermark for part in found.values()] == [-1, -1]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reports_an_unknown_topic_and_partition(version: int) -> None:
    cluster = cluster_with_records()
    unknown = parts(ask(cluster, {0: 0}, version=version, topic="nobody"))[0]
    expected = ErrorCode.UNKNOWN_TOPIC_ID if version >= 13 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert unknown.error_code == expected
    assert parts(ask(cluster, {5: 0}, version=version))[5].error_code == 3


@pytest.mark.parametrize("version", VERSIONS)
def test_not_leader_or_follower_names_the_leader_if_the_version_can(version: int) -> None:
    cluster = cluster_with_records(0, brokers=3)
    topic = cluster.topics.get("t")
    assert topic is not None
    leader_id = topic.partitions[0].leader_id
    other_id = next(n for n in cluster.brokers if n != leader_id)

    response = ask(cluster, {0: 0}, version=version, broker_id=other_id)

    part = parts(response)[0]
    assert part.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if version >= 12:
        assert part.current_leader.leader_id == leader_id
    if version >= 16:
        assert [node.node_id for node in response.node_endpoints] == [leader_id]


def test_leader_epochs_are_compared() -> None:
    cluster = cluster_with_records()
    topic = cluster.topics.get("t")
    assert topic is not None
    topic.partitions[0].leader_epoch = 5

    codes = [parts(ask(cluster, {0: 0}, leader_epoch=e))[0].error_code for e in (4, 5, 6)]

    assert codes == [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    ]


def test_one_batch_of_any_size_is_returned_only_for_the_first_partition() -> None:
    cluster = cluster_with_records(1)
    append(cluster, make_batch(b"other"), partition_index=1)

    found = parts(ask(cluster, {0: 0, 1: 0}, max_bytes=1, partition_bytes=1))

    assert values(found[0].records) == [b"a0", b"b"]
    assert not found[1].records


def test_complete_batches_are_returned_up_to_the_limit_of_the_partition() -> None:
    cluster = cluster_with_records(3)
    topic = cluster.topics.get("t")
    assert topic is not None
    two_batches = topic.partitions[0].log.size_bytes * 2 // 3

    found = parts(ask(cluster, {0: 0}, partition_bytes=two_batches + 5))

    assert len(found[0].records) == two_batches


def test_zstd_needs_version_10() -> None:
    cluster = cluster_with_records(0)
    append(cluster, make_batch(b"a" * 200, codec="zstd"))
    old = parts(ask(cluster, {0: 0}, version=9))[0]
    assert (old.error_code, bool(old.records)) == (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, False)
    assert values(parts(ask(cluster, {0: 0}, version=10))[0].records) == [b"a" * 200]


def test_read_committed_gets_an_empty_list_of_aborted_transactions_and_others_null() -> None:
    cluster = cluster_with_records(1)
    assert parts(ask(cluster, {0: 0}))[0].aborted_transactions is None
    assert parts(ask(cluster, {0: 0}, isolation_level=1))[0].aborted_transactions == []


def test_fetch_sessions_are_not_created_and_unknown_ones_are_refused() -> None:
    cluster = cluster_with_records(1)
    assert ask(cluster, {0: 0}, session_epoch=0).session_id == 0
    refused = ask(cluster, {0: 0}, session_id=5, session_epoch=3)
    assert refused.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert not refused.responses


@pytest.mark.parametrize("wanted", [{0: 99}, {5: 0}])
def test_an_error_completes_the_fetch_at_once(wanted: dict[int, int]) -> None:
    assert not isinstance(ask(cluster_with_records(), wanted, max_wait_ms=500), PendingResponse)


def test_a_fetch_without_partitions_or_min_bytes_completes_at_once() -> None:
    cluster = cluster_with_records()
    assert not isinstance(ask(cluster, {}, max_wait_ms=500), PendingResponse)
    assert not isinstance(ask(cluster, {1: 0}, max_wait_ms=500, min_bytes=0), PendingResponse)


def test_a_fetch_waits_for_its_minimum_across_partitions() -> None:
    cluster = cluster_with_records(0)
    batch = make_batch(b"x" * 50)
    pending = ask(cluster, {0: 0, 1: 0}, max_wait_ms=500, min_bytes=len(batch) * 2)
    assert isinstance(pending, PendingResponse)

    append(cluster, batch, 0)
    cluster.timers.run_due(NOW_MS)
    assert not pending.is_done

    append(cluster, batch, 1)
    cluster.timers.run_due(NOW_MS)
    assert pending.is_done
    found = parts(reread(pending.response))
    assert [len(found[0].records), len(found[1].records)] == [len(batch)] * 2
    topic = cluster.topics.get("t")
    assert topic is not None
    assert not any(part.log.waiters for part in topic.partitions)


def test_a_fetch_returns_available_records_after_max_wait_ms() -> None:
    cluster = cluster_with_records(1)
    pending = ask(cluster, {0: 0}, max_wait_ms=500, min_bytes=100_000)
    assert isinstance(pending, PendingResponse)

    cluster.timers.run_due(NOW_MS + 499)
    assert not pending.is_done
    cluster.timers.run_due(NOW_MS + 500)

    assert values(parts(reread(pending.response))[0].records) == [b"a0", b"b"]


def test_records_appended_before_a_fetch_completes_are_returned_together() -> None:
    cluster = cluster_with_records(0)
    pending = ask(cluster, {0: 0}, max_wait_ms=500)
    assert isinstance(pending, PendingResponse)
    append(cluster, make_batch(b"1"))
    append(cluster, make_batch(b"2"))
    cluster.timers.run_due(NOW_MS)

    assert values(parts(reread(pending.response))[0].records) == [b"1", b"2"]


@pytest.mark.parametrize("event", ["delete", "move"])
def test_a_waiting_fetch_completes_when_its_topic_is_deleted_or_its_leader_moves(
    event: str,
) -> None:
    cluster = cluster_with_records(0, brokers=2)
    topic = cluster.topics.get("t")
    assert topic is not None
    leader_id = topic.partitions[0].leader_id
    pending = ask(cluster, {0: 0}, max_wait_ms=500, broker_id=leader_id)
    assert isinstance(pending, PendingResponse)

    if event == "delete":
        cluster.delete_topic(topic, NOW_MS)
    else:
        cluster.set_leader(topic.partitions[0], 3 - leader_id, NOW_MS)
    cluster.timers.run_due(NOW_MS)

    code = parts(reread(pending.response))[0].error_code
    assert code == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if event == "delete"
        else ErrorCode.NOT_LEADER_OR_FOLLOWER
    )
