"""EndTxn: v0-5.

Behaviour:
    - Commits or aborts the transaction of a producer: writes a marker to each of its partitions,
      and stores or drops the offsets that were committed in it.
    - Version 5 is that of transaction version 2 (KIP-890): every end bumps the epoch, and the
      response has the producer id and epoch of the next transaction. Without an epoch left there is
      a new producer id. An abort succeeds without a transaction.
    - If the leader of a partition is not available, the transaction stays prepared until its marker
      is written. Until then a repeated request gets CONCURRENT_TRANSACTIONS.
    - Errors: TRANSACTIONAL_ID_AUTHORIZATION_FAILED (the transaction stays open), INVALID_REQUEST
      (empty transactional id), INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED (before v2
      INVALID_PRODUCER_EPOCH), INVALID_TXN_STATE (no transaction, or the other outcome was requested
      before), NOT_COORDINATOR.
"""

from broker.authorization.checks import WRITE_TRANSACTIONAL_ID
from broker.cluster.cluster import Cluster
from broker.cluster.transactions import end_requested, takes_long_to_end
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import TAKES_TURNS, handles
from broker.transactions.coordinator import new_producer
from broker.transactions.transaction import (
    EPOCH_BUMP_VERSION_MIN,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
)
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.end_txn import ShortEndTxn, encode_response, read_end_txn
from protocol.errors import ErrorCode
from protocol.pacing import may_pause

FENCED_VERSION_MIN = 2
BUMP_VERSION_MIN = 5
"""The first version of the transaction version in which every end bumps the epoch (KIP-890)."""


@handles(ApiKey.END_TXN, read_short=read_end_txn, checks=(WRITE_TRANSACTIONAL_ID,))
@may_pause
def handle_end_txn(
    context: RequestContext, request: "messages.EndTxnRequest | ShortEndTxn", cluster: Cluster
) -> object:
    """Kafka's `KafkaApis.handleEndTxnRequest`; the response is the encoded body."""
    api_version, transactional_id = context.api_version, request.transactional_id
    if cluster.authorizer is not None and not is_allowed(
        context, cluster, WRITE_TRANSACTIONAL_ID, transactional_id
    ):
        return encode_response(
            api_version, WRITE_TRANSACTIONAL_ID.error_code, NO_PRODUCER_ID, NO_PRODUCER_EPOCH
        )
    if isinstance(request, ShortEndTxn) and takes_long_to_end(cluster, transactional_id):
        return TAKES_TURNS
    error_code, next_id, next_epoch = end_requested(
        cluster,
        context.broker_id,
        transactional_id,
        new_producer((request.producer_id, request.producer_epoch)),
        is_commit=request.committed,
        transaction_version=EPOCH_BUMP_VERSION_MIN if api_version >= BUMP_VERSION_MIN else 0,
        now_ms=context.now_ms,
    )
    if error_code is ErrorCode.PRODUCER_FENCED and api_version < FENCED_VERSION_MIN:
        error_code = ErrorCode.INVALID_PRODUCER_EPOCH
    return encode_response(api_version, error_code, next_id, next_epoch)
