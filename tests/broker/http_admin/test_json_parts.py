"""JSON in parts is the JSON of the whole, and no part is long."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.http_admin import json_parts as module
from broker.http_admin.json_parts import PART_BYTES, encoded_elements, json_parts
from broker.http_admin.operation import encode_result
from broker.http_admin.snapshot_document import (
    LONG_PARTS,
    SavedOffset,
    SavedPartition,
    SavedRecord,
    SavedTopic,
    Snapshot,
)
from tests.protocol.counting_turn import pauses_of

TEXTS = st.text(max_size=4)
RECORDS = st.builds(SavedRecord, offset=st.none() | st.integers(0, 9), value=st.none() | TEXTS)
PARTITIONS = st.builds(
    SavedPartition,
    replicas=st.lists(st.integers(0, 3), max_size=3),
    log_start_offset=st.integers(0, 2),
    log_end_offset=st.none() | st.integers(0, 2),
    records=st.lists(RECORDS, max_size=4),
)
TOPICS = st.builds(
    SavedTopic,
    name=TEXTS,
    partitions=st.lists(PARTITIONS, max_size=3),
    config=st.dictionaries(TEXTS, TEXTS, max_size=2),
)
OFFSETS = st.builds(SavedOffset, TEXTS, TEXTS, st.integers(0, 9), st.integers(0, 9))
SNAPSHOTS = st.builds(
    Snapshot, topics=st.lists(TOPICS, max_size=3), offsets=st.lists(OFFSETS, max_size=3)
)
RESULTS = (
    SNAPSHOTS
    | st.lists(st.integers() | TEXTS | RECORDS, max_size=5)
    | st.dictionaries(TEXTS, st.lists(TEXTS, max_size=3), max_size=3)
    | st.none()
)


@given(RESULTS, st.integers(1, 50))
def test_the_parts_together_are_the_result_in_one_go(result: Any, part_bytes: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PART_BYTES", part_bytes)
        parts = json_parts(result, LONG_PARTS)
    assert b"".join(parts) == encode_result(result)
    assert all(len(part) >= part_bytes for part in parts[:-1])


@given(st.lists(RECORDS, max_size=9), st.integers(1, 50))
def test_encoded_elements_are_encoded_as_the_elements(
    records: list[SavedRecord], part_bytes: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PART_BYTES", part_bytes)
        assert encode_result(encoded_elements(records)) == encode_result(records)


def test_no_part_of_a_long_result_is_much_longer_than_the_bound() -> None:
    record = SavedRecord(value="x" * 1000)
    partition = SavedPartition(records=[record] * 200)
    topics = [SavedTopic("a", [partition] * 3), SavedTopic("b", [partition])]
    parts = json_parts(Snapshot(topics=topics), LONG_PARTS)
    assert max(map(len, parts)) < PART_BYTES + 1100
    assert sum(map(len, parts)) > 800_000


def test_other_requests_may_come_between_two_elements() -> None:
    records = [SavedRecord()] * 5
    assert pauses_of(lambda: json_parts(records)) == 5
    partitions = [SavedPartition(records=records)] * 2
    snapshot = Snapshot(topics=[SavedTopic("a", partitions)])
    assert pauses_of(lambda: json_parts(snapshot, LONG_PARTS)) == 1 + 2 + 10 + 0
    assert pauses_of(lambda: json_parts(msgspec.Raw(b"[1,2]"))) == 0
