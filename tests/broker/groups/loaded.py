"""What a coordinator loads from records that tests have written."""

from collections.abc import Iterable

from broker.groups.loaded_records import LoadedRecord, LoadedRecords
from protocol.coordinator_records import (
    GROUP_RECORDS,
    CoordinatorRecord,
    decode_key,
    decode_value,
)


def loaded_records(written: Iterable[CoordinatorRecord]) -> LoadedRecords:
    """Return the last record of each key of one group that was not deleted."""
    last: dict[bytes, bytes | None] = {}
    for key, value in written:
        last.pop(key, None)
        last[key] = value
    return LoadedRecords(
        LoadedRecord(
            decoded := decode_key(GROUP_RECORDS, key), decode_value(GROUP_RECORDS, decoded, value)
        )
        for key, value in last.items()
        if value is not None
    )
