"""The last record of each key of a group, as a coordinator loads them from its log."""

from collections.abc import Iterable
from typing import Any, NamedTuple


class LoadedRecord(NamedTuple):
    """A decoded key and value of `protocol.coordinator_records`."""

    key: Any
    value: Any


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
