"""One transactional id: its producer, and the state of its transaction.

    Empty -> Ongoing -> PrepareCommit -> CompleteCommit -> Ongoing ...
                     -> PrepareAbort  -> CompleteAbort  -> Ongoing ...

A prepared transaction waits until its markers are written to all of its partitions.

Sources: Kafka's `TransactionMetadata` and `TransactionState`. Kafka's pending states don't exist
here: one thread makes each change at once.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from broker.transactions.marker import MarkerRequest
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode

TopicPartition = tuple[str, int]
"""Topic name and partition index."""

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_TIME = -1
LAST_EPOCH = 2**15 - 2
"""The last epoch that a client gets. The highest int16 fences the producer of this one."""
NO_TIMEOUT_MS = 2**31 - 1
"""The timeout of transactions in two-phase commit, which never time out."""
EPOCH_BUMP_VERSION_MIN = 2
"""The first transaction version in which the end of every transaction bumps the epoch (KIP-890)."""


class TransactionState(StrEnum):
    """Kafka's `TransactionState`, by the names that ListTransactions uses, in Kafka's order."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    """The transactional id has expired and is removed."""
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    """Kafka's state while it bumps an epoch; here that takes no time, so nothing is ever in it."""


PREPARED = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
COMPLETE = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
IDLE = COMPLETE | {TransactionState.EMPTY}
"""The states without a transaction; a transactional id may expire in them."""

_AFTER_IDLE = frozenset(
    {TransactionState.EMPTY, TransactionState.ONGOING, TransactionState.PREPARE_ABORT}
)
TRANSITIONS = {
    TransactionState.EMPTY: _AFTER_IDLE,
    TransactionState.ONGOING: PREPARED | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.COMPLETE_COMMIT}),
    TransactionState.PREPARE_ABORT: frozenset({TransactionState.COMPLETE_ABORT}),
    TransactionState.COMPLETE_COMMIT: _AFTER_IDLE,
    TransactionState.COMPLETE_ABORT: _AFTER_IDLE,
}
"""The states that may follow each state."""


class TransactionLogPartition(Protocol):
    """Where the records of a transactional id are stored, as long as its coordinator knows it."""

    def check(self) -> ErrorCode:
        """Return NONE if a record can be appended now, or the error for the client."""
        ...

    def append_state(
        self, transaction: "Transaction", log_transaction_version: int, now_ms: int
    ) -> None:
        """Append the state of a transactional id, after `check`.

        `log_transaction_version` is the finalized level of `transaction.version`.
        """
        ...

    def append(self, record: CoordinatorRecord, now_ms: int) -> None:
        """Append another record of a transactional id, after `check`."""
        ...


@dataclass(slots=True, eq=False)
class Transaction:
    """A transactional id with its producer, and its latest transaction.

    `producer_epoch` is -1 until the first InitProducerId is answered. `last_producer_epoch` is the
    one before the latest bump, which a retry may name; -1 if no retry is accepted.
    `next_producer_id` is set while a transaction ends that used the last epoch of its producer id.
    `partitions` are those that still need a marker. `marker_requests` are markers that were sent
    as requests and may still get a response, by partition. `has_marker_writer` is true while
    somebody writes its markers, or will soon, and `writes_markers_again` if another wanted to in
    between. `transaction_version` is that of the client, or of the cluster if the coordinator ended
    the transaction. `log` is None until the partition of its records exists.
    """

    transactional_id: str
    producer_id: int
    timeout_ms: int
    last_update_ms: int
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    state: TransactionState = TransactionState.EMPTY
    partitions: dict[TopicPartition, None] = field(default_factory=dict)
    marker_requests: dict[TopicPartition, MarkerRequest] = field(default_factory=dict)
    has_marker_writer: bool = False
    writes_markers_again: bool = False
    start_ms: int = NO_TIME
    transaction_version: int = 0
    log: TransactionLogPartition | None = None

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the producer id has no further epoch for a client."""
        return self.producer_epoch >= LAST_EPOCH

    @property
    def bumps_epoch(self) -> bool:
        """Whether the end of a transaction bumps the epoch (transaction version 2)."""
        return self.transaction_version >= EPOCH_BUMP_VERSION_MIN

    def has_timed_out(self, now_ms: int) -> bool:
        """Whether the coordinator has to abort it."""
        end_ms = self.timed_out_ms
        return end_ms is not None and end_ms <= now_ms

    @property
    def timed_out_ms(self) -> int | None:
        """When the coordinator has to abort it; None if it is not ongoing or has no timeout."""
        if self.state is not TransactionState.ONGOING or self.timeout_ms == NO_TIMEOUT_MS:
            return None
        return self.start_ms + self.timeout_ms + 1

    def begin_epoch(
        self, producer_epoch: int, last_producer_epoch: int, timeout_ms: int, now_ms: int
    ) -> None:
        """Become Empty, with an epoch for a new instance of the producer."""
        self._enter(TransactionState.EMPTY, now_ms)
        self.producer_epoch, self.last_producer_epoch = producer_epoch, last_producer_epoch
        self.timeout_ms, self.start_ms = timeout_ms, NO_TIME

    def rotate_producer_id(
        self, producer_id: int, last_producer_epoch: int, timeout_ms: int, now_ms: int
    ) -> None:
        """Become Empty, with a new producer id at epoch 0."""
        self.begin_epoch(0, last_producer_epoch, timeout_ms, now_ms)
        self.producer_id = producer_id

    def add(
        self, partitions: dict[TopicPartition, None], transaction_version: int, now_ms: int
    ) -> None:
        """Add partitions to the transaction; the first ones begin it."""
        is_new = self.state is not TransactionState.ONGOING
        self._enter(TransactionState.ONGOING, now_ms)
        if is_new:
            self.start_ms = now_ms
        self.partitions.update(partitions)
        self.transaction_version = transaction_version

    def prepare(
        self,
        state: TransactionState,
        transaction_version: int,
        now_ms: int,
        next_producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        """Begin to end the transaction; from version 2 on that bumps the epoch.

        An abort without a transaction begins now, as Kafka says.
        """
        if self.state is not TransactionState.ONGOING:
            self.start_ms = now_ms
        self._enter(state, now_ms)
        self.transaction_version = transaction_version
        self.next_producer_id = next_producer_id
        if self.bumps_epoch:
            self.producer_epoch, self.last_producer_epoch = (
                self.producer_epoch + 1,
                self.producer_epoch,
            )

    def fence(self) -> None:
        """Bump the epoch of an ongoing transaction, so that its producer can't end it."""
        self.producer_epoch += 1
        self.last_producer_epoch = NO_PRODUCER_EPOCH

    def complete(self, now_ms: int) -> None:
        """Become complete, after the last marker was written."""
        assert not self.partitions
        self.marker_requests.clear()
        is_commit = self.state is TransactionState.PREPARE_COMMIT
        self._enter(
            TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
            now_ms,
        )
        if self.bumps_epoch and self.next_producer_id != NO_PRODUCER_ID:
            self.producer_id, self.producer_epoch = self.next_producer_id, 0
        self.next_producer_id = NO_PRODUCER_ID

    def _enter(self, state: TransactionState, now_ms: int) -> None:
        assert state in TRANSITIONS[self.state], f"{self.state} to {state}"
        self.state = state
        self.last_update_ms = now_ms
        self.previous_producer_id = self.producer_id
