"""Convert the requests of a transaction to messages of the protocol, and responses back.

Before transaction version 2 the requests have the versions that add nothing implicitly (KIP-890).
"""

from client.producer.actions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    TransactionRequest,
    TransactionResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from client.producer.batch import TopicPartition
from client.producer.transactions import IMPLICIT_PARTITIONS_VERSION_MIN
from client.resources import Address
from protocol import messages

IMPLICIT_PRODUCE_VERSION_MIN = 12
"""The first version of Produce that adds its partitions to the transaction."""
_ADD_PARTITIONS_VERSION_MAX = 3
"""Later versions are for brokers only."""
_IMPLICIT_OFFSETS_VERSION_MIN = 5
_OFFSETS_BY_NAME_VERSION_MAX = 5
"""Later versions name topics by id, which the caller of `send_offsets` does not have."""
_EPOCH_BUMP_VERSION_MIN = 5


def request_message(
    request: TransactionRequest,
) -> tuple["messages.Request[messages.Message]", int | None]:
    """Return the message of a request and the highest version to send it in (None: any)."""
    message: messages.Request[messages.Message]
    match request:
        case FindCoordinatorRequest(key=(key_type, key)):
            message = messages.FindCoordinatorRequest(
                key=key, key_type=int(key_type), coordinator_keys=[key]
            )
            return message, None
        case AddPartitionsToTxnRequest():
            return _add_partitions(request), _ADD_PARTITIONS_VERSION_MAX
        case AddOffsetsToTxnRequest():
            message = messages.AddOffsetsToTxnRequest(
                transactional_id=request.transactional_id,
                producer_id=request.producer_id,
                producer_epoch=request.producer_epoch,
                group_id=request.group_id,
            )
            return message, None
        case TxnOffsetCommitRequest():
            is_implicit = request.transaction_version >= IMPLICIT_PARTITIONS_VERSION_MIN
            return _offset_commit(request), (
                _OFFSETS_BY_NAME_VERSION_MAX if is_implicit else _IMPLICIT_OFFSETS_VERSION_MIN - 1
            )
        case EndTxnRequest():
            message = messages.EndTxnRequest(
                transactional_id=request.transactional_id,
                producer_id=request.producer_id,
                producer_epoch=request.producer_epoch,
                committed=request.is_commit,
            )
            is_bumping = request.transaction_version >= IMPLICIT_PARTITIONS_VERSION_MIN
            return message, None if is_bumping else _EPOCH_BUMP_VERSION_MIN - 1


def parse_response(
    request: TransactionRequest, response: "messages.Message"
) -> TransactionResponse:
    """Convert a decoded response to the core's response to `request`."""
    match request:
        case FindCoordinatorRequest():
            assert isinstance(response, messages.FindCoordinatorResponse)
            # From version 4 on there is a list of coordinators.
            found = response.coordinators[0] if response.coordinators else response
            return FindCoordinatorResponse(
                found.error_code,
                found.node_id,
                Address(found.host, found.port),
                response.throttle_time_ms,
            )
        case AddPartitionsToTxnRequest():
            assert isinstance(response, messages.AddPartitionsToTxnResponse)
            error_codes = {
                TopicPartition(topic.name, result.partition_index): result.partition_error_code
                for topic in response.results_by_topic_v3_and_below
                for result in topic.results_by_partition
            }
            return AddPartitionsToTxnResponse(error_codes, response.throttle_time_ms)
        case AddOffsetsToTxnRequest():
            assert isinstance(response, messages.AddOffsetsToTxnResponse)
            return AddOffsetsToTxnResponse(response.error_code, response.throttle_time_ms)
        case TxnOffsetCommitRequest():
            assert isinstance(response, messages.TxnOffsetCommitResponse)
            error_codes = {
                TopicPartition(topic.name, partition.partition_index): partition.error_code
                for topic in response.topics
                for partition in topic.partitions
            }
            return TxnOffsetCommitResponse(error_codes, response.throttle_time_ms)
        case EndTxnRequest():
            assert isinstance(response, messages.EndTxnResponse)
            return EndTxnResponse(
                response.error_code,
                response.producer_id,
                response.producer_epoch,
                response.throttle_time_ms,
            )


def _add_partitions(
    request: AddPartitionsToTxnRequest,
) -> "messages.AddPartitionsToTxnRequest":
    topic_class = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    indexes: dict[str, list[int]] = {}
    for topic, partition in request.partitions:
        indexes.setdefault(topic, []).append(partition)
    return messages.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=request.transactional_id,
        v3_and_below_producer_id=request.producer_id,
        v3_and_below_producer_epoch=request.producer_epoch,
        v3_and_below_topics=[
            topic_class(name=name, partitions=partitions) for name, partitions in indexes.items()
        ],
    )


def _offset_commit(request: TxnOffsetCommitRequest) -> "messages.TxnOffsetCommitRequest":
    topic_class = messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    partition_class = topic_class.TxnOffsetCommitRequestPartition
    partitions: dict[
        str,
        list[
            messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic.TxnOffsetCommitRequestPartition
        ],
    ] = {}
    for (topic, index), (offset, metadata, leader_epoch) in request.offsets:
        partitions.setdefault(topic, []).append(
            partition_class(
                partition_index=index,
                committed_offset=offset,
                committed_leader_epoch=leader_epoch,
                committed_metadata=metadata,
            )
        )
    return messages.TxnOffsetCommitRequest(
        transactional_id=request.transactional_id,
        group_id=request.group.group_id,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        generation_id_or_member_epoch=request.group.generation_id,
        member_id=request.group.member_id,
        group_instance_id=request.group.group_instance_id,
        topics=[topic_class(name=name, partitions=entries) for name, entries in partitions.items()],
    )
