"""Transactional requests with changes of the cluster in between, and all that they leave behind."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any

import pytest

from broker.cluster.brokers import Availability
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import TRANSACTION_STATE
from broker.cluster.transactions import abort_timed_out, follow_leaders
from broker.dispatch.dispatcher import Dispatcher
from protocol import messages
from tests.broker.dispatch.produce_runs import Change, Produce, Run

PARTITION_COUNT_KEY = TRANSACTION_STATE.partition_count_key


class TransactionalRun(Run):
    """A run whose cluster has a transaction coordinator; broker 1 leads its two partitions."""

    def __init__(self, **overrides: str) -> None:
        super().__init__(None, **{PARTITION_COUNT_KEY: "2", **overrides})
        self.coordinate()
        follow_leaders(self.cluster)

    def coordinate(self) -> None:
        """Create the topic of the coordinator, unless it exists."""
        topic = ensure_internal_topic(self.cluster, TRANSACTION_STATE)
        assert topic is not None
        for partition in topic.partitions:
            self.cluster.move_leader(partition, 1, self.now_ms)

    def _ask(self, request: Any, version: int, connection: int) -> None:
        frame = self._framed(request, version)
        self._note(connection, self.connections[connection].receive(frame, self.now_ms))

    def _framed(self, request: Any, version: int) -> bytes:
        request.with_header(next(self._correlation_ids), "client")
        return bytes(request.encode(version=version, header=True, framed=True))

    def init(self, transactional_id: str, connection: int = 0) -> None:
        """Send an InitProducerId."""
        request = messages.InitProducerIdRequest(
            version=4,
            transactional_id=transactional_id,
            transaction_timeout_ms=10_000,
            producer_id=-1,
            producer_epoch=-1,
        )
        self._ask(request, 4, connection)

    def add_partition(self, transactional_id: str, topic: str, index: int) -> None:
        """Send an AddPartitionsToTxn, as producers of older versions do."""
        producer_id, producer_epoch = self._producer(transactional_id)
        topic_class = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
        request = messages.AddPartitionsToTxnRequest(
            version=3,
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=producer_epoch,
            v3_and_below_topics=[topic_class(version=3, name=topic, partitions=[index])],
        )
        self._ask(request, 3, 0)

    def end(
        self,
        transactional_id: str,
        is_commit: bool = True,
        version: int = 5,
        epoch_gap: int = 0,
        connection: int = 0,
    ) -> None:
        """Send an EndTxn, with an epoch that may differ from that of the producer."""
        frame = self.end_frame(transactional_id, is_commit, version, epoch_gap)
        self._note(connection, self.connections[connection].receive(frame, self.now_ms))

    def end_frame(
        self,
        transactional_id: str,
        is_commit: bool = True,
        version: int = 5,
        epoch_gap: int = 0,
    ) -> bytes:
        """Return an EndTxn as it is sent."""
        producer_id, producer_epoch = self._producer(transactional_id)
        request = messages.EndTxnRequest(
            version=version,
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=producer_epoch + epoch_gap,
            committed=is_commit,
        )
        return self._framed(request, version)

    def _producer(self, transactional_id: str) -> tuple[int, int]:
        transaction = self.cluster.transactions.get(transactional_id)
        if transaction is None:
            return 9, 0
        return transaction.producer_id, transaction.producer_epoch

    def use_epochs_up(self, transactional_id: str) -> None:
        """Let the producer be two epochs before its last one."""
        transaction = self.cluster.transactions.get(transactional_id)
        if transaction is not None and transaction.producer_epoch < 100:
            transaction.producer_epoch += 32_760

    def make_available(self, node_id: int, name: str) -> None:
        broker = self.cluster.brokers[node_id]
        self.cluster.set_availability(broker, Availability[name])
        on_leaders_change = self.cluster.on_leaders_change
        assert on_leaders_change is not None
        on_leaders_change(self.now_ms)

    def use_version(self, level: int) -> None:
        self.cluster.features.apply({"transaction.version": level})

    def abort_timed_out(self) -> None:
        abort_timed_out(self.cluster, self.now_ms)

    def expire(self) -> None:
        self.cluster.transactions.expire(self.now_ms + 604_800_000)

    def add_marker_rule(self, times: int | None) -> None:
        self.add_rule(api="WriteTxnMarkers", error="NOT_LEADER_OR_FOLLOWER", times=times)

    def add_rule_for_ends(self) -> None:
        self.add_rule(api="EndTxn", error="COORDINATOR_NOT_AVAILABLE", times=1)

    def result(self) -> dict[str, Any]:
        transactions = self.cluster.transactions
        retry = transactions.retry
        partitions = [p for topic in self.cluster.topics.all() for p in topic.partitions]
        known = [p.producers._transactions for p in partitions]
        return {
            **super().result(),
            "transactions": [
                (
                    found.transactional_id,
                    found.producer_id,
                    found.producer_epoch,
                    found.previous_producer_id,
                    found.next_producer_id,
                    found.last_producer_epoch,
                    found.state,
                    tuple(found.partitions),
                    tuple(found.marker_requests),
                    found.timeout_ms,
                    found.last_update_ms,
                    found.start_ms,
                    found.transaction_version,
                )
                for found in transactions.all()
            ],
            "prepared": (list(transactions.prepared), retry is not None and retry.is_started),
            "verifications": [
                {} if one is None else {n: astuple(v) for n, v in one._verifications.items()}
                for one in known
            ],
            "unstable": [p.last_stable_offset for p in partitions],
            "aborted": [p.log.transaction_index._aborted for p in partitions],
            "live": [
                None if p.compaction is None else p.compaction._live_counts for p in partitions
            ],
        }


@contextmanager
def longer_ways() -> Iterator[None]:
    """Let the schema's codec decode all requests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "_respond_to_short", lambda *_arguments: None)
        yield


def run(steps: Sequence[Produce | Change], **overrides: str) -> dict[str, Any]:
    """Carry out the steps; return what they leave behind."""
    made = TransactionalRun(**overrides)
    for step in steps:
        made.do(step)
    return made.result()
