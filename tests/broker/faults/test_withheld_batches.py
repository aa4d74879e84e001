"""Batches wait for the next one, within bounds."""

import pytest

from broker.faults import withheld_batches
from broker.faults.withheld_batches import WithheldBatches, exchange_newest
from tests.broker.faults.record_faults import clients_with, fault_of, send, stored


def test_so_many_batches_wait_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(withheld_batches, "WITHHELD_MAX", 1)
    clients = clients_with(api="Produce", change_records="swap_batches")
    send(clients, b"a")
    send(clients, b"b", partition=1)
    assert "1 batches are withheld" in fault_of(clients)
    assert [record.value for record in stored(clients, 1)] == [b"b"]


def test_so_many_bytes_wait_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(withheld_batches, "WITHHELD_BYTES_MAX", 1000)
    clients = clients_with(api="Produce", change_records="swap_batches")
    send(clients, b"a" * 1000)
    assert "more than 1000 bytes" in fault_of(clients)
    assert clients.stored == 1


def test_what_was_taken_waits_no_more() -> None:
    clients = clients_with(api="Produce", change_records="swap_batches")
    withheld, key = WithheldBatches(clients.cluster), (clients.topic.topic_id, 0)
    assert withheld.take(key) is None
    assert not withheld
    withheld.withhold(key, b"batch", 1)
    assert withheld.obstacle(key, 1) == "a batch of the partition is withheld"
    assert withheld.release(2, 0) == []
    taken = withheld.take(key)
    assert taken is not None
    assert (taken.batch, taken.rule_id, bool(withheld)) == (b"batch", 1, False)
    assert withheld.obstacle(key, 1) is None


def test_a_newest_batch_that_is_taken_out_leaves_the_ends_of_before() -> None:
    clients = clients_with(api="Produce", delay_ms=0)
    send(clients, b"a")
    send(clients, b"b", b"c", sequence=1)
    partition = clients.topic.partitions[0]
    exchange_newest(clients.cluster, partition, None)
    log = partition.log
    assert (log.log_end_offset, log.high_watermark, log.batch_count) == (1, 1, 1)
    assert clients.cluster.log_bytes == log.size_bytes
