"""The messages of transactions in all versions of the client."""

from typing import Any

import pytest

from client.producer.actions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    CoordinatorKey,
    CoordinatorType,
    EndTxnRequest,
    EndTxnResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ProduceRequest,
    StampedBatch,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from client.producer.batch import TopicPartition
from client.producer.messages import parse_response, request_message
from client.producer.transactional_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from client.resources import Address
from protocol import messages

PARTITIONS = (TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1))
ADD_PARTITIONS = AddPartitionsToTxnRequest("t", 7, 3, PARTITIONS)
FIND = FindCoordinatorRequest(CoordinatorKey(CoordinatorType.TRANSACTION, "t"))


def offset_commit(version: int) -> TxnOffsetCommitRequest:
    offsets = tuple((partition, OffsetAndMetadata(5, "m", 4)) for partition in PARTITIONS)
    group = ConsumerGroupMetadata("g", 2, "member", "instance")
    return TxnOffsetCommitRequest("t", 7, 3, group, offsets, version)


def decoded(message: Any, version: int) -> Any:
    frame = bytes(message.encode(version=version))
    return type(message).decode(frame, version=version)


@pytest.mark.parametrize(("transaction_version", "produce_max"), [(0, 11), (1, 11), (2, None)])
def test_only_version_2_sends_produce_with_implicit_partitions(
    transaction_version: int, produce_max: int | None
) -> None:
    data = (StampedBatch("a", bytes(range(16)), 0, b""),)
    request = ProduceRequest(-1, 5, data, (), "t", transaction_version)
    message, version_max = request_message(request)
    assert version_max == produce_max
    assert isinstance(message, messages.ProduceRequest)
    assert message.transactional_id == "t"


@pytest.mark.parametrize(("transaction_version", "version_max"), [(1, 4), (2, None)])
def test_offsets_and_the_end_have_the_versions_of_the_transaction(
    transaction_version: int, version_max: int | None
) -> None:
    # From version 6 on topics are named by id.
    assert request_message(offset_commit(transaction_version))[1] == (version_max or 5)
    end = EndTxnRequest("t", 7, 3, is_commit=True, transaction_version=transaction_version)
    assert request_message(end)[1] == version_max


@pytest.mark.parametrize("version", [0, 3])
def test_partitions_are_added_by_topic(version: int) -> None:
    message, version_max = request_message(ADD_PARTITIONS)
    assert version_max == 3
    read = decoded(message, version)
    assert (read.v3_and_below_transactional_id, read.v3_and_below_producer_epoch) == ("t", 3)
    assert [(topic.name, topic.partitions) for topic in read.v3_and_below_topics] == [
        ("a", [0, 2]),
        ("b", [1]),
    ]


@pytest.mark.parametrize("version", [0, 3, 5])
def test_offsets_are_committed_by_topic_with_the_group_member(version: int) -> None:
    read = decoded(request_message(offset_commit(2))[0], version)
    assert [
        (topic.name, [(p.partition_index, p.committed_offset) for p in topic.partitions])
        for topic in read.topics
    ] == [("a", [(0, 5), (2, 5)]), ("b", [(1, 5)])]
    if version >= 3:
        assert (read.generation_id_or_member_epoch, read.member_id, read.group_instance_id) == (
            2,
            "member",
            "instance",
        )


@pytest.mark.parametrize("version", [1, 4, 6])
def test_a_coordinator_is_found_in_all_versions(version: int) -> None:
    read = decoded(request_message(FIND)[0], version)
    assert read.key_type == 1
    assert (read.key if version < 4 else read.coordinator_keys[0]) == "t"
    response = messages.FindCoordinatorResponse
    found: dict[str, Any] = {"error_code": 0, "node_id": 3, "host": "h", "port": 9}
    made = (
        response(throttle_time_ms=4, **found)
        if version < 4
        else response(throttle_time_ms=4, coordinators=[response.Coordinator(key="t", **found)])
    )
    assert parse_response(FIND, decoded(made, version)) == FindCoordinatorResponse(
        0, 3, Address("h", 9), 4
    )


def test_responses_with_partitions_have_error_codes_by_partition() -> None:
    added = messages.AddPartitionsToTxnResponse
    topic_class = added.AddPartitionsToTxnTopicResult
    made = added(
        throttle_time_ms=6,
        results_by_topic_v3_and_below=[
            topic_class(
                name="a",
                results_by_partition=[
                    topic_class.AddPartitionsToTxnPartitionResult(
                        partition_index=2, partition_error_code=51
                    )
                ],
            )
        ],
    )
    assert parse_response(ADD_PARTITIONS, decoded(made, 3)) == AddPartitionsToTxnResponse(
        {TopicPartition("a", 2): 51}, 6
    )
    committed = messages.TxnOffsetCommitResponse
    topic = committed.TxnOffsetCommitResponseTopic
    partition = topic.TxnOffsetCommitResponsePartition(partition_index=1, error_code=22)
    response = committed(throttle_time_ms=0, topics=[topic(name="b", partitions=[partition])])
    assert parse_response(offset_commit(1), decoded(response, 3)) == TxnOffsetCommitResponse(
        {TopicPartition("b", 1): 22}
    )


@pytest.mark.parametrize(("version", "producer"), [(4, (-1, -1)), (5, (8, 0))])
def test_only_later_ends_return_the_next_producer(version: int, producer: tuple[int, int]) -> None:
    end = EndTxnRequest("t", 7, 3, is_commit=False, transaction_version=2)
    message, _ = request_message(end)
    assert isinstance(message, messages.EndTxnRequest)
    assert not message.committed
    made = messages.EndTxnResponse(
        throttle_time_ms=0, error_code=0, producer_id=8, producer_epoch=0
    )
    assert parse_response(end, decoded(made, version)) == EndTxnResponse(0, *producer)


def test_a_group_is_added_to_the_transaction() -> None:
    request = AddOffsetsToTxnRequest("t", 7, 3, "g")
    message, version_max = request_message(request)
    assert isinstance(message, messages.AddOffsetsToTxnRequest)
    assert (message.group_id, message.producer_epoch, version_max) == ("g", 3, None)
    made = messages.AddOffsetsToTxnResponse(throttle_time_ms=2, error_code=16)
    assert parse_response(request, decoded(made, 3)) == AddOffsetsToTxnResponse(16, 2)
