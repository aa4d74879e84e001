"""Fetch requests, and the batches in their responses."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from protocol import messages
from protocol.records import HEADER_BYTES, LOG_OVERHEAD_BYTES, BatchHeader, read_header

MAX_WAIT_MS = 20
NO_TOPIC_ID = UUID(int=0)
RESPONSE_BYTES_MAX = 8 * 1024 * 1024
PARTITION_BYTES_MAX = 1024 * 1024


def fetch_request(
    topic: str, topic_id: UUID, offsets: Mapping[int, int], max_wait_ms: int = MAX_WAIT_MS
) -> Any:
    """Return a Fetch of these partitions from these offsets, without a fetch session."""
    topic_class = messages.FetchRequest.FetchTopic
    return messages.FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=RESPONSE_BYTES_MAX,
        isolation_level=0,
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
                        partition_max_bytes=PARTITION_BYTES_MAX,
                    )
                    for partition, offset in offsets.items()
                ],
            )
        ],
        forgotten_topics_data=[],
        rack_id="",
    )


def fetched_partitions(response: Any) -> Iterator[Any]:
    """Yield the partitions of a response."""
    for topic in response.responses:
        yield from topic.partitions


def batches_of(records: bytes | None) -> Iterator[tuple[BatchHeader, bytes]]:
    """Yield the complete batches in the records of a partition; the last one may be cut off."""
    position, data = 0, records or b""
    while len(data) - position >= HEADER_BYTES:
        header = read_header(data, position)
        end = position + LOG_OVERHEAD_BYTES + header.batch_length
        if end > len(data):
            return
        yield header, data[position:end]
        position = end


def next_offset(records: bytes | None, offset: int) -> int:
    """Return the offset after these records, or `offset` if there are none."""
    for header, _ in batches_of(records):
        offset = max(offset, header.base_offset + header.last_offset_delta + 1)
    return offset
