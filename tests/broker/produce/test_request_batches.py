"""What of a Produce request is appended, and what fails the request as a whole."""

from broker.cluster.cluster import Cluster
from broker.produce.batch_refusal import BatchRefusal
from broker.produce.request_batches import CheckedBatches, read_batches
from protocol import produce_decoder
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.records import BatchHeader
from tests.batches import altered, make_batch
from tests.broker.cluster_builder import make_cluster, make_context
from tests.produce_requests import produce_request

FIRST, LAST = make_batch(b"first"), make_batch(b"last", b"last")


def cluster() -> Cluster:
    made = make_cluster()
    made.create_topic("t", [(1,), (1,)], {})
    return made


def read(
    *partitions: tuple[int, bytes | None], topic: str = "t", transactional_id: str | None = None
) -> CheckedBatches | BatchRefusal:
    message = produce_request(
        list(partitions), version=9, topic=topic, transactional_id=transactional_id
    )
    frame = bytes(message.encode(version=9))
    found_id, _acks, _timeout_ms, topics, is_plain = produce_decoder.decode_batches(
        9, frame, 0, len(frame)
    )
    context = make_context(ApiKey.PRODUCE, 9)
    checked = read_batches(context, topics, found_id, cluster(), frame)
    if is_plain:
        assert checked == (topics, {})
    return checked


def counts(found: CheckedBatches | BatchRefusal) -> list[tuple[int, int | ErrorCode]]:
    assert not isinstance(found, BatchRefusal)
    topics, _refused = found
    return [
        (
            index,
            header.error_code
            if isinstance(header, BatchRefusal)
            else BatchHeader._make(header)[-1],
        )
        for _name, _topic_id, batches in topics
        for index, _start, _end, header in batches
        if header is not None
    ]


def transactional(producer_id: int) -> bytes:
    return make_batch(
        b"v", producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True
    )


def test_a_topic_without_partitions_is_left_out() -> None:
    assert counts(read()) == []


def test_of_a_partition_that_occurs_twice_the_last_valid_batch_counts() -> None:
    assert counts(read((0, FIRST), (1, FIRST), (0, LAST))) == [(0, 2), (1, 1)]
    found = read((0, FIRST), (0, b""), (1, FIRST))
    assert counts(found) == [(0, 1), (1, 1)]
    assert not isinstance(found, BatchRefusal)
    ((key, refusal),) = found[1].items()
    assert (key, refusal.error_code) == (("t", 0), ErrorCode.INVALID_RECORD)


def test_a_batch_takes_the_place_of_null_before_it() -> None:
    found = read((0, None), (0, LAST))
    assert counts(found) == [(0, 2)]
    assert not isinstance(found, BatchRefusal)
    assert found[1] == {}
    assert counts(read((0, None))) == [(0, ErrorCode.INVALID_RECORD)]


def test_a_transactional_batch_without_a_transactional_id_fails_the_request() -> None:
    for batch in (transactional(5), transactional(5) * 2):
        refusal = read((0, FIRST), (1, batch))
        assert isinstance(refusal, BatchRefusal)
        assert refusal.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_batches_of_two_transactional_producers_fail_the_request_if_both_exist() -> None:
    refusal = read((0, transactional(5)), (1, transactional(6)), transactional_id="x")
    assert isinstance(refusal, BatchRefusal)
    assert refusal.error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert refusal.error_message == "Transactional records contained more than one producer ID"
    missing = read((0, transactional(5)), (7, transactional(6)), transactional_id="x")
    assert counts(missing) == [(0, 1), (7, 1)]


def test_a_batch_without_a_header_fails_the_request_if_its_partition_exists() -> None:
    short = altered(FIRST, 8, ">i", 28)[:40]
    refusal = read((1, FIRST), (0, short))
    assert isinstance(refusal, BatchRefusal)
    assert refusal.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert counts(read((1, FIRST), (7, short))) == [(1, 1), (7, ErrorCode.UNKNOWN_SERVER_ERROR)]
