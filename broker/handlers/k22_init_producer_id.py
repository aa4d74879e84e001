"""InitProducerId: v0-6.

Behaviour:
    - Without a transactional id every request gets a new producer id with epoch 0, whatever id and
      epoch it carries, as in Kafka. Each broker takes ids in blocks of 1000.
    - From v3 an id without an epoch, or an epoch without an id, gets INVALID_REQUEST.
    - With producer.state.batches=1 versions from 2 on carry the value of
      max.in.flight.sequence.number.per.connection of the requested broker: how many sequence
      numbers back it recognizes duplicates. It is an int32 in the tagged field 10000, which
      all known clients ignore.

Gaps:
    - A transactional id gets TRANSACTIONAL_ID_AUTHORIZATION_FAILED, and an empty one
      INVALID_REQUEST: there are no transactions.
"""

from typing import Any

from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.init_producer_id import encode_response

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1


@handles(ApiKey.INIT_PRODUCER_ID, versions=(0, 6))
def handle_init_producer_id(context: RequestContext, request: Any, cluster: Cluster) -> bytes:
    """Kafka's `KafkaApis.handleInitProducerIdRequest`; the response is the encoded body."""
    error_code = _check(context, request)
    is_granted = error_code == ErrorCode.NONE
    response = messages.InitProducerIdResponse(
        version=context.api_version,
        throttle_time_ms=0,
        error_code=error_code,
        producer_id=(
            cluster.producer_ids.next_id(context.broker_id) if is_granted else NO_PRODUCER_ID
        ),
        producer_epoch=0 if is_granted else NO_PRODUCER_EPOCH,
    )
    window = _window(context, cluster) if is_granted else None
    return encode_response(response, context.api_version, window)


def _window(context: RequestContext, cluster: Cluster) -> int | None:
    """Return KIP-758's window of the requested broker; None under Kafka's rules."""
    config = cluster.config.for_broker(context.broker_id)
    if config["producer.state.batches"] != 1:
        return None
    window: int = config["max.in.flight.sequence.number.per.connection"]
    return window


def _check(context: RequestContext, request: Any) -> ErrorCode:
    if request.transactional_id == "":
        return ErrorCode.INVALID_REQUEST
    if request.transactional_id is not None:
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if context.api_version >= 3:
        has_id = request.producer_id != NO_PRODUCER_ID
        has_epoch = request.producer_epoch != NO_PRODUCER_EPOCH
        if has_id != has_epoch:
            return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE
