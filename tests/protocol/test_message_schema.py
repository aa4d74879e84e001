from typing import Any

import pytest

from protocol import messages
from protocol.message_schema import decoding_into, is_ever_nullable, schema_of


def test_a_message_and_its_class_have_one_schema() -> None:
    schema = schema_of(messages.HeartbeatRequest)

    assert schema_of(messages.HeartbeatRequest()) is schema
    assert list(schema.fields) == ["group_id", "generation_id", "member_id", "group_instance_id"]
    with pytest.raises(AttributeError):
        schema_of(bytes)


def test_a_field_is_nullable_if_it_is_in_one_version() -> None:
    fields = schema_of(messages.HeartbeatRequest).fields

    assert [name for name in fields if is_ever_nullable(fields[name])] == ["group_instance_id"]


def test_decoders_return_the_other_class_inside_the_block_only() -> None:
    class Other:
        pass

    schema: Any = schema_of(messages.HeartbeatRequest)
    before = schema.data_class
    with decoding_into(schema, Other):
        assert schema.data_class is Other
    assert schema.data_class == before
