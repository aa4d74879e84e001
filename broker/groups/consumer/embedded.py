"""The subscriptions and assignments that members of the classic protocol send and get.

Source: Kafka's `ConsumerProtocol`.
"""

from dataclasses import dataclass

from broker.groups.consumer.assignment import NO_PARTITIONS, Assignment, assignment_of
from broker.groups.consumer.topics import TopicSource
from protocol import data_messages
from protocol.codec import DecodeError
from protocol.data_messages import decode_data, encode_data, read_prefix

VERSION_MAX = 3
"""The newest version of both; a member with a later one gets this."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member subscribes to, and the partitions that it still reads."""

    topic_names: frozenset[str]
    owned_partitions: Assignment
    rack_id: str | None


def decode_subscription(data: bytes, topics: TopicSource) -> Subscription:
    """Return a subscription; topics that do not exist are left out of what is owned.

    Raises:
        DecodeError: the bytes are no subscription.
    """
    decoded = decode_data(data_messages.ConsumerProtocolSubscription, data)
    return Subscription(
        frozenset(decoded.topics),
        _by_id(decoded.owned_partitions or (), topics),
        decoded.rack_id,
    )


def decode_assignment(data: bytes, topics: TopicSource) -> Assignment:
    """Return an assignment without topics that do not exist; empty bytes are empty.

    Raises:
        DecodeError: the bytes are no assignment.
        CustomAssignorError: it has data that only the assignor of the client understands.
    """
    if not data:
        return NO_PARTITIONS
    decoded = decode_data(data_messages.ConsumerProtocolAssignment, data)
    if decoded.user_data:
        raise CustomAssignorError
    return _by_id(decoded.assigned_partitions, topics)


class CustomAssignorError(Exception):
    """An assignment has data of a custom assignor."""


def encode_assignment(assignment: Assignment, subscription: bytes, topics: TopicSource) -> bytes:
    """Return an assignment in the version of a member's subscription."""
    entry_class = data_messages.ConsumerProtocolAssignment.TopicPartition
    named = ((topics.name_of(topic_id), indexes) for topic_id, indexes in assignment.items())
    value = data_messages.ConsumerProtocolAssignment(
        assigned_partitions=[
            entry_class(topic=name, partitions=sorted(indexes))
            for name, indexes in named
            if name is not None
        ],
        user_data=None,
    )
    return encode_data(value, min(_version(subscription), VERSION_MAX))


def _version(subscription: bytes) -> int:
    try:
        return max(read_prefix(subscription), 0)
    except DecodeError:
        return 0


def _by_id(entries: object, topics: TopicSource) -> Assignment:
    return assignment_of(
        (topic.topic_id, entry.partitions)
        for entry in entries  # type: ignore[attr-defined]
        if (topic := topics.get(entry.topic)) is not None
    )
