"""The transaction of a producer: its state, the caller's operations, and the next request.

    UNINITIALIZED -> INITIALIZING -> READY -> IN_TRANSACTION -> COMMITTING or ABORTING -> READY ...

An abortable error ends the transaction for all but `abort`; after a fatal one the producer can only
be closed. Requests go to a coordinator one at a time. `transaction_responses` handles what comes
back.

Sources: KIP-98, KIP-360 and KIP-890; Kafka's `TransactionManager`.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum

from client.errors import ClientError
from client.producer.actions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    CoordinatorKey,
    CoordinatorType,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    TransactionRequest,
    TxnOffsetCommitRequest,
)
from client.producer.batch import TopicPartition
from client.producer.idempotence import Idempotence
from client.producer.transaction_errors import (
    FatalTransactionError,
    TransactionAbortableError,
    TransactionAbortedError,
    TransactionStateError,
)
from client.producer.transactional_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from client.resources import Address

IMPLICIT_PARTITIONS_VERSION_MIN = 2
"""The first transaction version without AddPartitionsToTxn and AddOffsetsToTxn (KIP-890)."""

CoordinatorRequest = InitProducerIdRequest | TransactionRequest


class TransactionState(Enum):
    """The state of a transactional producer."""

    UNINITIALIZED = "no producer id"
    INITIALIZING = "waiting for a producer id"
    READY = "no transaction"
    IN_TRANSACTION = "in a transaction"
    COMMITTING = "committing"
    ABORTING = "aborting"
    ABORTABLE_ERROR = "the transaction must be aborted"
    FATAL_ERROR = "unusable"


class Operation:
    """A call that needs responses; it finishes once, with None or an error."""

    __slots__ = ("_callback", "error", "is_done")

    def __init__(self, callback: Callable[[ClientError | None], None] | None = None) -> None:
        """`callback` is called with None or the error, from within the core."""
        self._callback = callback
        self.is_done = False
        self.error: ClientError | None = None

    def finish(self, error: ClientError | None = None) -> None:
        """Set the result and call the callback, unless that has been done."""
        if self.is_done:
            return
        self.is_done, self.error = True, error
        if self._callback is not None:
            self._callback(error)


class PendingOffsets:
    """Offsets that the caller has added to the transaction and no response has confirmed."""

    __slots__ = ("group", "is_group_added", "is_in_doubt", "offsets", "operation")

    def __init__(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
        operation: Operation,
        *,
        is_group_added: bool,
    ) -> None:
        self.offsets = dict(offsets)
        self.group = group
        self.operation = operation
        self.is_group_added = is_group_added
        self.is_in_doubt = False
        """Whether an AddOffsetsToTxn was sent whose response is missing."""


class ProducerTransactions:
    """The transactions of one transactional id."""

    def __init__(self, transactional_id: str, timeout_ms: int, idempotence: Idempotence) -> None:
        self.transactional_id = transactional_id
        self.state = TransactionState.UNINITIALIZED
        self.version = 0
        """The transaction version of the current or next transaction."""
        self.broker_version = 0
        """The latest version that a broker has announced."""
        self.error: ClientError | None = None
        """Why the transaction or the producer is unusable."""
        self.is_begun = False
        """Whether the coordinator knows, or may know, of the transaction."""
        self.partitions: set[TopicPartition] = set()
        """Partitions that the coordinator has added; not used in version 2."""
        self.partitions_in_doubt: set[TopicPartition] = set()
        """Partitions of an AddPartitionsToTxn that has not succeeded yet."""
        self.pending_offsets: list[PendingOffsets] = []
        self.coordinators: dict[CoordinatorKey, tuple[int, Address]] = {}
        self.wanted: CoordinatorRequest | None = None
        """The request to send next, as of the last poll."""
        self.in_flight: CoordinatorRequest | None = None
        self.failures = 0
        self.retry_ms = 0
        self.needs_epoch_bump = False
        self._timeout_ms = timeout_ms
        self._idempotence = idempotence
        self._operation = Operation()
        self._is_commit = False

    # The caller's operations -------------------------------------------------------------------

    def init(self, operation: Operation) -> None:
        """Request a producer id; that fences older producers with this transactional id."""
        self._check_usable()
        self._expect(TransactionState.UNINITIALIZED, "init_transactions")
        self.state = TransactionState.INITIALIZING
        self._operation = operation

    def begin(self) -> None:
        """Begin a transaction; brokers learn of it with the first record or offset."""
        self._check_usable()
        self._expect(TransactionState.READY, "begin_transaction")
        self.state = TransactionState.IN_TRANSACTION

    def check_send(self) -> None:
        """Raise the error of a record that is sent in this state, if it is one."""
        self._check_usable()
        self._expect(TransactionState.IN_TRANSACTION, "send")

    def send_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
        operation: Operation,
    ) -> None:
        """Commit offsets of a group with the transaction."""
        self._check_usable()
        self._expect(TransactionState.IN_TRANSACTION, "send_offsets_to_transaction")
        if not offsets:
            operation.finish()
            return
        self.pending_offsets.append(
            PendingOffsets(offsets, group, operation, is_group_added=self.has_implicit_partitions)
        )

    def commit(self, operation: Operation) -> None:
        """End the transaction once all its records and offsets are stored."""
        self._check_usable()
        self._expect(TransactionState.IN_TRANSACTION, "commit_transaction")
        self.state, self._operation, self._is_commit = TransactionState.COMMITTING, operation, True

    def abort(self, operation: Operation) -> None:
        """End the transaction; its records and offsets that were not sent are dropped."""
        if self.state is not TransactionState.ABORTABLE_ERROR:
            self._check_usable()
            self._expect(TransactionState.IN_TRANSACTION, "abort_transaction")
        self.state, self._operation, self._is_commit = TransactionState.ABORTING, operation, False
        for pending in self.pending_offsets:
            pending.operation.finish(TransactionAbortedError())
        self.pending_offsets = [pending for pending in self.pending_offsets if pending.is_in_doubt]

    def _check_usable(self) -> None:
        if self.state in {TransactionState.ABORTABLE_ERROR, TransactionState.FATAL_ERROR}:
            assert self.error is not None
            raise self.error

    def _expect(self, state: TransactionState, operation: str) -> None:
        if self.state is not state:
            raise TransactionStateError(operation, self.state.value)

    # Questions of the sender -------------------------------------------------------------------

    @property
    def has_implicit_partitions(self) -> bool:
        """Whether Produce and TxnOffsetCommit add to the transaction by themselves."""
        return self.version >= IMPLICIT_PARTITIONS_VERSION_MIN

    @property
    def is_ending(self) -> bool:
        """Whether the transaction is being committed or aborted."""
        return self.state in {TransactionState.COMMITTING, TransactionState.ABORTING}

    @property
    def is_open(self) -> bool:
        """Whether there is a transaction that can be aborted."""
        return self.state in {TransactionState.IN_TRANSACTION, TransactionState.ABORTABLE_ERROR}

    @property
    def drops_records(self) -> bool:
        """Whether records that are not on the wire have to fail."""
        return self.state in {TransactionState.ABORTING, TransactionState.ABORTABLE_ERROR}

    @property
    def is_fatal(self) -> bool:
        """Whether the producer can only be closed."""
        return self.state is TransactionState.FATAL_ERROR

    def may_produce(self, partition: TopicPartition) -> bool:
        """Return whether batches of this partition may be sent now."""
        if self.state not in {TransactionState.IN_TRANSACTION, TransactionState.COMMITTING}:
            return False
        return self.has_implicit_partitions or partition in self.partitions

    def on_produce(self) -> None:
        """Note that a Produce request is sent: in version 2 it may begin the transaction."""
        if self.has_implicit_partitions:
            self.is_begun = True

    def next_request(
        self, queued: Iterable[TopicPartition], *, is_drained: bool
    ) -> CoordinatorRequest | None:
        """Return the request to send next, or None; it changes as responses arrive.

        Args:
            queued: the partitions that have batches.
            is_drained: no record is queued or on the wire.
        """
        if self.in_flight is not None:
            return None
        if self.state is TransactionState.INITIALIZING:
            return self._init_request()
        if not self.is_ending and self.state is not TransactionState.IN_TRANSACTION:
            return None
        partitions = self._partitions_to_add(queued)
        if partitions:
            return AddPartitionsToTxnRequest(
                self.transactional_id,
                self._idempotence.producer_id,
                self._idempotence.epoch,
                tuple(sorted(partitions)),
            )
        if self.pending_offsets:
            return self._offsets_request(self.pending_offsets[0])
        if not self.is_ending or not is_drained:
            return None
        if not self.is_begun:
            self.on_ended()
            return self.next_request(queued, is_drained=is_drained)
        return EndTxnRequest(
            self.transactional_id,
            self._idempotence.producer_id,
            self._idempotence.epoch,
            self._is_commit,
            self.version,
        )

    def _partitions_to_add(self, queued: Iterable[TopicPartition]) -> set[TopicPartition]:
        if self.has_implicit_partitions:
            return set()
        if self.state is TransactionState.ABORTING:
            # The coordinator may know of them; only after a response the abort is sure to succeed.
            return self.partitions_in_doubt
        return self.partitions_in_doubt.union(queued) - self.partitions

    def _init_request(self) -> InitProducerIdRequest:
        return InitProducerIdRequest(
            self.transactional_id,
            self._timeout_ms,
            self._idempotence.producer_id,
            self._idempotence.epoch,
        )

    def _offsets_request(
        self, pending: PendingOffsets
    ) -> AddOffsetsToTxnRequest | TxnOffsetCommitRequest:
        producer_id, producer_epoch = self._idempotence.producer_id, self._idempotence.epoch
        if not pending.is_group_added:
            return AddOffsetsToTxnRequest(
                self.transactional_id, producer_id, producer_epoch, pending.group.group_id
            )
        return TxnOffsetCommitRequest(
            self.transactional_id,
            producer_id,
            producer_epoch,
            pending.group,
            tuple(pending.offsets.items()),
            self.version,
        )

    def coordinator_key(self, request: CoordinatorRequest) -> CoordinatorKey:
        """Return whose coordinator gets a request."""
        if isinstance(request, FindCoordinatorRequest):
            return request.key
        if isinstance(request, TxnOffsetCommitRequest):
            return CoordinatorKey(CoordinatorType.GROUP, request.group.group_id)
        return CoordinatorKey(CoordinatorType.TRANSACTION, self.transactional_id)

    def on_sent(self, request: CoordinatorRequest) -> None:
        """Note that a request is in flight."""
        self.in_flight = request
        self.wanted = None
        if isinstance(request, AddPartitionsToTxnRequest):
            self.partitions_in_doubt = set(request.partitions)
        elif isinstance(request, AddOffsetsToTxnRequest):
            self.pending_offsets[0].is_in_doubt = True
        elif isinstance(request, TxnOffsetCommitRequest) and self.has_implicit_partitions:
            self.is_begun = True

    # Results -----------------------------------------------------------------------------------

    def on_producer_id(self) -> None:
        """Note that the producer has a new id or epoch from InitProducerId."""
        self.needs_epoch_bump = False
        self.version = self.broker_version
        self._become_ready()

    def on_ended(self) -> None:
        """Note that the transaction has ended, and get a new epoch if it is needed."""
        self.is_begun = False
        self.error = None
        self.partitions.clear()
        self.partitions_in_doubt.clear()
        is_upgrade = self.version < IMPLICIT_PARTITIONS_VERSION_MIN <= self.broker_version
        # Version 2 has a new epoch already.
        self.needs_epoch_bump &= not self.has_implicit_partitions
        self.version = self.broker_version
        if self.needs_epoch_bump or is_upgrade:
            self.state = TransactionState.INITIALIZING
        else:
            self._become_ready()

    def _become_ready(self) -> None:
        self.state = TransactionState.READY
        self._operation.finish()

    def on_group_added(self) -> None:
        """Note that the coordinator has added the group of the oldest offsets."""
        self.is_begun = True
        self.pending_offsets[0].is_group_added = True
        self.pending_offsets[0].is_in_doubt = False
        if self.state is TransactionState.ABORTING:
            del self.pending_offsets[0]

    def on_init_refused(self, error: ClientError) -> None:
        """Fail `init`; it may be called again. A bump of the epoch fails for good."""
        if self._idempotence.is_ready:
            self.on_fatal_error(error)
        else:
            self.state = TransactionState.UNINITIALIZED
            self._operation.finish(error)

    def on_abortable_error(self, cause: ClientError) -> None:
        """End the transaction for all but `abort`."""
        if self.state not in {TransactionState.IN_TRANSACTION, TransactionState.COMMITTING}:
            self.needs_epoch_bump |= self.state is TransactionState.ABORTING
            return
        self.state = TransactionState.ABORTABLE_ERROR
        self.needs_epoch_bump = True
        self.error = TransactionAbortableError(cause)
        self._fail_operations(self.error)
        self.pending_offsets = [pending for pending in self.pending_offsets if pending.is_in_doubt]

    def on_fatal_error(self, error: ClientError) -> None:
        """Fail all operations, and every later one."""
        if self.state is TransactionState.FATAL_ERROR:
            return
        self.state = TransactionState.FATAL_ERROR
        self.error = error if isinstance(error, FatalTransactionError) else _fatal(error)
        self._fail_operations(self.error)
        self.pending_offsets = []

    def _fail_operations(self, error: ClientError) -> None:
        for pending in self.pending_offsets:
            pending.operation.finish(error)
        self._operation.finish(error)


def _fatal(cause: ClientError) -> FatalTransactionError:
    error = FatalTransactionError(str(cause))
    error.__cause__ = cause
    return error
