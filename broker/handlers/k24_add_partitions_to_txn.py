"""AddPartitionsToTxn: v0-5.

Behaviour:
    - Adds partitions to the transaction of a producer; the first ones begin it. Versions from 4 on
      carry several transactions, and may only verify that partitions are in the transaction:
      brokers send them.
    - A partition that does not exist gets UNKNOWN_TOPIC_OR_PARTITION, one of a topic that the
      client may not write to TOPIC_AUTHORIZATION_FAILED; then the others get
      OPERATION_NOT_ATTEMPTED and none is added. Clients (v0-3) may not add internal topics.
    - CLUSTER_AUTHORIZATION_FAILED for the request (v4) without permission for cluster actions.
    - Errors of all partitions: TRANSACTIONAL_ID_AUTHORIZATION_FAILED (v0-3), INVALID_REQUEST (empty
      transactional id), INVALID_PRODUCER_ID_MAPPING (unknown transactional id, or another producer
      id), PRODUCER_FENCED (another epoch; before v2 INVALID_PRODUCER_EPOCH),
      CONCURRENT_TRANSACTIONS (the transaction is being ended), NOT_COORDINATOR. A partition that is
      verified and not in the transaction gets TRANSACTION_ABORTABLE.
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias, TypeVar

from broker.authorization.checks import CLUSTER_ACTION_CLUSTER, WRITE_TOPIC, WRITE_TRANSACTIONAL_ID
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import transaction_ownership_error
from broker.cluster.topics import INTERNAL_TOPICS
from broker.request.authorization import denied_names, is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from broker.transactions.coordinator import ProducerIdAndEpoch
from broker.transactions.transaction import EPOCH_BUMP_VERSION_MIN, TopicPartition
from protocol import messages
from protocol.add_partitions_to_txn import (
    BATCH_VERSION_MIN,
    ShortAddPartitions,
    ShortTopic,
    encode_response,
    read_add_partitions,
)
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

FENCED_VERSION_MIN = 2

_Response = messages.AddPartitionsToTxnResponse
_TransactionResult = _Response.AddPartitionsToTxnResult
_OldTopicResult = _Response.AddPartitionsToTxnTopicResult
_TopicResult = _TransactionResult.AddPartitionsToTxnTopicResult
_Results: TypeAlias = Sequence[tuple[str, Sequence[tuple[int, ErrorCode]]]]
"""The error code of each partition, by topic."""
_RequestedTopics: TypeAlias = (
    "Sequence[messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic | ShortTopic"
    " | messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction.AddPartitionsToTxnTopic]"
)
_TopicClass = TypeVar("_TopicClass", _TopicResult, _OldTopicResult)


@handles(
    ApiKey.ADD_PARTITIONS_TO_TXN,
    read_short=read_add_partitions,
    checks=(CLUSTER_ACTION_CLUSTER, WRITE_TRANSACTIONAL_ID, WRITE_TOPIC),
)
@may_pause
def handle_add_partitions_to_txn(
    context: RequestContext,
    request: "messages.AddPartitionsToTxnRequest | ShortAddPartitions",
    cluster: Cluster,
) -> "messages.AddPartitionsToTxnResponse | bytes":
    """Kafka's `KafkaApis.handleAddPartitionsToTxnRequest`; a short response is encoded."""
    version = context.api_version
    if isinstance(request, ShortAddPartitions) or version < BATCH_VERSION_MIN:
        results = _add(
            context,
            cluster,
            request.v3_and_below_transactional_id,
            ProducerIdAndEpoch(
                request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
            ),
            request.v3_and_below_topics,
            request.v3_and_below_topics,
        )
        encoded = encode_response(version, results)
        if encoded is not None:
            return encoded
        return _Response(
            version=version,
            results_by_topic_v3_and_below=_topic_results(_OldTopicResult, version, results),
        )
    if not is_allowed(context, cluster, CLUSTER_ACTION_CLUSTER):
        return _Response(version=version, error_code=CLUSTER_ACTION_CLUSTER.error_code)
    # Of transactions with the same transactional id Kafka adds the partitions of the last one, and
    # reports those of the first one.
    topics = {
        requested.transactional_id: requested.topics for requested in paced(request.transactions)
    }
    reported = {
        requested.transactional_id: requested.topics
        for requested in paced(reversed(request.transactions))
    }
    return _Response(
        version=version,
        results_by_transaction=[
            _TransactionResult(
                version=version,
                transactional_id=transaction.transactional_id,
                topic_results=_topic_results(
                    _TopicResult,
                    version,
                    _add(
                        context,
                        cluster,
                        transaction.transactional_id,
                        ProducerIdAndEpoch(transaction.producer_id, transaction.producer_epoch),
                        topics[transaction.transactional_id],
                        reported[transaction.transactional_id],
                        verify_only=transaction.verify_only,
                    ),
                ),
            )
            for transaction in paced(request.transactions)
        ],
    )


@may_pause
def _add(
    context: RequestContext,
    cluster: Cluster,
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    topics: _RequestedTopics,
    reported: _RequestedTopics,
    *,
    verify_only: bool = False,
) -> _Results:
    """Add or verify the partitions of one transaction; return an error code for each.

    Kafka reports the topics as they are requested, with duplicates, when partitions are added, and
    each partition once otherwise.
    """
    is_of_client = context.api_version < BATCH_VERSION_MIN
    if is_of_client and not is_allowed(context, cluster, WRITE_TRANSACTIONAL_ID, transactional_id):
        return _with_error(reported, WRITE_TRANSACTIONAL_ID.error_code)
    partitions = dict.fromkeys(
        (topic.name, index) for topic in paced(topics) for index in paced(topic.partitions)
    )
    refused = _refused(context, cluster, partitions)
    if refused:
        return _by_topic(
            {
                partition: refused.get(partition, ErrorCode.OPERATION_NOT_ATTEMPTED)
                for partition in paced(partitions)
            }
        )
    error_code = ErrorCode.INVALID_REQUEST
    if transactional_id:
        error_code = transaction_ownership_error(cluster, context.broker_id, transactional_id)
    is_owned = error_code is ErrorCode.NONE
    if verify_only:
        verify = cluster.transactions.verify_partition
        return _by_topic(
            {
                partition: verify(transactional_id, producer, partition) if is_owned else error_code
                for partition in paced(partitions)
            }
        )
    if is_owned:
        error_code = cluster.transactions.add_partitions(
            transactional_id,
            producer,
            partitions,
            transaction_version=_transaction_version(context.api_version),
            now_ms=context.now_ms,
        )
    if error_code is ErrorCode.PRODUCER_FENCED and context.api_version < FENCED_VERSION_MIN:
        error_code = ErrorCode.INVALID_PRODUCER_EPOCH
    return _with_error(reported, error_code)


@may_pause
def _refused(
    context: RequestContext, cluster: Cluster, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """Return the errors of partitions that cannot be added."""
    denied: AbstractSet[str] = frozenset()
    if context.api_version < BATCH_VERSION_MIN:  # brokers have checked what a client may do
        names = (name for name, _index in partitions if name not in INTERNAL_TOPICS)
        denied = INTERNAL_TOPICS | denied_names(context, cluster, WRITE_TOPIC, names)
    refused = {}
    for partition in paced(partitions):
        if partition[0] in denied:
            refused[partition] = WRITE_TOPIC.error_code
        elif not _exists(cluster, partition):
            refused[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return refused


@may_pause
def _with_error(topics: _RequestedTopics, error_code: ErrorCode) -> _Results:
    return [
        (topic.name, [(index, error_code) for index in paced(topic.partitions)])
        for topic in paced(topics)
    ]


def _transaction_version(version: int) -> int:
    """Return the transaction version of the sender; clients send v0-3 in older ones only."""
    return EPOCH_BUMP_VERSION_MIN if version >= BATCH_VERSION_MIN else 0


def _exists(cluster: Cluster, partition: TopicPartition) -> bool:
    name, index = partition
    topic = cluster.topics.get(name)
    return topic is not None and topic.partition(index) is not None


@may_pause
def _by_topic(error_codes: Mapping[TopicPartition, ErrorCode]) -> _Results:
    by_topic: dict[str, list[tuple[int, ErrorCode]]] = {}
    for (name, index), error_code in paced(error_codes.items()):
        by_topic.setdefault(name, []).append((index, error_code))
    return list(by_topic.items())


@may_pause
def _topic_results(
    topic_class: type[_TopicClass], version: int, results: _Results
) -> list[_TopicClass]:
    return [
        topic_class(
            version=version,
            name=name,
            results_by_partition=[
                topic_class.AddPartitionsToTxnPartitionResult(
                    version=version, partition_index=index, partition_error_code=error_code
                )
                for index, error_code in paced(error_codes)
            ],
        )
        for name, error_codes in paced(results)
    ]
