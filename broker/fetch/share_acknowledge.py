"""The acknowledgements of a ShareFetch or a ShareAcknowledge request.

Sources: Kafka's `KafkaApis.handleAcknowledgements` and `SharePartitionManager.acknowledge`.
"""

from base64 import urlsafe_b64decode
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any
from uuid import UUID

from broker.authorization.checks import READ_TOPIC
from broker.cluster.cluster import Cluster
from broker.cluster.share_leaders import share_partition_key
from broker.errors import Refusal
from broker.request.authorization import denied_names
from broker.request.context import RequestContext
from broker.share_groups.acknowledgement import AcknowledgementBatch, are_valid
from broker.share_groups.sessions import NO_TOPIC_ID, TopicIdPartition
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, no_pause, paced, paced_elements, paced_stream
from protocol.releases import Release

RECORD_LOCK_DURATION_KEY = "share.record.lock.duration.ms"
UUID_TEXT_LENGTH_MAX = 24
MEMBER_ID_LENGTH_MAX = 36
MEMBER_IDS_ARE_FREE_SINCE: Release = (4, 2)
"""First release that takes any member id, of up to 36 characters."""

AcknowledgeResult = dict[TopicIdPartition, Refusal | None]
"""For each partition why its acknowledgements were refused, or None."""


@may_pause
def acknowledge_topics(
    cluster: Cluster,
    broker_id: int,
    group_id: str,
    member_id: str,
    topics: Iterable[Any],
    now_ms: int,
    *,
    may_renew: bool,
    denied: AbstractSet[UUID] = frozenset(),
) -> AcknowledgeResult:
    """Take the acknowledgements of all partitions of a request; each succeeds or fails alone.

    A partition without acknowledgements has a result only if another one has valid ones.
    `topics` are those of a ShareFetch or ShareAcknowledge message, `may_renew` its `IsRenewAck`,
    `denied` the topics that the client may not read.
    """
    leader = cluster.share.leaders[broker_id]
    has_acknowledged = False
    renewed_until_ms = None
    if may_renew:
        lock_ms: int = cluster.share.setting(group_id, RECORD_LOCK_DURATION_KEY)
        renewed_until_ms = cluster.timers.deadline_ms(now_ms, lock_ms)
    requested = {  # of a partition that is named twice the last entry counts
        TopicIdPartition(topic_request.topic_id or NO_TOPIC_ID, entry.partition_index): entry
        for topic_request in paced(topics)
        for entry in paced(topic_request.partitions)
    }
    result: AcknowledgeResult = {}
    without_batches: list[TopicIdPartition] = []
    for partition, entry in paced(requested.items()):
        batches = _batches(entry)
        with no_pause():  # the topic that is found is the one whose records change
            topic = cluster.topics.get_by_id(partition.topic_id)
            if topic is None:
                result[partition] = _refusal(ErrorCode.UNKNOWN_TOPIC_ID)
            elif batches is None or not are_valid(batches, may_renew=may_renew):
                result[partition] = _refusal(ErrorCode.INVALID_REQUEST)
            elif partition.topic_id in denied:
                result[partition] = _refusal(READ_TOPIC.error_code)
            elif topic.partition(partition.partition_index) is None:
                result[partition] = _refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            elif not batches:
                without_batches.append(partition)
            else:
                has_acknowledged = True
                key = share_partition_key(group_id, partition)
                result[partition] = leader.acknowledge(
                    key, member_id, batches, now_ms, renewed_until_ms=renewed_until_ms
                )
    if has_acknowledged:
        result |= dict.fromkeys(without_batches)
    return result


def _refusal(error_code: ErrorCode) -> Refusal:
    """Refuse a partition before anything is acknowledged; Kafka sends no message then."""
    return Refusal(error_code, None)


@may_pause
def _batches(entry: Any) -> list[AcknowledgementBatch] | None:
    """Return the acknowledgements of a partition; None if one is of no offset."""
    try:
        return [
            AcknowledgementBatch(
                batch.first_offset, batch.last_offset, tuple(batch.acknowledge_types)
            )
            for batch in paced_elements(entry.acknowledgement_batches)
        ]
    except ValueError:
        return None


@may_pause
def denied_topics(
    context: RequestContext, cluster: Cluster, topic_ids: Iterable[UUID]
) -> AbstractSet[UUID] | None:
    """Return the topics that the client may not read; None if one of them does not exist.

    The whole request fails then, as in Kafka, which asks its authorizer for a topic without a name.
    """
    if cluster.authorizer is None:
        return frozenset()
    names: dict[UUID, str] = {}
    for topic_id in paced_stream(dict.fromkeys(topic_ids)):
        topic = cluster.topics.get_by_id(topic_id)
        if topic is None:
            return None
        names[topic_id] = topic.name
    denied = denied_names(context, cluster, READ_TOPIC, names.values())
    return {topic_id for topic_id, name in names.items() if name in denied}


def request_error(release: Release, group_id: str | None, member_id: str | None) -> ErrorCode:
    """Return the error of a request without a group, or with the id of no member; or NONE."""
    if release < MEMBER_IDS_ARE_FREE_SINCE:
        is_valid, error_code = _is_uuid(member_id), ErrorCode.UNKNOWN_SERVER_ERROR
    else:
        is_valid, error_code = is_member_id(member_id), ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE if is_valid and group_id is not None else error_code


def is_member_id(member_id: str | None) -> bool:
    """Return whether Kafka 4.2 takes a member id."""
    return member_id is not None and 0 < len(member_id) <= MEMBER_ID_LENGTH_MAX


def _is_uuid(member_id: str | None) -> bool:
    """Return whether a member id is a UUID as Kafka writes it, in 22 characters of Base64."""
    if member_id is None or len(member_id) > UUID_TEXT_LENGTH_MAX:
        return False
    try:
        return len(urlsafe_b64decode(member_id.rstrip("=") + "==")) == 16
    except ValueError:
        return False
