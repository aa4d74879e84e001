"""What groups have in common whose coordinator assigns: those of consumers and of Kafka Streams.

Source: Kafka's `ModernGroup`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

from broker.errors import Refusal
from broker.groups.loaded_records import LoadedGroup
from broker.groups.modern_rules import GetModernRules, ModernRules
from broker.groups.offsets import OffsetTable
from broker.groups.requests import CommitRequest, OffsetToCommit
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


class RecordMakers(NamedTuple, Generic[M, T]):
    """What makes the records of a group; each is called with the id of the group first."""

    target_epoch: Callable[[str, int, int], CoordinatorRecord]
    member: Callable[[str, M], CoordinatorRecord]
    current: Callable[[str, M], CoordinatorRecord]
    target: Callable[[str, str, T], CoordinatorRecord]
    tombstones: Callable[[str, str], list[CoordinatorRecord]]


class ModernGroup(ABC, Generic[M, T]):
    """Members, epochs, and the target of each member, of which `nothing` is the empty one.

    Every change that another coordinator would need is added to `unwritten`.
    """

    def __init__(
        self,
        group_id: str,
        nothing: T,
        records: RecordMakers[M, T],
        rules: GetModernRules,
        offsets: OffsetTable | None,
    ) -> None:
        self.group_id = group_id
        self.group_epoch = self.assignment_epoch = rules().first_epoch
        self.assignment_ms = 0
        """When the targets were computed; 0 lets the next ones be computed at once."""
        self.members: dict[str, M] = {}
        self.offsets = OffsetTable() if offsets is None else offsets
        self.has_current_metadata = False
        """Whether no topic of the group has changed since the last epoch."""
        self.unwritten: list[CoordinatorRecord] = []
        self._nothing = nothing
        self._records = records
        self._get_rules = rules
        self._metadata_hash = 0
        self._targets: dict[str, T] = {}
        self._static_ids: dict[str, str] = {}

    @property
    def rules(self) -> ModernRules:
        """What the release says about the group now."""
        return self._get_rules()

    def load(self, loaded: LoadedGroup[M, T]) -> None:
        """Have what the records of the group say, as a new coordinator does (Kafka's `replay`)."""
        self.group_epoch, self._metadata_hash = loaded.group_epoch, loaded.metadata_hash
        self.assignment_epoch, self.assignment_ms = loaded.assignment_epoch, loaded.assignment_ms
        self._targets = dict(loaded.targets)
        for member in loaded.members:
            self.put_member(member)

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

    # Members ---------------------------------------------------------------------------------

    def put_member(self, member: M) -> None:
        """Add a member, or replace the one with its id."""
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self._static_ids[member.group_instance_id] = member.member_id

    def write_member(self, member: M) -> None:
        """Put a member whose description of itself has changed."""
        self.put_member(member)
        self.unwritten.append(self._records.member(self.group_id, member))

    def write_assignment(self, member: M) -> None:
        """Put a member whose epoch has changed, or what it has."""
        self.put_member(member)
        self.unwritten.append(self._records.current(self.group_id, member))

    def remove_member(self, member_id: str) -> M:
        """Remove a member and its target; what it had is free. The epoch stays."""
        member = self.members.pop(member_id)
        instance_id = member.group_instance_id or ""
        if self._static_ids.get(instance_id) == member_id:
            del self._static_ids[instance_id]
        self._targets.pop(member_id, None)
        self.unwritten += self._records.tombstones(self.group_id, member_id)
        return member

    def replace_static_member(self, old: M, new: M) -> None:
        """Give the instance and the target of a member, and what it has, to a new member id."""
        target = self.target_of(old.member_id)
        self.remove_member(old.member_id)
        self.write_member(new)
        self._targets[new.member_id] = target
        self.unwritten.append(self._records.target(self.group_id, new.member_id, target))
        self.unwritten.append(self._records.current(self.group_id, new))

    def _set_targets(self, targets: Mapping[str, T]) -> None:
        """Set the target of each member; one that is missing in `targets` gets nothing."""
        for member_id in self.members:
            target = targets.get(member_id, self._nothing)
            if self._targets.get(member_id) != target:
                self._targets[member_id] = target
                self.unwritten.append(self._records.target(self.group_id, member_id, target))

    def may_assign(self, interval_ms: int, now_ms: int) -> bool:
        """Return whether targets have to be computed, and may be now."""
        return self.group_epoch > self.assignment_epoch and self.rules.may_assign(
            self.assignment_ms, interval_ms, now_ms
        )

    def _note_targets(self, now_ms: int) -> None:
        """Note that the targets are those of the group's epoch, computed now."""
        self.assignment_epoch, self.assignment_ms = self.group_epoch, now_ms
        written_ms = now_ms if self.rules.has_assignment_interval else 0
        self.unwritten.append(
            self._records.target_epoch(self.group_id, self.assignment_epoch, written_ms)
        )

    def forget_empty_interval(self) -> None:
        """Let the next member get its target at once: nobody is left who would wait for others."""
        if not self.members and self.rules.forgets_empty_interval:
            self._note_targets(0)

    # Committed offsets -------------------------------------------------------------------------

    def check_commit(self, request: CommitRequest, *, is_transactional: bool) -> ErrorCode:
        """Return NONE, or why a member may not commit offsets."""
        is_member = bool(request.member_id) or request.group_instance_id is not None
        if request.generation_id < 0 and (not self.members or (is_transactional and not is_member)):
            return ErrorCode.NONE
        member = self.members.get(request.member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        knows_epochs = request.knows_missing_groups or is_transactional
        if not knows_epochs and not self._is_classic(member):
            return ErrorCode.UNSUPPORTED_VERSION
        if self._may_commit_late(member, request):
            return ErrorCode.NONE
        error_code = self._check_epoch(member, request.generation_id)
        if error_code is ErrorCode.STALE_MEMBER_EPOCH and not request.knows_missing_groups:
            return ErrorCode.ILLEGAL_GENERATION
        return error_code

    def check_fetch(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Return NONE, or why a member may not fetch committed offsets."""
        if member_id is None and member_epoch < 0:
            return ErrorCode.NONE  # an administrator
        member = self.members.get(member_id or "")
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return self._check_epoch(member, member_epoch)

    def _may_commit_late(self, member: M, request: CommitRequest) -> bool:
        """Whether a member has each partition since the epoch of its commit, or an older one."""
        received = request.generation_id
        if received >= member.member_epoch:
            return False
        epochs = (self._partition_epoch(member, offset) for offset in request.offsets)
        return all(epoch is not None and epoch <= received for epoch in epochs)

    @abstractmethod
    def _is_classic(self, member: M) -> bool:
        """Return whether a member uses the classic protocol, and commits with its generation."""

    @abstractmethod
    def _partition_epoch(self, member: M, offset: OffsetToCommit) -> int | None:
        """Return the epoch since which a member may commit an offset, or None if it may not."""

    @abstractmethod
    def _check_epoch(self, member: M, member_epoch: int) -> ErrorCode:
        """Return NONE, or the error of an epoch that is not that of a member."""


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


def group_not_found(message: str) -> Refusal:
    """Return the refusal of a request to a group that does not exist, or has another type."""
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, message)
