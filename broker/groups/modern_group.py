"""What groups have in common whose coordinator assigns: those of consumers and of Kafka Streams.

Source: Kafka's `ModernGroup`.
"""

from typing import Generic, Protocol, TypeVar

from broker.errors import Refusal
from broker.groups.offsets import OffsetTable
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode


class ModernMember(Protocol):
    """A member with an id, an epoch and perhaps a static instance."""

    @property
    def member_id(self) -> str:
        """The id, which a member keeps until it leaves."""
        ...

    @property
    def member_epoch(self) -> int:
        """The epoch of what it has."""
        ...

    @property
    def group_instance_id(self) -> str | None:
        """The name that a static member has for ever."""
        ...


M = TypeVar("M", bound=ModernMember)
T = TypeVar("T")


class ModernGroup(Generic[M, T]):
    """Members, epochs, and the target of each member, of which `nothing` is the empty one."""

    def __init__(
        self, group_id: str, nothing: T, *, first_epoch: int, offsets: OffsetTable | None
    ) -> None:
        self.group_id = group_id
        self.group_epoch = self.assignment_epoch = first_epoch
        self.members: dict[str, M] = {}
        self.offsets = OffsetTable() if offsets is None else offsets
        self.has_current_metadata = False
        """Whether no topic of the group has changed since the last epoch."""
        self.unwritten: list[CoordinatorRecord] = []
        self._nothing = nothing
        self._metadata_hash = 0
        self._targets: dict[str, T] = {}
        self._static_ids: dict[str, str] = {}

    def take_records(self) -> list[CoordinatorRecord]:
        """Return the records of all changes since the last call."""
        records, self.unwritten = self.unwritten, []
        return records

    def static_member(self, group_instance_id: str) -> M | None:
        """Return the member with an instance id, or None."""
        member_id = self._static_ids.get(group_instance_id)
        return None if member_id is None else self.members[member_id]

    def target_of(self, member_id: str) -> T:
        """Return the target assignment of a member."""
        return self._targets.get(member_id, self._nothing)

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not self.members

    def _put(self, member: M) -> None:
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self._static_ids[member.group_instance_id] = member.member_id

    def _take(self, member_id: str) -> M:
        """Remove a member and its target, and return it."""
        member = self.members.pop(member_id)
        instance_id = member.group_instance_id or ""
        if self._static_ids.get(instance_id) == member_id:
            del self._static_ids[instance_id]
        self._targets.pop(member_id, None)
        return member


def check_instance(group: ModernGroup[M, T], instance_id: str, member_id: str) -> Refusal | None:
    """Return why a request of a static member is refused, or None if it is the current one."""
    current = group.static_member(instance_id)
    if current is None:
        return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if current.member_id != member_id:
        return Refusal(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member"
            f" {current.member_id}.",
        )
    return None


def unreleased_instance(current: ModernMember, instance_id: str, member_id: str) -> Refusal:
    """Return the refusal of a static member that joins before the current one has left."""
    return Refusal(
        ErrorCode.UNRELEASED_INSTANCE_ID,
        f"Static member {member_id} with instance id {instance_id} cannot join the"
        f" group because the instance id is owned by {current.member_id} member.",
    )


def unknown_member(group: ModernGroup[M, T], member_id: str) -> Refusal:
    """Return the refusal of a request of somebody who is no member."""
    return Refusal(
        ErrorCode.UNKNOWN_MEMBER_ID,
        f"Member {member_id} is not a member of group {group.group_id}.",
    )
