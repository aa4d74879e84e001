"""A struct in a tag: null, with all defaults, and with values, as Kafka writes it."""

from typing import Any

import pytest

from protocol.coordinator_records import ConsumerGroupMemberMetadataValue
from protocol.data_messages import decode_data, encode_data

ClassicMemberMetadata = ConsumerGroupMemberMetadataValue.ClassicMemberMetadata
WITHOUT_TAGS = "0000000001010100ffffffff00"


def member(**fields: Any) -> Any:
    return ConsumerGroupMemberMetadataValue(
        instance_id=None, rack_id=None, subscribed_topic_regex=None, server_assignor=None, **fields
    )


@pytest.mark.parametrize(
    ("fields", "tags"),
    [
        ({}, "00"),
        ({"classic_member_metadata": ClassicMemberMetadata()}, "00"),
        ({"classic_member_metadata": None}, "01000100"),
        (
            {"classic_member_metadata": ClassicMemberMetadata(session_timeout_ms=9)},
            "01000701000000090100",
        ),
    ],
)
def test_null_and_defaults_differ_in_a_tag(fields: dict[str, Any], tags: str) -> None:
    encoded = encode_data(member(**fields), 0)
    assert encoded.hex() == WITHOUT_TAGS + tags

    decoded = decode_data(ConsumerGroupMemberMetadataValue, encoded).classic_member_metadata

    expected = fields.get("classic_member_metadata", ClassicMemberMetadata())
    if expected is None:
        assert decoded is None
    else:
        assert decoded.session_timeout_ms == expected.session_timeout_ms
        assert decoded.supported_protocols == []
