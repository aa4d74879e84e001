"""GetTelemetrySubscriptions v0."""

from typing import Any
from uuid import UUID

from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.configs import ResourceType
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, call, make_cluster


def ask(cluster: Cluster, instance_id: UUID, now_ms: int = NOW_MS) -> Any:
    request = messages.GetTelemetrySubscriptionsRequest(version=0, client_instance_id=instance_id)
    return call(cluster, request, 0, now_ms=now_ms)


def test_a_new_client_gets_an_id_and_the_defaults() -> None:
    response = ask(make_cluster(1), UUID(int=0))
    assert response.error_code == ErrorCode.NONE
    assert response.client_instance_id.int > 1
    assert response.accepted_compression_types == [4, 3, 1, 2]
    assert (response.push_interval_ms, response.telemetry_max_bytes) == (300_000, 1_048_576)
    assert response.delta_temporality
    assert response.requested_metrics == []


def test_a_client_keeps_its_id_and_is_throttled_until_its_push_interval() -> None:
    cluster = make_cluster(1)
    response = ask(cluster, UUID(int=5))
    assert (response.client_instance_id, response.subscription_id) == (UUID(int=5), -725_132_325)
    assert ask(cluster, UUID(int=5)).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert ask(cluster, UUID(int=5), NOW_MS + 300_000).error_code == ErrorCode.NONE


def test_client_metrics_say_what_to_push() -> None:
    cluster = make_cluster(1)
    layer = {"metrics": "org.apache.kafka.", "interval.ms": "1000", "match": "client_id=test-.*"}
    kind = ResourceType.CLIENT_METRICS
    cluster.set_config(cluster.config.with_resource((kind, "m"), layer))
    response = ask(cluster, UUID(int=5))
    assert response.requested_metrics == ["org.apache.kafka."]
    assert response.push_interval_ms == 1000
