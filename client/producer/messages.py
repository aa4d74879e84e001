"""Convert the core's requests to messages of the protocol, and responses back."""

from uuid import UUID

from client.producer import transaction_messages
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
    Response,
    TopicView,
)
from client.producer.transactions import IMPLICIT_PARTITIONS_VERSION_MIN
from client.resources import Address
from protocol import messages
from protocol.init_producer_id import window_of
from protocol.produce import TOPIC_ID_VERSION_MIN

_NO_TOPIC_ID = bytes(16)


def request_message(request: Request) -> tuple["messages.Request[messages.Message]", int | None]:
    """Return the message of a request and the highest version to send it in (None: any)."""
    match request:
        case ProduceRequest():
            return _produce_request(request), _produce_version_max(request)
        case MetadataRequest():
            topic_class = messages.MetadataRequest.MetadataRequestTopic
            message = messages.MetadataRequest(
                topics=[topic_class(name=name) for name in request.topics],
                allow_auto_topic_creation=True,
            )
            return message, None
        case InitProducerIdRequest():
            return (
                messages.InitProducerIdRequest(
                    transactional_id=request.transactional_id,
                    transaction_timeout_ms=request.transaction_timeout_ms,
                    producer_id=request.producer_id,
                    producer_epoch=request.producer_epoch,
                ),
                None,
            )
        case _:
            return transaction_messages.request_message(request)


def _produce_version_max(request: ProduceRequest) -> int | None:
    is_implicit = request.transaction_version >= IMPLICIT_PARTITIONS_VERSION_MIN
    if request.transactional_id is not None and not is_implicit:
        return transaction_messages.IMPLICIT_PRODUCE_VERSION_MIN - 1
    has_ids = all(stamped.topic_id != _NO_TOPIC_ID for stamped in request.data)
    return None if has_ids else TOPIC_ID_VERSION_MIN - 1


def expects_response(request: Request) -> bool:
    """Return whether the broker responds at all: with acks=0 it doesn't."""
    return not isinstance(request, ProduceRequest) or request.acks != 0


def parse_response(request: Request, response: "messages.Message") -> Response:
    """Convert a decoded response to the core's response to `request`."""
    match request:
        case ProduceRequest():
            assert isinstance(response, messages.ProduceResponse)
            return _produce_response(request, response)
        case MetadataRequest():
            assert isinstance(response, messages.MetadataResponse)
            return _metadata_response(response)
        case InitProducerIdRequest():
            assert isinstance(response, messages.InitProducerIdResponse)
            return InitProducerIdResponse(
                error_code=response.error_code,
                producer_id=response.producer_id,
                producer_epoch=response.producer_epoch,
                window=window_of(response),
                throttle_time_ms=response.throttle_time_ms,
            )
        case _:
            return transaction_messages.parse_response(request, response)


def _produce_request(request: ProduceRequest) -> "messages.ProduceRequest":
    topic_class = messages.ProduceRequest.TopicProduceData
    topics: dict[str, messages.ProduceRequest.TopicProduceData] = {}
    for stamped in request.data:
        topic = topics.get(stamped.topic)
        if topic is None:
            topic = topics[stamped.topic] = topic_class(
                name=stamped.topic, topic_id=UUID(bytes=stamped.topic_id), partition_data=[]
            )
        topic.partition_data.append(
            topic_class.PartitionProduceData(index=stamped.partition, records=stamped.records)
        )
    return messages.ProduceRequest(
        transactional_id=request.transactional_id,
        acks=request.acks,
        timeout_ms=request.timeout_ms,
        topic_data=list(topics.values()),
    )


def _produce_response(
    request: ProduceRequest, response: "messages.ProduceResponse"
) -> ProduceResponse:
    names = {stamped.topic_id: stamped.topic for stamped in request.data}
    outcomes = {}
    for topic in response.responses:
        # From version 13 on the response has ids instead of names.
        name = topic.name or names.get(_id_bytes(topic.topic_id), "")
        for partition_response in topic.partition_responses:
            outcomes[name, partition_response.index] = PartitionOutcome(
                partition_response.error_code,
                partition_response.base_offset,
                partition_response.log_append_time_ms,
                partition_response.error_message,
            )
    return ProduceResponse(outcomes, response.throttle_time_ms)


def _metadata_response(response: "messages.MetadataResponse") -> MetadataResponse:
    return MetadataResponse(
        brokers={broker.node_id: Address(broker.host, broker.port) for broker in response.brokers},
        topics={
            topic.name: TopicView(
                error_code=topic.error_code,
                partitions={
                    partition.partition_index: PartitionView(
                        partition.leader_id, partition.leader_epoch
                    )
                    for partition in topic.partitions
                },
                topic_id=_id_bytes(topic.topic_id),
            )
            for topic in response.topics
            if topic.name is not None
        },
        throttle_time_ms=response.throttle_time_ms,
    )


def _id_bytes(topic_id: UUID | None) -> bytes:
    return _NO_TOPIC_ID if topic_id is None else topic_id.bytes
