"""What a ShareFetch of a session reads, and a fetch without a part of it, for fault rules."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.share_groups.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_TOPIC_ID,
    ShareSession,
    ShareSessionKey,
    TopicIdPartition,
)
from protocol import messages


def complete_share_request(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Return a ShareFetch that names all partitions that it reads, those of its session included.

    The session does not change.
    """
    session = _session(context, request, cluster)
    if session is None or request.share_session_epoch in {INITIAL_EPOCH, FINAL_EPOCH}:
        return request
    forgotten = {
        TopicIdPartition(topic.topic_id or NO_TOPIC_ID, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    }
    named = set(_partitions(request))
    topic_class = messages.ShareFetchRequest.FetchTopic
    by_topic = {topic.topic_id or NO_TOPIC_ID: topic for topic in request.topics}
    for partition in session.partitions:
        if partition in named or partition in forgotten:
            continue
        topic = by_topic.get(partition.topic_id)
        if topic is None:
            topic = by_topic[partition.topic_id] = topic_class(
                topic_id=partition.topic_id, partitions=[]
            )
        topic.partitions.append(
            topic_class.FetchPartition(partition_index=partition.partition_index)
        )
    request.topics = list(by_topic.values())
    return request


@contextmanager
def partitions_withheld(context: RequestContext, withheld: Any, cluster: Cluster) -> Iterator[None]:
    """Leave the partitions of `withheld`, a ShareFetch, out of the session of its member.

    They are in the session again afterwards, as if the fetch had found nothing in them. A request
    that closes the session closes all of it.
    """
    if withheld.share_session_epoch == FINAL_EPOCH:
        yield
        return
    partitions = list(_partitions(withheld))
    before = _session(context, withheld, cluster)
    if before is not None:
        before.update((), partitions)
    yield
    after = _session(context, withheld, cluster)
    if after is not None:
        after.update(partitions, ())


def _session(context: RequestContext, request: Any, cluster: Cluster) -> ShareSession | None:
    key = ShareSessionKey(request.group_id or "", request.member_id or "")
    return cluster.share.leaders[context.broker_id].sessions.get(key)


def _partitions(request: Any) -> Iterator[TopicIdPartition]:
    for topic in request.topics:
        for partition in topic.partitions:
            yield TopicIdPartition(topic.topic_id or NO_TOPIC_ID, partition.partition_index)
