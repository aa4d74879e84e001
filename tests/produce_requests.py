"""Produce requests for tests."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from protocol import messages


def produce_request(
    partitions: Iterable[tuple[int, bytes | None]],
    *,
    version: int,
    topic: str = "t",
    topic_id: UUID | None = None,
    acks: int = -1,
    transactional_id: str | None = None,
) -> Any:
    """Batches for partitions of one topic, by their index; `topic_id` counts from version 13 on."""
    topic_class = messages.ProduceRequest.TopicProduceData
    return messages.ProduceRequest(
        version=version,
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=1000,
        topic_data=[
            topic_class(
                version=version,
                name=topic,
                topic_id=topic_id or UUID(int=0),
                partition_data=[
                    topic_class.PartitionProduceData(version=version, index=index, records=records)
                    for index, records in partitions
                ],
            )
        ],
    )
