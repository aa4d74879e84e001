"""Fetch requests, and the batches in their responses."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from protocol import messages
from protocol.records import (
    CONTROL_FLAG,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    whole_batches,
)

MAX_WAIT_MS = 20
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
NO_TOPIC_ID = UUID(int=0)
RESPONSE_BYTES_MAX = 8 * 1024 * 1024
PARTITION_BYTES_MAX = 1024 * 1024


def fetch_request(
    topic: str,
    topic_id: UUID,
    offsets: Mapping[int, int],
    max_wait_ms: int = MAX_WAIT_MS,
    isolation_level: int = READ_UNCOMMITTED,
    partition_bytes_max: int = PARTITION_BYTES_MAX,
) -> "messages.FetchRequest":
    """Return a Fetch of these partitions from these offsets, without a fetch session."""
    topic_class = messages.FetchRequest.FetchTopic
    return messages.FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=RESPONSE_BYTES_MAX,
        isolation_level=isolation_level,
        session_id=0,
        session_epoch=-1,
        topics=[
            topic_class(
                topic=topic,
                topic_id=topic_id,
                partitions=[
                    topic_class.FetchPartition(
                        partition=partition,
                        current_leader_epoch=-1,
                        fetch_offset=offset,
                        last_fetched_epoch=-1,
                        log_start_offset=-1,
                        partition_max_bytes=partition_bytes_max,
                    )
                    for partition, offset in offsets.items()
                ],
            )
        ],
        forgotten_topics_data=[],
        rack_id="",
    )


def fetched_partitions(
    response: "messages.FetchResponse",
) -> "Iterator[messages.FetchResponse.FetchableTopicResponse.PartitionData]":
    """Yield the partitions of a response."""
    for topic in response.responses:
        yield from topic.partitions


def batches_of(records: bytes | None) -> Iterator[tuple[BatchHeader, bytes]]:
    """Yield the complete batches in the records of a partition; the last one may be cut off."""
    data = records or b""
    for header, start, end in whole_batches(data):
        yield header, data[start:end]


def committed_batches(
    found: "messages.FetchResponse.FetchableTopicResponse.PartitionData",
) -> Iterator[tuple[BatchHeader, bytes]]:
    """Yield the batches of a partition, without markers and batches of aborted transactions.

    `found` is the partition in the response to a read_committed request.
    """
    starts = sorted(
        (aborted.first_offset, aborted.producer_id) for aborted in found.aborted_transactions or ()
    )
    aborted_ids: set[int] = set()
    for header, data in batches_of(found.records):
        while starts and starts[0][0] <= header.base_offset + header.last_offset_delta:
            aborted_ids.add(starts.pop(0)[1])
        if header.attributes & CONTROL_FLAG:
            # A commit marker here cannot be one of a producer with an aborted transaction.
            aborted_ids.discard(header.producer_id)
        elif not (header.attributes & TRANSACTIONAL_FLAG and header.producer_id in aborted_ids):
            yield header, data


def next_offset(records: bytes | None, offset: int) -> int:
    """Return the offset after these records, or `offset` if there are none."""
    for header, _ in batches_of(records):
        offset = max(offset, header.base_offset + header.last_offset_delta + 1)
    return offset
