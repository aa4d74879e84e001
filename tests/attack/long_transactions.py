"""Transactions of thousands of partitions: the small requests that end them have much to do."""

import gc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA
from broker.cluster.transactions import abort_timed_out
from broker.groups.results import CommittedOffset
from broker.transactions.coordinator import ProducerIdAndEpoch
from broker.transactions.transaction import TopicPartition, Transaction
from protocol import messages
from tests.attack.attacked_broker import AttackedBroker, Cost
from tests.broker.connection_driver import NOW_MS, request_frame

TOPIC = "long-transactions"
TRANSACTIONAL_ID = "long"
GROUP = "long"
TIMEOUT_MS = 10_000

Send = Callable[[], Cost]


class LongTransactions:
    """A producer whose transactions have all partitions of a new topic."""

    def __init__(self, broker: AttackedBroker, partition_count: int) -> None:
        self._broker = broker
        self._places = [(TOPIC, index) for index in range(partition_count)]
        broker.cluster.create_topic(TOPIC, [(1,)] * partition_count, {})
        find = messages.FindCoordinatorRequest(version=3, key=TRANSACTIONAL_ID, key_type=1)
        broker.handle(request_frame(find, 3, 1))
        self._handle(*self._init(4))
        ensure_internal_topic(broker.cluster, GROUP_METADATA)
        self._offsets_index = broker.cluster.group_log.partition_index(GROUP)

    @property
    def transaction(self) -> Transaction:
        """The state of the transactional id."""
        found = self._broker.cluster.transactions.get(TRANSACTIONAL_ID)
        assert found is not None
        return found

    def requests(self) -> Iterator[tuple[str, Send]]:
        """Yield what each request does, and a function that sends it; call each of them."""
        for version in (4, 5):
            for is_commit in (True, False):
                self._begin()
                name = f"v{version} {'commits' if is_commit else 'aborts'}"
                yield f"END_TXN {name}", partial(self._handle, *self._end(version, is_commit))
        self._begin()
        yield "INIT_PRODUCER_ID aborts", partial(self._handle, *self._init(4))
        self._handle(*self._init(4))
        self._begin()
        yield "a timeout aborts", partial(self._broker.carry_out, self._time_out)

    def requests_with_offsets(self, offset_count: int) -> Iterator[tuple[str, Send]]:
        """Yield the same for a transaction that commits offsets and has no other partition."""
        for is_commit in (True, False):
            self._begin([(GROUP_METADATA.name, self._offsets_index)])
            offsets = self._broker.cluster.groups.table.transactional_offsets
            for index in range(offset_count):
                key = (GROUP, TOPIC, index)
                committed = CommittedOffset(index, -1, "", NOW_MS)
                offsets.add(self._offsets_index, self.transaction.producer_id, key, committed)
            name = f"END_TXN with offsets {'commits' if is_commit else 'aborts'}"
            yield name, partial(self._handle, *self._end(4, is_commit))

    def _begin(self, places: Sequence[TopicPartition] | None = None) -> None:
        transaction = self.transaction
        error_code = self._broker.cluster.transactions.add_partitions(
            TRANSACTIONAL_ID,
            ProducerIdAndEpoch(transaction.producer_id, transaction.producer_epoch),
            self._places if places is None else places,
            transaction_version=2,
            now_ms=NOW_MS,
        )
        assert error_code == 0
        # What this module has made costs the broker no garbage collection.
        gc.freeze()

    def _handle(self, request: Any, version: int) -> Cost:
        return self._broker.handle(request_frame(request, version, 1))

    def _init(self, version: int) -> tuple[Any, int]:
        request = messages.InitProducerIdRequest(
            version=version,
            transactional_id=TRANSACTIONAL_ID,
            transaction_timeout_ms=TIMEOUT_MS,
            producer_id=-1,
            producer_epoch=-1,
        )
        return request, version

    def _end(self, version: int, is_commit: bool) -> tuple[Any, int]:
        transaction = self.transaction
        request = messages.EndTxnRequest(
            version=version,
            transactional_id=TRANSACTIONAL_ID,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            committed=is_commit,
        )
        return request, version

    def _time_out(self) -> None:
        abort_timed_out(self._broker.cluster, NOW_MS + TIMEOUT_MS + 1)
