"""What the log, the producer, waiting consumers and the audit have of a changed batch."""

import pytest

from broker.faults.rule import fault_rule
from protocol.errors import ErrorCode
from tests.batches import CODECS, make_batch
from tests.broker.connection_driver import fetch_frame
from tests.broker.faults.faulty_clients import Clients
from tests.broker.faults.record_faults import (
    clients_with,
    fault_of,
    findings,
    send,
    send_batch,
    stored,
)
from tests.broker.faults.requests import TOPIC

SCHEMA_VALUE = b"\0\0\0\0\x07x"


def values(clients: Clients) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for record in stored(clients)]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("duplicate_batch", [(0, b"a"), (1, SCHEMA_VALUE), (2, b"a"), (3, SCHEMA_VALUE)]),
        ("drop_record", [(1, SCHEMA_VALUE)]),
        ("reverse_records", [(0, SCHEMA_VALUE), (1, b"a")]),
        ("replace_schema_id", [(0, b"a"), (1, b"\0\x7f\xff\xff\xffx")]),
    ],
)
def test_the_log_has_the_change_and_the_producer_goes_on(
    codec: str, change: str, expected: list[tuple[int, bytes]]
) -> None:
    options = {"record_index": 0} if change == "drop_record" else {}
    clients = clients_with(api="Produce", change_records=change, times=1, **options)
    assert send(clients, b"a", SCHEMA_VALUE, codec=codec) == 0
    assert values(clients) == expected
    end_offset = clients.stored
    assert end_offset == (4 if change == "duplicate_batch" else 2)
    assert send(clients, b"next", sequence=2, codec=codec) == end_offset
    assert values(clients) == [*expected, (end_offset, b"next")]

    (found,) = findings(clients)
    assert found.kind == "changed_by_rule"
    assert found.detail == f"rule #1: {change}"
    assert found.base_offset == (2 if change == "duplicate_batch" else 0)
    assert clients.cluster.log_bytes == sum(
        partition.log.size_bytes for partition in clients.topic.partitions
    )


def test_a_retry_of_a_changed_batch_is_a_duplicate() -> None:
    clients = clients_with(api="Produce", change_records="flip_byte", times=1)
    assert send(clients, b"aaaa") == 0
    assert send(clients, b"aaaa") == 0
    ((offset, value),) = values(clients)
    assert offset == 0
    assert value != b"aaaa"
    assert [found.kind for found in findings(clients)] == ["changed_by_rule"]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("counts", [(1, 1), (2, 1), (1, 3)])
def test_a_batch_is_stored_behind_the_next_one(codec: str, counts: tuple[int, int]) -> None:
    clients = clients_with(api="Produce", change_records="swap_batches", times=1)
    first, second = ([b"%d" % n] * count for n, count in enumerate(counts))
    assert send(clients, *first, codec=codec) == 0
    assert clients.stored == clients.topic.partitions[0].log.high_watermark == 0
    (found,) = findings(clients)
    assert "waits for the next batch" in found.detail
    assert send(clients, *second, sequence=counts[0], codec=codec) == 0
    assert [record.value for record in stored(clients)] == [*second, *first]
    assert send(clients, b"third", sequence=sum(counts)) == sum(counts)
    (found,) = findings(clients)
    assert (found.detail, found.base_offset) == ("rule #1: swap_batches", counts[1])
    assert not clients.dispatcher.faults.is_enabled


def test_a_withheld_batch_is_stored_when_its_rule_is_removed() -> None:
    clients = clients_with(api="Produce", change_records="swap_batches")
    send(clients, b"a")
    assert values(clients) == []
    clients.dispatcher.faults.remove(1)
    assert values(clients) == [(0, b"a")]
    assert not clients.dispatcher.faults.is_enabled


def test_only_the_batch_before_the_next_one_is_withheld() -> None:
    clients = clients_with(api="Produce", change_records="swap_batches", every=1)
    send(clients, b"a")
    send(clients, b"b", sequence=1)
    assert values(clients) == [(0, b"b"), (1, b"a")]
    assert "the batch before it is withheld" in fault_of(clients)
    send(clients, b"c", sequence=2)
    assert clients.stored == 2


def test_a_batch_of_a_deleted_topic_is_forgotten() -> None:
    clients = clients_with(api="Produce", change_records="swap_batches")
    send(clients, b"a")
    clients.cluster.delete_topic(clients.topic, clients.now_ms)
    clients.dispatcher.faults.clear()
    assert not clients.dispatcher.faults.withheld


def test_a_waiting_consumer_sees_the_changed_records_alone() -> None:
    clients = clients_with(api="Produce", change_records="reverse_records")
    clients.send(fetch_frame(1, TOPIC, 10_000), 1)
    assert clients.responses(1) == []
    send(clients, b"a", b"b")
    clients.settle()
    (response,) = clients.responses(1)
    assert response.index(b"b") < response.index(b"a", 12)


def test_a_rule_for_one_partition_changes_no_other() -> None:
    clients = clients_with(
        api="Produce",
        change_records="reverse_records",
        where={"topic_data[].partition_data[].index": 1},
    )
    send(clients, b"a", b"b")
    batch = make_batch(b"a", b"b")
    topic = clients.topic.partitions
    assert topic[1].leader_id == 1
    assert send_batch(clients, batch, 1) == (0, 0)
    assert [record.value for record in stored(clients, 0)] == [b"a", b"b"]
    assert [record.value for record in stored(clients, 1)] == [b"b", b"a"]


def test_what_cannot_be_changed_does_not_count() -> None:
    clients = clients_with(api="Produce", change_records="reverse_records", times=1)
    send(clients, b"a")
    assert "(nothing was done: t-0: it has fewer than two records)" in fault_of(clients)
    error_code, _ = send_batch(clients, make_batch(b"a", b"b")[:-1] + b"!")
    assert error_code == ErrorCode.CORRUPT_MESSAGE
    assert "(nothing was done: no batch was appended)" in fault_of(clients)
    send(clients, b"b", b"c", sequence=1)
    assert "(changed t-0 at offset 1)" in fault_of(clients)
    assert values(clients) == [(0, b"a"), (1, b"c"), (2, b"b")]


def test_several_rules_change_one_batch_in_their_order() -> None:
    clients = clients_with(api="Produce", change_records="drop_record", record_index=0)
    faults = clients.dispatcher.faults
    faults.add(fault_rule(api="Produce", change_records="reverse_records"), 0)
    faults.add(fault_rule(api="Produce", change_records="duplicate_batch"), 0)
    faults.add(fault_rule(api="Produce", change_records="flip_byte"), 0)
    send(clients, b"a", b"b", b"c")
    # The first record is gone, so the second keeps the second offset.
    assert values(clients) == [(1, b"c"), (2, b"b"), (4, b"c"), (5, b"b")]
    assert "another rule has appended it twice" in fault_of(clients)
    assert len(findings(clients)) == 3


def test_without_a_rule_nothing_is_noted() -> None:
    clients = Clients(overrides={"audit.enable": "true"})
    send(clients, b"a")
    assert values(clients) == [(0, b"a")]
    assert findings(clients) == []
    assert clients.dispatcher.faults.withheld is None


def test_log_append_time_stays_true() -> None:
    clients = Clients(
        fault_rule(api="Produce", change_records="reverse_records"),
        overrides={"log.message.timestamp.type": "LogAppendTime"},
    )
    clients.now_ms += 5
    send(clients, b"a", b"b")
    assert [(record.timestamp, record.value) for record in stored(clients)] == [
        (clients.now_ms, b"b"),
        (clients.now_ms, b"a"),
    ]
