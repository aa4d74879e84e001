"""Transactions: list and abort them, and remove transactional ids."""

from functools import partial

import msgspec

from broker.cluster.internal_topics import TRANSACTION_STATE
from broker.cluster.transactions import end_prepared
from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.operation import Input, Name, Problem, operation
from broker.http_admin.state import Admin
from broker.http_admin.unknown_names import no_such
from broker.transactions.transaction import IDLE, NO_TIME, Transaction, TransactionState
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced


class TransactionPartitionView(msgspec.Struct):
    """A partition in a transaction; those of `__consumer_offsets` stand for committed offsets."""

    topic: str
    partition: int


class TransactionView(msgspec.Struct):
    """The transactional id of a producer, and its latest transaction.

    `state` is Kafka's name, such as Ongoing or CompleteCommit. `start_ms` and `age_ms` are null
    without a transaction. `partitions` are those that have no commit or abort marker yet.
    `coordinator` is null while its partition of `__transaction_state` has no leader.
    """

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    coordinator: int | None
    timeout_ms: int
    start_ms: int | None
    age_ms: int | None
    partitions: list[TransactionPartitionView]


class TransactionPath(Input):
    """A transaction by its transactional id."""

    transactional_id: Name


@operation("GET", "/v1/transactions", tag="transactions", turn_kind=TurnKind.READING)
@may_pause
def list_transactions(admin: Admin) -> list[TransactionView]:
    """List all transactional ids with their transactions."""
    return [_view(admin, transaction) for transaction in paced(admin.cluster.transactions.all())]


@operation(
    "GET",
    "/v1/transactions/{transactional_id}",
    tag="transactions",
    turn_kind=TurnKind.READING,
)
@may_pause
def get_transaction(admin: Admin, path: TransactionPath) -> TransactionView:
    """Return one transaction."""
    return _view(admin, _transaction(admin, path.transactional_id))


@operation("POST", "/v1/transactions/{transactional_id}/abort", tag="transactions")
async def abort_transaction(admin: Admin, path: TransactionPath) -> TransactionView:
    """Abort an ongoing transaction, as the coordinator does after its timeout.

    Its producer is fenced. The state is PrepareAbort until the leaders of all partitions are up.
    """
    return await admin.alone_in_turns(partial(_abort, admin, path))


@may_pause
def _abort(admin: Admin, path: TransactionPath) -> TransactionView:
    transaction = _transaction(admin, path.transactional_id)
    if transaction.state is not TransactionState.ONGOING:
        raise Problem(
            409,
            f"transaction {path.transactional_id!r} is in state {transaction.state.value}; only one"
            f" in state {TransactionState.ONGOING.value} can be aborted",
        )
    now_ms = admin.now_ms()
    _check_log(admin.cluster.transactions.abort(transaction, now_ms), path.transactional_id)
    end_prepared(admin.cluster, path.transactional_id, now_ms)
    return _view(admin, transaction)


@operation(
    "DELETE",
    "/v1/transactions/{transactional_id}",
    tag="transactions",
    status=204,
    media_type=None,
)
def expire_transactional_id(admin: Admin, path: TransactionPath) -> None:
    """Remove a transactional id without a transaction, as after `transactional.id.expiration.ms`.

    The next request of its producer gets INVALID_PRODUCER_ID_MAPPING.
    """
    transaction = _transaction(admin, path.transactional_id)
    if transaction.state not in IDLE:
        raise Problem(
            409,
            f"transaction {path.transactional_id!r} is in state {transaction.state.value}; abort it"
            " first",
        )
    removed = admin.cluster.transactions.remove(transaction, admin.now_ms())
    _check_log(removed, path.transactional_id)


def _check_log(error_code: ErrorCode, transactional_id: str) -> None:
    if error_code is not ErrorCode.NONE:
        raise Problem(
            409,
            f"the coordinator of {transactional_id!r} cannot write to {TRANSACTION_STATE.name}:"
            f" {error_code.name}; start the brokers of its replicas first",
        )


def _transaction(admin: Admin, transactional_id: str) -> Transaction:
    transaction = admin.cluster.transactions.get(transactional_id)
    if transaction is None:
        known = {one.transactional_id for one in admin.cluster.transactions.all()}
        raise no_such("transactional id", transactional_id, known, "list_transactions")
    return transaction


@may_pause
def _view(admin: Admin, transaction: Transaction) -> TransactionView:
    is_begun = transaction.start_ms != NO_TIME and transaction.state not in IDLE
    return TransactionView(
        transaction.transactional_id,
        transaction.state.value,
        transaction.producer_id,
        transaction.producer_epoch,
        admin.cluster.transaction_coordinator_id(transaction.transactional_id),
        transaction.timeout_ms,
        transaction.start_ms if is_begun else None,
        max(0, admin.now_ms() - transaction.start_ms) if is_begun else None,
        [TransactionPartitionView(*partition) for partition in paced(transaction.partitions)],
    )
