"""Fetch requests for one topic, handled without a connection."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.handlers.k01_fetch import handle_fetch
from broker.pending_response import PendingResponse
from broker.produce.append import append_batch
from protocol import messages, records
from protocol.api_keys import ApiKey
from protocol.codec import decode_request
from protocol.fetch import read_fetch
from tests.broker.cluster_builder import NOW_MS, make_context

_Topic = messages.FetchRequest.FetchTopic
read_by_hand: Callable[..., Any] = read_fetch


def append(cluster: Cluster, batch: bytes, partition_index: int = 0) -> None:
    topic = cluster.topics.get("t")
    assert topic is not None
    partition = topic.partitions[partition_index]
    context = make_context(ApiKey.PRODUCE, 9, broker_id=partition.leader_id)
    append_batch(context, cluster, topic, partition, batch, 0, len(batch))


def ask(
    cluster: Cluster,
    fetch_offsets: dict[int, int],
    *,
    version: int = 11,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1_000_000,
    partition_bytes: int = 1_000_000,
    leader_epoch: int = -1,
    broker_id: int = 1,
    topic: str = "t",
    isolation_level: int = 0,
    topic_id: UUID | None = None,
    forgotten: Sequence[int] = (),
    rack_id: str = "",
    replica_id: int = -1,
    last_fetched_epoch: int = -1,
    now_ms: int = NOW_MS,
    **session: int,
) -> Any:
    """Return the decoded response, or the pending one."""
    found = cluster.topics.get(topic)
    topic_id = topic_id or (found.topic_id if found else UUID(int=99))
    request: Any = messages.FetchRequest(
        version=version,
        replica_id=replica_id,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session.get("session_id", 0),
        session_epoch=session.get("session_epoch", -1),
        topics=[
            _Topic(
                version=version,
                topic=topic,
                topic_id=topic_id,
                partitions=[
                    _Topic.FetchPartition(
                        version=version,
                        partition=index,
                        current_leader_epoch=leader_epoch,
                        fetch_offset=offset,
                        last_fetched_epoch=last_fetched_epoch,
                        log_start_offset=-1,
                        partition_max_bytes=partition_bytes,
                    )
                    for index, offset in fetch_offsets.items()
                ],
            )
        ]
        if fetch_offsets
        else [],
        forgotten_topics_data=[
            messages.FetchRequest.ForgottenTopic(
                topic=topic, topic_id=topic_id, partitions=list(forgotten)
            )
        ]
        if forgotten
        else [],
        rack_id=rack_id,
    )
    if replica_id >= 0:
        request.replica_state = messages.FetchRequest.ReplicaState(
            replica_id=replica_id, replica_epoch=-1
        )
    body = bytes(request.encode(version=version))
    context = make_context(ApiKey.FETCH, version, broker_id=broker_id, now_ms=now_ms)
    decoded = read_by_hand(version, body, 0, len(body)) or decode_request(
        ApiKey.FETCH, version, body, 0, len(body)
    )
    response = handle_fetch(context, decoded, cluster)
    return response if isinstance(response, PendingResponse) else reread(response, version)


def reread(response: Any, version: int = 11) -> Any:
    is_body = isinstance(response, bytes | bytearray)
    body = response if is_body else response.encode(version=version)
    return messages.FetchResponse.decode(bytes(body), version=version)


def parts(response: Any) -> dict[int, Any]:
    return {part.partition_index: part for topic in response.responses for part in topic.partitions}


def values(data: bytes) -> list[bytes | None]:
    found: list[bytes | None] = []
    position = 0
    while position < len(data):
        size = int.from_bytes(data[position + 8 : position + 12], "big") + 12
        found += [record.value for record in records.read_records(data[position : position + size])]
        position += size
    return found


def session_of(cluster: Cluster, fetch_offsets: dict[int, int], **rest: Any) -> int:
    """Open a session with a full fetch; returns its id."""
    session_id = ask(cluster, fetch_offsets, session_epoch=0, **rest).session_id
    assert isinstance(session_id, int)
    assert session_id > 0
    return session_id
