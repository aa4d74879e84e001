"""Which partitions a Fetch request reads, in a session or without one (KIP-227).

Sources: Kafka's `FetchManager.newContext` and the classes of `FetchContext`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID  # noqa: TC003 - plain imports show the layers

from broker.cluster.cluster import Cluster
from broker.cluster.fetch_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION_ID,
    NO_TOPIC_ID,
    CachedPartition,
    FetchSession,
    PartitionKey,
    next_epoch,
)
from broker.cluster.topics import TopicTable
from broker.fetch.session_logs import remembered_logs
from broker.request.context import RequestContext
from protocol import messages
from protocol.errors import ErrorCode
from protocol.fetch import LEADER_EPOCH_VERSION_MIN, TOPIC_ID_VERSION_MIN, ShortFetch
from protocol.pacing import may_pause, paced, paced_elements

LAST_FETCHED_EPOCH_VERSION_MIN = 12


@dataclass(slots=True)
class FetchContext:
    """What one request reads.

    `partitions` are read in this order. `error_code` says why there are none: the session is
    unknown, or the request does not fit it; with UNKNOWN_SERVER_ERROR the request fails. `session`
    is the one of an incremental request; `epoch` is the session's epoch unless a later request has
    come in between. With `opens_session` a full request asks for a new session.
    """

    partitions: list[CachedPartition]
    error_code: ErrorCode = ErrorCode.NONE
    session: FetchSession | None = None
    epoch: int = FINAL_EPOCH
    opens_session: bool = False

    @property
    def is_current(self) -> bool:
        """Whether no later request has changed the session."""
        return self.session is None or self.session.epoch == self.epoch


@may_pause
def open_fetch_context(context: RequestContext, request: Any, cluster: Cluster) -> FetchContext:
    """Take a request into its session, or read what it names without one."""
    uses_topic_ids = context.api_version >= TOPIC_ID_VERSION_MIN
    requested = _requested(request, cluster.topics, context.api_version)
    sessions = cluster.fetch_sessions[context.broker_id]
    session_id, epoch = request.session_id, request.session_epoch
    if epoch in {INITIAL_EPOCH, FINAL_EPOCH}:
        if session_id != NO_SESSION_ID:
            sessions.remove(session_id)
        opens_session = epoch == INITIAL_EPOCH
        partitions = list(requested.values())
        if opens_session and any(cached.is_nameless for cached in paced_elements(partitions)):
            return FetchContext([], ErrorCode.UNKNOWN_SERVER_ERROR)
        return FetchContext(partitions, opens_session=opens_session)
    forgotten = _forgotten(request, uses_topic_ids=uses_topic_ids)
    session = sessions.resume(
        session_id, epoch, requested, forgotten, context.now_ms, uses_topic_ids=uses_topic_ids
    )
    if isinstance(session, ErrorCode):
        return FetchContext([], session)
    if not session.partitions:
        return FetchContext(list(requested.values()))
    partitions = list(session.partitions.values())
    if uses_topic_ids and remembered_logs(session, cluster) is None:
        _resolve_names(partitions, cluster.topics)
    return FetchContext(partitions, session=session, epoch=next_epoch(epoch))


@may_pause
def complete_request(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Return a request that names all partitions that it reads, those of its session included.

    The session does not change. A request that is in no session is returned as it is.
    """
    session = _session(context, request, cluster)
    if session is None:
        return request
    requested = _requested(request, cluster.topics, context.api_version)
    partitions = {**session.partitions, **requested}
    for key in _forgotten(request, uses_topic_ids=session.uses_topic_ids):
        partitions.pop(key, None)
    request.topics = _fetch_topics(partitions.values())
    request.forgotten_topics_data = []
    return request


def sessionless_request(context: RequestContext, complete: Any, cluster: Cluster) -> Any:
    """Return a request of `complete_request` as one without a session, and end its session.

    The client opens a new session with its next request. A request with an unknown session or a
    wrong epoch is returned as it is, since its response is an error.
    """
    is_full = complete.session_epoch in {INITIAL_EPOCH, FINAL_EPOCH}
    if not is_full and _session(context, complete, cluster) is None:
        return complete
    cluster.fetch_sessions[context.broker_id].remove(complete.session_id)
    complete.session_id, complete.session_epoch = NO_SESSION_ID, FINAL_EPOCH
    return complete


def _session(context: RequestContext, request: Any, cluster: Cluster) -> FetchSession | None:
    """Return the session of an incremental request, if it fits."""
    session = cluster.fetch_sessions[context.broker_id].get(request.session_id)
    if session is None or session.epoch != request.session_epoch:
        return None
    is_by_id = context.api_version >= TOPIC_ID_VERSION_MIN
    return session if session.uses_topic_ids == is_by_id else None


@may_pause
def _requested(
    request: Any, topics: TopicTable, version: int
) -> dict[PartitionKey, CachedPartition]:
    """Return the partitions that a request names; of duplicates the last counts, as in Kafka."""
    requested: dict[PartitionKey, CachedPartition] = {}
    is_read_by_hand = isinstance(request, ShortFetch)
    for fetch_topic in paced_elements(request.topics):
        if version < TOPIC_ID_VERSION_MIN:
            key = name = fetch_topic.topic
            topic_id = None
        else:
            topic = topics.get_by_id(fetch_topic.topic_id)
            name = None if topic is None else topic.name
            topic_id = fetch_topic.topic_id or NO_TOPIC_ID
            key = topic_id = topic_id if topic is None else topic.topic_id
        if is_read_by_hand:
            rows = fetch_topic.partitions.paced_fields()
            for index, leader_epoch, offset, fetched_epoch, _, max_bytes in rows:
                requested[key, index] = CachedPartition(
                    name, topic_id, index, offset, max_bytes, leader_epoch, fetched_epoch
                )
            continue
        for partition in paced_elements(fetch_topic.partitions):
            requested[key, partition.partition] = CachedPartition(
                name,
                topic_id,
                partition.partition,
                partition.fetch_offset,
                partition.partition_max_bytes,
                # To read a field that the version has not is slow.
                partition.current_leader_epoch if version >= LEADER_EPOCH_VERSION_MIN else -1,
                partition.last_fetched_epoch if version >= LAST_FETCHED_EPOCH_VERSION_MIN else -1,
            )
    return requested


@may_pause
def _forgotten(request: Any, *, uses_topic_ids: bool) -> Iterator[PartitionKey]:
    for topic in paced_elements(request.forgotten_topics_data):
        key = (topic.topic_id or NO_TOPIC_ID) if uses_topic_ids else topic.topic
        for partition_index in paced_elements(topic.partitions):
            yield key, partition_index


@may_pause
def _resolve_names(partitions: list[CachedPartition], topics: TopicTable) -> None:
    """Name the partitions whose topic was unknown when they came; it may exist now."""
    for partition in paced_elements(partitions):
        if partition.topic_name is None and partition.topic_id is not None:
            topic = topics.get_by_id(partition.topic_id)
            partition.topic_name = None if topic is None else topic.name


@may_pause
def _fetch_topics(partitions: Iterable[CachedPartition]) -> list[Any]:
    """Return the topics of a request, each of them once."""
    fetch_topic_class = messages.FetchRequest.FetchTopic
    topics: dict[str | UUID, Any] = {}
    for partition in paced(partitions):
        topic, partition_index = partition.key
        if topic not in topics:
            fetch_topic: Any = fetch_topic_class(partitions=[])
            if isinstance(topic, str):
                fetch_topic.topic = topic
            else:
                fetch_topic.topic_id = topic
            topics[topic] = fetch_topic
        topics[topic].partitions.append(
            fetch_topic_class.FetchPartition(
                partition=partition_index,
                current_leader_epoch=partition.current_leader_epoch,
                fetch_offset=partition.fetch_offset,
                last_fetched_epoch=partition.last_fetched_epoch,
                partition_max_bytes=partition.max_bytes,
            )
        )
    return list(topics.values())
