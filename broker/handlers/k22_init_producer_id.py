"""InitProducerId: v0-6.

Behaviour:
    - Without a transactional id every request gets a new producer id with epoch 0, whatever id and
      epoch it carries, as in Kafka. Each broker takes ids in blocks of 1000.
    - From v3 an id without an epoch, or an epoch without an id, gets INVALID_REQUEST.
    - With producer.state.batches=1 versions from 2 on carry the value of
      max.in.flight.sequence.number.per.connection of the requested broker: how many sequence
      numbers back it recognizes duplicates. It is an int32 in the tagged field 10000, which
      all known clients ignore.
    - With a transactional id the coordinator returns its producer id with the next epoch, which
      fences all older instances of the producer. With the last epoch used up there is a new
      producer id. A producer that sends the id and epoch it had (v3+, KIP-360) gets PRODUCER_FENCED
      (before v4 INVALID_PRODUCER_EPOCH) if a later instance exists.
    - An ongoing transaction is aborted first. Until its markers are written the error is
      CONCURRENT_TRANSACTIONS, and the producer asks again.
    - Errors of a transactional id: INVALID_REQUEST (empty), INVALID_TRANSACTION_TIMEOUT (0, or
      above transaction.max.timeout.ms), NOT_COORDINATOR. Two-phase commit (v6) needs
      transaction.two.phase.commit.enable, else TRANSACTIONAL_ID_AUTHORIZATION_FAILED; to keep a
      prepared transaction gets UNSUPPORTED_VERSION, as in Kafka 4.4.
    - Without permission for the transactional id TRANSACTIONAL_ID_AUTHORIZATION_FAILED. Without a
      transactional id a client needs the permission for idempotent writes, or to write to any
      topic: CLUSTER_AUTHORIZATION_FAILED.
"""

from broker.authorization.checks import (
    IDEMPOTENT_WRITE_CLUSTER,
    TWO_PHASE_COMMIT_TRANSACTIONAL_ID,
    WRITE_TOPIC_ANY,
    WRITE_TRANSACTIONAL_ID,
)
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import transaction_ownership_error
from broker.cluster.transactions import end_prepared, takes_long_to_end
from broker.request.authorization import is_allowed, may_any
from broker.request.context import RequestContext
from broker.routes import TAKES_TURNS, handles
from broker.transactions.coordinator import InitResult, ProducerIdAndEpoch
from broker.transactions.transaction import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.init_producer_id import (
    ShortInitProducerId,
    encode_producer,
    read_init_producer_id,
)
from protocol.pacing import may_pause

FENCED_VERSION_MIN = 4
"""The first version that knows PRODUCER_FENCED (KIP-588)."""


@handles(
    ApiKey.INIT_PRODUCER_ID,
    read_short=read_init_producer_id,
    checks=(
        WRITE_TRANSACTIONAL_ID,
        TWO_PHASE_COMMIT_TRANSACTIONAL_ID,
        IDEMPOTENT_WRITE_CLUSTER,
        WRITE_TOPIC_ANY,
    ),
)
@may_pause
def handle_init_producer_id(
    context: RequestContext,
    request: "messages.InitProducerIdRequest | ShortInitProducerId",
    cluster: Cluster,
) -> object:
    """Kafka's `KafkaApis.handleInitProducerIdRequest`; the response is the encoded body."""
    if cluster.authorizer is not None:
        error_code = _denial(context, request, cluster)
        if error_code is not ErrorCode.NONE:
            return encode_producer(
                context.api_version, error_code, NO_PRODUCER_ID, NO_PRODUCER_EPOCH, None
            )
    if isinstance(request, ShortInitProducerId) and takes_long_to_end(
        cluster, request.transactional_id
    ):
        return TAKES_TURNS
    # Before v3 a request has neither; the schema's default is -1.
    has_id = request.producer_id != NO_PRODUCER_ID
    producer_id, producer_epoch = NO_PRODUCER_ID, NO_PRODUCER_EPOCH
    if has_id != (request.producer_epoch != NO_PRODUCER_EPOCH):
        error_code = ErrorCode.INVALID_REQUEST
    elif request.transactional_id is None:
        error_code = ErrorCode.NONE
        producer_id, producer_epoch = cluster.producer_ids.next_id(context.broker_id), 0
    else:
        error_code, producer = _init_transactional(
            context, request.transactional_id, request, cluster
        )
        producer_id, producer_epoch = producer
    version = context.api_version
    if error_code is ErrorCode.PRODUCER_FENCED and version < FENCED_VERSION_MIN:
        error_code = ErrorCode.INVALID_PRODUCER_EPOCH
    window = _window(context, cluster) if error_code is ErrorCode.NONE else None
    return encode_producer(version, error_code, producer_id, producer_epoch, window)


def _denial(
    context: RequestContext,
    request: "messages.InitProducerIdRequest | ShortInitProducerId",
    cluster: Cluster,
) -> ErrorCode:
    """Return the error of what the client may not do, or NONE."""
    if isinstance(request, ShortInitProducerId) or request.transactional_id is None:
        # The denial of idempotent writes is noted, so it comes last: either permission is enough.
        operation, resource_type, error_code = WRITE_TOPIC_ANY
        if may_any(context, cluster, operation, resource_type) or is_allowed(
            context, cluster, IDEMPOTENT_WRITE_CLUSTER
        ):
            return ErrorCode.NONE
        return error_code
    transactional_id = request.transactional_id
    if is_allowed(context, cluster, WRITE_TRANSACTIONAL_ID, transactional_id) and (
        not request.enable2_pc
        or is_allowed(context, cluster, TWO_PHASE_COMMIT_TRANSACTIONAL_ID, transactional_id)
    ):
        return ErrorCode.NONE
    return WRITE_TRANSACTIONAL_ID.error_code


@may_pause
def _init_transactional(
    context: RequestContext,
    transactional_id: str,
    request: "messages.InitProducerIdRequest",
    cluster: Cluster,
) -> InitResult:
    expected = None
    if request.producer_id != NO_PRODUCER_ID:
        expected = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    result = cluster.transactions.init_producer_id(
        transactional_id,
        request.transaction_timeout_ms,
        expected,
        new_producer_id=lambda: cluster.producer_ids.next_id(context.broker_id),
        now_ms=context.now_ms,
        enable_2pc=request.enable2_pc,
        keep_prepared=request.keep_prepared_txn,
        ownership_error=transaction_ownership_error(cluster, context.broker_id, transactional_id),
    )
    end_prepared(cluster, transactional_id, context.now_ms)
    return result


def _window(context: RequestContext, cluster: Cluster) -> int | None:
    """Return KIP-758's window of the requested broker; None under Kafka's rules."""
    config = cluster.config.for_broker(context.broker_id)
    if config["producer.state.batches"] != 1:
        return None
    window: int = config["max.in.flight.sequence.number.per.connection"]
    return window
