"""A transactional producer that writes transactions until it is stopped, fenced or killed."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, NamedTuple

from client.errors import ClientError
from client.producer.actions import EndTxnRequest, Request
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
    values: list[bytes]
    offset: int | None
    commit_ms: int | None = None
    """When its producer began to commit it, if it did."""
    outcome: str | None = None


class Start(NamedTuple):
    """An InitProducerId that succeeded; later ones have a higher epoch of the same producer id."""

    transactional_id: str
    client: str
    time_ms: int
    epoch: int


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
    late_ends: set[str] = field(default_factory=set)
    """Clients of transaction version 1 that sent an EndTxn again.

    The first may arrive late and end a later transaction, since all have the same epoch: one of the
    reasons for KIP-890.
    """
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
        says_hello: bool,
    ) -> None:
        """`arguments` are those of `ProducerClient`; `on_finish` is called after a fatal error."""
        name, user, settings, network, history, *rest = arguments
        super().__init__(name, user, settings, network, history, random, *rest)
        self._says_hello = says_hello
        self._transactions = transactions
        self._transactional_id = transactional_id
        self._partition_count = partition_count
        self._on_finish = on_finish
        self._last_end: EndTxnRequest | None = None
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
        if isinstance(call, EndTxnRequest) and call.transaction_version == 1:
            if self._last_end is not None:
                self._transactions.late_ends.add(self.name)
            self._last_end = call
        super()._send(node_id, call)

    def _after(self, action: Callable[[], None]) -> None:
        self._network.schedule.after(self._random.choice((0, 5, 50, 200)), action)

    def _on_start(self, error: ClientError | None) -> None:
        if error is not None:
            self._finish()
            return
        now_ms = self._network.schedule.time_ms
        epoch = self.core.producer_epoch
        self._transactions.starts.append(Start(self._transactional_id, self.name, now_ms, epoch))
        self._after(self._begin)

    def _finish(self) -> None:
        if not self.is_idle:
            self.is_idle = True
            self._on_finish()

    def _begin(self) -> None:
        if self.is_stopping:
            self.is_idle = True
            return
        self._transactions.numbers[self._transactional_id] += 1
        number = self._transactions.numbers[self._transactional_id]
        count = self._random.randint(1, 4)
        values = [f"{self._transactional_id} {number} {part}".encode() for part in range(count)]
        offset = number if self._random.random() < 0.7 else None
        seen = SeenTransaction(self._transactional_id, self.name, values, offset)
        self._transactions.transactions.append(seen)
        try:
            self.core.begin_transaction()
            self._last_end = None
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
