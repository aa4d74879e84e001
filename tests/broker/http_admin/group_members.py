"""Members of a consumer group, without sockets."""

from collections.abc import Sequence

from broker.groups.consumer.requests import ConsumerHeartbeat, HeartbeatResult
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
