"""The same requests of transactions get the same answers from our broker and from Apache Kafka."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from protocol import messages, records
from protocol.errors import ErrorCode
from scenarios.clients.confluent_kafka import create_topic
from tests.interop.raw_client import RawClient
from tests.transaction_requests import Producer, TransactionRequests

pytestmark = pytest.mark.slow
NONE = ErrorCode.NONE
WAIT_S = 20


@pytest.fixture
def requests(servers: str, topic: str) -> Iterator[TransactionRequests]:
    create_topic(servers, topic, 2)
    with RawClient(servers) as raw:
        find = messages.FindCoordinatorRequest(version=4, key_type=1, coordinator_keys=[topic])
        eventually(lambda: raw.call(find, 4).coordinators[0].error_code == NONE)
        requests = TransactionRequests(raw.call, topic, transactional_id=topic)
        # Apache Kafka begins a new segment when the time of records jumps.
        requests.timestamp_ms = round(time.time() * 1000)
        eventually(lambda: requests.is_led(0) and requests.is_led(1))
        yield requests


def eventually(holds: Callable[[], bool]) -> None:
    """Wait for what Apache Kafka does after its answer: topics, markers."""
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def started(requests: TransactionRequests, **fields: Any) -> Producer:
    """A new instance of the producer, once the transaction before is over."""
    results: list[tuple[int, Producer]] = []

    def has_started() -> bool:
        results.append(requests.init(**fields))
        return results[-1][0] not in {
            ErrorCode.CONCURRENT_TRANSACTIONS,
            ErrorCode.NOT_COORDINATOR,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        }

    eventually(has_started)
    error_code, producer = results[-1]
    assert error_code == NONE
    return producer


def wait_until_complete(requests: TransactionRequests) -> str:
    eventually(lambda: not requests.describe().transaction_state.startswith("Prepare"))
    return str(requests.describe().transaction_state)


def test_a_transaction_of_version_1_from_begin_to_end(requests: TransactionRequests) -> None:
    producer = started(requests)
    assert producer.producer_epoch == 0
    assert requests.produce(producer, 0)[0] == ErrorCode.TRANSACTION_ABORTABLE
    assert requests.produce(producer, 0, version=10)[0] == ErrorCode.INVALID_TXN_STATE
    assert requests.end(producer, commit=True)[0] == ErrorCode.INVALID_TXN_STATE
    assert requests.add(producer, 0) == [NONE]
    assert requests.describe().transaction_state == "Ongoing"
    assert requests.produce(producer, 0, b"a", b"b") == (NONE, 0)
    assert requests.produce(producer, 2, is_transactional=False)[0] == ErrorCode.INVALID_TXN_STATE
    assert requests.producers() == [(*producer, 1, 0)]
    assert requests.list_offset() == 0
    assert requests.list_offset(isolation_level=0) == 2
    fetched = requests.fetch(0)
    assert (fetched.last_stable_offset, fetched.high_watermark) == (0, 2)
    assert (fetched.records, fetched.aborted) == (b"", [])
    assert requests.fetch(0, isolation_level=0).aborted is None

    assert requests.end(producer, commit=True)[0] == NONE
    assert wait_until_complete(requests) == "CompleteCommit"
    assert requests.end(producer, commit=True)[0] == NONE
    assert requests.end(producer, commit=False)[0] == ErrorCode.INVALID_TXN_STATE
    assert requests.fetch(0).last_stable_offset == 3
    assert requests.producers() == [(*producer, 1, -1)]
    assert requests.produce(producer, 2)[0] == ErrorCode.TRANSACTION_ABORTABLE


def test_an_aborted_transaction_is_listed_and_its_marker_has_kafkas_bytes(
    requests: TransactionRequests,
) -> None:
    producer = started(requests)
    assert requests.add(producer, 0, 1) == [NONE, NONE]
    assert requests.produce(producer, 0) == (NONE, 0)
    assert requests.produce((77_777, 0), 0, is_transactional=False) == (NONE, 1)
    assert requests.end(producer, commit=False)[0] == NONE
    assert wait_until_complete(requests) == "CompleteAbort"
    fetched = requests.fetch(0)
    assert fetched.aborted == [(producer.producer_id, 0)]
    assert fetched.last_stable_offset == fetched.high_watermark == 3
    assert requests.fetch(2).aborted == [(producer.producer_id, 0)]
    assert requests.fetch(3).aborted == []
    marker = fetched.records[-78:]
    header = records.read_header(marker, 0)
    assert header.base_offset == 2
    assert header.attributes == 0x30
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (*producer, -1)
    (record,) = records.read_records(marker)
    assert (record.key, record.value) == (bytes(4), bytes(6))


def test_version_2_bumps_the_epoch_at_every_end(requests: TransactionRequests) -> None:
    producer = started(requests)
    bumped = Producer(producer.producer_id, producer.producer_epoch + 1)
    assert requests.end(producer, commit=True, version=5)[0] == ErrorCode.INVALID_TXN_STATE
    assert requests.produce(producer, 0, version=12) == (NONE, 0)
    assert requests.end(producer, commit=True, version=5) == (NONE, bumped)
    wait_until_complete(requests)
    assert requests.end(producer, commit=True, version=5) == (NONE, bumped)
    assert requests.end(producer, commit=False, version=5)[0] == ErrorCode.INVALID_TXN_STATE
    assert requests.produce(producer, 1, version=12)[0] == ErrorCode.INVALID_PRODUCER_EPOCH
    assert requests.produce(bumped, 1, version=12)[0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert requests.produce(bumped, 0, version=12) == (NONE, 2)
    error_code, third = requests.end(bumped, commit=False, version=5)
    assert (error_code, third) == (NONE, (producer.producer_id, bumped.producer_epoch + 1))
    wait_until_complete(requests)
    assert requests.fetch(0).aborted == [(producer.producer_id, 2)]
    # An abort without a transaction.
    error_code, fourth = requests.end(third, commit=False, version=5)
    assert (error_code, fourth) == (NONE, (producer.producer_id, third.producer_epoch + 1))
    wait_until_complete(requests)
    assert requests.end(producer, commit=False, version=5)[0] == ErrorCode.PRODUCER_FENCED
    assert requests.end(producer, commit=False, version=1)[0] == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_second_instance_fences_the_first(requests: TransactionRequests) -> None:
    first = started(requests)
    assert requests.add(first, 0) == [NONE]
    assert requests.produce(first, 0) == (NONE, 0)
    assert requests.init()[0] == ErrorCode.CONCURRENT_TRANSACTIONS
    wait_until_complete(requests)
    second = started(requests)
    assert second == (first.producer_id, first.producer_epoch + 2)
    assert requests.fetch(0).aborted == [(first.producer_id, 0)]
    assert requests.add(first, 0) == [ErrorCode.PRODUCER_FENCED]
    assert requests.add(first, 0, version=1) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert requests.add((first.producer_id + 5000, 0), 0) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert requests.produce(first, 1)[0] == ErrorCode.INVALID_PRODUCER_EPOCH
    assert requests.end(first, commit=True)[0] == ErrorCode.PRODUCER_FENCED
    assert requests.init(producer=first)[0] == ErrorCode.PRODUCER_FENCED
    assert requests.init(version=3, producer=first)[0] == ErrorCode.INVALID_PRODUCER_EPOCH
    bumped = Producer(second.producer_id, second.producer_epoch + 1)
    assert requests.init(producer=second) == (NONE, bumped)
    assert requests.init(producer=second) == (NONE, bumped)
    assert requests.init(timeout_ms=0)[0] == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert requests.init(timeout_ms=900_001)[0] == ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_missing_partitions_keep_the_others_out_of_the_transaction(
    requests: TransactionRequests,
) -> None:
    producer = started(requests)
    assert sorted(requests.add(producer, 0, 7)) == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.OPERATION_NOT_ATTEMPTED,
    ]
    assert requests.describe().transaction_state == "Empty"


@pytest.mark.parametrize("version", [3, 5])
def test_offsets_move_with_their_transaction(requests: TransactionRequests, version: int) -> None:
    group = f"{requests.topic}-group"
    producer = started(requests)
    request = messages.FindCoordinatorRequest(version=4, key_type=0, coordinator_keys=[group])
    eventually(lambda: requests.call(request, 4).coordinators[0].error_code == NONE)
    eventually(lambda: requests.fetch_offset(group)[0] == NONE)
    if version < 5:
        found = requests.commit_offset(producer, group, 7, version)
        assert found == ErrorCode.INVALID_TXN_STATE
        assert requests.commit_offset(producer, group, 7, 4) == ErrorCode.TRANSACTION_ABORTABLE
        assert requests.add_offsets(producer, group) == NONE
    # Offsets that the audit can find in the log.
    for number in range(9):
        requests.produce((88_888, 0), number, is_transactional=False)
    assert requests.commit_offset(producer, group, 7, version) == NONE
    (topic,) = requests.describe().topics
    assert topic.topic == "__consumer_offsets"
    assert requests.fetch_offset(group) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    assert requests.fetch_offset(group, require_stable=False) == (NONE, -1)
    error_code, bumped = requests.end(producer, commit=True, version=version)
    assert error_code == NONE
    wait_until_complete(requests)
    eventually(lambda: requests.fetch_offset(group) == (NONE, 7))

    producer = bumped if version >= 5 else producer
    if version < 5:
        assert requests.add_offsets(producer, group) == NONE
    assert requests.commit_offset(producer, group, 9, version) == NONE
    assert requests.end(producer, commit=False, version=version)[0] == NONE
    wait_until_complete(requests)
    eventually(lambda: requests.fetch_offset(group) == (NONE, 7))


def test_offsets_of_unknown_generations_are_refused(requests: TransactionRequests) -> None:
    group = f"{requests.topic}-group"
    producer = started(requests)
    request = messages.FindCoordinatorRequest(version=4, key_type=0, coordinator_keys=[group])
    eventually(lambda: requests.call(request, 4).coordinators[0].error_code == NONE)
    eventually(lambda: requests.fetch_offset(group)[0] == NONE)
    assert requests.add_offsets(producer, group) == NONE
    found = requests.commit_offset(
        producer, group, 7, generation_id_or_member_epoch=3, member_id="m"
    )
    assert found == ErrorCode.ILLEGAL_GENERATION
    assert requests.commit_offset(producer, group, 7) == NONE
    found = requests.commit_offset(
        producer, group, 8, generation_id_or_member_epoch=3, member_id="m"
    )
    assert found == ErrorCode.UNKNOWN_MEMBER_ID
    stale = (producer.producer_id, producer.producer_epoch - 1)
    assert requests.commit_offset(stale, group, 8) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_hanging_transaction_is_ended_by_a_marker_from_a_tool(
    requests: TransactionRequests,
) -> None:
    started(requests)
    producer = started(requests)
    assert requests.add(producer, 0) == [NONE]
    assert requests.produce(producer, 0) == (NONE, 0)
    stale = (producer.producer_id, producer.producer_epoch - 1)
    assert requests.write_marker(stale, commit=False) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert requests.write_marker((producer.producer_id, -1), commit=False) == -1
    unknown = requests.write_marker(producer, commit=False, index=9)
    assert unknown == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert requests.write_marker(producer, commit=False, coordinator_epoch=3) == NONE
    eventually(lambda: requests.fetch(0).last_stable_offset == 2)
    assert requests.producers() == [(*producer, 0, -1)]
    fenced = requests.write_marker(producer, commit=False, coordinator_epoch=2)
    assert fenced == ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_transactions_are_listed_with_filters(requests: TransactionRequests) -> None:
    producer = started(requests)
    name = requests.transactional_id
    requests.add(producer, 0)

    def listed(**filters: Any) -> list[str]:
        states = requests.list_transactions(**filters).transaction_states
        return [state.transaction_state for state in states if state.transactional_id == name]

    assert listed() == ["Ongoing"]
    assert listed(states=["Empty"]) == []
    assert listed(states=["Ongoing", "Nonsense"]) == ["Ongoing"]
    assert requests.list_transactions(states=["Nonsense"]).unknown_state_filters == ["Nonsense"]
    assert listed(producer_ids=[producer.producer_id]) == ["Ongoing"]
    assert listed(producer_ids=[producer.producer_id + 1]) == []
    assert listed(duration_ms=600_000) == []
    assert listed(pattern=name[:-1] + ".") == ["Ongoing"]
    assert listed(pattern="nothing") == []
    assert (
        requests.list_transactions(pattern="(").error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    )
    requests.transactional_id = ""
    assert requests.describe().error_code == ErrorCode.INVALID_REQUEST
    requests.transactional_id = "unknown"
    assert requests.describe().error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
