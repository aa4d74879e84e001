"""The last record of each key of a group, as a coordinator loads them from its log."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from protocol import coordinator_records as schema

M = TypeVar("M")
T = TypeVar("T")


class LoadedRecord(NamedTuple):
    """A decoded key and value of `protocol.coordinator_records`."""

    key: Any
    value: Any


@dataclass(frozen=True, slots=True)
class LoadedGroup(Generic[M, T]):
    """What the records of a group say, with the target of each member that has one."""

    group_epoch: int
    metadata_hash: int
    assignment_epoch: int
    assignment_ms: int
    members: Sequence[M]
    targets: Mapping[str, T]


class LoadedRecords:
    """The records of one group; none of them deletes its key."""

    def __init__(self, records: Iterable[LoadedRecord]) -> None:
        self._by_class: dict[Any, list[LoadedRecord]] = {}
        for record in records:
            self._by_class.setdefault(type(record.key), []).append(record)

    def has_any(self, *key_classes: Any) -> bool:
        """Return whether there is a record with a key of one of these classes."""
        return any(key_class in self._by_class for key_class in key_classes)

    def value(self, key_class: Any) -> Any:
        """Return the value of the only key of a class, or None."""
        found = self._by_class.get(key_class)
        return None if found is None else found[-1].value

    def by_member(self, key_class: Any) -> dict[str, Any]:
        """Return the values of a class whose keys name a member, by member id."""
        return {record.key.member_id: record.value for record in self.all(key_class)}

    def all(self, key_class: Any) -> list[LoadedRecord]:
        """Return the records with a key of this class, in the order of the log."""
        return self._by_class.get(key_class, [])

    def modern_group(
        self,
        kind: str,
        first_epoch: int,
        member_of: Callable[[str, Any, Any], M],
        target_of: Callable[[Any], T],
    ) -> LoadedGroup[M, T]:
        """Return a group whose coordinator assigns, of the kind `Consumer`, `Share` or `Streams`.

        Args:
            kind: how the names of its records start.
            first_epoch: the epoch of a group without a record of it.
            member_of: makes a member of its id, its description, and what it has or None.
            target_of: makes a target assignment of a record.
        """
        described, current, targets = (
            self.by_member(getattr(schema, f"{kind}Group{name}Key"))
            for name in ("MemberMetadata", "CurrentMemberAssignment", "TargetAssignmentMember")
        )
        epoch, target_epoch = (
            self.value(getattr(schema, f"{kind}Group{name}Key"))
            for name in ("Metadata", "TargetAssignmentMetadata")
        )
        return LoadedGroup(
            group_epoch=first_epoch if epoch is None else epoch.epoch,
            metadata_hash=0 if epoch is None else epoch.metadata_hash,
            assignment_epoch=(
                first_epoch if target_epoch is None else target_epoch.assignment_epoch
            ),
            assignment_ms=0 if target_epoch is None else target_epoch.assignment_timestamp,
            members=[
                member_of(member_id, value, current.get(member_id))
                for member_id, value in described.items()
            ],
            targets={member_id: target_of(value) for member_id, value in targets.items()},
        )


def partition_epochs(entry: Any, default_epoch: int) -> dict[int, int]:
    """Return the epoch of each partition of an entry of what a member owns.

    Older records have none, and as many as partitions are needed: else it is the default. Kafka's
    `Utils.assignmentFromTopicPartitions` and `TasksTupleWithEpochs`.
    """
    partitions, epochs = entry.partitions, entry.assignment_epochs or ()
    if len(epochs) != len(partitions):
        return dict.fromkeys(partitions, default_epoch)
    return dict(zip(partitions, epochs, strict=True))
