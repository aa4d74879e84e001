"""Members of consumer and classic groups, without sockets."""

from collections.abc import Sequence

from broker.groups.consumer.requests import ConsumerHeartbeat, HeartbeatResult
from broker.groups.requests import JoinRequest
from broker.http_admin.state import Admin


def consumer_heartbeat(
    admin: Admin,
    member_id: str,
    member_epoch: int,
    *,
    owned: Sequence[int] = (),
    instance_id: str | None = None,
) -> HeartbeatResult:
    """Send the heartbeat of a member of group g, which subscribes to topic t."""
    topic = admin.cluster.topics.get("t")
    assert topic is not None
    request = ConsumerHeartbeat(
        "g",
        member_id,
        member_epoch,
        group_instance_id=instance_id,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        owned_partitions={topic.topic_id: frozenset(owned)} if owned else {},
        client_id="app",
    )
    return admin.cluster.groups.consumer_heartbeat(request, admin.now_ms())


def join_request(
    *, protocol_type: str = "consumer", metadata: bytes = b"", timeout_ms: int = 10_000
) -> JoinRequest:
    """Return the request of a new member of the classic group g."""
    return JoinRequest(
        group_id="g",
        member_id="",
        group_instance_id=None,
        client_id="app",
        client_host="/127.0.0.1",
        protocol_type=protocol_type,
        protocols={"range": metadata},
        session_timeout_ms=timeout_ms,
        rebalance_timeout_ms=timeout_ms,
        must_know_id=False,
    )
