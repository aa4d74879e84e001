"""Requests to a group as plain values. Times are durations in ms; ids are as sent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

Subscriptions = Mapping[str, frozenset[str] | None]
"""The topics that a consumer subscribes to, by protocol."""

UNKNOWN_MEMBER = ""
"""Member id of a client that has none yet (Kafka's `UNKNOWN_MEMBER_ID`)."""


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """One JoinGroup.

    `protocols` maps a protocol's name to the member's metadata, preferred protocols first.
    `must_know_id` is true in versions that join in two steps (KIP-394), `can_skip_assignment` in
    those that have the field `skip_assignment` (KIP-814). `subscriptions` has the topics of those
    protocols whose metadata is long, None for invalid metadata.
    """

    group_id: str
    member_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Mapping[str, bytes]
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    must_know_id: bool = False
    can_skip_assignment: bool = False
    subscriptions: Subscriptions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """One SyncGroup; only the leader's has assignments, by member id.

    The protocol's type and name are None in versions without these fields.
    """

    group_id: str
    member_id: str
    generation_id: int
    assignments: Mapping[str, bytes]
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None


@dataclass(frozen=True, slots=True)
class MemberIdentity:
    """A leaving member: by member id, by static instance id, or both."""

    member_id: str
    group_instance_id: str | None = None


class OffsetToCommit(NamedTuple):
    """One partition's offset; a leader epoch of -1 is unknown, metadata of None is empty."""

    topic_name: str
    partition_index: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = None
    topic_id: UUID | None = None


new_offset: Callable[[Any], OffsetToCommit] = partial(tuple.__new__, OffsetToCommit)
"""Make an offset from all its fields, in less time than the class takes."""


class CommitRequest(NamedTuple):
    """One OffsetCommit, of a member or (generation -1) of a consumer without a group.

    With a `retention_ms` of -1 the broker's configuration decides.
    """

    group_id: str
    offsets: Sequence[OffsetToCommit]
    generation_id: int = -1
    member_id: str = UNKNOWN_MEMBER
    group_instance_id: str | None = None
    retention_ms: int = -1
    knows_missing_groups: bool = True
    """Whether the version allows GROUP_ID_NOT_FOUND (OffsetCommit v9+, TxnOffsetCommit v6+).

    It then allows STALE_MEMBER_EPOCH, too.
    """


new_commit: Callable[[Any], CommitRequest] = partial(tuple.__new__, CommitRequest)
"""Make a commit from all its fields, in less time than the class takes."""
