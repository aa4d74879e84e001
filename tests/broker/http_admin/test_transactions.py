"""Transactions over the admin port."""

import asyncio

import pytest

from broker.cluster.coordinators import ensure_internal_topic, move_transaction_coordinator
from broker.cluster.internal_topics import TRANSACTION_STATE
from broker.cluster.topics import NO_LEADER
from broker.cluster.transactions import end_prepared
from broker.http_admin.operation import Problem
from broker.http_admin.state import Admin
from broker.http_admin.topic_records import RecordsQuery, get_records
from broker.http_admin.topics import NewTopicBody, TopicPath, create_topic
from broker.http_admin.transactions import (
    TransactionPartitionView,
    TransactionPath,
    TransactionView,
    abort_transaction,
    expire_transactional_id,
    get_transaction,
    list_transactions,
)
from broker.produce.append import append_batch
from broker.transactions.coordinator import ProducerIdAndEpoch
from protocol.api_keys import ApiKey
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_context
from tests.broker.http_admin.admin_server import make_admin

PATH = TransactionPath("t")
PARTITION = ("a", 0)


def begin(admin: Admin) -> ProducerIdAndEpoch:
    """Begin a transaction of the transactional id `t` with one partition."""
    ensure_internal_topic(admin.cluster, TRANSACTION_STATE)
    transactions = admin.cluster.transactions
    result = transactions.init_producer_id(
        "t", 60_000, None, new_producer_id=lambda: 7, now_ms=NOW_MS - 500
    )
    error_code = transactions.add_partitions(
        "t", result.producer, [PARTITION], transaction_version=2, now_ms=NOW_MS - 300
    )
    assert error_code == 0
    return result.producer


def end(admin: Admin, producer: ProducerIdAndEpoch, *, is_commit: bool) -> ProducerIdAndEpoch:
    """End the transaction; return the producer of the next one."""
    result = admin.cluster.transactions.end(
        "t",
        producer,
        is_commit=is_commit,
        transaction_version=2,
        new_producer_id=lambda: 8,
        now_ms=NOW_MS - 100,
    )
    assert result.error_code == 0
    end_prepared(admin.cluster, "t", NOW_MS - 100)
    return ProducerIdAndEpoch(result.producer_id, result.producer_epoch)


def produce(admin: Admin, value: bytes, producer: ProducerIdAndEpoch | None) -> None:
    """Append a record, in a transaction if there is a producer."""
    topic = admin.topic("a")
    batch = (
        make_batch(value)
        if producer is None
        else make_batch(
            value,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=0,
            is_transactional=True,
        )
    )
    is_transactional = producer is not None
    result = append_batch(
        make_context(ApiKey.PRODUCE, 12),
        admin.cluster,
        topic,
        topic.partitions[0],
        batch,
        0,
        len(batch),
        transactional_id="t" if is_transactional else None,
    )
    assert result.error_code == 0


def outcomes(admin: Admin, query: RecordsQuery) -> list[tuple[str | None, str | None]]:
    """Return the values of records with the state of their transactions."""
    return [
        (None if record.value is None else record.value.text, record.transaction)
        for record in get_records(admin, TopicPath("a"), query).records
    ]


def test_a_transaction_is_listed_with_its_producer_partitions_and_age() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a"))
    producer = begin(admin)
    move_transaction_coordinator(admin.cluster, "t", 2, NOW_MS)
    (view,) = list_transactions(admin)
    assert view == TransactionView(
        transactional_id="t",
        state="Ongoing",
        producer_id=7,
        producer_epoch=0,
        coordinator=2,
        timeout_ms=60_000,
        start_ms=NOW_MS - 300,
        age_ms=300,
        partitions=[TransactionPartitionView("a", 0)],
    )
    end(admin, producer, is_commit=True)
    view = get_transaction(admin, PATH)
    assert (view.state, view.start_ms, view.age_ms) == ("CompleteCommit", None, None)
    assert (view.producer_epoch, view.partitions) == (1, [])


def test_only_an_ongoing_transaction_can_be_aborted() -> None:
    admin = make_admin()
    with pytest.raises(Problem, match="no transactional id 't'") as caught:
        asyncio.run(abort_transaction(admin, PATH))
    assert caught.value.status == 404
    create_topic(admin, NewTopicBody("a"))
    producer = begin(admin)
    produce(admin, b"x", producer)
    view = asyncio.run(abort_transaction(admin, PATH))
    assert (view.state, view.producer_epoch) == ("CompleteAbort", 1)
    assert outcomes(admin, RecordsQuery()) == [("x", "aborted")]
    with pytest.raises(Problem, match="CompleteAbort") as caught:
        asyncio.run(abort_transaction(admin, PATH))
    assert caught.value.status == 409


def test_an_aborted_transaction_waits_for_the_leaders_of_its_partitions() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a"))
    produce(admin, b"x", begin(admin))
    admin.cluster.set_leader(admin.partition("a", 0), NO_LEADER, NOW_MS)
    view = asyncio.run(abort_transaction(admin, PATH))
    assert (view.state, view.age_ms) == ("PrepareAbort", 300)
    assert view.partitions == [TransactionPartitionView("a", 0)]
    assert outcomes(admin, RecordsQuery()) == [("x", "open")]


def test_only_an_idle_transactional_id_can_be_removed() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a"))
    producer = begin(admin)
    with pytest.raises(Problem, match="abort it first") as caught:
        expire_transactional_id(admin, PATH)
    assert caught.value.status == 409
    end(admin, producer, is_commit=False)
    expire_transactional_id(admin, PATH)
    assert list_transactions(admin) == []
    with pytest.raises(Problem) as caught:
        get_transaction(admin, PATH)
    assert caught.value.status == 404


def test_records_have_the_outcome_of_their_transaction() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a"))
    produce(admin, b"plain", None)
    producer = begin(admin)
    for value, is_commit in ((b"1", True), (b"2", False), (b"3", True)):
        produce(admin, value, producer)
        producer = end(admin, producer, is_commit=is_commit)
        admin.cluster.transactions.add_partitions(
            "t", producer, [PARTITION], transaction_version=2, now_ms=NOW_MS
        )
    produce(admin, b"4", producer)
    produce(admin, b"behind", None)

    stored = [("plain", None), ("1", "committed"), ("2", "aborted"), ("3", "committed")]
    assert outcomes(admin, RecordsQuery()) == [*stored, ("4", "open"), ("behind", None)]
    committed = RecordsQuery(isolation_level="read_committed")
    assert outcomes(admin, committed) == [stored[0], stored[1], stored[3]]
    # Each transaction before has a marker, so the open one begins at offset 7.
    later = RecordsQuery(isolation_level="read_committed", offset=7)
    assert outcomes(admin, later) == []
    view = get_records(admin, TopicPath("a"), committed)
    assert view.next_offsets == {}
