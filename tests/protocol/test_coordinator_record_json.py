"""Records of coordinators are the same after a detour through JSON."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from protocol import coordinator_records as schema
from protocol.coordinator_record_json import RecordAsJson, record_as_json, record_of_json
from protocol.coordinator_records import (
    GROUP_RECORDS,
    SHARE_RECORDS,
    TRANSACTION_RECORDS,
    encode_key,
)
from protocol.data_messages import encode_data
from protocol.message_schema import schema_of

SOME: dict[str, Any] = {
    "int8": 1,
    "int16": 2,
    "int32": -3,
    "int64": 2**62,
    "uint16": 65_535,
    "string": "text é",
    "bytes": b"\xff\x00",
}


def filled(message_class: Any, version: int, *, nulls: bool) -> Any:
    """Return a message with a value in every field, or null wherever it may be."""
    values = {}
    for field in schema_of(message_class).fields.values():
        if field.for_version_q(version):
            is_null = nulls and field.nullable_for_version_q(version) and field.tag is None
            values[field.name] = None if is_null else some(field, version, nulls=nulls)
    return message_class(version=version, **values)


def some(field: Any, version: int, *, nulls: bool) -> Any:
    if field.is_struct_array():
        return [filled(field.array_of.data_class, version, nulls=nulls)] * 2
    if field.is_array():
        return [some(field.array_of, version, nulls=nulls)] * 2
    if field.is_struct():
        return filled(field.data_class, version, nulls=nulls)
    return UUID(int=7) if field.type_str == "uuid" else SOME[field.type_str]


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("records", [GROUP_RECORDS, TRANSACTION_RECORDS, SHARE_RECORDS])
def test_a_record_of_every_type_and_version_is_the_same_after_json(
    records: Any, nulls: bool
) -> None:
    count = 0
    for key_class, value_class in records.values():
        key = encode_key(filled(key_class, 0, nulls=False))
        low, high = value_class.valid_versions
        for version in range(low, high + 1):
            value = encode_data(filled(value_class, version, nulls=nulls), version)
            described = record_as_json(records, key, value)
            again = RecordAsJson(*json.loads(json.dumps(described)))
            assert record_of_json(records, again) == (key, value), described.type
            count += 1
    assert count >= len(records)


KEY = {"group": "g"}
VALUE = record_as_json(
    GROUP_RECORDS,
    encode_key(schema.GroupMetadataKey(group="g")),
    encode_data(filled(schema.GroupMetadataValue, 3, nulls=False), 3),
)


def changed(change: Callable[[Any], None], **fields: Any) -> RecordAsJson:
    described = RecordAsJson(*json.loads(json.dumps(VALUE)))._replace(**fields)
    change(described)
    return described


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        (changed(lambda _: None, type="Nothing"), "no records of the type 'Nothing'"),
        (changed(lambda _: None, version=9), "has versions 0 to 4, not 9"),
        (changed(lambda _: None, key={"group_id": "g"}), "key: unknown field 'group_id'"),
        (changed(lambda _: None, key={"group": 1}), "key.group: 1 is no string"),
        (changed(lambda _: None, key={"group": None}), "group is missing or null"),
        (changed(lambda d: d.value.update(members=1)), "value.members: it is no list"),
        (changed(lambda d: d.value.update(members=[1])), r"value.members\[0\]: it is no object"),
        (changed(lambda d: d.value.update(generation=2**31)), "is no int32"),
        (changed(lambda d: d.value.update(generation=True)), "is no int32"),
        (
            changed(lambda d: d.value["members"][0].update(assignment={"base64": "é"})),
            r"members\[0\].assignment: .* is no bytes",
        ),
    ],
)
def test_what_is_no_record_is_refused_with_its_place(described: RecordAsJson, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        record_of_json(GROUP_RECORDS, described)
