"""Find the topics that a DeleteTopics request may delete.

Source: Kafka's `ControllerApis.deleteTopics`, but results keep the order of the request.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.errors import UNKNOWN_PARTITION, UNKNOWN_TOPIC_ID, Refusal
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

NO_TOPIC_ID = UUID(int=0)
DELETION_DISABLED_VERSION_MIN = 3


@dataclass(frozen=True, slots=True)
class RequestedTopic:
    """A topic of the request: by name (the id is zero) or by id (the name is None)."""

    name: str | None
    topic_id: UUID = NO_TOPIC_ID


@dataclass(frozen=True, slots=True)
class FoundTopic:
    """The name and id in the response, and the topic or its refusal."""

    name: str | None
    topic_id: UUID
    outcome: Topic | Refusal


def check_enabled(cluster: Cluster, api_version: int) -> Refusal | None:
    """Refuse all topics of the request if delete.topic.enable is false."""
    if cluster.config["delete.topic.enable"]:
        return None
    if api_version < DELETION_DISABLED_VERSION_MIN:
        return Refusal(ErrorCode.INVALID_REQUEST, "Topic deletion is disabled.")
    return Refusal(ErrorCode.TOPIC_DELETION_DISABLED, None)


@may_pause
def find_topics(cluster: Cluster, requested: Sequence[RequestedTopic]) -> list[FoundTopic]:
    """Return the topics to delete in request order; refuse duplicates once."""
    counts = Counter(paced(requested))
    names_once = {
        topic.name
        for topic, count in paced(counts.items())
        if count == 1 and topic.topic_id == NO_TOPIC_ID
    }
    ids = {topic.topic_id for topic in counts if topic.name is None}
    found = []
    for topic, count in paced(counts.items()):
        if (topic.name is None) == (topic.topic_id == NO_TOPIC_ID):
            found += [_malformed(topic)] * count
        elif count > 1:
            kind = "id" if topic.name is None else "name"
            refusal = _invalid_request(f"Duplicate topic {kind}.")
            found.append(FoundTopic(topic.name, topic.topic_id, refusal))
        elif topic.name is not None:
            found.append(_by_name(cluster, topic.name, ids))
        else:
            by_id = _by_id(cluster, topic.topic_id)
            # A topic given by name and by id is refused at its name.
            if by_id.name is None or by_id.name not in names_once:
                found.append(by_id)
    return found


@may_pause
def needs_lookup(requested: Sequence[RequestedTopic]) -> bool:
    """Return whether Kafka asks its controller for a topic of the request.

    It does not for topics that occur twice, or are named by both name and id or by neither.
    """
    return any(
        count == 1 and (topic.name is None) != (topic.topic_id == NO_TOPIC_ID)
        for topic, count in paced(Counter(paced(requested)).items())
    )


def _by_name(cluster: Cluster, name: str, ids: set[UUID]) -> FoundTopic:
    topic = cluster.topics.get(name)
    if topic is None:
        return FoundTopic(name, NO_TOPIC_ID, UNKNOWN_PARTITION)
    if topic.topic_id in ids:
        message = "The provided topic name maps to an ID that was already supplied."
        return FoundTopic(name, topic.topic_id, _invalid_request(message))
    return FoundTopic(name, topic.topic_id, topic)


def _by_id(cluster: Cluster, topic_id: UUID) -> FoundTopic:
    topic = cluster.topics.get_by_id(topic_id)
    if topic is None:
        return FoundTopic(None, topic_id, UNKNOWN_TOPIC_ID)
    return FoundTopic(topic.name, topic_id, topic)


def _malformed(requested: RequestedTopic) -> FoundTopic:
    if requested.name is None:
        message = "Neither topic name nor id were specified."
    else:
        message = "You may not specify both topic name and topic id."
    return FoundTopic(requested.name, requested.topic_id, _invalid_request(message))


def _invalid_request(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, message)
