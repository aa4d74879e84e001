"""The core's calls as messages of the protocol, and messages as answers for the core."""

from typing import Any
from uuid import UUID

from client.producer.actions import (
    Call,
    InitProducerIdCall,
    MetadataCall,
    MetadataResponse,
    PartitionOutcome,
    PartitionView,
    ProduceCall,
    ProduceResponse,
    ProducerIdResponse,
    Response,
    TopicView,
)
from client.resources import Address
from protocol import messages
from protocol.init_producer_id import window_of
from protocol.produce import TOPIC_ID_VERSION_MIN

_NO_ID = -1
_NO_TOPIC_ID = bytes(16)


def message_of(call: Call) -> tuple[Any, int | None]:
    """A call's request, and the highest version that can say it (None: any)."""
    match call:
        case ProduceCall():
            has_ids = all(each.topic_id != _NO_TOPIC_ID for each in call.data)
            return _produce_request(call), None if has_ids else TOPIC_ID_VERSION_MIN - 1
        case MetadataCall():
            topic_class = messages.MetadataRequest.MetadataRequestTopic
            request = messages.MetadataRequest(
                topics=[topic_class(name=name) for name in call.topics],
                allow_auto_topic_creation=True,
            )
            return request, None
        case InitProducerIdCall():
            return (
                messages.InitProducerIdRequest(
                    transactional_id=None,
                    transaction_timeout_ms=0,
                    producer_id=_NO_ID,
                    producer_epoch=_NO_ID,
                ),
                None,
            )


def expects_response(call: Call) -> bool:
    """Whether the broker will answer at all: with acks=0 it doesn't."""
    return not isinstance(call, ProduceCall) or call.acks != 0


def response_of(call: Call, response: Any) -> Response:
    """A decoded response as the core's answer to a call."""
    match call:
        case ProduceCall():
            return _produce_response(call, response)
        case MetadataCall():
            return _metadata_response(response)
        case InitProducerIdCall():
            return ProducerIdResponse(
                error_code=response.error_code,
                producer_id=response.producer_id,
                producer_epoch=response.producer_epoch,
                window=window_of(response),
                throttle_time_ms=response.throttle_time_ms,
            )


def _produce_request(call: ProduceCall) -> Any:
    topic_class = messages.ProduceRequest.TopicProduceData
    topics: dict[str, Any] = {}
    for each in call.data:
        topic = topics.get(each.topic)
        if topic is None:
            topic = topics[each.topic] = topic_class(
                name=each.topic, topic_id=UUID(bytes=each.topic_id), partition_data=[]
            )
        topic.partition_data.append(
            topic_class.PartitionProduceData(index=each.partition, records=each.records)
        )
    return messages.ProduceRequest(
        transactional_id=None,
        acks=call.acks,
        timeout_ms=call.timeout_ms,
        topic_data=list(topics.values()),
    )


def _produce_response(call: ProduceCall, response: Any) -> ProduceResponse:
    names = {each.topic_id: each.topic for each in call.data}
    outcomes = {}
    for topic in response.responses:
        # From version 13 on the response has ids in the place of names.
        name = topic.name or names.get(_id_bytes(topic.topic_id), "")
        for each in topic.partition_responses:
            outcomes[name, each.index] = PartitionOutcome(
                each.error_code, each.base_offset, each.log_append_time_ms, each.error_message
            )
    return ProduceResponse(outcomes, response.throttle_time_ms)


def _metadata_response(response: Any) -> MetadataResponse:
    return MetadataResponse(
        brokers={each.node_id: Address(each.host, each.port) for each in response.brokers},
        topics={
            topic.name: TopicView(
                error_code=topic.error_code,
                partitions={
                    each.partition_index: PartitionView(each.leader_id, each.leader_epoch)
                    for each in topic.partitions
                },
                topic_id=_id_bytes(topic.topic_id),
            )
            for topic in response.topics
        },
        throttle_time_ms=response.throttle_time_ms,
    )


def _id_bytes(topic_id: UUID | None) -> bytes:
    return _NO_TOPIC_ID if topic_id is None else topic_id.bytes
