"""When a committed offset expires (KIP-211)."""

from broker.groups.consumer.group import ConsumerGroup
from broker.groups.group import Group
from broker.groups.results import CommittedOffset, GroupState

_DEFAULT_RETENTION_MS = -1
"""Retention time of a commit that leaves it to the configuration."""


def is_expired(
    group: Group | ConsumerGroup,
    topic_name: str,
    committed: CommittedOffset,
    retention_ms: int,
    now_ms: int,
) -> bool:
    """Return whether an offset is past its retention (`ClassicGroup.offsetExpirationCondition`).

    Retention counts from the time at which the group lost its last member. If it never had one,
    and for topics that a stable group no longer subscribes to, it counts from the commit.
    """
    if isinstance(group, ConsumerGroup):
        return group.is_expired(topic_name, committed, retention_ms, now_ms)
    if group.protocol_type is None:
        since_ms = committed.committed_ms
    elif group.state is GroupState.EMPTY:
        since_ms = group.state_since_ms
    elif (
        group.state is GroupState.STABLE
        and group.subscribed_topics is not None
        and topic_name not in group.subscribed_topics
    ):
        since_ms = committed.committed_ms
    else:
        return False
    if committed.expires_ms is not None:
        return now_ms >= committed.expires_ms
    return now_ms - since_ms >= retention_ms


def expires_ms_of(retention_ms: int, now_ms: int) -> int | None:
    """Return when committed offsets expire; None if the configuration decides.

    Kafka adds two Java longs (`OffsetMetadataManager.expireTimestampMs`): beyond the largest one
    the sum is negative, and the offsets expire at once.
    """
    if retention_ms == _DEFAULT_RETENTION_MS:
        return None
    return (now_ms + retention_ms + (1 << 63)) % (1 << 64) - (1 << 63)
