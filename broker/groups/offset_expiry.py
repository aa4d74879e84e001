"""When a committed offset expires (KIP-211)."""

from broker.groups.any_group import AnyGroup
from broker.groups.group import Group
from broker.groups.results import CommittedOffset, GroupState

_DEFAULT_RETENTION_MS = -1
"""Retention time of a commit that leaves it to the configuration."""


def expiry_ms(
    group: AnyGroup, topic_name: str, committed: CommittedOffset, retention_ms: int
) -> int | None:
    """Return when an offset is past its retention (`ClassicGroup.offsetExpirationCondition`).

    None if it stays as long as the group is as it is. Retention counts from the time at which the
    group lost its last member. If it never had one, and for topics that a stable group no longer
    subscribes to, it counts from the commit.
    """
    if not isinstance(group, Group):
        # The offsets of topics that the group subscribes to stay.
        since_ms = None if group.is_subscribed_to(topic_name) else committed.committed_ms
    elif group.protocol_type is None:
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
        since_ms = None
    if since_ms is None:
        return None
    return since_ms + retention_ms if committed.expires_ms is None else committed.expires_ms


def expires_ms_of(retention_ms: int, now_ms: int) -> int | None:
    """Return when committed offsets expire; None if the configuration decides.

    Kafka adds two Java longs (`OffsetMetadataManager.expireTimestampMs`): beyond the largest one
    the sum is negative, and the offsets expire at once.
    """
    if retention_ms == _DEFAULT_RETENTION_MS:
        return None
    return (now_ms + retention_ms + (1 << 63)) % (1 << 64) - (1 << 63)
