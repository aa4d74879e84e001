"""Transactional batches in Produce: verified, added, or refused."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.produce.append import append_batch
from broker.produce.batch_check import read_batch
from broker.produce.transactional_batches import verify_batch
from broker.transactions.transaction import LAST_EPOCH
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.records import BatchHeader
from tests.batches import make_batch
from tests.broker.cluster_builder import make_context
from tests.broker.dispatch.produce_runs import TOPICS, Change, Produce
from tests.broker.dispatch.transactional_runs import longer_ways, run
from tests.broker.interleaving import once, run_with_pauses
from tests.broker.transactional_driver import make_driver
from tests.examples import examples
from tests.produce_requests import produce_request
from tests.transaction_requests import Producer

NONE = ErrorCode.NONE


@pytest.mark.parametrize("version", range(3, 14))
def test_the_first_batch_of_a_transaction_is_verified(version: int) -> None:
    driver = make_driver()
    _, producer = driver.init()
    topic = driver.cluster.topics.get("t")
    assert topic is not None
    batch = make_batch(
        b"v",
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )
    request = produce_request(
        [(0, batch)], version=version, topic_id=topic.topic_id, transactional_id="tx"
    )
    part = driver.call(request, version).responses[0].partition_responses[0]
    if version >= 12:
        assert (part.error_code, part.base_offset) == (NONE, 0)
        assert driver.describe().topics[0].partitions == [0]
        return
    known = ErrorCode.TRANSACTION_ABORTABLE if version == 11 else ErrorCode.INVALID_TXN_STATE
    assert (part.error_code, part.base_offset) == (known, -1)
    driver.add(producer, 0)
    part = driver.call(request, version).responses[0].partition_responses[0]
    assert (part.error_code, part.base_offset) == (NONE, 0)


def test_batches_of_two_producers_are_refused() -> None:
    driver = make_driver()
    batches = [
        (
            index,
            make_batch(
                b"v",
                producer_id=index,
                producer_epoch=0,
                base_sequence=0,
                is_transactional=True,
            ),
        )
        for index in range(2)
    ]
    request = produce_request(batches, version=11, transactional_id="tx")
    found = driver.call(request, 11).responses[0].partition_responses
    assert {part.error_code for part in found} == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}


def test_a_partition_of_a_refused_batch_is_in_the_transaction() -> None:
    """As in Kafka, which checks the batch after the verification."""
    driver = make_driver(**{"message.max.bytes": "100"})
    _, producer = driver.init()
    found = driver.produce(producer, 0, b"v" * 200, version=12)
    assert found[0] == ErrorCode.MESSAGE_TOO_LARGE
    assert driver.describe().topics[0].partitions == [0]


def test_a_batch_whose_transaction_ends_during_a_pause_is_not_appended() -> None:
    driver = make_driver()
    _, producer = driver.init()
    assert driver.produce(producer, 0, version=11)[0] == ErrorCode.TRANSACTION_ABORTABLE
    driver.add(producer, 0)
    topic = driver.cluster.topics.get("t")
    assert topic is not None
    driver.cluster.alter_topic_config(topic, {"cleanup.policy": "compact"})
    partition = topic.partitions[0]
    batch = make_batch(
        b"v",
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )
    context = make_context(ApiKey.PRODUCE, 11)
    header = read_batch(batch, 0, len(batch), 11)
    assert isinstance(header, BatchHeader)
    assert verify_batch(context, driver.cluster, partition, "tx", header) is None

    result = run_with_pauses(
        lambda: append_batch(
            context, driver.cluster, topic, partition, batch, 0, len(batch), transactional_id="tx"
        ),
        once(lambda: driver.end(producer, commit=False, version=4)),
    )

    assert result.error_code == ErrorCode.TRANSACTION_ABORTABLE
    # The marker is at offset 0.
    assert partition.last_stable_offset == partition.log.log_end_offset == 1


def test_a_new_epoch_is_no_new_producer_id_for_the_quota() -> None:
    """A new producer id after the last epoch is one, and is charged (KIP-936)."""
    driver = make_driver(**{"client.quotas": "user=<default>,producer_ids_rate=1"})
    _, producer = driver.init()
    for _ in range(5):
        assert driver.produce(producer, 0, version=12)[0] == NONE
        producer = driver.end(producer, commit=True, version=5)[1]
    transaction = driver.cluster.transactions.get("tx")
    assert transaction is not None
    transaction.producer_epoch = LAST_EPOCH
    producer = Producer(producer.producer_id, LAST_EPOCH)
    assert driver.produce(producer, 0, version=12)[0] == NONE
    error_code, following = driver.end(producer, commit=True, version=5)
    assert (error_code, following.producer_epoch) == (NONE, 0)
    assert following.producer_id != producer.producer_id
    refused = driver.produce(following, 0, version=12)[0]
    assert refused == ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_an_epoch_bump_is_no_new_producer_id_but_the_id_after_the_last_epoch_is() -> None:
    """KIP-936 counts producer ids: one new id per hour is allowed here."""
    driver = make_driver(**{"client.quotas": "user=<default>,producer_ids_rate=1"})

    def transact(producer: tuple[int, int]) -> tuple[int, tuple[int, int]]:
        error_code, _offset = driver.produce(producer, 0, version=12)
        if error_code != ErrorCode.NONE:
            return error_code, producer
        return driver.end(producer, commit=True, version=5)

    _, first = driver.init()
    producer: tuple[int, int] = first
    for _ in range(3):
        error_code, producer = transact(producer)
        assert (error_code, producer[0]) == (ErrorCode.NONE, first.producer_id)
    assert producer[1] == first.producer_epoch + 3

    transaction = driver.cluster.transactions.get(driver.transactional_id)
    assert transaction is not None
    transaction.producer_epoch = LAST_EPOCH
    _, second = driver.init()
    assert second.producer_id != first.producer_id
    assert transact(second)[0] == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    driver.now_ms += 3_600_000
    assert transact(second)[0] == ErrorCode.NONE


# Short ways ------------------------------------------------------------------------------

STATE_TOPIC = "__transaction_state"


def rarely(values: Any, usual: Any) -> st.SearchStrategy[Any]:
    return st.integers(0, 9).flatmap(
        lambda chance: st.just(usual) if chance else st.sampled_from(values)
    )


ids = rarely(("b", ""), "a")
ends = st.tuples(
    st.just("end"),
    ids,
    rarely((False,), True),
    rarely((0, 2, 3, 4), 5),
    rarely((-1, 1), 0),
    rarely((1, 2), 0),
)
produces = st.fixed_dictionaries(
    {
        "connection": rarely((1, 2), 0),
        "indexes": rarely(((1,), (0, 1), (2,)), (0,)),
        "topics": rarely((TOPICS, ("none",)), ("t",)),
        "acks": rarely((0, 1), -1),
        "transactional_id": rarely(("b", "", None), "a"),
        "producer_epoch": rarely((-1, 1), 0),
        "gap": rarely((-1, 1), 0),
        "is_outside": rarely((True,), False),
        "damage": rarely(((17, ">I", 1, False), (21, ">h", 0x30, True), (43, ">q", 3, True)), None),
        "records": rarely((2, 4), 1),
        "codec": rarely(("lz4", "zstd"), "none"),
        "count": st.sampled_from((1, 1, 2, 5)),
        "cut": rarely((1, 30), None),
    }
)
changes: st.SearchStrategy[Change] = st.one_of(
    st.tuples(st.just("init"), ids),
    st.tuples(st.just("add_partition"), ids, st.just("t"), st.sampled_from((0, 1, 2))),
    st.tuples(st.just("use_epochs_up"), ids),
    st.tuples(
        st.just("make_available"),
        st.sampled_from((1, 2)),
        st.sampled_from(("UP", "UP", "DOWN", "ISOLATED")),
    ),
    st.tuples(st.just("use_version"), st.sampled_from((0, 1, 2, 2))),
    st.just(("abort_timed_out",)),
    st.just(("expire",)),
    st.just(("coordinate",)),
    st.tuples(st.just("advance"), st.sampled_from((1, 1_000, 11_000))),
    st.tuples(st.just("add_marker_rule"), st.sampled_from((1, None))),
    st.just(("remove_rules",)),
    st.tuples(st.just("delete"), st.sampled_from(("t", STATE_TOPIC))),
    st.tuples(st.just("create"), st.just("t")),
    st.tuples(
        st.just("lead"),
        st.sampled_from(("t", STATE_TOPIC)),
        st.sampled_from((0, 1)),
        st.sampled_from((1, 1, 2, -1)),
    ),
    st.tuples(
        st.just("keep_in_sync"),
        st.sampled_from(("t", STATE_TOPIC)),
        st.sampled_from((0, 1)),
        st.sampled_from(((1,), (1, 2))),
    ),
    st.tuples(
        st.just("configure"),
        st.sampled_from(("t", STATE_TOPIC)),
        st.just("min.insync.replicas"),
        st.sampled_from(("1", "2")),
    ),
    st.just(("configure", "t", "message.timestamp.type", "LogAppendTime")),
    st.sampled_from(
        (
            ("configure_brokers", None, "transaction.partition.verification.enable", "false"),
            ("configure_brokers", None, "producer.state.batches", "1"),
            ("configure_brokers", None, "producer.state.batches", "5"),
            ("set_quota", "producer_ids_rate", 1.0, False),
            ("set_quota", "producer_byte_rate", 1e3, False),
            ("set_quota", "producer_byte_rate", None, False),
            ("set_quota", "request_percentage", 1.0, False),
            ("keep_journal", True),
            ("follow_journal",),
            ("audit", True),
            ("end_session", 0, 1),
            ("reset",),
        )
    ),
)


@st.composite
def plans(draw: st.DrawFn) -> list[Produce | Change]:
    """Transactions of a producer, with changes and other requests in between."""
    usual = Produce(transactional_id="a", version=draw(st.sampled_from((12, 12, 13, 11, 9))))
    added: Change = ("add_partition", "a", "t", 0)
    steps: list[Produce | Change] = [("init", "a"), ("init", "b")]
    for _ in range(draw(st.integers(3, 9))):
        if draw(st.integers(0, 3)) == 0:
            steps.append(draw(changes))
        if usual.version < 12 and draw(st.integers(0, 9)):
            steps.append(added)
        if draw(st.integers(0, 5)) == 0:
            # Requests of two versions may have the same bytes behind the version.
            other = replace(usual, version=draw(st.sampled_from((9, 11, 12))))
            steps += [replace(other, indexes=(0, 1)), other]
        steps.append(replace(usual, **draw(produces)))
        if draw(st.integers(0, 3)):
            steps.append(draw(ends))
    return steps


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(plans())
def test_transactions_leave_the_same_behind_without_their_short_ways(
    steps: list[Produce | Change],
) -> None:
    shorter = run(steps)
    with longer_ways():
        longer = run(steps)

    for name, value in longer.items():
        assert shorter[name] == value, name
