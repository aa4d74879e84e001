"""The codec of Heartbeat agrees with the schema's codec."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_message
from protocol.heartbeat import encode_response, read_heartbeat
from tests.protocol.short_requests import assert_same, check_arbitrary_bytes, read_both

VERSIONS = st.integers(0, 4)
TEXTS = st.text(max_size=30)


@given(VERSIONS, TEXTS, st.integers(-1, 2**31 - 1), TEXTS, st.none() | TEXTS, st.binary(max_size=9))
def test_a_request_is_read(
    version: int, group: str, generation: int, member: str, instance: str | None, before: bytes
) -> None:
    fields = {"group_instance_id": instance} if version >= 3 else {}
    request = messages.HeartbeatRequest(
        version=version, group_id=group, generation_id=generation, member_id=member, **fields
    )

    found, decoded = read_both(read_heartbeat, request, version, before)

    assert_same(found, decoded)
    assert found == (group, generation, member, fields.get("group_instance_id"))


@pytest.mark.parametrize("version", range(5))
def test_a_request_that_is_cut_or_has_nulls_or_tags_is_left_to_the_schema(version: int) -> None:
    request = messages.HeartbeatRequest(
        version=version, group_id="g", generation_id=1, member_id="m", group_instance_id=None
    )
    body = encode_message(request, version)
    for end in range(len(body)):
        assert read_heartbeat(version, body, 0, end) is None
    assert read_heartbeat(version, body + b"\0", 0, len(body) + 1) is None
    null = b"\0" if version == 4 else b"\xff\xff"
    group_bytes = 2 if version == 4 else 3
    null_group = null + body[group_bytes:]
    assert read_heartbeat(version, null_group, 0, len(null_group)) is None
    if version == 4:
        tagged = body[:-1] + b"\1\0\0"
        assert read_heartbeat(version, tagged, 0, len(tagged)) is None


@given(VERSIONS, st.binary(max_size=40))
def test_arbitrary_bytes_are_read_as_by_the_schema_or_not_at_all(version: int, body: bytes) -> None:
    check_arbitrary_bytes(read_heartbeat, ApiKey.HEARTBEAT, version, body)


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("error_code", [0, 27, -1])
def test_the_response_is_that_of_the_schema(version: int, error_code: int) -> None:
    response = messages.HeartbeatResponse(version=version, error_code=error_code)
    assert encode_response(version, error_code) == encode_message(response, version)
