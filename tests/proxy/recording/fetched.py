"""Messages of Produce and Fetch as they pass a recorder."""

from collections.abc import Iterable
from uuid import UUID

from protocol import messages
from protocol.control_records import ControlRecordType, encode_end_txn_batch
from protocol.records import read_header, stamp
from tests.batches import NOW_MS, make_batch

TOPIC_ID = UUID(int=5)


def stored(batch: bytes, base_offset: int) -> bytes:
    """Return a batch as a log has it."""
    return stamp(batch, 0, len(batch), base_offset, 0)


def transactional(base_offset: int, *values: bytes, producer_id: int = 9) -> bytes:
    """Return a stored batch of a transaction."""
    batch = make_batch(
        *values, producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    return stored(batch, base_offset)


def marker(offset: int, *, is_committed: bool, producer_id: int = 9) -> bytes:
    """Return a stored marker."""
    kind = ControlRecordType.COMMIT if is_committed else ControlRecordType.ABORT
    return encode_end_txn_batch(
        kind,
        producer_id=producer_id,
        producer_epoch=0,
        coordinator_epoch=0,
        timestamp_ms=NOW_MS,
        base_offset=offset,
    )


def fetch_request(*, is_committed: bool = False) -> "messages.FetchRequest":
    """Return a request with this isolation level."""
    return messages.FetchRequest(isolation_level=int(is_committed), topics=[])


def fetch_response(
    *batches: bytes, topic: str = "t", aborted: Iterable[tuple[int, int]] = ()
) -> "messages.FetchResponse":
    """Return a response with batches of partition 0; `aborted` are (producer id, first offset)."""
    topic_class = messages.FetchResponse.FetchableTopicResponse
    part_class = topic_class.PartitionData
    part = part_class(
        partition_index=0,
        error_code=0,
        aborted_transactions=[
            part_class.AbortedTransaction(producer_id=producer_id, first_offset=offset)
            for producer_id, offset in aborted
        ],
        records=b"".join(batches),
    )
    topic_id = None if topic else TOPIC_ID
    return messages.FetchResponse(
        error_code=0, responses=[topic_class(topic=topic, topic_id=topic_id, partitions=[part])]
    )


def produced(
    batch: bytes,
    base_offset: int,
    *,
    error_code: int = 0,
    append_time_ms: int = -1,
    topic: str = "t",
) -> "tuple[messages.ProduceRequest, messages.ProduceResponse]":
    """Return a request with a batch for partition 0, and its response."""
    topic_id = None if topic else TOPIC_ID
    data = messages.ProduceRequest.TopicProduceData
    request = messages.ProduceRequest(
        topic_data=[
            data(
                name=topic,
                topic_id=topic_id,
                partition_data=[data.PartitionProduceData(index=0, records=batch)],
            )
        ]
    )
    found = messages.ProduceResponse.TopicProduceResponse
    response = messages.ProduceResponse(
        responses=[
            found(
                name=topic,
                topic_id=topic_id,
                partition_responses=[
                    found.PartitionProduceResponse(
                        index=0,
                        error_code=error_code,
                        base_offset=base_offset,
                        log_append_time_ms=append_time_ms,
                    )
                ],
            )
        ]
    )
    return request, response


def end_txn(
    *, is_committed: bool, error_code: int = 0, producer_id: int = 9
) -> "tuple[messages.EndTxnRequest, messages.EndTxnResponse]":
    """Return a request that ends a transaction, and its response."""
    request = messages.EndTxnRequest(
        transactional_id="x", producer_id=producer_id, producer_epoch=0, committed=is_committed
    )
    return request, messages.EndTxnResponse(error_code=error_code)


def undecodable(base_offset: int) -> bytes:
    """Return a batch that claims to be compressed and is not."""
    batch = bytearray(stored(make_batch(b"v"), base_offset))
    batch[22] = 4
    assert read_header(batch, 0).attributes == 4
    return bytes(batch)
