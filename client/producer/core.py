"""The producer without I/O: records, times and responses in; actions and outcomes out.

    core = ProducerCore(ProducerSettings(), bootstrap=[Address("127.0.0.1", 9092)], random=random)
    delivery = core.send(record, now_ms)
    while True:
        poll = core.poll(now_ms)    # do poll.actions; call again at poll.next_ms, or sooner
        core.on_connected / on_disconnect / on_response as things happen, and poll after each

It keeps KIP-91's promise: a record's outcome is known at the first `poll` at or after
`delivery_timeout_ms` from the creation of its batch, whatever state the batch is in. The package's
docstring lists the modules.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from client.errors import ClientError
from client.producer import expiry, response_handling, sender
from client.producer.actions import Action, Disconnect, Response
from client.producer.batch import Record, TopicPartition
from client.producer.delivery import Delivery, DeliveryOutcome
from client.producer.settings import ProducerSettings
from client.producer.state import ProducerState
from client.producer.transaction_errors import TransactionStateError
from client.producer.transactional_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from client.producer.transactions import Operation, ProducerTransactions
from client.protocol_codec import NO_FEATURES, FinalizedFeatures
from client.resources import Address

OperationCallback = Callable[[ClientError | None], None]
"""Gets None when an operation has succeeded, or its error."""


class Poll(NamedTuple):
    """What to do now, in order, and when to poll again at the latest (None: after an event)."""

    actions: list[Action]
    next_ms: int | None


class ProducerCore:
    """One producer. Times are those of one clock that never goes back."""

    def __init__(
        self,
        settings: ProducerSettings,
        *,
        bootstrap: Sequence[Address],
        random: Callable[[], float],
    ) -> None:
        """Create a producer without connections.

        Args:
            settings: already checked.
            bootstrap: brokers to connect to first, in this order.
            random: floats in [0, 1), for jitter and keyless records.
        """
        self._state = ProducerState(settings, bootstrap, random)

    @property
    def bytes_reserved(self) -> int:
        """Memory of records without an outcome or in requests without a response."""
        return self._state.accumulator.bytes_reserved

    @property
    def window(self) -> int | None:
        """How many sequence numbers of a partition may be in flight (KIP-758); None: no bound."""
        return self._state.idempotence.window

    @property
    def broker_window(self) -> int | None:
        """The broker's window (KIP-758); None if it sent none."""
        return self._state.idempotence.broker_window

    def send(
        self, record: Record, now_ms: int, callback: Callable[[DeliveryOutcome], None] | None = None
    ) -> Delivery:
        """Accept a record; a later call sets its outcome in the result and calls `callback`.

        Raises:
            BufferFullError: no memory; `bytes_reserved` falls as records are resolved.
            RecordTooLargeError: the settings don't allow a record of this size.
            ClientError: a transactional producer is not in a usable transaction.
        """
        if self._state.transactions is not None:
            self._state.transactions.check_send()
        bytes_reserved = self._state.accumulator.reserve(record)
        delivery = Delivery(callback)
        self._state.accumulator.add(record, delivery, now_ms, bytes_reserved, self._state.metadata)
        return delivery

    def flush(self, now_ms: int) -> None:
        """End the lingering of all records sent until now."""
        self._state.accumulator.flush(now_ms)

    def init_transactions(self, callback: OperationCallback | None = None) -> Operation:
        """Request a producer id for the transactional id; that fences its older producers.

        Raises:
            ClientError: as for all operations, the state does not allow this one; see
                `transaction_errors`.
        """
        operation = Operation(callback)
        self._transactions.init(operation)
        return operation

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        self._transactions.begin()

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
        callback: OperationCallback | None = None,
    ) -> Operation:
        """Commit offsets of a consumer group with the transaction."""
        operation = Operation(callback)
        self._transactions.send_offsets(offsets, group, operation)
        return operation

    def commit_transaction(
        self, now_ms: int, callback: OperationCallback | None = None
    ) -> Operation:
        """End lingering, and commit the transaction after all its records are stored."""
        operation = Operation(callback)
        self._transactions.commit(operation)
        self.flush(now_ms)
        return operation

    def abort_transaction(self, callback: OperationCallback | None = None) -> Operation:
        """Abort the transaction; its records that are not on the wire fail."""
        operation = Operation(callback)
        self._transactions.abort(operation)
        return operation

    @property
    def producer_id(self) -> int:
        """The producer id; -1 before there is one."""
        return self._state.idempotence.producer_id

    @property
    def producer_epoch(self) -> int:
        """The epoch of the producer id; -1 without one."""
        return self._state.idempotence.epoch

    @property
    def has_open_transaction(self) -> bool:
        """Whether there is a transaction that can be aborted."""
        transactions = self._state.transactions
        return transactions is not None and transactions.is_open

    @property
    def _transactions(self) -> ProducerTransactions:
        if self._state.transactions is None:
            raise TransactionStateError("a transaction", "no transactional_id is set")
        return self._state.transactions

    def poll(self, now_ms: int) -> Poll:
        """Expire and fail what is due; return what to do now."""
        state = self._state
        expiry.expire(state, now_ms)
        actions: list[Action] = []
        for node_id in state.nodes.overdue(now_ms):
            actions.append(Disconnect(node_id))
            response_handling.on_disconnect(state, node_id, now_ms, "request timed out")
        response_handling.close_gaps(state)
        response_handling.end_records(state)
        actions += sender.next_actions(state, now_ms)
        state.polled_ms = now_ms
        return Poll(actions, sender.next_ms(state, now_ms))

    def on_connected(self, node_id: int, features: FinalizedFeatures = NO_FEATURES) -> None:
        """Note that the connection is open, and the features that its broker announced."""
        self._state.nodes.connected(node_id)
        self._state.on_features(features)

    def on_disconnect(self, node_id: int, now_ms: int, reason: str = "disconnected") -> None:
        """Handle a connection that broke or could not be opened."""
        response_handling.on_disconnect(self._state, node_id, now_ms, reason)

    def on_response(self, node_id: int, response: Response, now_ms: int) -> None:
        """Handle the response to the oldest request on this connection."""
        response_handling.on_response(self._state, node_id, response, now_ms)

    def fail_all(self, error: ClientError) -> None:
        """Fail every record without an outcome, as on close or after failed authentication."""
        response_handling.fail_all(self._state, error)
