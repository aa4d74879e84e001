"""The codec of heartbeats that report nothing agrees with the schema's codec."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_body, encode_message
from protocol.consumer_heartbeat import encode_unchanged, read_unchanged

TEXTS = st.text(min_size=1, max_size=40)
VERSIONS = st.sampled_from([0, 1])


def encoded(version: int, **fields: Any) -> bytes:
    request = messages.ConsumerGroupHeartbeatRequest(version=version, **fields)
    return encode_message(request, version)


@given(VERSIONS, TEXTS, TEXTS, st.integers(0, 2**31 - 1), st.none() | TEXTS, st.binary(max_size=9))
def test_a_heartbeat_that_reports_nothing_is_read(
    version: int, group: str, member: str, epoch: int, instance: str | None, before: bytes
) -> None:
    body = encoded(
        version, group_id=group, member_id=member, member_epoch=epoch, instance_id=instance
    )
    frame = before + body

    found = read_unchanged(version, frame, len(before), len(frame))

    too_long = any(len((text or "").encode()) > 126 for text in (group, member, instance))
    assert (found is None) == too_long
    if found is not None:
        assert found[:4] == (group, member, epoch, instance)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    "field",
    [
        {"rack_id": "r"},
        {"rebalance_timeout_ms": 1},
        {"subscribed_topic_names": []},
        {"subscribed_topic_regex": ""},
        {"server_assignor": "range"},
        {"topic_partitions": []},
    ],
)
def test_a_heartbeat_that_reports_anything_is_left_to_the_schema(
    version: int, field: dict[str, Any]
) -> None:
    if version == 0 and "subscribed_topic_regex" in field:
        return
    body = encoded(version, group_id="g", member_id="m", member_epoch=1, **field)
    assert read_unchanged(version, body, 0, len(body)) is None


@given(VERSIONS, st.binary(max_size=40))
def test_arbitrary_bytes_are_read_as_by_the_schema_or_not_at_all(version: int, text: bytes) -> None:
    body = text + (b"\0\xff\xff\xff\xff" + bytes(4 + version))
    found = read_unchanged(version, body, 0, len(body))
    if found is not None:
        request_class = messages.request_class(ApiKey.CONSUMER_GROUP_HEARTBEAT)
        request = decode_body(request_class, version, memoryview(body))
        assert found[:4] == (
            request.group_id,
            request.member_id,
            request.member_epoch,
            request.instance_id,
        )


@given(VERSIONS, TEXTS, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_the_response_is_that_of_the_schema(
    version: int, member: str, epoch: int, interval_ms: int
) -> None:
    body = encoded(version, group_id="g", member_id=member, member_epoch=epoch)
    found = read_unchanged(version, body, 0, len(body))
    if found is None:
        assert len(member.encode()) > 126
        return
    response = messages.ConsumerGroupHeartbeatResponse(
        version=version,
        member_id=member,
        member_epoch=epoch,
        heartbeat_interval_ms=interval_ms,
        assignment=None,
    )
    assert encode_unchanged(found, epoch, interval_ms) == encode_message(response, version)
