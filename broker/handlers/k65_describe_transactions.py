"""DescribeTransactions: v0.

Behaviour:
    - Returns state, producer, timeout, begin and partitions of the transactions of transactional
      ids, in request order. While a transaction is ended these are the partitions without a marker.
      Topics that the client may not describe are left out.
    - Errors of an id: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, INVALID_REQUEST (empty),
      NOT_COORDINATOR, TRANSACTIONAL_ID_NOT_FOUND.
"""

from broker.authorization.checks import DESCRIBE_TOPIC_UNLISTED, DESCRIBE_TRANSACTIONAL_ID
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import transaction_ownership_error
from broker.request.authorization import denied_names, is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from broker.transactions.transaction import Transaction
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_State = messages.DescribeTransactionsResponse.TransactionState


@handles(ApiKey.DESCRIBE_TRANSACTIONS, checks=(DESCRIBE_TRANSACTIONAL_ID, DESCRIBE_TOPIC_UNLISTED))
@may_pause
def handle_describe_transactions(
    context: RequestContext, request: "messages.DescribeTransactionsRequest", cluster: Cluster
) -> "messages.DescribeTransactionsResponse":
    """Kafka's `KafkaApis.handleDescribeTransactionsRequest`."""
    return messages.DescribeTransactionsResponse(
        version=context.api_version,
        transaction_states=[
            _describe(context, cluster, transactional_id)
            for transactional_id in paced(request.transactional_ids)
        ],
    )


@may_pause
def _describe(context: RequestContext, cluster: Cluster, transactional_id: str) -> _State:
    transaction = cluster.transactions.get(transactional_id)
    error_code = ErrorCode.INVALID_REQUEST
    if not is_allowed(context, cluster, DESCRIBE_TRANSACTIONAL_ID, transactional_id):
        error_code = DESCRIBE_TRANSACTIONAL_ID.error_code
    elif transactional_id:
        error_code = transaction_ownership_error(cluster, context.broker_id, transactional_id)
    if error_code is ErrorCode.NONE and transaction is None:
        error_code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    if error_code is not ErrorCode.NONE or transaction is None:
        return _State(
            version=context.api_version,
            error_code=error_code,
            transactional_id=transactional_id,
            topics=[],
        )
    return _State(
        version=context.api_version,
        error_code=error_code,
        transactional_id=transactional_id,
        transaction_state=transaction.state.value,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=_topics(context, cluster, transaction),
    )


@may_pause
def _topics(
    context: RequestContext, cluster: Cluster, transaction: Transaction
) -> list[_State.TopicData]:
    by_topic: dict[str, list[int]] = {}
    for name, index in transaction.partitions:
        by_topic.setdefault(name, []).append(index)
    denied = denied_names(context, cluster, DESCRIBE_TOPIC_UNLISTED, by_topic)
    return [
        _State.TopicData(version=context.api_version, topic=name, partitions=indexes)
        for name, indexes in by_topic.items()
        if name not in denied
    ]
