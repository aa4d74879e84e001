"""PushTelemetry v0, in the order in which Apache Kafka 4.1.0 was asked."""

from uuid import UUID

from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import call, make_cluster


def push(cluster: Cluster, instance_id: UUID, subscription_id: int) -> int:
    request = messages.PushTelemetryRequest(
        version=0,
        client_instance_id=instance_id,
        subscription_id=subscription_id,
        terminating=False,
        compression_type=0,
        metrics=b"",
    )
    return int(call(cluster, request, 0).error_code)


def test_pushes_get_kafkas_errors() -> None:
    cluster, client = make_cluster(1), UUID(int=5)
    request = messages.GetTelemetrySubscriptionsRequest(version=0, client_instance_id=client)
    subscription_id = call(cluster, request, 0).subscription_id

    assert push(cluster, UUID(int=0), 0) == ErrorCode.INVALID_REQUEST
    assert push(cluster, client, subscription_id) == ErrorCode.NONE
    assert push(cluster, client, subscription_id) == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert push(cluster, UUID(int=7), 5) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
