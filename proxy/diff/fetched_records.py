"""Records that the real cluster has returned, compared with those of our log at the same offsets.

One response to a Fetch has more records than another one, because a producer was faster. So what
counts is not the response, but the records of each range of offsets, once our log has them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from protocol.records import CONTROL_FLAG, LOG_APPEND_TIME_FLAG

WAITING_BYTES_MAX = 64 * 1024 * 1024
"""Ranges that wait for our log have no more bytes together; more are not compared."""

_ABSENT = "absent"

Rows = dict[int, dict[str, Any]]
"""Records by offset."""


@dataclass(slots=True, eq=False)
class FetchedRange:
    """Records that the real cluster has returned for a partition."""

    topic: str
    partition: int
    isolation_level: int
    rows: Rows
    aborted: frozenset[int]
    """The first offsets of aborted transactions, of which records were returned."""
    size_bytes: int
    note: Callable[[str, Any, Any], None]
    """Is called with each difference: field and offset, real value, our value."""
    recorded_end: int
    """Where the offsets begin that were written during the comparison."""
    connection: Any
    """The connection whose rights are those of the reader."""

    @property
    def first_offset(self) -> int:
        """The first offset."""
        return min(self.rows)

    @property
    def end_offset(self) -> int:
        """The offset behind the last one."""
        return max(self.rows) + 1


def rows_of(
    batches: list[dict[str, Any]], first_offset: int, producer_name: Callable[[int, int], Any]
) -> Rows:
    """Return the records from an offset on, with what their batch says of them.

    `producer_name` returns the same for a producer of both clusters, from its id and epoch.
    """
    rows: Rows = {}
    for batch in batches:
        if not isinstance(batch.get("records"), list):
            continue
        attributes = batch["attributes"]
        for record in batch["records"]:
            if record["offset"] < first_offset:
                continue
            fields = {name: value for name, value in record.items() if name != "offset"}
            if attributes & CONTROL_FLAG:
                del fields["value"]  # It has the epoch of the coordinator.
            if attributes & (CONTROL_FLAG | LOG_APPEND_TIME_FLAG):
                del fields["timestamp"]
            fields["is_control"] = bool(attributes & CONTROL_FLAG)
            fields["producer"] = producer_name(batch["producer_id"], batch["producer_epoch"])
            rows[record["offset"]] = fields
    return rows


Read = Callable[[FetchedRange], tuple[Rows, frozenset[int]] | None]
"""Returns the records of a range in our log and the aborted transactions, or None before then."""


class FetchedRanges:
    """The ranges that were not compared yet."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._waiting: dict[tuple[str, int], list[FetchedRange]] = {}
        self._bytes = 0
        self.compared_records = 0
        self.left_out = 0
        """Records that were not compared: our log never had these offsets, or too many waited."""

    def add(self, found: FetchedRange) -> None:
        """Compare a range now, or when our log has it."""
        if self._compare(found):
            return
        if self._bytes + found.size_bytes > WAITING_BYTES_MAX:
            self.left_out += len(found.rows)
            return
        self._bytes += found.size_bytes
        self._waiting.setdefault((found.topic, found.partition), []).append(found)

    def waiting(self) -> list[tuple[str, int]]:
        """Return the partitions of which ranges wait."""
        return list(self._waiting)

    def waiting_row(self, key: tuple[str, int], offset: int | None) -> dict[str, Any] | None:
        """Return the record at an offset of a partition if one of the waiting ranges has it."""
        for found in self._waiting.get(key, ()):
            if offset in found.rows:
                return found.rows[offset]
        return None

    def forget(self, topic: str) -> None:
        """Compare nothing of a topic that is deleted."""
        for key in [key for key in self._waiting if key[0] == topic]:
            for found in self._waiting.pop(key):
                self._bytes -= found.size_bytes
                self.left_out += len(found.rows)

    def grown(self, topic: str, partition: int) -> None:
        """Compare what has waited for records of a partition."""
        self._retry((topic, partition))

    def end(self) -> None:
        """Compare what is left; what our log lacks is a difference."""
        for key in list(self._waiting):
            self._retry(key)
        for waiting in self._waiting.values():
            for found in waiting:
                found.note(f"records[{found.first_offset}]", "records", _ABSENT)
        self._waiting.clear()

    def _retry(self, key: tuple[str, int]) -> None:
        waiting = self._waiting.pop(key, [])
        left = [found for found in waiting if not self._compare(found)]
        self._bytes -= sum(found.size_bytes for found in waiting)
        self._bytes += sum(found.size_bytes for found in left)
        if left:
            self._waiting[key] = left

    def _compare(self, found: FetchedRange) -> bool:
        read = self._read(found)
        if read is None:
            return False
        ours, aborted = read
        for offset in sorted(found.rows | ours):
            # What else our log has at recorded offsets may be that of an aborted transaction.
            is_known = offset >= found.recorded_end or offset in found.rows
            if found.first_offset <= offset < found.end_offset and is_known:
                self.compared_records += 1
                _compare_rows(offset, found.rows.get(offset), ours.get(offset), found.note)
        for offset in sorted(found.aborted ^ aborted):
            if offset < found.end_offset:
                sides = [str(offset in one) for one in (found.aborted, aborted)]
                found.note(f"aborted_transactions[{offset}]", *sides)
        return True


def _compare_rows(
    offset: int,
    real: Mapping[str, Any] | None,
    ours: Mapping[str, Any] | None,
    note: Callable[[str, Any, Any], None],
) -> None:
    if real is None or ours is None:
        note(f"records[{offset}]", real or _ABSENT, ours or _ABSENT)
        return
    for name in {**real, **ours}:
        if real.get(name) != ours.get(name):
            note(f"records[{offset}].{name}", real.get(name), ours.get(name))
