"""DescribeTransactions: v0.

Behaviour:
    - Returns state, producer, timeout, begin and partitions of the transactions of transactional
      ids, in request order. While a transaction is ended these are the partitions without a marker.
    - Errors of an id: INVALID_REQUEST (empty), NOT_COORDINATOR, TRANSACTIONAL_ID_NOT_FOUND.
"""

from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import transaction_ownership_error
from broker.request.context import RequestContext
from broker.routes import handles
from broker.transactions.transaction import Transaction
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_State = messages.DescribeTransactionsResponse.TransactionState


@handles(ApiKey.DESCRIBE_TRANSACTIONS)
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


def _describe(context: RequestContext, cluster: Cluster, transactional_id: str) -> _State:
    transaction = cluster.transactions.get(transactional_id)
    error_code = ErrorCode.INVALID_REQUEST
    if transactional_id:
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
        topics=_topics(context, transaction),
    )


def _topics(context: RequestContext, transaction: Transaction) -> list[_State.TopicData]:
    by_topic: dict[str, list[int]] = {}
    for name, index in transaction.partitions:
        by_topic.setdefault(name, []).append(index)
    return [
        _State.TopicData(version=context.api_version, topic=name, partitions=indexes)
        for name, indexes in by_topic.items()
    ]
