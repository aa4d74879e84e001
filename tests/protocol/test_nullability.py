"""Nulls are refused exactly where Kafka's schema says so."""

from typing import Any

import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, decode_request


def decode(message: Any, api_key: ApiKey, version: int) -> Any:
    body = bytes(message.encode(version=version))
    return decode_request(api_key, version, body, 0, len(body))


def test_a_null_string_is_refused() -> None:
    body = b"\xff\xff" + b"\x00\x00\x00\x00"
    with pytest.raises(DecodeError, match="group_id must not be null"):
        decode_request(ApiKey.OFFSET_FETCH, 1, body, 0, len(body))


def test_a_null_inside_an_array_of_structs_is_refused() -> None:
    body = b"\x00\x01g" + b"\x00\x00\x00\x01" + b"\xff\xff" + b"\x00\x00\x00\x00"
    with pytest.raises(DecodeError, match="name must not be null"):
        decode_request(ApiKey.OFFSET_FETCH, 1, body, 0, len(body))


def test_a_null_element_of_an_array_of_strings_is_refused() -> None:
    body = b"\x00\x00\x00\x01" + b"\xff\xff"
    with pytest.raises(DecodeError, match="groups must not be null"):
        decode_request(ApiKey.DESCRIBE_GROUPS, 0, body, 0, len(body))


def test_a_null_array_is_accepted_from_the_version_that_allows_it() -> None:
    request = messages.MetadataRequest(version=1, topics=None)
    assert decode(request, ApiKey.METADATA, 1).topics is None
    with pytest.raises(DecodeError, match="topics must not be null"):
        decode_request(ApiKey.METADATA, 0, b"\xff\xff\xff\xff", 0, 4)


def test_nullable_fields_stay_null() -> None:
    request = messages.JoinGroupRequest(
        version=9,
        group_id="g",
        session_timeout_ms=1,
        rebalance_timeout_ms=1,
        member_id="",
        group_instance_id=None,
        protocol_type="consumer",
        protocols=[],
        reason=None,
    )
    decoded = decode(request, ApiKey.JOIN_GROUP, 9)
    assert (decoded.group_instance_id, decoded.reason) == (None, None)
