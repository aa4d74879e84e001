"""A batch with other records and a valid CRC: bytes in, bytes out.

The offsets, the producer id and the sequence numbers of a batch stay. One that loses a record keeps
its last offset, as compaction leaves it (Kafka's `MemoryRecords.filterTo`).
"""

from collections.abc import Callable, Generator
from struct import Struct

from broker.cluster.batch_filter import emptied, rewritten
from broker.faults.actions import ChangeRecords
from broker.faults.response_bytes import fraction
from broker.request.acknowledgement import (
    DROP_RECORD,
    DUPLICATE_BATCH,
    FLIP_BYTE,
    REPLACE_SCHEMA_ID,
    REVERSE_RECORDS,
    SCHEMA_ID,
)
from protocol.records import CONTROL_FLAG, Record, read_header, read_records

_SCHEMA_ID = Struct(">bi")
_MAGIC_BYTE = 0
"""The first byte of a value with a schema id, in the format of schema registries."""

Choice = Callable[[str], float]
"""Returns a number from 0 to below 1 for a purpose, the same each time."""


class UnchangeableError(ValueError):
    """The batch cannot be changed like this; the message says why."""


def choice_of(seed: int, number: int) -> Choice:
    """Return the random choices of a rule that fires for the `number`th time."""
    return lambda purpose: fraction(seed, number, purpose)


def changed_batch(batch: bytes, action: ChangeRecords, choice: Choice) -> bytes:
    """Return the bytes in place of a batch: another batch, or two with `DUPLICATE_BATCH`.

    Raises:
        UnchangeableError: no record of the batch can be changed like this.
    """
    if read_header(batch, 0).attributes & CONTROL_FLAG:
        raise UnchangeableError("a marker of a transaction")
    if action.change_records == DUPLICATE_BATCH:
        return batch + batch
    try:
        records = list(read_records(batch))
    except ValueError as error:
        raise UnchangeableError(str(error)) from error
    changed = _changed(records, action, choice)
    return _result_of(rewritten(batch, changed)) if changed else emptied(batch)


def _changed(records: list[Record], action: ChangeRecords, choice: Choice) -> list[Record]:
    change = action.change_records
    if change == REVERSE_RECORDS:
        if len(records) < 2:
            raise UnchangeableError("it has fewer than two records")
        return [
            record._replace(offset=place.offset)
            for record, place in zip(reversed(records), records, strict=True)
        ]
    if change == DROP_RECORD:
        index = _one_of(range(len(records)), action, choice)
        return records[:index] + records[index + 1 :]
    if change == FLIP_BYTE:
        index = _one_of([n for n, one in enumerate(records) if one.value], action, choice)
        records[index] = _flipped(records[index], choice)
        return records
    assert change == REPLACE_SCHEMA_ID
    return _with_schema_id(records, action, choice)


def _one_of(indexes: "range | list[int]", action: ChangeRecords, choice: Choice) -> int:
    """Return the index of the record to change, out of those that can be changed."""
    index = action.record_index
    if index is None and indexes:
        return indexes[int(choice("record") * len(indexes))]
    if index is None or index not in indexes:
        which = "no record" if index is None else f"no record {index}"
        raise UnchangeableError(f"it has {which} that can be changed")
    return index


def _flipped(record: Record, choice: Choice) -> Record:
    value = bytearray(record.value or b"")
    value[int(choice("place") * len(value))] ^= 1 + int(choice("byte") * 255)
    return record._replace(value=bytes(value))


def _with_schema_id(records: list[Record], action: ChangeRecords, choice: Choice) -> list[Record]:
    indexes = [n for n, record in enumerate(records) if _has_schema_id(record)]
    if action.record_index is not None or not indexes:
        indexes = [_one_of(indexes, action, choice)]
    schema_id = SCHEMA_ID if action.schema_id is None else action.schema_id
    beginning = _SCHEMA_ID.pack(_MAGIC_BYTE, schema_id)
    for index in indexes:
        value = records[index].value or b""
        records[index] = records[index]._replace(value=beginning + value[len(beginning) :])
    return records


def _has_schema_id(record: Record) -> bool:
    value = record.value or b""
    return len(value) >= _SCHEMA_ID.size and value[0] == _MAGIC_BYTE


def _result_of(steps: Generator[None, None, bytes]) -> bytes:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: bytes = end.value
            return result
