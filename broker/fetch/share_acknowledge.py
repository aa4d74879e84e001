"""The acknowledgements of a ShareFetch or a ShareAcknowledge request.

Sources: Kafka's `KafkaApis.handleAcknowledgements` and `SharePartitionManager.acknowledge`.
"""

from base64 import urlsafe_b64decode
from collections.abc import Iterable
from typing import Any, TypeGuard

from broker.cluster.cluster import Cluster
from broker.cluster.share_leaders import share_partition_key
from broker.errors import (
    INVALID_REQUEST_MESSAGE,
    UNKNOWN_PARTITION,
    UNKNOWN_TOPIC_ID,
    Refusal,
)
from broker.share_groups.acknowledgement import AcknowledgementBatch, are_valid
from broker.share_groups.sessions import NO_TOPIC_ID, TopicIdPartition
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, no_pause, paced, paced_elements

UUID_TEXT_LENGTH_MAX = 24

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
) -> AcknowledgeResult:
    """Take the acknowledgements of all partitions of a request; each succeeds or fails alone.

    `topics` are those of a ShareFetch or ShareAcknowledge message.
    """
    leader = cluster.share.leaders[broker_id]
    result: AcknowledgeResult = {}
    for topic_request in paced(topics):
        topic_id = topic_request.topic_id or NO_TOPIC_ID
        for entry in paced(topic_request.partitions):
            partition = TopicIdPartition(topic_id, entry.partition_index)
            batches = _batches(entry)
            with no_pause():  # the topic that is found is the one whose records change
                topic = cluster.topics.get_by_id(topic_id)
                if topic is None:
                    result[partition] = UNKNOWN_TOPIC_ID
                elif batches is None or not are_valid(batches):
                    result[partition] = Refusal(ErrorCode.INVALID_REQUEST, INVALID_REQUEST_MESSAGE)
                elif topic.partition(entry.partition_index) is None:
                    result[partition] = UNKNOWN_PARTITION
                elif not batches:
                    result[partition] = None
                else:
                    key = share_partition_key(group_id, partition)
                    result[partition] = leader.acknowledge(key, member_id, batches, now_ms)
    return result


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


def is_member_id(member_id: str | None) -> TypeGuard[str]:
    """Return whether a member id is a UUID as Kafka writes it, in 22 characters of Base64."""
    if member_id is None or len(member_id) > UUID_TEXT_LENGTH_MAX:
        return False
    try:
        return len(urlsafe_b64decode(member_id.rstrip("=") + "==")) == 16
    except ValueError:
        return False
