"""ListTransactions: v0-2.

Behaviour:
    - Lists the transactional ids whose coordinator is the requested broker, with producer id and
      state.
    - Filters by state and producer id, from v1 by the time since the transaction began, from v2 by
      a regular expression that matches the whole transactional id. An unknown state is returned as
      such and matches nothing. What the client may not describe is left out.
    - An invalid regular expression gets INVALID_REGULAR_EXPRESSION. Its syntax is RE2's.

Gaps:
    - An expression of more than 2,048 bytes or 4,000 instructions is invalid, and a very long
      transactional id does not match a long one.
"""

from broker.authorization.checks import DESCRIBE_TRANSACTIONAL_ID_UNLISTED
from broker.cluster.cluster import Cluster
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from broker.transactions.transaction import Transaction, TransactionState
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced
from protocol.regular_expressions import full_match, regex_problem

_Response = messages.ListTransactionsResponse
_STATES = {state.value: state for state in TransactionState}


@handles(ApiKey.LIST_TRANSACTIONS, checks=(DESCRIBE_TRANSACTIONAL_ID_UNLISTED,))
@may_pause
def handle_list_transactions(
    context: RequestContext, request: "messages.ListTransactionsRequest", cluster: Cluster
) -> "messages.ListTransactionsResponse":
    """Kafka's `KafkaApis.handleListTransactionsRequest`."""
    version = context.api_version
    state_filters = dict.fromkeys(request.state_filters)
    states = {_STATES[name] for name in state_filters if name in _STATES}
    pattern = request.transactional_id_pattern or None
    if pattern is not None and regex_problem(pattern) is not None:
        return _Response(
            version=version,
            error_code=ErrorCode.INVALID_REGULAR_EXPRESSION,
            unknown_state_filters=[],
            transaction_states=[],
        )
    producer_ids = set(request.producer_id_filters)
    listed = [
        transaction
        for transaction in paced(cluster.transactions.all())
        if (not producer_ids or transaction.producer_id in producer_ids)
        and (not state_filters or transaction.state in states)
        and _is_older(transaction, request.duration_filter, context.now_ms)
        and (pattern is None or full_match(pattern, transaction.transactional_id))
        and cluster.transaction_coordinator_id(transaction.transactional_id) == context.broker_id
        and is_allowed(
            context, cluster, DESCRIBE_TRANSACTIONAL_ID_UNLISTED, transaction.transactional_id
        )
    ]
    return _Response(
        version=version,
        error_code=ErrorCode.NONE,
        unknown_state_filters=[name for name in state_filters if name not in _STATES],
        transaction_states=[
            _Response.TransactionState(
                version=version,
                transactional_id=transaction.transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state.value,
            )
            for transaction in listed
        ],
    )


def _is_older(transaction: Transaction, duration_ms: int, now_ms: int) -> bool:
    return duration_ms < 0 or now_ms - transaction.start_ms > duration_ms
