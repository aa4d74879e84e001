"""EndTxn: v0-5.

Behaviour:
    - Commits or aborts the transaction of a producer: writes a marker to each of its partitions,
      and stores or drops the offsets that were committed in it.
    - Version 5 is that of transaction version 2 (KIP-890): every end bumps the epoch, and the
      response has the producer id and epoch of the next transaction. Without an epoch left there is
      a new producer id. An abort succeeds without a transaction.
    - If the leader of a partition is not available, the transaction stays prepared until its marker
      is written. Until then a repeated request gets CONCURRENT_TRANSACTIONS.
    - Errors: INVALID_REQUEST (empty transactional id), INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED
      (before v2 INVALID_PRODUCER_EPOCH), INVALID_TXN_STATE (no transaction, or the other outcome
      was requested before), NOT_COORDINATOR.
"""

from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import transaction_ownership_error
from broker.cluster.transactions import end_prepared
from broker.request.context import RequestContext
from broker.routes import handles
from broker.transactions.coordinator import ProducerIdAndEpoch
from broker.transactions.ending import EndResult
from broker.transactions.transaction import EPOCH_BUMP_VERSION_MIN
from protocol.api_keys import ApiKey
from protocol.end_txn import encode_response, read_end_txn
from protocol.errors import ErrorCode

FENCED_VERSION_MIN = 2
BUMP_VERSION_MIN = 5


@handles(ApiKey.END_TXN, read_short=read_end_txn)
def handle_end_txn(context: RequestContext, request: Any, cluster: Cluster) -> bytes:
    """Kafka's `KafkaApis.handleEndTxnRequest`; the response is the encoded body."""
    version = context.api_version
    result = _end(context, request, cluster)
    error_code = result.error_code
    if error_code is ErrorCode.PRODUCER_FENCED and version < FENCED_VERSION_MIN:
        error_code = ErrorCode.INVALID_PRODUCER_EPOCH
    return encode_response(version, error_code, result.producer_id, result.producer_epoch)


def _transaction_version(version: int) -> int:
    """Return the transaction version of a client, as Kafka derives it from the request's."""
    return EPOCH_BUMP_VERSION_MIN if version >= BUMP_VERSION_MIN else 0


def _end(context: RequestContext, request: Any, cluster: Cluster) -> EndResult:
    transactional_id = request.transactional_id
    if transactional_id:
        error_code = transaction_ownership_error(cluster, context.broker_id, transactional_id)
        if error_code is not ErrorCode.NONE:
            return EndResult(error_code)
    result = cluster.transactions.end(
        transactional_id,
        ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
        is_commit=request.committed,
        transaction_version=_transaction_version(context.api_version),
        new_producer_id=lambda: cluster.producer_ids.next_id(context.broker_id),
        now_ms=context.now_ms,
    )
    if result.error_code is ErrorCode.NONE:
        end_prepared(cluster, transactional_id, context.now_ms)
    return result
