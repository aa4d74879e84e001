"""A transactional producer that writes transactions until it is stopped, fenced or killed."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, NamedTuple

from broker.transactions.coordinator import ProducerIdAndEpoch
from client.errors import ClientError
from client.producer.actions import EndTxnRequest, InitProducerIdRequest, Request
from client.producer.batch import Record, TopicPartition
from client.producer.transaction_errors import FatalTransactionError
from client.producer.transactional_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from tests.simulation.history import Place
from tests.simulation.producer_client import ProducerClient

LEDGER = "ledger"
OFFSETS = TopicPartition("source", 0)
"""The partition whose offsets the transactions commit, each in the group of its id."""

COMMITTED, ABORTED = "committed", "aborted"


@dataclass(slots=True)
class SeenTransaction:
    """One transaction and what its producer knows of its end (None: not known)."""

    transactional_id: str
    client: str
    producer: ProducerIdAndEpoch
    number: int
    """Counted from 1 for each transactional id."""
    values: list[bytes]
    offset: int | None
    late_offsets: set[int]
    """Offsets of earlier transactions whose TxnOffsetCommit arrived late, with the same epoch."""
    commit_ms: int | None = None
    """When its producer began to commit it, if it did."""
    outcome: str | None = None
    requested: set[bool] = field(default_factory=set)
    """The ends that its producer requested by an EndTxn: True to commit."""
    late_ends: dict[bool, int] = field(default_factory=dict)
    """When the broker handled an EndTxn of an earlier transaction: True if that was a commit."""


class Start(NamedTuple):
    """An InitProducerId that succeeded, and when it was sent and responded to."""

    transactional_id: str
    client: str
    sent_ms: int
    time_ms: int
    producer: ProducerIdAndEpoch

    def is_later(self, other: "Start") -> bool:
        """Return whether this one is certain to be later; ids have no order, epochs have."""
        if self.producer.producer_id == other.producer.producer_id:
            return self.producer.producer_epoch > other.producer.producer_epoch
        return self.sent_ms > other.time_ms


@dataclass(slots=True)
class TransactionHistory:
    """What transactional producers and read_committed consumers saw."""

    transactions: list[SeenTransaction] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    """Each InitProducerId that succeeded."""
    numbers: Counter[str] = field(default_factory=Counter)
    """How many transactions of each transactional id were begun."""
    read: set[bytes] = field(default_factory=set)
    """Values that read_committed consumers read while the world ran."""
    stored: dict[Place, list[bytes]] = field(default_factory=dict)
    """Values that a read_committed consumer reads at the end."""
    offsets: dict[str, int] = field(default_factory=dict)
    """Committed offsets at the end, by group."""
    ids_expire: bool = False
    """Whether unused transactional ids expire, after which nothing is known of their producers."""
    hanging: list[str] = field(default_factory=list)
    """Transactions that are open at the end."""


class TransactionalClient(ProducerClient):
    """Begin, fill and end transactions, one after the other."""

    def __init__(
        self,
        transactions: TransactionHistory,
        transactional_id: str,
        partition_count: int,
        on_finish: Callable[[], None],
        random: Random,
        *arguments: Any,
        transaction_version: int,
    ) -> None:
        """`arguments` are those of `ProducerClient`; `on_finish` is called after a fatal error.

        `transaction_version` is the cluster's, which it knows before it connects.
        """
        name, user, settings, network, history, *rest = arguments
        super().__init__(name, user, settings, network, history, random, *rest)
        self.transaction_version = transaction_version
        self._transactions = transactions
        self._transactional_id = transactional_id
        self._partition_count = partition_count
        self._on_finish = on_finish
        self._current: SeenTransaction | None = None
        self._init_sent_ms = 0
        self._late_offsets: dict[ProducerIdAndEpoch, set[int]] = {}
        self.is_stopping = False
        self.is_idle = False

    def start(self) -> None:
        """Request a producer id, then begin transactions."""
        self.core.init_transactions(self._on_start)
        self._poll()

    def crash(self) -> None:
        """Stop without ending the transaction."""
        self.is_stopping = self.is_idle = True
        self.close()

    def _send(self, node_id: int, call: Request) -> None:
        if isinstance(call, EndTxnRequest):
            assert self._current is not None
            self._current.requested.add(call.is_commit)
        elif isinstance(call, InitProducerIdRequest):
            self._init_sent_ms = self._network.schedule.time_ms
        super()._send(node_id, call)

    # Requests that arrive late -------------------------------------------------------------------
    #
    # Before transaction version 2 all transactions of a producer have one epoch. So the broker
    # can't tell a request of this transaction from one of an earlier transaction that was on its
    # way when the producer sent it again on another connection: one of the reasons for KIP-890.

    def on_end_handled(self, producer: ProducerIdAndEpoch, *, is_commit: bool) -> None:
        """Note an EndTxn of this client that the broker handles, if it is one of these."""
        current = self._current
        if (
            current is not None
            and current.outcome is None
            and current.producer == producer
            and is_commit not in current.requested
        ):
            current.late_ends.setdefault(is_commit, self._network.schedule.time_ms)

    def on_offset_handled(self, producer: ProducerIdAndEpoch, offset: int) -> None:
        """Note a TxnOffsetCommit of this client that the broker handles, if it is one of these."""
        if self._current is None or self._current.offset != offset:
            self._late_offsets.setdefault(producer, set()).add(offset)

    def _after(self, action: Callable[[], None]) -> None:
        self._network.schedule.after(self._random.choice((0, 5, 50, 200)), action)

    def _on_start(self, error: ClientError | None) -> None:
        if error is not None:
            self._finish()
            return
        self._note_start()
        self._after(self._begin)

    def _note_start(self) -> None:
        self._transactions.starts.append(
            Start(
                self._transactional_id,
                self.name,
                self._init_sent_ms,
                self._network.schedule.time_ms,
                self._producer,
            )
        )

    @property
    def _producer(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(self.core.producer_id, self.core.producer_epoch)

    def _finish(self) -> None:
        if not self.is_idle:
            self._stop()
            self._on_finish()

    def _stop(self) -> None:
        self.is_idle = True
        self._network.schedule.call_soon(self.close)

    def _begin(self) -> None:
        if self.is_stopping:
            self._stop()
            return
        self._transactions.numbers[self._transactional_id] += 1
        number = self._transactions.numbers[self._transactional_id]
        count = self._random.randint(1, 4)
        values = [f"{self._transactional_id} {number} {part}".encode() for part in range(count)]
        offset = number if self._random.random() < 0.7 else None
        producer = self._producer
        before = self._current.producer if self._current is not None else producer
        if self._transactions.ids_expire and producer.producer_id != before.producer_id:
            self._note_start()  # a new epoch was requested after the id had expired
        seen = SeenTransaction(
            self._transactional_id,
            self.name,
            producer,
            number,
            values,
            offset,
            self._late_offsets.setdefault(producer, set()),
        )
        self._transactions.transactions.append(seen)
        self._current = seen
        try:
            self.core.begin_transaction()
            for value in values:
                self._send_value(value)
            if offset is not None:
                self.core.send_offsets_to_transaction(
                    {OFFSETS: OffsetAndMetadata(offset)},
                    ConsumerGroupMetadata(self._transactional_id),
                )
        except ClientError as error:
            self._recover(seen, error)
        else:
            self._after(partial(self._end, seen))
        self._poll()

    def _send_value(self, value: bytes) -> None:
        now_ms = self._network.schedule.time_ms
        self.unresolved_count += 1

        def resolve(_outcome: object) -> None:
            self.unresolved_count -= 1

        partition = self._random.randrange(self._partition_count)
        self.core.send(Record(LEDGER, value, None, partition, (), now_ms), now_ms, resolve)

    def _end(self, seen: SeenTransaction) -> None:
        if self.is_idle:
            return
        if self._random.random() < 0.75:
            now_ms = self._network.schedule.time_ms
            try:
                self.core.commit_transaction(now_ms, partial(self._on_end, seen, COMMITTED))
                seen.commit_ms = now_ms
            except ClientError as error:
                self._recover(seen, error)
            self._poll()
        else:
            self._abort(seen)

    def _abort(self, seen: SeenTransaction) -> None:
        if self.is_idle:
            return
        try:
            self.core.abort_transaction(partial(self._on_end, seen, ABORTED))
        except ClientError as error:
            self._recover(seen, error)
        self._poll()

    def _on_end(self, seen: SeenTransaction, outcome: str, error: ClientError | None) -> None:
        if error is None:
            seen.outcome = outcome
            self._after(self._begin)
        else:
            self._recover(seen, error)

    def _recover(self, seen: SeenTransaction, error: ClientError) -> None:
        if isinstance(error, FatalTransactionError):
            self._finish()
        else:
            self._after(partial(self._abort, seen))
