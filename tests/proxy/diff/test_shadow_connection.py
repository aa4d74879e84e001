"""The order in which the requests of a connection are played."""

from proxy.diff.shadow_connection import BARRIER_DELAY_MS, ShadowConnection
from tests.proxy.diff.real_cluster import BothClusters, frame_of


def test_a_request_waits_for_the_response_of_the_cluster_and_a_join_does_not() -> None:
    both = BothClusters()
    connection = ShadowConnection(both.shadow, 1, "127.0.0.1")
    connection.see_request(frame_of(1, "ListGroups", 4, {}), both.now_ms)
    assert both.shadow.broker.played_count == 0
    other = ShadowConnection(both.shadow, 1, "127.0.0.1")
    fields = {
        "group_id": "g",
        "session_timeout_ms": 45_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [],
    }
    other.see_request(frame_of(1, "JoinGroup", 7, fields), both.now_ms)
    both.run(BARRIER_DELAY_MS)
    assert both.shadow.broker.played_count == 1


def test_a_response_to_nothing_and_bytes_that_are_no_request_are_ignored() -> None:
    both = BothClusters()
    connection = ShadowConnection(both.shadow, 7, "127.0.0.1")
    assert connection.broker_id == 1
    connection.see_response(b"\0\0\0\1", both.now_ms)
    connection.see_request(b"\0", both.now_ms)
    connection.close(both.now_ms)
    assert both.shadow.report.apis == {}
