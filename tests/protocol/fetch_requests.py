"""Fetch requests of the schema's class."""

from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from protocol import messages

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)

_Topic = messages.FetchRequest.FetchTopic


def request_of(
    version: int, topics: list[Any], *, rack_id: str = "", forgotten: tuple[int, ...] = ()
) -> Any:
    request = messages.FetchRequest(
        version=version,
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=1,
        session_id=5,
        session_epoch=6,
        topics=[],
        forgotten_topics_data=[],
        rack_id=rack_id,
    )
    for name, topic_id, partitions in topics:
        topic = _Topic(version=version, partitions=[])
        topic.topic, topic.topic_id = name, topic_id
        for index, leader_epoch, offset, fetched_epoch, start, bytes_max in partitions:
            topic.partitions.append(
                _Topic.FetchPartition(
                    version=version,
                    partition=index,
                    current_leader_epoch=leader_epoch,
                    fetch_offset=offset,
                    last_fetched_epoch=fetched_epoch,
                    log_start_offset=start,
                    partition_max_bytes=bytes_max,
                )
            )
        request.topics.append(topic)
    if forgotten:
        gone = messages.FetchRequest.ForgottenTopic(version=version, partitions=list(forgotten))
        gone.topic, gone.topic_id = "f", UUID(int=3)
        request.forgotten_topics_data = [gone]
    return request
