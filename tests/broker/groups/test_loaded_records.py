"""The records of a group are found by the class of their key."""

from broker.groups.loaded_records import LoadedRecord, LoadedRecords
from protocol import coordinator_records as schema


def test_the_last_value_of_a_class_and_those_of_members_are_found() -> None:
    key = schema.ConsumerGroupMetadataKey(group_id="g")
    member_keys = [
        schema.ConsumerGroupMemberMetadataKey(group_id="g", member_id=name) for name in "ab"
    ]
    records = LoadedRecords(
        [
            LoadedRecord(key, 1),
            *(LoadedRecord(member_key, member_key.member_id) for member_key in member_keys),
            LoadedRecord(key, 2),
        ]
    )
    assert records.value(schema.ConsumerGroupMetadataKey) == 2
    assert records.by_member(schema.ConsumerGroupMemberMetadataKey) == {"a": "a", "b": "b"}
    assert records.has_any(schema.GroupMetadataKey, schema.ConsumerGroupMetadataKey)
    assert not records.has_any(schema.GroupMetadataKey)
    assert records.value(schema.GroupMetadataKey) is None
    assert records.all(schema.GroupMetadataKey) == []
