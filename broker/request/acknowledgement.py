"""One batch that a Produce response acknowledges, and one that a rule changes, for the audit."""

from typing import NamedTuple
from uuid import UUID

DUPLICATE_BATCH = "duplicate_batch"
FLIP_BYTE = "flip_byte"
DROP_RECORD = "drop_record"
REVERSE_RECORDS = "reverse_records"
REPLACE_SCHEMA_ID = "replace_schema_id"
SWAP_BATCHES = "swap_batches"
FETCH_CHANGES = (DUPLICATE_BATCH, FLIP_BYTE, DROP_RECORD, REVERSE_RECORDS, REPLACE_SCHEMA_ID)
"""The changes that a response to Fetch can have, while the log stays right."""
SCHEMA_ID = (1 << 31) - 1
"""The schema id that `replace_schema_id` writes by default."""


class Acknowledgement(NamedTuple):
    """One batch that a response acknowledged; the field names are the batch header's.

    `base_offset` is -1 for a duplicate whose offset is no longer known. `crc` and `max_timestamp`
    are those of the request: a topic with LogAppendTime stores others.
    """

    topic_id: UUID
    topic: str
    partition: int
    is_append: bool
    """False for a duplicate, which was appended by an earlier request."""
    base_offset: int
    crc: int
    max_timestamp: int
    records_count: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    connection_id: int
    client_id: str | None
    time_ms: int


class RecordChange(NamedTuple):
    """A batch that a log does not store as its producer has sent it; names as in its header.

    `base_offset` is where the batch is now; -1 while the log does not have it.
    `acknowledged_offset` is the base offset that its producer got.
    """

    topic_id: UUID
    topic: str
    partition: int
    rule_id: int
    change: str
    """The value of `change_records`."""
    base_offset: int
    acknowledged_offset: int
    records_count: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
