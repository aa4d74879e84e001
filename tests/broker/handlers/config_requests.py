"""A small cluster, and configuration requests in the wire format."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from broker.cluster.cluster import Cluster
from broker.config.broker_config import BrokerConfig
from broker.request.context import RequestContext
from broker.routes import Handler
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OK = (ErrorCode.NONE, None)


def new_cluster(broker_count: int = 3, **overrides: str) -> Cluster:
    """Some brokers and the topic `orders`; overrides with `_` for `.` in their names."""
    numbers = iter(range(1, 100))
    config = BrokerConfig.from_overrides(
        {name.replace("_", "."): text for name, text in overrides.items()}
    )
    cluster = Cluster(
        config, broker_count, cluster_id="c", new_uuid=lambda: UUID(int=next(numbers))
    )
    cluster.create_topic("orders", [(1,)], {})
    return cluster


def send(
    cluster: Cluster, handler: Handler, api_key: ApiKey, version: int, broker_id: int, fields: Any
) -> Any:
    """Encode, handle and decode a request; return the response as a client decodes it."""
    request_class = messages.request_class(api_key)
    body = request_class(version=version, **fields).encode(version=version)
    context = RequestContext(
        api_key=api_key,
        api_version=version,
        correlation_id=1,
        client_id="test",
        now_ms=1000,
        size_bytes=len(body),
        broker_id=broker_id,
        connection_id=1,
        client_host="127.0.0.1",
    )
    response = handler(context, request_class.decode(body, version=version), cluster)
    assert response.version == version
    encoded = response.encode(version=version)
    return messages.response_class(api_key).decode(encoded, version=version)


Operations = Sequence[tuple[str, int, str | None]]


def outcome(results: Sequence[Any]) -> list[tuple[int, str | None]]:
    """Return error code and message of each resource of a response."""
    return [(result.error_code, result.error_message) for result in results]


def overrides_of(cluster: Cluster) -> dict[str, str]:
    """Return the configuration of the topic `orders` itself."""
    topic = cluster.topics.get("orders")
    assert topic is not None
    return dict(topic.config.overrides)


def results_of(response: Any, resources: Sequence[tuple[int, str, Any]]) -> list[Any]:
    """Return the results of an alter request; check that they name its resources in order."""
    assert response.throttle_time_ms == 0
    assert [(result.resource_type, result.resource_name) for result in response.responses] == [
        (kind, name) for kind, name, _ in resources
    ]
    return list(response.responses)
