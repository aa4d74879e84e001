"""Requests and responses are encoded and decoded in all common versions."""

from typing import Any
from uuid import UUID

import pytest

from client.producer.actions import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionOutcome,
    PartitionView,
    ProduceRequest,
    ProduceResponse,
    Request,
    StampedBatch,
    TopicView,
)
from client.producer.batch import Batch
from client.producer.messages import expects_response, parse_response, request_message
from client.resources import Address
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.init_producer_id import encode_response
from protocol.produce import PartitionResult, TopicResult
from protocol.produce import encode_response as encode_produce_response
from protocol.produce_decoder import decode_request
from tests.batches import make_batch

TOPIC_ID = bytes(range(16))
BATCH = make_batch(b"x")
NO_BATCHES: tuple[Batch, ...] = ()


def produce_request(topic_id: bytes = TOPIC_ID, acks: int = -1) -> ProduceRequest:
    data = (
        StampedBatch("a", topic_id, 0, BATCH),
        StampedBatch("a", topic_id, 3, BATCH),
    )
    return ProduceRequest(acks, 1_000, data, NO_BATCHES)


@pytest.mark.parametrize("version", [3, 8, 9, 12, 13])
def test_a_produce_request_groups_batches_by_topic(version: int) -> None:
    request, version_max = request_message(produce_request())
    assert version_max is None
    frame = bytes(request.encode(version=version))
    decoded = decode_request(version, frame, 0, len(frame))
    assert (decoded.acks, decoded.timeout_ms, decoded.transactional_id) == (-1, 1_000, None)
    (topic,) = decoded.topics
    named = topic.name or topic.topic_id
    assert named == "a" or getattr(named, "bytes", b"") == TOPIC_ID
    assert [partition.partition_index for partition in topic.partitions] == [0, 3]
    assert [frame[partition.start : partition.end] for partition in topic.partitions] == [BATCH] * 2


def test_without_topic_ids_produce_version_13_is_not_used() -> None:
    _, version_max = request_message(produce_request(topic_id=bytes(16)))
    assert version_max == 12


@pytest.mark.parametrize("version", [3, 5, 8, 9, 13])
def test_a_produce_response_has_an_outcome_for_every_partition(version: int) -> None:
    body = encode_produce_response(
        version,
        [
            TopicResult(
                "a",
                UUID(bytes=TOPIC_ID),
                [PartitionResult(0, 0, 42, 7), PartitionResult(3, 89)],
            )
        ],
        throttle_time_ms=15,
    )
    response = messages.ProduceResponse.decode(bytes(body), version=version)
    assert parse_response(produce_request(), response) == ProduceResponse(
        {("a", 0): PartitionOutcome(0, 42, 7), ("a", 3): PartitionOutcome(89)}, 15
    )


@pytest.mark.parametrize("window", [None, 5, 10_000_000])
def test_init_producer_id_response_has_the_window_if_the_broker_sends_it(
    window: int | None,
) -> None:
    request, _ = request_message(InitProducerIdRequest())
    assert isinstance(request, messages.InitProducerIdRequest)
    assert request.transactional_id is None
    response = messages.InitProducerIdResponse(
        version=4, throttle_time_ms=3, error_code=0, producer_id=9, producer_epoch=1
    )
    decoded = messages.InitProducerIdResponse.decode(
        encode_response(response, 4, window), version=4
    )
    assert parse_response(InitProducerIdRequest(), decoded) == InitProducerIdResponse(
        0, 9, 1, window, 3
    )


@pytest.mark.parametrize("version", [4, 7, 9, 12])
def test_metadata_has_brokers_topics_and_leaders(version: int) -> None:
    request = MetadataRequest(("a", "b"))
    message, _ = request_message(request)
    assert isinstance(message, messages.MetadataRequest)
    assert [topic.name for topic in message.topics or ()] == ["a", "b"]
    decoded: Any = messages.MetadataResponse.decode(
        bytes(metadata_response().encode(version=version)), version=version
    )
    response = parse_response(request, decoded)
    assert isinstance(response, MetadataResponse)
    assert response.brokers == {1: Address("one", 9092)}
    assert response.throttle_time_ms == 4
    leader_epoch = 6 if version >= 7 else -1
    assert response.topics["a"].partitions == {0: PartitionView(1, leader_epoch)}
    assert response.topics["b"] == TopicView(3, {})


def metadata_response() -> Any:
    response = messages.MetadataResponse
    topic = response.MetadataResponseTopic
    return response(
        throttle_time_ms=4,
        cluster_id="c",
        controller_id=1,
        brokers=[response.MetadataResponseBroker(node_id=1, host="one", port=9092)],
        topics=[
            topic(
                error_code=0,
                name="a",
                partitions=[
                    topic.MetadataResponsePartition(
                        error_code=0, partition_index=0, leader_id=1, leader_epoch=6
                    )
                ],
            ),
            topic(error_code=3, name="b"),
        ],
    )


@pytest.mark.parametrize(
    ("sent", "expected"),
    [(produce_request(), True), (produce_request(acks=0), False), (InitProducerIdRequest(), True)],
)
def test_only_produce_with_acks_0_has_no_response(sent: Request, expected: bool) -> None:
    assert expects_response(sent) == expected


def test_each_request_becomes_a_message_of_its_api() -> None:
    requests: list[tuple[Request, ApiKey]] = [
        (produce_request(), ApiKey.PRODUCE),
        (MetadataRequest(("a",)), ApiKey.METADATA),
        (InitProducerIdRequest(), ApiKey.INIT_PRODUCER_ID),
    ]
    assert [request_message(request)[0].API_KEY for request, _ in requests] == [
        key for _, key in requests
    ]
