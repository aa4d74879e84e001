"""Each request of a producer has a row, and each batch of a Produce request."""

import pytest

from client.producer.actions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    PartitionOutcome,
    ProduceRequest,
    ProduceResponse,
    StampedBatch,
)
from client.producer.batch import Batch, TopicPartition
from loadgen.clients.load_client import Event, Run
from loadgen.clients.produce_frames import record_batch
from loadgen.clients.producer_rows import ProducerRows
from loadgen.plan.plan import Tenant
from protocol.errors import ErrorCode
from tests.loadgen.stubs import rows_of, run_of

BATCH, _ = record_batch(1, 100, 0)
PLACES = (TopicPartition("load", 0), TopicPartition("load", 1))
PRODUCE = ProduceRequest(
    -1,
    100,
    tuple(StampedBatch(place.topic, bytes(16), place.partition, BATCH) for place in PLACES),
    tuple(Batch(place, 1, 0, "none", 100) for place in PLACES),
)
END = EndTxnRequest("tx", 1, 0, is_commit=True, transaction_version=2)
ADD = AddPartitionsToTxnRequest("tx", 1, 0, PLACES)


@pytest.fixture
def run() -> Run:
    return run_of(Tenant("a", "transactional"))


@pytest.fixture
def requests(run: Run) -> ProducerRows:
    def event(_event_id: int, now_us: int) -> Event:
        return Event(7, now_us, now_us, 0)

    return ProducerRows(run, 0, event)


def test_each_batch_of_a_request_has_a_row_with_its_outcome(
    run: Run, requests: ProducerRows
) -> None:
    requests.sent(1, PRODUCE, 12, 200)
    refused = PartitionOutcome(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    requests.responded(1, PRODUCE, ProduceResponse({PLACES[1]: refused}, 7))
    rows = [
        (row["partition"], row["status"], row["error_code"], row["throttle_time_ms"])
        for row in rows_of(run)
    ]
    assert rows == [
        (0, "lost", None, 0),
        (1, "responded", ErrorCode.NOT_LEADER_OR_FOLLOWER, 7),
    ]
    assert (run.counts.errors, run.counts.throttled) == (1, 1)


def test_an_end_says_what_it_requests(run: Run, requests: ProducerRows) -> None:
    requests.sent(1, END, 5, 60)
    requests.sent(1, EndTxnRequest("tx", 1, 0, is_commit=False, transaction_version=2), 5, 60)
    requests.responded(1, END, EndTxnResponse(ErrorCode.NONE))
    rows = [(row["event_id"], row["api"], row["kind"], row["status"]) for row in rows_of(run)]
    assert rows == [(7, "EndTxn", "commit", "responded"), (7, "EndTxn", "abort", "no_response")]


def test_the_first_error_of_a_partition_counts(run: Run, requests: ProducerRows) -> None:
    requests.sent(1, ADD, 3, 60)
    errors = dict(zip(PLACES, (ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE), strict=True))
    requests.responded(1, ADD, AddPartitionsToTxnResponse({**errors}))
    assert [row["error_code"] for row in rows_of(run)] == [ErrorCode.INVALID_TXN_STATE]


def test_a_lost_connection_loses_its_requests_only(run: Run, requests: ProducerRows) -> None:
    for node_id in (1, 1, 2, 3):
        requests.sent(node_id, END, 5, 60)
    requests.lost(1)
    requests.lost(4)
    assert [row["status"] for row in rows_of(run)] == ["lost", "lost", "no_response", "no_response"]
    requests.lose_all()
    assert {row["status"] for row in rows_of(run)} == {"lost"}
