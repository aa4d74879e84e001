"""Checks of heartbeats that need no group; the texts are tested with the handler."""

from broker.groups.streams.request_checks import check_request
from broker.groups.streams.requests import StreamsHeartbeat
from protocol.errors import ErrorCode


def test_a_static_member_needs_kafka_4_4() -> None:
    request = StreamsHeartbeat("g", "m", 1, group_instance_id="i")
    assert check_request(request, (4, 4)) is None
    refusal = check_request(request, (4, 3))
    assert refusal is not None
    assert refusal.error_code is ErrorCode.INVALID_REQUEST


def test_a_member_that_leaves_for_a_while_is_static() -> None:
    assert check_request(StreamsHeartbeat("g", "m", -2, group_instance_id="i"), (4, 4)) is None
    assert check_request(StreamsHeartbeat("g", "m", -2), (4, 4)) is not None
