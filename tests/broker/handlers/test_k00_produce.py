"""Produce over every version: what is appended, what is refused, and the response."""

from typing import Any
from uuid import UUID

import pytest

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.handlers.k00_produce import handle_produce
from broker.responses import Close
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.batches import altered, make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context
from tests.produce_requests import produce_request

VERSIONS = range(3, 14)
BATCH = make_batch(b"one", b"two")


def cluster_with_topic(partitions: int = 2, brokers: int = 1, **configs: str) -> Cluster:
    cluster = make_cluster(brokers)
    overrides = {name.replace("_", "."): value for name, value in configs.items()}
    placed = cluster.place(partitions, brokers)
    cluster.create_topic("t", placed, overrides)
    return cluster


def send(
    cluster: Cluster,
    partitions: list[tuple[int, bytes | None]],
    *,
    version: int = 9,
    acks: int = -1,
    topic: str = "t",
    topic_id: UUID | None = None,
    transactional_id: str | None = None,
    broker_id: int = 1,
    client_id: str = "test-client",
) -> Any:
    found = cluster.topics.get(topic)
    request = produce_request(
        partitions,
        version=version,
        topic=topic,
        topic_id=topic_id or (found.topic_id if found else None),
        acks=acks,
        transactional_id=transactional_id,
    )
    frame = bytes(request.encode(version=version))
    context = make_context(ApiKey.PRODUCE, version, broker_id=broker_id, client_id=client_id)
    body = handle_produce(context, frame, 0, len(frame), cluster)
    if body is None or isinstance(body, Close):
        return body
    return messages.ProduceResponse.decode(bytes(body), version=version)


def responses(response: Any) -> list[Any]:
    (topic,) = response.responses
    return list(topic.partition_responses)


def end_offsets(cluster: Cluster, topic: str = "t") -> list[int]:
    found = cluster.topics.get(topic)
    assert found is not None
    return [partition.log.log_end_offset for partition in found.partitions]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_appends_and_returns_the_offsets(version: int) -> None:
    cluster = cluster_with_topic()
    send(cluster, [(1, BATCH)], version=version)
    response = send(cluster, [(0, BATCH), (1, BATCH)], version=version)

    assert [(a.index, a.error_code, a.base_offset) for a in responses(response)] == [
        (0, ErrorCode.NONE, 0),
        (1, ErrorCode.NONE, 2),
    ]
    assert all(a.log_append_time_ms == -1 for a in responses(response))
    assert end_offsets(cluster) == [2, 4]


def test_the_stored_batch_is_the_one_sent_but_for_offset_and_leader_epoch() -> None:
    cluster = cluster_with_topic()
    topic = cluster.topics.get("t")
    assert topic is not None
    topic.partitions[0].leader_epoch = 7
    send(cluster, [(0, BATCH)])
    send(cluster, [(0, BATCH)])

    stored = topic.partitions[0].log.read(2, 10_000, at_least_one=True)
    assert [batch[16:] for batch in stored] == [BATCH[16:]]
    assert stored[0][:16] == (2).to_bytes(8, "big") + BATCH[8:12] + (7).to_bytes(4, "big")


@pytest.mark.parametrize("version", VERSIONS)
def test_each_partition_succeeds_or_fails_alone(version: int) -> None:
    cluster = cluster_with_topic()
    response = send(
        cluster, [(0, BATCH[:-1]), (9, BATCH), (1, BATCH), (-1, BATCH)], version=version
    )

    assert [(a.error_code, a.base_offset) for a in responses(response)] == [
        (ErrorCode.INVALID_RECORD, -1),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        (ErrorCode.NONE, 0),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_topic_is_named_as_the_version_names_topics(version: int) -> None:
    response = send(cluster_with_topic(), [(0, BATCH)], version=version, topic="nobody")

    expected = ErrorCode.UNKNOWN_TOPIC_ID if version >= 13 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [a.error_code for a in responses(response)] == [expected]


def test_clients_cannot_write_to_internal_topics() -> None:
    cluster = cluster_with_topic()
    response = send(cluster, [(0, BATCH)], topic="__consumer_offsets")
    assert responses(response)[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topic = cluster.create_topic("__consumer_offsets", [(1,)], {})
    response = send(cluster, [(0, BATCH)], topic=topic.name)
    assert responses(response)[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert topic.partitions[0].log.log_end_offset == 0
    response = send(cluster, [(0, BATCH)], topic=topic.name, client_id="__admin_client")
    assert responses(response)[0].error_code == ErrorCode.NONE
    assert topic.partitions[0].log.log_end_offset > 0
    assert cluster.log_bytes == 0


@pytest.mark.parametrize("acks", [-2, 2, 32767])
def test_invalid_acks_are_refused(acks: int) -> None:
    cluster = cluster_with_topic()
    response = send(cluster, [(0, BATCH)], acks=acks)

    assert responses(response)[0].error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert end_offsets(cluster) == [0, 0]


def test_acks_0_gets_no_response_and_an_error_closes_the_connection() -> None:
    cluster = cluster_with_topic()
    assert send(cluster, [(0, BATCH)], acks=0) is None
    assert end_offsets(cluster) == [2, 0]

    closed = send(cluster, [(0, BATCH[:-1]), (1, BATCH)], acks=0)
    assert isinstance(closed, Close)
    assert "INVALID_RECORD" in closed.reason
    # The other partition's records count all the same.
    assert end_offsets(cluster) == [2, 2]


@pytest.mark.parametrize("rules", ["1", "5"])
def test_acks_0_duplicates_are_ignored(rules: str) -> None:
    cluster = make_cluster(1, **{"producer.state.batches": rules})
    cluster.create_topic("t", cluster.place(2, 1), {})
    batches = [
        make_batch(b"x", producer_id=7, producer_epoch=0, base_sequence=sequence)
        for sequence in range(3)
    ]
    for batch in [*batches, batches[0], batches[2]]:
        assert send(cluster, [(0, batch)], acks=0) is None
    assert end_offsets(cluster) == [3, 0]

    # Another partition's error is still reported, by name.
    closed = send(cluster, [(0, batches[0]), (1, BATCH[:-1])], acks=0)
    assert isinstance(closed, Close)
    assert closed.reason == "Produce with acks=0 failed: INVALID_RECORD"


@pytest.mark.parametrize("version", VERSIONS)
def test_not_leader_or_follower_names_the_leader_from_version_10_on(version: int) -> None:
    cluster = cluster_with_topic(partitions=1, brokers=3)
    topic = cluster.topics.get("t")
    assert topic is not None
    leader_id = topic.partitions[0].leader_id
    other_id = next(n for n in cluster.brokers if n != leader_id)

    response = send(cluster, [(0, BATCH)], version=version, broker_id=other_id)

    result = responses(response)[0]
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if version >= 10:
        assert result.current_leader.leader_id == leader_id
        assert [node.node_id for node in response.node_endpoints] == [leader_id]


def test_too_few_in_sync_replicas_refuse_only_acks_all() -> None:
    cluster = cluster_with_topic(partitions=1, brokers=3, min_insync_replicas="3")
    topic = cluster.topics.get("t")
    assert topic is not None
    leader_id = topic.partitions[0].leader_id
    failover.stop_broker(cluster, next(n for n in cluster.brokers if n != leader_id), NOW_MS)

    refused = send(cluster, [(0, BATCH)], broker_id=leader_id)
    assert responses(refused)[0].error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert responses(refused)[0].log_start_offset == 0
    assert end_offsets(cluster) == [0]

    taken = send(cluster, [(0, BATCH)], acks=1, broker_id=leader_id)
    assert responses(taken)[0].error_code == ErrorCode.NONE


def test_a_partition_needs_no_more_replicas_than_it_has() -> None:
    cluster = cluster_with_topic(partitions=1, brokers=3, min_insync_replicas="2")
    cluster.create_topic("one", [(1,)], {"min.insync.replicas": "2"})
    stored = send(cluster, [(0, BATCH)], topic="one")
    assert responses(stored)[0].error_code == ErrorCode.NONE


def test_what_does_not_exist_and_what_is_no_batch_is_said_before_wrong_acks() -> None:
    cluster = cluster_with_topic()
    response = send(cluster, [(0, BATCH), (9, BATCH), (1, b"")], acks=2)
    assert [(part.index, part.error_code) for part in responses(response)] == [
        (0, ErrorCode.INVALID_REQUIRED_ACKS),
        (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (1, ErrorCode.INVALID_RECORD),
    ]
    other = cluster_with_topic(brokers=2)
    topic = other.topics.get("t")
    assert topic is not None
    follower_id = 3 - topic.partitions[0].leader_id
    response = send(other, [(0, BATCH + BATCH)], broker_id=follower_id)
    assert responses(response)[0].error_code == ErrorCode.INVALID_RECORD


def test_of_several_batches_of_a_partition_the_last_valid_one_is_stored() -> None:
    cluster = cluster_with_topic()
    last = make_batch(b"last")
    response = send(cluster, [(0, BATCH), (1, b""), (0, last), (1, BATCH)])
    assert [(part.index, part.error_code) for part in responses(response)] == [
        (0, ErrorCode.NONE),
        (1, ErrorCode.INVALID_RECORD),
    ]
    assert end_offsets(cluster) == [1, 2]


@pytest.mark.parametrize("broken", [altered(BATCH, 8, ">i", 1), altered(BATCH, 16, ">b", 7)])
def test_what_is_no_batch_fails_the_request(broken: bytes) -> None:
    cluster = cluster_with_topic()
    response = send(cluster, [(1, BATCH), (0, broken), (9, BATCH), (0, BATCH)])
    assert [(part.index, part.error_code) for part in responses(response)] == [
        (index, ErrorCode.CORRUPT_MESSAGE) for index in (1, 0, 9)
    ]
    assert end_offsets(cluster) == [0, 0]


@pytest.mark.parametrize("version", range(8, 14))
def test_record_errors_name_the_records(version: int) -> None:
    cluster = cluster_with_topic(cleanup_policy="compact")
    response = send(cluster, [(0, make_batch(b"a", b"b", key=None))], version=version)

    result = responses(response)[0]
    assert result.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in result.record_errors] == [0, 1]
    assert "without key" in result.error_message


def test_log_append_time_is_returned_and_stored() -> None:
    cluster = cluster_with_topic(message_timestamp_type="LogAppendTime")
    response = send(cluster, [(0, make_batch(b"a", timestamps=[5]))])
    assert responses(response)[0].log_append_time_ms == 1_700_000_000_000


def test_a_transactional_batch_gets_transactional_id_authorization_failed() -> None:
    """Without a transactional id in the request."""
    batch = make_batch(
        b"a", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    cluster = cluster_with_topic()
    response = send(cluster, [(0, BATCH), (1, batch)])
    assert [part.error_code for part in responses(response)] == (
        [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 2
    )
    topic = cluster.topics.get("t")
    assert topic is not None
    assert topic.partitions[0].log.log_end_offset == 0


def test_a_batch_that_is_not_transactional_needs_no_transaction() -> None:
    response = send(cluster_with_topic(), [(0, BATCH)], transactional_id="tx")
    assert responses(response)[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("batches", "duplicate_code"),
    [("5", ErrorCode.NONE), ("1", ErrorCode.DUPLICATE_SEQUENCE_NUMBER)],
)
def test_a_batch_sent_twice_is_stored_once(batches: str, duplicate_code: ErrorCode) -> None:
    cluster = make_cluster(1, **{"producer.state.batches": batches})
    cluster.create_topic("t", [(1,)], {})
    first = make_batch(b"a", b"b", producer_id=5, producer_epoch=0, base_sequence=0)
    gap = make_batch(b"x", producer_id=5, producer_epoch=0, base_sequence=9)
    stale = make_batch(b"x", producer_id=5, producer_epoch=-1, base_sequence=0)

    codes = [responses(send(cluster, [(0, batch)]))[0] for batch in (first, first, gap, stale)]

    assert [(a.error_code, a.base_offset) for a in codes] == [
        (ErrorCode.NONE, 0),
        (duplicate_code, 0),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1),
        (ErrorCode.INVALID_PRODUCER_EPOCH, -1),
    ]
    assert end_offsets(cluster) == [2]
    assert {a.log_start_offset for a in codes} == {0}
