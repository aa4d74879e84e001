"""The table of transactional ids: who may begin, extend and end which transaction.

All coordinators of the cluster share this table; which broker answers for a transactional id is
decided elsewhere. A prepared transaction stays in `prepared` until its markers are written.

Sources: Kafka's `TransactionCoordinator` and `TransactionStateManager`.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from broker.timers import PeriodicTask
from broker.transactions.ending import EndResult, end_transaction
from broker.transactions.state_records import (
    NoTransactionLog,
    TransactionLog,
    transaction_key,
)
from broker.transactions.transaction import (
    EPOCH_BUMP_VERSION_MIN,
    IDLE,
    LAST_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMEOUT_MS,
    PREPARED,
    TopicPartition,
    Transaction,
    TransactionState,
)
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced_elements


class ProducerIdAndEpoch(NamedTuple):
    """What InitProducerId returns for a transactional id, and what a producer may send with it."""

    producer_id: int
    producer_epoch: int


new_producer: Callable[[tuple[int, int]], ProducerIdAndEpoch]
new_producer = partial(tuple.__new__, ProducerIdAndEpoch)
"""Make it in less time than the class takes."""


class InitResult(NamedTuple):
    """The result of an InitProducerId with a transactional id."""

    error_code: ErrorCode
    producer: ProducerIdAndEpoch = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


class TransactionCoordinator:
    """All transactional ids of the cluster.

    `config` is a mapping of Kafka's broker keys to parsed values and may be replaced.
    `transaction_version` returns the version of transactions that the coordinator itself ends.
    `log` stores what another coordinator would need to go on: each change of a transactional id.
    While it accepts no record, nothing changes, and requests get its error.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        transaction_version: Callable[[], int],
        log: TransactionLog | None = None,
    ) -> None:
        self.config = config
        self._transaction_version = transaction_version
        self._log = log or NoTransactionLog()
        self._transactions: dict[str, Transaction] = {}
        self.prepared: dict[str, Transaction] = {}
        """Transactions whose markers are not all written, by transactional id."""
        self.retry: PeriodicTask | None = None
        """Writes the missing markers; started while there may be some."""
        self.is_look_scheduled = False
        """Whether all prepared transactions will be looked at after the current request."""

    def __len__(self) -> int:
        return len(self._transactions)

    def get(self, transactional_id: str) -> Transaction | None:
        """Return the state of a transactional id, or None if it is unknown."""
        return self._transactions.get(transactional_id)

    # InitProducerId --------------------------------------------------------------------------

    def init_producer_id(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: ProducerIdAndEpoch | None,
        *,
        new_producer_id: Callable[[], int],
        now_ms: int,
        enable_2pc: bool = False,
        keep_prepared: bool = False,
        ownership_error: ErrorCode = ErrorCode.NONE,
    ) -> InitResult:
        """Return the id and epoch of a new instance of a producer; older instances are fenced.

        `expected` is what the producer had before (KIP-360). An ongoing transaction is aborted
        first, and the producer has to ask again: CONCURRENT_TRANSACTIONS. `ownership_error` is
        that of a broker which is not the coordinator; errors of the request itself come first.
        """
        error_code = self._init_error(transactional_id, timeout_ms, enable_2pc, keep_prepared)
        if error_code is ErrorCode.NONE:
            error_code = ownership_error
        if error_code is not ErrorCode.NONE:
            return InitResult(error_code)
        if enable_2pc:
            timeout_ms = NO_TIMEOUT_MS
        transaction = self._transactions.get(transactional_id)
        if transaction is None:
            transaction = Transaction(transactional_id, new_producer_id(), timeout_ms, now_ms)
            self._transactions[transactional_id] = transaction
        if expected is not None and not _is_known_producer(transaction, expected):
            return InitResult(ErrorCode.PRODUCER_FENCED)
        if transaction.state in PREPARED:
            return InitResult(ErrorCode.CONCURRENT_TRANSACTIONS)
        error_code = self._log_error(transaction)
        if error_code is not ErrorCode.NONE:
            return InitResult(error_code)
        if transaction.state is TransactionState.ONGOING:
            self.abort(transaction, now_ms)
            return InitResult(ErrorCode.CONCURRENT_TRANSACTIONS)
        is_rotation = transaction.is_epoch_exhausted and (
            expected is None or expected.producer_epoch == transaction.producer_epoch
        )
        if is_rotation:
            last_epoch = NO_PRODUCER_EPOCH if expected is None else transaction.producer_epoch
            transaction.rotate_producer_id(new_producer_id(), last_epoch, timeout_ms, now_ms)
        else:
            error_code = _begin_next_epoch(transaction, expected, timeout_ms, now_ms)
            if error_code is not ErrorCode.NONE:
                return InitResult(error_code)
        self._append(transaction, now_ms)
        producer = ProducerIdAndEpoch(transaction.producer_id, transaction.producer_epoch)
        return InitResult(ErrorCode.NONE, producer)

    def _init_error(
        self, transactional_id: str, timeout_ms: int, enable_2pc: bool, keep_prepared: bool
    ) -> ErrorCode:
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        if enable_2pc and not self.config["transaction.two.phase.commit.enable"]:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        if keep_prepared:
            return ErrorCode.UNSUPPORTED_VERSION
        if not enable_2pc and not 0 < timeout_ms <= self.config["transaction.max.timeout.ms"]:
            return ErrorCode.INVALID_TRANSACTION_TIMEOUT
        return ErrorCode.NONE

    # Partitions ------------------------------------------------------------------------------

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Iterable[TopicPartition],
        *,
        transaction_version: int,
        now_ms: int,
    ) -> ErrorCode:
        """Add partitions to the transaction of a producer; the first ones begin it.

        To repeat it at the same time changes nothing more.
        """
        found = self._find_for(transactional_id, producer)
        if not isinstance(found, Transaction):
            return found
        added = dict.fromkeys(partitions)
        is_ongoing = found.state is TransactionState.ONGOING
        if is_ongoing and added.keys() <= found.partitions.keys():
            return ErrorCode.NONE
        error_code = self._log_error(found)
        if error_code is ErrorCode.NONE:
            found.add(added, transaction_version, now_ms)
            self._append(found, now_ms)
        return error_code

    def verify_partition(
        self, transactional_id: str, producer: ProducerIdAndEpoch, partition: TopicPartition
    ) -> ErrorCode:
        """Return NONE if a partition is in the transaction, else TRANSACTION_ABORTABLE.

        Errors of the transactional id and of the producer come first.
        """
        found = self._find_for(transactional_id, producer)
        if not isinstance(found, Transaction):
            return found
        is_added = partition in found.partitions
        return ErrorCode.NONE if is_added else ErrorCode.TRANSACTION_ABORTABLE

    def _find_for(
        self, transactional_id: str, producer: ProducerIdAndEpoch
    ) -> Transaction | ErrorCode:
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        producer_id, producer_epoch = producer
        transaction = self._transactions.get(transactional_id)
        if transaction is None or transaction.producer_id != producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if transaction.producer_epoch != producer_epoch or producer_epoch > LAST_EPOCH:
            return ErrorCode.PRODUCER_FENCED
        if transaction.state in PREPARED:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        return transaction

    # Ends ------------------------------------------------------------------------------------

    def end(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        *,
        is_commit: bool,
        transaction_version: int,
        new_producer_id: Callable[[], int],
        now_ms: int,
    ) -> EndResult:
        """Prepare to commit or abort; write the markers next, if it is in `prepared`."""
        if not transactional_id:
            return EndResult(ErrorCode.INVALID_REQUEST)
        transaction = self._transactions.get(transactional_id)
        if transaction is None:
            return EndResult(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        result = end_transaction(
            transaction,
            *producer,
            is_commit=is_commit,
            transaction_version=transaction_version,
            new_producer_id=new_producer_id,
            now_ms=now_ms,
            log_error=self._log_error(transaction),
        )
        if result.error_code is ErrorCode.NONE and transaction.state in PREPARED:
            self.prepared[transactional_id] = transaction
            self._append(transaction, now_ms)
        return result

    def abort(self, transaction: Transaction, now_ms: int) -> ErrorCode:
        """Fence the producer of an ongoing transaction, and prepare to abort it.

        Returns NONE, or the error of the log; then nothing changes.
        """
        error_code = self._log_error(transaction)
        if error_code is not ErrorCode.NONE:
            return error_code
        version = self._transaction_version()
        if version < EPOCH_BUMP_VERSION_MIN:
            transaction.fence()
        transaction.prepare(TransactionState.PREPARE_ABORT, version, now_ms)
        self.prepared[transaction.transactional_id] = transaction
        self._append(transaction, now_ms)
        return ErrorCode.NONE

    def complete(self, transaction: Transaction, now_ms: int) -> bool:
        """Finish a prepared transaction that has no partition left without a marker.

        Returns False, and changes nothing, while the log accepts no record.
        """
        if self._log_error(transaction) is not ErrorCode.NONE:
            return False
        transaction.complete(now_ms)
        del self.prepared[transaction.transactional_id]
        self._append(transaction, now_ms)
        return True

    @may_pause
    def disconnect(self, node_id: int) -> None:
        """Cancel the markers that wait at a broker which is no longer up."""
        for transaction in self.prepared.values():
            for request in transaction.marker_requests.values():
                if request.node_id == node_id:
                    request.pending.cancel()

    @may_pause
    def timed_out(self, now_ms: int) -> list[Transaction]:
        """Return the ongoing transactions that are older than their timeout."""
        return [
            transaction
            for transaction in paced_elements(tuple(self._transactions.values()))
            if transaction.has_timed_out(now_ms)
        ]

    @may_pause
    def expire(self, now_ms: int) -> None:
        """Remove the transactional ids that had no transaction for the time of their expiry."""
        latest_ms = now_ms - self._expiration_ms
        for transaction in paced_elements(tuple(self._transactions.values())):
            # Another request may have used or removed it during a pause.
            if (
                transaction.state in IDLE
                and transaction.last_update_ms <= latest_ms
                and self._transactions.get(transaction.transactional_id) is transaction
            ):
                self.remove(transaction, now_ms)

    def next_expiry_ms(self) -> int | None:
        """Return when `expire` could next remove an id; None if all have a transaction."""
        times = (
            transaction.last_update_ms
            for transaction in self._transactions.values()
            if transaction.state in IDLE
        )
        oldest_ms = min(times, default=None)
        return None if oldest_ms is None else oldest_ms + self._expiration_ms

    @property
    def _expiration_ms(self) -> int:
        expiration_ms: int = self.config["transactional.id.expiration.ms"]
        return expiration_ms

    def remove(self, transaction: Transaction, now_ms: int) -> ErrorCode:
        """Remove a transactional id that has no transaction, as if it had expired.

        Returns NONE, or the error of the log; then nothing changes.
        """
        assert transaction.state in IDLE
        transactional_id = transaction.transactional_id
        error_code = self._log_error(transaction)
        if error_code is ErrorCode.NONE:
            transaction.state = TransactionState.DEAD
            del self._transactions[transactional_id]
            assert transaction.log is not None
            transaction.log.append((transaction_key(transactional_id), None), now_ms)
        return error_code

    def load(self, transactional_id: str, transaction: Transaction | None) -> None:
        """Know of a transactional id what its log has, or nothing; write its markers again."""
        self._transactions.pop(transactional_id, None)
        self.prepared.pop(transactional_id, None)
        if transaction is not None:
            self._transactions[transactional_id] = transaction
            if transaction.state in PREPARED:
                self.prepared[transactional_id] = transaction

    def forget_all(self) -> None:
        """Forget all transactional ids, because their log was deleted."""
        self._transactions.clear()
        self.prepared.clear()

    def _log_error(self, transaction: Transaction) -> ErrorCode:
        """Return NONE if a record of a transactional id can be appended, or why not."""
        log = transaction.log
        if log is not None:
            return log.check()
        log = transaction.log = self._log.partition_log(transaction.transactional_id)
        return ErrorCode.NOT_COORDINATOR if log is None else log.check()

    def _append(self, transaction: Transaction, now_ms: int) -> None:
        """Append the state of a transactional id to the log, after `_log_error`."""
        assert transaction.log is not None
        transaction.log.append_state(transaction, self._transaction_version(), now_ms)

    # Views -----------------------------------------------------------------------------------

    def all(self) -> Iterable[Transaction]:
        """Return all transactional ids, in the order in which they were first used."""
        return self._transactions.values()


def _is_known_producer(transaction: Transaction, expected: ProducerIdAndEpoch) -> bool:
    """Whether a producer may be the one of this transactional id, or its predecessor's retry.

    The epoch is checked later. A transactional id that was just added knows no producer yet.
    """
    return (
        transaction.producer_epoch == NO_PRODUCER_EPOCH
        or expected.producer_id == transaction.producer_id
        or (
            expected.producer_id == transaction.previous_producer_id
            and expected.producer_epoch >= LAST_EPOCH
        )
    )


def _begin_next_epoch(
    transaction: Transaction, expected: ProducerIdAndEpoch | None, timeout_ms: int, now_ms: int
) -> ErrorCode:
    """Bump the epoch; a retry of the latest bump gets the same epoch again."""
    current, last = transaction.producer_epoch, transaction.last_producer_epoch
    if transaction.is_epoch_exhausted:
        return ErrorCode.UNKNOWN_SERVER_ERROR  # Kafka throws an IllegalStateException
    if expected is None:
        transaction.begin_epoch(current + 1, NO_PRODUCER_EPOCH, timeout_ms, now_ms)
    elif current in {NO_PRODUCER_EPOCH, expected.producer_epoch}:
        transaction.begin_epoch(current + 1, current, timeout_ms, now_ms)
    elif expected.producer_epoch == last:
        transaction.begin_epoch(current, last, timeout_ms, now_ms)
    else:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.NONE
