"""TxnOffsetCommit: v0-6.

Behaviour:
    - Stores offsets of a group that become valid when the transaction of a producer is committed.
      Until then OffsetFetch returns the offsets before; with require_stable it returns
      UNSTABLE_OFFSET_COMMIT.
    - The transaction must have the group's partition of `__consumer_offsets` (AddOffsetsToTxn),
      else TRANSACTION_ABORTABLE (v4) or INVALID_TXN_STATE. Version 5 adds it (KIP-890).
    - From v3 a member and its generation are checked as for OffsetCommit, except that a rebalance
      is no error: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION. A share group gets
      GROUP_ID_NOT_FOUND. An older epoch of a member is taken where OffsetCommit takes it.
    - From v6 topics are named by id (KIP-1319); an unknown id gets UNKNOWN_TOPIC_ID. A generation
      of a group that does not exist gets GROUP_ID_NOT_FOUND, and a member of the consumer protocol
      STALE_MEMBER_EPOCH. Both get ILLEGAL_GENERATION before.
    - A stale producer epoch gets INVALID_PRODUCER_EPOCH, another producer id
      INVALID_PRODUCER_ID_MAPPING, and a transaction that is being ended CONCURRENT_TRANSACTIONS. If
      the coordinator of the transactional id cannot be asked: COORDINATOR_LOAD_IN_PROGRESS (before
      v2 COORDINATOR_NOT_AVAILABLE).
    - TRANSACTIONAL_ID_AUTHORIZATION_FAILED and GROUP_AUTHORIZATION_FAILED are errors of all
      partitions.
    - Errors of a partition: UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED,
      OFFSET_METADATA_TOO_LARGE. The response begins with the topics and partitions that do not
      exist, or that the client may not read.
"""

from broker.authorization.checks import READ_GROUP, READ_TOPIC, WRITE_TRANSACTIONAL_ID
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ownership_error
from broker.cluster.transactions import OFFSETS_TOPIC
from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.offset_commit.requested_offsets import (
    refused_topics,
    requested_offsets,
    response_topics,
)
from broker.produce.verification import verify_transaction
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

LOADING_VERSION_MIN = 2
ABORTABLE_VERSION_MIN = 4
ADDS_PARTITION_VERSION_MIN = 5
TOPIC_ID_VERSION_MIN = 6
_NO_SEQUENCE = -1

_Response = messages.TxnOffsetCommitResponse
_TopicResponse = _Response.TxnOffsetCommitResponseTopic
_PartitionResponse = _TopicResponse.TxnOffsetCommitResponsePartition


@handles(ApiKey.TXN_OFFSET_COMMIT, checks=(WRITE_TRANSACTIONAL_ID, READ_GROUP, READ_TOPIC))
@may_pause
def handle_txn_offset_commit(
    context: RequestContext, request: "messages.TxnOffsetCommitRequest", cluster: Cluster
) -> "messages.TxnOffsetCommitResponse":
    """Kafka's `KafkaApis.handleTxnOffsetCommitRequest`."""
    version = context.api_version
    uses_topic_ids = version >= TOPIC_ID_VERSION_MIN
    denial = _denial(context, request, cluster)
    if denial is not None:
        found = refused_topics(request.topics, denial, uses_topic_ids=uses_topic_ids)
    else:
        requested = requested_offsets(
            context, cluster, request.topics, uses_topic_ids=uses_topic_ids
        )
        error_codes = _commit(context, request, requested.offsets, cluster)
        found = response_topics(requested, error_codes)
    topic_responses = []
    for key, errors in paced(found):
        partitions = [
            _PartitionResponse(version=version, partition_index=index, error_code=error_code)
            for index, error_code in paced(errors)
        ]
        topic_response = _TopicResponse(version=version, partitions=partitions)
        if uses_topic_ids:
            topic_response.topic_id = key
        else:
            topic_response.name = key
        topic_responses.append(topic_response)
    return _Response(version=version, topics=topic_responses)


def _denial(
    context: RequestContext, request: "messages.TxnOffsetCommitRequest", cluster: Cluster
) -> ErrorCode | None:
    if not is_allowed(context, cluster, WRITE_TRANSACTIONAL_ID, request.transactional_id):
        return WRITE_TRANSACTIONAL_ID.error_code
    if not is_allowed(context, cluster, READ_GROUP, request.group_id):
        return READ_GROUP.error_code
    return None


@may_pause
def _commit(
    context: RequestContext,
    request: "messages.TxnOffsetCommitRequest",
    offsets: list[OffsetToCommit],
    cluster: Cluster,
) -> tuple[ErrorCode, ...]:
    if not offsets:
        return ()
    index = cluster.group_log.partition_index(request.group_id)
    return cluster.groups.table.commit_in_transaction(
        CommitRequest(
            group_id=request.group_id,
            offsets=offsets,
            generation_id=request.generation_id_or_member_epoch,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            knows_missing_groups=context.api_version >= TOPIC_ID_VERSION_MIN,
        ),
        offsets_partition=index,
        producer=(request.producer_id, request.producer_epoch),
        now_ms=context.now_ms,
        verify=lambda: _verify(context, request, index, cluster),
    )


def _verify(
    context: RequestContext,
    request: "messages.TxnOffsetCommitRequest",
    index: int,
    cluster: Cluster,
) -> ErrorCode:
    version = context.api_version
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    error_code = ownership_error(cluster, context.broker_id, request.group_id)
    partition = cluster.group_log.partition(request.group_id)
    if error_code is not ErrorCode.NONE or partition is None:
        return error_code
    error_code = verify_transaction(
        cluster,
        context.broker_id,
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        (OFFSETS_TOPIC, index),
        partition.producers,
        context.now_ms,
        _NO_SEQUENCE,
        adds_partition=version >= ADDS_PARTITION_VERSION_MIN,
        knows_abortable=version >= ABORTABLE_VERSION_MIN,
    )
    if error_code is ErrorCode.NETWORK_EXCEPTION:
        is_known = version >= LOADING_VERSION_MIN
        return (
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            if is_known
            else ErrorCode.COORDINATOR_NOT_AVAILABLE
        )
    return error_code
