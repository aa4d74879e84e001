"""AddOffsetsToTxn: v0-4.

Behaviour:
    - Adds the partition of `__consumer_offsets` of a group to the transaction of a producer, so
      that TxnOffsetCommit may commit offsets of the group in it.
    - Errors: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED, INVALID_REQUEST
      (empty transactional id), INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED (before v2
      INVALID_PRODUCER_EPOCH), CONCURRENT_TRANSACTIONS, NOT_COORDINATOR.
"""

from broker.authorization.checks import READ_GROUP, WRITE_TRANSACTIONAL_ID
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import transaction_ownership_error
from broker.cluster.transactions import OFFSETS_TOPIC
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from broker.transactions.coordinator import ProducerIdAndEpoch
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

FENCED_VERSION_MIN = 2


@handles(ApiKey.ADD_OFFSETS_TO_TXN, checks=(WRITE_TRANSACTIONAL_ID, READ_GROUP))
def handle_add_offsets_to_txn(
    context: RequestContext, request: "messages.AddOffsetsToTxnRequest", cluster: Cluster
) -> "messages.AddOffsetsToTxnResponse":
    """Kafka's `KafkaApis.handleAddOffsetsToTxnRequest`."""
    error_code = ErrorCode.INVALID_REQUEST
    if not is_allowed(context, cluster, WRITE_TRANSACTIONAL_ID, request.transactional_id):
        error_code = WRITE_TRANSACTIONAL_ID.error_code
    elif not is_allowed(context, cluster, READ_GROUP, request.group_id):
        error_code = READ_GROUP.error_code
    elif request.transactional_id:
        error_code = transaction_ownership_error(
            cluster, context.broker_id, request.transactional_id
        )
    if error_code is ErrorCode.NONE:
        error_code = cluster.transactions.add_partitions(
            request.transactional_id,
            ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
            ((OFFSETS_TOPIC, cluster.group_log.partition_index(request.group_id)),),
            transaction_version=0,
            now_ms=context.now_ms,
        )
    if error_code is ErrorCode.PRODUCER_FENCED and context.api_version < FENCED_VERSION_MIN:
        error_code = ErrorCode.INVALID_PRODUCER_EPOCH
    return messages.AddOffsetsToTxnResponse(version=context.api_version, error_code=error_code)
