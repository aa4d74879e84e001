"""Record in the context of a Produce request which of its batches are in the log."""

from sys import intern

from broker.cluster.topics import Partition, Topic
from broker.request.acknowledgement import Acknowledgement
from broker.request.context import RequestContext
from protocol.records import BatchHeader

CLIENT_ID_LENGTH_MAX = 255
"""Longer client ids (up to 32 KiB are allowed) are cut, to bound memory."""


def note_batch(
    context: RequestContext,
    topic: Topic,
    partition: Partition,
    header: BatchHeader,
    base_offset: int,
    *,
    is_append: bool,
) -> None:
    """Record in the context of a request that its response acknowledges this batch."""
    assert context.acknowledgements is not None
    client_id = context.client_id
    context.acknowledgements.append(
        Acknowledgement(
            topic.topic_id,
            topic.name,
            partition.partition_index,
            is_append,
            base_offset,
            header.crc,
            header.max_timestamp,
            header.records_count,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            context.connection_id,
            None if client_id is None else intern(client_id[:CLIENT_ID_LENGTH_MAX]),
            context.now_ms,
        )
    )
