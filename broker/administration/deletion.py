"""Find the topics that a DeleteTopics request may delete.

Source: Kafka's `ControllerApis.deleteTopics`, but results keep the order of the request.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from broker.authorization.checks import DELETE_CLUSTER, DELETE_TOPIC, DESCRIBE_TOPIC, Check
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.errors import UNKNOWN_PARTITION, UNKNOWN_TOPIC_ID, Refusal
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
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
def find_topics(
    context: RequestContext, cluster: Cluster, requested: Sequence[RequestedTopic]
) -> list[FoundTopic]:
    """Return the topics to delete in request order; refuse duplicates once.

    A client that may not describe a topic does not get to know its name, or whether it exists.
    """
    may_all = is_allowed(context, cluster, DELETE_CLUSTER, is_noted=False)

    def may(check: Check, name: str) -> bool:
        return may_all or is_allowed(context, cluster, check, name)

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
            found.append(_by_name(cluster, topic.name, ids, may))
        else:
            by_id = _by_id(cluster, topic.topic_id, may)
            # A topic given by name and by id is refused at its name.
            if isinstance(by_id.outcome, Refusal) or by_id.name not in names_once:
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


def _by_name(
    cluster: Cluster, name: str, ids: set[UUID], may: Callable[[Check, str], bool]
) -> FoundTopic:
    if not may(DESCRIBE_TOPIC, name):
        return FoundTopic(name, NO_TOPIC_ID, DESCRIBE_TOPIC.refusal)
    topic = cluster.topics.get(name)
    if topic is None:
        return FoundTopic(name, NO_TOPIC_ID, UNKNOWN_PARTITION)
    if not may(DELETE_TOPIC, name):
        return FoundTopic(name, NO_TOPIC_ID, DELETE_TOPIC.refusal)
    if topic.topic_id in ids:
        message = "The provided topic name maps to an ID that was already supplied."
        return FoundTopic(name, topic.topic_id, _invalid_request(message))
    return FoundTopic(name, topic.topic_id, topic)


def _by_id(cluster: Cluster, topic_id: UUID, may: Callable[[Check, str], bool]) -> FoundTopic:
    topic = cluster.topics.get_by_id(topic_id)
    if topic is None:
        return FoundTopic(None, topic_id, UNKNOWN_TOPIC_ID)
    if not may(DELETE_TOPIC, topic.name):
        name = topic.name if may(DESCRIBE_TOPIC, topic.name) else None
        return FoundTopic(name, topic_id, DELETE_TOPIC.refusal)
    return FoundTopic(topic.name, topic_id, topic)


def _malformed(requested: RequestedTopic) -> FoundTopic:
    if requested.name is None:
        message = "Neither topic name nor id were specified."
    else:
        message = "You may not specify both topic name and topic id."
    return FoundTopic(requested.name, requested.topic_id, _invalid_request(message))


def _invalid_request(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, message)
