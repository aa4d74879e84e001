"""The order in which the requests of a connection are played."""

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_response
from protocol.errors import ErrorCode
from proxy.diff.shadow_connection import BARRIER_DELAY_MS, ShadowConnection
from tests.proxy.diff.real_cluster import BothClusters, frame_of

JOIN = {
    "group_id": "g",
    "session_timeout_ms": 45_000,
    "rebalance_timeout_ms": 60_000,
    "member_id": "",
    "protocol_type": "consumer",
    "protocols": [],
}


def test_a_request_waits_for_the_response_of_the_cluster_and_a_join_does_not() -> None:
    both = BothClusters()
    connection = ShadowConnection(both.shadow, 1, "127.0.0.1")
    connection.see_request(frame_of(1, "ListGroups", 4, {}), both.now_ms)
    assert both.shadow.broker.played_count == 0
    other = ShadowConnection(both.shadow, 1, "127.0.0.1")
    other.see_request(frame_of(1, "JoinGroup", 7, JOIN), both.now_ms)
    both.run(BARRIER_DELAY_MS)
    assert both.shadow.broker.played_count == 1


def test_a_join_that_the_cluster_could_not_do_yet_is_not_compared() -> None:
    both = BothClusters()
    connection = ShadowConnection(both.shadow, 1, "127.0.0.1")
    connection.see_request(frame_of(1, "JoinGroup", 7, JOIN), both.now_ms)
    both.run(BARRIER_DELAY_MS)
    refused = messages.JoinGroupResponse(
        version=7, throttle_time_ms=0, error_code=ErrorCode.NOT_COORDINATOR, generation_id=-1,
        protocol_type=None, protocol_name=None, leader="", member_id="", members=[],
    )  # fmt: skip
    frame = encode_response(1, ApiKey.JOIN_GROUP, 7, refused)
    connection.see_response(frame[4:], both.now_ms)
    (reason,) = both.shadow.report.of("JoinGroup").not_compared
    assert reason == "the cluster was not ready: NOT_COORDINATOR"


def test_a_response_to_nothing_and_bytes_that_are_no_request_are_ignored() -> None:
    both = BothClusters()
    connection = ShadowConnection(both.shadow, 7, "127.0.0.1")
    assert connection.broker_id == 1
    connection.see_response(b"\0\0\0\1", both.now_ms)
    connection.see_request(b"\0", both.now_ms)
    connection.close(both.now_ms)
    assert both.shadow.report.apis == {}
