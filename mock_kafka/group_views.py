"""Groups of all types with their members, as the methods of a cluster return them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

TopicPartitions = tuple[tuple[str, int], ...]
"""Topics with partition numbers."""

GroupType = Literal["classic", "consumer", "share", "streams"]


@dataclass(frozen=True, slots=True)
class ShareSession:
    """A share session of a member with a broker; its next request must have this epoch.

    `partitions` is the number of partitions in it.
    """

    broker: int
    epoch: int
    partitions: int


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member of a group.

    `protocol` is the one that it uses, which may be classic in a consumer group during an upgrade.
    In the classic protocol `member_epoch`, `state` and `target` are None. `state` is stable,
    unrevoked_partitions or unreleased_partitions; of Kafka Streams unrevoked_tasks or
    unreleased_tasks. `assigned` is what it may read, `revoking` what it has to give up, `target`
    what it shall have in the end; of Kafka Streams it is what its active tasks read. In a classic
    group `assigned` and `subscribed_topics` are there while it is stable, and None if its members
    are no consumers.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    protocol: GroupType
    rack_id: str | None
    subscribed_topics: tuple[str, ...] | None
    subscribed_regex: str | None
    member_epoch: int | None
    state: str | None
    assigned: TopicPartitions | None
    revoking: TopicPartitions | None
    target: TopicPartitions | None
    sessions: tuple[ShareSession, ...]


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """A committed offset; `lag` is None if the partition does not exist."""

    topic: str
    partition: int
    offset: int
    lag: int | None
    metadata: str


@dataclass(frozen=True, slots=True)
class InFlightRecords:
    """Consecutive records with the same state, up to `last_offset`.

    `state` is available, acquired, acknowledged, archiving or archived. Only acquired records have
    a member and a lock that expires, in ms of the cluster's clock.
    """

    first_offset: int
    last_offset: int
    state: str
    delivery_count: int
    member_id: str | None
    lock_expires_ms: int | None


@dataclass(frozen=True, slots=True)
class SharePartition:
    """A partition in a share group.

    Records before `start_offset` are done; it is None until the first fetch has chosen it, and so
    is `lag`: the number of records up to the high watermark that are not done yet. `in_flight` has
    the records from the start up to the last one that was ever acquired. `in_flight_records` and
    `acquired_records` are counts.
    """

    topic: str
    partition: int
    start_offset: int | None
    state_epoch: int
    lag: int | None
    in_flight_records: int
    acquired_records: int
    in_flight: tuple[InFlightRecords, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A group of any type.

    `state` is Kafka's name, such as Stable or PreparingRebalance. `protocol_name` is the assignor.
    A classic group has a `generation_id`, others have epochs. `coordinator` is None while its
    partition of `__consumer_offsets` has no leader. `is_assigned_manually`: the target assignment
    was set by `assign`. A share group has `share_partitions` instead of `offsets`.
    """

    group_id: str
    group_type: GroupType
    state: str
    protocol_type: str
    protocol_name: str
    coordinator: int | None
    generation_id: int | None
    group_epoch: int | None
    assignment_epoch: int | None
    is_assigned_manually: bool
    members: tuple[GroupMember, ...]
    offsets: tuple[GroupOffset, ...]
    share_partitions: tuple[SharePartition, ...]

    def member(self, name: str) -> GroupMember:
        """Return the member with this member id, group instance id or client id.

        Raises:
            LookupError: there is none, or several have this client id.
        """
        found = [
            member
            for member in self.members
            if name in {member.member_id, member.group_instance_id, member.client_id}
        ]
        if len(found) == 1:
            return found[0]
        known = ", ".join(f"{member.member_id} ({member.client_id})" for member in self.members)
        count = "no member" if not found else f"{len(found)} members"
        raise LookupError(f"group {self.group_id!r} has {count} {name!r}; it has {known or 'none'}")


def group_of(data: Mapping[str, Any]) -> Group:
    """Return a group from the admin port's JSON."""
    return Group(
        **{
            **data,
            "members": tuple(map(_member_of, data["members"])),
            "offsets": tuple(GroupOffset(**offset) for offset in data["offsets"]),
            "share_partitions": tuple(map(_share_partition_of, data["share_partitions"])),
        }
    )


def _member_of(data: Mapping[str, Any]) -> GroupMember:
    topics = data["subscribed_topics"]
    partitions = {name: _partitions_of(data[name]) for name in ("assigned", "revoking", "target")}
    return GroupMember(
        **{
            **data,
            **partitions,
            "subscribed_topics": None if topics is None else tuple(topics),
            "sessions": tuple(ShareSession(**session) for session in data["sessions"]),
        }
    )


def _partitions_of(entries: list[Mapping[str, Any]] | None) -> TopicPartitions | None:
    if entries is None:
        return None
    return tuple(
        sorted((entry["topic"], index) for entry in entries for index in entry["partitions"])
    )


def _share_partition_of(data: Mapping[str, Any]) -> SharePartition:
    in_flight = tuple(InFlightRecords(**batch) for batch in data["in_flight"])
    return SharePartition(**{**data, "in_flight": in_flight})
